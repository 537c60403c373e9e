//! What R wants the server to do, and what that answers. `src/commands.c` calls this.

use crate::link::Link;
use crate::node::{Kind, Node, Str};
use crate::service::RunningService;
use crate::shield::shield;
use crate::strings::with_guard;
use std::cell::RefCell;
use std::ptr;
use wire::command::{Answer, Command, JobAsk, PurgeBy};

/// `drv_command` in `drover_rust.h`.
#[repr(C)]
pub struct CCommand {
    /// as in [`Command`], from 0
    kind: i32,
    /// whether a message is bytes; the code of a close; by what is purged; what is asked of a job
    small: i32,
    connection: f64,
    /// or what is purged, where a job is accepted, or which job
    room: Str,
    /// a message, a reason, a name, or a job
    bytes: Str,
}

impl CCommand {
    /// # Safety
    /// The texts are there.
    unsafe fn read<'a>(&self) -> Option<Command<'a>> {
        // SAFETY: the caller's.
        let (room, bytes) = unsafe { (self.room.as_bytes(), self.bytes.as_bytes()) };
        let (connection, binary) = (self.connection as u64, self.small != 0);
        Some(match self.kind {
            0 => Command::Send { to: connection, binary, message: bytes },
            1 => Command::Close { connection, code: u16::try_from(self.small).ok()?, reason: bytes },
            2 => Command::Join { connection, room, name: bytes },
            3 => Command::Leave { connection, room },
            4 => Command::Broadcast { room, binary, message: bytes, except: connection },
            5 => Command::Members { room },
            6 => Command::Rooms,
            7 => Command::Purge { by: PurgeBy::of(self.small as u32)?, text: room },
            8 => Command::Enqueue { target: room, job: bytes },
            9 => Command::Job { ask: JobAsk::of(self.small as u32)?, which: room },
            _ => return None,
        })
    }
}

/// What of a command has to be UTF-8.
fn texts_of<'a>(command: &Command<'a>) -> [&'a [u8]; 2] {
    match *command {
        Command::Send { binary: false, message, .. } => [message, b""],
        Command::Close { reason, .. } => [reason, b""],
        Command::Join { room, name, .. } => [room, name],
        Command::Leave { room, .. } | Command::Members { room } => [room, b""],
        Command::Purge { text, .. } => [text, b""],
        Command::Enqueue { target, .. } => [target, b""],
        Command::Job { which, .. } => [which, b""],
        Command::Broadcast { room, binary, message, .. } => [room, if binary { b"" } else { message }],
        Command::Send { .. } | Command::Rooms | Command::Seed { .. } => [b"", b""],
    }
}

thread_local! {
    /// What C reads of the last answer.
    static ANSWER: RefCell<Table> = RefCell::default();
}

/// Frees the last answer, which C no longer reads.
pub(crate) fn forget() {
    ANSWER.take();
}

/// An answer as a list of two: numbers, and as many texts, or runs of bytes.
#[derive(Default)]
struct Table {
    numbers: Vec<f64>,
    texts: Vec<Vec<u8>>,
    strings: Vec<Str>,
    bytes: Vec<Node>,
    columns: Vec<Node>,
    root: Node,
    /// whether the command that was sent last has bytes for an answer
    wants_bytes: bool,
}

impl Table {
    fn fill(&mut self, answer: &[u8]) {
        let Answer(all) = Answer::decode(answer).unwrap_or_default();
        (self.numbers, self.texts) = all.into_iter().map(|(number, text)| (number as f64, text)).unzip();
        // one of these is filled: the other would point to texts that are no more
        (self.strings, self.bytes) = Default::default();
        let second = if self.wants_bytes {
            self.bytes.extend(self.texts.iter().map(|text| Node::vector(Kind::Raw, text)));
            Node::vector(Kind::List, &self.bytes)
        } else {
            self.strings.extend(self.texts.iter().map(|text| Str::new(text)));
            Node::vector(Kind::Str, &self.strings)
        };
        self.columns = vec![Node::vector(Kind::Dbl, &self.numbers), second];
        self.root = Node::vector(Kind::List, &self.columns);
        if !self.wants_bytes && self.texts.iter().any(|text| !text.is_empty()) {
            with_guard(|guard| {
                // texts of many clients, and of no one request: count them, refuse none
                guard.begin();
                let _ = guard.check(usize::MAX, |visit| self.root.strings(visit));
                guard.begin();
            });
        }
    }
}

/// Sends a command to the server of this link or, without one, of this service. 1 when it is sent, 2 when
/// [`drv_command_answer`] gets its answer, 0 when there is no server, -1 when a text is not UTF-8.
///
/// # Safety
/// `link` and `service` are live or null; the command's texts are C's for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_command_send(
    link: *mut Link,
    service: *const RunningService,
    command: *const CCommand,
) -> i32 {
    // SAFETY: the caller's.
    let (link, service, command) = unsafe { (link.as_mut(), service.as_ref(), (*command).read()) };
    shield(0, || {
        let Some(command) = command else { return 0 };
        if texts_of(&command).into_iter().any(|text| std::str::from_utf8(text).is_err()) {
            return -1;
        }
        let wants_bytes = matches!(command, Command::Job { .. });
        ANSWER.with_borrow_mut(|table| table.wants_bytes = wants_bytes);
        let said = match (link, service) {
            (Some(link), _) => link.worker.command(&command),
            (None, Some(service)) => {
                let mut message = Vec::new();
                command.encode(0, &mut message);
                // none comes of a server that is ending
                let answer = service.execute(message).unwrap_or_default();
                ANSWER.with_borrow_mut(|table| table.fill(&answer));
                true
            }
            (None, None) => false,
        };
        match (said, command.is_answered()) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 2,
        }
    })
}

/// The answer to what was said last: numbers and texts. Null as long as it has not come. Without a link it has.
///
/// # Safety
/// `link` is live or null. The node lives until something else is said.
#[no_mangle]
pub unsafe extern "C" fn drv_command_answer(link: *mut Link) -> *const Node {
    // SAFETY: the caller's.
    let link = unsafe { link.as_mut() };
    shield(ptr::null(), || {
        ANSWER.with_borrow_mut(|table| {
            if let Some(link) = link {
                let Some(answer) = link.worker.receive_answer() else { return ptr::null() };
                table.fill(&answer);
            }
            ptr::from_ref(&table.root)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_collide_in_a_list_are_noticed_and_blamed_on_no_request() {
        // "Ab" and "BA" have one hash in R
        let block = |bit: u64| if bit == 0 { "Ab" } else { "BA" };
        let name = |bits: u64| (0..6).map(|i| block(bits >> i & 1)).collect::<String>().into_bytes();
        let members = Answer((0..64).map(|bits| (bits, name(bits))).collect());
        let mut bytes = Vec::new();
        members.encode(0, &mut bytes);
        let mut table = Table::default();
        table.fill(&bytes);
        assert!(with_guard(|guard| guard.collides()));
        assert!(with_guard(|guard| guard.check(2, |visit| visit(&name(0)))).is_ok());
    }
}
