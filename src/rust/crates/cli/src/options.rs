//! What the program can be told. One setting has one name: the flag `--max-queue`, the variable `DROVER_MAX_QUEUE`, the
//! key `max_queue` of the settings file and the argument `max_queue` in R are the same, and all are made of one table
//! (`table`). A flag goes before a variable, a variable before the settings file, the file before the default.

use crate::bench::BenchArgs;
use crate::blame::{self, usage};
use crate::docker::DockerArgs;
use crate::failed::FailedArgs;
use crate::file;
use crate::given::Given;
use crate::help::{AFTER_HELP, DEV_EXAMPLES, NEW_EXAMPLES, UNITS};
use crate::install::{CompletionsArgs, InstallArgs};
use crate::invocation::{AppArgs, DevArgs, Invocation};
use crate::jobs::JobsArgs;
use crate::manage::{ReloadArgs, ScaleArgs, StatusArgs, StopArgs};
use crate::mcp::{self, McpArgs};
use crate::openapi::OpenApiArgs;
use crate::password::PasswordArgs;
use crate::processes;
use crate::profiling::ProfileArgs;
use crate::replay::ReplayArgs;
use crate::several;
use crate::surroundings;
use crate::table::{settings, Setting, GROUPS, SERVING};
use crate::tool::{about, loading, tool, AppOfTool, Program, Tool};
use crate::unit::UnitArgs;
use crate::values::Kind;
use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::Value;

/// A web server for R.
#[derive(Debug, Parser)]
#[command(name = "drover", version, propagate_version = true, arg_required_else_help = true)]
#[command(disable_help_flag = true, disable_help_subcommand = true, after_help = AFTER_HELP)]
struct Options {
    /// what to do
    #[command(subcommand)]
    command: What,
    /// Print help
    #[arg(short = 'h', long, global = true, action = ArgAction::Help)]
    help: Option<bool>,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
enum What {
    /// Serve an app from a file
    ///
    /// Starts R processes that load the app and answer requests, and replaces them when they end. Ctrl-C and SIGTERM
    /// stop the server once requests in flight are answered; a second one stops it at once. SIGHUP reloads the app.
    #[command(after_help = UNITS)]
    Serve(AppArgs),
    /// Serve an app while you work on it
    ///
    /// Reloads the app when a file beside it, below it or sourced by it changes, without dropping a connection. Errors
    /// while it loads are shown here and in the browser, with R's traceback; open pages reload themselves.
    #[command(after_help = DEV_EXAMPLES)]
    Dev(DevArgs),
    /// Offer an app's tools to a local client of the Model Context Protocol, by standard input and output
    ///
    /// For assistants, editors and agents that start their servers themselves. Starts R processes as drover serve does,
    /// on no address, and ends when the client closes standard input. The log goes to standard error. Settings that say
    /// where a server listens are not used.
    Mcp(McpArgs),
    /// Show the state of running servers
    Status(StatusArgs),
    /// Reload a server's app, and wait until it serves
    Reload(ReloadArgs),
    /// Change how many workers a server has
    ///
    /// Starts workers, or ends some once they have answered what they have. No request fails, and a reload keeps the
    /// number. A server that is started again has what its settings say.
    Scale(ScaleArgs),
    /// Stop a server, and wait until it has stopped
    Stop(StopArgs),
    /// Show where a running server spends its time, or what its memory holds
    ///
    /// Samples R in a worker, which keeps serving, and prints where its CPU time goes: by route, function and line.
    /// Writes a flame graph to a file.
    Profile(ProfileArgs),
    /// List the failed requests that a server keeps, or show one
    ///
    /// A server with --keep-failed keeps requests that ended in 500, 502 or a timeout.
    Failed(FailedArgs),
    /// Run a failed request again, in a fresh R process
    ///
    /// Loads the app, sets the seed that the generator of random numbers had, and calls the handler. At a terminal it
    /// stops in browser() where the error is. The server that kept the request is not touched.
    Replay(ReplayArgs),
    /// List the jobs of a server, show one, retry or cancel some
    ///
    /// Jobs are requests for routes of dr_job(), which a server accepts at once and runs later.
    Jobs(JobsArgs),
    /// List the routes of an app
    Routes(AppOfTool),
    /// Load an app and report problems, without serving it
    Check(AppOfTool),
    /// Print an app's OpenAPI 3.1 description, without serving it
    Openapi(OpenApiArgs),
    /// Check that this machine has what a server needs
    Doctor(Program),
    /// Create a starter project
    New(NewProject),
    /// Compress static files ahead of time
    ///
    /// Writes app.js.br, app.js.zst and app.js.gz beside app.js, which the server sends to clients that accept them.
    /// Skips files that would not get smaller, and those that are up to date.
    Compress(Folder),
    /// Write a Dockerfile for an app
    Docker(DockerArgs),
    /// Print a systemd service for an app
    Systemd(UnitArgs),
    /// Load-test a server, and measure its answers
    Bench(BenchArgs),
    /// Print the hash of a password, for dr_auth_basic()
    ///
    /// Asks for the password at the terminal without showing it, or reads it from standard input. The hash is Argon2
    /// with a random salt: each call prints another one.
    HashPassword(PasswordArgs),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Link this program into a folder on the PATH
    Install(InstallArgs),
    /// Print the versions of the program, the package and R
    Version(Program),
}

/// What projects there are to begin with: a folder of `inst/templates` each.
const PROJECTS: [&str; 3] = ["api", "plumber", "websocket"];

#[derive(Debug, Args)]
#[command(after_help = NEW_EXAMPLES)]
struct NewProject {
    /// The folder to create
    name: PathBuf,
    /// What it serves: JSON by typed routes, a plumber.R, or WebSockets with a page
    #[arg(long, value_parser = PROJECTS, default_value = PROJECTS[0])]
    kind: String,
    #[command(flatten)]
    program: Program,
}

impl NewProject {
    /// The command for R.
    fn tool(self) -> Tool {
        let words = vec!["new".into(), self.name.into(), "--kind".into(), self.kind.into()];
        Tool { words, app: None, r: self.program.r, policies: String::new(), env: Vec::new() }
    }
}

#[derive(Debug, Args)]
struct Folder {
    /// The folder of static files
    folder: PathBuf,
    #[command(flatten)]
    program: Program,
}

/// The program's arguments, with those of the table.
pub(crate) fn command() -> Command {
    let command = <Options as clap::CommandFactory>::command();
    SERVING.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_settings))
}

