//! The life of jobs, step by step, by a clock that the test sets.

use jobs::{
    Accepted, Attempt, Bounds, Cancelled, End, Full, JobId, Kept, NewJob, Outcome, Place, Progress, Room, Rules, State,
    Store,
};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

const RULES: Rules = Rules { retries: 0, backoff: 1000, keep: 10_000 };

fn up_to(unfinished: u64) -> Bounds {
    Bounds { unfinished, bytes: u64::MAX }
}

fn store() -> Store {
    Store::open(&Place::Memory, up_to(1000), Duration::ZERO).unwrap()
}

fn at(path: &Path) -> Result<Store, String> {
    Store::open(&Place::File(path.to_owned()), up_to(1000), Duration::ZERO).map_err(|e| e.to_string())
}

fn of(kind: &str) -> NewJob {
    NewJob { kind: kind.to_owned(), request: b"request".to_vec(), ..NewJob::default() }
}

fn accept(store: &mut Store, job: &NewJob, now: u64) -> JobId {
    match store.accept(job, now).unwrap() {
        Accepted::New(id) => id,
        other => panic!("{other:?}"),
    }
}

fn claim(store: &mut Store, kind: &str, most: usize, now: u64) -> Vec<Attempt> {
    store.claim(&[Room { kind: kind.to_owned(), free: most }], most, now).unwrap()
}

fn one(store: &mut Store, now: u64) -> Attempt {
    claim(store, "k", 9, now).pop().expect("a job waits")
}

fn done(body: &[u8]) -> End {
    End::Done(Outcome { status: 200, content_type: Some("text/plain".to_owned()), body: body.to_vec() })
}

fn failed(may_retry: bool) -> End {
    End::Failed { error: "no".to_owned(), may_retry }
}

fn lost() -> End {
    End::Lost { error: "gone".to_owned() }
}

fn state(store: &Store, id: JobId) -> State {
    store.find(id).unwrap().expect("the job is there").state
}

#[test]
fn a_job_is_run_once_and_has_its_result() {
    let mut store = store();
    let id = accept(&mut store, &NewJob { body: Some(b"long".to_vec()), ..of("k") }, 5);
    assert_eq!((state(&store, id), store.unfinished()), (State::Waiting, 1));
    let attempt = one(&mut store, 6);
    assert_eq!((attempt.id, attempt.attempt, &attempt.request[..]), (id, 1, &b"request"[..]));
    assert_eq!(attempt.body.as_deref(), Some(&b"long"[..]));
    assert!(claim(&mut store, "k", 9, 7).is_empty());
    assert_eq!(store.end(id, 1, &done(b"42"), &RULES, 8).unwrap(), Kept::As(State::Done));
    let job = store.find(id).unwrap().unwrap();
    assert_eq!((job.created, job.began, job.ended, job.error), (5, Some(6), Some(8), None));
    assert_eq!(store.result(id).unwrap().unwrap().body, b"42");
    assert_eq!(store.unfinished(), 0);
    assert_eq!(store.end(id, 1, &failed(false), &RULES, 9).unwrap(), Kept::Stale);
    assert!(!store.retry(id, 9).unwrap());
}

#[test]
fn the_first_is_the_one_of_the_highest_priority_and_then_the_oldest() {
    let mut store = store();
    let ids: Vec<_> = [("a", 0), ("b", 5), ("a", 5), ("a", -1)]
        .iter()
        .map(|(kind, priority)| accept(&mut store, &NewJob { priority: *priority, ..of(kind) }, 1))
        .collect();
    let rooms = [Room { kind: "a".to_owned(), free: 9 }, Room { kind: "b".to_owned(), free: 9 }];
    let order: Vec<_> = store.claim(&rooms, 3, 2).unwrap().iter().map(|attempt| attempt.id).collect();
    assert_eq!(order, [ids[1], ids[2], ids[0]]);
    assert_eq!(state(&store, ids[3]), State::Waiting);
}

#[test]
fn a_kind_has_no_more_attempts_than_its_room_and_another_is_not_held_up() {
    let mut store = store();
    for kind in ["a", "a", "a", "b"] {
        accept(&mut store, &of(kind), 1);
    }
    let rooms = [Room { kind: "a".to_owned(), free: 1 }, Room { kind: "b".to_owned(), free: 1 }];
    let kinds: Vec<_> = store.claim(&rooms, 9, 2).unwrap().into_iter().map(|attempt| attempt.kind).collect();
    assert_eq!(kinds, ["a", "b"]);
    assert!(claim(&mut store, "a", 0, 3).is_empty() && claim(&mut store, "other", 9, 3).is_empty());
}

