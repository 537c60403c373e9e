//! A process that is watched while it loads an app.

use crate::files::{self, OpenFile, OpenFiles};
use crate::kind::{self, Kind};
use crate::threads;
use std::collections::{HashMap, HashSet};

/// What a process held when it was first looked at, and where in the app's files the rest came from.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    files: OpenFiles,
    threads: HashSet<i32>,
    places: Vec<String>,
    /// which of the places something came from
    origins: HashMap<Item, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Item {
    File(OpenFile),
    Thread(i32),
}

/// What a process holds that forks of it must not share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unshared {
    files: Vec<OpenFile>,
    text: String,
}

impl Watch {
    /// From now on: what is there does not count.
    pub fn begin() -> Watch {
        Watch { files: OpenFiles::now(), threads: threads::now(), ..Watch::default() }
    }

    /// What is new since the last time came from this place, such as a line of a file.
    pub fn came_from(&mut self, place: &str) {
        let mut is_origin = false;
        for item in self.new_items() {
            self.origins.entry(item).or_insert_with(|| {
                is_origin = true;
                self.places.len()
            });
        }
        if is_origin {
            self.places.push(place.to_owned());
        }
    }

    fn new_items(&self) -> Vec<Item> {
        let files = OpenFiles::now().beyond(&self.files).into_iter().map(Item::File);
        files.chain(self.new_threads().into_iter().map(Item::Thread)).collect()
    }

    fn new_threads(&self) -> Vec<i32> {
        let mut new: Vec<i32> = threads::now().difference(&self.threads).copied().collect();
        new.sort_unstable();
        new
    }

    /// What there is now that was not there at the beginning, and that forks must not share. Of files, only `known`
    /// ones, if that is given.
    pub fn unshared(&self, known: Option<&OpenFiles>) -> Unshared {
        let mut now = OpenFiles::now();
        if let Some(known) = known {
            now.keep(known);
        }
        let new = now.beyond(&self.files);
        let files = files::unshared(&new, &self.files.listeners());
        let threads = threads::missed(self.new_threads());
        let origin = |item: Item| self.origins.get(&item).copied();
        let mut groups = Groups::default();
        for (file, kind, which) in &files {
            groups.add(origin(Item::File(*file)), *kind, which);
        }
        for (thread, library) in &threads {
            groups.add(origin(Item::Thread(*thread)), kind::THREAD, library);
        }
        Unshared { files: files.iter().map(|(file, ..)| *file).collect(), text: groups.text(&self.places) }
    }
}

impl Unshared {
    /// What it is, for a person, and where in the app it came from: `app.R, line 3: 2 connections (127.0.0.1:5432)`.
    /// Empty when it is nothing.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// In a fork: has nothing of it any more. Descriptors stay taken, and using them is an error.
    pub fn drop_here(&self) {
        self.files.iter().for_each(OpenFile::blind);
    }
}

/// Things of one kind from one place, if that is known, with what tells them apart.
struct Group<'a> {
    origin: Option<usize>,
    kind: Kind,
    n: usize,
    which: Vec<&'a str>,
}

#[derive(Default)]
struct Groups<'a>(Vec<Group<'a>>);

/// How many of a group are told apart.
const TOLD: usize = 3;

impl<'a> Groups<'a> {
    fn add(&mut self, origin: Option<usize>, kind: Kind, which: &'a str) {
        let at = self.0.iter().position(|group| (group.origin, group.kind) == (origin, kind)).unwrap_or_else(|| {
            self.0.push(Group { origin, kind, n: 0, which: Vec::new() });
            self.0.len() - 1
        });
        let group = &mut self.0[at];
        group.n += 1;
        if !which.is_empty() && !group.which.contains(&which) {
            group.which.push(which);
        }
    }

    /// In the order in which they came. What came from an unknown place is first: it would seem to have come from the
    /// place before it.
    fn text(mut self, places: &[String]) -> String {
        self.0.sort_by_key(|group| group.origin);
        let mut last = None;
        let mut parts = Vec::new();
        for group in &self.0 {
            let is_new = std::mem::replace(&mut last, group.origin) != group.origin;
            let place = group.origin.filter(|_| is_new).and_then(|origin| places.get(origin));
            let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
            parts.push(place + &group.text());
        }
        parts.join("; ")
    }
}

impl Group<'_> {
    fn text(&self) -> String {
        let Kind { one, several } = self.kind;
        let what = if self.n == 1 { format!("a {one}") } else { format!("{} {several}", self.n) };
        if self.which.is_empty() {
            return what;
        }
        let more = if self.which.len() > TOLD { ", ..." } else { "" };
        format!("{what} ({}{more})", self.which[..self.which.len().min(TOLD)].join(", "))
    }
}
