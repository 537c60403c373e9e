//! Files that are packed ahead of time, beside the ones that they are of, for R/command-compress.R. Neighbours:
//! `coding` (which packs), `engine`'s assets (which send them).

use crate::node::Str;
use crate::shield::{shield, Error};
use coding::{smallest, Coding};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Packs the file `from` into `to`, in its place if there is one, with the same permissions. The size of what was
/// written in bytes; 0 when it would not be smaller: then there is no `to` afterwards; -1, and an error, when it cannot
/// be done.
///
/// # Safety
/// C lends the texts for the call; `error` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_file_pack(from: Str, encoding: Str, to: Str, error: *mut Error) -> f64 {
    // SAFETY: C lends the texts for the call.
    let [from, encoding, to] = unsafe { [from.as_bytes(), encoding.as_bytes(), to.as_bytes()] };
    let path = |bytes| Path::new(OsStr::from_bytes(bytes));
    match shield(Err("the engine failed".to_owned()), || pack(path(from), encoding, path(to))) {
        Ok(size) => size as f64,
        Err(e) => {
            // SAFETY: the caller's.
            unsafe { Error::put(error, 0, e) };
            -1.0
        }
    }
}

fn pack(from: &Path, encoding: &[u8], to: &Path) -> Result<usize, String> {
    let coding = std::str::from_utf8(encoding).ok().and_then(Coding::named).ok_or("no such encoding")?;
    let says = |e: io::Error, path: &Path| format!("{}: {e}", path.display());
    let bytes = fs::read(from).map_err(|e| says(e, from))?;
    match smallest(&bytes, coding) {
        Some(packed) => write(&packed, from, to).map(|()| packed.len()).map_err(|e| says(e, to)),
        None => match fs::remove_file(to) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(says(e, to)),
            _ => Ok(0),
        },
    }
}

/// Whoever is sent the file meanwhile gets the old one or the new one.
fn write(packed: &[u8], from: &Path, to: &Path) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(to.parent().unwrap_or(Path::new(".")))?;
    file.write_all(packed)?;
    file.as_file().set_permissions(fs::metadata(from)?.permissions())?;
    file.persist(to)?;
    Ok(())
}
