//! Answers of C handlers of this process, packed by the terms of their requests. Neighbour: `worker::packed`, the same
//! for messages of workers.

use bytes::Bytes;
use coding::{pack, Coding, Pieces, Terms};
use exchange::{Answer, Head, Response};

/// The longest body that an I/O thread packs itself, in bytes: half a millisecond of work. What inline handlers answer
/// beyond that is sent as it is.
pub const INLINE: usize = 64 << 10;

/// The answer, packed if it may be and its body has at most `most` bytes.
pub fn packed(answer: Answer, terms: Option<&[u8]>, most: usize) -> Answer {
    let Answer::Response(Response { head, body }) = answer else { return answer };
    let whole = terms.filter(|_| body.len() <= most).and_then(|terms| {
        let terms = Terms::read(terms)?;
        let (coding, level) = terms.whole.filter(|_| allows(&terms, &head, Some(body.len() as u64)))?;
        Some((coding, pack(&body, coding, level, Bytes::copy_from_slice)?))
    });
    Answer::Response(match whole {
        Some((coding, body)) => Response { head: said(head, coding), body },
        None => Response { head, body },
    })
}

/// The head of a stream, and what packs its pieces, if they may be packed.
pub fn packed_stream(head: Head, terms: Option<&[u8]>) -> (Head, Option<Pieces>) {
    let level = terms.and_then(|terms| {
        let terms = Terms::read(terms)?;
        terms.streams.filter(|_| allows(&terms, &head, None))
    });
    match level {
        Some(level) => (said(head, Coding::Gzip), Some(Pieces::new(level))),
        None => (head, None),
    }
}

fn fields(head: &Head) -> impl Iterator<Item = (&[u8], &[u8])> {
    head.headers.iter().map(|(name, value)| (&name[..], &value[..]))
}

fn allows(terms: &Terms<'_>, head: &Head, len: Option<u64>) -> bool {
    terms.allow(head.status, head.content_type.as_deref(), fields(head), len)
}

fn said(head: Head, coding: Coding) -> Head {
    let headers = Terms::fields(coding, fields(&head)).map(|(name, value)| (name.to_vec(), value.into_owned()));
    Head { headers: headers.collect(), ..head }
}
