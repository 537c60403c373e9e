//! What the program can be told. One setting has one name: the flag `--max-queue`, the variable `DROVER_MAX_QUEUE` and the
//! argument `max_queue` of `dr_serve()` are the same. The defaults are those of the R functions.

use crate::surroundings;
use crate::values::{bytes, count, seconds, seconds_or_none, some_bytes, target, workers, Workers};
use admission::Limits;
use clap::builder::BoolishValueParser;
use clap::error::ErrorKind;
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use engine::{ErrorFormat, OnClientGone, Settings};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use supervisor::{PoolOptions, Start};

const AFTER_HELP: &str = "drover app.R is short for drover serve app.R; drover serve --help has all options.";

const UNITS: &str =
    "Sizes and times take units: 10MB, 128kB, 1GiB; 500ms, 30s, 2m, 1h. Without one they are bytes and seconds.";

/// A web server for R.
#[derive(Debug, Parser)]
#[command(name = "drover", version, propagate_version = true, arg_required_else_help = true)]
#[command(disable_help_flag = true, disable_help_subcommand = true, after_help = AFTER_HELP)]
pub struct Options {
    /// what to do
    #[command(subcommand)]
    pub command: Command,
    /// Print help
    #[arg(short = 'h', long, global = true, action = ArgAction::Help)]
    help: Option<bool>,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve an app from a file
    ///
    /// Starts R processes that load the app and answer requests, looks after them, and replaces them when they end.
    /// Ctrl-C and SIGTERM answer the requests in flight and end; a second one ends at once. SIGHUP loads the app anew.
    #[command(after_help = UNITS)]
    Serve(Box<Serve>),
}

/// Options of `drover serve`.
#[derive(Debug, Args)]
pub struct Serve {
    #[command(flatten)]
    app: AppArgs,
    #[command(flatten)]
    pub(crate) serving: ServingArgs,
    #[command(flatten)]
    pub(crate) pool: PoolArgs,
    #[command(flatten)]
    sizes: SizeArgs,
    #[command(flatten)]
    times: TimeArgs,
    #[command(flatten)]
    counts: CountArgs,
}

#[derive(Debug, Args)]
struct AppArgs {
    /// The app: an R file whose last value is one
    #[arg(required_unless_present = "named", conflicts_with = "named")]
    file: Option<PathBuf>,
    /// The same as FILE
    #[arg(id = "named", short = 'f', long = "file", value_name = "FILE", env = "DROVER_FILE")]
    named: Option<PathBuf>,
    /// The program R: a path, or a name that is looked for on the PATH
    #[arg(long, value_name = "PROGRAM", env = "DROVER_R", default_value = "R")]
    r: PathBuf,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Serving")]
pub(crate) struct ServingArgs {
    /// Address to listen on; 0.0.0.0 and :: are all interfaces, unix:PATH is a socket in the file system
    #[arg(short = 'H', long, env = "DROVER_HOST", default_value = "127.0.0.1")]
    host: String,
    /// TCP port; 0 takes a free one. Without it, the variable PORT counts
    #[arg(short = 'p', long, env = "DROVER_PORT", default_value_t = 8080)]
    pub(crate) port: u16,
    /// Engine threads for connections (not R processes: those are --workers)
    #[arg(long, env = "DROVER_THREADS", default_value_t = 1, value_parser = count)]
    pub(crate) threads: usize,
    /// Threads for handlers written in C, in each R process; they are started when the app has some
    #[arg(long, value_name = "N", env = "DROVER_CPP_WORKERS", default_value_t = 4, value_parser = count)]
    cpp_workers: usize,
    /// Send messages and tracebacks of errors to clients: not for production
    #[arg(long, env = "DROVER_DEBUG", value_parser = BoolishValueParser::new())]
    debug: bool,
    /// Tell upper and lower case in paths apart
    #[arg(long, env = "DROVER_CASE_SENSITIVE", value_parser = BoolishValueParser::new())]
    case_sensitive: bool,
    /// Bodies of errors: json (problem details), text, or auto for what the client or the app speaks
    #[arg(long, value_name = "FORMAT", env = "DROVER_ERRORS", default_value = "auto")]
    errors: Errors,
    /// When a client goes: let the handler finish, or interrupt it [default: interrupt only those of GET and HEAD]
    #[arg(long, env = "DROVER_ON_CLIENT_GONE")]
    on_client_gone: Option<Gone>,
    /// Where log lines go: stderr, none, or a file that they are appended to
    #[arg(long, value_name = "TARGET", env = "DROVER_LOG", default_value = "stderr")]
    log: String,
    /// Where a line is written for each request: none, stderr, or a file
    #[arg(long, value_name = "TARGET", env = "DROVER_ACCESS_LOG", default_value = "none")]
    access_log: String,
    /// How: combined, as web servers write it, or json
    #[arg(long, value_name = "FORMAT", env = "DROVER_ACCESS_LOG_FORMAT", default_value = "combined")]
    access_log_format: AccessLogFormat,
    /// Folder for bodies and files above --spool-above; by default one that goes when the server ends
    #[arg(long, value_name = "FOLDER", env = "DROVER_UPLOAD_PATH")]
    upload_path: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "R processes")]
