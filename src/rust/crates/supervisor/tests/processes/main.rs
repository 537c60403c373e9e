//! The supervisor with real processes, which are killed, hang and fail; none of them is R. See `fake` for what they do.

mod bench;
mod fake;

use bench::{app, app_in_c, ask, is_running, until, wait_for, Bench, Folder};
use rustix::process::{kill_process, Pid, Signal};
use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;
use supervisor::{Event, Failure, Parts, PoolOptions, Source, Start, AUTO};

#[test]
#[ignore = "not a test: a process that tests start"]
fn process() {
    fake::run();
}

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

fn fixed(n: usize) -> impl Fn(&mut PoolOptions) {
    move |options| (options.n_min, options.n_max) = (n, n)
}

/// The one process that is not a worker.
fn zygote(bench: &Bench) -> i32 {
    let workers = bench.serving();
    let others: Vec<i32> = bench.folder().running().into_iter().filter(|pid| !workers.contains(pid)).collect();
    assert_eq!(others.len(), 1, "{others:?}");
    others[0]
}

#[test]
fn starts_serves_and_ends() {
    let folder = Folder::new();
    let service = folder.start(fixed(2));
    let events = wait_for(&service, |event| matches!(event, Event::Listening(_)));
    assert!(
        matches!(events[0], Event::Loaded { generation: 1, parts: Parts { routes: 2, mounts: 0, .. }, .. })
            && events[1..3] == [Event::WorkerReady { ready: 1, of: 2 }, Event::WorkerReady { ready: 2, of: 2 }]
            && events[3] == Event::Listening(vec![service.address().clone()]),
        "{events:?}"
    );
    let (status, pid) = ask(service.address().inet().unwrap(), "/log/hello").unwrap();
    assert_eq!(status, 200);
    let rows = service.snapshot().workers;
    assert_eq!(rows.len(), 2);
    let row = rows.iter().find(|row| row.pid.to_string() == pid).unwrap();
    assert!(row.alive && row.generation == 1 && row.memory > 0 && row.age > 0.0, "{row:?}");
    until("the request is counted", || service.snapshot().workers.iter().map(|row| row.requests).sum::<u64>() == 1);
    until("the worker's line is logged", || folder.log().contains("WARN hello"));
    service.stop(None);
    assert_eq!(wait_for(&service, |event| *event == Event::Stopped), [Event::Stopped]);
    assert_eq!(folder.running(), [] as [i32; 0]);
    assert_eq!(service.snapshot().workers, []);
}

#[test]
fn workers_of_an_app_with_handlers_in_c_have_a_link_for_them() {
    for start in [Start::Fork, Start::Spawn] {
        let folder = Folder::new();
        folder.set("app", &app_in_c("one"));
        let service = folder.start(|options| (options.n_min, options.n_max, options.start) = (1, 1, start));
        let events = wait_for(&service, |event| matches!(event, Event::Listening(_)));
        assert!(matches!(events[0], Event::Loaded { parts: Parts { routes: 2, cpp_routes: 1, .. }, .. }), "{events:?}");
        let pid = || {
            ask(service.address().inet().unwrap(), "/in-c")
                .and_then(|(_, body)| body.strip_prefix("in C ")?.parse::<i32>().ok())
        };
        let first = pid().expect("an answer of C");
        assert_eq!(ask(service.address().inet().unwrap(), "/x"), Some((200, first.to_string())));
        assert_eq!(service.snapshot().workers[0].requests, 2);
        // the next one has it, too
        signal(first, Signal::KILL);
        until("another answers", || pid().is_some_and(|pid| pid != first));
        // and those of an app that has none do not
        folder.set("app", &app("one"));
        service.reload(folder.source());
        wait_for(&service, |event| matches!(event, Event::Reloaded { .. }));
        until("R answers", || {
            ask(service.address().inet().unwrap(), "/in-c").is_some_and(|(_, body)| !body.starts_with("in C"))
        });
        service.stop(None);
        wait_for(&service, |event| *event == Event::Stopped);
        folder.assert_empty();
    }
}