#[test]
fn jobs_for_later_wait_for_their_time() {
    let mut store = store();
    let id = accept(&mut store, &NewJob { due: Some(100), ..of("k") }, 1);
    let past = accept(&mut store, &NewJob { due: Some(1), ..of("other") }, 1);
    assert_eq!((state(&store, id), state(&store, past)), (State::Scheduled, State::Waiting));
    assert!(claim(&mut store, "k", 9, 99).is_empty());
    assert_eq!(store.next_due().unwrap(), Some(100));
    assert_eq!(one(&mut store, 100).id, id);
    assert_eq!(store.next_due().unwrap(), None);
}

#[test]
fn what_fails_is_tried_again_after_ever_longer_times_as_often_as_its_kind_says() {
    let mut store = store();
    let rules = Rules { retries: 2, ..RULES };
    let id = accept(&mut store, &of("k"), 0);
    for (attempt, now, due) in [(1, 10, 1010), (2, 1010, 3010)] {
        assert_eq!(one(&mut store, now).attempt, attempt);
        assert_eq!(store.end(id, attempt, &failed(true), &rules, now).unwrap(), Kept::As(State::Scheduled));
        assert_eq!(store.next_due().unwrap(), Some(due));
    }
    assert_eq!(one(&mut store, 3010).attempt, 3);
    assert_eq!(store.end(id, 3, &failed(true), &rules, 3011).unwrap(), Kept::As(State::Failed));
    let job = store.find(id).unwrap().unwrap();
    assert_eq!((job.error.as_deref(), job.ended, store.unfinished()), (Some("no"), Some(3011), 0));
    // its operator may have it tried again
    assert!(store.retry(id, 4000).unwrap());
    assert_eq!((one(&mut store, 4000).attempt, store.unfinished()), (4, 1));
}

#[test]
fn what_cannot_do_better_is_not_tried_again() {
    let mut store = store();
    let id = accept(&mut store, &of("k"), 0);
    one(&mut store, 1);
    let rules = Rules { retries: 9, ..RULES };
    assert_eq!(store.end(id, 1, &failed(false), &rules, 2).unwrap(), Kept::As(State::Failed));
}

#[test]
fn what_is_lost_is_run_again_but_not_for_ever() {
    let mut store = store();
    let id = accept(&mut store, &of("k"), 0);
    for attempt in 1..3 {
        one(&mut store, 1);
        assert_eq!(store.end(id, attempt, &lost(), &RULES, 2).unwrap(), Kept::As(State::Waiting));
    }
    one(&mut store, 3);
    assert_eq!(store.end(id, 3, &lost(), &RULES, 4).unwrap(), Kept::As(State::Failed));
}

#[test]
fn what_was_not_run_counts_for_nothing() {
    let mut store = store();
    let id = accept(&mut store, &of("k"), 0);
    for attempt in 1..9 {
        one(&mut store, attempt.into());
        let kept = store.end(id, attempt, &End::Back { delay: 0 }, &RULES, attempt.into());
        assert_eq!(kept.unwrap(), Kept::As(State::Waiting));
    }
}

#[test]
fn only_the_latest_attempt_is_believed() {
    let mut store = store();
    let id = accept(&mut store, &of("k"), 0);
    one(&mut store, 1);
    store.end(id, 1, &lost(), &RULES, 2).unwrap();
    one(&mut store, 3);
    let said = Progress { done: 1.0, total: None, message: None };
    assert!(!store.progress(id, 1, said.clone()).unwrap());
    assert_eq!(store.end(id, 1, &done(b"stale"), &RULES, 4).unwrap(), Kept::Stale);
    assert!(store.progress(id, 2, said.clone()).unwrap());
    assert_eq!(store.find(id).unwrap().unwrap().progress, Some(said));
    assert_eq!(store.end(id, 2, &done(b"right"), &RULES, 5).unwrap(), Kept::As(State::Done));
    assert_eq!(store.result(id).unwrap().unwrap().body, b"right");
    assert_eq!(store.find(id).unwrap().unwrap().progress, None);
}

#[test]
fn what_is_cancelled_is_not_run_and_what_its_attempt_says_counts_for_nothing() {
    let mut store = store();
    let (waiting, running) = (accept(&mut store, &of("w"), 0), accept(&mut store, &of("k"), 0));
    one(&mut store, 1);
    assert_eq!(store.cancel(waiting, 9, 2).unwrap(), Some(Cancelled::Now));
    assert_eq!(store.cancel(running, 9, 2).unwrap(), Some(Cancelled::Running(1)));
    assert_eq!(store.cancel(running, 9, 2).unwrap(), Some(Cancelled::Over(State::Cancelled)));
    assert_eq!(store.cancel(JobId::new().unwrap(), 9, 2).unwrap(), None);
    assert!(claim(&mut store, "w", 9, 3).is_empty());
    assert_eq!(store.end(running, 1, &done(b"late"), &RULES, 3).unwrap(), Kept::Stale);
    assert_eq!((state(&store, running), store.unfinished()), (State::Cancelled, 0));
    assert_eq!(store.result(running).unwrap(), None);
}

