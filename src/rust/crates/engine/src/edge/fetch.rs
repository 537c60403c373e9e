//! Fetches a small document from an address, or sends one there, within a time and a size. Only for threads that may
//! wait. Neighbours: `auth/jwks`, `auth/oidc` and `traces`, which do so.

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::CertificateDer;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::Agent;

/// All of it: looking the name up, connecting, waiting, reading.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A set of 64 keys is well below this.
const LONGEST: u64 = 256 << 10;

/// Where cleartext will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    /// on this machine: what comes is trusted
    ThisMachine,
    /// anywhere: the network is the business of whoever says the address
    Anywhere,
}

/// See the module.
pub struct Source {
    agent: Agent,
    url: String,
}

impl Source {
    /// At this address; `ca` has the authorities that its server is trusted by, `None` for those of the system.
    ///
    /// # Errors
    /// A text that says what is wrong with the address or the authorities.
    pub fn new(url: &str, ca: Option<&Path>, plain: Plain) -> Result<Self, String> {
        let is_secure = url.starts_with("https://");
        if plain == Plain::ThisMachine && !is_trusted(url) {
            return Err(format!("{url}: it must begin with https://, or with http:// and a host of this machine"));
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut tls = TlsConfig::builder().unversioned_rustls_crypto_provider(provider);
        if is_secure {
            let roots = ca.map_or_else(of_system, of_file)?;
            let roots: Vec<_> = roots.iter().map(|one| Certificate::from_der(one).to_owned()).collect();
            tls = tls.root_certs(RootCerts::new_with_certs(&roots));
        }
        let mut config = Agent::config_builder().tls_config(tls.build()).timeout_global(Some(TIMEOUT));
        if !is_secure {
            config = config.proxy(None);
        }
        // another address could be one without TLS, or of this machine
        let config = config.https_only(is_secure).max_redirects(0).max_redirects_will_error(true);
        Ok(Source { agent: config.build().new_agent(), url: url.to_owned() })
    }

    /// The document, of a response with status 200.
    ///
    /// # Errors
    /// A text that says why it cannot be had.
    pub fn fetch(&self) -> Result<Vec<u8>, String> {
        self.fetch_by(None)
    }

    /// The same, with a field `Authorization`.
    ///
    /// # Errors
    /// The same.
    pub fn fetch_by(&self, authorization: Option<&str>) -> Result<Vec<u8>, String> {
        let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", self.url);
        let mut request = self.agent.get(&self.url);
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        let mut response = request.call().map_err(|e| failed(&e))?;
        if response.status() != 200 {
            return Err(failed(&format_args!("it is answered with {}", response.status().as_u16())));
        }
        response.body_mut().with_config().limit(LONGEST).read_to_vec().map_err(|e| failed(&e))
    }

    /// Sends a document of JSON, with these fields. An answer without an error says that it was taken.
    ///
    /// # Errors
    /// A text that says why it was not.
    pub fn post(&self, json: &str, fields: &[(String, String)]) -> Result<(), String> {
        let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", self.url);
        let mut request = self.agent.post(&self.url).header("content-type", "application/json");
        for (name, value) in fields {
            request = request.header(name, value);
        }
        let mut response = request.send(json).map_err(|e| failed(&e))?;
        // read to its end, the connection can be used again
        response.body_mut().with_config().limit(LONGEST).read_to_vec().map(drop).map_err(|e| failed(&e))
    }

    /// Sends a form, with a field `Authorization` if there is one: the status of the answer, and its body.
    ///
    /// # Errors
    /// A text that says why there is no answer.
    pub fn send_form(&self, form: &str, authorization: Option<&str>) -> Result<(u16, Vec<u8>), String> {
        let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", self.url);
        let mut request = self.agent.post(&self.url).config().http_status_as_error(false).build();
        request =
            request.header("content-type", "application/x-www-form-urlencoded").header("accept", "application/json");
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        let mut response = request.send(form).map_err(|e| failed(&e))?;
        let body = response.body_mut().with_config().limit(LONGEST).read_to_vec().map_err(|e| failed(&e))?;
        Ok((response.status().as_u16(), body))
    }
}

/// Whether browsers may be sent to this address, or the server may ask there: over TLS, or on this machine.
pub fn is_trusted(url: &str) -> bool {
    url.starts_with("https://") || is_of_this_machine(url)
}

/// Whether the address is that of a server on this machine, by its host.
fn is_of_this_machine(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => host,
    };
    let ip = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host == "localhost" || ip.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn of_system() -> Result<Vec<CertificateDer<'static>>, String> {
    let roots = rustls_native_certs::load_native_certs().certs;
    match roots.is_empty() {
        true => Err("this system has no certificates of authorities (Debian: the package ca-certificates)".into()),
        false => Ok(roots),
    }
}

fn of_file(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", file.display());
    let roots: Result<Vec<_>, _> = CertificateDer::pem_file_iter(file).map_err(|e| failed(&e))?.collect();
    match roots.map_err(|e| failed(&e))? {
        roots if roots.is_empty() => Err(failed(&"no certificates in it")),
        roots => Ok(roots),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_trusted_without_tls() {
        for url in ["http://localhost/keys", "http://127.0.0.1:8080/keys", "http://[::1]:80", "http://127.9.9.9?x"] {
            assert!(is_of_this_machine(url) && Source::new(url, None, Plain::ThisMachine).is_ok(), "{url}");
        }
        for url in [
            "http://example.org/keys",
            "http://localhost.example.org/",
            "http://localhost@example.org/",
            "http://127.0.0.1.example.org/",
            "http://127.0.0.1:80@example.org/",
            "ftp://localhost/",
            "localhost",
            "",
        ] {
            assert!(Source::new(url, None, Plain::ThisMachine).is_err(), "{url}");
        }
        assert!(Source::new("http://collector:4318/", None, Plain::Anywhere).is_ok());
        assert!(Source::new("https://localhost/", Some(Path::new("/no/such/file")), Plain::Anywhere).is_err());
    }
}
