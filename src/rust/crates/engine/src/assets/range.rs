//! The parts of a file that a client asks for (RFC 9110 section 14).

use http::header::RANGE;
use httpd::{ascii, Fields};
use smallvec::SmallVec;
use std::ops::Range;

/// More parts in one request are not meant well: the whole file is sent.
const MAX_RANGES: usize = 16;

/// What to send.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parts {
    /// the whole file: nothing else is asked for, or not in a way that we follow
    Whole,
    /// these bytes: at least one range, none empty, all within the file, and together no longer than it
    Ranges(SmallVec<[Range<u64>; 1]>),
    /// none of the ranges lies within the file: 416
    Unsatisfiable,
}

/// The parts that `request` asks for of a file of `size` bytes. A malformed header asks for nothing (section 14.2); so
/// does any header on an empty file, which has no byte to name.
pub(super) fn parts(request: &Fields, size: u64) -> Parts {
    let mut values = request.all(&RANGE);
    let (Some(value), None) = (values.next(), values.next()) else {
        return Parts::Whole;
    };
    let ranges = ascii(value).and_then(|text| satisfiable(text, size));
    match ranges {
        None => Parts::Whole,
        Some(_) if size == 0 => Parts::Whole,
        Some(ranges) if ranges.is_empty() => Parts::Unsatisfiable,
        // overlapping ranges that add up to more than the file would make a small request expensive
        Some(ranges) if total(&ranges) > size => Parts::Whole,
        Some(ranges) => Parts::Ranges(ranges),
    }
}

/// The number of bytes in `ranges`.
pub(super) fn total(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().fold(0, |sum, range| sum.saturating_add(range.end - range.start))
}

/// The ranges of `text` that lie within `size`, cut off at its end; `None` when it is malformed or has too many.
fn satisfiable(text: &str, size: u64) -> Option<SmallVec<[Range<u64>; 1]>> {
    let (unit, set) = text.split_once('=')?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    let mut ranges = SmallVec::new();
    let mut count = 0;
    // empty elements of a list are to be ignored (section 5.6.1.2)
    for spec in set.split(',').map(str::trim).filter(|spec| !spec.is_empty()) {
        count += 1;
        let range = match spec.split_once('-')? {
            ("", length) => size.saturating_sub(number(length)?)..size,
            (first, "") => number(first)?..size,
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                if first > last {
                    return None;
                }
                first..last.saturating_add(1).min(size)
            }
        };
        if range.start < range.end {
            ranges.push(range);
        }
    }
    (1..=MAX_RANGES).contains(&count).then_some(ranges)
}

/// A number, or the largest there is when it is larger.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ask(values: &[&str], size: u64) -> Parts {
        parts(&values.iter().map(|value| (RANGE, value)).collect(), size)
    }

    fn ranges(ranges: &[(u64, u64)]) -> Parts {
        Parts::Ranges(ranges.iter().map(|(start, end)| *start..*end).collect())
    }

    #[test]
    fn the_table_of_section_14() {
        for (value, answer) in [
            // the examples of section 14.1.2, for a file of 10000 bytes
            ("bytes=0-499", ranges(&[(0, 500)])),
            ("bytes=500-999", ranges(&[(500, 1000)])),
            ("bytes=-500", ranges(&[(9500, 10000)])),
            ("bytes=9500-", ranges(&[(9500, 10000)])),
            ("bytes=0-0,-1", ranges(&[(0, 1), (9999, 10000)])),
            ("bytes= 0-999, 4500-5499, -1000", ranges(&[(0, 1000), (4500, 5500), (9000, 10000)])),
            ("bytes=500-600,601-999", ranges(&[(500, 601), (601, 1000)])),
            ("bytes=500-700,601-999", ranges(&[(500, 701), (601, 1000)])),
            ("bytes=0-99999", ranges(&[(0, 10000)])),
            ("bytes=0-99999999999999999999999", ranges(&[(0, 10000)])),
            ("bytes=-99999", ranges(&[(0, 10000)])),
            ("BYTES=1-1", ranges(&[(1, 2)])),
            ("bytes=,0-1,,", ranges(&[(0, 2)])),
            ("bytes=0-1,10000-", ranges(&[(0, 2)])),
            ("bytes=10000-", Parts::Unsatisfiable),
            ("bytes=99999999999999999999999-", Parts::Unsatisfiable),
            ("bytes=-0", Parts::Unsatisfiable),
            ("bytes=10000-10001,20000-", Parts::Unsatisfiable),
            ("bytes=0-9999,0-0", Parts::Whole),
            ("bytes=2-1", Parts::Whole),
            ("bytes=0-1,2-1", Parts::Whole),
            ("bytes=", Parts::Whole),
            ("bytes=-", Parts::Whole),
            ("bytes=--1", Parts::Whole),
            ("bytes=+1-2", Parts::Whole),
            ("bytes=0x1-2", Parts::Whole),
            ("bytes=1", Parts::Whole),
            ("bytes 0-1", Parts::Whole),
            ("lines=0-1", Parts::Whole),
            ("", Parts::Whole),
        ] {
            assert_eq!(ask(&[value], 10_000), answer, "{value}");
        }
    }

    #[test]
    fn sixteen_ranges_but_not_more() {
        let list = |count: u64| {
            let specs: Vec<_> = (0..count).map(|at| format!("{at}-{at}")).collect();
            format!("bytes={}", specs.join(","))
        };
        assert!(matches!(ask(&[&list(16)], 100), Parts::Ranges(found) if found.len() == 16));
        assert_eq!(ask(&[&list(17)], 100), Parts::Whole);
    }

    #[test]
    fn no_header_two_headers_and_empty_files_ask_for_nothing() {
        assert_eq!(ask(&[], 10), Parts::Whole);
        assert_eq!(ask(&["bytes=0-1", "bytes=2-3"], 10), Parts::Whole);
        assert_eq!(ask(&["bytes=0-"], 0), Parts::Whole);
        assert_eq!(ask(&["bytes=-1"], 0), Parts::Whole);
    }

    proptest! {
        #[test]
        fn ranges_are_always_within_the_file(text in "(bytes=)?[-0-9, ]{0,40}", size in 0u64..200) {
            if let Parts::Ranges(ranges) = ask(&[&text], size) {
                prop_assert!((1..=MAX_RANGES).contains(&ranges.len()));
                prop_assert!(ranges.iter().all(|range| range.start < range.end && range.end <= size));
                prop_assert!(total(&ranges) <= size);
            }
        }
    }
}
