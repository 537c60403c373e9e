//! TLS, with the authorities that the system trusts, or with those of a file.

use rustls::pki_types::{pem::PemObject, CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::TlsConnector;

/// Reading the system's authorities takes milliseconds: it is done once.
static OF_SYSTEM: Mutex<Option<Arc<ClientConfig>>> = Mutex::new(None);

/// Begins TLS on a connection to `host`.
///
/// # Errors
/// Why the server is not trusted, or cannot be.
pub async fn begin(stream: TcpStream, host: &str, ca: Option<&Path>) -> Result<TlsStream<TcpStream>, String> {
    let name = ServerName::try_from(host.to_owned()).map_err(|_| format!("{host} is no name that TLS knows"))?;
    let config = match ca {
        Some(file) => Arc::new(trusting(of_file(file)?)?),
        None => of_system()?,
    };
    TlsConnector::from(config).connect(name, stream).await.map_err(|e| format!("TLS: {e}"))
}

fn of_system() -> Result<Arc<ClientConfig>, String> {
    let mut known = OF_SYSTEM.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(config) = &*known {
        return Ok(config.clone());
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err("TLS: this system has no certificates of authorities (Debian: the package ca-certificates)".into());
    }
    let config = Arc::new(trusting(roots)?);
    *known = Some(config.clone());
    Ok(config)
}

fn of_file(file: &Path) -> Result<RootCertStore, String> {
    let failed = |e: &dyn std::fmt::Display| format!("TLS: {}: {e}", file.display());
    let mut roots = RootCertStore::empty();
    for one in CertificateDer::pem_file_iter(file).map_err(|e| failed(&e))? {
        let one = one.map_err(|e| failed(&e))?;
        roots.add(one).map_err(|e| failed(&e))?;
    }
    if roots.is_empty() {
        return Err(failed(&"no certificates in it"));
    }
    Ok(roots)
}

fn trusting(roots: RootCertStore) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = builder.map_err(|e| format!("TLS: {e}"))?.with_root_certificates(roots).with_no_client_auth();
    // a WebSocket begins with HTTP/1.1
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
