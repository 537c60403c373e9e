//! Authentication over sockets: what is refused, wherever the response would come from, and what clients are told.
//! `identity` tests which tokens and passwords are right; tests/process, what handlers read.

mod service;
mod settings;

use admission::rate::Algorithm;
use admission::Limits;
use aws_lc_rs::hmac;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use base64::Engine as _;
use engine::{
    AppConfig, AuthConfig, BasicConfig, CorsConfig, JwksConfig, JwtConfig, Key, KeyConfig, LimitConfig, MountConfig,
    NamedConfig, PolicyConfig, RuleConfig, Runs, SameSite, SchemeConfig, Scope, Scopes, SessionConfig, TokensConfig,
};
use exchange::{Answer, Handlers, Head, RequestView, Response, Sink};
use patience::{until, until_some};
use service::{ask, Service};
use std::borrow::Cow;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Answers with 200.
struct Fake;

impl Handlers for Fake {
    fn run(&self, _: u32, _: &dyn RequestView, _: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> {
        let head = Head { status: 200, content_type: Some(Cow::Borrowed(b"text/plain")), headers: Vec::new() };
        Some(Answer::Response(Response { head, body: b"hello"[..].into() }))
    }

    fn submit(&self, _: u32, _: Vec<u8>, _: Instant, _: Arc<dyn Sink>) {}

    fn flush(&self) {}
}

/// Of "password", for as little time as can be.
const QUICK: &str = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";
const TOKEN: &str = "0123456789abcdef0123";
const SECRET: &str = "a secret that has at least thirty-two bytes";

fn named(name: &str, value: &str) -> NamedConfig {
    NamedConfig { name: name.into(), value: value.into() }
}

fn auth(routes: &str, by: SchemeConfig) -> PolicyConfig {
    let rule = RuleConfig::Auth(AuthConfig { realm: "here".into(), optional: false, scope: Vec::new(), by });
    PolicyConfig { routes: routes.split_whitespace().map(String::from).collect(), rule }
}

fn optional(policy: PolicyConfig) -> PolicyConfig {
    let RuleConfig::Auth(auth) = policy.rule else { unreachable!() };
    PolicyConfig { rule: RuleConfig::Auth(AuthConfig { optional: true, ..auth }), ..policy }
}

/// The same, for clients with these scopes.
fn asking_for(scopes: &[&str], policy: PolicyConfig) -> PolicyConfig {
    let RuleConfig::Auth(auth) = policy.rule else { unreachable!() };
    let scope = scopes.iter().map(|scope| (*scope).to_owned()).collect();
    PolicyConfig { rule: RuleConfig::Auth(AuthConfig { scope, ..auth }), ..policy }
}

fn basic() -> SchemeConfig {
    SchemeConfig::Basic(BasicConfig { users: vec![named("ann", QUICK), named("bob", QUICK)], ..BasicConfig::default() })
}

fn bounded(max_failures: f64, users: Vec<NamedConfig>) -> SchemeConfig {
    SchemeConfig::Basic(BasicConfig { users, max_failures: Some(max_failures), ..BasicConfig::default() })
}

fn tokens() -> TokensConfig {
    TokensConfig { tokens: vec![named("ci", TOKEN)], ..TokensConfig::default() }
}

fn key() -> SchemeConfig {
    SchemeConfig::Key(KeyConfig { header: "x-api-key".into(), keys: tokens() })
}

fn jwt(folder: &Path, change: impl FnOnce(&mut JwtConfig)) -> SchemeConfig {
    let file = folder.join("secret");
    std::fs::write(&file, format!("{SECRET}\n")).unwrap();
    let mut jwt = JwtConfig {
        algorithms: vec!["HS256".into()],
        files: vec![file],
        required: vec!["exp".into()],
        ..JwtConfig::default()
    };
    change(&mut jwt);
    SchemeConfig::Jwt(jwt)
}

/// The field with a token of these claims, as JSON.
fn token(claims: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let message = format!("{}.{}", part("{\"alg\":\"HS256\"}"), part(claims));
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key, message.as_bytes()));
    format!("Authorization: Bearer {message}.{signature}\r\n")
}

fn password(name: &str, password: &str) -> String {
    format!("Authorization: Basic {}\r\n", STANDARD.encode(format!("{name}:{password}")))
}

