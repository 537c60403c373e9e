//! Logins at a provider of OpenID Connect, over sockets: what browsers are told, what the provider is asked, and what
//! forged answers come to. Which tokens and states are right, `identity` tests.

mod service;
mod settings;

use admission::Limits;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use base64::Engine as _;
use engine::{
    AppConfig, AuthConfig, KeyConfig, NamedConfig, OidcConfig, PolicyConfig, RuleConfig, Runs, SchemeConfig,
    TokensConfig,
};
use exchange::{Answer, Handlers, Head, RequestView, Response, Sink};
use service::{ask, Service};
use std::borrow::Cow;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Answers with who asks.
struct Fake;

impl Handlers for Fake {
    fn run(&self, _: u32, request: &dyn RequestView, _: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> {
        let head = Head { status: 200, content_type: Some(Cow::Borrowed(b"text/plain")), headers: Vec::new() };
        let who = request.auth().to_vec();
        Some(Answer::Response(Response { head, body: who.into() }))
    }

    fn submit(&self, _: u32, _: Vec<u8>, _: Instant, _: Arc<dyn Sink>) {}

    fn flush(&self) {}
}

const SECRET: &str = "a secret that has at least thirty-two bytes";
const BROWSER: &str = "Sec-Fetch-Mode: navigate\r\n";

/// An identity provider, and what it was asked.
struct Provider {
    issuer: String,
    key: Arc<Ed25519KeyPair>,
    state: Arc<Mutex<State>>,
}

struct State {
    /// further members of its description
    more: String,
    /// the names of its keys
    key_ids: Vec<&'static str>,
    /// status and body, by path
    answers: Vec<(&'static str, u16, String)>,
    /// paths, fields and bodies
    asked: Vec<String>,
}

impl Provider {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let state = State { more: String::new(), key_ids: vec!["1"], answers: Vec::new(), asked: Vec::new() };
        let (key, state) = (Arc::new(Ed25519KeyPair::generate().unwrap()), Arc::new(Mutex::new(state)));
        let (own_issuer, own_key, own_state) = (issuer.clone(), key.clone(), state.clone());
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (mut client, request) = read_request(client.unwrap());
                let mut state = own_state.lock().unwrap();
                let (status, body) = state.answer(&request, &own_issuer, &own_key);
                state.asked.push(request);
                let head =
                    format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
                let _ = client.write_all(format!("{head}{body}").as_bytes());
            }
        });
        Provider { issuer, key, state }
    }

    fn answers(&self, path: &'static str, status: u16, body: impl Into<String>) {
        let mut state = self.state.lock().unwrap();
        state.answers.retain(|(known, ..)| *known != path);
        state.answers.push((path, status, body.into()));
    }

    /// What it was asked at a path, the newest last.
    fn asked(&self, path: &str) -> Vec<String> {
        let state = self.state.lock().unwrap();
        state.asked.iter().filter(|request| request.split(' ').nth(1) == Some(path)).cloned().collect()
    }

    /// A token with these claims, signed with the key of this name.
    fn token(&self, claims: &str, key_id: &str) -> String {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let message = format!("{}.{}", part(&format!("{{\"alg\":\"EdDSA\",\"kid\":\"{key_id}\"}}")), part(claims));
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(self.key.sign(message.as_bytes())))
    }

    /// From now on it says of codes that they are of ada, in a token with this nonce and these further claims.
    fn knows_ada(&self, nonce: &str, more: &str) {
        let claims = format!(
            "{{\"iss\":\"{}\",\"aud\":\"app\",\"sub\":\"ada\",\"iat\":1,\"exp\":9999999999,\"nonce\":\"{nonce}\"{more}}}",
            self.issuer
        );
        self.gives(&self.token(&claims, "1"));
    }

    fn gives(&self, token: &str) {
        self.answers(
            "/token",
            200,
            format!("{{\"id_token\":\"{token}\",\"access_token\":\"at\",\"token_type\":\"x\"}}"),
        );
    }
}

