//! TLS over sockets, seen by clients: what is spoken, what is refused, and what happens when files change.

mod certificates;
#[path = "../service/mod.rs"]
mod service;
#[path = "../settings/mod.rs"]
mod settings;

use admission::Limits;
use certificates::{begin, Authority, Client, Pair};
use engine::{AppConfig, ClientAuth, Runs, Settings, TlsSettings};
use exchange::{Answer, Handlers, Head, RequestView, Response, Sink};
use patience::{until, until_some, within};
use service::{rest, send, Service, GET};
use std::borrow::Cow;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const LAST: &str = "GET /tls HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// 1: the body of the request; 2: what is known of TLS.
struct App;

impl Handlers for App {
    fn run(&self, handler: u32, request: &dyn RequestView, _: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> {
        let body = match request.body() {
            _ if handler == 2 => request.tls().to_vec(),
            wire::BodyRef::Inline(body) => body.to_vec(),
            wire::BodyRef::Spooled { .. } => panic!("it is in memory"),
        };
        let head = Head { status: 200, content_type: Some(Cow::Borrowed(b"text/plain")), headers: Vec::new() };
        Some(Answer::Response(Response { head, body: body.into() }))
    }

    fn submit(&self, _: u32, _: Vec<u8>, _: Instant, _: Arc<dyn Sink>) {}

    fn flush(&self) {}
}

fn limits() -> Limits {
    Limits { max_body: 8 << 20, spool_above: 8 << 20, ..Limits::default() }
}

fn serve(tls: TlsSettings, limits: Limits) -> Service {
    let service = Service::with(|folder| Settings {
        tls: Some(tls),
        log: folder.join("log").to_str().unwrap().to_owned(),
        ..settings::local(folder, 1, limits)
    });
    let routes =
        vec![settings::route("POST", "/echo", 1, Runs::Inline), settings::route("GET", "/tls", 2, Runs::Inline)];
    service.runs(AppConfig { routes, ..AppConfig::default() }, Arc::new(App));
    service
}

fn with(pairs: &[&Pair]) -> TlsSettings {
    TlsSettings {
        cert: pairs.iter().map(|pair| pair.cert.clone()).collect(),
        key: pairs.iter().map(|pair| pair.key.clone()).collect(),
        ..TlsSettings::default()
    }
}

/// A server with one certificate, and the authority that issued it.
struct Usual {
    service: Service,
    authority: Authority,
    pair: Pair,
    files: tempfile::TempDir,
}

impl Usual {
    fn new(change: impl FnOnce(&mut TlsSettings, &Authority, &Path), limits: Limits) -> Self {
        let files = tempfile::tempdir().unwrap();
        let authority = Authority::new();
        let pair = authority.certify(files.path(), "server", &["localhost"], 2, 30);
        let mut tls = with(&[&pair]);
        change(&mut tls, &authority, files.path());
        Usual { service: serve(tls, limits), authority, pair, files }
    }

    fn connect(&self) -> Client {
        begin(self.service.connect(), self.authority.client(&[], false, None), "localhost")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.service.folder.path().join("log")).unwrap()
    }

    fn until_logged(&self, text: &str) {
        assert!(within(|| self.log().contains(text)), "not {text}: {}", self.log());
    }
}

/// The answer to the last request: an end without a word is an error.
fn last(client: &mut Client) -> String {
    client.write_all(LAST.as_bytes()).unwrap();
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    text
}

/// A response whose length is known.
fn response(client: &mut Client) -> (String, Vec<u8>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    let mut body = vec![0; length];
    client.read_exact(&mut body).unwrap();
    (head, body)
}

#[test]
fn requests_and_their_answers_are_whole_however_long_they_are() {
    let usual = Usual::new(|_, _, _| {}, limits());
    for old in [true, false] {
        let config = usual.authority.client(&["http/1.1"], old, None);
        let mut client = begin(usual.service.connect(), config, "localhost");
        for size in [0, 1, 16_383, 16_384, 16_385, 65_536, 1_000_000, 5_000_000, 7] {
            let body: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
            let head = format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n");
            // with the head, so that records hold both
            client.write_all(&[head.as_bytes(), &body].concat()).unwrap();
            let (head, echo) = response(&mut client);
            assert!(head.starts_with("HTTP/1.1 200") && echo == body, "{size} bytes: {head}");
        }
        assert!(last(&mut client).contains(if old { "TLSv1.2" } else { "TLSv1.3" }));
    }
}

