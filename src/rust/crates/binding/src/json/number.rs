//! Numbers: in the fewest digits that give the same number back, or rounded as jsonlite rounds them.
//!
//! The layout of the first is ECMAScript's (ECMA-262, Number::toString; also RFC 8785, section 3.2.2.3): no exponent
//! from 1e-6 to 1e21, so 100000 and not 1e+05. Not for NA, NaN and infinities, which JSON has no numbers for: that is
//! `write`.

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

/// Writes a finite number as `jsonlite::toJSON(digits = )` does, with 0 to 9 digits behind the point: halves go to the
/// even neighbour, and numbers that are very large or very small have that many significant digits more than before the
/// point, 15 at most. Source: jsonlite's `num_to_char.c` and `modp_numtoa.c`, whose results the tests compare.
pub fn rounded(out: &mut Vec<u8>, x: f64, digits: u8) {
    let size = x.abs();
    if size > 1e-5 && size < f64::from(i32::MAX) {
        return fixed(out, x < 0.0, size, digits);
    }
    let significant = (size.log10().max(1.0) + f64::from(digits)).min(15.0).ceil();
    out.extend_from_slice(general(x, significant as usize).as_bytes());
}

/// `size` is below 2^31, `digits` at most 9.
fn fixed(out: &mut Vec<u8>, negative: bool, size: f64, digits: u8) {
    let scale = 10_u32.pow(u32::from(digits));
    let mut whole = size as u32;
    let scaled = (size - f64::from(whole)) * f64::from(scale);
    let mut fraction = scaled as u32;
    let rest = scaled - f64::from(fraction);
    // without digits behind the point the last one is that before it
    let last = if digits == 0 { whole } else { fraction };
    if rest > 0.5 || (rest == 0.5 && last % 2 == 1) {
        fraction += 1;
        if fraction >= scale {
            fraction = 0;
            whole += 1;
        }
    }
    if negative {
        out.push(b'-');
    }
    integer(out, i64::from(whole));
    if fraction == 0 {
        return;
    }
    let text = format!("{fraction:0width$}", width = usize::from(digits));
    out.push(b'.');
    out.extend_from_slice(text.trim_end_matches('0').as_bytes());
}

/// The text of C's `%.*g`.
fn general(x: f64, significant: usize) -> String {
    let scientific = format!("{:.*e}", significant - 1, x);
    let (mantissa, exponent) = scientific.split_once('e').expect("a formatted number has an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is a number");
    if exponent >= -4 && exponent < significant as i32 {
        return without_zeros(&format!("{:.*}", (significant as i32 - 1 - exponent) as usize, x)).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
}

/// Without zeros at the end behind a point.
fn without_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
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
    let digits = without_zeros(mantissa);
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
    fn rounding_is_that_of_jsonlite() {
        for (x, digits, expected) in [
            (0.99995, 4, "1"),
            (1.99995, 4, "1.9999"),
            (0.00005, 4, "0"),
            (0.00025, 4, "0.0002"),
            (-1.00005, 4, "-1.0001"),
            (-0.00002, 4, "-0"),
            (-0.00001, 4, "-1e-05"),
            (0.00001, 9, "1e-05"),
            (0.000011, 9, "0.000011"),
            (2.5, 0, "2"),
            (3.5, 0, "4"),
            (0.99995, 0, "1"),
            (123456.5, 0, "123456"),
            (1e5, 4, "100000"),
            (2147483646.5, 4, "2147483646.5"),
            (2147483648.25, 4, "2147483648.25"),
            (-3123456789.123, 4, "-3123456789.123"),
            (123456789012.345, 0, "123456789012"),
            (1e15, 4, "1e+15"),
            (1e300, 4, "1e+300"),
            (5e-324, 4, "4.9407e-324"),
            (5e-324, 0, "5e-324"),
        ] {
            let mut out = Vec::new();
            rounded(&mut out, x, digits);
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{x} with {digits}");
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
