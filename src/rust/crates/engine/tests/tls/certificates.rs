//! Certificates for the tests, in files, and clients that trust them.

use rcgen::{BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType, IsCa};
use rcgen::{KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub type Client = StreamOwned<ClientConnection, TcpStream>;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// An authority.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, in files.
#[derive(Clone)]
pub struct Pair {
    pub cert: PathBuf,
    pub key: PathBuf,
    chain: Vec<CertificateDer<'static>>,
    secret: Vec<u8>,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Authority { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    /// Its own certificate in a file.
    pub fn file(&self, folder: &Path) -> PathBuf {
        let file = folder.join("ca.pem");
        std::fs::write(&file, self.issuer.pem()).unwrap();
        file
    }

    /// A list in a file of those that it has revoked.
    pub fn revokes(&self, folder: &Path, serials: &[u64]) -> PathBuf {
        let now = SystemTime::now();
        let revoked = serials.iter().map(|serial| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: (now - DAY).into(),
            reason_code: None,
            invalidity_date: None,
        });
        let list = CertificateRevocationListParams {
            this_update: (now - DAY).into(),
            next_update: (now + DAY).into(),
            crl_number: SerialNumber::from(1u64),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let file = folder.join("crl.pem");
        std::fs::write(&file, list.signed_by(&self.issuer).unwrap().pem().unwrap()).unwrap();
        file
    }

    /// A certificate for these names, which expires in `days` days.
    pub fn certify(&self, folder: &Path, file: &str, names: &[&str], serial: u64, days: i32) -> Pair {
        let mut params =
            CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
        params.distinguished_name.push(DnType::CommonName, names[0]);
        params.distinguished_name.push(DnType::OrganizationName, "Ärger, Inc");
        params.serial_number = Some(SerialNumber::from(serial));
        let now = SystemTime::now();
        params.not_before = (now - DAY * 10).into();
        params.not_after = (if days < 0 { now - DAY * days.unsigned_abs() } else { now + DAY * days as u32 }).into();
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        let pair = Pair {
            cert: folder.join(format!("{file}.pem")),
            key: folder.join(format!("{file}.key")),
            chain: vec![cert.der().clone()],
            secret: key.serialize_der(),
        };
        std::fs::write(&pair.cert, cert.pem()).unwrap();
        std::fs::write(&pair.key, key.serialize_pem()).unwrap();
        pair
    }

    /// What a client is that trusts it, and has this certificate itself.
    pub fn client(&self, alpn: &[&str], old: bool, own: Option<&Pair>) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let versions = if old { [&TLS12] } else { [&TLS13] };
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&versions).unwrap();
        let builder = builder.with_root_certificates(roots);
        let mut config = match own {
            Some(pair) => {
                let key = PrivateKeyDer::try_from(pair.secret.clone()).unwrap();
                builder.with_client_auth_cert(pair.chain.clone(), key).unwrap()
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        config
    }
}

/// Begins TLS on a connection.
pub fn begin(stream: TcpStream, config: ClientConfig, name: &str) -> Client {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), stream)
}
