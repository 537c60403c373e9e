//! Names that are listed together: in R each becomes a string, and those that share a bucket of its string cache are
//! compared with each other. Clients may have chosen them, each no more than one, so that what no request shows is seen
//! here: that some were built to collide. See `fields::guard`.

use fields::guard::bucket_of;
use std::collections::HashMap;
use std::sync::Arc;

/// Names that may share a bucket: of ten thousand that people choose, tens at most share one; a list of ten thousand
/// in chains of this length takes R some ms longer.
const MOST: u16 = 32;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// how often each is there: one that many have is one string
    times: HashMap<Arc<str>, usize>,
    by_bucket: HashMap<usize, u16>,
}

impl Names {
    /// `false` when too many others collide with it: then it is not there.
    pub(crate) fn add(&mut self, name: &Arc<str>) -> bool {
        if let Some(times) = self.times.get_mut(name) {
            *times += 1;
            return true;
        }
        let others = self.by_bucket.entry(bucket_of(name.as_bytes())).or_default();
        if *others == MOST {
            return false;
        }
        *others += 1;
        self.times.insert(name.clone(), 1);
        true
    }

    /// One that has it has gone.
    pub(crate) fn remove(&mut self, name: &Arc<str>) {
        let Some(times) = self.times.get_mut(name) else { return };
        *times -= 1;
        if *times > 0 {
            return;
        }
        self.times.remove(name);
        let bucket = bucket_of(name.as_bytes());
        if let Some(left) = self.by_bucket.get_mut(&bucket) {
            *left -= 1;
            if *left == 0 {
                self.by_bucket.remove(&bucket);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Ab" and "BA" have one hash in R, so all strings of six of them have one.
    fn colliding() -> Vec<Arc<str>> {
        let block = |bit: u32| if bit == 0 { "Ab" } else { "BA" };
        (0..64_u32).map(|bits| (0..6).map(|i| block(bits >> i & 1)).collect::<String>().into()).collect()
    }

    #[test]
    fn names_that_were_built_to_collide_are_refused_beyond_a_few() {
        let (mut names, built) = (Names::default(), colliding());
        let (first, beyond) = built.split_at(usize::from(MOST));
        assert!(first.iter().all(|name| names.add(name)));
        assert!(!beyond.iter().any(|name| names.add(name)));
        // other names still go in, and so do repeats of a known one
        assert!(names.add(&"Ann".into()) && (0..100).all(|_| names.add(&first[0])));
        (0..100).for_each(|_| names.remove(&first[0]));
        assert!(!names.add(&beyond[0]));
        names.remove(&first[0]);
        names.remove(&beyond[0]);
        assert!(names.add(&beyond[0]) && !names.add(&beyond[1]));
        first[1..].iter().chain(&beyond[..1]).chain([&"Ann".into()]).for_each(|name| names.remove(name));
        assert!(names.times.is_empty() && names.by_bucket.is_empty());
    }

    #[test]
    fn names_that_people_and_programs_choose_are_not() {
        let kana = || (0x3041..0x3097).filter_map(char::from_u32);
        let kinds: [Vec<String>; 4] = [
            (0..20_000).map(|n| format!("user{n}")).collect(),
            (0..20_000).map(|n| format!("guest-{:08x}", n * 7919)).collect(),
            kana().flat_map(|a| kana().map(move |b| format!("{a}{b}"))).collect(),
            (0..20_000).map(|n| format!("{}@example.com", n * 31)).collect(),
        ];
        for kind in kinds {
            let mut names = Names::default();
            assert!(kind.iter().all(|name| names.add(&name.as_str().into())), "{}", kind[0]);
        }
    }
}
