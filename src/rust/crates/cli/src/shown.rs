//! A server and its figures as people read them: `drover status`, and with `--watch` each second.
//!
//! Texts of clients and handlers stand in it: what a terminal would take for orders is made visible. Neighbours:
//! `manage` and `monitor`, which print it.

use crate::control::Status;
use crate::exit::{Code, Error};
use crate::terminal::count;
use engine::{Figures, JobCounts, RecentError, WorkerStatus};
use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};
use supervisor::AUTO;

/// Routes and errors that are shown each second.
const MOST: usize = 5;
/// Sessions that are shown.
const MOST_SESSIONS: usize = 20;
/// Characters of a text of others that a cell shows.
const LONGEST_SHOWN: usize = 60;

/// `http://127.0.0.1:8080 (app.R, process 4711)`
pub(crate) fn name(status: &Status) -> String {
    let url = status.url.as_deref().unwrap_or("one that starts");
    let user = status.user.as_ref().map_or_else(String::new, |user| format!(" of {}", plain(user)));
    let app = status.name.as_ref().map_or_else(String::new, |name| format!("{}: ", plain(name)));
    format!("{app}{} ({}, process {}{user})", plain(url), plain(&status.file), status.pid)
}

/// The same of a server that has several apps, of which this is one: `the server of shop and others (process 4711)`
pub(crate) fn name_of_server(status: &Status) -> String {
    match &status.name {
        Some(name) => format!("the server of {} and other apps (process {})", plain(name), status.pid),
        None => name(status),
    }
}

/// `4 workers`, `2 to 8 workers`, or `2 workers and more`
pub(crate) fn scale((min, max): (usize, usize)) -> String {
    let workers = |number| count(number as u64, "worker");
    match max {
        AUTO => format!("{} and more", workers(min)),
        _ if min == max => workers(max),
        _ => format!("{min} to {}", workers(max)),
    }
}

/// A server as it is.
pub(crate) fn server(status: &Status) -> String {
    let snapshot = &status.snapshot;
    let requests: u64 = snapshot.workers.iter().map(|worker| worker.requests).sum();
    let errors: u64 = snapshot.workers.iter().map(|worker| worker.errors).sum();
    let mut text = head(status);
    let _ = writeln!(
        text,
        "{}, {} answered by these workers, {errors} of them with errors, {} waiting, {}",
        scaled(status),
        count(requests, "request"),
        snapshot.waiting,
        count(snapshot.connections as u64, "open connection"),
    );
    if snapshot.refused > 0 {
        let _ = writeln!(text, "{} refused at once", count(snapshot.refused, "connection"));
    }
    if snapshot.state_entries > 0 {
        let _ =
            writeln!(text, "{} of dr_state(), {}", count(snapshot.state_entries, "value"), bytes(snapshot.state_bytes));
    }
    text += &jobs(&snapshot.jobs);
    text + &workers(&snapshot.workers)
}

/// The same, with what happened since `before`: an earlier status, and the seconds since then.
pub(crate) fn server_since(status: &Status, before: Option<(&Status, f64)>) -> String {
    let snapshot = &status.snapshot;
    let mut text = head(status);
    let _ = writeln!(
        text,
        "{} of at most {} waiting, {}",
        snapshot.waiting,
        snapshot.max_queue,
        count(snapshot.connections as u64, "open connection")
    );
    match &snapshot.figures {
        Some(figures) => {
            let since = before.and_then(|(before, seconds)| {
                Some((figures.since(before.snapshot.figures.as_ref()?), seconds.max(1e-3)))
            });
            let _ = writeln!(
                text,
                "{}, {}, restarts of workers: {}",
                count(figures.streams, "open stream"),
                count(figures.websockets, "open WebSocket"),
                list(figures.restarts.iter().map(|(reason, n)| format!("{reason} {n}")))
            );
            if let Some((since, seconds)) = &since {
                let _ = writeln!(text, "{}", rates(since, *seconds));
            }
            text += &jobs(&snapshot.jobs);
            text += &workers(&snapshot.workers);
            text += &routes(since.as_ref().map_or(figures, |(since, _)| since));
        }
        None => {
            text += "rates and times are counted with --metrics or --admin\n";
            text += &jobs(&snapshot.jobs);
            text += &workers(&snapshot.workers);
        }
    }
    text + &errors(&snapshot.errors)
}

