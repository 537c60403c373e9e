//! Pages of the server itself that were built with npm (`web/` in the repository), as they lie in the installed
//! package: a folder for each page, with its files and `policy.txt`, its `Content-Security-Policy`. A file may be there
//! packed only, as `main.js.gz`: it is kept and sent so, and unpacked for a client that does not accept it.
//!
//! They are read once. Not for building them: tools/web.sh. Neighbours: `dashboard` and `docs`, which have one each;
//! `pipeline/internal`, which has the paths.

use crate::assets::media_type;
use crate::respond::{text, unstored_as};
use bytes::Bytes;
use coding::{accepted, unpack, Coding};
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, REFERRER_POLICY, VARY, X_FRAME_OPTIONS,
};
use http::{HeaderName, HeaderValue, StatusCode};
use httpd::{Head, Response};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

/// What is answered for the path of the page itself.
const INDEX: &str = "index.html";
/// Has the policy.
const POLICY: &str = "policy.txt";
/// Says why nothing was built.
const MISSING: &str = "missing.txt";
/// What the name of a file ends with that is packed.
const PACKED: &str = ".gz";

/// A page with its files, or why there is none.
#[derive(Debug)]
pub struct WebPage(Result<Built, String>);

#[derive(Debug)]
struct Built {
    files: HashMap<String, File>,
    policy: HeaderValue,
}

#[derive(Debug)]
struct File {
    kind: HeaderValue,
    bytes: Bytes,
    is_packed: bool,
}

impl WebPage {
    /// The page of this name below the folder that the settings name.
    pub fn read(web: Option<&Path>, name: &str) -> Self {
        WebPage(built(web, name).map_err(|why| format!("this page is not here: {why}\n")))
    }

    /// One of its files, or the page itself where the name is empty: 404 where there is none, with the reason.
    pub fn answer(&self, name: &str, head: &Head) -> Response {
        let built = match &self.0 {
            Ok(built) => built,
            Err(why) => return text(StatusCode::NOT_FOUND, why.clone()),
        };
        let name = if name.is_empty() { INDEX } else { name };
        let Some(file) = built.files.get(name) else {
            return text(StatusCode::NOT_FOUND, "there is no such file\n");
        };
        let mut response = file.answer(head);
        for (field, value) in [
            (&CONTENT_SECURITY_POLICY, &built.policy),
            (&X_FRAME_OPTIONS, &HeaderValue::from_static("DENY")),
            (&REFERRER_POLICY, &HeaderValue::from_static("no-referrer")),
            (&HeaderName::from_static("cross-origin-resource-policy"), &HeaderValue::from_static("same-origin")),
            (&HeaderName::from_static("cross-origin-opener-policy"), &HeaderValue::from_static("same-origin")),
        ] {
            response.fields.set(field, value);
        }
        response
    }
}

impl File {
    fn answer(&self, head: &Head) -> Response {
        if !self.is_packed {
            return unstored_as(StatusCode::OK, &self.kind, self.bytes.clone());
        }
        let takes_it = !accepted(head.fields.all(&ACCEPT_ENCODING), &[Coding::Gzip]).is_empty();
        let bytes = if takes_it { Ok(self.bytes.clone()) } else { unpack(&self.bytes, Coding::Gzip).map(Bytes::from) };
        let Ok(bytes) = bytes else {
            return text(StatusCode::INTERNAL_SERVER_ERROR, "this file of the package is damaged\n");
        };
        let mut response = unstored_as(StatusCode::OK, &self.kind, bytes);
        if takes_it {
            response.fields.set(&CONTENT_ENCODING, Coding::Gzip.name());
        }
        response.fields.set_in_list(&VARY, ACCEPT_ENCODING.as_str());
        response
    }
}

fn built(web: Option<&Path>, name: &str) -> Result<Built, String> {
    let web = web.ok_or("the server does not run from an installed package")?;
    if let Ok(why) = fs::read_to_string(web.join(MISSING)) {
        return Err(why.trim_end().to_owned());
    }
    read(&web.join(name)).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => {
            "the package was built without it; build it with tools/install.sh, which calls npm".to_owned()
        }
        _ => format!("it cannot be read: {e}"),
    })
}