#[test]
fn a_key_is_that_of_one_job_of_its_kind_until_that_is_forgotten() {
    let mut store = store();
    let keyed = |kind: &str| NewJob { key: Some("x".to_owned()), ..of(kind) };
    let id = accept(&mut store, &keyed("k"), 0);
    assert_eq!(store.accept(&keyed("k"), 1).unwrap(), Accepted::Existing(id));
    accept(&mut store, &keyed("other"), 1);
    one(&mut store, 2);
    assert_eq!(store.accept(&keyed("k"), 3).unwrap(), Accepted::Existing(id));
    store.end(id, 1, &failed(false), &RULES, 4).unwrap();
    assert_eq!(store.accept(&keyed("k"), 5).unwrap(), Accepted::Existing(id));
    store.remove(id).unwrap();
    assert_ne!(accept(&mut store, &keyed("k"), 6), id);
}

#[test]
fn there_are_no_more_unfinished_jobs_than_the_store_takes() {
    let mut store = Store::open(&Place::Memory, up_to(2), Duration::ZERO).unwrap();
    let id = accept(&mut store, &of("k"), 0);
    accept(&mut store, &of("k"), 0);
    assert_eq!(store.accept(&of("k"), 0).unwrap(), Accepted::Full(Full::Jobs));
    store.cancel(id, 9, 1).unwrap();
    accept(&mut store, &of("k"), 2);
}

#[test]
fn jobs_take_no_more_room_than_the_store_has() {
    let bounds = Bounds { unfinished: 1000, bytes: 1 << 20 };
    let mut store = Store::open(&Place::Memory, bounds, Duration::ZERO).unwrap();
    let long = NewJob { body: Some(vec![7; 200_000]), ..of("k") };
    let accepted = |store: &mut Store, job: &NewJob| store.at_once(|store| store.accept(job, 0)).unwrap();
    // those of one transaction count, too
    let all = store.at_once(|store| (0..9).map(|_| store.accept(&long, 0)).collect::<Result<Vec<_>, _>>()).unwrap();
    assert_eq!(all.iter().filter(|one| matches!(one, Accepted::New(_))).count(), 4);
    assert_eq!(accepted(&mut store, &long), Accepted::Full(Full::Bytes));
    // what is smaller has room, and so has what comes when another one is forgotten
    let small = accepted(&mut store, &of("k"));
    assert!(matches!(small, Accepted::New(_)));
    let Accepted::New(first) = all[0] else { panic!() };
    store.at_once(|store| store.cancel(first, 9, 1)).unwrap();
    assert_eq!(accepted(&mut store, &long), Accepted::Full(Full::Bytes));
    assert!(store.at_once(|store| store.remove(first)).unwrap());
    assert!(matches!(accepted(&mut store, &long), Accepted::New(_)));
    // results are kept in the same room
    let rooms = [Room { kind: "k".to_owned(), free: 9 }];
    let claimed = store.at_once(|store| store.claim(&rooms, 9, 2)).unwrap();
    for attempt in &claimed {
        let end = End::Done(Outcome { status: 200, content_type: None, body: vec![1; 200_000] });
        store.at_once(|store| store.end(attempt.id, attempt.attempt, &end, &RULES, 3)).unwrap();
    }
    assert_eq!((claimed.len(), store.unfinished()), (5, 0));
    assert_eq!(accepted(&mut store, &long), Accepted::Full(Full::Bytes));
    store.at_once(|store| store.forget(20_000)).unwrap();
    assert!(matches!(accepted(&mut store, &long), Accepted::New(_)));
}

#[test]
fn what_is_over_is_forgotten_in_time_or_when_it_is_removed() {
    let mut store = store();
    let (id, other) = (accept(&mut store, &of("k"), 0), accept(&mut store, &of("k"), 0));
    assert!(!store.remove(id).unwrap());
    for attempt in claim(&mut store, "k", 9, 1) {
        store.end(attempt.id, 1, &done(b"x"), &RULES, 5).unwrap();
    }
    assert!(store.remove(other).unwrap());
    assert_eq!(store.forget(10_004).unwrap(), 0);
    assert_eq!(store.forget(10_005).unwrap(), 1);
    assert_eq!((store.find(id).unwrap(), store.result(id).unwrap()), (None, None));
}