fn read_request(mut client: TcpStream) -> (TcpStream, String) {
    let mut text = String::new();
    let mut byte = [0];
    let whole = |text: &str| {
        let (head, body) = text.split_once("\r\n\r\n")?;
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        (body.len() == length.unwrap_or(0)).then_some(())
    };
    while whole(&text).is_none() && client.read(&mut byte).is_ok_and(|n| n == 1) {
        text.push(byte[0] as char);
    }
    (client, text)
}

impl State {
    fn answer(&self, request: &str, issuer: &str, key: &Ed25519KeyPair) -> (u16, String) {
        let path = request.split(' ').nth(1).unwrap_or_default();
        if let Some((_, status, body)) = self.answers.iter().find(|(known, ..)| *known == path) {
            return (*status, body.clone());
        }
        match path {
            "/.well-known/openid-configuration" => {
                let more = &self.more;
                let body = format!(
                    "{{\"issuer\":\"{issuer}\",\"authorization_endpoint\":\"{issuer}/authorize\",\"token_endpoint\":\
                     \"{issuer}/token\",\"jwks_uri\":\"{issuer}/keys\",\"userinfo_endpoint\":\"{issuer}/me\"{more}}}"
                );
                (200, body)
            }
            "/keys" => {
                let x = URL_SAFE_NO_PAD.encode(key.public_key());
                let jwk = |id| format!("{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"{id}\",\"x\":\"{x}\"}}");
                let keys: Vec<_> = self.key_ids.iter().map(jwk).collect();
                (200, format!("{{\"keys\":[{}]}}", keys.join(",")))
            }
            _ => (404, String::new()),
        }
    }
}

fn login(provider: &Provider, change: impl FnOnce(&mut OidcConfig)) -> PolicyConfig {
    let mut oidc = OidcConfig {
        issuer: provider.issuer.clone(),
        client_id: "app".into(),
        secrets: vec![SECRET.into()],
        scopes: vec!["email".into()],
        algorithms: vec!["EdDSA".into()],
        path: "/login".into(),
        after_logout: "/bye".into(),
        name: "login".into(),
        max_age: 3600.0,
        refresh: 3600.0,
        ..OidcConfig::default()
    };
    change(&mut oidc);
    let auth =
        AuthConfig { realm: "here".into(), optional: false, scope: Vec::new(), by: SchemeConfig::Oidc(Box::new(oidc)) };
    PolicyConfig { routes: vec![], rule: RuleConfig::Auth(auth) }
}

fn app(policies: Vec<PolicyConfig>) -> AppConfig {
    let route = |path: &str| settings::route("GET", path, 1, Runs::Inline);
    AppConfig { routes: vec![route("/hello"), route("/login/<x>")], policies, ..AppConfig::default() }
}

fn serve(policies: Vec<PolicyConfig>) -> Service {
    let service = Service::new(1, Limits::default());
    service.runs(app(policies), Arc::new(Fake));
    service
}

fn status(answer: &[String]) -> &str {
    answer[0].split(' ').nth(1).unwrap()
}

fn value<'a>(answer: &'a [String], name: &str) -> Option<&'a str> {
    answer.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// The field with which a browser sends back what a response sets.
fn cookie(answer: &[String]) -> String {
    let set = value(answer, "set-cookie").unwrap_or_else(|| panic!("no cookie: {answer:?}"));
    format!("Cookie: {}\r\n", set.split(';').next().unwrap())
}

/// A parameter of the address that a response leads to.
fn param(answer: &[String], name: &str) -> String {
    let location = value(answer, "location").unwrap_or_else(|| panic!("it leads nowhere: {answer:?}"));
    let (_, query) = location.split_once('?').unwrap();
    let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("no {name} in {query}")).to_owned()
}

/// A login that has begun: how the browser is known, and what it brings back.
fn begin(service: &Service, line: &str) -> (String, String, Vec<String>) {
    let begun = ask(service, line, BROWSER);
    assert_eq!(status(&begun), "303", "{begun:?}");
    (cookie(&begun), param(&begun, "state"), begun)
}

