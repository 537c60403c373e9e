//! Dates and times as text, for the years that R writes with four digits.
//!
//! Of other time zones, what their clocks show is given as a time in UTC: see `view::Zone`.

use super::number::integer;

const DAY: i64 = 86_400;

/// The first and last day since 1970-01-01 that [`date`] writes: 1000-01-01 and 9999-12-31.
pub const DAYS: std::ops::RangeInclusive<f64> = -354_285.0..=2_932_896.0;

/// Writes `2026-11-21`, without quotes. `day` is counted from 1970-01-01 and within [`DAYS`].
pub fn date(out: &mut Vec<u8>, day: i64) {
    // Days are counted from 0000-03-01, so that a leap day ends its year, in eras of 400 years (146097 days).
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    integer(out, year);
    out.push(b'-');
    two_digits(out, month);
    out.push(b'-');
    two_digits(out, day_of_month);
}

/// Writes `2026-11-21 08:45:00` of a second since 1970 in UTC, with `between` between date and time.
pub fn date_time(out: &mut Vec<u8>, second: i64, between: u8) {
    date(out, second.div_euclid(DAY));
    out.push(between);
    let of_day = second.rem_euclid(DAY);
    two_digits(out, of_day / 3_600);
    out.push(b':');
    two_digits(out, of_day / 60 % 60);
    out.push(b':');
    two_digits(out, of_day % 60);
}

/// True when a time has no time of day, not even a fraction of a second.
pub fn is_midnight(seconds: f64) -> bool {
    seconds % DAY as f64 == 0.0
}

/// True when [`date_time`] can write this time.
pub fn in_range(seconds: f64) -> bool {
    DAYS.contains(&(seconds / DAY as f64).floor())
}

/// True when this time is in range in every time zone, or is NaN.
pub fn in_every_zone(seconds: f64) -> bool {
    let day = DAY as f64;
    seconds.is_nan() || (in_range(seconds - day) && in_range(seconds + day))
}

fn two_digits(out: &mut Vec<u8>, n: i64) {
    out.extend_from_slice(&[b'0' + (n / 10) as u8, b'0' + (n % 10) as u8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days() {
        for (day, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (20_778, "2026-11-21"),
            (*DAYS.start() as i64, "1000-01-01"),
            (*DAYS.end() as i64, "9999-12-31"),
        ] {
            let mut out = Vec::new();
            date(&mut out, day);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn known_times() {
        let mut out = Vec::new();
        date_time(&mut out, -1, b'T');
        assert_eq!(out, b"1969-12-31T23:59:59");
        assert!(is_midnight(86_400.0) && !is_midnight(86_400.5) && is_midnight(-86_400.0));
    }

    #[test]
    fn days_follow_one_another() {
        let mut before = Vec::new();
        date(&mut before, *DAYS.start() as i64);
        for day in *DAYS.start() as i64 + 1..=*DAYS.end() as i64 {
            let mut out = Vec::new();
            date(&mut out, day);
            assert!(out > before && out.len() == 10);
            before = out;
        }
    }
}
