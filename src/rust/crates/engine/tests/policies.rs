//! Policies over sockets: what pages of other origins may do, wherever the response comes from, and what is refused.

mod service;
mod settings;

use admission::rate::Algorithm;
use admission::Limits;
use engine::{
    AppConfig, CorsConfig, CsrfConfig, HeaderConfig, Key, LimitConfig, MountConfig, PolicyConfig, RouteConfig,
    RuleConfig, Runs, Scope,
};
use exchange::{Answer, Handlers, Head, RequestView, Response, Sink};
use service::{ask, Service};
use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

/// Handler 1 answers with 200 and a field `Vary` of its own, 2 fails.
struct Fake;

impl Handlers for Fake {
    fn run(&self, handler: u32, _: &dyn RequestView, _: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> {
        if handler == 2 {
            return Some(Answer::Failure { status: 500, detail: "".into(), why: "".into() });
        }
        let headers = vec![(b"Vary".to_vec(), b"Accept".to_vec()), (b"x-own".to_vec(), b"1".to_vec())];
        let head = Head { status: 200, content_type: Some(Cow::Borrowed(b"text/plain")), headers };
        Some(Answer::Response(Response { head, body: b"hello"[..].into() }))
    }

    fn submit(&self, _: u32, _: Vec<u8>, _: Instant, _: Arc<dyn Sink>) {}

    fn flush(&self) {}
}

fn strings(text: &str) -> Vec<String> {
    text.split_whitespace().map(String::from).collect()
}

fn cors(routes: &str, config: CorsConfig) -> PolicyConfig {
    PolicyConfig { routes: strings(routes), rule: RuleConfig::Cors(CorsConfig { max_age: 600.0, ..config }) }
}

/// `/hello` (GET), `/hello/<x>` (POST), `/fails` (GET), files of the folder below `/files`.
fn serve(policies: Vec<PolicyConfig>) -> Service {
    let service = Service::new(1, Limits { max_body: 10, ..Limits::default() });
    let folder = service.folder.path().join("files");
    std::fs::create_dir(&folder).unwrap();
    std::fs::File::create(folder.join("a.txt")).unwrap().write_all(b"file").unwrap();
    let route = |methods: &str, path: &str, handler| settings::route(methods, path, handler, Runs::Inline);
    let routes: Vec<RouteConfig> =
        vec![route("GET", "/hello", 1), route("POST", "/hello/<x>", 1), route("GET", "/fails", 2)];
    let mounts = vec![MountConfig {
        mount: "/files".into(),
        dir: folder.to_str().unwrap().to_owned(),
        links: false,
        types: None,
    }];
    service.runs(AppConfig { routes, mounts, policies, ..AppConfig::default() }, Arc::new(Fake));
    service
}

/// The status, and the fields that are about pages of other origins.
fn told(answer: &[String]) -> String {
    let status = answer[0].split(' ').nth(1).unwrap();
    let is_ours = |line: &&String| line.starts_with("access-control-") || line.starts_with("vary:");
    let mut fields: Vec<_> = answer.iter().filter(is_ours).map(|line| line.replace("access-control-", "")).collect();
    fields.sort();
    std::iter::once(status.to_owned()).chain(fields).collect::<Vec<_>>().join(" | ")
}

const GOOD: &str = "Origin: https://app.example\r\n";
const BAD: &str = "Origin: https://evil.example\r\n";

fn for_app() -> CorsConfig {
    CorsConfig {
        origins: strings("https://app.example https://*.app.example"),
        headers: strings("Content-Type X-Token"),
        expose: strings("X-Own"),
        credentials: true,
        ..CorsConfig::default()
    }
}

#[test]
fn responses_say_which_pages_may_read_them_wherever_they_come_from() {
    let service = serve(vec![cors("", for_app())]);
    let allowed = "allow-credentials: true | allow-origin: https://app.example | expose-headers: X-Own";
    for (line, more, status, vary) in [
        ("GET /hello", "", "200", "Accept, origin"),
        ("HEAD /hello", "", "200", "Accept, origin"),
        ("GET /files/a.txt", "", "200", "accept-encoding, origin"),
        ("GET /files/none", "", "404", "origin"),
        ("GET /nothing", "", "404", "origin"),
        ("DELETE /hello", "", "405", "origin"),
        ("OPTIONS /hello", "", "204", "origin"),
        ("GET /fails", "", "500", "origin"),
        ("GET /hello/%zz", "", "400", "origin"),
        ("GET /hello", "Expect: miracles\r\n", "417", "origin"),
        ("POST /hello/x", "Content-Length: 11\r\n", "413", "origin"),
    ] {
        let good = told(&ask(&service, line, &format!("{GOOD}{more}")));
        assert_eq!(good, format!("{status} | {allowed} | vary: {vary}"), "{line}");
        for other in [BAD, "", "Origin: null\r\n"] {
            let answer = ask(&service, line, &format!("{other}{more}"));
            assert_eq!(told(&answer), format!("{status} | vary: {vary}"), "{line} {other}");
            assert!(!answer.iter().any(|text| text.contains("evil")), "{line}");
        }
    }
    let twice = format!("{GOOD}{GOOD}");
    assert_eq!(told(&ask(&service, "GET /hello", &twice)), "200 | vary: Accept, origin");
}

#[test]
fn a_preflight_is_answered_before_all_else() {
    let service = serve(vec![cors("", for_app())]);
    let preflight = |path: &str, origin: &str, more: &str| {
        let fields = format!("{origin}Access-Control-Request-Method: PUT\r\n{more}");
        ask(&service, &format!("OPTIONS {path}"), &fields)
    };
    let allowed = |methods: &str| {
        format!(
            "204 | allow-credentials: true | allow-headers: Content-Type, X-Token{methods} | \
             allow-origin: https://x.app.example | max-age: 600 | vary: origin"
        )
    };
    let origin = "origin: https://x.app.example\r\n";
    let asks = "Access-Control-Request-Headers: x-evil, content-type\r\n";
    for (path, methods) in [
        ("/hello", " | allow-methods: GET, HEAD, OPTIONS"),
        ("/hello/y", " | allow-methods: POST, OPTIONS"),
        ("/files/a.txt", " | allow-methods: GET, HEAD, OPTIONS"),
        ("/nothing", ""),
    ] {
        let answer = preflight(path, origin, asks);
        assert_eq!(told(&answer), allowed(methods), "{path}");
        assert!(!answer.iter().any(|line| line.contains("evil") || line.starts_with("content-")), "{answer:?}");
        assert_eq!(told(&preflight(path, BAD, asks)), "204 | vary: origin", "{path}");
    }
    assert_eq!(told(&preflight("/hello/%zz", origin, "")).split(' ').next(), Some("400"));
    // without an origin, or a method, it is none
    for fields in [GOOD, "Access-Control-Request-Method: PUT\r\n"] {
        assert!(ask(&service, "OPTIONS /hello", fields).contains(&"allow: GET, HEAD, OPTIONS".to_owned()), "{fields}");
    }
}

#[test]
fn all_pages_are_let_in_by_a_star_and_none_by_name() {
    let any = CorsConfig {
        origins: strings("*"),
        headers: strings("*"),
        methods: Some(strings("GET")),
        ..CorsConfig::default()
    };
    let service = serve(vec![cors("", any)]);
    for origin in [BAD, "Origin: null\r\n", ""] {
        assert_eq!(told(&ask(&service, "GET /hello", origin)), "200 | allow-origin: * | vary: Accept", "{origin}");
    }
    let answer = ask(&service, "OPTIONS /hello", &format!("{BAD}Access-Control-Request-Method: PUT\r\n"));
    let expected = "204 | allow-headers: *, Authorization | allow-methods: GET | allow-origin: * | max-age: 600";
    assert_eq!(told(&answer), expected);
}

#[test]
fn the_closest_policy_of_a_path_counts() {
    let only = |origin: &str| CorsConfig { origins: strings(origin), ..CorsConfig::default() };
    let service = serve(vec![
        cors("", only("https://app.example")),
        cors("/hello/1 /files", only("https://other.example")),
        cors("/hello/2", only("https://wrong.example")),
        cors("/hello/2", only("https://third.example")),
    ]);
    let reads = |line: &str, origin: &str| {
        let answer = ask(&service, line, &format!("Origin: {origin}\r\n"));
        answer.contains(&format!("access-control-allow-origin: {origin}"))
    };
    for (line, origin) in [
        ("GET /hello", "https://app.example"),
        ("POST /hello/0", "https://app.example"),
        ("POST /hello/1", "https://other.example"),
        ("POST /HELLO/%31", "https://other.example"),
        ("GET /files/a.txt", "https://other.example"),
        ("POST /hello/2", "https://third.example"),
        ("GET /hello/2/nothing", "https://third.example"),
    ] {
        for other in ["https://app.example", "https://other.example", "https://wrong.example", "https://third.example"]
        {
            assert_eq!(reads(line, other), other == origin, "{line} {other}");
        }
    }
}

#[test]
fn what_is_wrong_with_a_policy_is_told() {
    let service = Service::new(1, Limits::default());
    let tell = |policy| {
        let app = AppConfig { policies: vec![policy], ..AppConfig::default() };
        service.server.pool().add_generation(2, &app, None).unwrap_err()
    };
    let nowhere = CorsConfig { origins: strings("nowhere"), ..CorsConfig::default() };
    assert_eq!(tell(cors("", nowhere)), "cors: \"nowhere\" is no origin");
    assert!(tell(cors("api", for_app())).contains("a path must start with '/'"));
}

fn limit(routes: &str, capacity: f64, config: LimitConfig) -> PolicyConfig {
    PolicyConfig { routes: strings(routes), rule: RuleConfig::RateLimit(LimitConfig { capacity, ..config }) }
}

fn in_a_minute(scope: Scope, key: Key) -> LimitConfig {
    LimitConfig { capacity: 1.0, window: 60.0, algorithm: Algorithm::FixedWindow, scope, key, cost: 1.0 }
}

fn status(service: &Service, line: &str, fields: &str) -> String {
    ask(service, line, fields)[0].split(' ').nth(1).unwrap().to_owned()
}

fn value<'a>(answer: &'a [String], name: &str) -> Option<&'a str> {
    answer.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[test]
