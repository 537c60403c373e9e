//! What the tests work with: a service whose processes are fakes, what it has told, and what is left of it.

use engine::Settings;
pub use patience::until;
use patience::{patience, within};
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use supervisor::{Event, PoolOptions, Service, Source, WorkerState};
use tempfile::TempDir;

/// The app `name`, told apart from others by a route of its own.
pub fn app(name: &str) -> String {
    format!(
        r#"{{"routes":[{{"methods":["GET"],"pattern":"/{name}","handler":1}},
        {{"methods":["ANY"],"pattern":"/*rest","handler":2}}],"static":[],"not_found":0}}"#
    )
}

/// The same with a C handler, at `/in-c`.
pub fn app_in_c(name: &str) -> String {
    app(name).replacen('[', r#"[{"methods":["GET"],"pattern":"/in-c","handler":1,"runs":"pool"},"#, 1)
}

/// A service and the folder that says what its processes do.
pub struct Bench {
    pub service: Service,
    folder: Folder,
}

/// Lives longer than the service, to see what is left of that.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.set("app", &app("one"));
        folder.set("start", "ready");
        folder
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// What processes do from now on.
    pub fn set(&self, what: &str, value: &str) {
        // at once, as they may be reading
        let draft = self.path().join("draft");
        fs::write(&draft, value).unwrap();
        fs::rename(draft, self.path().join(what)).unwrap();
    }

    pub fn unset(&self, what: &str) {
        fs::remove_file(self.path().join(what)).unwrap();
    }

    /// Lets those go on that are asked for `/held/NAME`.
    pub fn open(&self, name: &str) {
        self.set(&format!("open-{name}"), "");
    }

    pub fn read(&self, what: &str) -> Option<String> {
        fs::read_to_string(self.path().join(what)).ok()
    }

    /// The program and arguments of a fake zygote.
    pub fn command(&self) -> (PathBuf, Vec<OsString>) {
        let exe = std::env::current_exe().unwrap();
        // what the harness says of it is of no interest
        let script = r#"exec "$0" --ignored --exact process --nocapture > /dev/null"#;
        ("/bin/sh".into(), vec!["-c".into(), script.into(), exe.into()])
    }

    pub fn source(&self) -> Source {
        let (program, args) = self.command();
        Source::Command { program: program.into(), args, env: vec![("FAKE".into(), self.path().into())] }
    }

    pub fn start(&self, change: impl FnOnce(&mut PoolOptions)) -> Service {
        self.start_with(self.source(), change)
    }

    pub fn start_with(&self, source: Source, change: impl FnOnce(&mut PoolOptions)) -> Service {
        let (log, uploads) = (self.path().join("log"), self.path());
        let settings = format!(
            r#"{{"host":["127.0.0.1"],"port":0,"threads":1,"log":{log:?},"upload_path":{uploads:?},"limits":{{}}}}"#
        );
        let settings: Settings = sonic_rs::from_str(&settings).unwrap();
        let mut options = PoolOptions { graceful_timeout: 600.0, start_timeout: 600.0, ..PoolOptions::default() };
        change(&mut options);
        Service::start(settings, options, source, Arc::new(|| {})).unwrap_or_else(|e| panic!("{e:?}"))
    }

    /// Processes of this folder that run.
    pub fn running(&self) -> Vec<i32> {
        let pids = self.read("pids").unwrap_or_default();
        pids.lines().map(|pid| pid.parse().unwrap()).filter(|&pid| is_running(pid)).collect()
    }

    /// How many folders for temporary files of processes there are.
    pub fn scratches(&self) -> usize {
        self.named("r-")
    }

    /// How many files and folders there are with names that begin so.
    fn named(&self, start: &str) -> usize {
        let is_one = |name: &std::ffi::OsString| name.to_str().is_some_and(|name| name.starts_with(start));
        fs::read_dir(self.path()).unwrap().filter(|entry| is_one(&entry.as_ref().unwrap().file_name())).count()
    }

    /// Asserts that no process is left, once workers that were not waited for have found their channels closed.
    pub fn assert_empty(&self) {
        until("all processes have ended", || self.running().is_empty());
    }

    pub fn log(&self) -> String {
        self.read("log").unwrap_or_default()
    }
}

/// Whether there is such a process, and not only its entry in the table.
pub fn is_running(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !matches!(rest.trim().chars().next(), None | Some('Z' | 'X')))
}

impl Bench {
    /// One that listens.
    pub fn new(change: impl FnOnce(&mut PoolOptions)) -> Bench {
        let folder = Folder::new();
        let service = folder.start(change);
        let bench = Bench { service, folder };
        bench.wait_for(|event| matches!(event, Event::Listening(_)));
        bench
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Waits for an event, past others; gives it and those.
    pub fn wait_for(&self, wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
        wait_for(&self.service, wanted)
    }

    pub fn ask(&self, path: &str) -> Option<(u16, String)> {
        ask(self.service.address().inet().unwrap(), path)
    }

    /// The worker that answers.
    pub fn pid(&self) -> i32 {
        let (status, body) = self.ask("/pid").expect("an answer");
        assert_eq!(status, 200, "{body}");
        body.parse().unwrap()
    }

    /// Waits until `n` workers hold a request for `/held/NAME`, which no other worker can take from them any more.
    pub fn until_held(&self, n: usize) {
        until(&format!("{n} hold a request"), || self.folder.named("held-by-") == n);
    }

    /// Workers that serve.
    pub fn serving(&self) -> Vec<i32> {
        let serves = |state| matches!(state, WorkerState::Idle | WorkerState::Busy);
        self.service.snapshot().workers.into_iter().filter(|w| w.alive && serves(w.state)).map(|w| w.pid).collect()
    }

    pub fn until_logged(&self, text: &str) {
        until(&format!("the log has {text:?}"), || self.folder.log().contains(text));
    }

    /// Stops in peace and sees that nothing is left.
    pub fn end(self) {
        let address = self.service.address().inet().unwrap();
        self.service.stop(None);
        self.wait_for(|event| *event == Event::Stopped);
        assert_eq!(self.folder.running(), [] as [i32; 0]);
        assert!(TcpStream::connect(address).is_err());
    }
}

pub fn wait_for(service: &Service, wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut events = Vec::new();
    let is_there = within(|| {
        std::iter::from_fn(|| service.next_event(Duration::ZERO)).any(|event| {
            let found = wanted(&event);
            events.push(event);
            found
        })
    });
    assert!(is_there, "only {events:?}");
    events
}

/// Status and body; `None` when the connection is refused or ends without an answer.
pub fn ask(address: SocketAddr, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(patience(30))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let status = text.split(' ').nth(1)?.parse().ok()?;
    Some((status, text.split_once("\r\n\r\n")?.1.to_owned()))
}
