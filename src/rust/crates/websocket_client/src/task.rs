//! The life of a connection that R has asked for: connected to, talked on, and begun again, if that is wanted.

use crate::connect::{self, Opened, Refused};
use crate::inbox::{Event, Inbox};
use crate::queue::Queue;
use crate::talk::{talk, Ended};
use crate::target::Options;
use std::sync::atomic::AtomicUsize;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout, Instant};
use websocket::Close;

/// A connection that has lasted so long has been a good one: the next is tried as soon as the first was.
const GOOD: Duration = Duration::from_secs(30);

/// Runs it to its end.
pub(crate) async fn run(
    number: u64,
    options: Options,
    mut commands: Queue,
    unsent: Arc<AtomicUsize>,
    inbox: Arc<Inbox>,
) {
    let mut pause = options.reconnect.map(|[first, _]| first);
    loop {
        let begun = Instant::now();
        let (code, reason, failed, was_wanted) = match open(&options, &mut commands).await {
            Tried::Open(opened) => {
                inbox.put(number, Event::Open(opened.protocol.clone()), None);
                let Ended { close, was_wanted } = talk(number, opened, &options, &mut commands, &unsent, &inbox).await;
                (close.code, close.reason, false, was_wanted)
            }
            Tried::Refused(Refused { status, why }) => (status, why, true, false),
            Tried::Unwanted(close) => (close.code, close.reason, false, true),
        };
        let again = pause.filter(|_| !was_wanted).map(spread);
        let waits = again.map(|again| again.as_millis() as u64);
        if again.is_none() {
            // before R hears of it, as it may ask at once whether it can send
            commands.close();
        }
        inbox.put(number, Event::Closed { code, reason, failed, again: waits }, None);
        let (Some(again), Some([first, most])) = (again, options.reconnect) else { return };
        let was_good = !failed && begun.elapsed() >= GOOD;
        pause = Some(if was_good { first } else { (pause.unwrap_or(first) * 2).min(most) });
        tokio::select! {
            () = sleep(again) => {}
            close = commands.closed() => {
                commands.close();
                let (code, reason) = (close.code, close.reason);
                inbox.put(number, Event::Closed { code, reason, failed: false, again: None }, None);
                return;
            }
        }
    }
}

enum Tried {
    Open(Opened),
    Refused(Refused),
    /// R wants it no more
    Unwanted(Close),
}

async fn open(options: &Options, commands: &mut Queue) -> Tried {
    tokio::select! {
        opened = timeout(options.timeout, connect::open(options)) => match opened {
            Ok(Ok(opened)) => Tried::Open(opened),
            Ok(Err(refused)) => Tried::Refused(refused),
            Err(_) => Tried::Refused(format!("no answer within {} s", options.timeout.as_secs_f64()).into()),
        },
        close = commands.closed() => Tried::Unwanted(close),
    }
}

/// Somewhere between half of it and all: thousands of clients do not come back to a server at once.
fn spread(pause: Duration) -> Duration {
    let share = getrandom::u32().unwrap_or(u32::MAX);
    pause.mul_f64(0.5 + 0.5 * f64::from(share) / f64::from(u32::MAX))
}
