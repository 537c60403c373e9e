//! What the value of an option may be. Each reader says what would be right.

use admission::units;

/// A number of R processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workers {
    /// `4`
    Exactly(usize),
    /// `1-4`
    Between(usize, usize),
    /// `auto`
    Auto,
}

impl Workers {
    /// The fewest and the most.
    pub(crate) fn bounds(self) -> (usize, usize) {
        match self {
            Workers::Exactly(n) => (n, n),
            Workers::Between(min, max) => (min, max),
            Workers::Auto => (supervisor::usable_cores(), supervisor::usable_cores()),
        }
    }
}

/// `4`, `1-4` or `auto`.
pub(crate) fn workers(text: &str) -> Result<Workers, String> {
    if text.eq_ignore_ascii_case("auto") {
        return Ok(Workers::Auto);
    }
    let read = match text.split_once('-') {
        None => count(text).map(Workers::Exactly),
        Some((min, max)) => count(min).and_then(|min| Ok(Workers::Between(min, count(max)?))),
    };
    match read {
        Ok(Workers::Between(min, max)) if min > max => Err(()),
        other => other.map_err(|_| ()),
    }
    .map_err(|()| "must be a whole number >= 1, two of them as in 1-4, or auto".to_owned())
}

pub(crate) fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n >= 1 => Ok(n),
        _ => Err("must be a whole number >= 1".to_owned()),
    }
}

/// A size, which may be 0.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    units::bytes(text).ok_or_else(|| "must be a number of bytes, or a size such as 10MB, 128kB or 1GiB".to_owned())
}

/// A size of something that is always there.
pub(crate) fn some_bytes(text: &str) -> Result<usize, String> {
    match bytes(text)?.try_into() {
        Ok(n) if n >= 1 => Ok(n),
        _ => Err("must be a number of bytes >= 1, or a size such as 16kB or 64KiB".to_owned()),
    }
}

/// The library for HTTP holds no longer target.
pub(crate) fn target(text: &str) -> Result<usize, String> {
    let fits = some_bytes(text).ok().filter(|&n| n <= 65_534);
    fits.ok_or_else(|| "must be a number of bytes in 1..65534, or a size such as 16kB".to_owned())
}

/// A year is longer than any sensible setting.
const LONGEST: f64 = 31_536_000.0;

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match units::seconds(text) {
        Some(s) if s > 0.0 && s <= LONGEST => Ok(s),
        _ => Err(format!("must be a number of seconds > 0 and <= {LONGEST}, or a time such as 500ms, 30s or 2m")),
    }
}

pub(crate) fn seconds_or_none(text: &str) -> Result<f64, String> {
    match units::seconds(text) {
        Some(s) if s <= LONGEST => Ok(s),
        _ => Err(format!("must be a number of seconds >= 0 and <= {LONGEST}, or a time such as 500ms, 30s or 2m")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_a_number_a_range_or_as_many_as_run_at_a_time() {
        assert_eq!(workers("4"), Ok(Workers::Exactly(4)));
        assert_eq!(workers("2-8").map(Workers::bounds), Ok((2, 8)));
        let cores = supervisor::usable_cores();
        assert_eq!(workers("auto").map(Workers::bounds), Ok((cores, cores)));
        for wrong in ["0", "0-2", "4-2", "-1", "two", "", "1-2-3", "1.5", "1-auto"] {
            assert!(workers(wrong).unwrap_err().ends_with("as in 1-4, or auto"), "{wrong}");
        }
    }

    #[test]
    fn sizes_and_times_have_units_and_bounds() {
        assert_eq!((bytes("10MB"), some_bytes("64k"), target("16kB")), (Ok(10_000_000), Ok(65_536), Ok(16_000)));
        assert_eq!((seconds("500ms"), seconds_or_none("0"), seconds("2m")), (Ok(0.5), Ok(0.0), Ok(120.0)));
        assert!(some_bytes("0").is_err() && target("64KiB").is_err() && bytes("10s").is_err());
        assert!(seconds("0s").is_err() && seconds("400d").is_err() && seconds_or_none("10MB").is_err());
    }
}
