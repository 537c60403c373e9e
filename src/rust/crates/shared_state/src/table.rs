//! A table of values by key. Everything but the counts is done under the lock.
//!
//! A change makes the new entry beside the old one, and is done when a single word leads to it: the `NEXT_ENTRY` of the
//! one before, or the bucket. A process that is killed before has changed nothing, one that is killed after has left
//! blocks that no entry has, which the next holder of the lock gives back (`Blocks::mend`). A number is added to in
//! its place, a single word.

use crate::blocks::Blocks;
use crate::layout::{
    blocks_for, bucket, word, BEFORE, BLOCK, BUCKETS, ENTRIES, EVER_USED, EXPIRES, HASH, LAST_VERSION, MAX_BYTES,
    MAX_ENTRIES, MAX_VALUE, NEXT_ENTRY, NUMBER, SEED, SIZES, USED, VERSION, WORD,
};
use crate::lock::{Held, Lock};
use crate::Refused;
use rustix::time::{clock_gettime, ClockId};
use shm::Segment;
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;

/// Longest key, in bytes.
pub const LONGEST_KEY: usize = 1024;

/// Address space of a table: no memory until it is used. As much as all entries may take at most, by the table of
/// settings, and twice the longest value, which is there beside the one before it for a moment.
const ADDRESSES: usize = BEFORE * WORD + (256 << 20) + (32 << 20);

/// R's missing number.
const NA: u64 = 0x7ff0_0000_0000_07a2;

/// How much there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// entries
    pub entries: u64,
    /// bytes of all entries, in blocks of 128
    pub bytes: u64,
    /// bytes of a value
    pub value: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { entries: 10_000, bytes: 16 << 20, value: 64 << 10 }
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// a number of R, by its bits: which missing or undefined number it is, they say, too
    Double(u64),
    /// a whole number of R
    Integer(i32),
    /// what R has made of any other value
    Bytes(Vec<u8>),
}

/// How long a value is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// as long as the one before it would have been
    AsBefore,
    /// until it is deleted
    Forever,
    /// this many milliseconds from now
    Ms(u64),
}

/// See the module.
#[derive(Debug)]
pub struct Table {
    blocks: Blocks,
    lock: Lock,
}

impl Table {
    /// One without entries.
    ///
    /// # Errors
    /// When the system has no memory for it.
    pub fn new() -> io::Result<Self> {
        let segment = Segment::of_addresses(ADDRESSES)?;
        segment.back(0, BEFORE * WORD)?;
        segment.word(SEED * WORD).store(RandomState::new().hash_one(0), Relaxed);
        Ok(Table { blocks: Blocks(segment), lock: Lock::default() })
    }

    pub(crate) fn attach(fd: OwnedFd) -> io::Result<Self> {
        let segment = Segment::attach(fd)?;
        if segment.len() != ADDRESSES {
            return Err(io::Error::other("a state of another version of the package"));
        }
        Ok(Table { blocks: Blocks(segment), lock: Lock::default() })
    }

    /// Entries, with those whose time is over and whose place nothing has needed yet, and bytes that they take.
    pub fn counts(&self) -> (u64, u64) {
        (self.blocks.get(ENTRIES), self.blocks.get(USED) * (BLOCK * WORD) as u64)
    }

    /// From now on there may be this much, in all processes. What is there stays.
    pub fn set_limits(&self, limits: Limits) {
        self.blocks.set(MAX_ENTRIES, limits.entries);
        self.blocks.set(MAX_BYTES, limits.bytes);
        self.blocks.set(MAX_VALUE, limits.value);
    }

    fn limits(&self) -> Limits {
        let default = Limits::default();
        let set = |at, otherwise| match self.blocks.get(at) {
            0 => otherwise,
            limit => limit,
        };
        Limits {
            entries: set(MAX_ENTRIES, default.entries),
            bytes: set(MAX_BYTES, default.bytes),
            value: set(MAX_VALUE, default.value),
        }
    }