fn come_back(service: &Service, query: &str, fields: &str) -> Vec<String> {
    ask(service, &format!("GET /login/callback?{query}"), &format!("{BROWSER}{fields}"))
}

#[test]
fn a_browser_logs_in_and_comes_back_to_its_page() {
    let provider = Provider::new();
    let service = serve(vec![login(&provider, |_| {})]);
    let (browser, state, begun) = begin(&service, "GET /hello?n=1&x=%C3%BC");
    let location = value(&begun, "location").unwrap();
    assert!(location.starts_with(&format!("{}/authorize?response_type=code&client_id=app&", provider.issuer)));
    assert_eq!(param(&begun, "redirect_uri"), "http%3A%2F%2Fa%2Flogin%2Fcallback");
    assert_eq!((&*param(&begun, "scope"), &*param(&begun, "code_challenge_method")), ("openid%20email", "S256"));
    assert_eq!(value(&begun, "cache-control"), Some("no-store"));
    let set = value(&begun, "set-cookie").unwrap();
    assert!(set.starts_with("login-begun=") && set.ends_with("; Max-Age=600; Path=/; HttpOnly; SameSite=Lax"), "{set}");

    provider.knows_ada(&param(&begun, "nonce"), ",\"email\":\"ada@example.org\",\"azp\":\"app\"");
    let back = come_back(&service, &format!("code=c%26d&state={state}"), &browser);
    assert_eq!((status(&back), value(&back, "location")), ("303", Some("/hello?n=1&x=%C3%BC")), "{back:?}");
    let set = value(&back, "set-cookie").unwrap();
    assert!(set.starts_with("login=") && set.ends_with("; Max-Age=3600; Path=/; HttpOnly; SameSite=Lax"), "{set}");

    // the provider got the code, the secret, and what the code is bound to
    let asked = provider.asked("/token").pop().unwrap();
    let basic = STANDARD.encode(format!("app:{}", SECRET.replace(' ', "%20")));
    assert!(asked.contains(&format!("authorization: Basic {basic}\r\n")), "{asked}");
    let verifier = asked.rsplit_once("&code_verifier=").unwrap().1;
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, verifier.as_bytes());
    assert_eq!(URL_SAFE_NO_PAD.encode(digest), param(&begun, "code_challenge"));
    let sent = "grant_type=authorization_code&code=c%26d&redirect_uri=http%3A%2F%2Fa%2Flogin%2Fcallback";
    assert!(asked.contains(sent), "{asked}");

    let ada = cookie(&back);
    let hello = ask(&service, "GET /hello", &format!("{BROWSER}{ada}"));
    assert_eq!((status(&hello), value(&hello, "vary")), ("200", Some("cookie")));
    let who = hello.last().unwrap();
    assert!(
        who.contains("\"scheme\":\"oidc\",\"user\":\"ada\"") && who.contains("\"email\":\"ada@example.org\""),
        "{who}"
    );
    assert!(!who.contains("nonce") && !who.contains("azp"), "{who}");
    // scripts of the page, too
    assert_eq!(status(&ask(&service, "GET /hello", &ada)), "200");
    // a cookie of a login that has only begun is none
    let begun = browser.replace("login-begun=", "login=");
    for wrong in [&begun, &ada.replace("login=", "login=A"), &format!("{}x\r\n", ada.trim_end()), "Cookie: login=\r\n"]
    {
        assert_eq!(status(&ask(&service, "GET /hello", wrong)), "401", "{wrong}");
    }
}

#[test]
fn only_who_opens_a_page_is_sent_to_the_provider() {
    let provider = Provider::new();
    let service = serve(vec![login(&provider, |_| {})]);
    let told = Some("OpenID realm=\"here\", login=\"/login\"");
    for (line, fields, right) in [
        ("GET /hello", "Accept: text/html,*/*;q=0.8\r\n", "303"),
        ("HEAD /hello", BROWSER, "303"),
        ("GET /nothing", BROWSER, "303"),
        ("GET /hello", "", "401"),
        ("GET /hello", "Accept: application/json\r\n", "401"),
        ("GET /hello", "Accept: text/html\r\nSec-Fetch-Mode: cors\r\n", "401"),
        ("POST /hello", BROWSER, "401"),
        ("OPTIONS /hello", BROWSER, "401"),
    ] {
        let answer = ask(&service, line, fields);
        assert_eq!(status(&answer), right, "{line} {fields}");
        assert_eq!(value(&answer, "www-authenticate"), told.filter(|_| right == "401"), "{line} {fields}");
    }
}

