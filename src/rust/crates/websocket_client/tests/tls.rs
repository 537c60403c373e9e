//! Servers with TLS, and the authorities that are trusted.

use patience::patience;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::Arc;
use websocket::derive_accept_key;
use websocket_client::{headers, Clients, Event, Options, Target};

/// An authority, in a file, and a server with a certificate of it for `name`, for one connection. The file and the
/// port.
fn server(name: &str) -> (PathBuf, u16) {
    let mut of_authority = CertificateParams::new(vec![]).unwrap();
    of_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(of_authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("ca-{port}.pem"));
    std::fs::write(&file, authority.pem()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(Arc::new(config)).unwrap(), stream);
        let mut text = Vec::new();
        while !text.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read_exact(&mut byte).is_err() {
                // the client does not trust the certificate
                return;
            }
            text.push(byte[0]);
        }
        let text = String::from_utf8(text).unwrap();
        let key = text.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap();
        let accept = derive_accept_key(key.as_bytes());
        let answer = format!(
            "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        stream.write_all(answer.as_bytes()).unwrap();
        // a text and a close
        stream.write_all(b"\x81\x06secret\x88\x02\x03\xe8").unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    (file, port)
}

/// What happens on a connection to the port, to its end.
fn events(url: &str, ca: Option<PathBuf>) -> Vec<Event> {
    let (wake, wakes) = channel();
    let mut clients = Clients::start(move || wake.send(()).unwrap_or_default()).unwrap();
    let options = Options {
        target: Target::read(url).unwrap(),
        headers: headers(std::iter::empty()).unwrap(),
        protocols: vec![],
        deflate: false,
        timeout: patience(30),
        max_message: 1000,
        ping_interval: None,
        reconnect: None,
        ca,
    };
    clients.connect(1, options);
    let mut events = Vec::new();
    while !clients.is_idle() {
        match clients.take() {
            Some((_, event)) => events.push(event),
            None => wakes.recv_timeout(patience(30)).expect("nothing happens"),
        }
    }
    events
}

#[test]
fn a_server_is_trusted_when_its_authority_is() {
    let (file, port) = server("localhost");
    let all = events(&format!("wss://localhost:{port}/"), Some(file.clone()));
    assert!(matches!(&all[..], [Event::Open(None), Event::Message(_), Event::Closed { code: 1000, .. }]), "{all:?}");
    let (of_another, _) = server("localhost");
    let refused = [
        // by the system's, by another authority, and under another name
        (server("localhost").1, "localhost", None, "TLS: "),
        (server("localhost").1, "localhost", Some(of_another.clone()), "invalid peer certificate"),
        (0, "127.0.0.1", None, "not valid for"),
    ];
    for (port, host, ca, why) in refused {
        let (port, ca) = if port == 0 {
            let (file, port) = server("localhost");
            (port, Some(file))
        } else {
            (port, ca)
        };
        let all = events(&format!("wss://{host}:{port}/"), ca);
        let [Event::Closed { code: 0, reason, failed: true, .. }] = &all[..] else { panic!("{why}: {all:?}") };
        assert!(reason.contains(why), "{reason}");
    }
    let (_, port) = server("localhost");
    let nothing = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("no-ca-{port}.pem"));
    std::fs::write(&nothing, "nothing").unwrap();
    let all = events(&format!("wss://localhost:{port}/"), Some(nothing));
    assert!(matches!(&all[..], [Event::Closed { reason, .. }] if reason.contains("no certificates")), "{all:?}");
}