fn read(folder: &Path) -> io::Result<Built> {
    let mut files = HashMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let stored = entry.file_name().to_string_lossy().into_owned();
        let name = stored.strip_suffix(PACKED).unwrap_or(&stored);
        if name != POLICY {
            let (kind, bytes) = (media_type::of(name).header, fs::read(entry.path())?.into());
            files.insert(name.to_owned(), File { kind, bytes, is_packed: name != stored });
        }
    }
    let policy = fs::read(folder.join(POLICY))?;
    let policy = HeaderValue::from_bytes(policy.trim_ascii()).map_err(io::Error::other)?;
    Ok(Built { files, policy })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::CONTENT_TYPE;

    /// Of a client that accepts these codings.
    fn head(codings: &str) -> Head {
        let request = http::Request::get("/").header(ACCEPT_ENCODING, codings).body(()).unwrap();
        Head::from_http2(&request.into_parts().0)
    }

    fn body(page: &WebPage, name: &str, codings: &str) -> (StatusCode, String) {
        let mut response = page.answer(name, &head(codings));
        let body = response.body.take_bytes().unwrap();
        (response.status, String::from_utf8_lossy(&body).into_owned())
    }

    #[test]
    fn a_page_is_its_files_and_comes_with_its_policy() {
        let web = tempfile::tempdir().unwrap();
        let folder = web.path().join("dashboard");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(INDEX), "<!doctype html>").unwrap();
        fs::write(folder.join("a.js"), "1").unwrap();
        fs::write(folder.join(POLICY), "default-src 'none'\n").unwrap();
        let page = WebPage::read(Some(web.path()), "dashboard");
        let head = head("gzip");
        let response = page.answer("", &head);
        let field = |name| response.fields.get(name).map(<[u8]>::to_vec);
        assert_eq!(field(&CONTENT_SECURITY_POLICY).unwrap(), b"default-src 'none'");
        assert_eq!(field(&CONTENT_TYPE).unwrap(), b"text/html; charset=utf-8");
        assert_eq!(field(&X_FRAME_OPTIONS).unwrap(), b"DENY");
        assert_eq!(page.answer("a.js", &head).fields.get(&CONTENT_TYPE).unwrap(), b"text/javascript; charset=utf-8");
        for other in [POLICY, "b.js", "../dashboard/a.js"] {
            assert_eq!(page.answer(other, &head).status, StatusCode::NOT_FOUND, "{other}");
        }
    }

    #[test]
    fn what_is_packed_is_sent_so_to_those_that_accept_it_and_unpacked_for_others() {
        let web = tempfile::tempdir().unwrap();
        let folder = web.path().join("docs");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(POLICY), "default-src 'self'").unwrap();
        let script = "let a = 1;".repeat(100);
        coding::pack(script.as_bytes(), Coding::Gzip, 6, |packed| {
            fs::write(folder.join("main.js.gz"), packed).unwrap()
        });
        fs::write(folder.join("torn.js.gz"), "\x1f").unwrap();
        let page = WebPage::read(Some(web.path()), "docs");
        let response = page.answer("main.js", &head("br, gzip"));
        assert_eq!(response.fields.get(&CONTENT_ENCODING), Some(&b"gzip"[..]));
        assert_eq!(response.fields.get(&VARY), Some(&b"accept-encoding"[..]));
        assert_eq!(response.fields.get(&CONTENT_TYPE).unwrap(), b"text/javascript; charset=utf-8");
        let plain = page.answer("main.js", &head("br"));
        assert_eq!(plain.fields.get(&CONTENT_ENCODING), None);
        assert_eq!(plain.fields.get(&VARY), Some(&b"accept-encoding"[..]));
        assert_eq!(body(&page, "main.js", "gzip;q=0"), (StatusCode::OK, script));
        assert_eq!(body(&page, "main.js.gz", "gzip").0, StatusCode::NOT_FOUND);
        assert_eq!(body(&page, "torn.js", "").0, StatusCode::INTERNAL_SERVER_ERROR);
    }

    #[test]
    fn where_it_was_not_built_the_answer_says_why() {
        let web = tempfile::tempdir().unwrap();
        let said = |web| body(&WebPage::read(web, "dashboard"), "", "");
        assert_eq!(
            said(None),
            (
                StatusCode::NOT_FOUND,
                "this page is not here: the server does not run from an installed package\n".into()
            )
        );
        assert!(said(Some(web.path())).1.contains("tools/install.sh"));
        fs::write(web.path().join(MISSING), "npm was not found\n").unwrap();
        assert_eq!(said(Some(web.path())).1, "this page is not here: npm was not found\n");
    }
}
