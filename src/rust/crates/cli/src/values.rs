//! What the value of a setting may be. Each kind of setting says what would be right; flags, variables and the settings
//! file are read here alike.

use admission::units;
use toml::Value;

/// What a setting may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// a whole number
    Count { least: u64, most: Option<u64> },
    /// a size, with a unit or in bytes
    Bytes { least: u64, most: Option<u64> },
    /// a time, with a unit or in seconds; whether it may be 0
    Seconds { zero: bool },
    /// yes or no
    Flag,
    /// the same, or `auto`
    FlagOrAuto,
    /// one of these words
    Choice(Vec<&'static str>),
    /// see [`workers`]
    Workers,
    /// files, separated by commas
    Paths,
    /// words, separated by commas
    List,
    /// texts, each on a line of its own or in a flag of its own
    Lines,
    /// where lines are written: a word of the server's, or a file; `-` is standard error, as for other programs
    Target,
    /// anything
    Text,
}

/// A double, which is what R has, counts one by one as far as this, 2^53.
const MOST: u64 = 9_007_199_254_740_992;

/// A year is longer than any sensible setting.
const LONGEST: f64 = 31_536_000.0;

impl Kind {
    /// Reads a value.
    ///
    /// # Errors
    /// With what would be right, from "must be" on.
    pub(crate) fn read(&self, text: &str) -> Result<Value, String> {
        match self {
            Kind::Count { least, most } => whole(text.parse().ok(), *least, *most)
                .ok_or_else(|| format!("must be a whole number {}", range(*least, *most))),
            Kind::Bytes { least, most } => whole(units::bytes(text), *least, *most).ok_or_else(|| {
                let range = if *least == 0 && most.is_none() { String::new() } else { range(*least, *most) };
                let of = if range.is_empty() { String::new() } else { format!(" {range}") };
                format!("must be a number of bytes{of}, or a size such as 10MB, 16kB or 64KiB")
            }),
            Kind::Seconds { zero } => match units::seconds(text) {
                Some(s) if s <= LONGEST && (s > 0.0 || *zero) => Ok(Value::Float(s)),
                _ => Err(format!(
                    "must be a number of seconds {} 0 and <= {LONGEST}, or a time such as 500ms, 30s or 2m",
                    if *zero { ">=" } else { ">" }
                )),
            },
            Kind::Flag => match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "y" | "on" | "1" => Ok(Value::Boolean(true)),
                "false" | "no" | "n" | "off" | "0" | "" => Ok(Value::Boolean(false)),
                _ => Err("must be true or false".to_owned()),
            },
            // a string, as only those are of one type
            Kind::FlagOrAuto if text.eq_ignore_ascii_case("auto") => Ok(Value::String("auto".to_owned())),
            Kind::FlagOrAuto => match Kind::Flag.read(text) {
                Ok(flag) => Ok(Value::String((flag == Value::Boolean(true)).to_string())),
                Err(_) => Err("must be true, false or auto".to_owned()),
            },
            Kind::Choice(words) if words.contains(&text) => Ok(Value::String(text.to_owned())),
            Kind::Choice(words) => Err(format!("must be one of: {}", words.join(", "))),
            Kind::Workers => workers(text).map(|_| Value::String(text.to_owned())),
            Kind::Paths => {
                list(text).ok_or_else(|| "must be the path of a file, or several separated by commas".to_owned())
            }
            Kind::Lines => {
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                Ok(Value::Array(lines.map(|line| Value::String(line.to_owned())).collect()))
            }
            Kind::List => list(text).ok_or_else(|| "must be one value, or several separated by commas".to_owned()),
            Kind::Target if text == "-" => Ok(Value::String("stderr".to_owned())),
            Kind::Target | Kind::Text => Ok(Value::String(text.to_owned())),
        }
    }
}

/// Strings separated by commas.
fn list(text: &str) -> Option<Value> {
    let all: Vec<_> = text.split(',').map(str::trim).collect();
    let is_sound = all.iter().all(|one| !one.is_empty() && !one.contains('\0'));
    is_sound.then(|| Value::Array(all.into_iter().map(|one| Value::String(one.to_owned())).collect()))
}

fn whole(n: Option<u64>, least: u64, most: Option<u64>) -> Option<Value> {
    let n = n.filter(|n| (least..=most.unwrap_or(MOST)).contains(n))?;
    i64::try_from(n).ok().map(Value::Integer)
}