/// `/hello` (GET), `/hello/<x>` (POST), files of the folder below `/files`.
fn serve(policies: impl FnOnce(&Path) -> Vec<PolicyConfig>) -> Service {
    let service = Service::new(1, Limits::default());
    let folder = service.folder.path().join("files");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("a.txt"), "file").unwrap();
    let route = |methods: &str, path: &str| settings::route(methods, path, 1, Runs::Inline);
    let mounts = vec![MountConfig {
        mount: "/files".into(),
        dir: folder.to_str().unwrap().to_owned(),
        links: false,
        types: None,
    }];
    let policies = policies(service.folder.path());
    let routes = vec![route("GET", "/hello"), route("POST", "/hello/<x>")];
    service.runs(AppConfig { routes, mounts, policies, ..AppConfig::default() }, Arc::new(Fake));
    service
}

fn status_of(answer: &[String]) -> &str {
    answer[0].split(' ').nth(1).unwrap()
}

fn status(service: &Service, line: &str, fields: &str) -> String {
    status_of(&ask(service, line, fields)).to_owned()
}

fn value<'a>(answer: &'a [String], name: &str) -> Option<&'a str> {
    answer.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

const CI: &str = "X-Api-Key: 0123456789abcdef0123\r\n";

#[test]
fn all_that_paths_have_is_for_those_who_may() {
    let origins = vec!["https://app.example".into()];
    let cors = RuleConfig::Cors(CorsConfig { origins, max_age: 1.0, ..CorsConfig::default() });
    let service = serve(|_| vec![PolicyConfig { routes: vec![], rule: cors }, auth("", key())]);
    let origin = "Origin: https://app.example\r\n";
    for (line, right) in [
        ("GET /hello", "200"),
        ("HEAD /hello", "200"),
        ("POST /hello/x", "200"),
        ("GET /files/a.txt", "200"),
        ("GET /files/none", "404"),
        ("GET /nothing", "404"),
        ("DELETE /hello", "405"),
        ("OPTIONS /hello", "204"),
    ] {
        assert_eq!(status(&service, line, CI), right, "{line}");
        for wrong in ["", "X-Api-Key: 0123456789abcdef012\r\n", "X-Api-Key: \r\n", &format!("{CI}{CI}")] {
            let refused = ask(&service, line, &format!("{origin}{wrong}"));
            assert_eq!(status_of(&refused), "401", "{line} {wrong}");
            assert_eq!(value(&refused, "www-authenticate"), Some("ApiKey realm=\"here\", header=\"x-api-key\""));
            // pages read why
            assert_eq!(value(&refused, "access-control-allow-origin"), Some("https://app.example"), "{line}");
        }
    }
    let vary = ask(&service, "GET /hello", CI);
    assert_eq!(value(&vary, "vary"), Some("x-api-key, origin"));
    // browsers send no key with their question
    let preflight = format!("{origin}Access-Control-Request-Method: PUT\r\n");
    assert_eq!(status(&service, "OPTIONS /hello", &preflight), "204");
}

#[test]
fn clients_are_told_what_is_missing_or_wrong() {
    let service = serve(|folder| vec![auth("", basic()), auth("", key()), auth("", jwt(folder, |_| {}))]);
    let told = |fields: &str| {
        let answer = ask(&service, "GET /hello", fields);
        (status_of(&answer).to_owned(), value(&answer, "www-authenticate").map(str::to_owned))
    };
    let others = "Basic realm=\"here\", charset=\"UTF-8\", ApiKey realm=\"here\", header=\"x-api-key\"";
    let missing = Some(format!("{others}, Bearer realm=\"here\""));
    assert_eq!(told(""), ("401".into(), missing.clone()));
    assert_eq!(told("Authorization: Digest x\r\n"), ("401".into(), missing));
    let expired = "error=\"invalid_token\", error_description=\"the token has expired\"";
    let expired = Some(format!("{others}, Bearer realm=\"here\", {expired}"));
    assert_eq!(told(&token("{\"exp\":1}")), ("401".into(), expired));
    let (ann, bearer) = (password("ann", "password"), token("{\"exp\":9999999999}"));
    for fields in
        [&ann, CI, &bearer, &bearer.replace("Bearer ", "bEARER  "), &format!("{CI}Authorization: Other x\r\n")]
    {
        assert_eq!(told(fields).0, "200", "{fields}");
    }
    for fields in [
        &password("ann", "Password"),
        &password("nobody", "password"),
        "Authorization: Basic *\r\n",
        "Authorization: Basic\r\n",
        "Authorization: Bearer\r\n",
        "Authorization: Bearer x\r\n",
        &format!("Authorization: Bearer {TOKEN}\r\n"),
    ] {
        assert_eq!(told(fields).0, "401", "{fields}");
    }
    // of two that contradict each other, none is taken
    assert_eq!(told(&format!("{ann}{bearer}")).0, "400");
    assert_eq!(told(&format!("{ann}{ann}")).0, "400");
}

