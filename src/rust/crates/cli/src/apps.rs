//! Several apps of one server, as the settings file has them: a table for each, such as `[apps.shop]`, with the app's
//! file, where it is reached, and settings of its own. Or a folder of which each folder below is an app.

use crate::policies::in_order;
use crate::said::{Reader, Said};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use toml::de::DeValue;
use toml::Spanned;

/// The key of their table.
pub(crate) const KEY: &str = "apps";

/// One of them.
#[derive(Debug, Default)]
pub(crate) struct AppTable {
    pub(crate) name: String,
    /// "file:line"
    pub(crate) at: String,
    /// relative to the settings file; without one it is called as the app is
    pub(crate) file: Option<PathBuf>,
    pub(crate) kind: Option<String>,
    /// the path below which it is; without one, and without hosts, its name
    pub(crate) path: Option<String>,
    pub(crate) hosts: Vec<String>,
    /// a folder of R packages that it finds first
    pub(crate) library: Option<PathBuf>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) args: Vec<OsString>,
    /// settings and policies of its own
    pub(crate) own: Said,
}

/// What tables of apps have beside settings, and what each is.
const KEYS: [&str; 7] = ["file", "kind", "path", "host", "library", "env", "args"];

impl AppTable {
    /// Of this name, with nothing of its own.
    fn new(name: &str, at: String) -> Self {
        AppTable { name: name.to_owned(), at, ..AppTable::default() }
    }

    /// The path below which it is reached: `/` for all.
    pub(crate) fn base_path(&self) -> String {
        match &self.path {
            Some(path) => path.clone(),
            None if self.hosts.is_empty() => format!("/{}", self.name),
            None => "/".to_owned(),
        }
    }

    fn take(&mut self, key: &str, value: &DeValue<'_>, at: &str) -> Result<(), String> {
        let wrong = |right: &str| format!("{at}: {key} must be {right}, not {}", value.type_str());
        let text = || value.as_str().map(str::to_owned).ok_or_else(|| wrong("a string"));
        let texts = |right: &str| match value {
            DeValue::String(text) => Ok(vec![text.to_string()]),
            DeValue::Array(several) => several
                .iter()
                .map(|one| one.get_ref().as_str().map(str::to_owned))
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| wrong(right)),
            _ => Err(wrong(right)),
        };
        match key {
            "file" => self.file = Some(text()?.into()),
            "kind" => self.kind = Some(text()?),
            "path" => self.path = Some(text()?),
            "library" => self.library = Some(text()?.into()),
            "host" => self.hosts = texts("a name, or several in brackets")?,
            "args" => self.args = texts("a string, or several in brackets")?.into_iter().map(OsString::from).collect(),
            _ => {
                let DeValue::Table(table) = value else { return Err(wrong("a table of variables")) };
                for (name, value) in in_order(table) {
                    let DeValue::String(value) = value.get_ref() else {
                        let kind = value.get_ref().type_str();
                        return Err(format!("{at}: the variable {} must be a string, not {kind}", name.get_ref()));
                    };
                    self.env.insert(name.get_ref().to_string(), value.to_string());
                }
            }
        }
        Ok(())
    }
}

/// All of them, in the order of the file. `value` is that of their key, and `at` says the "file:line" of an offset.
///
/// # Errors
/// With file, line, and what would be right.
pub(crate) fn read(value: &Spanned<DeValue<'_>>, at: impl Fn(usize) -> String) -> Result<Vec<AppTable>, String> {
    let wrong =
        |place, name: &str| format!("{}: {KEY} must be tables, such as [{KEY}.shop]; {name} is none", at(place));
    let DeValue::Table(tables) = value.get_ref() else { return Err(wrong(value.span().start, KEY)) };
    let mut apps: Vec<AppTable> = Vec::new();
    for (key, value) in in_order(tables) {
        let (name, place): (&str, _) = (key.get_ref(), key.span().start);
        let DeValue::Table(table) = value.get_ref() else { return Err(wrong(place, name)) };
        if !is_name(name) {
            let right = "must be letters, digits, - and _, with a letter first, and no number";
            return Err(format!("{}: the name of an app {right}, not '{name}'", at(place)));
        }
        let mut app = AppTable::new(name, at(place));
        let mut reader = Reader { at: &at, said: Said::default(), of_app: true };
        for (key, value) in in_order(table) {
            let word: &str = key.get_ref();
            if KEYS.contains(&word) {
                app.take(word, value.get_ref(), &at(key.span().start))?;
            } else {
                reader.take_entry(key, value)?;
            }
        }
        app.own = reader.said;
        if let Some(other) = apps.iter().find(|other| other.meets(&app)) {
            let (path, other) = (app.base_path(), &other.name);
            return Err(format!("{}: the apps {other} and {name} are both at {path}: give one another `path`", app.at));
        }
        apps.push(app);
    }
    if apps.is_empty() {
        return Err(format!("{}: [{KEY}] has no app: add one, such as [{KEY}.shop]", at(value.span().start)));
    }
    Ok(apps)
}

impl AppTable {
    /// Whether a request could be for both.
    fn meets(&self, other: &AppTable) -> bool {
        let path = |app: &AppTable| app.base_path().trim_end_matches('/').to_owned();
        let is_among = |host: &String| other.hosts.iter().any(|theirs| theirs.eq_ignore_ascii_case(host));
        path(self) == path(other)
            && (self.hosts.iter().any(is_among) || (self.hosts.is_empty() && other.hosts.is_empty()))
    }
}

