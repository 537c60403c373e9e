//! Header fields with `_` in their names. Programs that name fields as CGI does (`HTTP_API_KEY`) take `api_key` and
//! `api-key` for the same one, so a client could write what a proxy has taken out, or set. Neighbours: `h1::head` and
//! `head`, which notice such names; `forwarded`, what proxies write.

use crate::client::Underscores;
use crate::connection::Connection;
use crate::forwarded::is_forwarded;
use crate::head::{Fields, Head};
use crate::response::Failure;
use http::StatusCode;

/// Prefixes of names that no client may write with `_`, even where the setting allows it: such fields describe the
/// message, or say what a proxy has found out. No client has a reason to write these with `_`.
const KEPT_APART: [&[u8]; 9] = [
    b"access-control-",
    b"content-",
    b"proxy-",
    b"remote-",
    b"sec-",
    b"transfer-",
    b"x-forwarded-",
    b"x-real-",
    b"x-remote-",
];

/// Another parser could take one of these for the end of the message.
const FRAMING: [&[u8]; 2] = [b"content-length", b"transfer-encoding"];

/// Does with such fields of a request what the setting says. Without one they are allowed where the client itself has
/// written the request, and dropped where a proxy has: it may have taken a field of this name out, or set it.
///
/// # Errors
/// The failure to answer with.
pub(crate) fn settle(head: &mut Head, connection: &Connection) -> Result<(), Failure> {
    if !head.has_underscores() {
        return Ok(());
    }
    let server = connection.server();
    let proxies = &server.proxies;
    let said = proxies.underscores;
    let has_proxy = || {
        let is_known = !proxies.trusted.is_empty() || !proxies.announcing.is_empty();
        is_known || is_forwarded(&head.fields)
    };
    let rule = said.unwrap_or_else(|| if has_proxy() { Underscores::Drop } else { Underscores::Allow });
    let frames = head.fields.iter().any(|(name, _)| is_underscored(name) && FRAMING.contains(&&*dashed(name)));
    if frames || rule == Underscores::Refuse {
        let failure = Failure::new(StatusCode::BAD_REQUEST, "header name with an underscore").closing();
        let why = if frames { "a length of the body, whatever `underscores_in_headers` is" } else { REFUSED };
        return Err(failure.because(why));
    }
    let (kept, dropped): (Vec<_>, Vec<_>) = head
        .fields
        .iter()
        .map(|(name, _)| name.to_vec())
        .filter(|name| is_underscored(name))
        .partition(|name| rule == Underscores::Allow && is_alone(name, &head.fields));
    if !dropped.is_empty() {
        head.fields.retain(|name| !is_underscored(name) || kept.iter().any(|kept| kept == name));
        let names: Vec<_> = dropped.iter().map(|name| String::from_utf8_lossy(name)).collect();
        let why = match (said, rule) {
            (Some(_), Underscores::Drop) => "`underscores_in_headers` = drop",
            (None, Underscores::Drop) => "`underscores_in_headers` is drop for what comes through a proxy",
            _ => "the same name with `-` is there, or is none for clients to write with `_`",
        };
        let remote = connection.remote_addr();
        server.log.of_client(|| format!("{remote} header fields dropped: {}: {why}", names.join(", ")));
    }
    Ok(())
}

const REFUSED: &str = "`underscores_in_headers` = refuse";

fn is_underscored(name: &[u8]) -> bool {
    name.contains(&b'_')
}

fn dashed(name: &[u8]) -> Vec<u8> {
    name.iter().map(|b| if *b == b'_' { b'-' } else { *b }).collect()
}

/// Whether a name stands for no other field of the request, and for none that is kept apart. Two that differ in what is
/// `_` and what is `-` are one to CGI, too.
fn is_alone(name: &[u8], fields: &Fields) -> bool {
    let plain = dashed(name);
    !KEPT_APART.iter().any(|kept| plain.starts_with(kept))
        && !fields.iter().any(|(other, _)| other != name && dashed(other) == plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_taken_for_another_field_is_not_alone() {
        let fields: Fields = [("api_key", "1"), ("user-id", "2"), ("user_id", "3"), ("a-b_c", "4"), ("a_b-c", "5")]
            .into_iter()
            .collect();
        assert!(is_alone(b"api_key", &fields));
        for name in ["user_id", "a-b_c", "a_b-c", "x_forwarded_for", "content_type", "x_real_ip", "remote_user"] {
            assert!(!is_alone(name.as_bytes(), &fields), "{name}");
        }
        // twice the same is a list, as of any field
        let twice: Fields = [("api_key", "1"), ("api_key", "2")].into_iter().collect();
        assert!(is_alone(b"api_key", &twice));
    }
}