#[test]
fn a_password_is_right_once_and_again() {
    let service = serve(|_| vec![auth("", basic())]);
    for _ in 0..3 {
        assert_eq!(status(&service, "GET /hello", &password("ann", "password")), "200");
        assert_eq!(status(&service, "GET /hello", &password("ann", "passwore")), "401");
    }
}

#[test]
fn a_body_that_comes_meanwhile_is_whole() {
    let service = serve(|_| vec![auth("", basic())]);
    let mut client = service.connect();
    let head = format!("POST /hello/x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n{}\r\n", password("ann", "password"));
    service::send(&mut client, &head);
    service::send(&mut client, "abc");
    assert!(service::answer(&mut client).ends_with("hello"));
    // and the connection is of use for the next one
    service::send(&mut client, &format!("GET /hello HTTP/1.1\r\nHost: a\r\n{}\r\n", password("ann", "wrong")));
    assert!(service::answer(&mut client).starts_with("HTTP/1.1 401 "));
}

#[test]
fn those_who_say_nothing_may_pass_where_that_is_wanted() {
    let service = serve(|_| vec![optional(auth("", key()))]);
    for (fields, right) in [("", "200"), (CI, "200"), ("X-Api-Key: wrong\r\n", "401")] {
        assert_eq!(status(&service, "GET /hello", fields), right, "{fields}");
    }
}

#[test]
fn the_closest_paths_count_and_of_the_same_all() {
    let service = serve(|folder| vec![auth("", basic()), auth("/hello", key()), auth("/hello", jwt(folder, |_| {}))]);
    let (ann, bearer) = (password("ann", "password"), token("{\"exp\":9999999999}"));
    for (fields, hello, files) in
        [(&ann[..], "401", "200"), (CI, "200", "401"), (&bearer, "200", "401"), ("", "401", "401")]
    {
        assert_eq!(status(&service, "GET /hello", fields), hello, "{fields}");
        assert_eq!(status(&service, "POST /HELLO/%78", fields), hello, "{fields}");
        assert_eq!(status(&service, "GET /files/a.txt", fields), files, "{fields}");
    }
}

#[test]
fn a_token_without_the_scope_is_forbidden() {
    let service = serve(|folder| vec![asking_for(&["read", "write"], auth("", jwt(folder, |_| {})))]);
    let of = |scope: &str| token(&format!("{{\"exp\":9999999999,\"scope\":\"{scope}\"}}"));
    assert_eq!(status(&service, "GET /hello", &of("write read")), "200");
    let refused = ask(&service, "GET /hello", &of("read"));
    assert_eq!(status_of(&refused), "403");
    let told = "Bearer realm=\"here\", error=\"insufficient_scope\", scope=\"read write\"";
    assert_eq!(value(&refused, "www-authenticate"), Some(told));
}

