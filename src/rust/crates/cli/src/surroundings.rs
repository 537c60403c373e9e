//! What surrounds the options: variables that mean something to other programs (`PORT`), that mean nothing
//! (`DROVER_PROT`), and options that mean something else in valve. Each is reported to the user at the start.

use crate::blame::usage;
use crate::given::{Given, Origin};
use crate::nearest::nearest;
use crate::table::{find, SERVING};
use crate::values::{workers, Workers};
use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::Command;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::net::IpAddr;
use toml::Value;

/// Lines about variables that begin with `DROVER_` and are not known.
pub(crate) fn unknown_variables(command: &Command, names: impl Iterator<Item = OsString>) -> Vec<String> {
    let serving = command.get_subcommands().filter(|command| SERVING.contains(&command.get_name()));
    let known: HashSet<_> = serving.flat_map(Command::get_arguments).filter_map(|arg| arg.get_env()).collect();
    let mut unknown: Vec<String> = names
        .filter(|name| !known.contains(name.as_os_str()))
        .filter_map(|name| name.into_string().ok().filter(|name| name.starts_with("DROVER_")))
        .collect();
    unknown.sort();
    let bare = |name: &str| name.trim_start_matches("DROVER_").to_owned();
    let all: Vec<_> = known.iter().filter_map(|known| known.to_str()).map(bare).collect();
    let line = |name: &String| match nearest(&bare(name), all.iter().map(String::as_str)) {
        Some(known) => format!("the variable {name} means nothing: DROVER_{known} is one that does"),
        None => format!("the variable {name} means nothing: `drover serve --help` has those that do"),
    };
    unknown.iter().map(line).collect()
}

/// Kubernetes tells each container of each service by variables: of one named drover, `DROVER_PORT` is
/// `tcp://10.0.0.1:80`, which is no port to listen on. The command without that variable, and a line about it, when
/// that is what it is.
pub(crate) fn without_service(command: Command, port: Option<OsString>) -> (Command, Option<String>) {
    let url = port.and_then(|port| port.into_string().ok());
    let Some(url) = url.filter(|url| ["tcp://", "udp://", "sctp://"].iter().any(|start| url.starts_with(start))) else {
        return (command, None);
    };
    let without = |command: Command, name| {
        command.mut_subcommand(name, |serve| serve.mut_arg("port", |port| port.env(Resettable::Reset)))
    };
    let listening = SERVING.into_iter().filter(|name| find("port").is_some_and(|port| port.is_of(name)));
    let command = listening.fold(command, without);
    let why = "Kubernetes sets it to the address of a service named drover; `--port` or PORT says where to listen";
    (command, Some(format!("the variable DROVER_PORT is ignored, as {url} is no port: {why}")))
}

/// Whether this variable is another one of these.
pub(crate) fn is_of_service(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with("DROVER_SERVICE_") || name.starts_with("DROVER_PORT_"))
}

/// Whether the terminal has colours, and `NO_COLOR` does not turn them off (no-color.org).
pub(crate) fn has_colours(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let has = |name| variable(name).is_some_and(|value| !value.is_empty() && value != "dumb");
    has("TERM") && variable("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Where neither a flag nor `DROVER_PORT` gives the port, `PORT` does: that is how platforms tell it.
///
/// # Errors
/// When it is no port.
pub(crate) fn port(given: &mut Given, port: Option<OsString>) -> Result<(), clap::Error> {
    let Some(port) = port.filter(|port| !port.is_empty()) else { return Ok(()) };
    if given.origin("port") >= Origin::Variable {
        return Ok(());
    }
    let text = port.to_string_lossy();
    let value = find("port").map(|setting| setting.kind.read(&text));
    let Some(Ok(value)) = value else {
        let error = format!("the variable PORT must be a port in 0..65535, not '{text}'");
        return Err(usage(ErrorKind::ValueValidation, &error));
    };
    given.set("port", value, Origin::Variable);
    Ok(())
}

/// Where neither a flag nor `DROVER_HOST` gives the addresses, `HOST` does, if it is an IP address: some platforms tell
/// it so, while shells and compilers have names of machines and systems there.
pub(crate) fn host(given: &mut Given, host: Option<OsString>) {
    let address = host.and_then(|host| host.into_string().ok()).filter(|host| host.parse::<IpAddr>().is_ok());
    if let Some(address) = address.filter(|_| given.origin("host") < Origin::Variable) {
        given.set("host", Value::Array(vec![Value::String(address)]), Origin::Variable);
    }
}

/// `--workers` beside the bounds `--n-min` and `--n-max`: to valve they are threads of the server. Where one was given
/// by a flag and the other by a variable or the settings file, the flag goes before. A line about what it was taken
/// for.
///
/// # Errors
/// When they cannot both be meant.
pub(crate) fn valve(given: &mut Given) -> Result<Option<String>, clap::Error> {
    let Some(text) = given.text("workers").map(str::to_owned) else { return Ok(None) };
    let bounds = given.origin("n_min").max(given.origin("n_max"));
    if bounds == Origin::Default {
        return Ok(None);
    }
    match given.origin("workers").cmp(&bounds) {
        Ordering::Greater => {
            given.remove("n_min");
            given.remove("n_max");
            return Ok(None);
        }
        Ordering::Less => {
            given.remove("workers");
            return Ok(None);
        }
        Ordering::Equal if bounds != Origin::Flag => {
            return Err(conflict("DROVER_WORKERS", "DROVER_N_MIN and DROVER_N_MAX"))
        }
        Ordering::Equal => {}
    }
    let Ok(Workers::Exactly(threads)) = workers(&text) else {
        return Err(conflict("--workers", "--n-min and --n-max"));
    };
    if given.origin("threads") == Origin::Flag {
        return Err(conflict("--workers", "--n-min or --n-max and --threads"));
    }
    given.remove("workers");
    given.set("threads", Value::Integer(threads as i64), Origin::Flag);
    Ok(Some(format!(
        "--workers {threads} beside --n-min or --n-max is taken as valve means it: {threads} threads for connections \
         (--threads {threads}), while those say how many R processes there are"
    )))
}

fn conflict(one: &str, others: &str) -> clap::Error {
    usage(ErrorKind::ArgumentConflict, &format!("{one} cannot be used with {others}"))
}

/// The variables of OpenTelemetry among these. One that is no text has no meaning.
pub(crate) fn of_telemetry(all: impl Iterator<Item = (OsString, OsString)>) -> BTreeMap<String, String> {
    let texts = all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.filter(|(name, _)| name.starts_with("OTEL_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::command;

    #[test]
    fn variables_that_are_misspelt_are_told() {
        let told = |names: &[&str]| unknown_variables(&command(), names.iter().map(OsString::from));
        assert!(told(&["DROVER_PORT", "DROVER_MAX_BODY", "PATH", "PORT", "DROVERS"]).is_empty());
        for (wrong, right) in [
            ("DROVER_MAXBODY", "DROVER_MAX_BODY"),
            ("DROVER_PROT", "DROVER_PORT"),
            ("DROVER_WORKER", "DROVER_WORKERS"),
            ("DROVER_KEEPALIVE", "DROVER_KEEP_ALIVE"),
            ("DROVER_TIME_OUT", "DROVER_TIMEOUT"),
        ] {
            assert_eq!(told(&[wrong]), [format!("the variable {wrong} means nothing: {right} is one that does")]);
        }
        let line = "the variable DROVER_IMAGE_TAG means nothing: `drover serve --help` has those that do";
        assert_eq!(told(&["DROVER_IMAGE_TAG"]), [line]);
    }
}
