//! What is kept in the codings that clients accept: packed once for each, by threads of their own, so that neither an
//! I/O thread nor a worker is held up. Which responses may be packed is the policy's to say (`edge/compress.rs`).
//!
//! Brotli packs best and takes ten times as long as the others. So no client waits for it: those that accept it get
//! another coding until it is there.

use super::{Cache, Joined, Key, Landed, Variant, Waiter};
use crate::edge::threads::{Asked, Threads};
use bytes::Bytes;
use coding::{pack, Coding};
use http::header::{CONTENT_ENCODING, ETAG};
use httpd::{Body, Response};
use std::borrow::Borrow;
use std::sync::Arc;

/// For what clients wait for: a millisecond for 100 kB.
static QUICK: Threads = Threads::new("drover-pack");
/// For what they do not.
static SLOW: Threads = Threads::new("drover-brotli");

/// A body in one coding.
#[derive(Debug, Clone, Default)]
pub enum Packed {
    #[default]
    NotYet,
    /// it does not get shorter
    Useless,
    Is(Bytes),
}

/// A body in each coding.
#[derive(Debug, Clone, Default)]
pub struct Codings([Packed; Coding::ALL.len()]);

impl Codings {
    pub fn of(&self, coding: Coding) -> &Packed {
        &self.0[coding as usize]
    }

    pub fn set(&mut self, coding: Coding, packed: Packed) {
        self.0[coding as usize] = packed;
    }

    /// Bytes that they take.
    pub fn len(&self) -> usize {
        self.0.iter().map(|packed| if let Packed::Is(bytes) = packed { bytes.len() } else { 0 }).sum()
    }
}

/// Packs a body for the client of its request. `None` when there is too much to do.
pub fn ask(body: Bytes, coding: Coding, level: u8) -> Option<Asked<Packed>> {
    QUICK.ask(move || packed(&body, coding, level))
}

fn packed(body: &[u8], coding: Coding, level: u8) -> Packed {
    pack(body, coding, level, Bytes::copy_from_slice).map_or(Packed::Useless, Packed::Is)
}

/// Has a response sent in this coding.
pub fn encode(response: &mut Response, coding: Coding, body: Bytes) {
    // a response that has one is not packed
    response.fields.add(&CONTENT_ENCODING, coding.name());
    // other bytes than those that it stands for (RFC 9110 section 8.8.1)
    let weak = response.fields.get(&ETAG).filter(|tag| !tag.starts_with(b"W/")).map(|tag| [b"W/", tag].concat());
    if let Some(weak) = weak {
        response.fields.set(&ETAG, weak);
    }
    response.body = Body::bytes(body);
}

impl Cache {
    /// Has what is kept packed in one more coding, unless that is under way; its end can be waited for. `None` when
    /// there is too much to do.
    pub fn pack(self: &Arc<Self>, key: &Key, variant: &Arc<Variant>, coding: Coding, level: u8) -> Option<Waiter> {
        let key_bytes: &[u8] = key.borrow();
        // neither a key nor what is asked for has this byte: it is no request's flight
        let name = [key_bytes, b"\n", &variant.asked, b"\0", coding.name().as_bytes()].concat();
        let flight = match self.flights.join(name.into()) {
            Joined::First(flight) => flight,
            Joined::Waiting(waiter) => return Some(waiter),
        };
        let waiter = flight.waiter();
        let threads = if coding == Coding::Brotli { &SLOW } else { &QUICK };
        let (cache, key, variant) = (self.clone(), key.clone(), variant.clone());
        let is_told = threads.tell(move || {
            let packed = packed(&variant.body, coding, level);
            flight.land(Landed::Kept(cache.store.add(&key, &variant, coding, packed)));
        });
        is_told.then_some(waiter)
    }
}