#[test]
fn users_tokens_and_keys_have_scopes_of_their_own() {
    let names = ["ann", "bob", "cat"];
    let token = |name: &str| name.repeat(6);
    let scopes =
        Scopes::from([("ann".into(), vec!["read".into(), "write".into()]), ("bob".into(), vec!["read".into()])]);
    let tokens = names.map(|name| named(name, &token(name))).to_vec();
    let tokens = TokensConfig { tokens, scopes: scopes.clone(), ..TokensConfig::default() };
    let keys = KeyConfig { header: "x-api-key".into(), keys: tokens.clone() };
    let users = names.map(|name| named(name, QUICK)).to_vec();
    let basic = BasicConfig { users, scopes, ..BasicConfig::default() };
    let service = serve(|_| {
        let by = [
            ("/hello", SchemeConfig::Bearer(tokens)),
            ("/files", SchemeConfig::Key(keys)),
            ("/users", SchemeConfig::Basic(basic)),
        ];
        by.map(|(routes, by)| asking_for(&["write"], auth(routes, by))).to_vec()
    });
    let sent = |name: &str| {
        [
            ("GET /hello", format!("Authorization: Bearer {}\r\n", token(name)), "200"),
            ("GET /files/a.txt", format!("X-Api-Key: {}\r\n", token(name)), "200"),
            ("GET /users", password(name, "password"), "404"),
        ]
    };
    for (name, refused) in [("ann", None), ("bob", Some("403")), ("cat", Some("403")), ("dan", Some("401"))] {
        for (line, fields, passes) in sent(name) {
            // a password is remembered the second time
            for _ in 0..2 {
                assert_eq!(status(&service, line, &fields), refused.unwrap_or(passes), "{line} by {name}");
            }
        }
    }
    // no other scheme of HTTP's has scopes than that of tokens
    let told = sent("bob").map(|(line, fields, _)| {
        value(&ask(&service, line, &fields), "www-authenticate").map(|value| value.contains("scope=\"write\""))
    });
    assert_eq!(told, [Some(true), None, None]);
}

#[test]
fn a_token_expires_though_it_was_right_before() {
    let service = serve(|folder| vec![auth("", jwt(folder, |_| {}))]);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    // the first that lasts long enough to be used, however slow this machine is
    let mut tokens = (1..).map(|seconds| token(&format!("{{\"exp\":{}}}", now + seconds)));
    let token = until_some("one that is right", || {
        let token = tokens.next().unwrap();
        (status(&service, "GET /hello", &token) == "200").then_some(token)
    });
    until("it expires", || status(&service, "GET /hello", &token) == "401");
}

fn limit(key: Key) -> PolicyConfig {
    let (algorithm, scope) = (Algorithm::FixedWindow, Scope::Global);
    let limit = LimitConfig { capacity: 2.0, window: 60.0, algorithm, scope, key, cost: 1.0 };
    PolicyConfig { routes: vec![], rule: RuleConfig::RateLimit(limit) }
}

#[test]
fn guesses_count_before_they_are_looked_at() {
    let service = serve(|_| vec![auth("", basic()), limit(Key::Address)]);
    for right in ["401", "401", "429", "429"] {
        assert_eq!(status(&service, "GET /hello", &password("ann", "guess")), right);
    }
    // and the right one has to wait as well
    assert_eq!(status(&service, "GET /hello", &password("ann", "password")), "429");
}

#[test]
fn an_address_has_few_wrong_passwords_looked_at() {
    let users = vec![named("ann", QUICK), named("bob", QUICK)];
    let service = serve(|_| vec![auth("", bounded(2.0, users)), auth("", key())]);
    let status = |fields: &str| status(&service, "GET /hello", fields);
    let (ann, bob) = (password("ann", "password"), password("bob", "password"));
    // none of these is a password to be looked at
    let others = ["", "Authorization: Basic *\r\n", "Authorization: Bearer x\r\n", "X-Api-Key: x\r\n"];
    assert_eq!(others.map(status), ["401"; 4]);
    assert_eq!(status(&ann), "200");
    // the second is of a name that nobody has
    assert_eq!(status(&password("ann", "guess")), "401");
    assert_eq!(status(&password("eve", "guess")), "401");
    for line in ["GET /hello", "POST /hello/x", "GET /files/a.txt", "GET /nothing"] {
        let refused = ask(&service, line, &password("ann", "guess"));
        assert_eq!(status_of(&refused), "429", "{line}");
        let retry: u64 = value(&refused, "retry-after").unwrap().parse().unwrap();
        assert!((1..=30).contains(&retry), "{retry}");
        assert_eq!((value(&refused, "www-authenticate"), value(&refused, "cache-control")), (None, Some("no-store")));
    }
    // a right one that is remembered is not looked at again, another one has to wait
    assert_eq!((status(&ann), status(&bob), status(CI)), ("200".into(), "429".into(), "200".into()));
    assert_eq!(others.map(status), ["401"; 4]);
}

