//! Policies in the settings file: tables such as `[policies.cors]`, or several, `[[policies.rate_limit]]`. R registers
//! them for the app, by the functions of these names, and says what is wrong with them; here they are read, with their
//! places.

use serde::Serialize;
use toml::de::{DeString, DeTable, DeValue};
use toml::{Spanned, Table, Value};

/// The key of their table.
pub(crate) const KEY: &str = "policies";

/// One of them.
#[derive(Serialize)]
struct Policy<'t> {
    name: &'t str,
    /// "file:line"
    at: String,
    arguments: &'t Table,
}

/// All of them as JSON, for R, in the order of the file. `value` is that of their key in this text, and `at` says the
/// "file:line" of an offset.
///
/// # Errors
/// With file, line, and what would be right.
pub(crate) fn read(text: &str, value: &Spanned<DeValue<'_>>, at: impl Fn(usize) -> String) -> Result<String, String> {
    let wrong = |offset: usize, name: &str| {
        format!("{}: {KEY} must be tables, such as [{KEY}.cors]; {name} is none", at(offset))
    };
    let DeValue::Table(places) = value.get_ref() else { return Err(wrong(value.span().start, KEY)) };
    let values: Table = toml::from_str(text).map_err(|e| e.message().to_owned())?;
    let Some(Value::Table(values)) = values.get(KEY) else { return Ok(String::new()) };
    let mut found: Vec<(usize, Policy<'_>)> = Vec::new();
    for (key, place) in in_order(places) {
        let name: &str = key.get_ref();
        let starts: Vec<usize> = match place.get_ref() {
            DeValue::Array(several) => several.iter().map(|one| one.span().start).collect(),
            _ => vec![key.span().start],
        };
        let tables: Vec<&Value> = match values.get_key_value(name) {
            Some((_, Value::Array(several))) => several.iter().collect(),
            Some((_, one)) => vec![one],
            None => Vec::new(),
        };
        let name = values.get_key_value(name).map_or("", |(name, _)| name.as_str());
        for (start, table) in starts.into_iter().zip(tables) {
            let Value::Table(arguments) = table else { return Err(wrong(start, name)) };
            found.push((start, Policy { name, at: at(start), arguments }));
        }
    }
    found.sort_by_key(|(start, _)| *start);
    let found: Vec<Policy<'_>> = found.into_iter().map(|(_, policy)| policy).collect();
    sonic_rs::to_string(&found).map_err(|e| e.to_string())
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
        read(text, &document.get_ref()[KEY], at)
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
