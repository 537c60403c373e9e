//! `drover dev`: `serve` for development. It reloads the app and open pages when files change, and reports errors of
//! loading in the terminal and in the browser. Neighbours: `watch` (what changes), `serve` (which has it all), and
//! `engine::Development` (what the browser sees).

use crate::invocation::{DevArgs, Invocation};
use crate::options;
use crate::terminal::{say, write};
use crate::watch::{Change, Need, Watch};
use crate::words;
use crate::written::Habits;
use engine::Development;
use std::env;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// The programs that open an address in a browser: that of the user, Linux's, and macOS's.
const OPENERS: [&str; 2] = ["xdg-open", "open"];
/// Waits for the address: a process that was started before the program gave up rights that browsers need.
const WAITING: &str = "read -r url && exec \"$0\" \"$url\"";

/// See the module.
#[derive(Debug)]
pub(crate) struct Dev {
    /// what the browser sees
    pub(crate) state: Arc<Development>,
    file: String,
    habits: Habits,
    opener: Option<Child>,
}

impl Dev {
    /// For this app. Before the program gives up rights: a browser may need them.
    pub(crate) fn new(args: &DevArgs, file: &Path) -> Dev {
        // of a folder such as `.` the name
        let name = file.canonicalize().ok().filter(|path| path.is_dir()).unwrap_or_else(|| file.to_owned());
        let (state, habits) = (Arc::new(Development::new()), Habits::default());
        Dev { state, file: name.display().to_string(), habits, opener: args.open.then(opener).flatten() }
    }

    /// Watches the app from now on.
    ///
    /// # Errors
    /// When the system has no thread.
    pub(crate) fn watch(
        &self,
        invocation: &Invocation,
        args: &DevArgs,
        tell: impl Fn(Change) -> bool + Send + 'static,
    ) -> io::Result<()> {
        let less = args.ignore.iter().cloned().chain(invocation.written()).collect();
        let watch = Watch::new(&invocation.file, invocation.config.clone()).with(args.watch.clone()).without(less);
        watch.knowing(self.habits.clone()).start(tell)
    }

    /// It listens there.
    pub(crate) fn listens(&mut self, url: &str) {
        let Some(mut opener) = self.opener.take() else { return };
        if let Some(mut stdin) = opener.stdin.take() {
            // an opener that has ended needs no URL
            let _ = writeln!(stdin, "{url}");
        }
        // it may last as long as the browser
        let _ = thread::Builder::new().spawn(move || drop(opener.wait()));
    }

    /// What is to be done about a change: to load the app anew, or to start again.
    pub(crate) fn is_told(&self, change: &Change) -> Option<Need> {
        let (first, others) = (change.names.first().map_or("", String::as_str), change.names.len().saturating_sub(1));
        let more = if others > 0 { format!(" and {others} more") } else { String::new() };
        let what = match change.need {
            Need::Refresh => "pages that are open are loaded again",
            Need::Reload => "loading anew",
            Need::Restart => "starting again",
        };
        say(&format!("{first}{more} changed: {what}"));
        if change.need == Need::Refresh {
            self.state.refresh();
            self.habits.has_loaded(Instant::now());
            return None;
        }
        if change.need == Need::Restart {
            if let Err(e) = options::read(words::complete(env::args_os(), true)) {
                // as it would be told at the start
                let _ = e.print();
                say("the settings from before go on");
                return None;
            }
        }
        self.habits.loads();
        Some(change.need)
    }

    /// The app has been loaded, and serves.
    pub(crate) fn has_loaded(&self) {
        self.state.has_changed();
        self.habits.has_loaded(Instant::now());
    }

    /// It could not be loaded.
    pub(crate) fn has_failed(&self, why: &str) {
        let title = format!("{} does not load", self.file);
        write(&format!("drover: {title}: {}", why.replace('\n', "\n    ")));
        say("it is tried again when a file changes; until then this is what browsers see");
        self.state.has_failed(&title, why);
        self.habits.has_loaded(Instant::now());
    }
}

/// Becomes the same program anew, with the same arguments. Returns when it cannot.
pub(crate) fn start_again() -> io::Error {
    let program = match env::current_exe() {
        Ok(program) => program,
        Err(e) => return e,
    };
    // there is a page already
    let args = env::args_os().skip(1).filter(|arg| arg != "--open");
    Command::new(program).args(args).exec()
}

/// A process that waits for an address to open.
fn opener() -> Option<Child> {
    let browser = env::var_os("BROWSER").into_iter();
    let names: Vec<OsString> = browser.chain(OPENERS.map(OsString::from)).collect();
    let found =
        names.iter().find_map(|name| crate::r::find_program(&PathBuf::from(name), env::var_os("PATH").as_deref()));
    let Some(program) = found else {
        say("--open finds no program that opens a browser: neither that of BROWSER nor xdg-open");
        return None;
    };
    let started = Command::new("/bin/sh")
        .args(["-c", WAITING])
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    started.inspect_err(|e| say(&format!("--open: {e}"))).ok()
}
