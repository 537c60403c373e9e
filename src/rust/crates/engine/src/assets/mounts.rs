//! Directories served under a mount: which one a path is in, and what lies there.

use super::deliver::{deliver, refusal, response, AssetBody};
use super::path::{target, Target, INDEX};
use super::root::{Opened, Root};
use super::whole::WholeFiles;
use super::{encoding, media_type};
use http::header::{ALLOW, CONTENT_ENCODING, CONTENT_TYPE, LOCATION, VARY};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use httpd::Fields;
use router::Pattern;
use std::cmp::Reverse;
use std::io;
use std::path::Path;

/// What files answer to. `OPTIONS` is answered here too.
const METHODS: &str = "GET, HEAD, OPTIONS";

/// All directories that are served.
pub struct Mounts {
    /// those with more segments first, so that the closest one covers a path; then in the order given
    mounts: Vec<Mount>,
    /// in the order given; after all others
    whole: Vec<WholeFiles>,
}

/// A directory that is to be served.
pub struct Folder {
    /// where, a pattern
    pub mount: String,
    /// which
    pub directory: String,
    /// whether links are followed that lead out of it
    pub links: bool,
}

impl From<(String, String)> for Folder {
    fn from((mount, directory): (String, String)) -> Self {
        Folder { mount, directory, links: false }
    }
}

struct Mount {
    /// none for the mount at `/`
    prefix: Option<Pattern>,
    root: Root,
}

impl Mounts {
    /// Opens every directory, given as a [`Folder`] or as its mount and its path. A mount is a pattern (`/assets`,
    /// `/t/<tenant>/assets`; a slash at its end is ignored); its literals match in their own case, as the names of
    /// files do.
    ///
    /// An error, which names the mount, when it is no pattern or its directory cannot be opened.
    pub fn new(folders: Vec<impl Into<Folder>>) -> io::Result<Mounts> {
        let mut folders: Vec<Folder> = folders.into_iter().map(Into::into).collect();
        folders.sort_by_key(|folder| Reverse(folder.mount.trim_end_matches('/').matches('/').count()));
        let mounts = folders.iter().map(Mount::new).collect::<io::Result<_>>()?;
        Ok(Mounts { mounts, whole: Vec::new() })
    }

    /// The same, and then these.
    pub fn and_whole(self, whole: Vec<WholeFiles>) -> Mounts {
        Mounts { whole, ..self }
    }

    /// The answer to a request for `raw_path` (as sent, without the query), or `None` when no mount covers it.
    ///
    /// Statuses of 400 and above are [`AssetBody::Refused`]. An error when the server is at fault, such as no
    /// descriptors left.
    pub fn respond(
        &self,
        method: &Method,
        raw_path: &str,
        headers: &Fields,
    ) -> Option<io::Result<Response<AssetBody>>> {
        let closest = self.mounts.iter().find_map(|mount| Some((mount, mount.rest(raw_path)?)));
        let Some((mount, rest)) = closest else {
            return self.whole.iter().find_map(|folder| folder.respond(method, raw_path).transpose());
        };
        let allow = || HeaderMap::from_iter([(ALLOW, HeaderValue::from_static(METHODS))]);
        Some(match *method {
            Method::GET | Method::HEAD => mount.serve(method, raw_path, rest, headers),
            Method::OPTIONS => Ok(response(StatusCode::NO_CONTENT, allow(), AssetBody::Empty)),
            _ => Ok(refusal(StatusCode::METHOD_NOT_ALLOWED, allow())),
        })
    }
}

impl Mount {
    fn new(Folder { mount, directory, links }: &Folder) -> io::Result<Mount> {
        let prefix = match mount.trim_end_matches('/') {
            "" => None,
            prefix => Some(Pattern::parse(prefix).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?),
        };
        let root = Root::new(Path::new(directory)).map_err(|error| {
            io::Error::new(error.kind(), format!("static directory '{directory}' of mount '{mount}': {error}"))
        })?;
        Ok(Mount { prefix, root: if *links { root.with_links() } else { root } })
    }

    /// What follows this mount in `raw_path`: nothing, or a part that starts with `/`. `None` when the mount does not
    /// cover it.
    fn rest<'p>(&self, raw_path: &'p str) -> Option<&'p str> {
        match &self.prefix {
            Some(prefix) => prefix.strip(raw_path),
            None => raw_path.starts_with('/').then_some(raw_path),
        }
    }

    fn serve(&self, method: &Method, raw_path: &str, rest: &str, request: &Fields) -> io::Result<Response<AssetBody>> {
        let (path, redirect) = match target(rest) {
            Ok(Target::Named(path)) => (path, true),
            Ok(Target::Index(path)) => (path.into(), false),
            Err(status) => return Ok(refusal(status, HeaderMap::new())),
        };
        match self.root.open(&path)? {
            Some(opened) if opened.is_file() => self.deliver(opened, &path, method, request),
            Some(opened) if redirect && opened.is_directory() => self.redirect(&path, raw_path),
            _ => Ok(not_found()),
        }
    }

    /// A directory asked for without its slash: relative links in its index would be off by one segment. The way there
    /// is relative too: right behind a proxy that changes paths, and never to another host, as one that starts with two
    /// slashes would be.
    fn redirect(&self, path: &str, raw_path: &str) -> io::Result<Response<AssetBody>> {
        let index = self.root.open(&format!("{path}/{INDEX}"))?;
        let last = raw_path.rsplit('/').next().unwrap_or_default();
        let location = HeaderValue::try_from(format!("./{last}/"));
        match (index, location) {
            (Some(index), Ok(location)) if index.is_file() => {
                let headers = HeaderMap::from_iter([(LOCATION, location)]);
                Ok(response(StatusCode::MOVED_PERMANENTLY, headers, AssetBody::Empty))
            }
            _ => Ok(not_found()),
        }
    }

    fn deliver(&self, plain: Opened, path: &str, method: &Method, request: &Fields) -> io::Result<Response<AssetBody>> {
        let media_type = media_type::of(path);
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(CONTENT_TYPE, media_type.header);
        let mut chosen = plain;
        if media_type.compressible {
            headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
            for coding in encoding::accepted(request) {
                let sibling = self.root.open(&format!("{path}{}", encoding::suffix(coding)))?;
                // one older than the original was made from another version of it
                if let Some(sibling) =
                    sibling.filter(|sibling| sibling.is_file() && sibling.modified() >= chosen.modified())
                {
                    headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
                    chosen = sibling;
                    break;
                }
            }
        }
        deliver(chosen, StatusCode::OK, headers, method, request)
    }
}

fn not_found() -> Response<AssetBody> {
    refusal(StatusCode::NOT_FOUND, HeaderMap::new())
}
