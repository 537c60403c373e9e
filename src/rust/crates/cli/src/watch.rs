//! What `drover dev` watches: the app's file, what is beside and below it, what R files there `source()`, the settings
//! file, and what it was told to. Looked at twice a second: a few thousand files cost less than a millisecond of each
//! look's half second, and nothing has to be told by the system, which on shared and remote folders it is not.
//! Neighbours: `dev`, which acts on it; `written`, which knows what is not the developer's.

use crate::terminal::say;
use crate::written::{is_output, Habits};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks.
const EACH: Duration = Duration::from_millis(500);
/// A change counts when nothing else has changed for this long: editors write more than once.
const SETTLED: Duration = Duration::from_millis(100);
/// After this many looks, a change that never settles counts.
const MOST_LOOKS: usize = 20;

/// Bounds, for an app in a folder with everything else. There may be as many data files as sources.
const MOST_FILES: usize = 2_000;
const MOST_ENTRIES: usize = 10_000;
const DEEPEST: usize = 8;

/// Libraries of packages, which an app does not change.
const OTHERS: [&str; 4] = ["renv", "packrat", "node_modules", "__pycache__"];
/// What the app is made of.
const SOURCES: [&str; 6] = ["r", "yml", "yaml", "rmd", "html", "htm"];
/// What is sent as it is: a page is to be loaded again, and not the app.
const ASSETS: [&str; 13] =
    ["css", "js", "mjs", "map", "svg", "png", "jpg", "jpeg", "gif", "webp", "ico", "woff", "woff2"];
/// Assets that people write. Pictures may be the app's.
const TYPED: [&str; 3] = ["css", "js", "mjs"];
/// What R and packages read at their start, though its name is hidden.
const HIDDEN: [&str; 3] = [".Renviron", ".Rprofile", ".env"];

/// What a change asks for, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// pages to be loaded again
    Refresh,
    /// the app to be loaded anew
    Reload,
    /// the program to be started again, with other settings
    Restart,
}

/// Files that were written, made or removed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// their names, as they are told
    pub(crate) names: Vec<String>,
    /// what that asks for
    pub(crate) need: Need,
}

/// What is watched.
#[derive(Debug)]
pub(crate) struct Watch {
    /// the folder of the app, in which R runs; none for a call
    folder: Option<PathBuf>,
    /// the app's file, under any name
    file: PathBuf,
    settings: PathBuf,
    /// everything in these, too
    more: Vec<PathBuf>,
    /// nothing in these
    less: Vec<PathBuf>,
    habits: Habits,
    /// what R files had as their sources, and what they were then
    sourced: HashMap<PathBuf, (Stamp, Vec<PathBuf>)>,
}

type Stamps = BTreeMap<PathBuf, Stamp>;

/// Another one when the file was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: (i64, i64),
    size: u64,
    inode: u64,
}

impl Stamp {
    fn of(found: &Metadata) -> Stamp {
        Stamp { modified: (found.mtime(), found.mtime_nsec()), size: found.size(), inode: found.ino() }
    }
}

impl Watch {
    /// For the app in this file or folder, with these settings.
    pub(crate) fn new(app: &Path, settings: PathBuf) -> Watch {
        // one file has one name
        let file = absolute(app.to_owned());
        let folder = match fs::metadata(app) {
            Ok(found) if found.is_dir() => Some(file.clone()),
            Ok(_) => file.parent().map(Path::to_owned),
            Err(_) => None,
        };
        let (more, less) = (Vec::new(), Vec::new());
        let (settings, habits) = (absolute(settings), Habits::default());
        Watch { folder, file, settings, more, less, habits, sourced: HashMap::new() }
    }

    /// The same, and of these files and folders everything counts.
    pub(crate) fn with(self, more: Vec<PathBuf>) -> Watch {
        Watch { more: more.into_iter().map(absolute).collect(), ..self }
    }

    /// The same, and of these files and folders nothing does.
    pub(crate) fn without(self, less: Vec<PathBuf>) -> Watch {
        Watch { less: less.into_iter().map(absolute).collect(), ..self }
    }

    /// The same, with what is known of files by what they do.
    pub(crate) fn knowing(self, habits: Habits) -> Watch {
        Watch { habits, ..self }
    }