#[test]
fn right_passwords_use_up_no_guesses() {
    let names: Vec<_> = (0..30).map(|n| format!("user{n}")).collect();
    let users = names.iter().map(|name| named(name, QUICK)).collect();
    let service = serve(|_| vec![auth("", bounded(1.0, users))]);
    for name in &names {
        assert_eq!(status(&service, "GET /hello", &password(name, "password")), "200", "{name}");
    }
    for right in ["401", "429"] {
        assert_eq!(status(&service, "GET /hello", &password("user1", "guess")), right);
    }
}

#[test]
fn guesses_sent_at_once_are_no_more_than_one_after_the_other() {
    // for as long as it takes by default, so that all of them are here before one is found to be wrong
    let users = vec![named("ann", &identity::hash_password("password").unwrap())];
    let service = serve(|_| vec![auth("", bounded(3.0, users))]);
    let mut clients: Vec<_> = (0..64).map(|_| service.connect()).collect();
    let guess = format!("GET /hello HTTP/1.1\r\nHost: a\r\n{}\r\n", password("ann", "guess"));
    for client in &mut clients {
        service::send(client, &guess);
    }
    let answers: Vec<_> = clients.iter_mut().map(service::answer).collect();
    let with =
        |status: &str| answers.iter().filter(|answer| answer.starts_with(&format!("HTTP/1.1 {status} "))).count();
    assert_eq!((with("401"), with("429")), (3, 61));
}

#[test]
fn wrong_passwords_count_on_when_the_app_is_loaded_anew() {
    let policies = |max_failures| {
        vec![auth("", key()), auth("", bounded(max_failures, vec![named("ann", QUICK)])), auth("/x", key())]
    };
    let service = serve(|_| policies(2.0));
    let guess = || status(&service, "GET /hello", &password("ann", "guess"));
    assert_eq!([(); 3].map(|()| guess()), ["401", "401", "429"]);
    for (generation, max_failures, right) in [(3, 2.0, "429"), (4, 1.0, "401")] {
        let mut all = policies(max_failures);
        // it has another place now
        all.rotate_left(2);
        let app = AppConfig { policies: all, ..AppConfig::default() };
        service.server.pool().add_generation(generation, &app, Some(Arc::new(Fake))).unwrap();
        service.server.pool().switch_to(generation);
        assert_eq!(guess(), right, "{max_failures}");
    }
}

#[test]
fn limits_on_somebody_count_when_it_is_known_who_that_is() {
    for (policies, one, other) in [
        (
            vec![auth("", basic()), limit(Key::Claim("sub".into()))],
            password("ann", "password"),
            password("bob", "password"),
        ),
        (vec![auth("", key()), limit(Key::Claim("sub".into()))], CI.to_owned(), String::new()),
    ] {
        let service = serve(|_| policies);
        for right in ["200", "200", "429"] {
            let answer = ask(&service, "GET /hello", &one);
            assert_eq!(status_of(&answer), right);
            assert!(value(&answer, "ratelimit").is_some());
        }
        // another user has a limit of their own, and a request without credentials counts for no user
        let expected = if other.is_empty() { "401" } else { "200" };
        for _ in 0..2 {
            assert_eq!(status(&service, "GET /hello", &other), expected);
        }
    }
    let service = serve(|folder| vec![auth("", jwt(folder, |_| {})), limit(Key::Claim("tenant".into()))]);
    let of = |tenant: &str, sub: &str| token(&format!("{{\"exp\":9999999999,\"tenant\":{tenant},\"sub\":\"{sub}\"}}"));
    for (tenant, sub, right) in [("7", "a", "200"), ("7", "b", "200"), ("7", "c", "429"), ("8", "a", "200")] {
        assert_eq!(status(&service, "GET /hello", &of(tenant, sub)), right, "{tenant} {sub}");
    }
}

/// What a server of keys has to say, which may change, and how often it was asked.
struct Provider {
    url: String,
    says: Arc<Mutex<String>>,
    asked: Arc<AtomicUsize>,
}

