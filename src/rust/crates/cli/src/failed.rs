//! `drover failed`: the failed requests that a server keeps, in a list, or one of them whole. Neighbours: `replay`,
//! which plays one again; `control`, by which the server is asked; the engine's `failed`, which keeps them.

use crate::control::{Failed, Found, Playable, Request};
use crate::exit::{Code, Error};
use crate::manage::{gone, Sockets, Which};
use crate::shown::{self, json, plain, shortened, table, time, when};
use crate::terminal::print;
use clap::Args;
use engine::{FailedLine, FailedRequest};
use std::fmt::Write as _;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  drover failed                        those of the one server that runs
  drover failed 8080                   those of the one on this port
  drover failed 00c0ffee00c0ffee       one of them, with its fields and body
  drover failed last --json > bug.json the latest, for drover replay bug.json --with app.R";

/// What is asked of `drover failed`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct FailedArgs {
    /// A request's id, or last for the latest; and the server, if several run: its port, its app's file or folder, or
    /// its process id
    #[arg(value_name = "ID|SERVER", num_args = 0..=2)]
    words: Vec<String>,
    #[command(flatten)]
    sockets: Sockets,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How long a server may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which request is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    Number(u64),
    Last,
}

impl Id {
    /// The 16 digits by which logs and answers name a request, or `last`.
    pub(crate) fn read(word: &str) -> Option<Id> {
        if word == "last" {
            return Some(Id::Last);
        }
        let is_id = word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        u64::from_str_radix(word, 16).ok().filter(|_| is_id).map(Id::Number)
    }
}

/// Lists failed requests, or shows one.
///
/// # Errors
/// When there is no such server or request, or the server keeps none.
pub(crate) fn failed(args: &FailedArgs) -> Result<(), Error> {
    let (id, server) = match &args.words[..] {
        [] => (None, None),
        [word] => match Id::read(word) {
            Some(id) => (Some(id), None),
            None => (None, Some(word.clone())),
        },
        [id, server, ..] => match Id::read(id) {
            Some(id) => (Some(id), Some(server.clone())),
            None => return Err(Error::new(Code::Usage, no_id(id))),
        },
    };
    let server = Which::new(server, args.sockets.clone()).one()?;
    let text = match id {
        Some(id) => {
            let request = playable(&server, id)?.request;
            if args.json {
                json(&request)?
            } else {
                whole(&request)
            }
        }
        None => {
            let lines = lines(&server)?;
            if args.json {
                json(&lines)?
            } else {
                list(&lines)
            }
        }
    };
    print(&text)
}

pub(crate) fn no_id(word: &str) -> String {
    format!("{} is no id of a request: 16 digits as in the log, or last; drover failed lists them", plain(word))
}

/// All that the server keeps.
fn lines(server: &Found) -> Result<Vec<FailedLine>, Error> {
    let (lines, _) = server.ask::<Failed>(Request::Failed, Some(PATIENCE)).map_err(|e| gone(server, &e))?;
    lines.ok_or_else(|| {
        let why = format!("{} keeps no failed requests: start it with --keep-failed 100", shown::name(&server.status));
        Error::new(Code::Missing, why)
    })
}

/// One of them.
pub(crate) fn playable(server: &Found, id: Id) -> Result<Playable, Error> {
    let lines = lines(server)?;
    let none = |which: &str| {
        let name = shown::name(&server.status);
        Error::new(Code::Missing, format!("{name} keeps no failed request{which}; drover failed lists them"))
    };
    let id = match id {
        Id::Number(id) => id,
        Id::Last => {
            let last = lines.first().and_then(|line| u64::from_str_radix(&line.id, 16).ok());
            last.ok_or_else(|| none(" yet"))?
        }
    };
    let asked = server.ask::<Option<Playable>>(Request::Playable { id }, Some(PATIENCE));
    let (found, _) = asked.map_err(|e| gone(server, &e))?;
    found.ok_or_else(|| none(&format!(" with the id {id:016x}")))
}

fn list(lines: &[FailedLine]) -> String {
    if lines.is_empty() {
        return "no request has failed, or none that is still kept\n".to_owned();
    }
    let rows = lines.iter().map(|line| {
        let missing = if line.replayable { "" } else { " (its body is not kept)" };
        [
            line.id.clone(),
            when(line.at),
            line.status.to_string(),
            plain(&line.method),
            shortened(&line.target),
            plain(&line.route),
            shortened(line.error.lines().next().unwrap_or_default()) + missing,
        ]
    });
    table(["id", "when", "status", "method", "path", "route", "error"], rows)
}

/// All of one.
fn whole(request: &FailedRequest) -> String {
    let mut text = String::new();
    let mut say = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<9}{value}");
    };
    say("id", request.id.clone());
    say("when", format!("{}, answered after {}", when(request.at), time(request.seconds)));
    say("request", format!("{} {}", plain(&request.method), plain(&request.target)));
    say("route", plain(&request.route));
    say("status", request.status.to_string());
    say("error", plain(&request.error));
    for call in &request.calls {
        say("", plain(call));
    }
    let worker = request.worker.map_or_else(String::new, |pid| format!(", worker {pid}"));
    say("app", format!("generation {}{worker}", request.generation));
    say("seed", if request.seed.is_some() { "known" } else { "not known" }.to_owned());
    if let Some(auth) = &request.auth {
        say("client", plain(auth));
    }
    if let Some(session) = &request.session {
        say("session", plain(session));
    }
    text.push('\n');
    for (name, value) in &request.fields {
        let _ = writeln!(text, "{}: {}", plain(name), plain(value));
    }
    let body = match (&request.body, &request.body_base64, &request.body_missing) {
        (_, _, Some(why)) => Some(format!("(a body of {} bytes: {})", request.body_size, plain(why))),
        (Some(body), ..) => Some(body.lines().map(plain).collect::<Vec<_>>().join("\n")),
        (None, Some(_), None) => {
            Some(format!("(a body of {} bytes that is no text: --json has it)", request.body_size))
        }
        (None, None, None) => None,
    };
    if let Some(body) = body {
        let _ = writeln!(text, "\n{body}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_told_from_servers() {
        assert_eq!(Id::read("00000000000000ff"), Some(Id::Number(255)));
        assert_eq!(Id::read("last"), Some(Id::Last));
        for word in ["8080", "app.R", "+0000000000000ff", "00000000000000fg", ""] {
            assert_eq!(Id::read(word), None, "{word}");
        }
    }

    #[test]
    fn texts_of_clients_stay_text() {
        let request = FailedRequest {
            id: "00000000000000ff".into(),
            method: "GET".into(),
            target: "/a".into(),
            fields: vec![("X".into(), "\u{1b}[2Ja".into())],
            body: Some("<b>\u{1b}]0;x\u{7}\nsecond".into()),
            error: "it\nbroke\u{9b}31m".into(),
            ..FailedRequest::default()
        };
        let text = whole(&request);
        assert!(text.contains("X: \u{fffd}[2Ja\n") && text.ends_with("\n<b>\u{fffd}]0;x\u{fffd}\nsecond\n"), "{text}");
        assert!(text.contains("error    it\u{fffd}broke\u{fffd}31m\n"), "{text}");
        let line = FailedLine {
            id: request.id.clone(),
            at: 0,
            method: "GET".into(),
            target: "/".to_owned() + &"é".repeat(100),
            status: 500,
            route: "/<x>".into(),
            error: "first\nforged".into(),
            replayable: false,
        };
        let text = list(&[line]);
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.contains("é…") && text.contains("first (its body is not kept)"), "{text}");
    }
}
