//! What a lane says of the requests that it has.

use super::{Between, Lane, Said};
use crate::assigned::Assigned;
use bytes::Bytes;
use shm::RequestId;
use std::time::Instant;
use wire::stream::Part;
use wire::{Notice, MOST_LINKS};

impl Lane {
    /// The next thing it says, read at `now`, and how many bytes that took.
    pub(crate) fn receive(&mut self, now: Instant) -> Option<(usize, Said)> {
        if self.broken {
            return None;
        }
        let (id, message) = self.link.receive()?;
        self.r.iter_mut().for_each(Between::speaks);
        let len = message.len();
        if id == RequestId::NOBODY {
            return Some((len, Said::Command(message)));
        }
        let Some(held) = self.held_mut(id) else {
            let file = self.link.file_of(id, &message);
            return Some((len, Said::Reply { request: None, message, file }));
        };
        let runs = held.runs;
        let before = self.load(runs).n;
        let said = self.understand(id, message);
        let load = self.load_mut(runs);
        if load.n < before {
            // a thread is free again: a piece of a stream is no such thing
            load.since = now;
        }
        self.broken |= said.is_none();
        said.map(|said| (len, said))
    }

    /// `None` when that cannot be said.
    fn understand(&mut self, id: RequestId, message: Bytes) -> Option<Said> {
        // what was not begun cannot be answered
        if !self.link.has_begun(id) {
            return None;
        }
        if message.is_empty() {
            let held = self.held_mut(id)?;
            if std::mem::replace(&mut held.later, true) {
                return Some(Said::Aside);
            }
            let Assigned { key, request, expected, .. } = held.request;
            let (runs, is_awaited) = (held.runs, held.is_awaited());
            self.load_mut(runs).remove(expected);
            if !is_awaited {
                return Some(Said::Aside);
            }
            self.awaited += 1;
            self.leaves(request);
            return Some(Said::Later(key));
        }
        let held = self.held_mut(id)?;
        if Notice::is_one(&message) {
            if let Notice::Links(_) = Notice::decode(&message).ok()? {
                if held.links == MOST_LINKS {
                    return Some(Said::Aside);
                }
                held.links += 1;
            }
            return Some(Said::Notice(held.request.key, message));
        }
        if let Some(stream) = &mut held.stream {
            return match Part::decode(&message).ok()? {
                Part::Piece(_) => stream.take(message.slice(Part::BEFORE..)).then_some(Said::Aside),
                Part::End { whole, micros, .. } => {
                    stream.end(whole, message.slice(Part::BEFORE..));
                    let request = self.free(id)?;
                    Some(Said::End { request, micros })
                }
            };
        }
        if Part::decode(&message).is_ok() {
            return None;
        }
        if wire::Reply::is_head(&message) {
            let request = held.request;
            return Some(Said::Head { request, message });
        }
        let file = self.link.file_of(id, &message);
        let request = self.free(id);
        Some(Said::Reply { request, message, file })
    }
}
