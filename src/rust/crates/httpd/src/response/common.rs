//! Header fields that whoever runs the server wants on all responses, whoever makes them: handlers, files, and refusals
//! of bytes that are no request. A page of another site can then read of each why it failed.

use super::fields::{is_of_the_server, ResponseFields};
use grammar::bytes::{is_token, is_value};
use http::{HeaderName, HeaderValue};

/// See the module.
#[derive(Debug, Default)]
pub struct CommonFields(Vec<(HeaderName, HeaderValue)>);

impl CommonFields {
    /// Of lines such as `name: value`.
    ///
    /// # Errors
    /// A text that says what would be right.
    pub fn new(lines: &[String]) -> Result<Self, String> {
        lines.iter().map(|line| field(line)).collect::<Result<_, _>>().map(CommonFields)
    }

    /// Adds those that no field of the response has the name of.
    pub fn add_to(&self, fields: &mut ResponseFields) {
        for (name, value) in &self.0 {
            if fields.get(name).is_none() {
                fields.add(name, value);
            }
        }
    }

    /// Those that are not given otherwise.
    pub(crate) fn others_than(
        &self,
        is_given: impl Fn(&HeaderName) -> bool,
    ) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.0.iter().filter(move |(name, _)| !is_given(name)).map(|(name, value)| (name, value))
    }
}

fn field(line: &str) -> Result<(HeaderName, HeaderValue), String> {
    let wrong = || format!("must be fields such as 'x-content: value', not '{}'", line.escape_debug());
    let (name, value) = line.split_once(':').ok_or_else(wrong)?;
    let (name, value) = (name.trim(), value.trim());
    if !is_token(name.as_bytes()) || !is_value(value.as_bytes()) {
        return Err(wrong());
    }
    if is_of_the_server(name.as_bytes()) {
        return Err(format!("{} is the server's to set", name.to_ascii_lowercase()));
    }
    match (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
        (Ok(name), Ok(value)) => Ok((name, value)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(lines: &[&str]) -> Result<CommonFields, String> {
        CommonFields::new(&lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_response_gets_those_that_it_does_not_have() {
        let common = common(&["Access-Control-Allow-Origin: *", "x-a:1, 2 "]).unwrap();
        let given = || [(&b"x-a"[..], &b"own"[..])].into_iter();
        let mut fields = ResponseFields::of_handler(None, given).unwrap();
        common.add_to(&mut fields);
        assert!(fields.text().ends_with(b"access-control-allow-origin: *\r\n"));
        assert_eq!(fields.all().filter(|(name, _)| *name == b"x-a").count(), 1);
        let mut fields = ResponseFields::default();
        common.add_to(&mut fields);
        assert_eq!(fields.text(), b"access-control-allow-origin: *\r\nx-a: 1, 2\r\n");
    }

    #[test]
    fn what_cannot_be_a_field_and_what_is_the_servers_is_refused() {
        for (line, said) in [
            ("nosniff", "must be fields such as 'x-content: value', not 'nosniff'"),
            ("a b: c", "must be fields such as 'x-content: value', not 'a b: c'"),
            ("a: b\r\nc: d", "must be fields such as 'x-content: value', not 'a: b\\r\\nc: d'"),
            ("Content-Length: 1", "content-length is the server's to set"),
            ("Date: now", "date is the server's to set"),
        ] {
            assert_eq!(common(&[line]).unwrap_err(), said);
        }
    }
}