fn with_settings(mut serve: Command) -> Command {
    for (group, heading) in GROUPS {
        serve = serve.next_help_heading(heading);
        let command = serve.get_name().to_owned();
        for setting in settings().iter().filter(|setting| setting.group == group && setting.is_of(&command)) {
            serve = serve.arg(argument(setting));
            if setting.name == "workers" {
                serve = serve.args([bound("n_min", "Fewest R processes [default: 1]"), most_workers()]);
            }
        }
    }
    serve
}

/// The flag and the variable of a setting.
fn argument(setting: &'static Setting) -> Arg {
    let mut arg = Arg::new(setting.name)
        .long(&*setting.flag)
        .env(&*setting.variable)
        .help(setting.help)
        .value_name(&*setting.value);
    if let Some(short) = setting.short {
        arg = arg.short(short);
    }
    if !setting.default.is_empty() {
        arg = arg.default_value(setting.default);
    }
    match &setting.kind {
        // its words are in the help
        Kind::Choice(words) => {
            let read = PossibleValuesParser::new(words.iter().copied());
            arg.value_parser(clap::builder::TypedValueParser::map(read, Value::String))
        }
        kind @ (Kind::Flag | Kind::FlagOrAuto) => arg
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .hide_possible_values(true)
            .value_parser(|text: &str| kind.read(text)),
        kind @ Kind::Lines => arg.action(ArgAction::Append).value_parser(|text: &str| kind.read(text)),
        kind => arg.value_parser(|text: &str| kind.read(text)),
    }
}

/// A bound of the pool, as valve has them.
fn bound(name: &'static str, help: &'static str) -> Arg {
    let (flag, variable) = if name == "n_min" { ("n-min", "DROVER_N_MIN") } else { ("n-max", "DROVER_N_MAX") };
    let kind = Kind::Count { least: 1, most: None };
    Arg::new(name).long(flag).env(variable).value_name("N").help(help).value_parser(move |text: &str| kind.read(text))
}

fn most_workers() -> Arg {
    bound("n_max", "Most R processes [default: 3]").short('n')
}

/// What the program was asked for.
#[derive(Debug)]
pub enum Asked {
    /// to serve
    Serve(Box<Invocation>),
    /// something that the package does
    Tool(Tool),
    /// to check several apps, one after the other, by their names
    Checks(Vec<(String, Tool)>),
    /// something that the program does by itself
    Own(Own),
}