fn a_limit_holds_for_all_that_its_paths_have() {
    let service = serve(vec![limit("", 2.0, in_a_minute(Scope::PerRoute, Key::None))]);
    for (one, other) in [
        ("GET /hello", "HEAD /hello"),
        ("POST /hello/1", "POST /hello/2"),
        // what no route takes has one count
        ("GET /files/a.txt", "GET /nothing"),
    ] {
        assert_ne!(status(&service, one, ""), "429", "{one}");
        assert_ne!(status(&service, other, ""), "429", "{other}");
        for line in [one, other] {
            assert_eq!(status(&service, line, ""), "429", "{line}");
        }
    }
    assert_eq!(status(&service, "DELETE /hello", ""), "429");
    let service = serve(vec![limit("/hello", 2.0, in_a_minute(Scope::Global, Key::None))]);
    assert_eq!(status(&service, "GET /hello", ""), "200");
    assert_eq!(status(&service, "POST /HELLO/%31", ""), "200");
    assert_eq!(status(&service, "GET /hello", ""), "429");
    assert_eq!(status(&service, "GET /hello/unknown/path", ""), "429");
    assert_eq!(status(&service, "GET /files/a.txt", ""), "200");
}

#[test]
fn clients_are_told_how_they_stand() {
    let service = serve(vec![
        cors("", for_app()),
        limit("", 3.0, in_a_minute(Scope::Global, Key::None)),
        limit("/hello", 2.0, LimitConfig { cost: 2.0, ..in_a_minute(Scope::Global, Key::Address) }),
    ]);
    let answer = ask(&service, "GET /hello", GOOD);
    assert_eq!(value(&answer, "ratelimit-policy"), Some("\"limit-1\";q=3;w=60, \"limit-2\";q=2;w=60"));
    assert_eq!(value(&answer, "ratelimit"), Some("\"limit-1\";r=2;t=60, \"limit-2\";r=0;t=60"));
    assert_eq!(value(&answer, "retry-after"), None);
    // refused by the one, it does not count for the other
    let answer = ask(&service, "GET /hello", GOOD);
    assert!(answer[0].starts_with("HTTP/1.1 429 "));
    assert_eq!(value(&answer, "ratelimit"), Some("\"limit-1\";r=2;t=60, \"limit-2\";r=0;t=60"));
    assert_eq!(value(&answer, "retry-after"), Some("60"));
    assert_eq!(value(&answer, "cache-control"), Some("no-store"));
    assert_eq!(value(&answer, "access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(value(&ask(&service, "GET /fails", ""), "ratelimit"), Some("\"limit-1\";r=1;t=60"));
    // a pre-flight costs nothing
    for _ in 0..5 {
        let answer = ask(&service, "OPTIONS /hello", &format!("{GOOD}Access-Control-Request-Method: PUT\r\n"));
        assert_eq!((value(&answer, "ratelimit"), &answer[0][..12]), (None, "HTTP/1.1 204"));
    }
    assert_eq!(status(&service, "OPTIONS /nothing", ""), "404");
    assert_eq!(status(&service, "GET /nothing", ""), "429");
}

