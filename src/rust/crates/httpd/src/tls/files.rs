//! Reading certificates, keys and lists of revoked certificates from files in PEM. Errors name the file, say what is
//! wrong with it, and what would be right.

use pkcs8::der::zeroize::Zeroizing;
use pkcs8::{EncryptedPrivateKeyInfoRef, SecretDocument};
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A chain of certificates and all authorities of the web fit many times; what is longer is something else.
const LONGEST: u64 = 4 << 20;
/// Permission of everybody to read a file.
const READ_BY_ALL: u32 = 0o004;
/// Of an encrypted key (RFC 7468 section 11).
const LOCKED: [&str; 2] = ["-----BEGIN ENCRYPTED PRIVATE KEY-----", "-----END ENCRYPTED PRIVATE KEY-----"];
/// Of one that is encrypted as OpenSSL did before.
const LOCKED_OLD: &str = "Proc-Type: 4,ENCRYPTED";

/// The certificates in a file, at least one.
pub fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = read(file)?;
    let all = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>().map_err(|e| pem(file, &e))?;
    if all.is_empty() {
        return Err(lacks(file, &text, "certificate", "CERTIFICATE"));
    }
    Ok(all)
}

/// The private key in a file. `password`: the file with its password, if there is one.
pub fn key(file: &Path, password: Option<&Path>) -> Result<PrivateKeyDer<'static>, String> {
    let text = read(file)?;
    let name = file.display();
    if contains(&text, LOCKED_OLD) {
        return Err(format!(
            "{name}: the key is encrypted in the way of old OpenSSL: `openssl pkcs8 -topk8 -in {name} -out new.key` \
             writes it in the way of today"
        ));
    }
    if let Some(locked) = block(&text, LOCKED) {
        let password = password.ok_or_else(|| {
            format!(
                "{name}: the key is encrypted, and nobody is there to type its password: put that into a file and \
                 name it in tls_key_password, or write the key without one: `openssl pkcs8 -in {name} -out plain.key`"
            )
        })?;
        return unlocked(file, locked, password);
    }
    PrivateKeyDer::from_pem_slice(&text).map_err(|e| match e {
        PemError::NoItemsFound => lacks(file, &text, "private key", "PRIVATE KEY"),
        e => pem(file, &e),
    })
}

/// The key that is encrypted as PKCS #8 has it (RFC 5958, RFC 8018).
fn unlocked(file: &Path, pem: &str, password: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let name = file.display();
    let unreadable = |e: &dyn std::fmt::Display| format!("{name}: the encrypted key cannot be read: {e}");
    let secret = Zeroizing::new(read(password).map_err(|why| format!("tls_key_password: {why}"))?);
    // as editors leave it: the first line
    let secret = secret.split(|&b| b == b'\n').next().unwrap_or_default();
    let secret = secret.strip_suffix(b"\r").unwrap_or(secret);
    let (_, document) = SecretDocument::from_pem(pem).map_err(|e| unreadable(&e))?;
    let locked = EncryptedPrivateKeyInfoRef::try_from(document.as_bytes()).map_err(|e| unreadable(&e))?;
    let key = locked.decrypt(secret).map_err(|_| {
        format!(
            "{name}: the password in {} does not open the key, or it is encrypted in a way that is not known here: \
                 `openssl pkcs8 -topk8 -v2 aes-256-cbc` is",
            password.display()
        )
    })?;
    Ok(PrivatePkcs8KeyDer::from(key.as_bytes().to_vec()).into())
}

/// The first block between these marks, with them.
fn block<'t>(text: &'t [u8], [begins, ends]: [&str; 2]) -> Option<&'t str> {
    let from = memchr::memmem::find(text, begins.as_bytes())?;
    let to = memchr::memmem::find(&text[from..], ends.as_bytes())? + ends.len();
    std::str::from_utf8(&text[from..from + to]).ok()
}

/// The lists of revoked certificates in a file, at least one.
pub fn revoked(file: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    let text = read(file)?;
    let lists = CertificateRevocationListDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    let lists = lists.map_err(|e| pem(file, &e))?;
    if lists.is_empty() {
        return Err(lacks(file, &text, "list of revoked certificates", "X509 CRL"));
    }
    Ok(lists)
}

/// Why the file of a key is not as it should be, if it is not.
pub fn is_open_to_all(file: &Path) -> Option<String> {
    let mode = fs::metadata(file).ok()?.permissions().mode();
    let name = file.display();
    (mode & READ_BY_ALL != 0).then(|| {
        format!("{name}: everybody on this machine can read the key (mode {:04o}): `chmod o= {name}`", mode & 0o7777)
    })
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
    let found = fs::metadata(file).map_err(|e| failed(&e))?;
    if !found.is_file() {
        // a device or a pipe may have no end
        return Err(failed(&"it is not a file"));
    }
    if found.len() > LONGEST {
        return Err(failed(&"it is too long for certificates and keys"));
    }
    fs::read(file).map_err(|e| failed(&e))
}

fn pem(file: &Path, e: &PemError) -> String {
    format!("{}: it is no sound PEM file: {e:?}", file.display())
}

/// What a file has instead of what was looked for.
fn lacks(file: &Path, text: &[u8], what: &str, label: &str) -> String {
    const OTHERS: [(&str, &str); 6] = [
        ("PRIVATE KEY-----", "a private key"),
        ("BEGIN CERTIFICATE REQUEST", "a request for a certificate"),
        ("BEGIN CERTIFICATE", "a certificate"),
        ("BEGIN X509 CRL", "a list of revoked certificates"),
        ("BEGIN PUBLIC KEY", "a public key"),
        ("-----BEGIN ", "something else"),
    ];
    let has = match OTHERS.iter().find(|(mark, _)| contains(text, mark)) {
        Some((_, has)) => format!("it holds {has}"),
        None if text.starts_with(&[0x30]) => "it is in DER: `openssl x509 -inform der` or `openssl pkey -inform der` \
                                              writes PEM"
            .to_owned(),
        None => "it is no PEM file".to_owned(),
    };
    format!("{}: there is no {what} in it (-----BEGIN {label}-----): {has}", file.display())
}

fn contains(text: &[u8], mark: &str) -> bool {
    memchr::memmem::find(text, mark.as_bytes()).is_some()
}