/// A command that needs no R, or a server first.
#[derive(Debug)]
pub enum Own {
    Status(StatusArgs),
    Reload(ReloadArgs),
    Scale(ScaleArgs),
    Stop(StopArgs),
    Profile(ProfileArgs),
    Failed(FailedArgs),
    Replay(ReplayArgs),
    Jobs(JobsArgs),
    Systemd(UnitArgs),
    Bench(BenchArgs),
    Completions(CompletionsArgs),
    Install(InstallArgs),
    HashPassword(PasswordArgs),
}

/// Reads arguments, the first of which is the program's name, and this process's variables.
///
/// # Errors
/// With what is wrong and what would be right; also when help was asked for, or the version.
pub fn read(args: Vec<OsString>) -> Result<Asked, clap::Error> {
    let (command, kubernetes) = surroundings::without_service(command(), std::env::var_os("DROVER_PORT"));
    let names = std::env::vars_os().map(|(name, _)| name);
    let names = names.filter(|name| kubernetes.is_none() || !surroundings::is_of_service(name));
    let mut asked =
        read_with(command, args, names, Platform { port: std::env::var_os("PORT"), host: std::env::var_os("HOST") })?;
    if let Asked::Serve(invocation) = &mut asked {
        invocation.notes.extend(kubernetes);
    }
    Ok(asked)
}

/// The same, of arguments of a server; `None` for those of another command.
///
/// # Errors
/// As for [`read`].
pub(crate) fn read_serving(args: Vec<OsString>) -> Result<Option<Box<Invocation>>, clap::Error> {
    Ok(match read(args)? {
        Asked::Serve(invocation) => Some(invocation),
        Asked::Tool(_) | Asked::Checks(_) | Asked::Own(_) => None,
    })
}

/// Variables by which platforms that run programs say where to listen.
#[derive(Debug, Default)]
struct Platform {
    port: Option<OsString>,
    host: Option<OsString>,
}

fn read_with(
    parser: Command,
    args: Vec<OsString>,
    variables: impl Iterator<Item = OsString>,
    platform: Platform,
) -> Result<Asked, clap::Error> {
    let read = parser.clone().try_get_matches_from(&args);
    let matches = read.map_err(|e| blame::of_variable(e, &parser, &args))?;
    let (app, dev, client) = match Options::from_arg_matches(&matches)?.command {
        What::Serve(app) => (app, None, None),
        What::Dev(dev) => (dev.app.clone(), Some(dev), None),
        What::Mcp(args) => match args.asked() {
            mcp::Asked::Serve(app, client) => (app, None, Some(client)),
            mcp::Asked::List(tool, config) => return asked_of(tool, config.as_deref()),
        },
        What::Status(args) => return Ok(Asked::Own(Own::Status(args))),
        What::Reload(args) => return Ok(Asked::Own(Own::Reload(args))),
        What::Scale(args) => return Ok(Asked::Own(Own::Scale(args))),
        What::Stop(args) => return Ok(Asked::Own(Own::Stop(args))),
        What::Profile(args) => return Ok(Asked::Own(Own::Profile(args))),
        What::Failed(args) => return Ok(Asked::Own(Own::Failed(args))),
        What::Replay(args) => return Ok(Asked::Own(Own::Replay(args))),
        What::Jobs(args) => return Ok(Asked::Own(Own::Jobs(args))),
        What::Systemd(args) => return Ok(Asked::Own(Own::Systemd(args))),
        What::Bench(args) => return Ok(Asked::Own(Own::Bench(args))),
        What::Completions(args) => return Ok(Asked::Own(Own::Completions(args))),
        What::Install(args) => return Ok(Asked::Own(Own::Install(args))),
        What::HashPassword(args) => return Ok(Asked::Own(Own::HashPassword(args))),
        What::Docker(docker) => return Ok(Asked::Tool(docker.tool())),
        What::Routes(app) => return asked_of(about("routes", app, Vec::new()), None),
        What::Check(app) => return asked_to_check(app),
        What::Openapi(openapi) => return asked_of(openapi.tool(), None),
        What::Doctor(program) => return Ok(Asked::Tool(tool("doctor", None, program))),
        What::New(project) => return Ok(Asked::Tool(project.tool())),
        What::Compress(files) => return Ok(Asked::Tool(tool("compress", Some(files.folder), files.program))),
        What::Version(program) => return Ok(Asked::Tool(tool("version", None, program))),
    };
    let mut notes = surroundings::unknown_variables(&command(), variables);
    let serving = matches.subcommand();
    // that of mcp has one name
    let is_flag = |matches: &ArgMatches| {
        matches.try_contains_id("named").is_ok() && matches.value_source("named") == Some(ValueSource::CommandLine)
    };
    if app.file.is_some() && serving.is_some_and(|(_, matches)| is_flag(matches)) {
        return Err(usage(ErrorKind::ArgumentConflict, "FILE cannot be used with --file"));
    }
    // clap sees to it that there is one; that of a flag goes before one of a variable
    let path = app.file.or(app.named).unwrap_or_default();
    let mut file = file::read(app.config.as_deref(), &path).map_err(|e| usage(ErrorKind::ValueValidation, &e))?;
    let tables = several::tables(&path, &mut file, dev.is_some() || client.is_some())?;
    if let Some(path) = &file.path {
        notes.push(format!("settings are those of {}", path.display()));
    }
    let policies = file.said.policies.clone();
    let mut given = serving.map_or_else(Given::default, |(name, matches)| Given::collect(name, matches, file.said));
    if client.is_some() {
        given.suit_one_client();
    } else {
        surroundings::port(&mut given, platform.port)?;
        surroundings::host(&mut given, platform.host);
    }
    notes.extend(surroundings::valve(&mut given)?);
    if dev.is_some() {
        given.suit_development();
    }
    let pool = processes::options(&given)?;
    let config = file::path_of(app.config.as_deref(), &path);
    let (kind, args, r, sockets) = (app.kind, app.args, app.program.r, app.sockets.folder);
    let mut invocation = Invocation {
        file: path,
        kind,
        args,
        r,
        pool,
        notes,
        config,
        sockets,
        dev,
        client,
        given,
        policies,
        of_app: None,
        apps: Vec::new(),
    };
    invocation.apps = several::invocations(&invocation, tables)?;
    // found out here, where it is an error and not a surprise
    invocation
        .read_settings(PathBuf::new())
        .map_err(|e| usage(ErrorKind::ValueValidation, &invocation.with_places(&e)))?;
    Ok(Asked::Serve(Box::new(invocation)))
}