#[test]
fn clients_are_told_apart_by_what_the_limit_says_and_nothing_else() {
    for (key, one, other, same) in [
        (Key::Header("x-key".into()), "X-Key: a\r\n", "x-kEY: b\r\n", "X-Other: c\r\nX-KEY: a\r\n"),
        (
            Key::Cookie("id".into()),
            "Cookie: a=b; id=1\r\n",
            "Cookie: id=2\r\n",
            "Cookie: xid=3\r\nCookie: id=1; id=9\r\n",
        ),
        (Key::Header("x-key".into()), "", "X-Key: \r\n", "X-Forwarded-For: 1.2.3.4\r\n"),
        (Key::Cookie("id".into()), "", "Cookie: id=\r\n", "Cookie: identity=3\r\n"),
    ] {
        let service = serve(vec![limit("", 1.0, in_a_minute(Scope::Global, key.clone()))]);
        for fields in [one, other] {
            assert_eq!(status(&service, "GET /hello", fields), "200", "{key:?} {fields}");
        }
        for fields in [one, other, same] {
            assert_eq!(status(&service, "GET /hello", fields), "429", "{key:?} {fields}");
        }
    }
    let service = serve(vec![limit("", 1.0, in_a_minute(Scope::Global, Key::Address))]);
    assert_eq!(status(&service, "GET /hello", "X-Forwarded-For: 1.2.3.4\r\n"), "200");
    for spoofed in ["X-Forwarded-For: 1.2.3.5\r\n", "Forwarded: for=1.2.3.6\r\n", "X-Real-IP: 1.2.3.7\r\n"] {
        assert_eq!(status(&service, "GET /hello", spoofed), "429", "{spoofed}");
    }
    let service = serve(vec![limit("", 1.0, in_a_minute(Scope::Global, Key::Param("x".into())))]);
    for (line, expected) in [
        ("POST /hello/ann", "200"),
        ("POST /hello/bob", "200"),
        ("POST /hello/%61nn", "429"),
        ("GET /hello", "200"),
        ("GET /fails", "429"),
    ] {
        assert_eq!(status(&service, line, ""), expected, "{line}");
    }
}