/// What is told when it cannot be started, and that nothing is left of it.
fn failure(folder: &Folder, change: impl FnOnce(&mut PoolOptions)) -> (Failure, String) {
    let service = folder.start(change);
    let mut events = wait_for(&service, |event| matches!(event, Event::Failed { .. }));
    assert!(ask(service.address().inet().unwrap(), "/").is_none());
    folder.assert_empty();
    // it is told once, and not in the log, which is for what happens while it serves
    assert!(!folder.log().contains("reloaded"), "{}", folder.log());
    match events.pop() {
        Some(Event::Failed { kind, message }) => (kind, message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_app_that_does_not_load_is_told_and_nothing_is_left() {
    let folder = Folder::new();
    folder.set("app", "fail");
    assert_eq!(failure(&folder, fixed(2)), (Failure::Load, "object 'x' not found".into()));
    folder.set("app", "exit");
    let (kind, message) = failure(&folder, fixed(2));
    assert_eq!((kind, message.as_str()), (Failure::Load, "R exited with status 3 while it loaded the app"));
    folder.set("app", "hang");
    let (kind, message) = failure(&folder, |o| o.start_timeout = 0.3);
    assert_eq!((kind, message.as_str()), (Failure::Load, "the app was not loaded within 0.3 s (start_timeout)"));
    folder.set("app", "{");
    let (kind, message) = failure(&folder, fixed(1));
    assert!(kind == Failure::Load && message.starts_with("what R told of the app cannot be read: "), "{message}");
    folder.set("app", &app("<x:nonsense>"));
    let (kind, message) = failure(&folder, fixed(1));
    assert!(kind == Failure::Load && message.contains("nonsense"), "{message}");
}

#[test]
fn a_worker_that_fails_before_its_zygote_has_told_of_it_has_its_number_in_the_log() {
    let folder = Folder::new();
    folder.set("start", "fail");
    folder.set("late", "");
    assert_eq!(failure(&folder, fixed(1)), (Failure::WorkerStart, "on_worker_start failed: no database".into()));
    let log = folder.log();
    let of_worker = log.lines().find(|line| line.ends_with(": on_worker_start failed: no database")).expect("a line");
    let number = of_worker.split(" worker ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    assert!(number.parse::<u32>().is_ok(), "{log}");
}

/// The first that the log says of workers is the reason, and none that the server has ended is said to be killed.
fn assert_opens_with_reason(log: &str, reason: &str) {
    let first = log.lines().find(|line| line.contains(" ERROR ") || line.contains(" INFO worker "));
    assert!(first.is_some_and(|line| line.contains(" ERROR ") && line.ends_with(reason)), "{log}");
    assert!(!log.contains("was killed by signal"), "{log}");
}

#[test]
fn workers_that_do_not_start_are_told_and_nothing_is_left() {
    let folder = Folder::new();
    folder.set("start", "fail");
    assert_eq!(failure(&folder, fixed(3)), (Failure::WorkerStart, "on_worker_start failed: no database".into()));
    assert_opens_with_reason(&folder.log(), "cannot start: on_worker_start failed: no database");
    folder.set("start", "exit");
    let (kind, message) = failure(&folder, fixed(3));
    assert!(
        kind == Failure::WorkerStart && message.ends_with(" exited with status 4 while it started"),
        "{kind:?} {message}"
    );
    folder.set("start", "hang");
    let before = folder.log().len();
    // time enough to fork one on a busy machine: what is not there is not ended
    let (kind, message) = failure(&folder, |o| o.start_timeout = 5.0);
    assert_eq!(kind, Failure::WorkerStart);
    assert!(message.ends_with("within 5 s (start_timeout)"), "{message}");
    let log = || folder.log().split_off(before);
    until("the worker's end is logged", || log().contains("was ended: the server cannot start"));
    assert_opens_with_reason(&log(), "no worker was ready within 5 s (start_timeout)");
    folder.set("start", "ready");
    folder.set("no-fork", "");
    let (kind, message) = failure(&folder, fixed(1));
    assert_eq!((kind, message.as_str()), (Failure::System, "cannot fork a worker: Resource temporarily unavailable"));
}

#[test]
fn a_program_that_is_not_there_is_told() {
    let folder = Folder::new();
    let source = Source::Command { program: "/nonexistent/R".into(), args: Vec::new(), env: Vec::new() };
    let service = folder.start_with(source, |_| {});
    let events = wait_for(&service, |_| true);
    assert!(
        matches!(&events[0], Event::Failed { kind: Failure::System, message } if message.contains("/nonexistent/R")),
        "{events:?}"
    );
}

#[test]
fn a_killed_worker_costs_nobody_else_and_is_replaced() {
    let bench = Bench::new(fixed(2));
    let before = bench.serving();
    assert_eq!(bench.ask("/start/1000").unwrap().0, 200);
    let sleeper: i32 = bench.folder().read("started").unwrap().parse().unwrap();
    for &pid in &before {
        signal(pid, Signal::KILL);
        bench.until_logged(&format!("worker {pid} was killed by signal 9 (KILL)"));
        until("there are two again", || bench.serving().len() == 2);
        assert!(bench.serving().iter().all(|&now| now != pid));
        bench.pid();
    }
    until("what the worker had started is gone, too", || !is_running(sleeper));
    bench.end();
}

#[test]
fn the_request_that_kills_its_worker_gets_502() {
    let bench = Bench::new(fixed(1));
    assert_eq!(bench.ask("/exit/7").unwrap().0, 502);
    bench.until_logged("exited with status 7");
    bench.pid();
    bench.end();
}

#[test]
fn a_crash_loop_backs_off_and_says_so_once() {
    let bench = Bench::new(fixed(1));
    for _ in 0..8 {
        assert_eq!(bench.ask("/exit/7").unwrap().0, 502);
    }
    bench.pid();
    let log = bench.folder().log();
    assert!(log.contains("workers keep ending (5 within 10 s): the next one starts in 0.1 s"), "{log}");
    assert_eq!(log.matches("workers keep ending").count(), 1, "{log}");
    bench.end();
}

#[test]
fn forks_that_fail_are_tried_again() {
    let bench = Bench::new(fixed(1));
    bench.folder().set("no-fork", "");
    signal(bench.pid(), Signal::KILL);
    bench.until_logged("cannot fork a worker: Resource temporarily unavailable; tried again in 0.1 s");
    bench.folder().unset("no-fork");
    bench.pid();
    bench.end();
}

#[test]
fn a_worker_that_fails_to_start_later_is_tried_again() {
    let bench = Bench::new(fixed(1));
    bench.folder().set("start", "fail");
    signal(bench.pid(), Signal::KILL);
    bench.until_logged("exited with status 1: on_worker_start failed: no database");
    bench.folder().set("start", "ready");
    bench.pid();
    bench.end();
}

#[test]
fn the_pool_grows_while_requests_wait_and_shrinks_when_it_is_not_needed() {
    let bench = Bench::new(|o| {
        (o.n_min, o.n_max) = (1, 4);
        (o.check_unused, o.max_age) = (0.1, 1.0);
    });
    assert_eq!(bench.serving().len(), 1);
    let clients = asked_at_once(&bench, "/held/all", 8);
    bench.until_held(4);
    bench.folder().open("all");
    let answers: Vec<(u16, String)> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    assert!(answers.iter().all(|(status, _)| *status == 200), "{answers:?}");
    let pids: HashSet<&String> = answers.iter().map(|(_, pid)| pid).collect();
    assert_eq!(pids.len(), 4, "{answers:?}\n{}", bench.folder().log());
    until("one is left", || bench.service.snapshot().workers.len() == 1);
    bench.until_logged("is retired: not needed for 1 s");
    bench.pid();
    bench.end();
}

/// Clients that ask for this path together: where there are fewer workers, some requests wait for one.
fn asked_at_once(bench: &Bench, path: &'static str, n: usize) -> Vec<std::thread::JoinHandle<(u16, String)>> {
    let address = bench.service.address().inet().unwrap();
    (0..n).map(|_| std::thread::spawn(move || ask(address, path).unwrap())).collect()
}

#[test]
fn workers_that_wait_have_more_started_up_to_the_most() {
    let bench = Bench::new(|o| (o.n_min, o.n_max, o.max_workers) = (1, AUTO, 9));
    assert_eq!(bench.serving().len(), 1);
    let clients = asked_at_once(&bench, "/held/all", 12);
    bench.until_held(9);
    bench.folder().open("all");
    let pids: HashSet<String> = clients.into_iter().map(|client| client.join().unwrap().1).collect();
    assert_eq!(pids.len(), 9);
    bench.end();
}

#[test]
fn workers_that_compute_have_no_more_started() {
    let cores = supervisor::usable_cores();
    let bench = Bench::new(|o| (o.n_min, o.n_max, o.max_workers) = (cores, AUTO, 4 * cores));
    let clients = asked_at_once(&bench, "/spin/all", 2 * cores);
    until("all are busy", || bench.service.snapshot().waiting > 0);
    // many looks: none must find that workers wait
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(bench.serving().len(), cores, "{}", bench.folder().log());
    bench.folder().open("all");
    assert!(clients.into_iter().all(|client| client.join().unwrap().0 == 200));
    bench.end();
}

#[test]
fn a_pool_of_its_own_size_may_be_asked_for_later() {
    let bench = Bench::new(fixed(1));
    assert_eq!(bench.service.scale(""), (1, 1));
    bench.service.rescale("", 1, AUTO).unwrap();
    bench.until_logged("workers=auto, it was 1");
    let clients = asked_at_once(&bench, "/held/all", 3);
    bench.until_held(3);
    bench.folder().open("all");
    assert!(clients.into_iter().all(|client| client.join().unwrap().0 == 200));
    bench.service.rescale("", 1, 1).unwrap();
    until("one is left", || bench.service.snapshot().workers.len() == 1);
    bench.end();
}

#[test]
fn workers_are_replaced_after_their_share_of_requests_and_none_is_lost() {
    let bench = Bench::new(|o| {
        fixed(2)(o);
        o.max_requests = 10;
    });
    let mut pids = HashSet::new();
    let mut asked = 0;
    // the supervisor looks at them now and then: on a busy machine not within 100 quick requests
    while asked < 100 || pids.len() < 4 {
        pids.insert(bench.pid());
        asked += 1;
        assert!(bench.service.snapshot().workers.len() <= 4);
        assert!(asked < 10_000, "{pids:?}");
    }
    assert!(pids.len() <= asked / 10 + 4, "{pids:?}");
    bench.until_logged("is replaced: it has served ");
    bench.end();
}

#[test]
fn workers_are_replaced_when_they_are_too_old_or_too_large() {
    let bench = Bench::new(|o| {
        fixed(1)(o);
        o.max_lifetime = 0.3;
    });
    let first = bench.pid();
    until("another one serves", || bench.pid() != first);
    until("its age is logged", || {
        bench.folder().log().lines().any(|line| line.contains("is replaced: it is ") && line.ends_with(" s old"))
    });
    bench.end();
    let bench = Bench::new(|o| {
        fixed(1)(o);
        o.max_rss = 1000;
    });
    let first = bench.pid();
    until("another one serves", || bench.pid() != first);
    bench.until_logged("is replaced: it holds ");
    bench.end();
}

#[test]
fn a_reload_loses_nothing_and_ends_the_old_processes() {
    let bench = Bench::new(fixed(2));
    let before = bench.folder().running();
    let address = bench.service.address().inet().unwrap();
    let slow = std::thread::spawn(move || ask(address, "/held/slow").unwrap());
    bench.until_held(1);
    bench.folder().set("app", &app("two"));
    bench.service.reload(bench.folder().source());
    bench.wait_for(|event| *event == Event::Reloaded { generation: 2 });
    assert!(!before.contains(&bench.pid()));
    assert!(!slow.is_finished());
    bench.folder().open("slow");
    let (status, pid) = slow.join().unwrap();
    assert!(status == 200 && before.contains(&pid.parse().unwrap()));
    until("the old ones have ended", || !before.iter().any(|&pid| is_running(pid)));
    until("only new ones are listed", || bench.service.snapshot().workers.iter().all(|row| row.generation == 2));
    bench.end();
}

#[test]
fn a_reload_that_fails_leaves_all_as_it_was() {
    let bench = Bench::new(fixed(2));
    let mut before = bench.folder().running();
    for (what, value, message) in [
        ("app", "fail", "object 'x' not found"),
        ("app", "exit", "R exited with status 3 while it loaded the app"),
        ("start", "fail", "on_worker_start failed: no database"),
    ] {
        bench.folder().set(what, value);
        bench.service.reload(bench.folder().source());
        let events = bench.wait_for(|event| matches!(event, Event::ReloadFailed { .. }));
        assert_eq!(events.last(), Some(&Event::ReloadFailed { message: message.into() }));
        bench.folder().set("app", &app("one"));
        bench.folder().set("start", "ready");
    }
    until("the new ones have ended", || bench.folder().running().len() == 3);
    let mut now = bench.folder().running();
    before.sort_unstable();
    now.sort_unstable();
    assert_eq!(before, now);
    bench.pid();
    bench.end();
}

#[test]
fn of_reloads_that_wait_the_last_counts() {
    let bench = Bench::new(fixed(1));
    for _ in 0..3 {
        bench.service.reload(bench.folder().source());
    }
    let events = bench.wait_for(|event| *event == Event::Reloaded { generation: 3 });
    let failed = Event::ReloadFailed { message: "another reload came after it".into() };
    assert_eq!(events.iter().filter(|event| **event == failed).count(), 1, "{events:?}");
    bench.end();
}

#[test]
fn a_lost_zygote_is_replaced_and_its_workers_serve_on() {
    let bench = Bench::new(fixed(2));
    let workers: HashSet<i32> = bench.serving().into_iter().collect();
    signal(zygote(&bench), Signal::KILL);
    bench.until_logged("was killed by signal 9 (KILL); its workers serve on");
    bench.until_logged("the zygote is there again");
    // its workers may have files in the folder of the one that was lost
    assert_eq!(bench.folder().scratches(), 2);
    assert!(workers.contains(&bench.pid()));
    let first = *workers.iter().next().unwrap();
    signal(first, Signal::KILL);
    until("there are two again", || bench.serving().len() == 2 && !bench.serving().contains(&first));
    bench.service.reload(bench.folder().source());
    bench.wait_for(|event| matches!(event, Event::Reloaded { .. }));
    until("they go with the last of these workers", || bench.folder().scratches() == 1);
    bench.end();
}

#[test]
fn a_zygote_that_comes_back_with_another_app_is_a_reload() {
    let bench = Bench::new(fixed(2));
    bench.folder().set("app", &app("two"));
    signal(zygote(&bench), Signal::KILL);
    bench.wait_for(|event| *event == Event::Reloaded { generation: 2 });
    bench.pid();
    until("the old ones have ended", || bench.folder().running().len() == 3);
    bench.end();
}

#[test]
fn workers_can_be_processes_that_load_the_app_themselves() {
    let bench = Bench::new(|o| {
        fixed(2)(o);
        o.start = Start::Spawn;
    });
    assert_eq!(bench.folder().running().len(), 2);
    let pid = bench.pid();
    signal(pid, Signal::KILL);
    bench.until_logged(&format!("worker {pid} was killed by signal 9 (KILL)"));
    until("there are two again", || bench.serving().len() == 2 && !bench.serving().contains(&pid));
    assert_eq!(bench.folder().scratches(), 2, "one that was killed has left its temporary files");
    bench.folder().set("app", &app("two"));
    signal(bench.pid(), Signal::KILL);
    bench.wait_for(|event| *event == Event::Reloaded { generation: 2 });
    until("the old ones have ended", || bench.folder().running().len() == 2);
    bench.end();
}

#[test]
fn what_forks_must_not_share_has_each_worker_load_the_app_unless_forks_are_asked_for() {
    let why = "each worker loads the app by itself, as forks must not share what it has opened: a pipe";
    let bench = Bench::new(fixed(2));
    assert!(zygote(&bench) > 0, "without anything to share they are forked");
    // what is opened from now on is found at the next load; the process that found it is a worker
    bench.folder().set("holds", "a pipe");
    bench.folder().set("app", &app("two"));
    bench.service.reload(bench.folder().source());
    bench.wait_for(|event| matches!(event, Event::Reloaded { .. }));
    bench.until_logged(why);
    until("the old ones end", || bench.folder().running().len() == 2);
    let mut serving = bench.serving();
    let mut running = bench.folder().running();
    serving.sort_unstable();
    running.sort_unstable();
    assert_eq!(serving, running, "no zygote is left");
    signal(serving[0], Signal::KILL);
    until("another takes its place", || bench.serving().len() == 2 && !bench.serving().contains(&serving[0]));
    // and when it is not there any more, they are forked again
    bench.folder().unset("holds");
    bench.folder().set("app", &app("three"));
    bench.service.reload(bench.folder().source());
    bench.wait_for(|event| matches!(event, Event::Reloaded { .. }));
    until("two workers and a zygote", || bench.folder().running().len() == 3);
    bench.end();

    let folder = Folder::new();
    folder.set("holds", "a pipe");
    let service = folder.start(|o| (o.n_min, o.n_max, o.start) = (1, 1, Start::Fork));
    wait_for(&service, |event| matches!(event, Event::Listening(_)));
    assert!(folder.log().contains("forked workers cannot use what was opened before: a pipe."), "{}", folder.log());
    assert_eq!(folder.running().len(), 2);
    service.stop(None);
    wait_for(&service, |event| *event == Event::Stopped);
    folder.assert_empty();
}

/// A zygote that somebody else has started, as an R session would.
#[expect(clippy::zombie_processes, reason = "the supervisor waits for it")]
fn foreign_zygote(folder: &Folder) -> Source {
    let (ours, theirs) = shm::Channel::pair().unwrap();
    let (program, args) = folder.command();
    let child = Command::new(program)
        .args(args)
        .env("FAKE", folder.path())
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .process_group(0)
        .spawn()
        .unwrap();
    Source::Zygote { channel: ours.into(), pid: child.id() as i32 }
}

#[test]
fn a_zygote_of_the_session_is_asked_for_again_when_it_is_lost() {
    let folder = Folder::new();
    let service = folder.start_with(foreign_zygote(&folder), fixed(1));
    wait_for(&service, |event| matches!(event, Event::Listening(_)));
    let worker = service.snapshot().workers[0].pid;
    let zygote = folder.running().into_iter().find(|&pid| pid != worker).unwrap();
    signal(zygote, Signal::KILL);
    wait_for(&service, |event| *event == Event::ZygoteLost);
    assert_eq!(ask(service.address().inet().unwrap(), "/").unwrap().1, worker.to_string());
    service.adopt_zygote(foreign_zygote(&folder));
    signal(worker, Signal::KILL);
    assert_ne!(ask(service.address().inet().unwrap(), "/").unwrap().1, worker.to_string());
    service.stop(None);
    wait_for(&service, |event| *event == Event::Stopped);
    assert_eq!(folder.running(), [] as [i32; 0]);
}

#[test]
fn a_stop_answers_what_runs_and_a_second_one_does_not_wait() {
    let bench = Bench::new(fixed(1));
    let address = bench.service.address().inet().unwrap();
    let slow = std::thread::spawn(move || ask(address, "/held/slow"));
    bench.until_held(1);
    bench.service.stop(None);
    bench.folder().open("slow");
    assert_eq!(slow.join().unwrap().unwrap().0, 200);
    bench.wait_for(|event| *event == Event::Stopped);
    assert_eq!(bench.folder().running(), [] as [i32; 0]);

    let bench = Bench::new(fixed(1));
    let address = bench.service.address().inet().unwrap();
    let endless = std::thread::spawn(move || ask(address, "/held/for-ever"));
    bench.until_held(1);
    // longer than the test waits
    bench.service.stop(Some(3600.0));
    bench.service.stop(Some(3600.0));
    bench.wait_for(|event| *event == Event::Stopped);
    assert_eq!(bench.folder().running(), [] as [i32; 0]);
    assert_ne!(endless.join().unwrap().map(|answer| answer.0), Some(200));
}

#[test]
fn what_does_not_end_when_asked_is_killed() {
    let bench = Bench::new(fixed(2));
    for path in ["/stubborn", "/stubborn"] {
        bench.ask(path);
    }
    let address = bench.service.address().inet().unwrap();
    let endless = std::thread::spawn(move || ask(address, "/held/for-ever"));
    bench.until_held(1);
    bench.service.stop(Some(0.2));
    bench.wait_for(|event| *event == Event::Stopped);
    assert_eq!(bench.folder().running(), [] as [i32; 0]);
    assert_ne!(endless.join().unwrap().map(|answer| answer.0), Some(200));
}

#[test]
fn a_service_that_is_dropped_takes_all_with_it() {
    let folder = Folder::new();
    let service = folder.start(fixed(3));
    wait_for(&service, |event| matches!(event, Event::WorkerReady { .. }));
    drop(service);
    folder.assert_empty();
}