    fn hold(&self) -> io::Result<Held<'_>> {
        let held = self.lock.hold(&self.blocks.0)?;
        self.blocks.mend();
        Ok(held)
    }

    /// The value and its version, if it is there.
    ///
    /// # Errors
    /// When the system has no locks.
    pub fn get(&self, key: &[u8]) -> Result<Option<(Value, u64)>, Refused> {
        let _held = self.hold()?;
        let place = self.find(key);
        Ok((place.entry != 0).then(|| (self.value(place.entry), self.at(place.entry, VERSION))))
    }

    /// Sets a value; `only_if` it has this version, 0 for one that is not there. Whether it was set.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn set(&self, key: &[u8], value: &Value, lifetime: Lifetime, only_if: Option<u64>) -> Result<bool, Refused> {
        let _held = self.hold()?;
        let mut place = self.find(key);
        let version = if place.entry == 0 { 0 } else { self.at(place.entry, VERSION) };
        if only_if.is_some_and(|wanted| wanted != version) {
            return Ok(false);
        }
        self.put_at(&mut place, key, value, lifetime)?;
        Ok(true)
    }

    /// Adds to a number; one that is not there is 0, and has the lifetime from then on. What it is now.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn add(&self, key: &[u8], by: f64, lifetime: Lifetime) -> Result<f64, Refused> {
        let _held = self.hold()?;
        let mut place = self.find(key);
        if place.entry == 0 {
            self.put_at(&mut place, key, &Value::Double(by.to_bits()), lifetime)?;
            return Ok(by);
        }
        match self.value(place.entry) {
            Value::Double(bits) => {
                let sum = f64::from_bits(bits) + by;
                // a process that is killed between the two has changed nothing but the version
                self.put(place.entry, VERSION, self.next_version());
                self.put(place.entry, NUMBER, sum.to_bits());
                Ok(sum)
            }
            Value::Integer(number) => {
                let number = if number == i32::MIN { f64::from_bits(NA) } else { f64::from(number) };
                let sum = number + by;
                self.put_at(&mut place, key, &Value::Double(sum.to_bits()), Lifetime::AsBefore)?;
                Ok(sum)
            }
            Value::Bytes(_) => Err(Refused::NotANumber),
        }
    }

    /// Deletes a value; whether it was there.
    ///
    /// # Errors
    /// When the system has no locks.
    pub fn delete(&self, key: &[u8]) -> Result<bool, Refused> {
        let _held = self.hold()?;
        let place = self.find(key);
        if place.entry != 0 {
            self.remove(place);
        }
        Ok(place.entry != 0)
    }

    /// All keys that begin so, without what they begin with, in no order.
    ///
    /// # Errors
    /// When the system has no locks.
    pub fn keys(&self, prefix: &[u8]) -> Result<Vec<Vec<u8>>, Refused> {
        let _held = self.hold()?;
        self.sweep();
        let mut keys = Vec::new();
        for link in 0..BUCKETS {
            let mut entry = self.blocks.get(bucket(link as u64));
            while entry != 0 {
                if let Some(rest) = self.key(entry).strip_prefix(prefix) {
                    keys.push(rest.to_vec());
                }
                entry = self.at(entry, NEXT_ENTRY);
            }
        }
        Ok(keys)
    }

    // ---- under the lock ------------------------------------------------------------------------------------------

    fn at(&self, entry: u64, at: usize) -> u64 {
        self.blocks.get(word(entry, at))
    }

    fn put(&self, entry: u64, at: usize, to: u64) {
        self.blocks.set(word(entry, at), to);
    }

    fn next_version(&self) -> u64 {
        let version = self.blocks.get(LAST_VERSION) + 1;
        self.blocks.set(LAST_VERSION, version);
        version
    }

    fn blocks_of(&self, entry: u64) -> u64 {
        let sizes = self.at(entry, SIZES);
        blocks_for(key_len(sizes) + sizes as u32 as usize)
    }

    fn key(&self, entry: u64) -> Vec<u8> {
        self.blocks.read(entry, key_len(self.at(entry, SIZES)))
    }

    fn value(&self, entry: u64) -> Value {
        let sizes = self.at(entry, SIZES);
        let number = self.at(entry, NUMBER);
        match kind_of(sizes) {
            0 => Value::Double(number),
            1 => Value::Integer(number as u32 as i32),
            _ => {
                let key = key_len(sizes);
                Value::Bytes(self.blocks.read(entry, key + sizes as u32 as usize).split_off(key))
            }
        }
    }

    /// Puts a value where there is another or none.
    fn put_at(&self, place: &mut Place, key: &[u8], value: &Value, lifetime: Lifetime) -> Result<(), Refused> {
        let bytes: &[u8] = if let Value::Bytes(bytes) = value { bytes } else { &[] };
        self.make_room(key, bytes.len(), place)?;
        let old = place.entry;
        let expires = match lifetime {
            Lifetime::AsBefore if old != 0 => self.at(old, EXPIRES),
            Lifetime::AsBefore | Lifetime::Forever => 0,
            Lifetime::Ms(ms) => now().saturating_add(ms),
        };
        let (kind, number) = match value {
            Value::Double(bits) => (0, *bits),
            Value::Integer(number) => (1, u64::from(*number as u32)),
            Value::Bytes(_) => (2, 0),
        };
        self.blocks.changing(|| {
            let entry = self.blocks.write([key, bytes]);
            self.put(entry, NEXT_ENTRY, if old == 0 { 0 } else { self.at(old, NEXT_ENTRY) });
            self.put(entry, VERSION, self.next_version());
            self.put(entry, EXPIRES, expires);
            self.put(entry, SIZES, kind << 48 | (key.len() as u64) << 32 | bytes.len() as u64);
            self.put(entry, NUMBER, number);
            self.put(entry, HASH, self.hash(key));
            self.blocks.set(place.link, entry);
            if old == 0 {
                self.blocks.count(1);
            } else {
                self.blocks.give_back(old);
            }
        });
        Ok(())
    }

    fn hash(&self, key: &[u8]) -> u64 {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.blocks.get(SEED));
        hasher.write(key);
        hasher.finish()
    }

    /// Where an entry is, or would be. Those of its bucket whose time is over are removed on the way.
    fn find(&self, key: &[u8]) -> Place {
        let hash = self.hash(key);
        let now = now();
        let mut place = Place { link: bucket(hash), entry: self.blocks.get(bucket(hash)) };
        while place.entry != 0 {
            let expires = self.at(place.entry, EXPIRES);
            if expires != 0 && expires <= now {
                self.remove(place);
                place.entry = self.blocks.get(place.link);
            } else if self.at(place.entry, HASH) == hash && self.key(place.entry) == key {
                break;
            } else {
                place.link = word(place.entry, NEXT_ENTRY);
                place.entry = self.blocks.get(place.link);
            }
        }
        place
    }

    fn remove(&self, place: Place) {
        self.blocks.changing(|| {
            self.blocks.set(place.link, self.at(place.entry, NEXT_ENTRY));
            self.blocks.count(-1);
            self.blocks.give_back(place.entry);
        });
    }

    /// Removes all whose time is over.
    fn sweep(&self) {
        let now = now();
        for number in 0..BUCKETS {
            let mut link = bucket(number as u64);
            loop {
                let entry = self.blocks.get(link);
                if entry == 0 {
                    break;
                }
                let expires = self.at(entry, EXPIRES);
                if expires != 0 && expires <= now {
                    self.remove(Place { link, entry });
                } else {
                    link = word(entry, NEXT_ENTRY);
                }
            }
        }
    }

    /// Makes sure that an entry with a value of `len` bytes may take the place of what is there.
    fn make_room(&self, key: &[u8], len: usize, place: &mut Place) -> Result<(), Refused> {
        let limits = self.limits();
        if len as u64 > limits.value {
            return Err(Refused::Value(len as u64, limits.value));
        }
        let blocks = blocks_for(key.len() + len);
        let most = limits.bytes / (BLOCK * WORD) as u64;
        let fits = |place: &Place| {
            let (is_new, old) = match place.entry {
                0 => (1, 0),
                entry => (0, self.blocks_of(entry)),
            };
            let (entries, used) = (self.blocks.get(ENTRIES), self.blocks.get(USED) - old);
            if entries + is_new > limits.entries {
                Err(Refused::Entries(limits.entries))
            } else if used + blocks > most && blocks > old {
                Err(Refused::Bytes(limits.bytes))
            } else {
                Ok(())
            }
        };
        if fits(place).is_err() {
            self.sweep();
            *place = self.find(key);
            fits(place)?;
        }
        let never_used = (self.blocks.get(USED) + blocks).saturating_sub(self.blocks.get(EVER_USED));
        Ok(self.blocks.back(never_used)?)
    }
}