fn range(least: u64, most: Option<u64>) -> String {
    match most {
        Some(most) => format!("in {least}..{most}"),
        None => format!(">= {least}"),
    }
}

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
    /// The fewest and the most, as the supervisor has them.
    pub(crate) fn bounds(self) -> (usize, usize) {
        match self {
            Workers::Exactly(n) => (n, n),
            Workers::Between(min, max) => (min, max),
            Workers::Auto => (supervisor::usable_cores(), supervisor::AUTO),
        }
    }
}

/// `4`, `1-4` or `auto`.
pub(crate) fn workers(text: &str) -> Result<Workers, String> {
    if text.eq_ignore_ascii_case("auto") {
        return Ok(Workers::Auto);
    }
    let number = |text: &str| text.parse().ok();
    let read = match text.split_once('-') {
        None => number(text).filter(|&n: &usize| n >= 1).map(Workers::Exactly),
        Some((min, max)) => match (number(min), number(max)) {
            (Some(min), Some(max)) if min <= max && max >= 1 => Some(Workers::Between(min, max)),
            _ => None,
        },
    };
    read.ok_or_else(|| "must be a whole number >= 1, two of them as in 1-4, or auto".to_owned())
}

/// The same, and of which pool, whose name is empty for that of routes without one: `4`, `gpu=4`.
pub(crate) fn workers_of_pool(text: &str) -> Result<(String, Workers), String> {
    let (pool, number) = text.split_once('=').unwrap_or(("", text));
    workers(number).map(|workers| (pool.trim().to_owned(), workers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_a_number_a_range_or_as_many_as_run_at_a_time() {
        assert_eq!(workers("4"), Ok(Workers::Exactly(4)));
        assert_eq!(workers("2-8").map(Workers::bounds), Ok((2, 8)));
        let cores = supervisor::usable_cores();
        assert_eq!(workers("auto").map(Workers::bounds), Ok((cores, supervisor::AUTO)));
        assert_eq!(workers("0-2").map(Workers::bounds), Ok((0, 2)));
        assert_eq!(workers_of_pool("gpu=2"), Ok(("gpu".to_owned(), Workers::Exactly(2))));
        assert_eq!(workers_of_pool("2"), Ok((String::new(), Workers::Exactly(2))));
        assert!(workers_of_pool("gpu=").is_err());
        for wrong in ["0", "0-0", "4-2", "-1", "two", "", "1-2-3", "1.5", "1-auto"] {
            assert!(workers(wrong).unwrap_err().ends_with("as in 1-4, or auto"), "{wrong}");
        }
    }

    #[test]
    fn sizes_and_times_have_units_and_bounds() {
        let bytes = Kind::Bytes { least: 0, most: None };
        let target = Kind::Bytes { least: 1, most: Some(65_534) };
        assert_eq!(bytes.read("10MB"), Ok(Value::Integer(10_000_000)));
        assert_eq!(target.read("16kB"), Ok(Value::Integer(16_000)));
        assert!(target.read("0").is_err() && target.read("64KiB").is_err() && bytes.read("10s").is_err());
        assert!(target.read("64KiB").unwrap_err().starts_with("must be a number of bytes in 1..65534, or"));
        let (some, or_none) = (Kind::Seconds { zero: false }, Kind::Seconds { zero: true });
        assert_eq!(some.read("500ms"), Ok(Value::Float(0.5)));
        assert_eq!((or_none.read("0"), some.read("2m")), (Ok(Value::Float(0.0)), Ok(Value::Float(120.0))));
        assert!(some.read("0s").is_err() && some.read("400d").is_err() && or_none.read("10MB").is_err());
    }

    #[test]
    fn numbers_words_and_flags_have_bounds() {
        let count = Kind::Count { least: 1, most: Some(7) };
        assert_eq!(count.read("7"), Ok(Value::Integer(7)));
        for wrong in ["0", "8", "-1", "1.5", "1e0", "many", ""] {
            assert_eq!(count.read(wrong), Err("must be a whole number in 1..7".to_owned()));
        }
        assert_eq!(Kind::Flag.read("Yes"), Ok(Value::Boolean(true)));
        assert!(Kind::Flag.read("perhaps").is_err());
        let or_auto = |text| Kind::FlagOrAuto.read(text);
        assert_eq!(or_auto("Auto"), Ok(Value::String("auto".to_owned())));
        assert_eq!(or_auto("off"), Ok(Value::String("false".to_owned())));
        assert_eq!(or_auto("perhaps"), Err("must be true, false or auto".to_owned()));
        let target = |text| Kind::Target.read(text);
        assert_eq!((target("-"), target("a")), (Ok(Value::String("stderr".to_owned())), Kind::Text.read("a")));
        let choice = Kind::Choice(vec!["fork", "spawn"]);
        assert_eq!(choice.read("thread"), Err("must be one of: fork, spawn".to_owned()));
    }
}