/// `jobs: 3 waiting, 1 running`, as a line, where there are any.
pub(crate) fn jobs(counts: &JobCounts) -> String {
    if counts.is_empty() {
        return String::new();
    }
    let states = counts.by_state().into_iter().filter(|(_, n)| *n > 0);
    format!("jobs: {}\n", list(states.map(|(state, n)| format!("{n} {state}"))))
}

/// `4 workers`, and of how many where that may change: `4 workers of 2 to 8`, `4 workers of 2 and more`
fn scaled(Status { snapshot, scale: (min, max), .. }: &Status) -> String {
    let text = count(snapshot.workers.len() as u64, "worker");
    match *max {
        AUTO => format!("{text} of {min} and more"),
        _ if min == max => text,
        _ => format!("{text} of {min} to {max}"),
    }
}

fn head(status: &Status) -> String {
    let Status { file, pid, version, generation, .. } = status;
    let place = plain(status.url.as_deref().unwrap_or("starting"));
    let app = status.name.as_ref().map_or_else(String::new, |name| format!("{}: ", plain(name)));
    let (file, version, age) = (plain(file), plain(version), age(status.age));
    let user = status.user.as_ref().map_or_else(String::new, |user| format!(" of {}", plain(user)));
    let state = match status.snapshot.app.as_deref() {
        Some("asleep") => ", asleep: it is loaded when it is asked for".to_owned(),
        Some(state) => format!(", {}", plain(state)),
        None => String::new(),
    };
    format!("{app}{place}: {file}\nprocess {pid}{user}, drover {version}, up {age}, generation {generation}{state}\n")
}

fn rates(figures: &Figures, seconds: f64) -> String {
    let failed = figures.by_status.get("5xx").copied().unwrap_or(0);
    let time = |part| figures.quantile(&figures.duration, part).map_or_else(|| "-".to_owned(), time);
    format!(
        "{:.1} requests/s, {:.1} errors/s; half of them within {}, 95 % {}, 99 % {}; {}/s in, {}/s out",
        figures.requests as f64 / seconds,
        failed as f64 / seconds,
        time(0.5),
        time(0.95),
        time(0.99),
        bytes((figures.received as f64 / seconds) as u64),
        bytes((figures.sent as f64 / seconds) as u64),
    )
}

fn workers(workers: &[WorkerStatus]) -> String {
    if workers.is_empty() {
        return String::new();
    }
    let row = |worker: &WorkerStatus| {
        let state = if worker.alive { worker.state.name() } else { "gone" };
        let runs =
            worker.runs.iter().map(|request| format!("{} for {}", plain(&request.shown()), time(request.seconds)));
        [
            worker.pid.to_string(),
            state.to_owned(),
            worker.generation.to_string(),
            worker.requests.to_string(),
            worker.errors.to_string(),
            worker.promises.to_string(),
            format!("{:.0} %", 100.0 * worker.busy),
            bytes(worker.memory),
            age(worker.age),
            runs.collect::<Vec<_>>().join(", "),
        ]
    };
    let head = ["pid", "state", "generation", "requests", "errors", "promises", "busy", "memory", "age", "runs"];
    let text = if workers.iter().all(|worker| worker.pool.is_empty()) {
        table(head, workers.iter().map(row))
    } else {
        let pool = |worker: &WorkerStatus| if worker.pool.is_empty() { "-".to_owned() } else { plain(&worker.pool) };
        table(with_pool(head, "pool"), workers.iter().map(|worker| with_pool(row(worker), pool(worker))))
    };
    text + &sessions(workers)
}

