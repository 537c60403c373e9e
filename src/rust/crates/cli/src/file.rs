//! The settings file, in TOML: `drover.toml` beside the app's file, or another that the program is told of. Its keys
//! are the names of settings, at the top or in the table of their group, see `said`. `apps` reads the tables of several
//! apps, `policies` those that are for R. Errors name file, line and key.

use crate::apps::{self, AppTable};
use crate::policies::in_order;
use crate::said::{Reader, Said};
use crate::table::find;
use rustix::process::geteuid;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use toml::de::DeTable;

/// The name of the file beside that of the app.
pub(crate) const NAME: &str = "drover.toml";

/// What a settings file says.
#[derive(Debug, Default)]
pub(crate) struct File {
    /// where it is, if there is one
    pub(crate) path: Option<PathBuf>,
    /// what is at its top
    pub(crate) said: Said,
    /// several apps, if it has some
    pub(crate) apps: Vec<AppTable>,
}

/// Reads the file that was named, or else the one beside the app's file, or in its folder, if there is one.
///
/// # Errors
/// With file, line, key, and what would be right.
pub(crate) fn read(named: Option<&Path>, app: &Path) -> Result<File, String> {
    let path = path_of(named, app);
    // a device or a pipe may have no end
    if let Ok(found) = fs::metadata(&path) {
        if !found.is_file() {
            return Err(format!("cannot read {}: not a file", path.display()));
        }
        is_trusted(&found, named.is_some(), app).map_err(|why| format!("{}: {why}", path.display()))?;
    }
    match fs::read_to_string(&path) {
        Ok(text) => Ok(File { path: Some(path.clone()), ..parse(&text, &path.display().to_string())? }),
        Err(e) if e.kind() == ErrorKind::NotFound && named.is_none() => Ok(File::default()),
        Err(e) => Err(format!("cannot read {}: {e}", path.display())),
    }
}

/// Settings say where the server listens, what it reveals and which files it writes, with its user's rights: so only
/// that user, root and the owner of the app may have written them.
fn is_trusted(found: &Metadata, is_named: bool, app: &Path) -> Result<(), String> {
    if found.mode() & 0o002 != 0 {
        return Err("not read, as everybody may write it: chmod o-w takes that from them".to_owned());
    }
    let owner = found.uid();
    let of_app = fs::metadata(app).map(|app| app.uid()).ok();
    if is_named || owner == geteuid().as_raw() || owner == 0 || Some(owner) == of_app {
        return Ok(());
    }
    Err(format!(
        "not read, as it belongs to user {owner}, who is neither you nor the owner of the app; --config reads it all the \
         same"
    ))
}

/// Where the file is, or would be.
pub(crate) fn path_of(named: Option<&Path>, app: &Path) -> PathBuf {
    let beside = || if app.is_dir() { app.join(NAME) } else { app.with_file_name(NAME) };
    named.map_or_else(beside, Path::to_owned)
}

fn parse(text: &str, name: &str) -> Result<File, String> {
    let at = |offset: usize| format!("{name}:{}", text[..offset].matches('\n').count() + 1);
    let document = DeTable::parse(text).map_err(|e| {
        let Some(start) = e.span().map(|span| span.start) else { return format!("{name}: {}", e.message()) };
        let line = text[..start].matches('\n').count();
        let unquoted = text.lines().nth(line).and_then(unquoted);
        format!("{}: {}", at(start), unquoted.as_deref().unwrap_or(e.message()))
    })?;
    let mut reader = Reader { at, said: Said::default(), of_app: false };
    let mut several = Vec::new();
    for (key, value) in in_order(document.get_ref()) {
        if key.get_ref() == apps::KEY {
            several = apps::read(value, at)?;
            continue;
        }
        reader.take_entry(key, value)?;
    }
    Ok(File { path: None, said: reader.said, apps: several })
}

