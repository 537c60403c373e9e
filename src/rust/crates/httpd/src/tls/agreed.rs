//! What a client and the server have agreed on, and the client's identity: for handlers.

use aws_lc_rs::digest::{digest, SHA256};
use rustls::pki_types::CertificateDer;
use rustls::{ProtocolVersion, ServerConnection};
use std::fmt::Write as _;
use x509_parser::parse_x509_certificate;

/// See the module.
#[derive(Debug)]
pub struct Agreed {
    /// whether HTTP/2 is spoken, and otherwise HTTP/1.1
    pub http2: bool,
    /// whether the client has proved its identity by a certificate that was checked
    pub has_client: bool,
    /// names and values in turn, each ended by NUL: what messages to workers have of it
    pub text: Vec<u8>,
}

impl Agreed {
    /// After the handshake.
    pub fn of(session: &ServerConnection) -> Self {
        let mut all = Fields(Vec::new());
        let version = match session.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
            _ => "TLSv1.2",
        };
        all.add("protocol", version);
        if let Some(suite) = session.negotiated_cipher_suite() {
            // the library has names of its own for those of TLS 1.3
            all.add("cipher", &format!("{:?}", suite.suite()).replacen("TLS13_", "TLS_", 1));
        }
        if let Some(name) = session.server_name() {
            all.add("server_name", name);
        }
        let client = session.peer_certificates().and_then(<[_]>::first);
        if let Some(cert) = client {
            all.add_client(cert);
        }
        Agreed { http2: session.alpn_protocol() == Some(b"h2"), has_client: client.is_some(), text: all.0 }
    }
}

struct Fields(Vec<u8>);

impl Fields {
    fn add(&mut self, name: &str, value: &str) {
        for text in [name, value] {
            // nothing that a certificate says ends a field
            self.0.extend(text.bytes().map(|byte| if byte.is_ascii_control() { b'?' } else { byte }));
            self.0.push(0);
        }
    }

    /// A certificate that was checked.
    fn add_client(&mut self, der: &CertificateDer<'_>) {
        let fingerprint = digest(&SHA256, der).as_ref().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        self.add("client_fingerprint", &fingerprint);
        let Ok((_, cert)) = parse_x509_certificate(der) else { return };
        self.add("client_subject", &cert.subject().to_string());
        self.add("client_issuer", &cert.issuer().to_string());
        self.add("client_serial", &cert.raw_serial_as_string());
        self.add("client_not_after", &cert.validity().not_after.timestamp().to_string());
    }
}
