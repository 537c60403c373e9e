//! What is secret in a request, and is replaced before it is kept.
//!
//! A name is meant wherever it is one: of a header field, of a field of a query or form, of a member of JSON at any
//! depth. A path of JSON (`$.card.number`) is one place in a body.

use grammar::percent;
use observe::quote;
use std::borrow::Cow;

/// What stands in place of a secret. Without characters that would have to be escaped in a query, a form or JSON.
pub const MARK: &str = "REDACTED";

/// Names that are always meant: in lower case, with `_` for `-`.
const ALWAYS: [&str; 20] = [
    "authorization",
    "proxy_authorization",
    "cookie",
    "set_cookie",
    "x_api_key",
    "x_auth_token",
    "x_csrf_token",
    "x_xsrf_token",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "client_secret",
    "token",
    "access_token",
    "refresh_token",
    "id_token",
    "api_key",
    "apikey",
    "private_key",
];

/// Deeper JSON is not looked through, and so not kept. As deep as `max_json_depth` allows by default.
const DEEPEST: u32 = 64;

/// See the module.
#[derive(Debug)]
pub(crate) struct Redact {
    names: Vec<String>,
    paths: Vec<Vec<String>>,
}

/// Where the way is at, in the paths that lead there.
type Open<'p> = Vec<&'p [String]>;

impl Redact {
    /// Of the setting `keep_failed_redact`: names, and paths that begin with `$.`
    ///
    /// # Errors
    /// With the one that is neither.
    pub(crate) fn new(given: &[String]) -> Result<Self, String> {
        let mut redact = Redact { names: ALWAYS.map(str::to_owned).to_vec(), paths: Vec::new() };
        for text in given {
            if let Some(path) = text.strip_prefix('$') {
                redact.paths.push(steps(path).ok_or_else(|| wrong(text))?);
            } else if text.is_empty() || text.contains(|c: char| c.is_whitespace() || "[]$:=&\"".contains(c)) {
                return Err(wrong(text));
            } else {
                redact.names.push(plain(text));
            }
        }
        Ok(redact)
    }

    fn means(&self, name: &str) -> bool {
        let name = plain(name);
        self.names.contains(&name)
    }

    /// The value of a header field as it is kept.
    pub(crate) fn field(&self, name: &str, value: &[u8]) -> String {
        if self.means(name) {
            return MARK.to_owned();
        }
        let value = String::from_utf8_lossy(value).into_owned();
        if name.eq_ignore_ascii_case("referer") {
            return self.target(&value);
        }
        value
    }

    /// A path with its query.
    pub(crate) fn target(&self, target: &str) -> String {
        match target.split_once('?') {
            Some((path, query)) => format!("{path}?{}", self.pairs(query)),
            None => target.to_owned(),
        }
    }

