//! Forgetting what is kept before its time: which responses that is about, and the page `/cache/purge`, which has it
//! done for whoever runs the server. R has it done by `dr_cache_purge()` (`commands.rs`). Neighbour:
//! `pipeline/internal`, which has the path of the page.

use crate::edge::csrf::Csrf;
use crate::pool::Pool;
use crate::respond::{text, unstored};
use grammar::percent::decode;
use http::StatusCode;
use httpd::{Head, Response};
use wire::command::PurgeBy;

/// What the page wants to be told.
const RIGHT: &str = "say what to forget by one of ?path=, ?prefix= and ?tag=, such as /cache/purge?prefix=/prices\n";

/// Whether a response is meant: by what its request asked for, and its tags.
pub fn is_meant(by: PurgeBy, text: &[u8], target: &[u8], tags: &[u8]) -> bool {
    match by {
        PurgeBy::Key => target == text,
        PurgeBy::Prefix => target.starts_with(text),
        PurgeBy::Tag => tags.split(|b| matches!(b, b',' | b' ')).any(|tag| tag == text),
    }
}

/// The page: forgets, and answers how many that were, as JSON. Pages of other sites may not ask for it: a browser of
/// whoever runs the server would send that.
pub fn page(pool: &Pool, head: &Head) -> Response {
    if let Err(failure) = Csrf::default().judge(head) {
        return text(failure.status, format!("{}\n", failure.detail));
    }
    let query = head.target().split_once('?').map_or("", |(_, query)| query);
    let Some((by, what)) = asked(query) else {
        return text(StatusCode::BAD_REQUEST, RIGHT);
    };
    let forgotten = pool.purge(|target, tags| is_meant(by, &what, target, tags));
    unstored(StatusCode::OK, "application/json", format!("{{\"forgotten\":{forgotten}}}\n"))
}

/// What a query asks to forget: one field, whose value is of the form that `dr_cache_purge()` takes.
fn asked(query: &str) -> Option<(PurgeBy, Vec<u8>)> {
    let (name, value) = query.split_once('=')?;
    // further fields are more likely the rest of a path that was not escaped than anything else
    let value = decode(value.as_bytes(), true).ok().filter(|_| !value.contains('&'))?;
    let by = match name {
        "path" => PurgeBy::Key,
        "prefix" => PurgeBy::Prefix,
        "tag" => PurgeBy::Tag,
        _ => return None,
    };
    let is_right = match by {
        PurgeBy::Tag => !value.is_empty() && !value.iter().any(|b| matches!(b, b',' | b' ')),
        PurgeBy::Key | PurgeBy::Prefix => value.starts_with(b"/"),
    };
    is_right.then(|| (by, value.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_field_says_what_to_forget() {
        let said = |query| asked(query).map(|(by, what)| (by, String::from_utf8(what).unwrap()));
        assert_eq!(said("path=/a?b=1"), Some((PurgeBy::Key, "/a?b=1".into())));
        assert_eq!(said("path=%2Fa%3Fb=1%26c=2"), Some((PurgeBy::Key, "/a?b=1&c=2".into())));
        assert_eq!(said("prefix=/"), Some((PurgeBy::Prefix, "/".into())));
        assert_eq!(said("tag=prices"), Some((PurgeBy::Tag, "prices".into())));
        for wrong in [
            "",
            "path",
            "path=",
            "path=a",
            "prefix=*",
            "tag=",
            "tag=a,b",
            "tag=a%20b",
            "path=/a&b=1",
            "all=/",
            "tag=%zz",
        ] {
            assert_eq!(said(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn tags_are_whole_words() {
        let has = |tag: &[u8]| is_meant(PurgeBy::Tag, tag, b"/", b"prices, stock items");
        assert!(has(b"prices") && has(b"stock") && has(b"items"));
        assert!(!has(b"price") && !has(b"stock items") && !has(b"other"));
    }
}
