//! Handlers with drogonR's signature: what they answer, and what they do wrong.

use crate::app::{both, failure, response, Ask};

#[test]
fn responses() {
    both("old_text", &Ask::default(), |_, client, _| {
        assert_eq!(response(client), (200, "text/plain; charset=utf-8".into(), "Hello, World!".into()));
    });
    both("old_json", &Ask::default(), |_, client, _| {
        assert_eq!(response(client), (200, "application/json".into(), "{\"message\":\"Hello, World!\"}".into()));
    });
    both("old_respond", &Ask::query("/x?status=418&n=100000"), |_, client, _| {
        assert_eq!(response(client), (418, "application/octet-stream".into(), "x".repeat(100_000)));
    });
    both("old_empty", &Ask::default(), |_, client, _| {
        assert_eq!(response(client), (200, "application/octet-stream".into(), String::new()));
    });
}

#[test]
fn failing_is_a_500_whose_reason_is_for_the_log() {
    for (name, why) in [
        ("old_nonzero", "it returned 1"),
        // what it has allocated is freed all the same: AddressSanitizer sees to that
        ("old_nonzero_with_output", "it returned -1"),
        ("old_throw", "it threw the model has no weights"),
    ] {
        both(name, &Ask::default(), |_, client, _| {
            let detail = "".into();
            assert_eq!(failure(client), (500, detail, format!("C handler: {why}")));
        });
    }
}

#[test]
fn answers_that_cannot_be_sent() {
    for (name, target, why) in [
        ("old_null_body", "/x", "its body is NULL, and 5 bytes long"),
        ("old_garbage_length", "/x", "the length 18446744073709551608 of its body is too large"),
        ("old_too_long", "/x", "the length 1000000 of its body is beyond the "),
        ("old_bad_type", "/x", "its content type holds control characters"),
        ("old_respond", "/x?status=199", "its status 199 is not one from 200 to 599"),
        ("old_respond", "/x?status=-5", "its status -5 is not one from 200 to 599"),
        ("old_respond", "/x?status=1000", "its status 1000 is not one from 200 to 599"),
    ] {
        both(name, &Ask::query(target), |_, client, _| {
            let (status, detail, logged) = failure(client);
            assert_eq!((status, detail.as_str()), (500, ""));
            assert!(logged.starts_with(&format!("C handler: {why}")), "{logged}");
        });
    }
}
