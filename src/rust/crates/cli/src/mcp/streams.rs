//! The standard streams, which belong to the client of `drover mcp`: lines of bounded length in, lines out, each by a
//! thread, as pipes, files and terminals can all be waited for in that way only. Neighbour: `bridge`.

use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio::{dup2_stdin, dup2_stdout, stderr, stdin, stdout};
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::thread;
use tokio::sync::{mpsc, oneshot};

/// Lines that wait, in either direction: whoever has more waits.
const LINES: usize = 16;

/// The lowest descriptor for one that is none of the standard ones.
const LOWEST: i32 = 3;

/// Both streams.
#[derive(Debug)]
pub(crate) struct Streams {
    input: File,
    output: File,
}

/// What the client sends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// without its end
    Whole(Vec<u8>),
    /// one that is longer than messages may be, and was passed over
    TooLong,
}

/// Both streams, as lines.
pub(super) struct Lines {
    pub(super) come: mpsc::Receiver<Line>,
    pub(super) go: mpsc::Sender<Vec<u8>>,
    /// told when all that was put there has been written, or cannot be
    pub(super) written: oneshot::Receiver<()>,
}

impl Streams {
    /// Takes them away from the rest of this program and from all processes that it starts: what those write to
    /// standard output from now on goes to standard error, and they find nothing at standard input.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn take() -> io::Result<Streams> {
        let input = fcntl_dupfd_cloexec(stdin(), LOWEST)?.into();
        let output = fcntl_dupfd_cloexec(stdout(), LOWEST)?.into();
        dup2_stdin(File::open("/dev/null")?)?;
        dup2_stdout(stderr())?;
        Ok(Streams { input, output })
    }

    /// Has lines come and go, none of those that come longer than `most` bytes.
    ///
    /// # Errors
    /// When the system has no threads.
    pub(super) fn open(self, most: u64) -> io::Result<Lines> {
        let (came, lines) = mpsc::channel(LINES);
        let mut input = BufReader::new(self.input);
        thread::Builder::new().name("drover-stdin".into()).spawn(move || {
            // an error is an end, as the client has no other way to go on
            while let Ok(Some(line)) = next(&mut input, most) {
                if came.blocking_send(line).is_err() {
                    break;
                }
            }
        })?;
        let (out, mut goes) = mpsc::channel::<Vec<u8>>(LINES);
        let (done, written) = oneshot::channel();
        let mut output = self.output;
        thread::Builder::new().name("drover-stdout".into()).spawn(move || {
            while let Some(mut line) = goes.blocking_recv() {
                line.push(b'\n');
                if output.write_all(&line).is_err() {
                    break;
                }
            }
            // closed before it is told: then whoever puts lines there knows
            drop(goes);
            let _ = done.send(());
        })?;
        Ok(Lines { come: lines, go: out, written })
    }
}

/// The next line that has anything in it; `None` at the end. The last one may have no end.
fn next(input: &mut impl BufRead, most: u64) -> io::Result<Option<Line>> {
    let (mut line, mut is_long) = (Vec::new(), false);
    loop {
        let bytes = match input.fill_buf() {
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            bytes => bytes?,
        };
        let end = bytes.iter().position(|&b| b == b'\n');
        let piece = &bytes[..end.unwrap_or(bytes.len())];
        is_long |= (line.len() + piece.len()) as u64 > most;
        if is_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(piece);
        }
        let (read, is_over) = (end.map_or(bytes.len(), |end| end + 1), bytes.is_empty());
        input.consume(read);
        if end.is_some() || is_over {
            if is_long {
                return Ok(Some(Line::TooLong));
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(Line::Whole(line)));
            }
            line.clear();
        }
        if is_over {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_empty_ones_are_none() {
        let text: &[u8] = b"{\"a\":1}\n\n  \r\n0123456789\n01234567890\nafter\r\nlast";
        // as it comes through a pipe: in pieces
        for size in [1, 3, 100] {
            let mut input = BufReader::with_capacity(size, text);
            let mut lines = Vec::new();
            while let Some(line) = next(&mut input, 10).unwrap() {
                lines.push(line);
            }
            let whole = |text: &str| Line::Whole(text.into());
            let wanted = ["{\"a\":1}", "0123456789", "after\r", "last"].map(whole);
            let mut wanted = Vec::from(wanted);
            wanted.insert(2, Line::TooLong);
            assert_eq!(lines, wanted);
        }
    }
}