impl AsFd for Table {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.blocks.0.as_fd()
    }
}

/// The word that leads to an entry, and the entry; 0 for none.
#[derive(Clone, Copy, Debug)]
struct Place {
    link: usize,
    entry: u64,
}

fn kind_of(sizes: u64) -> u64 {
    sizes >> 48
}

fn key_len(sizes: u64) -> usize {
    (sizes >> 32) as usize & 0xffff
}

/// Milliseconds of a clock that all processes of the system have, and that cannot be set.
fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8] = b"key";

    fn double(number: f64) -> Value {
        Value::Double(number.to_bits())
    }

    fn table(limits: Limits) -> Table {
        let table = Table::new().unwrap();
        table.set_limits(limits);
        table
    }

    fn set(table: &Table, key: &[u8], value: &Value) -> Result<bool, Refused> {
        table.set(key, value, Lifetime::Forever, None)
    }

    #[test]
    fn values_come_back_as_they_were_and_leave_nothing() {
        let table = Table::new().unwrap();
        let long: Vec<u8> = (0..10_000_u32).map(|i| (i % 251) as u8).collect();
        let values = [double(-0.0), double(f64::NAN), Value::Integer(i32::MIN), Value::Bytes(Vec::new())]
            .into_iter()
            .chain((0..300).map(|len| Value::Bytes(long[..len].to_vec())))
            .chain([Value::Bytes(long.clone())]);
        for value in values {
            for key in [b"".as_slice(), b"k", &long[..LONGEST_KEY]] {
                assert!(set(&table, key, &value).unwrap());
                assert_eq!(table.get(key).unwrap().unwrap().0, value);
            }
        }
        assert_eq!(table.counts().0, 3);
        assert_eq!(table.keys(b"k").unwrap(), [b""]);
        for key in [b"".as_slice(), b"k", &long[..LONGEST_KEY]] {
            assert!(table.delete(key).unwrap());
            assert!(!table.delete(key).unwrap());
        }
        assert_eq!((table.counts(), table.get(b"k").unwrap()), ((0, 0), None));
    }

    #[test]
    fn a_value_is_set_only_where_its_version_is_as_it_was_read() {
        let table = Table::new().unwrap();
        let if_version = |version| table.set(KEY, &double(1.0), Lifetime::Forever, Some(version)).unwrap();
        assert!(!if_version(1));
        assert!(if_version(0));
        assert!(!if_version(0));
        let version = table.get(KEY).unwrap().unwrap().1;
        assert_eq!(table.add(KEY, 1.0, Lifetime::Forever).unwrap(), 2.0);
        assert!(!if_version(version), "adding changes it, too");
        assert!(if_version(table.get(KEY).unwrap().unwrap().1));
    }

    #[test]
    fn numbers_are_added_to_and_nothing_else() {
        let table = Table::new().unwrap();
        assert_eq!(table.add(KEY, 2.5, Lifetime::Forever).unwrap(), 2.5);
        set(&table, KEY, &Value::Integer(7)).unwrap();
        assert_eq!(table.add(KEY, 1.0, Lifetime::Forever).unwrap(), 8.0);
        assert_eq!(table.get(KEY).unwrap().unwrap().0, double(8.0));
        set(&table, KEY, &Value::Integer(i32::MIN)).unwrap();
        table.add(KEY, 1.0, Lifetime::Forever).unwrap();
        assert_eq!(
            table
                .get(KEY)
                .unwrap()
                .map(|(value, _)| matches!(value, Value::Double(bits) if f64::from_bits(bits).is_nan())),
            Some(true)
        );
        set(&table, KEY, &Value::Bytes(vec![1])).unwrap();
        assert!(matches!(table.add(KEY, 1.0, Lifetime::Forever), Err(Refused::NotANumber)));
    }

    #[test]
    fn what_is_too_much_is_refused_and_what_is_over_makes_room() {
        let table = table(Limits { entries: 2, bytes: 1280, value: 1000 });
        let bytes = |len| Value::Bytes(vec![7; len]);
        assert!(matches!(set(&table, KEY, &bytes(1001)), Err(Refused::Value(1001, 1000))));
        assert!(set(&table, KEY, &bytes(1000)).unwrap());
        assert!(set(&table, KEY, &bytes(999)).unwrap(), "in place of the one before");
        assert!(matches!(set(&table, b"b", &bytes(300)), Err(Refused::Bytes(1280))));
        table.set(b"b", &double(1.0), Lifetime::Ms(0), None).unwrap();
        assert_eq!(table.get(b"b").unwrap(), None);
        table.set(b"b", &double(1.0), Lifetime::Ms(0), None).unwrap();
        assert!(set(&table, b"c", &double(1.0)).unwrap());
        assert!(matches!(set(&table, b"d", &double(1.0)), Err(Refused::Entries(2))));
        // one that has a lifetime keeps it when it is only changed
        table.set(b"c", &double(1.0), Lifetime::Ms(3_600_000), None).unwrap();
        table.set(b"c", &double(2.0), Lifetime::AsBefore, None).unwrap();
        assert_ne!(table.at(table.find(b"c").entry, EXPIRES), 0);
    }

    /// As a process that is killed leaves it: the flag is set, and a chain was written that nothing leads to.
    #[test]
    fn what_a_killed_process_has_left_is_mended() {
        let table = Table::new().unwrap();
        set(&table, KEY, &Value::Bytes(vec![7; 1000])).unwrap();
        let before = table.counts();
        table.blocks.set(crate::layout::CHANGING, 1);
        table.blocks.back(80).unwrap();
        table.blocks.write([b"lost", &[1; 5000]]);
        table.blocks.count(1);
        assert_ne!(table.counts(), before);
        assert_eq!(table.get(KEY).unwrap().unwrap().0, Value::Bytes(vec![7; 1000]));
        assert_eq!(table.counts(), before);
        set(&table, b"next", &Value::Bytes(vec![8; 5000])).unwrap();
        assert_eq!(table.get(b"next").unwrap().unwrap().0, Value::Bytes(vec![8; 5000]));
        assert_eq!(table.get(KEY).unwrap().unwrap().0, Value::Bytes(vec![7; 1000]));
    }

    #[test]
    fn threads_take_turns() {
        let table = Table::new().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| assert!(table.add(KEY, 1.0, Lifetime::Forever).unwrap() > 0.0)));
            }
        });
        assert_eq!(table.get(KEY).unwrap().unwrap().0, double(4000.0));
    }
}