#[test]
fn no_login_leads_elsewhere() {
    let provider = Provider::new();
    let service = serve(vec![login(&provider, |_| {})]);
    for (to, right) in [
        ("?to=/hello%3Fa%3D1", "/hello?a=1"),
        ("", "/"),
        ("?to=", "/"),
        ("?to=//evil.example", "/"),
        ("?to=/%5Cevil.example", "/"),
        ("?to=https://evil.example/", "/"),
        ("?to=/a%0d%0aSet-Cookie:%20x=y", "/"),
    ] {
        let (browser, state, begun) = begin(&service, &format!("GET /login{to}"));
        provider.knows_ada(&param(&begun, "nonce"), "");
        let back = come_back(&service, &format!("code=c&state={state}"), &browser);
        assert_eq!((status(&back), value(&back, "location")), ("303", Some(right)), "{to}");
    }
    // the path of a request is no better
    let (browser, state, begun) = begin(&service, "GET //evil.example/");
    provider.knows_ada(&param(&begun, "nonce"), "");
    let back = come_back(&service, &format!("code=c&state={state}"), &browser);
    assert_eq!(value(&back, "location"), Some("/"));
}

#[test]
fn what_was_begun_elsewhere_is_not_ended_here() {
    let provider = Provider::new();
    let service = serve(vec![login(&provider, |_| {})]);
    let (browser, state, begun) = begin(&service, "GET /hello");
    let (other, of_other, _) = begin(&service, "GET /hello");
    provider.knows_ada(&param(&begun, "nonce"), "");
    let expired = "this login has expired, or was begun elsewhere: open the page again";
    for (query, fields) in [
        (format!("code=c&state={state}"), ""),
        (format!("code=c&state={state}"), &*other),
        (format!("code=c&state={of_other}"), &*browser),
        ("code=c".into(), &*browser),
        ("code=c&state=".into(), &*browser),
        (format!("code=c&state={state}x"), &*browser),
    ] {
        let back = come_back(&service, &query, fields);
        assert_eq!(status(&back), "400", "{query}");
        assert!(back.last().unwrap().contains(expired), "{back:?}");
        assert_eq!(value(&back, "set-cookie"), None);
    }
    assert!(provider.asked("/token").is_empty(), "the provider is asked for what is forged");
    assert_eq!(status(&come_back(&service, &format!("state={state}"), &browser)), "400");
    assert_eq!(status(&come_back(&service, &format!("code=c&state={state}"), &browser)), "303");
}

#[test]
fn an_answer_or_token_of_another_is_refused() {
    let provider = Provider::new();
    provider.state.lock().unwrap().more = ",\"authorization_response_iss_parameter_supported\":true".into();
    let service = serve(vec![login(&provider, |_| {})]);
    let (browser, state, begun) = begin(&service, "GET /hello");
    let nonce = param(&begun, "nonce");
    let iss = format!("&iss={}", provider.issuer);
    let back = |more: &str| status(&come_back(&service, &format!("code=c&state={state}{more}"), &browser)).to_owned();
    provider.knows_ada(&nonce, "");
    for wrong in ["", "&iss=https://evil.example", "&iss="] {
        assert_eq!(back(wrong), "502", "{wrong}");
    }
    assert!(provider.asked("/token").is_empty());
    assert_eq!(back(&iss), "303");
    // and tokens
    let claims = |from: &str, to: &str| {
        let right = format!(
            "{{\"iss\":\"{}\",\"aud\":\"app\",\"sub\":\"ada\",\"iat\":1,\"exp\":9999999999,\"nonce\":\"{nonce}\"}}",
            provider.issuer
        );
        right.replacen(from, to, 1)
    };
    let other = Provider::new();
    for token in [
        provider.token(&claims(&nonce, "another"), "1"),
        provider.token(&claims("\"app\"", "\"other\""), "1"),
        provider.token(&claims("9999999999", "1"), "1"),
        provider.token(&claims(&provider.issuer, &other.issuer), "1"),
        other.token(&claims("", ""), "1"),
        provider.token(&claims("", ""), "unknown"),
        "a.b.c".to_owned(),
    ] {
        provider.gives(&token);
        assert_eq!(back(&iss), "502", "{token}");
    }
    for (answer, body) in [(400, "{\"error\":\"invalid_grant\"}"), (200, "{}"), (200, "<html>"), (302, ""), (500, "")] {
        provider.answers("/token", answer, body);
        assert_eq!(back(&iss), "502", "{answer} {body}");
    }
    // one that is signed with a key that is new there
    provider.state.lock().unwrap().key_ids = vec!["2"];
    provider.gives(&provider.token(&claims("", ""), "2"));
    assert_eq!(back(&iss), "303");
}

