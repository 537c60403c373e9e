//! Numbers, in the fewest digits that give the same number back.
//!
//! The layout is ECMAScript's (ECMA-262, Number::toString; also RFC 8785, section 3.2.2.3): no exponent from 1e-6 to
//! 1e21, so 100000 and not 1e+05. Not for NA, NaN and infinities, which JSON has no numbers for: that is `write`.

/// Integers up to here are exact in a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Writes an integer.
pub fn integer(out: &mut Vec<u8>, x: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(x).as_bytes());
}

/// Writes a finite number.
pub fn double(out: &mut Vec<u8>, x: f64) {
    debug_assert!(x.is_finite());
    if x.abs() < EXACT && x as i64 as f64 == x {
        return integer(out, x as i64);
    }
    let mut buffer = zmij::Buffer::new();
    let shortest = buffer.format_finite(x).as_bytes();
    if x.abs() >= 1e-5 && x.abs() < 1e15 {
        // no exponent and no trailing ".0" here: the integers are done
        return out.extend_from_slice(shortest);
    }
    lay_out(out, shortest);
}

/// Writes `shortest`, of the form `[-]d[.ddd][e[-]dd]` or `[-]0.00ddd`, in ECMAScript's layout.
fn lay_out(out: &mut Vec<u8>, shortest: &[u8]) {
    let (sign, unsigned) = match shortest.strip_prefix(b"-") {
        Some(rest) => (&b"-"[..], rest),
        None => (&b""[..], shortest),
    };
    out.extend_from_slice(sign);
    let (mantissa, exponent) = match unsigned.iter().position(|byte| *byte == b'e') {
        Some(at) => (&unsigned[..at], decimal(&unsigned[at + 1..])),
        None => (unsigned, 0),
    };
    let point = mantissa.iter().position(|byte| *byte == b'.').unwrap_or(mantissa.len());
    let all: Vec<u8> = mantissa.iter().copied().filter(|byte| *byte != b'.').collect();
    let zeros = all.iter().take_while(|digit| **digit == b'0').count();
    let end = all.iter().rposition(|digit| *digit != b'0').map_or(zeros, |last| last + 1);
    let digits = &all[zeros..end];
    // the number is 0.DIGITS * 10^magnitude
    let magnitude = point as i32 - zeros as i32 + exponent;
    let n = digits.len() as i32;
    if magnitude > 21 || magnitude <= -6 {
        out.push(digits[0]);
        if n > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.extend_from_slice(if magnitude > 0 { b"e+" } else { b"e" });
        integer(out, i64::from(magnitude - 1));
    } else if magnitude <= 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + magnitude.unsigned_abs() as usize, b'0');
        out.extend_from_slice(digits);
    } else if n <= magnitude {
        out.extend_from_slice(digits);
        out.resize(out.len() + (magnitude - n) as usize, b'0');
    } else {
        out.extend_from_slice(&digits[..magnitude as usize]);
        out.push(b'.');
        out.extend_from_slice(&digits[magnitude as usize..]);
    }
}

/// The text that R's `as.character()` gives: 15 significant digits, without an exponent where that is no longer.
/// For what must know the text before R makes it; R's own differs in the last digit at times.
pub fn as_r(x: f64) -> String {
    if !x.is_finite() {
        return if x.is_nan() {
            "NaN".to_owned()
        } else if x > 0.0 {
            "Inf".to_owned()
        } else {
            "-Inf".to_owned()
        };
    }
    let scientific = format!("{:.14e}", x.abs());
    let (mantissa, exponent) = scientific.split_once('e').expect("a formatted number has an exponent");
    let digits = mantissa.trim_end_matches('0').trim_end_matches('.');
    let exponent: i32 = exponent.parse().expect("an exponent is a number");
    let significant = digits.bytes().filter(u8::is_ascii_digit).count() as i32;
    let sign = if x < 0.0 { "-" } else { "" };
    let fraction = (significant - 1 - exponent).max(0);
    let fixed = exponent.max(0) + 1 + if fraction > 0 { fraction + 1 } else { 0 };
    if fixed <= digits.len() as i32 + if exponent.abs() >= 100 { 5 } else { 4 } {
        return format!("{sign}{:.*}", fraction as usize, x.abs());
    }
    format!("{sign}{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

fn decimal(text: &[u8]) -> i32 {
    let (sign, digits) = match text {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        rest => (1, rest),
    };
    sign * digits.iter().fold(0, |sum, digit| sum * 10 + i32::from(digit - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(x: f64) -> String {
        let mut out = Vec::new();
        double(&mut out, x);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_layout_is_that_of_ecmascript() {
        for (x, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-17.0, "-17"),
            (1e5, "100000"),
            (123456.789, "123456.789"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1.0 / 3.0, "0.3333333333333333"),
            (9007199254740993.0, "9007199254740992"),
            (1e15, "1000000000000000"),
            (1e20, "100000000000000000000"),
            (123456789012345680000.0, "123456789012345680000"),
            (1e21, "1e+21"),
            (-1.5e21, "-1.5e+21"),
            (1e300, "1e+300"),
            (0.00001, "0.00001"),
            (0.000001, "0.000001"),
            (0.00000123, "0.00000123"),
            (0.0000001, "1e-7"),
            (-1.25e-7, "-1.25e-7"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (1234567890123456.7, "1234567890123456.8"),
            (123456789012345.67, "123456789012345.67"),
            (2251799813685249.5, "2251799813685249.5"),
        ] {
            assert_eq!(text(x), expected);
        }
    }

    #[test]
    fn every_double_comes_back() {
        let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..200_000 {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            let x = f64::from_bits(bits);
            if x.is_finite() {
                assert_eq!(text(x).parse::<f64>().unwrap(), x);
            }
            let small = (bits as i32) as f64 / 1000.0;
            assert_eq!(text(small).parse::<f64>().unwrap(), small);
        }
    }
}
