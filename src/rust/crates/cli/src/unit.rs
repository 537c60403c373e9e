//! `drover systemd FILE`: the app as a service of systemd, and its socket. The units are `inst/deploy/drover.service`
//! and `drover.socket`, which stand there once for all.

use crate::exit::{Code, Error};
use crate::given::Origin;
use crate::invocation::Invocation;
use crate::terminal;
use crate::users;
use clap::Args;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use supervisor::PoolOptions;

const UNIT: &str = include_str!("../../../../../inst/deploy/drover.service");
const SOCKET: &str = include_str!("../../../../../inst/deploy/drover.socket");

/// What is filled in, in the order of [`print`] and of [`socket`].
const FIELDS: [&str; 9] = [
    "{name}",
    "{environment}",
    "{start}",
    "{program}",
    "{folder}",
    "{user}",
    "{start_timeout}",
    "{stop_timeout}",
    "{usage}",
];
const SOCKET_FIELDS: [&str; 3] = ["{name}", "{address}", "{access}"];

/// Where R looks for packages, from the environment of the command that prints the unit.
const LIBRARIES: [&str; 3] = ["R_LIBS", "R_LIBS_USER", "R_LIBS_SITE"];

/// What systemd waits beyond the times of the settings, in seconds: for what comes before and after them, and so that
/// it is the server that says what took too long.
const BEYOND: f64 = 10.0;

const EXAMPLES: &str = "\
Examples:
  drover systemd /srv/shop/app.R | sudo tee /etc/systemd/system/shop.service
  drover systemd app.R --user www-data
  drover systemd app.R -- --port 8000 --workers 2-8     with options of drover serve
  drover systemd app.R -- --port 8000 -- --model x.rds  and with arguments of the app
  drover systemd app.R --socket=0.0.0.0:80 | sudo tee /etc/systemd/system/shop.socket";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct UnitArgs {
    /// The app: an R file, or a folder with one
    file: PathBuf,
    /// The user to run as [default: the owner of FILE; a user of its own when that is root]
    #[arg(long)]
    user: Option<String>,
    /// Name of the service [default: that of the app's folder]
    #[arg(long)]
    name: Option<String>,
    /// Print a socket unit instead, on which systemd listens for the service: PORT, IP:PORT or a path, or several
    /// separated by commas
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "127.0.0.1:8080", conflicts_with = "options")]
    socket: Option<String>,
    /// Options of drover serve, and arguments of the app behind another --
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

/// How long systemd waits for the start of a service, and for its end.
#[derive(Debug, PartialEq, Eq)]
struct Waits {
    start: String,
    stop: String,
}

impl Waits {
    /// Of a server that is told this. A variable of this process is none of the service's: where one says a time, the
    /// default may hold there.
    fn of(invocation: &Invocation) -> Self {
        let usual = PoolOptions::default();
        let longer = |name: &str, said: f64, usual: f64| match invocation.origin(name) {
            Origin::Variable => said.max(usual),
            _ => said,
        };
        let pool = &invocation.pool;
        let start = match pool.start_timeout {
            0.0 => "infinity".to_owned(),
            said => seconds(longer("start_timeout", said, usual.start_timeout)),
        };
        let drain = longer("drain_delay", pool.drain_delay, usual.drain_delay);
        let graceful = longer("graceful_timeout", pool.graceful_timeout, usual.graceful_timeout);
        Waits { start, stop: seconds(drain + graceful) }
    }
}

fn seconds(within: f64) -> String {
    format!("{:.0}", (within + BEYOND).ceil())
}

/// Reads the arguments of a server; `None` for those of another command.
pub(crate) type Reader = fn(Vec<OsString>) -> Result<Option<Box<Invocation>>, clap::Error>;

/// How long systemd is to wait for a server that is started with these options.
///
/// # Errors
/// What is wrong with them, or with the settings file.
fn waits(file: &Path, given: &[String], read: Reader) -> Result<Waits, Error> {
    let words = ["drover", "serve"].into_iter().map(OsString::from).chain([file.as_os_str().to_owned()]);
    match read(words.chain(given.iter().map(OsString::from)).collect()) {
        Ok(Some(invocation)) => Ok(Waits::of(&invocation)),
        Ok(None) => Err(Error::new(Code::Usage, "what is behind -- must be options of drover serve".to_owned())),
        Err(e) => {
            let why = e.to_string();
            let why = why.strip_prefix("error: ").unwrap_or(&why).trim_end().to_owned();
            Err(Error::new(Code::Usage, why))
        }
    }
}

