//! Errors about the value of a setting name its source: an environment variable, and not the flag, which was not given;
//! where values only do not fit together, a line of the settings file, too. Neighbours: `options`, which finds the
//! errors; `given`, which knows the sources.

use crate::given::Given;
use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::Command;
use std::error::Error as _;
use std::ffi::OsString;

/// An error about how the program is used.
pub(crate) fn usage(kind: ErrorKind, text: &str) -> clap::Error {
    clap::Error::raw(kind, format!("{text}\n"))
}

/// The error of reading these arguments by this command. One about a value that goes away without a variable names it.
pub(crate) fn of_variable(error: clap::Error, command: &Command, args: &[OsString]) -> clap::Error {
    if !matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::InvalidUtf8) {
        return error;
    }
    let Some(subcommand) = args.iter().skip(1).find_map(|arg| command.find_subcommand(arg)) else { return error };
    for arg in subcommand.get_arguments() {
        let Some(variable) = arg.get_env().filter(|variable| std::env::var_os(variable).is_some()) else { continue };
        let without = command.clone().mut_subcommand(subcommand.get_name(), |subcommand| {
            subcommand.mut_arg(arg.get_id().as_str(), |arg| arg.env(Resettable::Reset))
        });
        let remains = without.try_get_matches_from(args).is_err_and(|other| is_about_the_same(&error, &other));
        if !remains {
            return named(&variable.to_string_lossy(), &error);
        }
    }
    error
}

/// Not by their texts, in which the usage depends on what else is given.
fn is_about_the_same(one: &clap::Error, other: &clap::Error) -> bool {
    let about = [ContextKind::InvalidArg, ContextKind::InvalidValue];
    one.kind() == other.kind() && about.iter().all(|kind| one.get(*kind) == other.get(*kind))
}

/// The error in the words of a variable.
fn named(variable: &str, error: &clap::Error) -> clap::Error {
    let right = match (error.get(ContextKind::ValidValue), error.source()) {
        _ if error.kind() == ErrorKind::InvalidUtf8 => "must be UTF-8".to_owned(),
        (Some(ContextValue::Strings(words)), _) if !words.is_empty() => format!("must be one of: {}", words.join(", ")),
        (_, Some(source)) => source.to_string(),
        (_, None) => "must not be empty".to_owned(),
    };
    let given = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) if !value.is_empty() => format!(", not '{value}'"),
        _ => String::new(),
    };
    usage(error.kind(), &format!("the variable {variable} {right}{given}"))
}

/// An error that begins with the name of a setting, or has others in it, with the places of those that were given by a
/// variable or the settings file: a flag stands where it is read.
pub(crate) fn with_places(error: &str, given: &Given) -> String {
    let words = error.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).enumerate();
    // names of one word are words of the language, too
    let names = words.filter(|(i, word)| *i == 0 || word.contains('_')).map(|(_, word)| word);
    let mut places: Vec<String> =
        names.filter_map(|name| given.place(name).map(|place| format!("{name}: {place}"))).collect();
    places.dedup();
    if places.is_empty() {
        error.to_owned()
    } else {
        format!("{error} ({})", places.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::given::Origin;
    use toml::Value;

    #[test]
    fn the_places_of_settings_are_named() {
        let mut given = Given::default();
        given.set_at("log", Value::String("a".into()), Origin::File, "drover.toml:3".into());
        given.set_at("n_min", Value::Integer(4), Origin::Variable, "the variable DROVER_N_MIN".into());
        given.set("n_max", Value::Integer(3), Origin::Flag);
        let places = |error| with_places(error, &given);
        assert_eq!(places("log: a: no log here"), "log: a: no log here (log: drover.toml:3)");
        assert_eq!(
            places("n_max must be at least n_min (4), not 3"),
            "n_max must be at least n_min (4), not 3 (n_min: the variable DROVER_N_MIN)"
        );
        assert_eq!(places("host: the log"), "host: the log");
    }
}