#[test]
fn what_the_provider_refuses_is_told() {
    let provider = Provider::new();
    let service = serve(vec![login(&provider, |_| {})]);
    let (browser, state, _) = begin(&service, "GET /hello");
    for (error, right) in
        [("access_denied", "403"), ("login_required", "403"), ("server_error", "502"), ("%3Cscript%3E", "502")]
    {
        let back = come_back(&service, &format!("error={error}&error_description=%3Cb%3E&state={state}"), &browser);
        assert_eq!(status(&back), right, "{error}");
        assert!(!back.last().unwrap().contains('<'), "{back:?}");
    }
    assert!(provider.asked("/token").is_empty());
}

#[test]
fn a_logout_takes_the_cookie_away_here_and_at_the_provider() {
    let provider = Provider::new();
    for (more, right) in [
        (String::new(), "http://a/bye".to_owned()),
        (
            format!(",\"end_session_endpoint\":\"{}/out\"", provider.issuer),
            format!("{}/out?client_id=app&post_logout_redirect_uri=http%3A%2F%2Fa%2Fbye", provider.issuer),
        ),
    ] {
        provider.state.lock().unwrap().more = more;
        let service = serve(vec![login(&provider, |_| {})]);
        for line in ["GET /login/logout", "POST /login/logout"] {
            let out = ask(&service, line, "Sec-Fetch-Site: same-origin\r\n");
            assert_eq!((status(&out), value(&out, "location")), ("303", Some(&*right)), "{line}");
            for taken in ["login=", "login-begun="] {
                assert!(
                    out.iter().any(|line| line.starts_with(&format!("set-cookie: {taken}; Max-Age=0;"))),
                    "{out:?}"
                );
            }
        }
        let forged = ask(&service, "GET /login/logout", "Sec-Fetch-Site: cross-site\r\n");
        assert_eq!((status(&forged), value(&forged, "set-cookie")), ("403", None));
    }
}

#[test]
fn paths_of_a_login_are_its_own() {
    let provider = Provider::new();
    let service = serve(vec![login(&provider, |_| {})]);
    for (line, allowed) in [
        ("POST /login", "GET, HEAD"),
        ("DELETE /login/callback", "GET, HEAD"),
        ("PUT /login/logout", "GET, HEAD, POST"),
    ] {
        let answer = ask(&service, line, "");
        assert_eq!((status(&answer), value(&answer, "allow")), ("405", Some(allowed)), "{line}");
    }
    // no other path is
    for path in ["/login/", "/login/callback/", "/login/other", "/LOGIN"] {
        assert_eq!(status(&ask(&service, &format!("GET {path}"), "")), "401", "{path}");
    }
}