impl Provider {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let (says, asked) = (Arc::new(Mutex::new(String::new())), Arc::new(AtomicUsize::new(0)));
        let (now, count) = (says.clone(), asked.clone());
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let mut client = client.unwrap();
                let mut bytes = [0; 4096];
                let _ = client.read(&mut bytes);
                count.fetch_add(1, Relaxed);
                let _ = client.write_all(now.lock().unwrap().as_bytes());
            }
        });
        Provider { url, says, asked }
    }

    fn has(&self, status: &str, body: &str) {
        let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        *self.says.lock().unwrap() = format!("{head}\r\n{body}");
    }

    /// It has these keys, by their names.
    fn has_keys(&self, keys: &[(&str, &Ed25519KeyPair)]) {
        let jwk = |(id, key): &(&str, &Ed25519KeyPair)| {
            let x = URL_SAFE_NO_PAD.encode(key.public_key());
            format!("{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"{id}\",\"x\":\"{x}\"}}")
        };
        let keys: Vec<_> = keys.iter().map(jwk).collect();
        self.has("200 OK", &format!("{{\"keys\":[{}]}}", keys.join(",")));
    }

    /// Until it was asked twice more: then what it said at the first has been taken in.
    fn until_asked(&self) {
        let before = self.asked.load(Relaxed);
        until("it is asked", || self.asked.load(Relaxed) >= before + 2);
    }

    fn jwt(&self, refresh: f64) -> SchemeConfig {
        let jwks = Some(JwksConfig { url: self.url.clone(), ca: None, refresh });
        SchemeConfig::Jwt(JwtConfig { algorithms: vec!["EdDSA".into()], jwks, ..JwtConfig::default() })
    }
}

fn eddsa(key: &Ed25519KeyPair, id: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let header = format!("{{\"alg\":\"EdDSA\",\"kid\":\"{id}\"}}");
    let message = format!("{}.{}", part(&header), part("{\"sub\":\"ann\"}"));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(message.as_bytes()));
    format!("Authorization: Bearer {message}.{signature}\r\n")
}

#[test]
fn keys_at_an_address_are_kept_fresh_and_never_lost() {
    let (one, other) = (Ed25519KeyPair::generate().unwrap(), Ed25519KeyPair::generate().unwrap());
    let provider = Provider::new();
    provider.has_keys(&[("1", &one)]);
    let service = serve(|_| vec![auth("", provider.jwt(0.05))]);
    let status = |key: &Ed25519KeyPair, id| status(&service, "GET /hello", &eddsa(key, id));
    assert_eq!(
        (status(&one, "1"), status(&other, "2"), status(&other, "1")),
        ("200".into(), "401".into(), "401".into())
    );
    provider.has_keys(&[("1", &one), ("2", &other)]);
    provider.until_asked();
    assert_eq!((status(&one, "1"), status(&other, "2")), ("200".into(), "200".into()));
    // none of these is a set to be taken
    for (answer, body) in [
        ("500 Oh", "{\"keys\":[]}"),
        ("200 OK", "{\"keys\":[]}"),
        ("200 OK", "<html>"),
        ("302 Found\r\nLocation: /other", ""),
        ("200 OK", &"x".repeat(300 << 10)),
    ] {
        provider.has(answer, body);
        provider.until_asked();
        assert_eq!((status(&one, "1"), status(&other, "2")), ("200".into(), "200".into()), "{answer}");
    }
    // one that is taken back counts no more, though it was found to be right
    provider.has_keys(&[("2", &other)]);
    provider.until_asked();
    assert_eq!((status(&one, "1"), status(&other, "2")), ("401".into(), "200".into()));
}

#[test]
fn a_token_with_an_unknown_key_has_the_set_fetched() {
    let (one, other) = (Ed25519KeyPair::generate().unwrap(), Ed25519KeyPair::generate().unwrap());
    let provider = Provider::new();
    provider.has_keys(&[("1", &one)]);
    let service = serve(|_| vec![auth("", provider.jwt(3600.0))]);
    provider.has_keys(&[("2", &other)]);
    let begun = Instant::now();
    until("it is fetched", || status(&service, "GET /hello", &eddsa(&other, "2")) == "200");
    // however many such tokens come
    assert_eq!(provider.asked.load(Relaxed), 2);
    assert!(begun.elapsed() > Duration::from_secs(5), "it is fetched as soon as anybody likes");
}