#[test]
fn what_is_spoken_is_agreed_on() {
    let usual = Usual::new(|_, _, _| {}, limits());
    let agreed = |alpn: &[&str]| {
        let mut client = begin(usual.service.connect(), usual.authority.client(alpn, false, None), "localhost");
        client.conn.complete_io(&mut client.sock).unwrap();
        (client.conn.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned()), client)
    };
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let (name, mut client) = agreed(&["h2", "http/1.1"]);
    assert_eq!(name.as_deref(), Some("h2"));
    client.write_all(PREFACE).unwrap();
    let mut frame = [0; 9];
    client.read_exact(&mut frame).unwrap();
    // SETTINGS come first
    assert_eq!(frame[3], 4);
    // and what was not agreed on is not understood
    let (name, mut client) = agreed(&["http/1.1"]);
    assert_eq!(name.as_deref(), Some("http/1.1"));
    client.write_all(PREFACE).unwrap();
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 "), "{text}");
    let (name, mut client) = agreed(&[]);
    assert!(name.is_none() && last(&mut client).starts_with("HTTP/1.1 200"));
    let mut client = begin(usual.service.connect(), usual.authority.client(&["spdy/1"], false, None), "localhost");
    assert!(client.write_all(LAST.as_bytes()).is_err() || client.read(&mut [0]).is_err());
}

#[test]
fn a_client_without_tls_is_told_where_to_come() {
    let usual = Usual::new(|_, _, _| {}, limits());
    let said = |request: &str| {
        let mut client = usual.service.connect();
        send(&mut client, request);
        rest(&mut client)
    };
    let text = said("GET /a%20b?c=1 HTTP/1.1\r\nHost: here.test:81\r\n\r\n");
    assert!(text.starts_with("HTTP/1.1 308 Permanent Redirect\r\n"), "{text}");
    assert!(text.contains("\r\nlocation: https://here.test:81/a%20b?c=1\r\n"), "{text}");
    assert!(said("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc").starts_with("HTTP/1.1 308 "));
    assert!(said("GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 400 "));
    assert!(said("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").starts_with("HTTP/1.1 "));
    assert!(said("BAD\r\n\r\n").starts_with("HTTP/1.1 400 "));
    usual.service.until_open(0);
}

#[test]
fn what_is_no_handshake_ends_with_an_alert() {
    let usual = Usual::new(|_, _, _| {}, limits());
    for bytes in [&b"\x16\x03\x01\x00\x05hello"[..], b"\x80\x2e\x01", b"\0", b"\x16\x03\x01\xff\xff"] {
        let mut client = usual.service.connect();
        client.write_all(bytes).unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let mut said = Vec::new();
        client.read_to_end(&mut said).unwrap();
        assert!(said.is_empty() || said[0] == 0x15, "{said:?}");
        usual.service.until_open(0);
    }
    usual.until_logged("TLS handshake failed");
    assert!(last(&mut usual.connect()).starts_with("HTTP/1.1 200"));
}

#[test]
fn a_handshake_that_does_not_come_ends_in_time() {
    let short = Limits { header_timeout: 0.3, ..limits() };
    let usual = Usual::new(|_, _, _| {}, short);
    let silent: Vec<_> = (0..20).map(|_| usual.service.connect()).collect();
    let mut begun = usual.service.connect();
    // the head of a record, and a part of it
    begun.write_all(b"\x16\x03\x01\x02\x00\x01\x00").unwrap();
    // one for which this machine is too slow ends like those
    let mut kept = until_some("a handshake in time", || {
        let mut client = usual.connect();
        client.write_all(GET.as_bytes()).ok()?;
        client.read_exact(&mut [0]).ok()?;
        Some(client)
    });
    response(&mut kept);
    for mut client in silent.into_iter().chain([begun]) {
        let mut said = Vec::new();
        client.read_to_end(&mut said).unwrap();
        assert!(said.is_empty());
    }
    usual.until_logged("TLS handshake took too long");
    // what has had its handshake is not in a hurry
    assert!(last(&mut kept).starts_with("HTTP/1.1 200"));
}

