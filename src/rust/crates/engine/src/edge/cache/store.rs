//! The responses that are kept, within a limit of memory that has those leave first which are asked for least. Shared
//! by all threads. Of one key there may be several, for different values of header fields.

use super::key::{values, Key};
use super::packed::Packed;
use super::variant::Variant;
use coding::Coding;
use http::HeaderName;
use httpd::Fields;
use quick_cache::sync::Cache;
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most responses of one key: others leave for them. Clients choose the values of header fields.
const VARIANTS: usize = 16;

/// Seconds to remember that a key's responses are not kept: for as long, no request waits for another's response.
const REMEMBERED: u64 = 60;

/// Longest body in bytes, where half of a part is not less: what is copied at once, by an I/O thread.
const LONGEST: usize = 8 << 20;

/// What a response takes beside its bytes.
const OVERHEAD: usize = 256;

/// Room of a part of the store, at least, each of which has a lock of its own.
const PART: u64 = 16 << 20;
/// Most of those.
const PARTS: u64 = 16;

/// See the module.
#[derive(Debug)]
pub struct Store {
    kept: Cache<Key, Arc<Resource>, ByBytes>,
    /// what is put in depends on what was there: one at a time
    changes: Mutex<()>,
    /// longest body in bytes
    longest: usize,
}

/// What is known of a key.
#[derive(Debug)]
enum Resource {
    /// its responses are not kept, until then
    Open { until: u64 },
    /// at least one, the last one first; all differ by the same header fields
    Kept(Vec<Arc<Variant>>),
}

/// What there is for a request.
#[derive(Debug)]
pub enum Found {
    /// this
    Variant(Arc<Variant>),
    /// nothing
    Nothing,
    /// nothing, and there will be nothing
    Open,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<Key, Arc<Resource>> for ByBytes {
    fn weight(&self, key: &Key, resource: &Arc<Resource>) -> u64 {
        let of = |variant: &Arc<Variant>| {
            let Variant { body, codings, fields, asked, tags, .. } = &**variant;
            body.len() + codings.len() + fields.text().len() + asked.len() + tags.len() + OVERHEAD
        };
        let variants = match &**resource {
            Resource::Open { .. } => 0,
            Resource::Kept(variants) => variants.iter().map(of).sum(),
        };
        (key.target().len() + OVERHEAD + variants) as u64
    }
}

impl Store {
    /// An empty one for `max_bytes` bytes.
    pub(super) fn new(max_bytes: u64) -> Self {
        let parts = (max_bytes / PART).clamp(1, PARTS);
        let options = OptionsBuilder::new()
            .shards(parts as usize)
            .weight_capacity(max_bytes)
            // only for the first size of its tables
            .estimated_items_capacity((max_bytes / 4096).clamp(16, 4096) as usize)
            .build();
        let kept = match options {
            Ok(options) => Cache::with_options(options, ByBytes, DefaultHashBuilder::default(), Default::default()),
            Err(_) => Cache::with_weighter(16, max_bytes, ByBytes),
        };
        let longest = LONGEST.min(kept.shard_capacity() as usize / 2);
        Store { kept, changes: Mutex::default(), longest }
    }

    /// Longest body that is kept, in bytes.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// What there is for a request of this key, with these header fields.
    pub fn find(&self, key: &Key, fields: &Fields, now: u64) -> Found {
        match self.kept.get(key).as_deref() {
            Some(Resource::Kept(variants)) => {
                let found = variants.iter().find(|variant| variant.answers(fields));
                found.map_or(Found::Nothing, |variant| Found::Variant(variant.clone()))
            }
            Some(Resource::Open { until }) if now < *until => Found::Open,
            _ => Found::Nothing,
        }
    }

    /// The values of the header fields by which responses of a key are known to differ.
    pub(super) fn asked(&self, key: &Key, fields: &Fields) -> Box<[u8]> {
        match self.kept.get(key).as_deref() {
            Some(Resource::Kept(variants)) => values(fields, &variants[0].names),
            _ => Box::default(),
        }
    }

    /// Keeps a response to a request with these header fields, which differs by the fields of these `names`.
    pub fn keep(&self, key: &Key, names: &[HeaderName], fields: &Fields, variant: Variant) -> Arc<Variant> {
        let _changes = self.changes();
        let before = self.kept.get(key);
        // one that differs by other fields than before does away with what was told apart by those
        let (names, others) = match before.as_deref() {
            Some(Resource::Kept(variants)) if names.iter().all(|name| variants[0].names.contains(name)) => {
                (variants[0].names.clone(), &variants[..])
            }
            _ => (names.into(), &[][..]),
        };
        let variant = Arc::new(Variant { asked: values(fields, &names), names, ..variant });
        let others = others.iter().filter(|other| other.asked != variant.asked).take(VARIANTS - 1).cloned();
        let variants = [variant.clone()].into_iter().chain(others).collect();
        self.kept.insert(key.clone(), Arc::new(Resource::Kept(variants)));
        variant
    }

    /// Adds a coding to a response, where that is still kept.
    pub fn add(&self, key: &Key, variant: &Arc<Variant>, coding: Coding, packed: Packed) -> Arc<Variant> {
        let _changes = self.changes();
        let before = self.kept.get(key);
        let variants = if let Some(Resource::Kept(variants)) = before.as_deref() { &variants[..] } else { &[] };
        // it may have got another coding meanwhile
        let now = variants.iter().find(|other| other.is_same(variant));
        let mut more = Variant::clone(now.unwrap_or(variant));
        more.codings.set(coding, packed);
        let more = Arc::new(more);
        if now.is_some() {
            let all = variants.iter().map(|other| if other.is_same(variant) { &more } else { other }.clone()).collect();
            // what it weighs is counted anew
            self.kept.insert(key.clone(), Arc::new(Resource::Kept(all)));
        }
        more
    }

    fn changes(&self) -> MutexGuard<'_, ()> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Responses of this key are not kept.
    pub fn open(&self, key: &Key, now: u64) {
        let _changes = self.changes();
        self.kept.insert(key.clone(), Arc::new(Resource::Open { until: now + 1000 * REMEMBERED }));
    }

    /// Forgets a key.
    pub fn forget(&self, key: &Key) {
        let _changes = self.changes();
        self.kept.remove(key);
    }

    /// Forgets all responses that `is_old` says so of: of their keys and what their tags are. How many that were.
    pub fn purge(&self, is_old: impl Fn(&Key, &[u8]) -> bool) -> usize {
        let _changes = self.changes();
        let purged = AtomicUsize::new(0);
        self.kept.retain(|key, resource| {
            let Resource::Kept(variants) = &**resource else { return !is_old(key, b"") };
            let is_old = variants.iter().any(|variant| is_old(key, &variant.tags));
            if is_old {
                purged.fetch_add(variants.len(), Relaxed);
            }
            !is_old
        });
        purged.into_inner()
    }
}