#[test]
fn there_is_one_job_for_a_turn_and_none_while_the_one_before_is_not_over() {
    let mut store = store();
    assert_eq!(store.take_turn(&of("k"), 7, 0).unwrap(), None, "the first turn is over");
    assert_eq!(store.take_turn(&of("k"), 7, 0).unwrap(), None);
    let id = store.take_turn(&of("k"), 8, 1).unwrap().expect("a turn has come");
    assert_eq!(store.take_turn(&of("k"), 8, 2).unwrap(), None, "it was taken");
    assert_eq!(store.take_turn(&of("k"), 7, 2).unwrap(), None, "the clock was set back");
    assert_eq!(store.take_turn(&of("k"), 9, 3).unwrap(), None, "the one before is not over");
    assert_eq!(one(&mut store, 3).id, id);
    assert_eq!(store.take_turn(&of("k"), 10, 4).unwrap(), None, "it runs");
    store.end(id, 1, &done(b""), &RULES, 5).unwrap();
    let next = store.take_turn(&of("k"), 15, 6).unwrap().expect("those that have passed are one");
    assert_ne!(next, id);
    assert_eq!((claim(&mut store, "k", 9, 7).len(), store.unfinished()), (1, 1));
    assert_eq!(store.take_turn(&of("other"), 15, 6).unwrap(), None);
}

#[test]
fn jobs_are_listed_and_counted() {
    let mut store = store();
    let ids: Vec<_> = (0..3).map(|_| accept(&mut store, &of("k"), 0)).collect();
    accept(&mut store, &of("other"), 0);
    claim(&mut store, "k", 1, 1);
    let listed = |kind, state, most| -> Vec<_> {
        store.list(kind, state, most).unwrap().into_iter().map(|job| job.id).collect()
    };
    assert_eq!(listed(Some("k"), None, 2), [ids[2], ids[1]]);
    assert_eq!(listed(None, Some(State::Running), 9), [ids[0]]);
    assert_eq!(listed(None, None, 9).len(), 4);
    let counts = store.counts().unwrap();
    assert_eq!(counts["k"], [(State::Waiting, 2), (State::Running, 1)]);
    assert_eq!(counts["other"], [(State::Waiting, 1)]);
}

#[test]
fn a_step_that_fails_leaves_nothing_of_those_beside_it() {
    let mut store = store();
    let made = store.at_once(|store| {
        let id = accept(store, &of("k"), 0);
        one(store, 1);
        store.end(id, 1, &done(b"x"), &RULES, 2)?;
        accept(store, &of("k"), 3);
        Store::open(&Place::File("/nowhere/jobs".into()), up_to(1), Duration::ZERO).map(|_| ())
    });
    assert!(made.is_err());
    assert_eq!((store.unfinished(), store.list(None, None, 9).unwrap().len()), (0, 0));
}

#[test]
fn a_file_is_taken_up_where_the_server_before_has_left_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.sqlite");
    let (waiting, running, over) = {
        let mut store = at(&path).unwrap();
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let over = accept(&mut store, &of("k"), 0);
        one(&mut store, 1);
        store.end(over, 1, &done(b"kept"), &Rules { keep: u64::MAX, ..RULES }, 2).unwrap();
        let running = accept(&mut store, &of("k"), 3);
        one(&mut store, 4);
        (accept(&mut store, &of("other"), 5), running, over)
    };
    let mut store = at(&path).unwrap();
    assert_eq!(store.unfinished(), 2);
    assert_eq!((state(&store, waiting), state(&store, running)), (State::Waiting, State::Waiting));
    assert_eq!(store.result(over).unwrap().unwrap().body, b"kept");
    let again = one(&mut store, 6);
    assert_eq!((again.id, again.attempt), (running, 2));
}

#[test]
fn a_job_that_takes_servers_along_is_not_tried_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.sqlite");
    let id = accept(&mut at(&path).unwrap(), &of("k"), 0);
    for attempt in 1..4 {
        let mut store = at(&path).unwrap();
        assert_eq!(one(&mut store, 1).attempt, attempt);
    }
    let store = at(&path).unwrap();
    assert_eq!((state(&store, id), store.unfinished()), (State::Failed, 0));
}

#[test]
fn a_file_is_for_one_server_and_of_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.sqlite");
    let first = at(&path).unwrap();
    let why = at(&path).err().unwrap();
    assert!(why.starts_with("another server has it open"), "{why}");
    drop(first);
    at(&path).unwrap();
    let text = folder.path().join("text");
    std::fs::write(&text, "a,b\n1,2\n".repeat(100)).unwrap();
    assert!(at(&text).err().unwrap().contains("not a database"));
    let other = folder.path().join("other.sqlite");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    assert_eq!(at(&other).err().unwrap(), "it is a database of something else");
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert_eq!(at(&path).err().unwrap(), "a newer drover has written it: its version is 99");
    assert!(at(&folder.path().join("none/jobs.sqlite")).err().unwrap().contains("No such file"));
}
