//! The thread that has the store: many who ask at once, and a process that is killed while it accepts.

use jobs::{Accepted, Bounds, Desk, JobId, NewJob, Place, State, Store, StoreError};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn job() -> NewJob {
    NewJob { kind: "k".to_owned(), request: vec![7; 100], ..NewJob::default() }
}

fn up_to(unfinished: u64) -> Bounds {
    Bounds { unfinished, bytes: u64::MAX }
}

fn open(place: &Place) -> Desk {
    Desk::open(place, up_to(1_000_000), Duration::ZERO).unwrap()
}

#[test]
fn those_who_ask_at_once_get_their_own_answers() {
    let desk = open(&Place::Memory);
    let answers: Vec<_> = (0..1000).map(|now| desk.ask(move |store| store.accept(&job(), now))).collect();
    let ids: Vec<_> = answers
        .into_iter()
        .map(|answer| match answer.wait().unwrap() {
            Accepted::New(id) => id,
            other => panic!("{other:?}"),
        })
        .collect();
    for (i, id) in ids.into_iter().enumerate() {
        let found = desk.ask(move |store| store.find(id)).wait().unwrap().unwrap();
        assert_eq!(found.created, i as u64);
    }
}

#[test]
fn a_step_that_fails_takes_no_other_along() {
    let desk = open(&Place::Memory);
    let (opened, gate) = std::sync::mpsc::channel::<()>();
    // what follows waits for this, and is then done at once
    let held = desk.ask(move |_| {
        let _ = gate.recv();
        Ok(())
    });
    let fails = |_: &mut Store| Store::open(&Place::File("/nowhere/jobs".into()), up_to(1), Duration::ZERO).map(|_| ());
    let answers =
        (desk.ask(|store| store.accept(&job(), 1)), desk.ask(fails), desk.ask(|store| store.accept(&job(), 2)));
    drop(opened);
    held.wait().unwrap();
    assert!(matches!(answers.0.wait(), Ok(Accepted::New(_))));
    assert!(matches!(answers.1.wait(), Err(StoreError { .. })));
    assert!(matches!(answers.2.wait(), Ok(Accepted::New(_))));
    assert_eq!(desk.ask(|store| Ok(store.unfinished())).wait(), Ok(2));
}

/// Run by the test below, in a process of its own: accepts for as long as it lives, and says which jobs.
#[test]
#[ignore = "the test that follows runs it"]
fn accepts_until_it_is_killed() {
    let path = std::env::var("JOBS_FILE").expect("the test that follows says where");
    let desk = open(&Place::File(path.into()));
    loop {
        let answers: Vec<_> = (0..20).map(|now| desk.ask(move |store| store.accept(&job(), now))).collect();
        for answer in answers {
            if let Accepted::New(id) = answer.wait().unwrap() {
                println!("accepted {id}");
            }
        }
    }
}

fn accepted_until_killed(path: &Path) -> Vec<JobId> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "accepts_until_it_is_killed", "--nocapture"])
        .env("JOBS_FILE", path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ids = Vec::new();
    for line in lines.map_while(Result::ok) {
        // libtest's own words may stand before the first
        ids.extend(line.rsplit_once("accepted ").and_then(|(_, id)| JobId::parse(id)));
        if ids.len() == 50 {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    ids
}

#[test]
fn no_job_that_was_accepted_is_lost_when_the_server_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.sqlite");
    let mut all = Vec::new();
    for _ in 0..3 {
        all.extend(accepted_until_killed(&path));
    }
    assert!(all.len() >= 150);
    let store = Store::open(&Place::File(path), up_to(1_000_000), Duration::ZERO).unwrap();
    for id in all {
        assert_eq!(store.find(id).unwrap().map(|job| job.state), Some(State::Waiting), "{id}");
    }
}