#[test]
fn more_about_users_is_asked_for_and_what_is_too_much_is_told() {
    let provider = Provider::new();
    let wants_more = |oidc: &mut OidcConfig| {
        oidc.userinfo = true;
        oidc.claims = Some(vec!["email".into(), "groups".into()]);
    };
    let service = serve(vec![login(&provider, wants_more)]);
    let (browser, state, begun) = begin(&service, "GET /hello");
    provider.knows_ada(&param(&begun, "nonce"), ",\"email\":\"of@token\",\"phone\":\"1\"");
    let back = || come_back(&service, &format!("code=c&state={state}"), &browser);
    provider.answers("/me", 200, "{\"sub\":\"ada\",\"email\":\"of@userinfo\",\"groups\":[\"staff\"]}");
    let who = ask(&service, "GET /hello", &cookie(&back())).pop().unwrap();
    assert!(provider.asked("/me")[0].to_lowercase().contains("authorization: bearer at\r\n"));
    // the token, which is signed, goes before
    let kept = "{\"claims\":{\"email\":\"of@token\",\"groups\":[\"staff\"],\"sub\":\"ada\"},";
    assert!(who.starts_with(kept), "{who}");
    for (answer, body) in [(200, "{\"sub\":\"bob\"}"), (200, "{}"), (200, "[]"), (401, "")] {
        provider.answers("/me", answer, body);
        assert_eq!(status(&back()), "502", "{answer} {body}");
    }
    let groups = vec!["\"a group of some length\""; 200].join(",");
    provider.answers("/me", 200, format!("{{\"sub\":\"ada\",\"groups\":[{groups}]}}"));
    assert_eq!(status(&back()), "500");
}

#[test]
fn a_key_lets_programs_in_beside_a_login() {
    let provider = Provider::new();
    let tokens = vec![NamedConfig { name: "ci".into(), value: "0123456789abcdef0123".into() }];
    let keys = TokensConfig { tokens, ..TokensConfig::default() };
    let by = SchemeConfig::Key(KeyConfig { header: "x-api-key".into(), keys });
    let rule = RuleConfig::Auth(AuthConfig { realm: "here".into(), optional: false, scope: Vec::new(), by });
    let service = serve(vec![PolicyConfig { routes: vec![], rule }, login(&provider, |_| {})]);
    let key = "X-Api-Key: 0123456789abcdef0123\r\n";
    assert_eq!(status(&ask(&service, "GET /hello", key)), "200");
    assert_eq!(status(&ask(&service, "GET /hello", BROWSER)), "303");
    // one that is wrong is told so
    assert_eq!(status(&ask(&service, "GET /hello", &format!("{BROWSER}X-Api-Key: wrong\r\n"))), "401");
}

#[test]
fn what_cannot_be_served_is_told_before() {
    let provider = Provider::new();
    let add = |service: &Service, policies| service.server.pool().add_generation(3, &app(policies), None);
    let service = serve(vec![login(&provider, |_| {})]);
    type Change = fn(&mut OidcConfig);
    let wrong: [(Change, &str); 6] = [
        (|oidc| oidc.secrets = vec!["short".into()], "key 1 must have at least 32 bytes, not 5: cookies are sealed"),
        (|oidc| oidc.issuer.push_str("/other"), "/other/.well-known/openid-configuration: "),
        (|oidc| oidc.issuer.push('/'), "its issuer is"),
        (|oidc| oidc.issuer = "http://example.org".into(), "it must begin with https://"),
        (|oidc| oidc.algorithms = vec!["HS256".into()], "no algorithm of HS"),
        (|oidc| oidc.algorithms = vec!["RS256".into()], "none of its 1 keys is for these algorithms"),
    ];
    for (change, why) in wrong {
        let error = add(&service, vec![login(&provider, change)]).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("dr_auth_oidc()"), "{error}");
    }
    let two =
        vec![login(&provider, |_| {}), PolicyConfig { routes: vec!["/hello".into()], ..login(&provider, |_| {}) }];
    let error = add(&service, two).unwrap_err().to_string();
    assert!(error.contains("two logins have the path /login"), "{error}");
    // what was fetched for the app before does for the next one, wherever the provider is
    provider.answers("/.well-known/openid-configuration", 500, "");
    provider.answers("/keys", 500, "");
    assert!(add(&service, vec![login(&provider, |oidc| oidc.path = "/other".into())]).is_ok());
}
