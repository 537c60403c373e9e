//! What handlers of drover's interface do wrong.

use crate::app::{both, codes, failure, response, Ask, DONE, INVALID, OK};
use crate::library::one_at_a_time;

const NON_ZERO: &str = "";

#[test]
fn failing_is_a_500_whose_reason_is_for_the_log() {
    for (name, why) in [
        ("h_nonzero", "it returned 7"),
        ("h_throw", "it threw the model has no weights"),
        ("h_throw_int", "it threw something that is not a std::exception"),
    ] {
        both(name, &Ask::default(), |_, client, _| {
            assert_eq!(failure(client), (500, NON_ZERO.into(), format!("C handler: {why}")));
        });
    }
}

#[test]
fn silence_is_a_500() {
    both("h_silent", &Ask::default(), |_, client, _| {
        let (status, detail, why) = failure(client);
        assert_eq!((status, detail.as_str()), (500, ""));
        assert_eq!(why, "C handler: it returned without an answer");
    });
}

#[test]
fn an_answer_stays_whatever_comes_after_it() {
    both("h_answer_then_throw", &Ask::default(), |_, client, app| {
        assert_eq!(response(client).2, "answered");
        app.wait_log("after its answer: it threw too late");
    });
    let _one = one_at_a_time();
    both("h_twice", &Ask::default(), |_, client, _| {
        assert_eq!(response(client).2, "first");
        assert_eq!(codes(5), [OK, DONE, DONE, DONE, DONE]);
    });
}

#[test]
fn what_cannot_be_is_refused() {
    let _one = one_at_a_time();
    both("h_invalid", &Ask::default(), |_, client, _| {
        assert_eq!(response(client), (200, String::new(), String::new()));
        let codes = codes(12);
        assert_eq!((&codes[..11], codes[11]), (&[INVALID; 11][..], OK));
    });
}

/// `pthread_exit()` would unwind the server's frames and cannot be stopped, so the process reports it and aborts.
#[test]
fn ending_the_thread_ends_the_process() {
    use std::os::unix::process::ExitStatusExt as _;
    let this = std::env::current_exe().unwrap();
    let ended = std::process::Command::new(this)
        .args(["--ignored", "--exact", "--nocapture", "canary::end_of_the_thread"])
        .output()
        .unwrap();
    assert_eq!(ended.status.signal(), Some(libc::SIGABRT));
    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(told.contains("drover: a C handler has ended the thread that it was called in"), "{told}");
}