/// Prints the unit.
///
/// # Errors
/// When there is no such file, or the words cannot stand in a unit.
pub(crate) fn print(args: &UnitArgs, read: Reader) -> Result<(), Error> {
    let missing = |e| Error::new(Code::Missing, format!("cannot read {}: {e}", args.file.display()));
    let file = fs::canonicalize(&args.file).map_err(missing)?;
    let found = fs::metadata(&file).map_err(missing)?;
    let folder = if found.is_dir() { &*file } else { file.parent().unwrap_or(Path::new("/")) };
    let name = args.name.clone().unwrap_or_else(|| service_name(folder));
    if !is_service_name(&name) {
        let why = format!("--name must consist of letters, digits and -_.@, as names of services do, not '{name}'");
        return Err(Error::new(Code::Usage, why));
    }
    let user = match (&args.user, found.uid()) {
        (Some(user), _) if is_service_name(user) => Some(user.clone()),
        (Some(user), _) => {
            return Err(Error::new(Code::Usage, format!("--user must be the name of a user, not '{user}'")))
        }
        (None, 0) => None,
        (None, uid) => Some(users::name(uid)),
    };
    if let Some(address) = &args.socket {
        return terminal::print(&socket(&name, address, user.as_deref())?);
    }
    let Waits { start: start_timeout, stop: stop_timeout } = waits(&file, &args.options, read)?;
    let user = user.map_or_else(|| "DynamicUser=yes".to_owned(), |user| format!("User={user}"));
    let program = quoted(&program()?.to_string_lossy())?;
    let mut start = vec![program.clone(), "serve".to_owned(), quoted(&file.to_string_lossy())?];
    for option in &args.options {
        start.push(quoted(option)?);
    }
    // a path is the rest of the line, and stands for itself but for its percent signs
    let folder = one_line(&folder.to_string_lossy())?.replace('%', "%%");
    let environment = environment(&name, |variable| env::var_os(variable))?;
    let usage = (Code::Usage as u8).to_string();
    let values = [name, environment, start.join(" "), program, folder, user, start_timeout, stop_timeout, usage];
    terminal::print(&filled(UNIT, &FIELDS, &values))
}

/// The variables of the service: the folder of its socket, which is its own below `/run`, and where R finds packages.
fn environment(name: &str, variable: impl Fn(&str) -> Option<OsString>) -> Result<String, Error> {
    // systemd has `/run` there, or the folder of the user whose services it runs
    let mut lines = vec![format!("Environment=DROVER_SOCKETS=%t/drover/{name}")];
    for library in LIBRARIES {
        let Some(paths) = variable(library).filter(|paths| !paths.is_empty()) else { continue };
        lines.push(format!("Environment={}", assignment(library, &absolute(&paths.to_string_lossy()))?));
    }
    Ok(lines.join("\n"))
}

/// A list of folders, of which none depends on where it is read. What is no folder here may be one of R's patterns.
fn absolute(paths: &str) -> String {
    let absolute = |path: &str| match Path::new(path).is_dir().then(|| std::path::absolute(path)) {
        Some(Ok(absolute)) => absolute.to_string_lossy().into_owned(),
        _ => path.to_owned(),
    };
    paths.split(':').map(absolute).collect::<Vec<_>>().join(":")
}

/// A variable and its value as systemd reads them (systemd.exec(5), "Environment="): a dollar is one.
fn assignment(name: &str, value: &str) -> Result<String, Error> {
    let value = one_line(value)?.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    Ok(format!("\"{name}={value}\""))
}

fn filled(unit: &str, fields: &[&str], values: &[String]) -> String {
    fields.iter().zip(values).fold(unit.to_owned(), |unit, (field, value)| unit.replace(field, value))
}

/// The socket of a service, which may have several addresses.
fn socket(name: &str, addresses: &str, user: Option<&str>) -> Result<String, Error> {
    let (mut listen, mut access) = (Vec::new(), Vec::new());
    for address in addresses.split(',').map(str::trim) {
        let (address, its_access) = place(address, user)?;
        listen.push(address);
        if !access.contains(&its_access) {
            access.push(its_access);
        }
    }
    let values = [name.to_owned(), listen.join("\nListenStream="), access.join("\n")];
    Ok(filled(SOCKET, &SOCKET_FIELDS, &values))
}

/// One of the addresses, and the access to it; a socket in the file system belongs to the user.
fn place(address: &str, user: Option<&str>) -> Result<(String, String), Error> {
    let path = address.strip_prefix("unix:").unwrap_or(address);
    if path.starts_with('/') {
        let owner = user.map(|user| format!("\nSocketUser={user}")).unwrap_or_default();
        return Ok((one_line(path)?.replace('%', "%%"), format!("SocketMode=0660{owner}")));
    }
    let port = address.parse().ok().filter(|&port: &u16| port > 0).map(|port| format!("127.0.0.1:{port}"));
    let full = address.parse().ok().filter(|address: &SocketAddr| address.port() > 0).map(|full| full.to_string());
    let wrong = || {
        let right = "a port, an IP address and a port such as 0.0.0.0:80, or the absolute path of a socket";
        Error::new(Code::Usage, format!("--socket must be {right}, or several with commas, not '{address}'"))
    };
    // without, an answer in two writes waits for the client's acknowledgement
    Ok((port.or(full).ok_or_else(wrong)?, "NoDelay=yes".to_owned()))
}

