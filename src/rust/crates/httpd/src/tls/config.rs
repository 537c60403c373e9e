//! From files to what the library needs for a handshake. All is read before any of it counts: what is wrong is told
//! with the setting and the file, and nothing has changed then.

use super::files;
use super::names::Names;
use super::settings::{MinVersion, TlsSettings};
use rustls::crypto::{aws_lc_rs, CryptoProvider};
use rustls::pki_types::CertificateDer;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::WebPkiClientVerifier;
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{Error, InconsistentKeys, RootCertStore, ServerConfig, SupportedProtocolVersion};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;
use x509_parser::time::ASN1Time;

/// What is spoken, the preferred first (RFC 7301).
const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

const NEW_AND_OLD: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];
const NEW_ONLY: &[&SupportedProtocolVersion] = &[&TLS13];

/// What files make of a server, and what is to be said about them.
pub struct Ready {
    pub config: Arc<ServerConfig>,
    pub warnings: Vec<String>,
}

/// Reads all files.
///
/// # Errors
/// The setting, the file, and what is wrong.
pub fn read(settings: &TlsSettings) -> Result<Ready, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut warnings = Vec::new();
    let names = names(settings, &provider, &mut warnings)?;
    let versions = if settings.min_version == MinVersion::Tls13 { NEW_ONLY } else { NEW_AND_OLD };
    let verifier = verifier(settings, &provider)?;
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(versions).map_err(internal)?;
    let mut config = builder.with_client_cert_verifier(verifier).with_cert_resolver(Arc::new(names));
    config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
    // its keys change every six hours. Files that are read again make new ones: what a session was begun with that is
    // taken up again has to be what counts now
    config.ticketer = aws_lc_rs::Ticketer::new().map_err(internal)?;
    Ok(Ready { config: Arc::new(config), warnings })
}

fn internal(e: Error) -> String {
    format!("TLS: {e}")
}

fn names(settings: &TlsSettings, provider: &CryptoProvider, warnings: &mut Vec<String>) -> Result<Names, String> {
    let (certs, keys) = (&settings.cert, &settings.key);
    if !keys.is_empty() && keys.len() != certs.len() {
        return Err(format!(
            "tls_key: there must be as many keys as certificates ({}), in the same order, not {}",
            certs.len(),
            keys.len()
        ));
    }
    let passwords = &settings.key_password;
    if passwords.len() > 1 && passwords.len() != certs.len() {
        return Err(format!(
            "tls_key_password: there must be one for all keys, or as many as there are ({}), not {}",
            certs.len(),
            passwords.len()
        ));
    }
    let mut all = Vec::new();
    for (at, cert) in certs.iter().enumerate() {
        let key = keys.get(at).unwrap_or(cert);
        let password = passwords.get(at).or(passwords.first());
        all.push(pair(cert, key, password.map(PathBuf::as_path), provider, warnings)?);
    }
    Names::new(all).ok_or_else(|| "tls_cert: there is no certificate".to_owned())
}

/// A certificate with its key, and the names that it is for.
fn pair(
    cert: &Path,
    key: &Path,
    password: Option<&Path>,
    provider: &CryptoProvider,
    warnings: &mut Vec<String>,
) -> Result<(Arc<CertifiedKey>, Vec<String>), String> {
    let chain = files::certificates(cert).map_err(of("tls_cert"))?;
    let (names, expired) = about(&chain[0]).map_err(|e| format!("tls_cert: {}: {e}", cert.display()))?;
    warnings.extend(expired.map(|why| format!("tls_cert: {}: {why}", cert.display())));
    let secret = files::key(key, password).map_err(of("tls_key"))?;
    warnings.extend(files::is_open_to_all(key).map(|why| format!("tls_key: {why}")));
    let open = password.and_then(files::is_open_to_all);
    warnings.extend(open.map(|why| format!("tls_key_password: {why}")));
    let pair = CertifiedKey::from_der(chain, secret, provider).map_err(|e| match e {
        Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            format!("tls_key: {}: the key is not that of the certificate in {}", key.display(), cert.display())
        }
        e => format!("tls_key: {}: the key cannot be used: {e}", key.display()),
    })?;
    Ok((Arc::new(pair), names))
}

/// The names of a certificate, and why clients will not trust it today.
fn about(cert: &CertificateDer<'_>) -> Result<(Vec<String>, Option<String>), String> {
    let (_, cert) = parse_x509_certificate(cert).map_err(|e| format!("the certificate cannot be read: {e}"))?;
    let names = cert.subject_alternative_name().ok().flatten().map(|names| &names.value.general_names);
    let names = names.into_iter().flatten().filter_map(|name| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        _ => None,
    });
    let validity = cert.validity();
    let expired = if validity.is_valid() {
        None
    } else if validity.not_after < ASN1Time::now() {
        Some(format!("the certificate expired on {}: clients will not trust it", validity.not_after))
    } else {
        Some(format!("the certificate is valid from {} on only: clients do not trust it yet", validity.not_before))
    };
    Ok((names.collect(), expired))
}

fn verifier(settings: &TlsSettings, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let (asked, needed) = settings.asks_clients()?;
    if !asked {
        return Ok(WebPkiClientVerifier::no_client_auth());
    }
    let mut roots = RootCertStore::empty();
    for file in &settings.client_ca {
        for authority in files::certificates(file).map_err(of("tls_client_ca"))? {
            let wrong = |e| format!("tls_client_ca: {}: a certificate cannot be used: {e}", file.display());
            roots.add(authority).map_err(wrong)?;
        }
    }
    let mut revoked = Vec::new();
    for file in &settings.crl {
        revoked.extend(files::revoked(file).map_err(of("tls_crl"))?);
    }
    let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    if !revoked.is_empty() {
        // of an authority without a list no certificate is taken: a wrong file is noticed
        builder = builder.with_crls(revoked);
    }
    if !needed {
        builder = builder.allow_unauthenticated();
    }
    builder.build().map_err(|e| {
        let files: Vec<_> = settings.client_ca.iter().chain(&settings.crl).map(|f| f.display().to_string()).collect();
        format!("tls_client_ca, tls_crl: {}: {e}", files.join(", "))
    })
}

fn of(setting: &'static str) -> impl Fn(String) -> String {
    move |why| format!("{setting}: {why}")
}
