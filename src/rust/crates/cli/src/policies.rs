//! Policies in the settings file: tables such as `[policies.cors]`, or several, `[[policies.rate_limit]]`. R registers
//! them for the app, by the functions of these names, and says what is wrong with them; here they are read, with their
//! places.

use serde::{Deserialize as _, Serialize};
use toml::de::{DeString, DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Table};

/// The key of their table.
pub(crate) const KEY: &str = "policies";

/// One of them.
#[derive(Serialize)]
struct Policy<'t> {
    name: &'t str,
    /// "file:line"
    at: String,
    arguments: Table,
}

/// All of them as JSON, for R, in the order of the file. `value` is that of their key, and `at` says the "file:line" of
/// an offset.
///
/// # Errors
/// With file, line, and what would be right.
pub(crate) fn read(value: &Spanned<DeValue<'_>>, at: impl Fn(usize) -> String) -> Result<String, String> {
    let wrong =
        |place, name: &str| format!("{}: {KEY} must be tables, such as [{KEY}.cors]; {name} is none", at(place));
    let DeValue::Table(policies) = value.get_ref() else { return Err(wrong(value.span().start, KEY)) };
    let mut found = Vec::new();
    for (key, value) in in_order(policies) {
        let name: &str = key.get_ref();
        let places: Vec<(usize, &Spanned<DeValue<'_>>)> = match value.get_ref() {
            DeValue::Array(several) => several.iter().map(|one| (one.span().start, one)).collect(),
            _ => vec![(key.span().start, value)],
        };
        for (place, value) in places {
            let arguments = Table::deserialize(ValueDeserializer::from(value.clone()));
            let arguments = arguments.map_err(|_| wrong(place, name))?;
            found.push((place, Policy { name, at: at(place), arguments }));
        }
    }
    found.sort_by_key(|(place, _)| *place);
    let found: Vec<Policy<'_>> = found.into_iter().map(|(_, policy)| policy).collect();
    sonic_rs::to_string(&found).map_err(|e| e.to_string())
}

/// Those that all apps have, and those of one.
pub(crate) fn both(all: &str, own: &str) -> String {
    match (all.strip_suffix(']').unwrap_or_default(), own.strip_prefix('[').unwrap_or_default()) {
        ("" | "[", _) => own.to_owned(),
        (_, "" | "]") => all.to_owned(),
        (all, own) => format!("{all},{own}"),
    }
}

/// The entries of a table in the order of the file: the first error is the first that a reader of the file sees.
pub(crate) fn in_order<'t, 'f>(table: &'t DeTable<'f>) -> Vec<(&'t Spanned<DeString<'f>>, &'t Spanned<DeValue<'f>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str) -> Result<String, String> {
        let document = DeTable::parse(text).unwrap();
        let at = |offset: usize| format!("f:{}", text[..offset].matches('\n').count() + 1);
        read(&document.get_ref()[KEY], at)
    }

    #[test]
    fn policies_are_told_in_their_order_with_their_places() {
        let text =
            "[[policies.rate_limit]]\ncapacity = 5\nwindow = \"1m\"\n\n[policies.cors]\norigins = [\"https://a\"]\n\n\
                    [[policies.rate_limit]]\ncapacity = 9\nkey = { claim = \"sub\" }\n";
        let all = concat!(
            r#"[{"name":"rate_limit","at":"f:1","arguments":{"capacity":5,"window":"1m"}},"#,
            r#"{"name":"cors","at":"f:5","arguments":{"origins":["https://a"]}},"#,
            r#"{"name":"rate_limit","at":"f:8","arguments":{"capacity":9,"key":{"claim":"sub"}}}]"#
        );
        assert_eq!(read_all(text).unwrap(), all);
        assert_eq!(read_all("[policies]\n").unwrap(), "[]");
        assert_eq!(read_all("[policies.csrf]\n").unwrap(), r#"[{"name":"csrf","at":"f:1","arguments":{}}]"#);
    }

    #[test]
    fn those_of_one_app_come_behind_those_of_all() {
        for (all, own, both) in [("[1]", "[2,3]", "[1,2,3]"), ("", "[2]", "[2]"), ("[1]", "[]", "[1]"), ("", "", "")] {
            assert_eq!(super::both(all, own), both);
        }
        assert_eq!((super::both("[]", "[2]"), super::both("[1]", "")), ("[2]".to_owned(), "[1]".to_owned()));
    }

    #[test]
    fn what_is_no_table_is_told() {
        for (text, right) in [
            ("policies = 7", "f:1: policies must be tables, such as [policies.cors]; policies is none"),
            ("[policies]\ncors = true", "f:2: policies must be tables, such as [policies.cors]; cors is none"),
            ("[policies]\ncors = [1]", "f:2: policies must be tables, such as [policies.cors]; cors is none"),
        ] {
            assert_eq!(read_all(text).unwrap_err(), right);
        }
    }
}
