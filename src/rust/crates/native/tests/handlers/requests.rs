//! What handlers see of a request.

use crate::app::{both, failure, response, Ask};
use std::io::Write as _;
use wire::{BodyRef, FLAG_HTTP2, FLAG_HTTPS};

const HEADERS: [(&str, &str); 4] =
    [("host", "here"), ("x-test", "yes"), ("cookie", "a=1; session=\"s 1\""), ("cookie", "b=2")];

#[test]
fn everything_that_drovers_interface_tells() {
    let ask = Ask {
        method: "POST",
        target: "/items/7?x=1&y=%20",
        params: &["items", "7"],
        headers: &HEADERS,
        body: BodyRef::Inline(b"a\0b"),
        flags: FLAG_HTTP2 | FLAG_HTTPS,
        tls: b"protocol\0TLSv1.3\0client_subject\0CN=Alice\0",
        auth: br#"{"scheme":"key","user":"ci"}"#,
        base_path: b"/hub",
    };
    both("h_echo", &ask, |_, client, _| {
        let (status, content_type, json) = response(client);
        assert_eq!((status, content_type.as_str()), (200, "application/json"));
        let expected = r#"{"method":"POST","path":"/items/7","target":"/items/7?x=1&y=%20","query":"x=1&y=%20","body":"a\u0000b","remote_addr":"127.0.0.1","param_id":"7","cookie_session":"s 1","header_x_test":"yes","header_missing":null,"tls_protocol":"TLSv1.3","tls_client_subject":"CN=Alice","tls_missing":null,"https":true,"auth":{"scheme":"key","user":"ci"},"base_path":"/hub","remote_port":4711,"http2":true,"id":"0000000000000abc","params":["items","7"],"headers":[["host","here"],["x-test","yes"],["cookie","a=1; session=\"s 1\""],["cookie","b=2"]],"header_count":4}"#;
        assert_eq!(json, expected);
    });
}

#[test]
fn what_is_not_there_is_not_empty() {
    both("h_echo", &Ask { headers: &[], ..Ask::default() }, |_, client, _| {
        let (_, _, json) = response(client);
        assert!(json.contains(r#""query":null,"body":"","#), "{json}");
        assert!(json.contains(r#""param_id":null,"cookie_session":null,"#), "{json}");
        assert!(json.contains(
            r#""tls_protocol":null,"tls_client_subject":null,"tls_missing":null,"https":false,"auth":null,"base_path":"","#
        ));
        assert!(json.contains(r#""http2":false"#) && json.ends_with(r#""params":[],"headers":[],"header_count":0}"#));
    });
    both("h_echo", &Ask::query("/x?"), |_, client, _| assert!(response(client).2.contains(r#""query":"","#)));
}

#[test]
fn everything_that_drogonrs_signatures_tell() {
    let ask = Ask {
        target: "/items/7?x=1",
        params: &["items", "7"],
        headers: &HEADERS,
        body: BodyRef::Inline(b"a\0b"),
        ..Ask::default()
    };
    both("old_echo", &ask, |_, client, _| {
        // cookies of several fields are one list
        let expected = r#"{"body":"a\u0000b","query":"x=1","params":["items","7"],"headers":[["host","here"],["x-test","yes"],["cookie","a=1; session=\"s 1\"; b=2"]]}"#;
        assert_eq!(response(client), (200, "application/json".into(), expected.into()));
    });
    both("old_echo", &Ask { target: "/x?", headers: &[], ..Ask::default() }, |_, client, _| {
        assert_eq!(response(client).2, r#"{"body":"","query":null,"params":null,"headers":[]}"#);
    });
    // more than the memory that a thread keeps
    let long = "v".repeat(100_000);
    both("old_echo", &Ask { headers: &[("x-long", &long)], ..Ask::default() }, |_, client, _| {
        assert!(response(client).2.contains(&long));
    });
}

#[test]
fn bodies_in_files() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("spooled-{}", std::process::id()));
    let content = b"spooled\0".repeat(50_000);
    std::fs::File::create(&path).unwrap().write_all(&content).unwrap();
    let spooled = |len| BodyRef::Spooled { path: path.to_str().unwrap().as_bytes(), len };
    for name in ["h_body", "old_body"] {
        both(name, &Ask { body: spooled(content.len() as u64), ..Ask::default() }, |_, client, _| {
            assert_eq!(response(client).2.as_bytes(), content);
        });
        both(name, &Ask { body: spooled(0), ..Ask::default() }, |_, client, _| assert_eq!(response(client).2, ""));
    }
    // shorter than it says, or not there: no handler gets half a body
    for body in [spooled(content.len() as u64 + 1), BodyRef::Spooled { path: b"/nowhere", len: 5 }] {
        both("h_body", &Ask { body, ..Ask::default() }, |_, client, app| {
            assert_eq!(failure(client).0, 500);
            assert!(app.log()[0].1.contains("the body's file cannot be mapped"), "{:?}", app.log());
        });
        both("old_body", &Ask { body, ..Ask::default() }, |_, client, _| {
            let (status, _, why) = failure(client);
            assert!(status == 500 && why.contains("the body's file cannot be mapped"), "{why}");
        });
    }
    std::fs::remove_file(&path).unwrap();
}
