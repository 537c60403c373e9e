//! Files of secrets, which the server reads and R does not.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Longest file of secrets, in bytes: a longer one has been named by mistake.
const LONGEST: u64 = 4 << 20;

/// What is in a file of secrets. It is not shown.
pub struct Secrets(pub Vec<u8>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

/// Reads a file.
///
/// # Errors
/// A text that names it and says why it cannot be read.
pub fn read_secrets(path: &Path) -> Result<Secrets, String> {
    let failed = |why: &dyn fmt::Display| format!("{}: {why}", path.display());
    let file = File::open(path).map_err(|e| failed(&e))?;
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|e| failed(&e))?;
    if bytes.len() as u64 > LONGEST {
        return Err(failed(&format_args!("it has more than {LONGEST} bytes")));
    }
    Ok(Secrets(bytes))
}

/// The same, of a text.
pub(in crate::edge) fn read_text(path: &Path) -> Result<String, String> {
    let Secrets(bytes) = read_secrets(path)?;
    String::from_utf8(bytes).map_err(|_| format!("{}: it is no UTF-8 text", path.display()))
}

/// Keys that seal cookies, the newest first: these, and those in the lines of a file.
///
/// # Errors
/// A text that names the file and says why it cannot be read.
pub(in crate::edge) fn read_keys(own: &[String], file: Option<&Path>) -> Result<Vec<Vec<u8>>, String> {
    let text = file.map(read_text).transpose()?.unwrap_or_default();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(own.iter().map(String::as_str).chain(lines).map(|key| key.as_bytes().to_vec()).collect())
}
