//! What is said around the options: variables that mean something to others (`PORT`), that mean nothing (`DROVER_PROT`), and
//! options that valve's users write and mean otherwise. Each is told to the person who starts the program.

use crate::options::Serve;
use crate::values::Workers;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use std::collections::HashSet;
use std::ffi::OsString;

/// How many letters of a name may be wrong for it to be a slip of the pen: one in three, at most two.
fn is_slip(distance: usize, name: &str) -> bool {
    distance <= 2 && distance * 3 <= name.len()
}

/// Lines about variables that begin with `DROVER_` and are not known.
pub(crate) fn unknown_variables(command: &Command, names: impl Iterator<Item = OsString>) -> Vec<String> {
    let serve = command.get_subcommands().find(|command| command.get_name() == "serve");
    let known: HashSet<_> =
        serve.into_iter().flat_map(Command::get_arguments).filter_map(|arg| arg.get_env()).collect();
    let mut unknown: Vec<String> = names
        .filter(|name| !known.contains(name.as_os_str()))
        .filter_map(|name| name.into_string().ok().filter(|name| name.starts_with("DROVER_")))
        .collect();
    unknown.sort();
    let bare = |name: &str| name.trim_start_matches("DROVER_").to_owned();
    let nearest = |name: &str| {
        let all = known.iter().filter_map(|known| known.to_str());
        let scored = all.map(|known| (strsim::damerau_levenshtein(&bare(known), &bare(name)), known));
        scored.filter(|(distance, _)| is_slip(*distance, &bare(name))).min()
    };
    let line = |name: &String| match nearest(name) {
        Some((_, known)) => format!("the variable {name} means nothing: {known} is one that does"),
        None => format!("the variable {name} means nothing: `drover serve --help` has those that do"),
    };
    unknown.iter().map(line).collect()
}

/// Where neither a flag nor `DROVER_PORT` gives the port, `PORT` does: that is how platforms tell it.
///
/// # Errors
/// When it is no port.
pub(crate) fn port(serve: &mut Serve, matches: &ArgMatches, port: Option<OsString>) -> Result<(), clap::Error> {
    let Some(port) = port.filter(|port| !port.is_empty()) else { return Ok(()) };
    if matches.value_source("port") != Some(ValueSource::DefaultValue) {
        return Ok(());
    }
    let text = port.to_string_lossy();
    serve.serving.port = text.parse().map_err(|_| {
        usage(ErrorKind::ValueValidation, format!("the variable PORT must be a port in 0..65535, not '{text}'"))
    })?;
    Ok(())
}

/// `--workers` beside the bounds `--n-min` and `--n-max`: to valve they are threads of the server. Where one was given by a
/// flag and the other by a variable, the flag goes before. A line about what it was taken for.
///
/// # Errors
/// When they cannot both be meant.
pub(crate) fn valve(serve: &mut Serve, matches: &ArgMatches) -> Result<Option<String>, clap::Error> {
    let is_flag = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let pool = &mut serve.pool;
    let Some(workers) = pool.workers else { return Ok(None) };
    if pool.n_min.or(pool.n_max).is_none() {
        return Ok(None);
    }
    match (is_flag("workers"), is_flag("n_min") || is_flag("n_max")) {
        (true, true) => {}
        (true, false) => {
            (pool.n_min, pool.n_max) = (None, None);
            return Ok(None);
        }
        (false, true) => {
            pool.workers = None;
            return Ok(None);
        }
        (false, false) => return Err(conflict("DROVER_WORKERS", "DROVER_N_MIN and DROVER_N_MAX")),
    }
    let Workers::Exactly(threads) = workers else { return Err(conflict("--workers", "--n-min and --n-max")) };
    if is_flag("threads") {
        return Err(conflict("--workers", "--n-min or --n-max and --threads"));
    }
    pool.workers = None;
    serve.serving.threads = threads;
    Ok(Some(format!(
        "--workers {threads} beside --n-min or --n-max is taken as valve means it: {threads} threads for connections \
         (--threads {threads}), while those say how many R processes there are"
    )))
}

fn conflict(one: &str, others: &str) -> clap::Error {
    usage(ErrorKind::ArgumentConflict, format!("{one} cannot be used with {others}"))
}

fn usage(kind: ErrorKind, text: String) -> clap::Error {
    clap::Error::raw(kind, format!("{text}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use clap::CommandFactory;

    #[test]
    fn variables_that_are_misspelt_are_told() {
        let told = |names: &[&str]| unknown_variables(&Options::command(), names.iter().map(OsString::from));
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