    /// A query, or a form that is written as one.
    fn pairs(&self, pairs: &str) -> String {
        let pairs = pairs.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) if self.means(&decoded(name)) => format!("{name}={MARK}"),
            _ => pair.to_owned(),
        });
        pairs.collect::<Vec<_>>().join("&")
    }

    /// A body of this type, or why it cannot be kept.
    pub(crate) fn body(&self, content_type: &str, body: &[u8]) -> Result<Vec<u8>, &'static str> {
        let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
        if kind == "application/json" || kind.ends_with("+json") || matches!(first, Some(b'{' | b'[')) {
            let text = std::str::from_utf8(body).map_err(|_| NO_JSON)?;
            return self.json(text).map(String::into_bytes).ok_or(NO_JSON);
        }
        if kind == "application/x-www-form-urlencoded" {
            let text = std::str::from_utf8(body).map_err(|_| "it is no form that can be looked through")?;
            return Ok(self.pairs(text).into_bytes());
        }
        if kind.starts_with("multipart/") && self.is_in_parts(body) {
            return Err("it has parts that are to be redacted");
        }
        Ok(body.to_vec())
    }

    /// Whether the head of a part of a multipart body has a name that is meant. What merely looks like one counts, too.
    fn is_in_parts(&self, body: &[u8]) -> bool {
        let text = String::from_utf8_lossy(body).to_ascii_lowercase();
        text.match_indices("name=").any(|(at, found)| {
            let rest = &text[at + found.len()..];
            let name = match rest.strip_prefix('"') {
                Some(rest) => rest.split('"').next(),
                None => rest.split([';', '\r', '\n']).next(),
            };
            name.is_some_and(|name| self.means(name.trim()))
        })
    }

    /// A text of JSON; `None` when it is none, or too deep.
    pub(crate) fn json(&self, text: &str) -> Option<String> {
        // one value, not too deep, and nothing after it, which the way through it would not see
        schema::Value::parse(text.as_bytes(), DEEPEST).ok()?;
        let mut out = String::with_capacity(text.len());
        let open: Open<'_> = self.paths.iter().map(|path| &path[..]).collect();
        self.value(text.trim(), &open, DEEPEST, &mut out)?;
        Some(out)
    }

    /// Appends a value. `open` are the rests of the paths that lead here.
    fn value(&self, text: &str, open: &Open<'_>, depth: u32, out: &mut String) -> Option<()> {
        match text.as_bytes().first()? {
            b'{' => {
                let deeper = depth.checked_sub(1)?;
                out.push('{');
                for (n, member) in sonic_rs::to_object_iter(text).enumerate() {
                    let (name, value) = member.ok()?;
                    if n > 0 {
                        out.push(',');
                    }
                    quote(&name, out);
                    out.push(':');
                    let further = further(open, |step| *step == *name || step == "*");
                    if self.means(&name) || further.iter().any(|rest| rest.is_empty()) {
                        quote(MARK, out);
                    } else {
                        self.value(value.as_raw_str(), &further, deeper, out)?;
                    }
                }
                out.push('}');
            }
            b'[' => {
                let deeper = depth.checked_sub(1)?;
                out.push('[');
                for (n, value) in sonic_rs::to_array_iter(text).enumerate() {
                    let value = value.ok()?;
                    if n > 0 {
                        out.push(',');
                    }
                    // a path that does not mention the array goes through it
                    let mut inside = further(open, |step| step == "*" || *step == n.to_string());
                    inside.extend(open.iter().copied());
                    if inside.iter().any(|rest| rest.is_empty()) {
                        quote(MARK, out);
                    } else {
                        self.value(value.as_raw_str(), &inside, deeper, out)?;
                    }
                }
                out.push(']');
            }
            _ => out.push_str(text),
        }
        Some(())
    }
}

const NO_JSON: &str = "it is no JSON that can be looked through";

/// The rests of paths whose next step is this.
fn further<'p>(open: &Open<'p>, is: impl Fn(&String) -> bool) -> Open<'p> {
    open.iter().filter_map(|path| path.split_first()).filter(|(step, _)| is(step)).map(|(_, rest)| rest).collect()
}

/// Names are compared like this: `X-API-Key` is `x_api_key`.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

fn decoded(name: &str) -> Cow<'_, str> {
    match percent::decode(name.as_bytes(), true) {
        Ok(Cow::Borrowed(bytes)) => String::from_utf8_lossy(bytes),
        Ok(Cow::Owned(bytes)) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        Err(_) => Cow::Borrowed(name),
    }
}

/// The steps of a path behind `$`: `.name`, `[*]`, `[0]`.
fn steps(mut path: &str) -> Option<Vec<String>> {
    let mut steps = Vec::new();
    while !path.is_empty() {
        let (step, rest) = if let Some(rest) = path.strip_prefix('[') {
            let (step, rest) = rest.split_once(']')?;
            (step == "*" || step.parse::<u32>().is_ok_and(|n| n.to_string() == step)).then_some((step, rest))?
        } else {
            let rest = path.strip_prefix('.')?;
            rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()))
        };
        if step.is_empty() || step.contains(|c: char| c.is_whitespace() || "]$\"'".contains(c)) {
            return None;
        }
        steps.push(step.to_owned());
        path = rest;
    }
    (!steps.is_empty()).then_some(steps)
}

