//! Arguments as people write them, as the reader of options wants them: `drover app.R` is `drover serve app.R`, and
//! `-h` asks for help, but `-h 0.0.0.0` is valve's way to name the host.

use std::ffi::{OsStr, OsString};
use std::net::IpAddr;

const COMMANDS: [&str; 25] = [
    "serve",
    "dev",
    "mcp",
    "status",
    "reload",
    "scale",
    "stop",
    "profile",
    "failed",
    "replay",
    "jobs",
    "routes",
    "check",
    "openapi",
    "compress",
    "doctor",
    "new",
    "docker",
    "systemd",
    "bench",
    "completions",
    "install",
    "hash-password",
    "version",
    "help",
];

/// The arguments with nothing left out. The first is the program's name; `file_is_known`: a variable names the app.
pub(crate) fn complete(args: impl IntoIterator<Item = OsString>, file_is_known: bool) -> Vec<OsString> {
    let mut args = spell_out_host(args.into_iter().collect());
    let first = args.get(1).and_then(|arg| arg.to_str().map(str::to_owned));
    match first.as_deref() {
        Some("help") => match args.get(2) {
            Some(_) => args = vec![args[0].clone(), args[2].clone(), "--help".into()],
            None => args[1] = "--help".into(),
        },
        Some(word) if COMMANDS.contains(&word) => {}
        Some("-h" | "--help" | "-V" | "--version") if args.len() == 2 => {}
        // a command that is misspelt is not a file
        Some(word) if is_bare_word(word) && !std::path::Path::new(word).exists() => {}
        Some(_) => args.insert(1, "serve".into()),
        None if args.len() > 1 || file_is_known => args.insert(1.min(args.len()), "serve".into()),
        None => {}
    }
    args
}

/// Letters only, as commands are.
fn is_bare_word(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase())
}

/// `--host` for `-h ADDRESS` and `-hADDRESS`.
fn spell_out_host(args: Vec<OsString>) -> Vec<OsString> {
    let mut complete = Vec::with_capacity(args.len());
    let mut args = args.into_iter().peekable();
    // the name of the program
    complete.extend(args.next());
    while let Some(arg) = args.next() {
        let text = arg.to_str().unwrap_or_default();
        if arg == "--" {
            complete.push(arg);
            break;
        }
        if arg == "-h" && args.peek().is_some_and(|next| is_address(next)) {
            complete.push("--host".into());
        } else if text.strip_prefix("-h").is_some_and(|rest| is_address(OsStr::new(rest))) {
            complete.push(format!("--host={}", &text[2..]).into());
        } else {
            complete.push(arg);
        }
    }
    complete.extend(args);
    complete
}

/// An IP address, or the name of a host: what is no option and no file of R.
fn is_address(text: &OsStr) -> bool {
    let text = text.to_str().unwrap_or_default();
    let is_name = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !text.to_ascii_lowercase().ends_with(".r")
        && !COMMANDS.contains(&text);
    text.parse::<IpAddr>().is_ok() || is_name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(args: &str) -> String {
        let args = std::iter::once("drover").chain(args.split_whitespace()).map(OsString::from);
        let complete = complete(args, false);
        complete[1..].iter().map(|arg| arg.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn serve_may_be_left_out() {
        for (written, meant) in [
            ("app.R", "serve app.R"),
            ("./app", "serve ./app"),
            ("-f plumber.R -n 5 -w 3 -p 3000", "serve -f plumber.R -n 5 -w 3 -p 3000"),
            ("serve app.R", "serve app.R"),
            ("--port 80 app.R", "serve --port 80 app.R"),
            ("", ""),
            ("sever", "sever"),
            ("--version", "--version"),
            ("-V", "-V"),
        ] {
            assert_eq!(completed(written), meant);
        }
        assert_eq!(complete(["drover".into()], true), ["drover", "serve"]);
    }

    #[test]
    fn each_command_is_known_as_one() {
        let command = crate::options::command();
        let names: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert!(names.iter().all(|name| COMMANDS.contains(name)) && COMMANDS.len() == names.len() + 1, "{names:?}");
    }

    #[test]
    fn h_is_help_or_the_host() {
        for (written, meant) in [
            ("-h", "-h"),
            ("help", "--help"),
            ("help serve", "serve --help"),
            ("serve -h", "serve -h"),
            ("app.R -h", "serve app.R -h"),
            ("serve -h app.R", "serve -h app.R"),
            ("serve -h --port 80", "serve -h --port 80"),
            ("serve app.R -h 0.0.0.0", "serve app.R --host 0.0.0.0"),
            ("-f app.R -h :: -p 0", "serve -f app.R --host :: -p 0"),
            ("app.R -h127.0.0.1", "serve app.R --host=127.0.0.1"),
            ("app.R -h localhost", "serve app.R --host localhost"),
            ("app.R -h my-host.example", "serve app.R --host my-host.example"),
            ("app.R -- -h 0.0.0.0", "serve app.R -- -h 0.0.0.0"),
        ] {
            assert_eq!(completed(written), meant);
        }
    }
}
