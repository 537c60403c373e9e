//! What TLS is told to be: files, and what is asked of clients. The names are those of the arguments of `dr_tls()`; in
//! the table of settings, `inst/settings.dcf`, they begin with `tls_`.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// See the module.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// files with a chain of certificates each, in PEM; the first is for clients that name no other
    pub cert: Vec<PathBuf>,
    /// files with their keys, in the same order; none when they are in the files of the certificates
    pub key: Vec<PathBuf>,
    /// files with the passwords of keys that are encrypted: one for all, or as many as keys
    pub key_password: Vec<PathBuf>,
    /// files with the authorities whose certificates clients may have
    pub client_ca: Vec<PathBuf>,
    /// whether clients are asked for a certificate
    pub client_auth: ClientAuth,
    /// files with the certificates that these authorities have revoked
    pub crl: Vec<PathBuf>,
    /// the oldest version that is spoken
    pub min_version: MinVersion,
    /// for how many seconds browsers are told to come by TLS only; 0 for not
    pub hsts: f64,
}

/// Whether clients are asked for a certificate.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ClientAuth {
    /// required when there are authorities for it, and otherwise not asked for
    #[default]
    Auto,
    /// not asked for
    None,
    /// asked for; a client may have none, but no wrong one
    Optional,
    /// a client without one gets no connection
    Required,
}

/// The oldest version of TLS.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, PartialEq, Eq)]
pub enum MinVersion {
    /// TLS 1.2
    #[default]
    #[serde(rename = "1.2")]
    Tls12,
    /// TLS 1.3
    #[serde(rename = "1.3")]
    Tls13,
}

impl TlsSettings {
    /// Whether clients are asked for a certificate, and whether they need one.
    ///
    /// # Errors
    /// When there is nothing to check certificates by, or nothing is checked.
    pub fn asks_clients(&self) -> Result<(bool, bool), String> {
        let has_authorities = !self.client_ca.is_empty();
        if self.client_auth == ClientAuth::None && !has_authorities && self.crl.is_empty() {
            return Ok((false, false));
        }
        match (self.client_auth, has_authorities) {
            (ClientAuth::Auto | ClientAuth::Required, true) => Ok((true, true)),
            (ClientAuth::Optional, true) => Ok((true, false)),
            (ClientAuth::None, true) => {
                Err("tls_client_ca: certificates of clients are not asked for with tls_client_auth = none".to_owned())
            }
            (ClientAuth::Auto | ClientAuth::None, false) if !self.crl.is_empty() => {
                Err("tls_crl: it is for certificates of clients, and needs tls_client_ca".to_owned())
            }
            (ClientAuth::Auto | ClientAuth::None, false) => Ok((false, false)),
            (ClientAuth::Optional | ClientAuth::Required, false) => {
                Err("tls_client_auth: it needs tls_client_ca, the authorities whose certificates are taken".to_owned())
            }
        }
    }

    /// All files that it names.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.cert, &self.key, &self.key_password, &self.client_ca, &self.crl].into_iter().flatten()
    }
}