#[test]
fn handshakes_under_way_leave_places_for_others() {
    let few = Limits { max_connections: 20, ..limits() };
    let usual = Usual::new(|_, _, _| {}, few);
    let mut kept = usual.connect();
    kept.write_all(GET.as_bytes()).unwrap();
    response(&mut kept);
    let silent: Vec<_> = (0..12).map(|_| usual.service.connect()).collect();
    silent.iter().for_each(|client| client.set_nonblocking(true).unwrap());
    let closed = || silent.iter().filter(|client| client.peek(&mut [0]).is_ok_and(|n| n == 0)).count();
    until("two are closed", || closed() >= 2);
    // all have been seen, then: the last two are more than there is room for
    assert!(last(&mut kept).starts_with("HTTP/1.1 200"));
    assert_eq!(closed(), 2);
}

#[test]
fn a_client_gets_the_certificate_of_the_name_that_it_asks_for() {
    let files = tempfile::tempdir().unwrap();
    let (first, second) = (Authority::new(), Authority::new());
    let pairs = [
        first.certify(files.path(), "a", &["localhost"], 2, 30),
        second.certify(files.path(), "b", &["b.test", "*.b.test"], 3, 30),
    ];
    let service = serve(with(&[&pairs[0], &pairs[1]]), limits());
    let ask = |authority: &Authority, name: &str| {
        let mut client = begin(service.connect(), authority.client(&[], false, None), name);
        client.conn.complete_io(&mut client.sock).map(|_| last(&mut client))
    };
    assert!(ask(&first, "localhost").unwrap().contains("server_name\0localhost\0"));
    assert!(ask(&second, "b.test").is_ok() && ask(&second, "x.b.test").is_ok());
    assert!(ask(&first, "b.test").is_err() && ask(&second, "c.test").is_err());
}

#[test]
fn files_are_read_anew_or_all_stays_as_it_was() {
    let usual = Usual::new(|_, _, _| {}, limits());
    let mut kept = usual.connect();
    kept.write_all(GET.as_bytes()).unwrap();
    response(&mut kept);
    let other = Authority::new();
    let new = other.certify(usual.files.path(), "new", &["localhost"], 9, 30);
    std::fs::copy(&new.cert, &usual.pair.cert).unwrap();
    // without its key
    usual.service.server.reload_tls();
    usual.until_logged("the certificates from before are kept: tls_key: ");
    assert!(usual.log().contains("server.key: the key is not that of the certificate in"));
    assert!(last(&mut usual.connect()).starts_with("HTTP/1.1 200"));
    std::fs::copy(&new.key, &usual.pair.key).unwrap();
    usual.service.server.reload_tls();
    usual.until_logged("the certificates are those in the files as they are now");
    let mut client = begin(usual.service.connect(), other.client(&[], false, None), "localhost");
    assert!(last(&mut client).starts_with("HTTP/1.1 200"));
    assert!(usual.connect().write_all(LAST.as_bytes()).is_err());
    assert!(last(&mut kept).starts_with("HTTP/1.1 200"));
}

#[test]
fn files_that_change_are_seen_without_a_word() {
    let usual = Usual::new(|_, _, _| {}, limits());
    let other = Authority::new();
    let new = other.certify(usual.files.path(), "new", &["localhost"], 9, 30);
    std::fs::rename(&new.key, &usual.pair.key).unwrap();
    std::fs::rename(&new.cert, &usual.pair.cert).unwrap();
    // the server looks every ten seconds
    usual.until_logged("the certificates are those in the files as they are now");
    let mut client = begin(usual.service.connect(), other.client(&[], false, None), "localhost");
    assert!(last(&mut client).starts_with("HTTP/1.1 200"));
}