pub(crate) struct PoolArgs {
    /// R processes for handlers: a number, fewest and most as in 1-4, or auto: one for each core [default: 1-3]
    #[arg(short = 'w', long, value_name = "N|MIN-MAX|auto", env = "DROVER_WORKERS", value_parser = workers)]
    pub(crate) workers: Option<Workers>,
    /// Fewest R processes [default: 1]
    #[arg(long, value_name = "N", env = "DROVER_N_MIN", value_parser = count)]
    pub(crate) n_min: Option<usize>,
    /// Most R processes [default: 3]
    #[arg(short = 'n', long, value_name = "N", env = "DROVER_N_MAX", value_parser = count)]
    pub(crate) n_max: Option<usize>,
    /// How R processes start: forked from one that has loaded the app, or each by itself
    #[arg(long, env = "DROVER_START", default_value = "fork")]
    start: How,
    /// How often to look for processes that are not needed, in seconds
    #[arg(long, value_name = "SECONDS", env = "DROVER_CHECK_UNUSED", default_value_t = PoolOptions::default().check_unused,
        value_parser = seconds)]
    check_unused: f64,
    /// How long a process above the fewest may be unused before it ends, in seconds
    #[arg(long, value_name = "SECONDS", env = "DROVER_MAX_AGE", default_value_t = PoolOptions::default().max_age,
        value_parser = seconds_or_none)]
    max_age: f64,
    /// Replace a process after about so many requests; 0 for never
    #[arg(long, value_name = "N", env = "DROVER_MAX_REQUESTS", default_value_t = 0)]
    max_requests: u64,
    /// Replace a process whose resident memory exceeds so many bytes; 0 for never
    #[arg(long, value_name = "BYTES", env = "DROVER_MAX_RSS", default_value_t = 0, value_parser = bytes)]
    max_rss: u64,
    /// Replace a process after so many seconds; 0 for never
    #[arg(long, value_name = "SECONDS", env = "DROVER_MAX_LIFETIME", default_value_t = 0.0, value_parser = seconds_or_none)]
    max_lifetime: f64,
    /// Longest time from the start of a process until it serves, in seconds
    #[arg(long, value_name = "SECONDS", env = "DROVER_START_TIMEOUT", default_value_t = PoolOptions::default().start_timeout,
        value_parser = seconds)]
    start_timeout: f64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Errors {
    Auto,
    Json,
    Text,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AccessLogFormat {
    Combined,
    Json,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum How {
    Fork,
    Spawn,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Gone {
    Finish,
    Interrupt,
}

/// An option whose default is that of the limits.
macro_rules! limits {
    ($name:ident, $heading:literal: $($(#[doc = $doc:literal])+ $field:ident: $type:ty = $parser:expr, $value:literal, $env:literal;)+) => {
        #[derive(Debug, Args)]
        #[command(next_help_heading = $heading)]
        struct $name {
            $(
                $(#[doc = $doc])+
                #[arg(long, value_name = $value, env = $env, default_value_t = Limits::default().$field, value_parser = $parser)]
                $field: $type,
            )+
        }
        impl $name {
            fn put(&self, limits: &mut Limits) {
                $(limits.$field = self.$field;)+
            }
        }
    };
}

limits! { SizeArgs, "Sizes":
    /// Longest request line, in bytes; a longer one gets 414
    max_request_line: usize = target, "BYTES", "DROVER_MAX_REQUEST_LINE";
    /// Longest header field, in bytes; a longer one gets 431
    max_header_field: usize = some_bytes, "BYTES", "DROVER_MAX_HEADER_FIELD";
    /// Longest header section, in bytes; a longer one gets 431
    max_header_size: usize = some_bytes, "BYTES", "DROVER_MAX_HEADER_SIZE";
    /// Most header fields; more get 431
    max_headers: usize = count, "N", "DROVER_MAX_HEADERS";
    /// Longest body, in bytes; a longer one gets 413
    max_body: u64 = bytes, "BYTES", "DROVER_MAX_BODY";
    /// Bodies and files longer than this, in bytes, wait on disk instead of in memory
    spool_above: u64 = bytes, "BYTES", "DROVER_SPOOL_ABOVE";
    /// Most parts of a multipart body; more get 400
    max_parts: usize = count, "N", "DROVER_MAX_PARTS";
    /// Most fields of a form or a query; more get 400
    max_fields: usize = count, "N", "DROVER_MAX_FIELDS";
    /// Deepest nesting of a JSON body; a deeper one gets 400
    max_json_depth: usize = count, "N", "DROVER_MAX_JSON_DEPTH";
    /// Most strings of a request in one bucket of R's string cache; more, which only an attack brings about, get 400
    max_collisions: usize = count, "N", "DROVER_MAX_COLLISIONS";
}

limits! { TimeArgs, "Times":
    /// From the first byte of a request to the end of its headers, in seconds
    header_timeout: f64 = seconds, "SECONDS", "DROVER_HEADER_TIMEOUT";
    /// Longest pause within a body, in seconds
    body_timeout: f64 = seconds, "SECONDS", "DROVER_BODY_TIMEOUT";
    /// Slowest body on average, in bytes per second, after --body-timeout; 0 allows any
    min_body_rate: u64 = bytes, "BYTES", "DROVER_MIN_BODY_RATE";
    /// Longest time without progress while a response is sent, in seconds
    write_timeout: f64 = seconds, "SECONDS", "DROVER_WRITE_TIMEOUT";
    /// Longest idle time of a connection, in seconds
    keep_alive: f64 = seconds, "SECONDS", "DROVER_KEEP_ALIVE";
    /// From the arrival of a request to its answer, in seconds; then it gets 504. 0 for never
    timeout: f64 = seconds_or_none, "SECONDS", "DROVER_TIMEOUT";
    /// How long a handler may go on after its request got 504, in seconds; then its process is killed
    kill_after: f64 = seconds, "SECONDS", "DROVER_KILL_AFTER";
    /// Longest wait for an R process, in seconds; then a request gets 503. 0 for as long as --timeout
    queue_timeout: f64 = seconds_or_none, "SECONDS", "DROVER_QUEUE_TIMEOUT";
    /// How long to wait for requests in flight and for R processes at the end, in seconds
    graceful_timeout: f64 = seconds_or_none, "SECONDS", "DROVER_GRACEFUL_TIMEOUT";
}

limits! { CountArgs, "How many at a time":
    /// Connections; further ones wait
    max_connections: usize = count, "N", "DROVER_MAX_CONNECTIONS";
    /// Requests that wait for an R process; further ones get 503
    max_queue: usize = count, "N", "DROVER_MAX_QUEUE";
    /// HTTP/2 streams of a connection
    max_streams: u32 = clap::value_parser!(u32).range(1..1 << 31), "N", "DROVER_MAX_STREAMS";
}

/// What the program was told.
pub struct Told {
    /// what to serve, and how
    pub serve: Serve,
    /// how many processes, and for how long
    pub pool: PoolOptions,
    /// lines for the person who starts it: what was taken for what
    pub notes: Vec<String>,
}

/// Reads arguments, the first of which is the program's name, and this process's variables.
///
/// # Errors
/// With what is wrong and what would be right; also when help was asked for, or the version.
pub fn read(args: Vec<OsString>) -> Result<Told, clap::Error> {
    let matches = Options::command().try_get_matches_from(args)?;
    let Command::Serve(mut serve) = Options::from_arg_matches(&matches)?.command;
    let mut notes = surroundings::unknown_variables(&Options::command(), std::env::vars_os().map(|(name, _)| name));
    if let Some(matches) = matches.subcommand_matches("serve") {
        surroundings::port(&mut serve, matches, std::env::var_os("PORT"))?;
        notes.extend(surroundings::valve(&mut serve, matches)?);
    }
    let pool = serve.pool()?;
    Ok(Told { serve: *serve, pool, notes })
}

impl Serve {
    /// The file of the app.
    pub fn file(&self) -> &Path {
        // clap sees to it that there is one
        self.app.file.as_deref().or(self.app.named.as_deref()).unwrap_or(Path::new(""))
    }

    /// The program R.
    pub fn r(&self) -> &Path {
        &self.app.r
    }

    /// The folder for uploads that was asked for.
    pub fn upload_path(&self) -> Option<&Path> {
        self.serving.upload_path.as_deref()
    }

    /// Settings of the server.
    pub fn settings(&self, upload_path: PathBuf) -> Settings {
        let mut limits = Limits::default();
        self.sizes.put(&mut limits);
        self.times.put(&mut limits);
        self.counts.put(&mut limits);
        let ServingArgs { host, port, threads, cpp_workers, debug, case_sensitive, errors, log, .. } = &self.serving;
        Settings {
            host: host.clone(),
            port: *port,
            threads: *threads,
            cpp_workers: *cpp_workers,
            debug: *debug,
            case_sensitive: *case_sensitive,
            errors: match errors {
                Errors::Auto => ErrorFormat::Auto,
                Errors::Json => ErrorFormat::Json,
                Errors::Text => ErrorFormat::Text,
            },
            on_client_gone: self.serving.on_client_gone.map(|gone| match gone {
                Gone::Finish => OnClientGone::Finish,
                Gone::Interrupt => OnClientGone::Interrupt,
            }),
            log: log.clone(),
            access_log: self.serving.access_log.clone(),
            access_log_format: match self.serving.access_log_format {
                AccessLogFormat::Combined => engine::AccessLogFormat::Combined,
                AccessLogFormat::Json => engine::AccessLogFormat::Json,
            },
            upload_path,
            limits,
        }
    }

    /// Options of the pool.
    ///
    /// # Errors
    /// When they make no sense together.
    pub fn pool(&self) -> Result<PoolOptions, clap::Error> {
        let pool = &self.pool;
        let usual = PoolOptions::default();
        let (n_min, n_max) = pool
            .workers
            .map_or((pool.n_min.unwrap_or(usual.n_min), pool.n_max.unwrap_or(usual.n_max)), Workers::bounds);
        let options = PoolOptions {
            n_min,
            n_max,
            check_unused: pool.check_unused,
            max_age: pool.max_age,
            max_requests: pool.max_requests,
            max_rss: pool.max_rss,
            max_lifetime: pool.max_lifetime,
            start_timeout: pool.start_timeout,
            graceful_timeout: self.times.graceful_timeout,
            start: match pool.start {
                How::Fork => Start::Fork,
                How::Spawn => Start::Spawn,
            },
        };
        match options.check() {
            Ok(()) => Ok(options),
            Err(e) => Err(Options::command().error(ErrorKind::ValueValidation, e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Serve, clap::Error> {
        let Command::Serve(serve) = Options::try_parse_from(["drover", "serve"].iter().chain(args))?.command;
        Ok(*serve)
    }

    fn error(args: &[&str]) -> String {
        match parse(args).and_then(|serve| serve.pool()) {
            Ok(options) => panic!("{options:?}"),
            Err(e) => {
                assert_eq!(e.exit_code(), 2);
                e.to_string()
            }
        }
    }

    #[test]
    fn the_definition_is_sound() {
        Options::command().debug_assert();
    }

    #[test]
    fn without_options_all_is_as_in_r() {
        let serve = parse(&["app.R"]).unwrap();
        assert_eq!(serve.file(), Path::new("app.R"));
        let settings = serve.settings("/tmp".into());
        assert_eq!((settings.host.as_str(), settings.port, settings.threads), ("127.0.0.1", 8080, 1));
        assert_eq!(settings.cpp_workers, 4);
        assert_eq!(format!("{:?}", settings.limits), format!("{:?}", Limits::default()));
        assert_eq!(format!("{:?}", serve.pool().unwrap()), format!("{:?}", PoolOptions::default()));
    }

    #[test]
    fn each_setting_has_its_flag() {
        let serve = parse(&[
            "-f",
            "app.R",
            "-H",
            "::",
            "-p",
            "0",
            "--n-min",
            "2",
            "-n",
            "5",
            "--check-unused",
            "1",
            "--max-age",
            "0",
            "--max-body",
            "0",
            "--max-queue",
            "7",
            "--timeout",
            "0.5",
            "--debug",
            "--start",
            "spawn",
            "--graceful-timeout",
            "0",
            "--max-requests",
            "100",
            "--threads",
            "2",
            "--cpp-workers",
            "6",
            "--kill-after",
            "3",
            "--on-client-gone",
            "finish",
        ])
        .unwrap();
        let (settings, pool) = (serve.settings("/tmp".into()), serve.pool().unwrap());
        assert_eq!((serve.file(), settings.host.as_str(), settings.port), (Path::new("app.R"), "::", 0));
        assert_eq!((pool.n_min, pool.n_max, pool.check_unused, pool.max_age), (2, 5, 1.0, 0.0));
        assert_eq!((pool.start, pool.max_requests, pool.graceful_timeout), (Start::Spawn, 100, 0.0));
        let limits = settings.limits;
        assert_eq!((limits.max_body, limits.max_queue, limits.timeout, limits.kill_after), (0, 7, 0.5, 3.0));
        assert_eq!(settings.on_client_gone, Some(OnClientGone::Finish));
        assert!(settings.debug && settings.threads == 2 && settings.cpp_workers == 6 && !settings.case_sensitive);
    }

    #[test]
    fn every_field_of_the_limits_has_a_flag_and_a_variable() {
        let command = Options::command();
        let serve = command.find_subcommand("serve").unwrap();
        let limits = format!("{:?}", Limits::default());
        let names = limits.trim_start_matches("Limits { ").split(", ").map(|field| field.split(':').next().unwrap());
        for name in names {
            let arg = serve.get_arguments().find(|arg| arg.get_id() == name);
            let arg = arg.unwrap_or_else(|| panic!("no flag for {name}"));
            assert_eq!(arg.get_long().unwrap(), name.replace('_', "-"));
        }
        for arg in serve.get_arguments().filter(|arg| arg.get_long().is_some() && arg.get_id() != "help") {
            let flag = arg.get_long().unwrap();
            let variable = format!("DROVER_{}", flag.replace('-', "_").to_uppercase());
            assert_eq!(arg.get_env().unwrap(), variable.as_str(), "{flag}");
        }
    }

    #[test]
    fn nonsense_is_one_clear_error() {
        assert!(error(&["app.R", "--n-min", "4"]).starts_with("error: n_max must be at least n_min (4), not 3"));
        assert!(error(&[]).contains("<FILE|--file <FILE>>") || error(&[]).contains("required"));
        assert!(error(&["a.R", "-f", "b.R"]).contains("cannot be used with"));
        for (flag, value) in [
            ("--timeout", "-1"),
            ("--timeout", "NaN"),
            ("--max-age", "-1"),
            ("--graceful-timeout", "inf"),
            ("--port", "70000"),
            ("--threads", "0"),
            ("--cpp-workers", "0"),
            ("--cpp-workers", "many"),
            ("--max-request-line", "70000"),
            ("--max-streams", "0"),
            ("--max-rss", "1e9"),
            ("--start", "thread"),
            ("--on-client-gone", "stay"),
        ] {
            let error = error(&["app.R", &format!("{flag}={value}")]);
            assert!(error.contains(flag) && error.contains(value), "{error}");
        }
    }
}
