//! Processes that behave as R's do towards the supervisor, without R: a zygote that starts workers instead of forking
//! them, and workers that do what the paths of requests say. They are this test program, started by the tests.
//!
//! What they are to do is in files of the folder that `FAKE` names, so that a test can change its mind:
//! `app` (the app as JSON, or a word: `fail`, `exit`, `hang`) and `start` (`ready`, `fail`, `exit`, `hang`).

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use shm::{Assembler, Channel, LinkFds, Received, RequestId, Sending, WorkerEnd};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{exit, Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use wire::control::{WorkerNews, WorkerOrder, ZygoteNews, ZygoteOrder};
use wire::{ContentType, ReplyBody, ReplyHead, Request};

/// How often these processes poll: nothing wakes them.
const MOMENT: Duration = Duration::from_millis(1);

/// Runs the process; does not return.
pub fn run() -> ! {
    let folder = PathBuf::from(std::env::var_os("FAKE").expect("only for processes that tests start"));
    let channel = Channel::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    let mut pids = OpenOptions::new().create(true).append(true).open(folder.join("pids")).unwrap();
    // in one piece, as others write there, too
    pids.write_all(format!("{}\n", std::process::id()).as_bytes()).unwrap();
    match std::env::var("FAKE_ROLE").as_deref() {
        Ok("worker") => {
            let Some((_, fds)) = next(&channel) else { exit(0) };
            work(&folder, fds)
        }
        _ => Zygote { folder, channel, children: Vec::new() }.run(),
    }
}

/// Waits for a message; `None` at the end of the channel.
fn next(channel: &Channel) -> Option<(Vec<u8>, Vec<OwnedFd>)> {
    loop {
        if let Some(got) = try_next(channel) {
            return got;
        }
        sleep(MOMENT);
    }
}

/// `Some(None)` at the end of the channel.
#[allow(clippy::option_option, reason = "nothing yet, the end, or a message")]
fn try_next(channel: &Channel) -> Option<Option<(Vec<u8>, Vec<OwnedFd>)>> {
    let mut message = Vec::new();
    match channel.receive(&mut message) {
        Ok(Received::Message(_, fds)) => Some(Some((message, fds))),
        Ok(Received::Nothing) => None,
        Ok(Received::End) | Err(_) => Some(None),
    }
}

struct Zygote {
    folder: PathBuf,
    channel: Channel,
    children: Vec<(u32, Child)>,
}

impl Zygote {
    fn run(mut self) -> ! {
        self.load();
        loop {
            match try_next(&self.channel) {
                Some(Some((message, fds))) => match ZygoteOrder::decode(&message).unwrap() {
                    ZygoteOrder::Fork { worker, .. } => self.fork(worker, &fds),
                    ZygoteOrder::Become { .. } => work(&self.folder, fds),
                    ZygoteOrder::Quit { .. } => exit(0),
                    ZygoteOrder::State => {}
                },
                Some(None) => exit(0),
                None => sleep(MOMENT),
            }
            self.reap();
        }
    }

    fn tell(&self, news: ZygoteNews<'_>) {
        let mut message = Vec::new();
        news.encode(&mut message);
        // the supervisor may have gone
        let _ = self.channel.send(&message, &[]);
    }

    fn load(&self) {
        let app = fs::read_to_string(self.folder.join("app")).unwrap();
        match app.as_str() {
            "fail" => {
                self.tell(ZygoteNews::LoadFailed("object 'x' not found"));
                exit(1);
            }
            "exit" => exit(3),
            "hang" => loop {
                sleep(MOMENT);
            },
            app => {
                for piece in app.as_bytes().chunks(10) {
                    self.tell(ZygoteNews::App(piece));
                }
                if let Ok(what) = fs::read_to_string(self.folder.join("holds")) {
                    self.tell(ZygoteNews::Holds(&what));
                }
                self.tell(ZygoteNews::Loaded);
            }
        }
    }

    fn fork(&mut self, worker: u32, fds: &[OwnedFd]) {
        if self.folder.join("no-fork").exists() {
            return self.tell(ZygoteNews::ForkFailed { worker, why: "Resource temporarily unavailable" });
        }
        let (ours, theirs) = Channel::pair().unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(std::env::args_os().skip(1))
            .env("FAKE_ROLE", "worker")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .process_group(0)
            .spawn()
            .unwrap();
        let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
        ours.send(b"fork", &fds).unwrap();
        while self.folder.join("late").exists() && !self.folder.join("failed").exists() {
            sleep(MOMENT);
        }
        self.tell(ZygoteNews::Forked { worker, pid: child.id() });
        self.children.push((worker, child));
    }

    fn reap(&mut self) {
        let mut left = Vec::new();
        for (worker, mut child) in std::mem::take(&mut self.children) {
            match child.try_wait().unwrap() {
                Some(status) => {
                    let status = status.into_raw() as u32;
                    self.tell(ZygoteNews::Exited { worker, pid: child.id(), status });
                }
                None => left.push((worker, child)),
            }
        }
        self.children = left;
    }
}

/// A worker, given its ends.
#[expect(clippy::zombie_processes, reason = "what it starts is to be left behind")]
fn work(folder: &std::path::Path, fds: Vec<OwnedFd>) -> ! {
    let mut fds = fds.into_iter();
    let control = Channel::from(fds.next().expect("a control channel"));
    let (link, c_link) = (LinkFds::take(&mut fds).expect("a link"), LinkFds::take(&mut fds));
    let tell = |news: WorkerNews<'_>| {
        let mut message = Vec::new();
        news.encode(&mut message);
        let _ = control.send(&message, &[]);
    };
    match fs::read_to_string(folder.join("start")).unwrap().as_str() {
        "fail" => {
            tell(WorkerNews::StartFailed("on_worker_start failed: no database"));
            fs::write(folder.join("failed"), "").unwrap();
            exit(1);
        }
        "exit" => exit(4),
        "hang" => loop {
            sleep(MOMENT);
        },
        _ => {}
    }
    let mut end = WorkerEnd::attach(link).unwrap();
    let mut c_end = c_link.map(|link| WorkerEnd::attach(link).unwrap());
    tell(WorkerNews::Ready);
    let mut assembler = Assembler::default();
    let mut stubborn = false;
    loop {
        if let Some(c_end) = &mut c_end {
            answer_in_c(c_end);
        }
        let got = end.requests.receive(&mut assembler, |word, bytes| {
            let path = Request::decode(bytes).unwrap().head.path.to_vec();
            (RequestId::from_word(word), String::from_utf8(path).unwrap())
        });
        let Some((id, path)) = got else {
            match try_next(&control) {
                Some(Some((message, _))) => {
                    assert!(matches!(WorkerOrder::decode(&message), Ok(WorkerOrder::Stop { .. })));
                    if !stubborn {
                        exit(0);
                    }
                }
                Some(None) => exit(0),
                None => {
                    let mut fds = [PollFd::new(&control, PollFlags::IN)];
                    let _ = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 1_000_000 }));
                }
            }
            continue;
        };
        if !end.slots.start(id) {
            continue;
        }
        match path.trim_start_matches('/').split_once('/') {
            Some(("held", name)) => {
                let held = folder.join(format!("held-by-{}", std::process::id()));
                fs::write(&held, "").unwrap();
                while !folder.join(format!("open-{name}")).exists() {
                    sleep(MOMENT);
                }
                fs::remove_file(held).unwrap();
            }
            Some(("spin", name)) => while !folder.join(format!("open-{name}")).exists() {},
            Some(("exit", status)) => exit(status.parse().unwrap()),
            Some(("log", text)) => tell(WorkerNews::Log { level: 1, text }),
            Some(("start", what)) => {
                let sleeper = Command::new("sleep").arg(what).spawn().unwrap();
                fs::write(folder.join("started"), sleeper.id().to_string()).unwrap();
            }
            _ if path == "/stubborn" => stubborn = true,
            _ => {}
        }
        reply(&mut end, id, &std::process::id().to_string());
    }
}

fn reply(end: &mut WorkerEnd, id: RequestId, body: &str) {
    let mut message = Vec::new();
    let head = ReplyHead { status: 200, content_type: ContentType::Text };
    head.encode(ReplyBody::Bytes(body.as_bytes()), std::iter::empty, &mut message);
    end.replies.send(id.to_word(), &message, &mut Sending::default());
    end.server_bell.ring();
}

/// Its C handlers: says that they are.
fn answer_in_c(end: &mut WorkerEnd) {
    while let Some(id) = end.requests.receive(&mut Assembler::default(), |word, _| RequestId::from_word(word)) {
        if end.slots.start(id) {
            reply(end, id, &format!("in C {}", std::process::id()));
        }
    }
}