/// Whether it can be a word of a path and of a command, and is not taken there for a port or a process.
fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// What a folder has in it that is an app, as R looks for it.
const FILES: [&str; 7] = ["_server.yml", "_server.yaml", "entrypoint.R", "plumber.R", "app.R", "server.R", "index.Rmd"];

fn is_app(folder: &Path) -> bool {
    let is_there = |entry: fs::DirEntry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| FILES.iter().any(|file| file.eq_ignore_ascii_case(name)))
    };
    fs::read_dir(folder).into_iter().flatten().flatten().any(is_there)
}

/// The apps in a folder that is none by itself, in the order of their names. Folders whose name cannot be that of an
/// app are none.
pub(crate) fn in_folder(folder: &Path) -> Vec<AppTable> {
    if !folder.is_dir() || is_app(folder) {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().is_dir() && is_app(&entry.path()))
        .filter_map(|entry| entry.file_name().into_string().ok().filter(|name| is_name(name)))
        .collect();
    names.sort();
    names.iter().map(|name| AppTable::new(name, folder.join(name).display().to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::de::DeTable;
    use toml::Value;

    fn read_all(text: &str) -> Result<Vec<AppTable>, String> {
        let document = DeTable::parse(text).unwrap();
        let at = |offset: usize| format!("f:{}", text[..offset].matches('\n').count() + 1);
        read(&document.get_ref()[KEY], at)
    }

    #[test]
    fn apps_have_a_place_and_settings_of_their_own() {
        let text = "[apps.shop]\nworkers = \"0-4\"\n[apps.shop.limits]\nmax_body = \"1MB\"\n\
                    [[apps.shop.policies.cors]]\norigins = [\"https://a\"]\n\
                    [apps.blog]\nfile = \"b/app.R\"\npath = \"/\"\nlibrary = \"lib\"\nargs = [\"a\", \"b\"]\n\
                    env = { DB = \"x\" }\n[apps.other]\nhost = \"other.example\"\n";
        let apps = read_all(text).unwrap();
        let paths: Vec<String> = apps.iter().map(AppTable::base_path).collect();
        assert_eq!(paths, ["/shop", "/", "/"]);
        let [shop, blog, other] = &apps[..] else { panic!("{apps:?}") };
        assert_eq!(shop.own.values["workers"], Value::String("0-4".to_owned()));
        assert_eq!((&shop.own.values["max_body"], &*shop.own.places["max_body"]), (&Value::Integer(1_000_000), "f:4"));
        assert!(shop.own.policies.contains("https://a") && shop.at == "f:1");
        assert_eq!(
            (blog.file.as_deref(), blog.library.as_deref()),
            (Some(Path::new("b/app.R")), Some(Path::new("lib")))
        );
        assert_eq!((blog.args.len(), &*blog.env["DB"], &other.hosts[..]), (2, "x", &["other.example".to_owned()][..]));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, error) in [
            ("apps = 1", "f:1: apps must be tables, such as [apps.shop]; apps is none"),
            ("[apps]\nshop = \"a.R\"", "f:2: apps must be tables, such as [apps.shop]; shop is none"),
            ("[apps]", "f:1: [apps] has no app: add one, such as [apps.shop]"),
            (
                "[apps.8080]",
                "f:1: the name of an app must be letters, digits, - and _, with a letter first, and no number, not '8080'",
            ),
            ("[apps.a]\nport = 1", "f:2: port is one setting for all apps: it stands at the top of the file"),
            ("[apps.a.limits]\nmax_headers = 1", "f:2: max_headers is one setting for all apps: it stands in [limits]"),
            ("[apps.a]\nmax_bdoy = 1", "f:2: max_bdoy is not a setting: did you mean max_body?"),
            ("[apps.a]\nfile = 1", "f:2: file must be a string, not integer"),
            ("[apps.a]\nhost = [1]", "f:2: host must be a name, or several in brackets, not array"),
            ("[apps.a]\nenv = { A = 1 }", "f:2: the variable A must be a string, not integer"),
            (
                "[apps.a]\npath = \"/b\"\n[apps.b]",
                "f:3: the apps a and b are both at /b: give one another `path`",
            ),
        ] {
            assert_eq!(read_all(text).unwrap_err(), error);
        }
        assert!(read_all("[apps.a]\nhost = \"a\"\n[apps.b]\nhost = \"b\"\n[apps.c]\npath = \"/\"").is_ok());
    }

    #[test]
    fn a_folder_of_folders_with_apps_has_several() {
        let folder = tempfile::tempdir().unwrap();
        for app in ["shop/app.R", "blog/plumber.R", "data/table.csv", "a b/app.R"] {
            let path = folder.path().join(app);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let names = |folder: &Path| in_folder(folder).into_iter().map(|app| app.name).collect::<Vec<_>>();
        assert_eq!(names(folder.path()), ["blog", "shop"]);
        assert!(names(&folder.path().join("shop")).is_empty() && names(Path::new("/nonexistent")).is_empty());
        fs::write(folder.path().join("App.R"), "").unwrap();
        assert!(names(folder.path()).is_empty(), "it is one by itself");
    }
}