#[test]
fn a_client_shows_its_certificate() {
    for (auth, old, is_let_in) in [
        (ClientAuth::Auto, false, false),
        (ClientAuth::Required, true, false),
        (ClientAuth::Optional, false, true),
        (ClientAuth::Optional, true, true),
    ] {
        let change = |tls: &mut TlsSettings, authority: &Authority, folder: &Path| {
            tls.client_auth = auth;
            tls.client_ca = vec![authority.file(folder)];
            tls.crl = vec![authority.revokes(folder, &[77])];
        };
        let usual = Usual::new(change, limits());
        let folder = usual.files.path();
        let ask = |own: Option<&Pair>| {
            let config = usual.authority.client(&[], old, own);
            let mut client = begin(usual.service.connect(), config, "localhost");
            let mut text = String::new();
            client.write_all(LAST.as_bytes()).and_then(|()| client.read_to_string(&mut text)).map(|_| text)
        };
        let text = ask(Some(&usual.authority.certify(folder, "alice", &["alice"], 5, 30))).unwrap();
        assert!(text.contains("client_subject\0") && text.contains("CN=alice"), "{text}");
        assert!(text.contains("client_serial\0") && text.contains("client_not_after\0"), "{text}");
        let fingerprint = text.split("client_fingerprint\0").nth(1).unwrap().split('\0').next().unwrap();
        assert!(fingerprint.len() == 64 && fingerprint.bytes().all(|byte| byte.is_ascii_hexdigit()), "{fingerprint}");
        assert_eq!(ask(None).is_ok_and(|text| !text.contains("client_")), is_let_in);
        for (serial, days, why) in [(77, 30, "Revoked"), (6, -1, "expired")] {
            let wrong = usual.authority.certify(folder, "wrong", &["wrong"], serial, days);
            assert!(ask(Some(&wrong)).is_err());
            usual.until_logged(why);
        }
        let stranger = Authority::new().certify(folder, "stranger", &["alice"], 5, 30);
        assert!(ask(Some(&stranger)).is_err());
    }
}

#[test]
fn browsers_are_told_to_come_by_tls_only() {
    let usual = Usual::new(|tls, _, _| tls.hsts = 3600.0, limits());
    for path in ["/tls", "/none"] {
        let mut client = usual.connect();
        client.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).unwrap();
        let (head, _) = response(&mut client);
        assert!(head.contains("\r\nstrict-transport-security: max-age=3600\r\n"), "{head}");
    }
    let mut plain = usual.service.connect();
    send(&mut plain, GET);
    let text = rest(&mut plain);
    assert!(!text.contains("strict-transport-security"), "{text}");
}

#[test]
fn a_server_that_ends_says_so_on_each_connection() {
    // what has no handshake has time, if the server does not end
    let usual = Usual::new(|_, _, _| {}, Limits { header_timeout: 600.0, ..limits() });
    let mut kept = usual.connect();
    kept.write_all(GET.as_bytes()).unwrap();
    response(&mut kept);
    let silent = usual.service.connect();
    usual.service.until_open(2);
    usual.service.server.drain();
    let mut rest = Vec::new();
    // with a word: without one this is an error
    assert_eq!(kept.read_to_end(&mut rest).unwrap(), 0);
    until("what has no handshake does not keep the server from its end", || usual.service.server.is_drained());
    drop(silent);
}

