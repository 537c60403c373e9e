//! Formats of strings that R has a type for: what is accepted here, R's conversion takes.

/// A day of the Gregorian calendar, `2026-11-25` (RFC 3339 section 5.6).
pub fn is_date(text: &str) -> bool {
    day(text.as_bytes()).is_some()
}

fn day(text: &[u8]) -> Option<()> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text else { return None };
    let (year, month, day) = (digits(&[y1, y2, y3, y4])?, digits(&[m1, m2])?, digits(&[d1, d2])?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=last).contains(&day).then_some(())
}

/// A moment, `2026-11-25T14:03:00.5+01:00` (RFC 3339 section 5.6). Without leap seconds, which POSIX does not count.
pub fn is_datetime(text: &str) -> bool {
    moment(text.as_bytes()).is_some()
}

fn moment(text: &[u8]) -> Option<()> {
    let (date, rest) = text.split_at_checked(10)?;
    day(date)?;
    let (time, mut rest) = rest.split_at_checked(9)?;
    let [b'T' | b't', h1, h2, b':', m1, m2, b':', s1, s2] = *time else { return None };
    clock(&[h1, h2], &[m1, m2])?;
    (digits(&[s1, s2])? < 60).then_some(())?;
    if let [b'.', fraction @ ..] = rest {
        let len = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // more than a double holds of a time of this century
        (1..=9).contains(&len).then_some(())?;
        rest = &fraction[len..];
    }
    match *rest {
        [b'Z' | b'z'] => Some(()),
        [b'+' | b'-', h1, h2, b':', m1, m2] => clock(&[h1, h2], &[m1, m2]),
        _ => None,
    }
}

fn clock(hour: &[u8], minute: &[u8]) -> Option<()> {
    (digits(hour)? < 24 && digits(minute)? < 60).then_some(())
}

fn digits(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0, |n, byte| byte.is_ascii_digit().then(|| n * 10 + u32::from(byte - b'0')))
}

/// A whole number of 64 bits as a string.
pub fn is_int64(text: &str) -> bool {
    text.parse::<i64>().is_ok() && !text.starts_with('+')
}

/// Formats that say something to people and other programs, and of which nothing is checked.
pub const UNCHECKED: [&str; 6] = ["int32", "float", "double", "byte", "binary", "password"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days() {
        for text in ["2026-11-25", "2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31"] {
            assert!(is_date(text), "{text}");
        }
        for text in ["2026-02-29", "1900-02-29", "2026-13-01", "2026-00-01", "2026-04-31", "2026-1-01", "26-01-01", ""]
        {
            assert!(!is_date(text), "{text}");
        }
    }

    #[test]
    fn moments() {
        for text in ["2026-11-25T14:03:00Z", "2026-11-25t23:59:59.123456789z", "2026-11-25T00:00:00+14:00"] {
            assert!(is_datetime(text), "{text}");
        }
        for text in [
            "2026-11-25",
            "2026-11-25T14:03:00",
            "2026-11-25 14:03:00Z",
            "2026-11-25T24:00:00Z",
            "2026-11-25T23:59:60Z",
            "2026-11-25T14:03:00.Z",
            "2026-11-25T14:03Z",
            "2026-11-25T14:03:00+1:00",
            "2026-11-25T14:03:00+24:00",
            "2026-02-30T14:03:00Z",
            "é",
        ] {
            assert!(!is_datetime(text), "{text}");
        }
    }

    #[test]
    fn digits_of_64_bits() {
        assert!(is_int64("-9223372036854775808") && is_int64("9223372036854775807"));
        assert!(!is_int64("9223372036854775808") && !is_int64("+1") && !is_int64("") && !is_int64("1.0"));
    }
}