/// What to write in the place of a line such as `workers = 2-8` or `max_body = 10MB`, whose value is right but for its
/// quotes.
fn unquoted(line: &str) -> Option<String> {
    let (key, value) = line.split_once('=')?;
    let (key, value) = (key.trim(), value.split('#').next().unwrap_or_default().trim());
    let setting = find(key).or_else(|| find(&format!("tls_{key}")))?;
    let is_bare = !value.is_empty() && !value.contains(['"', '\'', '[', '{']);
    (is_bare && setting.kind.read(value).is_ok()).then(|| format!("quote the value: {key} = \"{value}\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::Value;

    #[test]
    fn keys_stand_at_the_top_or_in_the_table_of_their_group() {
        let text = "port = 80\ndebug = true\ndocs = false\nworkers = [2, 8]\nmax_body = \"10MB\"\n\
                    response_headers = [\"a: 1, 2\", \"b: 3\"]\n\
                    [timeouts]\ntimeout = \"2m\"\nkeep_alive = 0.5\n[pool]\nstart = \"spawn\"\n";
        let text = format!("{text}[tls]\ncert = [\"a\", \"b\"]\ntls_key = \"c, d\"\n");
        let Said { values, places, .. } = parse(&text, "drover.toml").unwrap().said;
        assert_eq!((&*places["port"], &*places["start"]), ("drover.toml:1", "drover.toml:11"));
        let paths = |paths: [&str; 2]| Value::Array(paths.map(|path| Value::String(path.to_owned())).to_vec());
        assert_eq!((&values["tls_cert"], &values["tls_key"]), (&paths(["a", "b"]), &paths(["c", "d"])));
        assert_eq!(values["response_headers"], paths(["a: 1, 2", "b: 3"]));
        assert_eq!(values["port"], Value::Integer(80));
        assert_eq!(values["debug"], Value::Boolean(true));
        assert_eq!(values["docs"], Value::String("false".to_owned()));
        assert_eq!(values["workers"], Value::String("2-8".to_owned()));
        assert_eq!(values["max_body"], Value::Integer(10_000_000));
        assert_eq!((&values["timeout"], &values["keep_alive"]), (&Value::Float(120.0), &Value::Float(0.5)));
        assert_eq!(values["start"], Value::String("spawn".to_owned()));
    }

    #[test]
    fn errors_name_file_line_and_key() {
        for (text, error) in [
            ("port = 1\nworkers = 2-8 # as many", "f:2: quote the value: workers = \"2-8\""),
            ("max_body = 10MB", "f:1: quote the value: max_body = \"10MB\""),
            ("host = 0.0.0.0", "f:1: quote the value: host = \"0.0.0.0\""),
            ("[tls]\ncert = cert.pem", "f:2: quote the value: cert = \"cert.pem\""),
            ("\nmax_bdoy = 1", "f:2: max_bdoy is not a setting: did you mean max_body?"),
            ("colour = 1", "f:1: colour is not a setting: `drover serve --help` has them all"),
            ("[limits]\n\ntimeout = 1", "f:3: timeout does not stand in [limits] but in [timeouts]"),
            ("[pool]\nport = 1", "f:2: port does not stand in [pool] but at the top of the file"),
            ("port = 70000", "f:1: port must be a whole number in 0..65535, not '70000'"),
            ("max_queue = true", "f:1: max_queue must be a whole number >= 1, not boolean"),
            ("max_queue = 0x10", "f:1: max_queue must be a whole number >= 1, not integer"),
            (
                "workers = [1, 2, 3]",
                "f:1: workers must be a whole number >= 1, two of them as in 1-4, or auto, not array",
            ),
            ("log = [\"a\"]", "f:1: log must be a string, not array"),
            ("start = \"thread\"", "f:1: start must be one of: auto, fork, spawn, not 'thread'"),
            ("max_body = 1\n[limits]\nmax_body = 2", "f:3: max_body is there twice"),
        ] {
            assert_eq!(parse(text, "f").unwrap_err(), error);
        }
        assert!(parse("a = 1\nport = ", "f").unwrap_err().starts_with("f:2: "));
        assert!(parse("port = 1\nport = 2", "f").unwrap_err().starts_with("f:2: "));
    }
}
