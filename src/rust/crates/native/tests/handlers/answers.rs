//! Handlers of drover's interface that answer at once, as they should.

use crate::app::{both, codes, failure, headers, response, spec, App, Ask, How, DONE, INVALID, OK};
use crate::library::one_at_a_time;
use exchange::{Answer, Handlers as _};
use native::UserData;
use std::borrow::Cow;
use std::sync::atomic::{AtomicI64, Ordering};

#[test]
fn fixed_responses() {
    both("h_text", &Ask::default(), |_, client, _| {
        assert_eq!(response(client), (200, "text/plain; charset=utf-8".into(), "Hello, World!".into()));
    });
    both("h_json", &Ask::default(), |_, client, app| {
        assert_eq!(response(client), (200, "application/json".into(), "{\"message\":\"Hello, World!\"}".into()));
        // usual content types are not copied
        let Answer::Response(response) = client.answer() else { unreachable!() };
        assert!(matches!(response.head.content_type, Some(Cow::Borrowed(_))));
        assert_eq!(app.log(), []);
    });
}

#[test]
fn a_response_as_asked_for() {
    let _one = one_at_a_time();
    both("h_respond", &Ask::query("/x?status=201&type=text/x-odd&n=3"), |_, client, _| {
        assert_eq!(response(client), (201, "text/x-odd".into(), "xxx".into()));
    });
    both("h_respond", &Ask::query("/x?n=0"), |_, client, _| {
        assert_eq!(response(client), (200, "application/octet-stream".into(), String::new()));
    });
    let mut typed = spec("h_respond");
    typed.content_type = "text/csv".to_owned();
    let app = App::with(vec![typed], 1);
    assert_eq!(response(&app.call(How::Inline, &Ask::default())), (200, "text/csv".into(), "xx".into()));
}

#[test]
fn header_fields_that_cannot_split_a_response() {
    let _one = one_at_a_time();
    both("h_headers", &Ask::default(), |_, client, _| {
        let sent = headers(client);
        let sent: Vec<(&str, &str)> = sent.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(sent, [("X-One", "1"), ("set-cookie", "a=1"), ("set-cookie", "b=2")]);
        assert_eq!(codes(8), [OK, OK, OK, INVALID, INVALID, INVALID, INVALID, INVALID]);
    });
}

#[test]
fn times_and_marks() {
    let _one = one_at_a_time();
    both("h_mark", &Ask::default(), |_, client, _| {
        assert_eq!(headers(client), [("server-timing".to_owned(), "db;dur=12.345, render;dur=0.001".to_owned())]);
        assert_eq!(codes(5), [INVALID, OK, OK, INVALID, OK]);
    });
}

#[test]
fn lines_of_the_log_say_whose_they_are() {
    both("h_log", &Ask::default(), |_, client, app| {
        assert_eq!(response(client), (204, String::new(), String::new()));
        let who = "id=0000000000000abc C handler of GET /:";
        let lines = [(0, "for your information"), (1, "a warning\nof two lines"), (2, "an error"), (2, "")];
        assert_eq!(app.log(), lines.map(|(level, line)| (level, format!("{who} {line}"))));
    });
}

#[test]
fn deliberate_failures() {
    let _one = one_at_a_time();
    both("h_fail", &Ask::query("/x?status=404"), |_, client, _| {
        assert_eq!(failure(client), (404, "there is no such thing".into(), String::new()));
    });
    both("h_fail", &Ask::query("/x?status=503"), |_, client, _| {
        let (status, detail, why) = failure(client);
        assert_eq!((status, detail.as_str()), (503, "there is no such thing"));
        assert_eq!(why, "C handler: there is no such thing");
    });
}

#[test]
fn lent_bodies_are_given_back_once() {
    let _one = one_at_a_time();
    let released = || response(&App::new("h_released").call(How::Inline, &Ask::default())).2.parse::<u32>().unwrap();
    both("h_owned", &Ask::query("/x?n=100000"), |_, client, app| {
        // the second and the third body were refused, and released at once
        assert_eq!(codes(3), [OK, DONE, INVALID]);
        let before = released();
        assert_eq!(response(client).2, "o".repeat(100_000));
        client.see().answer = None;
        app.natives.stop(std::time::Duration::from_secs(60));
        assert_eq!(released(), before + 1);
    });
    both("h_static", &Ask::query("/x?n=1000000"), |_, client, _| assert_eq!(response(client).2.len(), 1_000_000));
}

#[test]
fn user_data() {
    let with = |name, data| {
        let mut spec = spec(name);
        spec.data = data;
        App::with(vec![spec], 2)
    };
    let counter = AtomicI64::new(40);
    let app = with("h_count", UserData::Pointer(counter.as_ptr().cast()));
    assert_eq!(response(&app.call(How::Inline, &Ask::default())).2, "41");
    assert_eq!(response(&app.call(How::Pool, &Ask::default())).2, "42");
    assert_eq!(counter.load(Ordering::SeqCst), 42);
    let bytes = b"a\0b";
    let app = with("h_data", UserData::Bytes(bytes.as_ptr(), bytes.len()));
    assert_eq!(response(&app.call(How::Pool, &Ask::default())).2, "a\0b");
    // what is empty is there all the same
    let app = with("h_data", UserData::Bytes(bytes.as_ptr(), 0));
    assert_eq!(response(&app.call(How::Inline, &Ask::default())).2, "");
    let app = with("h_data", UserData::None);
    assert_eq!(response(&app.call(How::Inline, &Ask::default())).2, "no data");
}

#[test]
fn specs_that_cannot_be() {
    let wrong = |change: fn(&mut native::Spec)| {
        let mut spec = spec("h_text");
        change(&mut spec);
        // SAFETY: it is refused.
        let natives = unsafe { native::Natives::new(vec![spec], 1, std::sync::Arc::new(|_, _| ())) };
        natives.err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert_eq!(
        wrong(|spec| spec.function = std::ptr::null()),
        "the C handler of GET / cannot be used: it has no function"
    );
    assert!(wrong(|spec| spec.content_type = "a\nb".to_owned()).contains("control characters"));
    let app = App::new("h_text");
    for number in [0, 2, u32::MAX] {
        for how in [How::Inline, How::Pool] {
            let client = crate::client::Client::new();
            app.call_for(how, number, &Ask::default(), &client);
            assert_eq!(failure(&client).0, 500);
        }
    }
    let client = crate::client::Client::new();
    app.natives.submit(1, b"no request".to_vec(), std::time::Instant::now(), client.sink());
    app.natives.flush();
    assert!(failure(&client).2.contains("malformed message"));
}
