//! A certificate for development: for this machine, by an authority made for it alone, so that a client that is told
//! to trust that authority trusts nothing more. The key of that authority is not kept.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rcgen::{KeyUsagePurpose, PKCS_ECDSA_P256_SHA256};
use rustix::fs::{chmod, Mode};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What a client on this machine may call it.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
/// Browsers take no certificate for longer than 398 days.
const DAYS: u64 = 365;
/// One that ends sooner is made anew.
const RENEWED: u64 = 30;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The files of a certificate for development, in this folder: the certificate, its key, and the authority that clients
/// may be told to trust.
#[derive(Debug, Clone)]
pub struct SelfSigned {
    /// certificate, in PEM
    pub cert: PathBuf,
    /// key, in PEM
    pub key: PathBuf,
    /// authority, in PEM
    pub ca: PathBuf,
}

/// The certificate that is there, if it is good for another while, or a new one.
///
/// # Errors
/// When the folder cannot be written.
pub fn self_signed(folder: &Path) -> io::Result<SelfSigned> {
    let files = SelfSigned { cert: folder.join("dev.pem"), key: folder.join("dev.key"), ca: folder.join("dev-ca.pem") };
    if is_good(&files) {
        return Ok(files);
    }
    fs::create_dir_all(folder)?;
    // for the developer alone
    chmod(folder, Mode::RWXU)?;
    let (ca, cert, key) = make().map_err(io::Error::other)?;
    for (file, text) in [(&files.key, key), (&files.ca, ca), (&files.cert, cert)] {
        write(file, &text)?;
    }
    Ok(files)
}

/// Whether the files belong together, and clients will trust them for a while.
fn is_good(files: &SelfSigned) -> bool {
    let settings =
        super::TlsSettings { cert: vec![files.cert.clone()], key: vec![files.key.clone()], ..Default::default() };
    let is_young = || {
        let made = fs::metadata(&files.cert)?.modified()?;
        Ok::<_, io::Error>(SystemTime::now() < made + DAY * (DAYS - RENEWED) as u32)
    };
    files.ca.exists() && is_young().unwrap_or(false) && super::config::read(&settings).is_ok()
}

/// Texts of the authority, the certificate and its key.
fn make() -> Result<(String, String, String), rcgen::Error> {
    let now = SystemTime::now();
    let valid = |params: &mut CertificateParams| {
        params.not_before = (now - DAY).into();
        params.not_after = (now + DAY * DAYS as u32).into();
    };
    let mut authority = CertificateParams::new(vec![])?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    authority.distinguished_name.push(DnType::CommonName, "drover, for development on this machine");
    valid(&mut authority);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?)?;
    let mut params = CertificateParams::new(NAMES.map(str::to_owned))?;
    params.distinguished_name.push(DnType::CommonName, NAMES[0]);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    valid(&mut params);
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let cert = params.signed_by(&key, &authority)?;
    Ok((authority.pem(), cert.pem(), key.serialize_pem()))
}

/// A new file takes the place of an old one: a server that reads it meanwhile has the one or the other.
fn write(file: &Path, text: &str) -> io::Result<()> {
    let new = file.with_extension(format!("new-{}", std::process::id()));
    let _ = fs::remove_file(&new);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(&new)?.write_all(text.as_bytes())?;
    fs::rename(&new, file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn one_is_made_when_none_is_good() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a").join("tls");
        let first = self_signed(&place).unwrap();
        let text = |file: &Path| fs::read_to_string(file).unwrap();
        let (cert, key) = (text(&first.cert), text(&first.key));
        assert_eq!(fs::metadata(&first.key).unwrap().permissions().mode() & 0o777, 0o600);
        self_signed(&place).unwrap();
        assert_eq!((text(&first.cert), text(&first.key)), (cert.clone(), key));
        // that of another
        fs::write(&first.key, KeyPair::generate().unwrap().serialize_pem()).unwrap();
        self_signed(&place).unwrap();
        assert_ne!(text(&first.cert), cert);
        let long_ago = SystemTime::now() - DAY * 340;
        let cert = text(&first.cert);
        fs::File::options().write(true).open(&first.cert).unwrap().set_modified(long_ago).unwrap();
        self_signed(&place).unwrap();
        assert_ne!(text(&first.cert), cert);
    }
}