/// The columns of a worker, with its pool among them.
fn with_pool<T>(columns: [T; 10], pool: T) -> [T; 11] {
    let [pid, state, generation, requests, errors, promises, busy, memory, age, runs] = columns;
    [pid, state, pool, generation, requests, errors, promises, busy, memory, age, runs]
}

/// Visitors' sessions, those first that have been idle for the shortest time.
fn sessions(workers: &[WorkerStatus]) -> String {
    let mut all: Vec<_> = workers.iter().flat_map(|w| w.sessions.iter().map(move |session| (w.pid, session))).collect();
    if all.is_empty() {
        return String::new();
    }
    all.sort_by(|(_, a), (_, b)| a.idle.total_cmp(&b.idle));
    let rows = all
        .iter()
        .take(MOST_SESSIONS)
        .map(|(pid, session)| [plain(&session.client), pid.to_string(), age(session.age), age(session.idle)]);
    let mut text = count(all.len() as u64, "session");
    if all.len() > MOST_SESSIONS {
        let _ = write!(text, ", of which the latest to be used");
    }
    format!("{text}\n{}", table(["client", "worker", "age", "idle"], rows))
}

fn routes(figures: &Figures) -> String {
    let mut routes: Vec<_> = figures.routes.iter().filter(|route| route.requests > 0).collect();
    if routes.is_empty() {
        return String::new();
    }
    let mean = |seconds: f64, requests: u64| seconds / requests.max(1) as f64;
    routes.sort_by(|a, b| mean(b.seconds, b.requests).total_cmp(&mean(a.seconds, a.requests)));
    let rows = routes.iter().take(MOST).map(|route| {
        [
            route.requests.to_string(),
            route.errors.to_string(),
            time(mean(route.seconds, route.requests)),
            figures.quantile(&route.duration, 0.95).map_or_else(String::new, time),
            plain(&route.route),
        ]
    });
    format!("slowest routes\n{}", table(["requests", "errors", "mean", "95 %", "route"], rows))
}

fn errors(errors: &[RecentError]) -> String {
    if errors.is_empty() {
        return String::new();
    }
    let mut text = "latest errors\n".to_owned();
    for error in errors.iter().rev().take(MOST) {
        let at = when(error.at);
        let worker = error.worker.map_or_else(String::new, |pid| format!(" worker {pid}"));
        let message = error.message.lines().next().unwrap_or_default();
        let _ = writeln!(text, "  {at}{worker} {}", plain(message));
    }
    text
}

/// A time in ms since 1970.
pub(crate) fn when(at: u64) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(at)).to_string()
}

/// Columns, whose last one is of texts.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = [head.map(str::to_owned)].into_iter().chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in &rows {
        let cells = (0..N - 1).map(|column| format!("{:>1$}", row[column], width(column)));
        let line = cells.chain([row[N - 1].clone()]).collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "  {}", line.trim_end());
    }
    text
}

fn list(words: impl Iterator<Item = String>) -> String {
    let words = words.collect::<Vec<_>>().join(", ");
    if words.is_empty() {
        "none".to_owned()
    } else {
        words
    }
}

/// Text without what a terminal would take for an order, or for the end of the line, or would write backwards.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if is_order(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Its first characters, for a cell of a table.
pub(crate) fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(LONGEST_SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    plain(&short)
}

/// A line of JSON. What a terminal would take for an order is escaped, too: it stands in strings only.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, Error> {
    let text = sonic_rs::to_string(value).map_err(|e| Error::new(Code::System, e.to_string()))?;
    let mut line = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        if is_order(c) {
            let _ = write!(line, "\\u{:04x}", c as u32);
        } else {
            line.push(c);
        }
    }
    Ok(line + "\n")
}

