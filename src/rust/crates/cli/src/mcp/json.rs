//! Looking into JSON that others have written, without reading all of it into memory. What it is not for: telling
//! whether it is right, which R does. Of what is not, anything may be found, or nothing.
//!
//! By hand, as the library that reads strings here follows nesting by recursion: a client could end the program with a
//! line of brackets.

/// A text of JSON, or what should be one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Json<'a>(pub(super) &'a [u8]);

impl<'a> Json<'a> {
    /// The value at this path of names, as it is written.
    pub(super) fn get(self, path: &[&str]) -> Option<&'a [u8]> {
        path.iter().try_fold(self.0.trim_ascii_start(), |value, name| member(value, name))
    }

    /// The same, if it is a string.
    pub(super) fn text(self, path: &[&str]) -> Option<String> {
        self.get(path).and_then(string)
    }
}

/// What a string says; `None` of what is none.
pub(super) fn string(value: &[u8]) -> Option<String> {
    // nothing else begins so, and a string has no nesting
    value.starts_with(b"\"").then(|| sonic_rs::from_slice(value).ok()).flatten()
}

/// The value of this name in an object, the first one of it.
fn member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut rest = object.strip_prefix(b"{")?.trim_ascii_start();
    loop {
        let (key, after) = rest.split_at(end_of_string(rest)?);
        let value = after.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        let (value, after) = value.split_at(end_of_value(value)?);
        if string(key)? == name {
            return Some(value);
        }
        rest = after.trim_ascii_start().strip_prefix(b",")?.trim_ascii_start();
    }
}

/// How long the string is that a text begins with.
fn end_of_string(text: &[u8]) -> Option<usize> {
    let mut bytes = text.iter().enumerate();
    if bytes.next()?.1 != &b'"' {
        return None;
    }
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// How long the value is that a text begins with.
fn end_of_value(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'"' => end_of_string(text),
        b'{' | b'[' => {
            let (mut at, mut depth) = (0, 0_usize);
            loop {
                match text.get(at)? {
                    b'"' => {
                        at += end_of_string(&text[at..])?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        _ => text.iter().position(|b| matches!(b, b',' | b'}' | b']') || b.is_ascii_whitespace()).or(Some(text.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_names_whatever_is_around_them() {
        let json =
            Json(br#" { "x" : "\"}," , "a" : {"b": [ {"c": 1} , "]"] , "d":{ "e":null}} , "n\u0061me":"\u00e9" } "#);
        assert_eq!(json.get(&["a", "d", "e"]), Some(&b"null"[..]));
        assert_eq!(json.get(&["a", "b"]), Some(&br#"[ {"c": 1} , "]"]"#[..]));
        assert_eq!((json.text(&["x"]).as_deref(), json.text(&["name"]).as_deref()), (Some("\"},"), Some("é")));
        assert_eq!((json.get(&["b"]), json.get(&["a", "b", "c"]), json.text(&["a"])), (None, None, None));
    }

    #[test]
    fn what_is_no_json_is_no_harm() {
        for wrong in
            ["", "{", "{\"", "{\"a", "{\"a\\", "{\"a\"", "{\"a\":", "{\"a\":\"", "{\"a\":[", "{1:2}", "[1]", "{}", "}"]
        {
            assert_eq!(Json(wrong.as_bytes()).get(&["a"]), None, "{wrong}");
        }
        assert_eq!(Json(b"{\"a\":\"\xff\"}").text(&["a"]), None);
        // however deep
        for open in ["[", "{\"a\":"] {
            let deep = open.repeat(1_000_000);
            assert_eq!(Json(deep.as_bytes()).get(&["a", "a"]), None);
            assert_eq!(Json(format!("{{\"b\":{deep}").as_bytes()).get(&["a"]), None);
        }
    }
}