/// To load an app, or several, and say what is wrong.
fn asked_to_check(app: AppOfTool) -> Result<Asked, clap::Error> {
    match several::checks(&app)? {
        checks if checks.is_empty() => asked_of(about("check", app, Vec::new()), None),
        checks => Ok(Asked::Checks(checks)),
    }
}

/// A command that loads its app.
fn asked_of(tool: Tool, config: Option<&Path>) -> Result<Asked, clap::Error> {
    loading(tool, config).map(Asked::Tool).map_err(|e| usage(ErrorKind::ValueValidation, &e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use admission::Limits;
    use engine::OnClientGone;
    use std::path::Path;
    use supervisor::{PoolOptions, Start};

    fn ask(args: &[&str]) -> Result<Asked, clap::Error> {
        let args = ["drover"].iter().chain(args).map(OsString::from).collect();
        read_with(command(), args, std::iter::empty(), Platform::default())
    }

    fn parse(args: &[&str]) -> Result<Invocation, clap::Error> {
        match ask(&[&["serve"], args].concat())? {
            Asked::Serve(invocation) => Ok(*invocation),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_the_package_does_is_passed_on() {
        let words = |args: &[&str]| match ask(args).unwrap() {
            Asked::Tool(tool) => tool.words,
            other => panic!("{other:?}"),
        };
        assert_eq!(words(&["routes", "app.R"]), ["routes", "app.R"]);
        assert_eq!(words(&["check", "a", "--kind", "plumber"]), ["check", "a", "--kind", "plumber"]);
        assert_eq!(words(&["new", "shop"]), ["new", "shop", "--kind", "api"]);
        assert_eq!(words(&["new", "--kind", "websocket", "x"]), ["new", "x", "--kind", "websocket"]);
        let unknown = ask(&["new", "shop", "--kind", "shiny"]).unwrap_err().to_string();
        assert!(unknown.contains("possible values: api, plumber, websocket"), "{unknown}");
        assert_eq!(words(&["doctor"]), ["doctor"]);
        assert!(
            ask(&["routes"]).is_err() && ask(&["doctor", "x"]).is_err() && ask(&["check", "a", "--port", "1"]).is_err()
        );
    }

    fn error(args: &[&str]) -> String {
        match parse(args) {
            Ok(invocation) => panic!("{invocation:?}"),
            Err(e) => {
                assert_eq!(e.exit_code(), 2);
                e.to_string()
            }
        }
    }

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn without_options_all_is_as_in_r() {
        let invocation = parse(&["app.R"]).unwrap();
        assert_eq!(invocation.file, Path::new("app.R"));
        let settings = invocation.settings("/tmp".into());
        assert_eq!((settings.host.join(" ").as_str(), settings.port, settings.threads), ("127.0.0.1", 8080, 1));
        assert_eq!((settings.cpp_workers, settings.upload_path.as_path()), (4, Path::new("/tmp")));
        assert_eq!(format!("{:?}", settings.limits), format!("{:?}", Limits::default()));
        assert_eq!(format!("{:?}", invocation.pool), format!("{:?}", PoolOptions::default()));
    }

    #[test]
    fn each_setting_has_its_flag() {
        let flags = "-f app.R -H :: -p 0 --n-min 2 -n 5 --check-unused 1 --max-age 0 --max-body 0 --max-queue 7 \
                     --timeout 0.5 --debug --start spawn --graceful-timeout 0 --max-requests 100 --threads 2 \
                     --cpp-workers 6 --kill-after 3 --on-client-gone finish --case-sensitive=no";
        let invocation = parse(&flags.split_whitespace().collect::<Vec<_>>()).unwrap();
        let (settings, pool) = (invocation.settings("/tmp".into()), &invocation.pool);
        assert_eq!(
            (invocation.file.as_path(), settings.host.join(" ").as_str(), settings.port),
            (Path::new("app.R"), "::", 0)
        );
        assert_eq!((pool.n_min, pool.n_max, pool.check_unused, pool.max_age), (2, 5, 1.0, 0.0));
        assert_eq!((pool.start, pool.max_requests, pool.graceful_timeout), (Start::Spawn, 100, 0.0));
        let limits = settings.limits;
        assert_eq!((limits.max_body, limits.max_queue, limits.timeout, limits.kill_after), (0, 7, 0.5, 3.0));
        assert_eq!(settings.on_client_gone, Some(OnClientGone::Finish));
        assert!(settings.debug && settings.threads == 2 && settings.cpp_workers == 6 && !settings.case_sensitive);
    }

    #[test]
    fn flags_of_lines_are_given_as_often_as_there_are_lines() {
        let fields = |args: &[&str]| parse(args).unwrap().settings("/tmp".into()).response_headers;
        let (a, b) = ("a: 1, 2", "b: 3");
        assert_eq!(fields(&["app.R", "--response-headers", a, "--response-headers", b]), [a, b]);
        assert_eq!(fields(&["app.R", "--response-headers", "a: 1, 2\n b: 3\n"]), [a, b]);
        assert!(fields(&["app.R"]).is_empty());
    }

    #[test]
    fn every_field_of_the_limits_is_a_setting() {
        let limits = format!("{:?}", Limits::default());
        let names = limits.trim_start_matches("Limits { ").split(", ").map(|field| field.split(':').next().unwrap());
        for name in names {
            assert!(crate::table::find(name).is_some(), "{name} is not in the table");
        }
        let command = command();
        let serve = command.find_subcommand("serve").unwrap();
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
            ("--debug", "perhaps"),
        ] {
            let error = error(&["app.R", &format!("{flag}={value}")]);
            assert!(error.contains(flag) && error.contains(value), "{error}");
        }
    }

    #[test]
    fn a_flag_goes_before_the_file_and_the_file_before_the_default() {
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path().join("app.R");
        let config = folder.path().join("drover.toml");
        std::fs::write(&config, "workers = \"2-8\"\n[limits]\nmax_body = \"2MB\"\nmax_headers = 7\n").unwrap();
        let app = app.to_str().unwrap();
        let invocation = parse(&[app, "--max-headers", "9"]).unwrap();
        let limits = invocation.settings(PathBuf::new()).limits;
        assert_eq!((limits.max_body, limits.max_headers, limits.max_parts), (2_000_000, 9, 100));
        assert_eq!((invocation.pool.n_min, invocation.pool.n_max), (2, 8));
        assert_eq!(invocation.notes, [format!("settings are those of {}", config.display())]);
        // the number of processes is one setting, under each of its names
        let invocation = parse(&[app, "-n", "5"]).unwrap();
        assert_eq!((invocation.pool.n_min, invocation.pool.n_max), (1, 5));
        let other = folder.path().join("other.toml");
        assert!(error(&[app, "--config", other.to_str().unwrap()]).starts_with("error: cannot read "));
        std::fs::write(&other, "max_bdoy = 1").unwrap();
        let said = error(&[app, "--config", other.to_str().unwrap()]);
        assert!(said.ends_with("other.toml:1: max_bdoy is not a setting: did you mean max_body?\n"), "{said}");
    }
}