fn wrong(text: &str) -> String {
    format!(
        "each must be a name such as X-Session or password, or a path of JSON such as $.card.number or \
         $.cards[*].number, not {text:?}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redact(given: &[&str]) -> Redact {
        Redact::new(&given.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn names_are_meant_wherever_they_are_names() {
        let redact = redact(&["X-Session"]);
        assert_eq!(redact.field("authorization", b"Bearer x"), MARK);
        assert_eq!(redact.field("X_SESSION", b"x"), MARK);
        assert_eq!(redact.field("accept", b"a/b"), "a/b");
        assert_eq!(redact.field("referer", b"https://a/?token=x&b=1"), "https://a/?token=REDACTED&b=1");
        assert_eq!(
            redact.target("/a?b=1&pass%77ord=x&Api-Key=&token"),
            "/a?b=1&pass%77ord=REDACTED&Api-Key=REDACTED&token"
        );
        let form = redact.body("application/x-www-form-urlencoded; charset=utf-8", b"user=a&password=b").unwrap();
        assert_eq!(form, b"user=a&password=REDACTED");
        let json = r#"{"a":{"Password":{"deep":[1]},"n":1.00},"list":[{"token":1},"token"]}"#;
        assert_eq!(
            redact.json(json).unwrap(),
            r#"{"a":{"Password":"REDACTED","n":1.00},"list":[{"token":"REDACTED"},"token"]}"#
        );
        // escapes do not hide a name; and which of two is read, others may see in another way
        assert_eq!(redact.json(r#"{"p\u0061ssword":1}"#).unwrap(), r#"{"password":"REDACTED"}"#);
        assert_eq!(redact.json(r#"{"a":1,"a":2}"#), None);
    }

    #[test]
    fn paths_are_places_and_go_through_arrays() {
        let redact = redact(&["$.card.number", "$.cards[*].cvc", "$.people.ssn", "$.list[1]", "$.any.*.x"]);
        let text = r#"{"card":{"number":1,"name":"a"},"number":2,"cards":[{"cvc":3},{"cvc":4,"b":5}],
            "people":[{"ssn":6},[{"ssn":7}]],"list":[8,9],"any":{"a":{"x":1},"b":[{"x":2}]}}"#;
        let hidden = redact.json(text).unwrap();
        assert_eq!(
            hidden,
            r#"{"card":{"number":"REDACTED","name":"a"},"number":2,"cards":[{"cvc":"REDACTED"},{"cvc":"REDACTED","b":5}],"people":[{"ssn":"REDACTED"},[{"ssn":"REDACTED"}]],"list":[8,"REDACTED"],"any":{"a":{"x":"REDACTED"},"b":[{"x":"REDACTED"}]}}"#
        );
        assert_eq!(redact.json(r#"[{"card":{"number":1}}]"#).unwrap(), r#"[{"card":{"number":"REDACTED"}}]"#);
    }

    #[test]
    fn what_cannot_be_looked_through_is_not_kept() {
        let redact = redact(&[]);
        for text in ["{", "{\"a\":1}{\"a\":2}", "{\"a\":tru}", "[1,]", "{\"a\"}", "", "nul"] {
            assert!(redact.body("application/json", text.as_bytes()).is_err(), "{text}");
        }
        // regardless of the type that it is said to have
        assert!(redact.body("text/plain", b" {\"password\": 1").is_err());
        for depth in [65, 100_000] {
            assert!(redact.json(&("[".repeat(depth) + &"]".repeat(depth))).is_none());
        }
        assert!(redact.json(&("[".repeat(64) + &"]".repeat(64))).is_some());
        let parts = |name: &str| format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n1\r\n--x--");
        assert!(redact.body("multipart/form-data; boundary=x", parts("Password").as_bytes()).is_err());
        assert!(redact.body("multipart/form-data; boundary=x", parts("user").as_bytes()).is_ok());
        assert_eq!(redact.body("text/csv", b"a,b").unwrap(), b"a,b");
    }

    #[test]
    fn what_is_neither_a_name_nor_a_path_is_named() {
        for text in ["", "a b", "$", "$.", "$a", "$.a..b", "$.a[", "$.a[x]", "$.a[-1]", "a[0]", "a: b", "$.\"a\""] {
            let error = Redact::new(&[text.to_owned()]).unwrap_err();
            assert!(error.ends_with(&format!("not {text:?}")), "{error}");
        }
    }
}
