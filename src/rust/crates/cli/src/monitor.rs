//! `drover status --watch`: a server's state each second, until the user quits.
//!
//! At a terminal the screen is drawn anew, and `q` or Ctrl-C ends it; the terminal is then as it was before. Elsewhere,
//! as in a pipe, a block follows the other. Neighbour: `shown` (what is printed).

use crate::control::{Found, Status};
use crate::exit::{Code, Error};
use crate::shown;
use crate::signals::{self, Asked};
use rustix::termios::{isatty, tcgetattr, tcgetwinsize, tcsetattr, LocalModes, OptionalActions, Termios};
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{unbounded_channel, UnboundedSender};
use tokio::time::{sleep, timeout};

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The other screen of a terminal, without a cursor, and back again.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l";
const LEAVE: &str = "\u{1b}[?25h\u{1b}[?1049l";
/// To the upper left corner; the rest of the line, and of the screen, is cleared.
const HOME: &str = "\u{1b}[H";
const TO_LINE_END: &str = "\u{1b}[K";
const TO_SCREEN_END: &str = "\u{1b}[J";

/// Keys that end it: those that signals are made of elsewhere are read as they are.
const ENDS: [u8; 3] = [b'q', b'Q', 3];

/// The terminal, which is as before when this is dropped.
struct Screen(Option<Termios>);

impl Screen {
    fn enter() -> io::Result<Self> {
        let mut keys = None;
        if isatty(io::stdin()) {
            let before = tcgetattr(io::stdin())?;
            let mut modes = before.clone();
            modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
            tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
            keys = Some(before);
        }
        let screen = Screen(keys);
        io::stdout().write_all(ENTER.as_bytes())?;
        Ok(screen)
    }

    /// Lines that fit.
    fn draw(text: &str) -> io::Result<()> {
        let size = tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_row > 1 && size.ws_col > 0);
        let (rows, columns) = size.map_or((24, 80), |size| (size.ws_row, size.ws_col));
        let mut drawn = HOME.to_owned();
        for line in text.lines().take(usize::from(rows) - 1) {
            drawn.extend(line.chars().take(columns.into()));
            drawn += TO_LINE_END;
            drawn += "\r\n";
        }
        drawn += TO_SCREEN_END;
        let mut out = io::stdout();
        out.write_all(drawn.as_bytes())?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // nowhere left to complain
        let _ = io::stdout().write_all(LEAVE.as_bytes()).and_then(|()| io::stdout().flush());
        if let Some(before) = &self.0 {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// Shows the state of a server until the server ends or the user quits.
///
/// # Errors
/// When the server no longer answers.
pub(crate) fn watch(server: &Found) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
    let shown = runtime.block_on(async {
        let (sender, mut wakes) = unbounded_channel();
        let of_signals = sender.clone();
        signals::listen(move |asked| asked != Asked::End || of_signals.send(()).is_ok()).map_err(system)?;
        let at_terminal = isatty(io::stdout());
        let _screen = at_terminal.then(Screen::enter).transpose().map_err(system)?;
        if at_terminal {
            std::thread::spawn(move || until_key(&sender));
        }
        let mut before: Option<(Status, Instant)> = None;
        loop {
            let status = server.now(PATIENCE).map_err(|e| ended(server, &e))?;
            let now = Instant::now();
            let then = before.as_ref().map(|(status, at)| (status, (now - *at).as_secs_f64()));
            let text = shown::server_since(&status, then);
            let written = if at_terminal {
                Screen::draw(&(text + "q ends\n"))
            } else {
                io::stdout().write_all((text + "\n").as_bytes())
            };
            match written {
                // the reader of the pipe has gone
                Err(e) if e.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                written => written.map_err(system)?,
            }
            before = Some((status, now));
            let pause = timeout(PAUSE, wakes.recv()).await;
            if let Ok(asked) = pause {
                match asked {
                    Some(()) => return Ok(()),
                    // all senders have ended: no key or signal can come any more
                    None => sleep(PAUSE).await,
                }
            }
        }
    });
    // a thread that reads the keyboard is not waited for
    runtime.shutdown_background();
    shown
}

/// Reads the keyboard until a key says that it is enough.
fn until_key(sender: &UnboundedSender<()>) {
    for byte in io::stdin().lock().bytes() {
        match byte {
            Ok(byte) if ENDS.contains(&byte) => {
                let _ = sender.send(());
                return;
            }
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

fn ended(server: &Found, e: &io::Error) -> Error {
    Error::new(Code::App, format!("{} has ended: {e}", shown::name(&server.status)))
}

fn system(e: io::Error) -> Error {
    Error::new(Code::System, e.to_string())
}