#[test]
fn counts_outlive_the_app_for_limits_that_stay_what_they_are() {
    let kept = limit("/hello", 1.0, in_a_minute(Scope::PerRoute, Key::None));
    let changed = limit("/fails", 1.0, in_a_minute(Scope::Global, Key::None));
    let service = serve(vec![changed.clone(), kept.clone()]);
    for line in ["GET /hello", "GET /fails"] {
        assert_ne!(status(&service, line, ""), "429");
        assert_eq!(status(&service, line, ""), "429");
    }
    // its route has another number now, and the limit as well
    let route = |methods: &str, path: &str, handler| settings::route(methods, path, handler, Runs::Inline);
    let app = AppConfig {
        routes: vec![route("GET", "/new", 1), route("GET", "/fails", 2), route("GET", "/hello", 1)],
        policies: vec![kept, limit("/fails", 2.0, in_a_minute(Scope::Global, Key::None)), cors("", for_app())],
        ..AppConfig::default()
    };
    service.server.pool().add_generation(3, &app, Some(Arc::new(Fake))).unwrap();
    service.server.pool().switch_to(3);
    assert_eq!(status(&service, "GET /new", ""), "200");
    assert_eq!(status(&service, "GET /hello", ""), "429");
    assert_eq!(status(&service, "GET /fails", ""), "500");
}

