//! Folders of a router of plumber, answered as plumber does: whole files, without validators, ranges and conditions,
//! and with types by a table of its own. What is anything else (a folder, a hidden or missing file, another method) is
//! `None`: then the router answers in R. Neighbour: `mounts`, the folders of `dr_static()`, which go before these.

use super::deliver::{body, response, AssetBody};
use super::path::{target, Target, INDEX};
use super::root::{Opened, Root};
use super::validators::Validators;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::read_link;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A folder and the beginning of the paths below which it is served.
pub struct WholeFiles {
    prefix: String,
    directory: PathBuf,
    types: BTreeMap<String, HeaderValue>,
}

impl WholeFiles {
    /// `types`: of contents, by the ending of a name in lower case.
    ///
    /// # Errors
    /// When a type cannot stand in a header.
    pub fn new(mount: &str, directory: &str, types: &BTreeMap<String, String>) -> io::Result<Self> {
        let header = |value: &String| HeaderValue::try_from(value).map_err(io::Error::other);
        let types = types.iter().map(|(ending, value)| Ok((ending.clone(), header(value)?)));
        Ok(WholeFiles {
            prefix: mount.trim_end_matches('/').to_owned(),
            directory: directory.into(),
            types: types.collect::<io::Result<_>>()?,
        })
    }

    /// The answer to a request for `raw_path`, as it was sent, without the query.
    ///
    /// # Errors
    /// When the server is at fault, such as no descriptors left.
    pub fn respond(&self, method: &Method, raw_path: &str) -> io::Result<Option<Response<AssetBody>>> {
        if *method != Method::GET && *method != Method::HEAD {
            return Ok(None);
        }
        let Some(rest) = raw_path.strip_prefix(&self.prefix).filter(|rest| rest.starts_with('/')) else {
            return Ok(None);
        };
        let path = match target(rest) {
            Ok(Target::Named(path)) => path,
            // of the folder itself only
            Ok(Target::Index(_)) if rest == "/" => Cow::Borrowed(INDEX),
            _ => return Ok(None),
        };
        // plumber looks for the folder anew each time
        let Ok(root) = Root::new(&self.directory) else { return Ok(None) };
        match root.open(&path)? {
            Some(opened) if opened.is_file() => self.deliver(opened, method),
            _ => Ok(None),
        }
    }

    fn deliver(&self, opened: Opened, method: &Method) -> io::Result<Option<Response<AssetBody>>> {
        // its own name, not that of a link to it
        let Ok(path) = read_link(format!("/proc/self/fd/{}", opened.fd.as_raw_fd())) else { return Ok(None) };
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(CONTENT_TYPE, self.type_of(&path));
        Validators::new(&opened, &headers, SystemTime::now()).write(&mut headers);
        headers.remove(ETAG);
        // plumber sends times before 1970, and those to come
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        if !(0..=now as i64).contains(&opened.modified().0) {
            return Ok(None);
        }
        let size = opened.size();
        if *method == Method::HEAD {
            headers.insert(CONTENT_LENGTH, size.into());
            return Ok(Some(response(StatusCode::OK, headers, AssetBody::Empty)));
        }
        Ok(Some(response(StatusCode::OK, headers, body(opened, 0..size)?)))
    }

    fn type_of(&self, path: &Path) -> HeaderValue {
        let known = ending(&path.to_string_lossy()).and_then(|ending| self.types.get(&ending));
        known.cloned().unwrap_or(HeaderValue::from_static("application/octet-stream"))
    }
}

/// As R's `tools::file_ext()` has it, in lower case.
fn ending(path: &str) -> Option<String> {
    let (_, ending) = path.rsplit_once('.')?;
    ending.chars().all(char::is_alphanumeric).then(|| ending.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::LAST_MODIFIED;
    use std::fs::{create_dir, write};
    use std::os::unix::fs::symlink;

    #[test]
    fn endings_are_those_of_r() {
        for (path, expected) in [
            ("/a/b.CSS", Some("css")),
            ("/a/b.tar.gz", Some("gz")),
            ("/a/b", None),
            ("/a/b..css", Some("css")),
            ("/b.c++", None),
        ] {
            assert_eq!(ending(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn only_plain_files_are_answered() {
        let top = tempfile::tempdir().unwrap();
        let root = top.path().join("root");
        create_dir(&root).unwrap();
        create_dir(root.join("d")).unwrap();
        for (name, text) in
            [("a.css", "a"), ("index.html", "index"), (".hidden", "no"), ("d/index.html", "no"), ("é b.css", "e")]
        {
            write(root.join(name), text).unwrap();
        }
        write(top.path().join("secret"), "no").unwrap();
        symlink("../secret", root.join("outside")).unwrap();
        symlink("a.css", root.join("link.txt")).unwrap();
        let types = BTreeMap::from([("css".to_owned(), "text/css".to_owned()), ("txt".to_owned(), "no".to_owned())]);
        let folder = WholeFiles::new("/files/", root.to_str().unwrap(), &types).unwrap();
        let type_of = |method: Method, path: &str| {
            let answer = folder.respond(&method, path).unwrap()?;
            assert!(answer.headers().contains_key(LAST_MODIFIED) && !answer.headers().contains_key(ETAG));
            Some(answer.headers()[CONTENT_TYPE].to_str().unwrap().to_owned())
        };
        for path in ["/files/a.css", "/files/%61.css", "/files/%C3%A9%20b.css", "/files/link.txt"] {
            assert_eq!(type_of(Method::GET, path).as_deref(), Some("text/css"), "{path}");
        }
        assert_eq!(type_of(Method::HEAD, "/files/").as_deref(), Some("application/octet-stream"));
        for path in [
            "/files",
            "/files/d",
            "/files/d/",
            "/files/none",
            "/files/.hidden",
            "/files/outside",
            "/files/../secret",
            "/files/%2e%2e/secret",
            "/files//a.css",
            "/files/%",
            "/Files/a.css",
            "/%66iles/a.css",
            "/filesa.css",
        ] {
            assert_eq!(type_of(Method::GET, path), None, "{path}");
        }
        assert_eq!(type_of(Method::POST, "/files/a.css"), None);
    }
}
