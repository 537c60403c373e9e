//! Pages of the server itself that were built with npm (`web/` in the repository), as they lie in the installed
//! package: a folder for each page, with its files and `policy.txt`, its `Content-Security-Policy`.
//!
//! They are read once, when the server starts. Not for building them: tools/web.sh. Neighbours: `dashboard`, which has
//! one; `pipeline/internal`, which has the paths.

use crate::assets::media_type;
use crate::respond::{text, unstored_as};
use bytes::Bytes;
use http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_FRAME_OPTIONS};
use http::{HeaderName, HeaderValue, StatusCode};
use httpd::Response;
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

/// A page with its files, or why there is none.
#[derive(Debug)]
pub struct WebPage(Result<Built, String>);

#[derive(Debug)]
struct Built {
    files: HashMap<String, (HeaderValue, Bytes)>,
    policy: HeaderValue,
}

impl WebPage {
    /// The page of this name below the folder that the settings name.
    pub fn read(web: Option<&Path>, name: &str) -> Self {
        WebPage(built(web, name).map_err(|why| format!("this page is not here: {why}\n")))
    }

    /// One of its files, or the page itself where the name is empty: 404 where there is none, with the reason.
    pub fn answer(&self, name: &str) -> Response {
        let built = match &self.0 {
            Ok(built) => built,
            Err(why) => return text(StatusCode::NOT_FOUND, why.clone()),
        };
        let name = if name.is_empty() { INDEX } else { name };
        let Some((kind, file)) = built.files.get(name) else {
            return text(StatusCode::NOT_FOUND, "there is no such file\n");
        };
        let mut response = unstored_as(StatusCode::OK, kind, file.clone());
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
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != POLICY {
            files.insert(name.clone(), (media_type::of(&name).header, fs::read(entry.path())?.into()));
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

    fn body(page: &WebPage, name: &str) -> (StatusCode, String) {
        let mut response = page.answer(name);
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
        let response = page.answer("");
        let field = |name| response.fields.get(name).map(<[u8]>::to_vec);
        assert_eq!(field(&CONTENT_SECURITY_POLICY).unwrap(), b"default-src 'none'");
        assert_eq!(field(&CONTENT_TYPE).unwrap(), b"text/html; charset=utf-8");
        assert_eq!(field(&X_FRAME_OPTIONS).unwrap(), b"DENY");
        assert_eq!(page.answer("a.js").fields.get(&CONTENT_TYPE).unwrap(), b"text/javascript; charset=utf-8");
        for other in [POLICY, "b.js", "../dashboard/a.js"] {
            assert_eq!(page.answer(other).status, StatusCode::NOT_FOUND, "{other}");
        }
    }

    #[test]
    fn where_it_was_not_built_the_answer_says_why() {
        let web = tempfile::tempdir().unwrap();
        let said = |web| body(&WebPage::read(web, "dashboard"), "");
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