#[test]
fn an_end_without_a_word_is_an_end() {
    let usual = Usual::new(|_, _, _| {}, limits());
    let mut client = usual.connect();
    client.write_all(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc").unwrap();
    usual.service.until_open(1);
    client.sock.shutdown(std::net::Shutdown::Write).unwrap();
    usual.service.until_open(0);
    assert!(client.read_to_end(&mut Vec::new()).is_ok_and(|n| n == 0) || client.sock.read(&mut [0]).is_ok());
}

#[test]
fn what_is_wrong_with_files_is_told_before_anybody_can_connect() {
    let files = tempfile::tempdir().unwrap();
    let folder = files.path();
    let authority = Authority::new();
    let pair = authority.certify(folder, "server", &["localhost"], 2, 30);
    let other = authority.certify(folder, "other", &["localhost"], 2, 30);
    let garbage = folder.join("garbage");
    std::fs::write(&garbage, "garbage").unwrap();
    let encrypted = folder.join("encrypted");
    std::fs::write(&encrypted, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n")
        .unwrap();
    let with = |cert: &Path, key: &Path| TlsSettings {
        cert: vec![cert.to_owned()],
        key: vec![key.to_owned()],
        ..TlsSettings::default()
    };
    let locked =
        |key: &Path, password: &Path| TlsSettings { key_password: vec![password.to_owned()], ..with(&pair.cert, key) };
    let old = folder.join("old");
    std::fs::write(&old, "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n").unwrap();
    const NO_CERTIFICATE: &str =
        "tls_cert: {}/server.key: there is no certificate in it (-----BEGIN CERTIFICATE-----): it holds a private key";
    const NO_KEY: &str =
        "tls_key: {}/server.pem: there is no private key in it (-----BEGIN PRIVATE KEY-----): it holds a certificate";
    let missing = folder.join("missing.pem");
    let whole = with(&pair.cert, &pair.key);
    for (tls, said) in [
        (with(&missing, &pair.key), "tls_cert: {}/missing.pem: No such file or directory"),
        (with(folder, &pair.key), "tls_cert: {}: it is not a file"),
        (with(&pair.cert, &missing), "tls_key: {}/missing.pem: No such file or directory"),
        (with(&pair.key, &pair.key), NO_CERTIFICATE),
        (with(&pair.cert, &pair.cert), NO_KEY),
        (with(&garbage, &pair.key), "it is no PEM file"),
        (with(&pair.cert, &encrypted), "tls_key: {}/encrypted: the key is encrypted, and nobody is there"),
        (locked(&encrypted, &missing), "tls_key: tls_key_password: {}/missing.pem: No such file or directory"),
        (locked(&encrypted, &garbage), "tls_key: {}/encrypted: the encrypted key cannot be read"),
        (with(&pair.cert, &old), "openssl pkcs8 -topk8 -in {}/old -out new.key"),
        (with(&pair.cert, &other.key), "other.key: the key is not that of the certificate in {}/server.pem"),
        (TlsSettings { key: vec![pair.key.clone(); 2], ..whole.clone() }, "as many keys as certificates (1)"),
        (TlsSettings::default(), "tls_cert: there is no certificate"),
        (TlsSettings { client_auth: ClientAuth::Required, ..whole.clone() }, "tls_client_auth: it needs tls_client_ca"),
        (TlsSettings { crl: vec![garbage.clone()], ..whole.clone() }, "tls_crl: it is for certificates of clients"),
        (TlsSettings { client_ca: vec![garbage.clone()], ..whole.clone() }, "tls_client_ca: {}/garbage"),
        (
            TlsSettings { client_ca: vec![authority.file(folder)], crl: vec![pair.cert.clone()], ..whole.clone() },
            "tls_crl: {}/server.pem: there is no list of revoked certificates in it",
        ),
    ] {
        let settings = Settings { tls: Some(tls), ..settings::local(folder, 1, limits()) };
        let Err(engine::StartError::Config(why)) = engine::Server::bind(settings) else { panic!("{said}") };
        assert!(why.contains(&said.replace("{}", folder.to_str().unwrap())), "{why}\nand not {said}");
    }
}

#[test]
fn what_is_only_doubtful_is_logged() {
    use std::os::unix::fs::PermissionsExt;
    let files = tempfile::tempdir().unwrap();
    let pair = Authority::new().certify(files.path(), "server", &["localhost"], 2, -1);
    std::fs::set_permissions(&pair.key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let service = serve(with(&[&pair]), limits());
    let log = service.folder.path().join("log");
    for text in ["server.pem: the certificate expired on ", "server.key: everybody on this machine can read the key"] {
        until(text, || std::fs::read_to_string(&log).unwrap().contains(text));
    }
}

#[test]
fn a_session_is_taken_up_again() {
    let usual = Usual::new(|_, _, _| {}, limits());
    let config = Arc::new(usual.authority.client(&[], false, None));
    let kinds = [0; 2].map(|_| {
        let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
        let session = rustls::ClientConnection::new(config.clone(), name).unwrap();
        let mut client = rustls::StreamOwned::new(session, usual.service.connect());
        assert!(last(&mut client).starts_with("HTTP/1.1 200"));
        client.conn.handshake_kind().unwrap()
    });
    assert_eq!(kinds, [rustls::HandshakeKind::Full, rustls::HandshakeKind::Resumed]);
}

#[test]
fn an_old_version_is_refused_where_it_is_not_wanted() {
    let usual = Usual::new(|tls, _, _| tls.min_version = engine::MinVersion::Tls13, limits());
    let mut old = begin(usual.service.connect(), usual.authority.client(&[], true, None), "localhost");
    let error = old.conn.complete_io(&mut old.sock).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidData && error.to_string().contains("ProtocolVersion"), "{error}");
    assert!(last(&mut usual.connect()).contains("TLSv1.3"));
}
