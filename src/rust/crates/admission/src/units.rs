//! Sizes and times as people write them: `10MB`, `128kB`, `1.5MiB`, `500ms`, `30s`, `2m`. The program and R read them
//! here.

/// Names of a unit in lower case, and how many bytes. As in coreutils: `kB` counts in thousands, `K` and `KiB` in 1024.
const BYTES: [(&[&str], f64); 7] = [
    (&["b"], 1.0),
    (&["kb"], 1e3),
    (&["mb"], 1e6),
    (&["gb"], 1e9),
    (&["k", "kib"], 1024.0),
    (&["m", "mib"], 1_048_576.0),
    (&["g", "gib"], 1_073_741_824.0),
];

/// Names of a unit in lower case, and how many seconds.
const SECONDS: [(&[&str], f64); 5] =
    [(&["ms"], 1e-3), (&["s"], 1.0), (&["m", "min"], 60.0), (&["h"], 3600.0), (&["d"], 86_400.0)];

/// Beyond this a double, which is what R has, does not count one by one.
const MOST_BYTES: f64 = 9_007_199_254_740_992.0;

/// Bytes, without a unit or with one of `BYTES`. `None` when it is no size.
pub fn bytes(text: &str) -> Option<u64> {
    let (number, scale) = read(text, &BYTES)?;
    let whole = scale.is_some() || !text.contains('.');
    let bytes = (number * scale.unwrap_or(1.0)).round();
    // a whole number that is not negative, and small enough
    (whole && bytes <= MOST_BYTES).then_some(bytes as u64)
}

/// Seconds, without a unit or with one of `SECONDS`. `None` when it is no time.
pub fn seconds(text: &str) -> Option<f64> {
    let (number, scale) = read(text, &SECONDS)?;
    Some(number * scale.unwrap_or(1.0))
}

/// Digits with at most one point, then a unit or none.
fn read(text: &str, units: &[(&[&str], f64)]) -> Option<(f64, Option<f64>)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (text[..end].parse().ok()?, text[end..].trim_start().to_ascii_lowercase());
    if unit.is_empty() {
        return Some((number, None));
    }
    let (_, scale) = units.iter().find(|(names, _)| names.contains(&unit.as_str()))?;
    Some((number, Some(*scale)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, size) in [
            ("0", 0),
            ("1048576", 1 << 20),
            ("10MB", 10_000_000),
            ("128kB", 128_000),
            ("128KiB", 128 << 10),
            ("64k", 64 << 10),
            ("1.5 GiB", 3 << 29),
            ("2g", 2 << 30),
            ("12 b", 12),
            (" 7 ", 7),
        ] {
            assert_eq!(bytes(text), Some(size), "{text}");
        }
        for wrong in ["", "MB", "-1", "1.5", "1e9", "10 parsecs", "10s", "1.2.3MB", "NaN", "inf", "9999999999GB", "1٣"]
        {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times() {
        for (text, time) in [
            ("30", 30.0),
            ("0.5", 0.5),
            ("500ms", 0.5),
            ("30s", 30.0),
            ("2m", 120.0),
            ("1.5min", 90.0),
            ("1 H", 3600.0),
            ("1d", 86_400.0),
        ] {
            assert_eq!(seconds(text), Some(time), "{text}");
        }
        for wrong in ["", "s", "-1", "1e3", "5 fortnights", "10MB", "NaN", "inf", "1m30s"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
