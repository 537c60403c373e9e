//! `drover systemd FILE`: the app as a service of systemd. The unit is `inst/deploy/drover.service`, which stands there once for all.

use crate::exit::{Code, Error};
use crate::tell;
use clap::Args;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const UNIT: &str = include_str!("../../../../../inst/deploy/drover.service");

/// What is filled in, in the order of [`print`].
const FIELDS: [&str; 5] = ["{name}", "{start}", "{program}", "{folder}", "{user}"];

const EXAMPLES: &str = "\
Examples:
  drover systemd /srv/shop/app.R | sudo tee /etc/systemd/system/shop.service
  drover systemd app.R --user www-data
  drover systemd app.R -- --port 8000 --workers 2-8     with options of drover serve";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct UnitArgs {
    /// The app: an R file, or a folder with one
    file: PathBuf,
    /// The user that it runs as [default: the owner of FILE; one made for it when that is root]
    #[arg(long)]
    user: Option<String>,
    /// The name of the service [default: that of the app's folder]
    #[arg(long)]
    name: Option<String>,
    /// Options of drover serve
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

/// Prints the unit.
///
/// # Errors
/// When there is no such file, or the words cannot stand in a unit.
pub(crate) fn print(args: &UnitArgs) -> Result<(), Error> {
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
        (Some(user), _) if is_service_name(user) => format!("User={user}"),
        (Some(user), _) => {
            return Err(Error::new(Code::Usage, format!("--user must be the name of a user, not '{user}'")))
        }
        (None, 0) => "DynamicUser=yes".to_owned(),
        (None, uid) => format!("User={}", user_name(uid)),
    };
    let program = quoted(&program()?.to_string_lossy())?;
    let mut start = vec![program.clone(), "serve".to_owned(), quoted(&file.to_string_lossy())?];
    for option in &args.options {
        start.push(quoted(option)?);
    }
    // a path is the rest of the line, and stands for itself but for its percent signs
    let folder = one_line(&folder.to_string_lossy())?.replace('%', "%%");
    let values = [name, start.join(" "), program, folder, user];
    let unit = FIELDS.iter().zip(&values).fold(UNIT.to_owned(), |unit, (field, value)| unit.replace(field, value));
    tell::print(&unit)
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
    !name.is_empty() && name.len() < 200 && !name.starts_with('-') && name.chars().all(allowed)
}

/// By `/etc/passwd`; the number where it is not there, which systemd takes, too.
fn user_name(uid: u32) -> String {
    let known = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let line = known
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|line| line.get(2).is_some_and(|number| number.parse() == Ok(uid)));
    line.map_or_else(|| uid.to_string(), |line| line[0].to_owned())
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
            is_service_name("shop-1") && !is_service_name("a b") && !is_service_name("") && !is_service_name("a/b")
        );
        assert_eq!(
            (service_name(Path::new("/srv/shop")), service_name(Path::new("/"))),
            ("shop".into(), "drover".into())
        );
        assert_eq!((user_name(0), user_name(4_000_000_000)), ("root".into(), "4000000000".into()));
    }

    #[test]
    fn every_field_of_the_unit_is_filled() {
        for field in FIELDS {
            assert!(UNIT.contains(field), "{field}");
        }
    }
}