/// This program by the name that the shell finds it by, which outlives the package's next version elsewhere.
fn program() -> Result<PathBuf, Error> {
    let program = env::current_exe().map_err(|e| Error::new(Code::System, format!("where is this program? {e}")))?;
    let path = env::var_os("PATH").unwrap_or_default();
    let linked = env::split_paths(&path)
        .map(|folder| folder.join("drover"))
        .find(|link| link.is_absolute() && fs::canonicalize(link).is_ok_and(|there| there == program));
    Ok(linked.unwrap_or(program))
}

fn service_name(folder: &Path) -> String {
    let name = folder.file_name().and_then(OsStr::to_str).filter(|name| is_service_name(name));
    name.unwrap_or("drover").to_owned()
}

fn is_service_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    !name.is_empty() && name.len() < 200 && !name.starts_with(['-', '.']) && name.chars().all(allowed)
}

fn one_line(text: &str) -> Result<&str, Error> {
    if text.chars().any(char::is_control) {
        return Err(Error::new(
            Code::Usage,
            format!("{text:?} cannot stand in a unit: it has line breaks or the like"),
        ));
    }
    Ok(text)
}

/// A word of a command line as systemd reads it (systemd.service(5), "Command lines").
fn quoted(word: &str) -> Result<String, Error> {
    let escaped = one_line(word)?.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    let is_plain = escaped == word && !word.is_empty() && !word.contains([' ', '\'', ';']);
    Ok(if is_plain { escaped } else { format!("\"{escaped}\"") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_as_systemd_reads_them() {
        for (word, read) in [
            ("/srv/app.R", "/srv/app.R"),
            ("my app.R", "\"my app.R\""),
            ("100%", "\"100%%\""),
            ("a$b", "\"a$$b\""),
            ("say \"x\"", "\"say \\\"x\\\"\""),
            ("", "\"\""),
        ] {
            assert_eq!(quoted(word).unwrap(), read);
        }
        assert!(quoted("a\nUser=root").is_err());
    }

    #[test]
    fn names_are_those_of_services_and_users() {
        assert!(
            is_service_name("shop-1")
                && !is_service_name("a b")
                && !is_service_name("")
                && !is_service_name("a/b")
                && !is_service_name("..")
        );
        assert_eq!(
            (service_name(Path::new("/srv/shop")), service_name(Path::new("/"))),
            ("shop".into(), "drover".into())
        );
    }

    #[test]
    fn a_service_finds_packages_where_they_are_found_now() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().display().to_string();
        let paths = |variable: &str| match variable {
            "R_LIBS" => Some(format!("{library}:src:/50% of \"x\"$").into()),
            "R_LIBS_USER" => Some("%p-library/%v".into()),
            "R_LIBS_SITE" => Some("".into()),
            _ => None,
        };
        let here = env::current_dir().unwrap();
        let expected = format!(
            "Environment=DROVER_SOCKETS=%t/drover/shop\n\
             Environment=\"R_LIBS={library}:{}/src:/50%% of \\\"x\\\"$\"\n\
             Environment=\"R_LIBS_USER=%%p-library/%%v\"",
            here.display()
        );
        assert_eq!(environment("shop", paths).unwrap(), expected);
        assert!(environment("shop", |_| Some("/a\nUser=root".into())).is_err());
    }

    #[test]
    fn every_field_of_the_unit_is_filled() {
        for (unit, fields) in [(UNIT, &FIELDS[..]), (SOCKET, &SOCKET_FIELDS[..])] {
            for field in fields {
                assert!(unit.contains(field), "{field}");
            }
        }
    }

    #[test]
    fn a_socket_has_a_port_or_a_path() {
        let has = |address: &str, line: &str| socket("shop", address, Some("app")).unwrap().lines().any(|l| l == line);
        assert!(has("8000", "ListenStream=127.0.0.1:8000") && has("0.0.0.0:80", "ListenStream=0.0.0.0:80"));
        assert!(has("[::1]:80", "ListenStream=[::1]:80") && has("80", "NoDelay=yes"));
        assert!(has("/run/50%/s", "ListenStream=/run/50%%/s") && has("unix:/run/s", "ListenStream=/run/s"));
        assert!(has("/run/s", "SocketMode=0660") && has("/run/s", "SocketUser=app") && !has("80", "SocketUser=app"));
        let both = socket("shop", "0.0.0.0:80, /run/s", Some("app")).unwrap();
        let expected = "ListenStream=0.0.0.0:80\nListenStream=/run/s\n";
        assert!(both.contains(expected) && both.contains("NoDelay=yes\nSocketMode=0660\nSocketUser=app\n"), "{both}");
        for wrong in ["0", "localhost:80", "1.2.3.4", "1.2.3.4:0", "run/s", "", "/run/a\nb"] {
            assert!(socket("shop", wrong, None).is_err(), "{wrong}");
        }
    }
}