#[test]
fn what_pages_of_other_sites_send_is_refused() {
    let guard = CsrfConfig { trusted: strings("https://www.example") };
    let service = serve(vec![PolicyConfig { routes: vec![], rule: RuleConfig::Csrf(guard) }]);
    let sent = |method: &str, fields: &str| status(&service, &format!("{method} /hello/x"), fields);
    for fields in [
        "",
        "Sec-Fetch-Site: same-origin\r\nOrigin: http://a\r\n",
        "Sec-Fetch-Site: none\r\n",
        "Origin: http://a\r\n",
        "Origin: https://A\r\n",
        "Origin: https://www.example\r\n",
        "Sec-Fetch-Site: cross-site\r\nOrigin: https://WWW.example\r\n",
    ] {
        assert_eq!(sent("POST", fields), "200", "{fields}");
    }
    for fields in [
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\nOrigin: http://a\r\n",
        "Sec-Fetch-Site: SAME-ORIGIN\r\n",
        "Sec-Fetch-Site: \r\n",
        "Sec-Fetch-Site: cross-site\r\nOrigin: http://a\r\n",
        "Origin: null\r\n",
        "Origin: http://b\r\n",
        "Origin: http://a.evil.example\r\n",
        "Origin: http://evil.example/a\r\n",
        "Origin: http://a\r\nOrigin: http://b\r\n",
        "Origin: \r\n",
        "Referer: http://a/\r\nOrigin: http://b\r\n",
    ] {
        assert_eq!(sent("POST", fields), "403", "{fields}");
        // it is refused before it is clear that nothing is there
        assert_eq!(status(&service, "DELETE /nothing", fields), "403", "{fields}");
        assert_eq!(status(&service, "GET /hello", fields), "200", "{fields}");
    }
}

#[test]
fn fields_are_added_where_the_handler_has_none() {
    let field = |name: &str, value: &str| HeaderConfig { name: name.into(), value: value.into() };
    let fields = vec![field("X-Own", "of the policy"), field("Referrer-Policy", "no-referrer")];
    let service = serve(vec![PolicyConfig { routes: vec![], rule: RuleConfig::SecurityHeaders(fields) }]);
    let answer = ask(&service, "GET /hello", "");
    assert_eq!((value(&answer, "x-own"), value(&answer, "referrer-policy")), (Some("1"), Some("no-referrer")));
    assert_eq!(answer.iter().filter(|line| line.starts_with("x-own")).count(), 1);
    for line in ["GET /files/a.txt", "GET /nothing", "DELETE /hello", "GET /%zz", "OPTIONS /hello"] {
        let answer = ask(&service, line, "");
        assert_eq!(value(&answer, "x-own"), Some("of the policy"), "{line}");
        assert_eq!(value(&answer, "x-content-type-options"), Some("nosniff"), "{line}");
    }
}
