//! Threads, and whose they are.
//!
//! The system knows where a thread sleeps, but not what it belongs to. What its stack says does: the first address
//! there that is code, and not of the libraries that all threads sleep in.

use std::collections::HashSet;
use std::fs::{read_dir, read_link, read_to_string, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// How much of a stack is looked through, in bytes.
const STACK: usize = 16 << 10;

/// How often to look for one that runs, whose stack cannot be read, and how long to wait in between.
const LOOKS: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(1);

/// Libraries below everything: a thread is not theirs because it sleeps there.
const BELOW: [&str; 7] = ["libc.so", "libc-", "libpthread", "ld-linux", "libstdc++", "libgcc_s", "[vdso]"];

/// Libraries whose threads do no harm: they end, or are made anew, around a fork, which these see to themselves. That
/// of 'later' is seen to where forks are made; that of 'cli' moves progress bars.
const SAFE: [&str; 5] = ["later.so", "cli.so", "libopenblas", "libomp", "libiomp"];

/// The threads of this process but the first and the server's own.
pub(crate) fn now() -> HashSet<i32> {
    let first = i32::try_from(std::process::id()).unwrap_or_default();
    let is_ours = |thread: i32| {
        read_to_string(format!("/proc/self/task/{thread}/comm")).is_ok_and(|name| name.starts_with("drover-"))
    };
    let Ok(folder) = read_dir("/proc/self/task") else { return HashSet::new() };
    let all = folder.flatten().filter_map(|one| one.file_name().to_str()?.parse().ok());
    all.filter(|&one| one != first && !is_ours(one)).collect()
}

/// Of these threads, those that a fork would miss, each with the name of its library, empty when it is not known.
pub(crate) fn missed(threads: Vec<i32>) -> Vec<(i32, String)> {
    if threads.is_empty() {
        return Vec::new();
    }
    let code = Code::now();
    let owned = threads.into_iter().map(|thread| (thread, code.owner_of(thread).unwrap_or_default()));
    owned
        .filter(|(_, library)| !SAFE.iter().any(|safe| library.starts_with(safe)) && *library != code.program)
        .collect()
}

/// What of this process's memory is code, and of which file.
struct Code {
    parts: Vec<(Range<u64>, String)>,
    /// the program itself, which may be one that hosts R and has threads for itself
    program: String,
}

impl Code {
    fn now() -> Code {
        let maps = read_to_string("/proc/self/maps").unwrap_or_default();
        let program = read_link("/proc/self/exe").ok();
        let program = program.as_deref().and_then(|path| path.file_name()).unwrap_or_default();
        Code { parts: maps.lines().filter_map(part_of).collect(), program: program.to_string_lossy().into_owned() }
    }

    fn owner_of(&self, thread: i32) -> Option<String> {
        let state = (0..LOOKS).find_map(|look| {
            let state = read_to_string(format!("/proc/self/task/{thread}/syscall")).ok()?;
            let is_asleep = !state.starts_with("running");
            if !is_asleep && look + 1 < LOOKS {
                std::thread::sleep(BETWEEN);
            }
            is_asleep.then_some(state)
        })?;
        // the last two are its stack pointer and where it is
        let mut words = state.split_whitespace().rev().map_while(|word| number(word.strip_prefix("0x")?));
        let (at, stack) = (words.next()?, words.next()?);
        let mut bytes = vec![0; STACK];
        let length = File::open("/proc/self/mem").and_then(|memory| memory.read_at(&mut bytes, stack)).unwrap_or(0);
        let words = bytes[..length].chunks_exact(8).filter_map(|word| Some(u64::from_ne_bytes(word.try_into().ok()?)));
        std::iter::once(at).chain(words).find_map(|address| self.file_at(address)).map(str::to_owned)
    }

    /// The file whose code is at an address, unless that is one of those below everything.
    fn file_at(&self, address: u64) -> Option<&str> {
        let (_, file) = self.parts.iter().find(|(range, _)| range.contains(&address))?;
        (!BELOW.iter().any(|below| file.starts_with(below))).then_some(file)
    }
}

/// A line of `maps`: where it is, and the name of the file, if that is code.
fn part_of(line: &str) -> Option<(Range<u64>, String)> {
    let mut words = line.split_whitespace();
    let (range, rights) = (words.next()?, words.next()?);
    let (from, to) = range.split_once('-')?;
    // offset, device, inode
    let path = words.nth(3)?;
    let name = path.rsplit('/').next()?;
    rights.contains('x').then_some((number(from)?..number(to)?, name.to_owned()))
}

fn number(hex: &str) -> Option<u64> {
    u64::from_str_radix(hex, 16).ok()
}