#[test]
fn a_set_is_fetched_before_an_app_is_served_and_not_again_for_the_next() {
    let key = Ed25519KeyPair::generate().unwrap();
    let provider = Provider::new();
    provider.has("404 Not Found", "");
    let service = Service::new(1, Limits::default());
    let app = AppConfig {
        policies: vec![auth("", provider.jwt(3600.0)), auth("/x", provider.jwt(3600.0))],
        ..AppConfig::default()
    };
    let add = |generation| service.server.pool().add_generation(generation, &app, None);
    let told = add(2).unwrap_err();
    assert!(told.starts_with("dr_auth_jwt(): http://127.0.0.1:") && told.contains("404"), "{told}");
    provider.has_keys(&[("1", &key)]);
    for generation in 3..6 {
        add(generation).unwrap();
        service.server.pool().switch_to(generation);
    }
    assert_eq!(provider.asked.load(Relaxed), 2);
}

#[test]
fn what_is_wrong_is_told_when_the_app_is_loaded() {
    let service = Service::new(1, Limits::default());
    let folder = service.folder.path();
    let tell = |policy| {
        let app = AppConfig { policies: vec![policy], ..AppConfig::default() };
        service.server.pool().add_generation(2, &app, None).unwrap_err()
    };
    let files = std::cell::Cell::new(0);
    let file = |text: &str| {
        files.set(files.get() + 1);
        let path = folder.join(format!("{}.txt", files.get()));
        std::fs::write(&path, text).unwrap();
        path
    };
    let users = |text: &str| SchemeConfig::Basic(BasicConfig { file: Some(file(text)), ..BasicConfig::default() });
    let scopes = Scopes::from([("z".into(), vec!["read".into()])]);
    assert_eq!(
        tell(auth("", SchemeConfig::Bearer(TokensConfig { scopes: scopes.clone(), ..tokens() }))),
        "dr_auth_bearer(): `scopes` has \"z\", which has no secret"
    );
    let basic = BasicConfig { users: vec![named("ann", QUICK)], scopes, ..BasicConfig::default() };
    assert_eq!(tell(auth("", SchemeConfig::Basic(basic))), "dr_auth_basic(): `scopes` has \"z\", which has no secret");
    let bearers = |text: &str| SchemeConfig::Bearer(TokensConfig { file: Some(file(text)), ..TokensConfig::default() });
    let keys = |text: &str| jwt(folder, |jwt| jwt.files = vec![file(text)]);
    for (by, why) in [
        (users("# nobody"), "dr_auth_basic(): there must be at least one user"),
        (users("ann"), "2.txt: line 1 must be \"name:$argon2id$...\""),
        (users("ann:secret"), "the password of \"ann\": it must be a hash of Argon2"),
        (bearers(""), "dr_auth_bearer(): there must be at least one token"),
        (bearers("ci:short"), "the token of \"ci\" must have at least 16 bytes"),
        (keys("short"), "a secret for these algorithms must have at least 32 bytes"),
        (keys("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"), "7.txt: it is no public key in PEM"),
        (jwt(folder, |jwt| jwt.algorithms = vec!["none".into()]), "\"none\" is no algorithm of these"),
        (jwt(folder, |jwt| jwt.secret = Some("short".into())), "must have at least 32 bytes"),
        (bounded(0.0, vec![named("ann", QUICK)]), "dr_auth_basic(): max_failures: capacity must be in 1..100000000"),
    ] {
        let told = tell(auth("", by));
        assert!(told.contains(why), "{why}: {told}");
    }
    let gone = SchemeConfig::Basic(BasicConfig { file: Some(folder.join("none")), ..BasicConfig::default() });
    assert!(tell(auth("", gone)).contains("No such file"));
    let session = SessionConfig {
        name: "s".into(),
        max_age: 1.0,
        idle: None,
        same_site: SameSite::Lax,
        secure: true,
        keys: vec!["short".into()],
        file: None,
    };
    let told = tell(PolicyConfig { routes: vec![], rule: RuleConfig::Session(session) });
    assert_eq!(told, "dr_session(): key 1 must have at least 32 bytes, not 5");
}