/// Whether a terminal may take it for an order, for the end of the line, or to write backwards.
pub(crate) fn is_order(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// In the largest unit of which there is one, as `dr_status()` has it.
pub(crate) fn age(seconds: f64) -> String {
    let (unit, name) = [(86_400.0, "d"), (3600.0, "h"), (60.0, "min")]
        .into_iter()
        .find(|(unit, _)| seconds >= *unit)
        .unwrap_or((1.0, "s"));
    let value = seconds / unit;
    if value < 10.0 {
        format!("{value:.1} {name}")
    } else {
        format!("{value:.0} {name}")
    }
}

/// The same, also of what took less than a second.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        short if short < 0.000_95 => format!("{:.0} us", short * 1e6),
        short if short < 0.95 => format!("{:.0} ms", short * 1e3),
        long => age(long),
    }
}

fn bytes(n: u64) -> String {
    let (unit, name) =
        [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")].into_iter().find(|(unit, _)| n as f64 >= *unit).unwrap_or((1.0, "B"));
    format!("{:.1} {name}", n as f64 / unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{RunningRequest, Snapshot, WorkerState};

    #[test]
    fn times_and_sizes_are_in_units() {
        assert_eq!([age(3.21), age(75.0), age(7200.0), age(1e6)], ["3.2 s", "1.2 min", "2.0 h", "12 d"]);
        assert_eq!([time(0.000_2), time(0.012), time(3.21)], ["200 us", "12 ms", "3.2 s"]);
        assert_eq!([bytes(12), bytes(61_200_000)], ["12.0 B", "61.2 MB"]);
        assert_eq!([count(1, "worker"), count(0, "worker")], ["1 worker", "0 workers"]);
    }

    #[test]
    fn texts_of_others_give_a_terminal_no_orders() {
        let runs = RunningRequest {
            method: "GET".into(),
            path: "/\u{1b}[2J\u{202e}x".into(),
            seconds: 2.0,
            ..RunningRequest::default()
        };
        let worker = WorkerStatus {
            pid: 7,
            alive: true,
            state: WorkerState::Busy,
            generation: 1,
            pool: String::new(),
            requests: 1,
            errors: 0,
            promises: 0,
            busy: 1.0,
            memory: 1,
            age: 1.0,
            heap: 0,
            runs: vec![runs],
            sessions: Vec::new(),
        };
        let message = "bad\u{9b}31m\nforged".into();
        let error = RecentError { number: 1, at: 0, worker: None, request: None, message, calls: Vec::new() };
        let status = Status {
            name: None,
            version: String::new(),
            pid: 1,
            user: None,
            file: "a\u{1b}[2J.R".into(),
            url: None,
            generation: 1,
            scale: (2, 2),
            age: 1.0,
            snapshot: Snapshot { workers: vec![worker], errors: vec![error], ..Snapshot::default() },
        };
        let text = server_since(&status, None);
        assert!(text.contains("GET /\u{fffd}[2J\u{fffd}x for 2.0 s"), "{text}");
        assert!(text.contains("1970-01-01T00:00:00Z bad\u{fffd}31m\n") && !text.contains("forged"), "{text}");
        assert!(text.starts_with("starting: a\u{fffd}[2J.R\n"), "{text}");
        assert!(text.contains("counted with --metrics or --admin"), "{text}");
    }

    #[test]
    fn rates_are_those_of_the_time_in_between() {
        let mut status = Status {
            name: None,
            version: String::new(),
            pid: 1,
            user: None,
            file: "app.R".into(),
            url: None,
            generation: 1,
            scale: (2, 2),
            age: 1.0,
            snapshot: Snapshot::default(),
        };
        let figures = |requests, failed| Figures {
            requests,
            by_status: [("5xx".to_owned(), failed)].into(),
            bounds: vec![0.1],
            duration: vec![requests, 0],
            ..Figures::default()
        };
        status.snapshot.figures = Some(figures(10, 1));
        let before = status.clone();
        status.snapshot.figures = Some(figures(30, 5));
        let text = server_since(&status, Some((&before, 2.0)));
        assert!(text.contains("10.0 requests/s, 2.0 errors/s; half of them within 50 ms"), "{text}");
    }
}
