//! TLS as the program is told of it: settings that begin with `tls_`, and a certificate for development, which is made
//! when there is none. Neighbours: `options`, `serve`.

use crate::exit::{Code, Error};
use crate::given::{Given, Origin};
use crate::table::settings;
use engine::{self_signed, SelfSigned, TlsSettings};
use std::env;
use std::path::{Path, PathBuf};
use toml::Table;

const PREFIX: &str = "tls_";

/// The settings as the engine has them, if connections are to begin with TLS.
///
/// # Errors
/// When some of them mean nothing without others.
pub(crate) fn fields(given: &Given) -> Result<Option<Table>, String> {
    let has_cert = given.origin("tls_cert") != Origin::Default;
    match (has_cert, is_for_development(given)) {
        (true, true) => return Err("tls_dev: it makes a certificate itself, and there is one: tls_cert".to_owned()),
        (false, false) => {
            let lonely = settings().iter().find(|setting| {
                setting.group == "tls" && setting.name != "tls_dev" && given.origin(setting.name) != Origin::Default
            });
            return match lonely {
                Some(setting) => Err(format!("{}: it needs tls_cert, the certificate of the server", setting.name)),
                None => Ok(None),
            };
        }
        _ => {}
    }
    let mut fields = given.fields(&["tls"]);
    fields.remove("tls_dev");
    Ok(Some(fields.into_iter().map(|(name, value)| (name[PREFIX.len()..].to_owned(), value)).collect()))
}

/// Whether a certificate for development was asked for.
pub(crate) fn is_for_development(given: &Given) -> bool {
    given.flag("tls_dev")
}

/// Puts the certificate for development in.
///
/// # Errors
/// When it cannot be made.
pub(crate) fn add_certificate(tls: &mut TlsSettings) -> Result<SelfSigned, Error> {
    let folder =
        cache().ok_or_else(|| Error::new(Code::System, "tls_dev: there is no HOME to keep a certificate in"))?;
    let files = self_signed(&folder).map_err(|e| {
        Error::new(Code::System, format!("tls_dev: no certificate can be made in {}: {e}", folder.display()))
    })?;
    tls.cert = vec![files.cert.clone()];
    tls.key = vec![files.key.clone()];
    Ok(files)
}

/// The same folder as that of `dr_tls_self_signed()`: `tools::R_user_dir("drover", "cache")`, and `tls` in it.
fn cache() -> Option<PathBuf> {
    let of = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = of("R_USER_CACHE_DIR").or_else(|| of("XDG_CACHE_HOME"));
    let base = base.or_else(|| Some(of("HOME")?.join(if cfg!(target_os = "macos") { MACOS } else { ".cache" })))?;
    Some(base.join(Path::new("R/drover/tls")))
}

const MACOS: &str = "Library/Caches/org.R-project.R";

#[cfg(test)]
mod tests {
    use super::*;
    use toml::Value;

    #[test]
    fn settings_that_mean_nothing_alone_are_an_error() {
        let given = |values: &[(&'static str, Value)]| {
            let mut given = Given::default();
            values.iter().for_each(|(name, value)| given.set(name, value.clone(), Origin::Flag));
            fields(&given)
        };
        let file = || Value::Array(vec![Value::String("a".to_owned())]);
        assert_eq!(given(&[]), Ok(None));
        assert_eq!(given(&[("tls_cert", file())]).unwrap().unwrap()["cert"], file());
        assert!(given(&[("tls_dev", Value::Boolean(true))]).unwrap().unwrap().is_empty());
        assert!(given(&[("tls_key", file())]).unwrap_err().starts_with("tls_key: it needs tls_cert"));
        assert!(given(&[("tls_cert", file()), ("tls_dev", Value::Boolean(true))])
            .unwrap_err()
            .starts_with("tls_dev: "));
    }
}