    /// Calls `notify` for each change from now on, in a thread of its own, until it answers `false`.
    ///
    /// # Errors
    /// When the system has no thread.
    pub(crate) fn start(mut self, notify: impl Fn(Change) -> bool + Send + 'static) -> io::Result<()> {
        let mut seen = self.look();
        thread::Builder::new().name("drover-watch".into()).spawn(move || loop {
            thread::sleep(EACH);
            let mut now = self.look();
            if now == seen {
                continue;
            }
            for _ in 0..MOST_LOOKS {
                thread::sleep(SETTLED);
                let before = std::mem::replace(&mut now, self.look());
                if now == before {
                    break;
                }
            }
            let change = self.change(&seen, &now);
            seen = now;
            if change.is_some_and(|change| !notify(change)) {
                return;
            }
        })?;
        Ok(())
    }

    /// All that is watched, as it is now.
    fn look(&mut self) -> Stamps {
        let (mut stamps, mut data) = (Stamps::new(), Stamps::new());
        let mut entries = 0;
        for path in [&self.file, &self.settings] {
            add(path, &mut stamps);
        }
        if let Some(folder) = &self.folder {
            below(folder, &mut entries, &mut |path| {
                let found = match self.kind(path) {
                    // it would keep all others from settling
                    Some(_) if self.habits.know(path) => return,
                    Some(Kind::Data) => &mut data,
                    Some(_) => &mut stamps,
                    None => return,
                };
                if found.len() < MOST_FILES {
                    add(path, found);
                }
            });
        }
        for path in &self.more {
            if path.is_dir() {
                below(path, &mut entries, &mut |path| {
                    if stamps.len() < MOST_FILES {
                        add(path, &mut stamps);
                    }
                });
            } else {
                add(path, &mut stamps);
            }
        }
        stamps.extend(data);
        self.add_sourced(&mut stamps);
        stamps
    }

    /// What a file is that is beside the app or below; `None` when it is nothing to the app.
    fn kind(&self, path: &Path) -> Option<Kind> {
        if self.less.iter().any(|less| path.starts_with(less)) {
            return None;
        }
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let extension = extension.to_ascii_lowercase();
        if SOURCES.contains(&&*extension) {
            Some(Kind::Source)
        } else if ASSETS.contains(&&*extension) {
            Some(if TYPED.contains(&&*extension) { Kind::Text } else { Kind::Picture })
        } else {
            let below = self.folder.as_ref().and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path);
            (!is_output(below)).then_some(Kind::Data)
        }
    }

    /// What R files source, and what that sources.
    fn add_sourced(&mut self, stamps: &mut Stamps) {
        let mut files: Vec<PathBuf> = stamps.keys().filter(|path| is_r(path)).cloned().collect();
        while let Some(file) = files.pop() {
            let Some(&stamp) = stamps.get(&file) else { continue };
            let known = self.sourced.get(&file).filter(|(then, _)| *then == stamp);
            let sources = match known {
                Some((_, sources)) => sources.clone(),
                None => {
                    let text = fs::read(&file).unwrap_or_default();
                    // R runs in the app's folder, so paths are relative to that, not to the file
                    let place = self.folder.as_deref().unwrap_or(Path::new("."));
                    let sources: Vec<PathBuf> =
                        sources_in(&String::from_utf8_lossy(&text)).iter().map(|name| place.join(name)).collect();
                    self.sourced.insert(file, (stamp, sources.clone()));
                    sources
                }
            };
            for source in sources {
                let is_wanted = !self.less.iter().any(|less| source.starts_with(less));
                if is_wanted && !stamps.contains_key(&source) && add(&source, stamps) {
                    files.push(source);
                }
            }
        }
    }

    /// What is another one now than it was, if anything is that the app has not written itself.
    fn change(&self, before: &Stamps, now: &Stamps) -> Option<Change> {
        let gone = before.keys().filter(|path| !now.contains_key(*path));
        let new = now.iter().filter(|(path, stamp)| before.get(*path) != Some(stamp)).map(|(path, _)| path);
        let (mut doubtful, mut changed): (Vec<PathBuf>, Vec<PathBuf>) =
            new.chain(gone).cloned().partition(|path| self.may_be_written(path));
        for own in self.habits.sift(&mut doubtful, Instant::now()) {
            let (name, path) = (self.name(&own), own.display());
            say(&format!(
                "{name} changes whenever the app is loaded or asked, and is not watched: --watch {path} has it so"
            ));
        }
        changed.append(&mut doubtful);
        let need = changed.iter().map(|path| self.need(path)).max()?;
        let names = changed.iter().map(|path| self.name(path)).collect();
        Some(Change { names, need })
    }

    /// Whether the path was asked for or is the app's file: such a path is watched under any name.
    fn is_named(&self, path: &Path) -> bool {
        let is_below = self.folder.as_ref().is_some_and(|folder| path.starts_with(folder));
        !is_below || path == self.file || self.more.iter().any(|more| path.starts_with(more))
    }

    /// Whether the app may have written it, and not a person.
    fn may_be_written(&self, path: &Path) -> bool {
        path != self.settings && !self.is_named(path) && matches!(self.kind(path), Some(Kind::Data | Kind::Picture))
    }

    fn need(&self, path: &Path) -> Need {
        match self.kind(path) {
            _ if path == self.settings => Need::Restart,
            Some(Kind::Text | Kind::Picture) if !self.is_named(path) => Need::Refresh,
            _ => Need::Reload,
        }
    }

    fn name(&self, path: &Path) -> String {
        let short = self.folder.as_ref().and_then(|folder| path.strip_prefix(folder).ok());
        short.unwrap_or(path).display().to_string()
    }
}

