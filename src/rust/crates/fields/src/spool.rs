//! Temporary files that hold what is too big for memory, and go when their owner does.
//!
//! Not for whole bodies (the engine spools those while they arrive).

use std::io::{self, Write};
use std::path::Path;

use crate::error::{FieldError, FieldErrorKind};

/// A private file (mode 0600, a name that cannot be guessed), removed when dropped.
#[derive(Debug)]
pub struct SpooledFile(tempfile::TempPath);

impl SpooledFile {
    /// Writes `content` to a new file in `dir`, which must exist.
    ///
    /// # Errors
    /// `DiskFull` (status 507) or `Spool` (500); nothing is left behind.
    pub fn write(dir: &Path, content: &[u8]) -> Result<Self, FieldError> {
        let write = || {
            // by the process id the server finds what is left when this process is killed
            let prefix = format!("drover-upload-{}-", std::process::id());
            let mut file = tempfile::Builder::new().prefix(&prefix).tempfile_in(dir)?;
            file.write_all(content)?;
            Ok(SpooledFile(file.into_temp_path()))
        };
        write().map_err(|error: io::Error| {
            let kind = match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FieldErrorKind::DiskFull,
                _ => FieldErrorKind::Spool,
            };
            // the kind only: the error itself would name the server's directory
            FieldError::new(kind, format!("an uploaded file cannot be written to disk: {}", error.kind()))
        })
    }

    /// Where the file is, as long as this value lives.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn files_are_private_and_go_with_their_owner() {
        let dir = tempfile::tempdir().unwrap();
        let file = SpooledFile::write(dir.path(), b"content").unwrap();
        let path = file.path().to_owned();
        assert_eq!(std::fs::read(&path).unwrap(), b"content");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn failures_do_not_name_the_directory() {
        let error = SpooledFile::write(Path::new("/nonexistent/spool"), b"x").unwrap_err();
        assert_eq!(error.status(), 500);
        assert!(!error.message().contains("nonexistent"));
    }

    #[test]
    fn a_full_disk_is_507() {
        assert_eq!(FieldError::new(FieldErrorKind::DiskFull, "").status(), 507);
    }
}