/// What a file is to an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// it is made of it
    Source,
    /// sent as it is, and written by a person
    Text,
    /// sent as it is
    Picture,
    /// anything else
    Data,
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

fn is_r(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("r"))
}

/// Whether it is a file, which is among them from now on.
fn add(path: &Path, stamps: &mut Stamps) -> bool {
    let Some(found) = fs::metadata(path).ok().filter(Metadata::is_file) else { return false };
    stamps.insert(path.to_owned(), Stamp::of(&found));
    true
}

/// Calls `found` for the files in a folder and in those below it, the nearest first, within the bounds. Most names that
/// begin with a point are those of editors and of version control.
fn below(folder: &Path, entries: &mut usize, found: &mut dyn FnMut(&Path)) {
    let mut folders = VecDeque::from([(folder.to_owned(), 0)]);
    while let Some((folder, depth)) = folders.pop_front() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            *entries += 1;
            if *entries > MOST_ENTRIES {
                return;
            }
            let (name, path) = (entry.file_name(), entry.path());
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.') || HIDDEN.contains(name)) else {
                continue;
            };
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if depth < DEEPEST && !OTHERS.contains(&name) {
                    folders.push_back((path, depth + 1));
                }
            } else {
                found(&path);
            }
        }
    }
}

/// The names in calls such as `source("helpers.R")`. What is put together when it runs is not found.
fn sources_in(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for (at, call) in text.match_indices("source(") {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let mut rest = text[at + call.len()..].trim_start();
        if let Some(after) = rest.strip_prefix("file").map(str::trim_start).and_then(|rest| rest.strip_prefix('=')) {
            rest = after.trim_start();
        }
        let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else { continue };
        if let Some(end) = rest[1..].find(quote) {
            names.push(&rest[1..=end]);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("app/app.R", "source('../shared/a.R')\napp"),
            ("app/www/site.css", ""),
            ("app/www/deep/page.html", ""),
            ("app/data.sqlite", ""),
            ("app/data.csv", ""),
            ("app/made/a.csv", ""),
            ("app/logs/a.json", ""),
            ("app/.Renviron", ""),
            ("app/.hidden.R", ""),
            ("app/renv/library/x.R", ""),
            ("shared/a.R", "sys.source(\"../shared/b.R\", globalenv())"),
            ("shared/b.R", ""),
            ("shared/c.R", ""),
            ("model/weights.bin", ""),
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn watch(folder: &Path) -> Watch {
        let app = folder.join("app/app.R");
        Watch::new(&app, app.with_file_name("drover.toml"))
            .with(vec![folder.join("model")])
            .without(vec![folder.join("app/made")])
    }

    #[test]
    fn an_app_is_its_file_what_is_beside_it_and_what_it_sources() {
        let folder = folder();
        let stamps = watch(folder.path()).look();
        let names: Vec<_> =
            stamps.keys().map(|path| path.strip_prefix(folder.path()).unwrap().display().to_string()).collect();
        let expected = [
            "app/../shared/a.R",
            "app/../shared/b.R",
            "app/.Renviron",
            "app/app.R",
            "app/data.csv",
            "app/www/deep/page.html",
            "app/www/site.css",
            "model/weights.bin",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_change_asks_for_what_its_file_is_to_the_app() {
        let folder = folder();
        let mut watch = watch(folder.path());
        let mut seen = watch.look();
        assert_eq!(watch.change(&seen, &seen.clone()), None);
        for (name, text, named, need) in [
            ("app/www/site.css", "p {}", "www/site.css", Need::Refresh),
            ("app/new.R", "1", "new.R", Need::Reload),
            ("app/www/deep/page.html", "<p>", "www/deep/page.html", Need::Reload),
            ("model/weights.bin", "1", "", Need::Reload),
            ("app/data.csv", "a,b", "data.csv", Need::Reload),
            ("app/new.rds", "1", "new.rds", Need::Reload),
            ("app/drover.toml", "port = 0", "drover.toml", Need::Restart),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
            let now = watch.look();
            let change = watch.change(&seen, &now).unwrap();
            assert_eq!(change.need, need, "{name}");
            assert!(named.is_empty() || change.names == [named], "{:?}", change.names);
            seen = now;
        }
        fs::remove_file(folder.path().join("app/new.R")).unwrap();
        let now = watch.look();
        assert_eq!(watch.change(&seen, &now).unwrap().names, ["new.R"]);
        for name in ["app/data.sqlite", "app/data.sqlite-wal", "app/made/a.csv", "app/made/b.R", "app/logs/a.json"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        let later = watch.look();
        assert_eq!(watch.change(&now, &later), None);
    }

    #[test]
    fn what_the_app_writes_each_time_ends_to_count_unless_it_is_named() {
        let folder = folder();
        let counted = |name: &str| {
            let mut watch = watch(folder.path());
            let mut changes = 0;
            for i in 0..6 {
                let seen = watch.look();
                fs::write(folder.path().join(name), "x".repeat(i + 1)).unwrap();
                let now = watch.look();
                changes += usize::from(watch.change(&seen, &now).is_some());
            }
            changes
        };
        assert_eq!(["app/made.rds", "app/www/plot.png", "app/data.csv"].map(counted), [2; 3]);
        assert_eq!(["app/app.R", "app/www/site.css", "model/weights.bin"].map(counted), [6; 3]);
    }

    #[test]
    fn names_that_are_sourced_are_those_in_quotes() {
        let text = "source(\"a.R\"); base::source( file = 'b.R', local = TRUE)\nresource('c')\nsource(paste0(x, 'd'))\nsource(";
        assert_eq!(sources_in(text), ["a.R", "b.R"]);
    }

    #[test]
    fn a_folder_with_everything_is_looked_at_within_bounds() {
        let folder = tempfile::tempdir().unwrap();
        for i in 0..=MOST_FILES {
            fs::write(folder.path().join(format!("{i}.R")), "").unwrap();
        }
        for i in 0..10 {
            fs::write(folder.path().join(format!("{i}.csv")), "").unwrap();
        }
        let app = folder.path().join("0.R");
        assert_eq!(Watch::new(&app, app.with_extension("toml")).look().len(), MOST_FILES + 10);
    }

    #[test]
    fn changes_are_told_when_they_have_settled() {
        let folder = folder();
        let (sender, changes) = std::sync::mpsc::channel();
        watch(folder.path()).start(move |change| sender.send(change).is_ok()).unwrap();
        fs::write(folder.path().join("app/app.R"), "source('../shared/a.R')\napp2").unwrap();
        let change = changes.recv_timeout(patience::patience(30)).unwrap();
        assert_eq!(change, Change { names: vec!["app.R".to_owned()], need: Need::Reload });
    }
}
