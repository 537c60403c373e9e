//! Finding R, the package that this program belongs to, and how R is started with both.

use crate::exit::{Code, Error};
use crate::tool::{further, Tool};
use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use supervisor::Source;

/// What R is told to do: the package does the rest.
const ZYGOTE: &str = "drover:::zygote_main()";

/// The same for commands that need no server.
const COMMAND: &str = "drover:::command_main()";

/// What R does first for a program that was installed alone: it may be where no package is, or one of another version,
/// with which it has no common language. 4 is `Code::Missing`.
const CHECK: &str = concat!(
    r#"local({ found <- tryCatch(format(utils::packageVersion("drover")), error = function(none) ""); "#,
    r#"if (found != ""#,
    env!("CARGO_PKG_VERSION"),
    r#"") { message("drover: cannot find version "#,
    env!("CARGO_PKG_VERSION"),
    r#" of the R package drover in ", paste(.libPaths(), collapse = ", "), "#,
    r#"if (nzchar(found)) paste0(": what is there is ", found), "#,
    r#"". Install it there, or name its library in R_LIBS"); quit(save = "no", status = 4L) } }); "#
);

/// The variable that tells R of the policies in the settings file: arguments can be read by everybody.
const POLICIES: &str = "DROVER_POLICIES";

/// The variable that has R find packages.
const R_LIBS: &str = "R_LIBS";

/// What R is started with before its own arguments.
const OPTIONS: [&str; 3] = ["--no-echo", "--no-restore", "--no-save"];

/// The size of R's heap when it starts, in objects, for an app that needs the package plumber. With plumber loaded it
/// has this size anyway; growing there takes several full collections, and a quarter of the time to load. Other apps
/// would only have larger workers.
const HEAP_OF_PLUMBER: &str = "--min-nsize=1000k";

/// How much of a file is looked through for what says that it needs plumber.
const BEGINNING: u64 = 64 << 10;

/// How to start R processes for an app.
#[derive(Debug, Clone)]
pub struct Recipe {
    program: PathBuf,
    app: OsString,
    kind: Option<String>,
    args: Vec<OsString>,
    trace: bool,
    policies: String,
    words: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    /// of one of several apps
    surroundings: Vec<(OsString, OsString)>,
}

impl Recipe {
    /// For the app in `file`, with the R that `r` names: a path, or a name to look for on the `PATH`. What the file is,
    /// or whether it is a call in R instead, `kind` says; without one the package finds it out.
    ///
    /// # Errors
    /// When there is no such program or file.
    pub fn new(r: &Path, file: &Path, kind: Option<&str>) -> Result<Recipe, Error> {
        let program = found(r)?;
        let app = if is_call(file, kind) { file.into() } else { readable(file)?.into() };
        let env = library().into_iter().collect();
        Ok(Recipe {
            program,
            app,
            kind: kind.map(str::to_owned),
            args: Vec::new(),
            trace: false,
            policies: String::new(),
            words: Vec::new(),
            env,
            surroundings: Vec::new(),
        })
    }

    /// The same, of one of several apps.
    pub fn with_surroundings(self, surroundings: Vec<(OsString, OsString)>) -> Recipe {
        Recipe { surroundings, ..self }
    }

    /// The same, and the app has these arguments.
    pub fn with_args(self, args: &[OsString]) -> Recipe {
        Recipe { args: args.to_vec(), ..self }
    }

    /// The same, and an error while the app is loaded is told with the calls that led to it.
    pub fn with_trace(self) -> Recipe {
        Recipe { trace: true, ..self }
    }

    /// The same, and the app has these policies of the settings file, see [`crate::policies`].
    pub fn with_policies(self, policies: &str) -> Recipe {
        Recipe { policies: policies.to_owned(), ..self }
    }

    /// The same, and R is told this besides.
    pub fn with_words(self, words: impl Iterator<Item = OsString>) -> Recipe {
        Recipe { words: words.collect(), ..self }
    }

    /// The app: an absolute path, or a call.
    pub fn app(&self) -> &OsStr {
        &self.app
    }

    /// What the app is, if that was said.
    pub fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    /// The arguments of the app.
    pub fn args(&self) -> &[OsString] {
        &self.args
    }

    /// Variables that it has as one of several apps.
    pub fn surroundings(&self) -> &[(OsString, OsString)] {
        &self.surroundings
    }

    /// For the supervisor.
    pub fn source(&self) -> Source {
        let heap = needs_plumber(Path::new(&self.app), self.kind.as_deref()).then_some(HEAP_OF_PLUMBER);
        let mut args: Vec<OsString> = OPTIONS.into_iter().chain(heap).map(OsString::from).collect();
        args.extend(["-e".into(), expression(ZYGOTE, !self.env.is_empty()), "--args".into()]);
        args.push(self.app.clone());
        if let Some(kind) = &self.kind {
            args.extend(["--kind".into(), kind.into()]);
        }
        if self.trace {
            args.push("--trace".into());
        }
        args.extend(self.words.iter().cloned());
        args.extend(further(self.args.clone()));
        let mut env = self.env.clone();
        env.extend(self.surroundings.iter().cloned());
        env.push((POLICIES.into(), self.policies.clone().into()));
        Source::Command { program: self.program.clone().into(), args, env }
    }
}

/// The variables of one of several apps: its own, and one by which R finds the packages of a library before others,
/// except this one.
pub(crate) fn surroundings(own: &BTreeMap<String, String>, packages: Option<&Path>) -> Vec<(OsString, OsString)> {
    let mut all: Vec<(OsString, OsString)> = own.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let given = own.get(R_LIBS).map(OsString::from);
    if packages.is_some() || given.is_some() {
        let others = given.or_else(|| env::var_os(R_LIBS));
        // relative to where this program was started, while R enters the folder of the app
        let absolute = |packages: &Path| std::path::absolute(packages).unwrap_or_else(|_| packages.to_owned());
        let paths = match packages {
            Some(packages) => first(absolute(packages), others),
            None => others.unwrap_or_default(),
        };
        let paths = own_library().map_or_else(|| paths.clone(), |library| first(library, Some(paths.clone())));
        all.push((R_LIBS.into(), paths));
    }
    all
}

/// Becomes an R process that carries out a command. Returns when it cannot.
pub fn become_tool(tool: &Tool) -> Error {
    match command_of(tool) {
        Ok(mut command) => cannot_start(&command.exec()),
        Err(e) => e,
    }
}

/// The same, in a process that is waited for. Its exit status, 1 for one that was killed.
///
/// # Errors
/// When it cannot be started.
pub fn run_tool(tool: &Tool) -> Result<i32, Error> {
    let status = command_of(tool)?.status().map_err(|e| cannot_start(&e))?;
    Ok(status.code().unwrap_or(1))
}

fn command_of(tool: &Tool) -> Result<Command, Error> {
    let library = library();
    let told = [OPTIONS.map(OsString::from).to_vec(), vec!["-e".into(), expression(COMMAND, library.is_some())]];
    prepared(tool, told.concat(), library.into_iter().collect())
}

/// The same, of an R with which its user can talk meanwhile, as in `browser()`: R takes a command of `-e` for all that
/// it will ever read, so it finds this one in a profile. Of a program that was installed alone there is none: then the
/// command is carried out without talking.
pub fn become_console(tool: &Tool) -> Error {
    let profile = package().map(|package| package.join("replay/profile.R")).filter(|profile| profile.is_file());
    let Some(profile) = profile else { return become_tool(tool) };
    let options = ["--quiet", "--no-restore", "--no-save"].map(OsString::from).to_vec();
    let own = env::var_os(PROFILE).unwrap_or_default();
    let env = [("DROVER_PROFILE".into(), own), (PROFILE.into(), profile.into_os_string())];
    match prepared(tool, options, library().into_iter().chain(env).collect()) {
        Ok(mut command) => cannot_start(&command.exec()),
        Err(e) => e,
    }
}

/// The variable that names the profile of R's user, and that by which ours finds it.
const PROFILE: &str = "R_PROFILE_USER";

fn prepared(tool: &Tool, options: Vec<OsString>, env: Vec<(OsString, OsString)>) -> Result<Command, Error> {
    let program = found(&tool.r)?;
    if let Some((app, kind)) = &tool.app {
        if !is_call(app, kind.as_deref()) {
            readable(app)?;
        }
    }
    let mut command = Command::new(program);
    command
        .args(options)
        .arg("--args")
        .args(&tool.words)
        .envs(env)
        .envs(tool.env.iter().cloned())
        .env(POLICIES, &tool.policies);
    Ok(command)
}

fn cannot_start(e: &std::io::Error) -> Error {
    Error::new(Code::System, format!("cannot start R: {e}"))
}

fn found(r: &Path) -> Result<PathBuf, Error> {
    find_program(r, env::var_os("PATH").as_deref()).ok_or_else(|| {
        let r = r.display();
        Error::new(Code::Missing, format!("cannot find R: no program {r}. Install R, or say where it is with --r"))
    })
}

/// The variable that has R find the package of this program before others.
fn library() -> Option<(OsString, OsString)> {
    Some((R_LIBS.into(), first(own_library()?, env::var_os(R_LIBS))))
}

/// The library with the package of this program.
fn own_library() -> Option<PathBuf> {
    library_of(&env::current_exe().ok()?)
}

/// The folder of the package of this program that has the pages of the server itself.
pub(crate) fn web() -> Option<PathBuf> {
    Some(package()?.join("web"))
}

/// The folder of the package of this program.
fn package() -> Option<PathBuf> {
    Some(own_library()?.join("drover"))
}

/// What R is to evaluate. The package that this program came with needs no check.
fn expression(call: &str, came_with_it: bool) -> OsString {
    let check = if came_with_it { "" } else { CHECK };
    format!("{check}{call}").into()
}

/// Whether it is a call such as `pkg::make_app()`, and no file.
fn is_call(app: &Path, kind: Option<&str>) -> bool {
    let looks_so = || app.to_str().is_some_and(|text| text.ends_with(')') || text.contains("::")) && !app.exists();
    kind.map_or_else(looks_so, |kind| kind == "expression")
}

/// The absolute path of a file, or of a folder, that can be read.
fn readable(app: &Path) -> Result<PathBuf, Error> {
    let unreadable = |e| Error::new(Code::Missing, format!("cannot read {}: {e}", app.display()));
    if std::fs::metadata(app).map_err(unreadable)?.is_dir() {
        std::fs::read_dir(app).map_err(unreadable)?;
    } else {
        std::fs::File::open(app).map_err(unreadable)?;
    }
    std::path::absolute(app).map_err(unreadable)
}

/// Whether an app looks as if it needed the package plumber. The package decides what it is; this is about its heap
/// only.
fn needs_plumber(app: &Path, kind: Option<&str>) -> bool {
    if matches!(kind, Some("annotations" | "rds")) {
        return false;
    }
    if app.is_dir() {
        return ["_server.yml", "_server.yaml", "entrypoint.R", "plumber.R"]
            .iter()
            .any(|name| app.join(name).is_file());
    }
    let mut text = Vec::new();
    let read = File::open(app).and_then(|file| file.take(BEGINNING).read_to_end(&mut text));
    // of a call there is no file
    let text = if read.is_ok() { String::from_utf8_lossy(&text) } else { app.to_string_lossy() };
    let is_annotation = |line: &str| line.starts_with("#* @") || line.starts_with("#' @");
    text.contains("plumber") || text.lines().any(is_annotation)
}

/// As the shell would find it.
pub(crate) fn find_program(name: &Path, path: Option<&OsStr>) -> Option<PathBuf> {
    let can_run = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if name.components().count() > 1 {
        return Some(name.to_owned()).filter(can_run);
    }
    env::split_paths(path?).map(|folder| folder.join(name)).find(can_run)
}

/// The library of packages that holds the package of this program: LIBRARY/drover/bin/drover. `None` for a program that
/// was not installed with a package, as after `cargo build`.
fn library_of(exe: &Path) -> Option<PathBuf> {
    let package = exe.parent()?.parent()?;
    package.join("DESCRIPTION").is_file().then(|| package.parent().map(Path::to_owned))?
}

/// A list of paths with one more before the others.
fn first(path: PathBuf, others: Option<OsString>) -> OsString {
    let mut list = path.into_os_string();
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_the_shell_does() {
        let path = OsStr::new("/nonexistent:/bin");
        assert_eq!(find_program(Path::new("sh"), Some(path)), Some("/bin/sh".into()));
        assert_eq!(find_program(Path::new("/bin/sh"), None), Some("/bin/sh".into()));
        assert_eq!(find_program(Path::new("no-such-program"), Some(path)), None);
        assert_eq!(find_program(Path::new("./no-such-program"), Some(path)), None);
        // a folder, and a file that is no program
        assert_eq!(find_program(Path::new("/bin"), None), None);
        assert_eq!(find_program(Path::new("/etc/passwd"), None), None);
    }

    #[test]
    fn the_library_is_that_of_the_installed_package() {
        let library = tempfile::tempdir().unwrap();
        let package = library.path().join("drover");
        std::fs::create_dir_all(package.join("bin")).unwrap();
        let exe = package.join("bin/drover");
        assert_eq!(library_of(&exe), None);
        std::fs::write(package.join("DESCRIPTION"), "").unwrap();
        assert_eq!(library_of(&exe).as_deref(), Some(library.path()));
        assert_eq!(library_of(Path::new("/")), None);
    }

    #[test]
    fn the_package_of_the_program_comes_first() {
        assert_eq!(first("/a".into(), Some("/b:/c".into())), "/a:/b:/c");
        assert_eq!(first("/a".into(), None), "/a");
        assert_eq!(first("/a".into(), Some("".into())), "/a");
    }

    #[test]
    fn what_is_missing_is_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = |r: &str, file: &Path| Recipe::new(Path::new(r), file, None).unwrap_err();
        let no_r = error("/nonexistent/R", file.path());
        assert_eq!(no_r.code, Code::Missing);
        assert!(no_r.message.starts_with("cannot find R: no program /nonexistent/R."), "{}", no_r.message);
        let no_file = error("/bin/sh", Path::new("/nonexistent/app.R"));
        assert_eq!(no_file.message, "cannot read /nonexistent/app.R: No such file or directory (os error 2)");
    }

    #[test]
    fn an_app_for_plumber_is_told_by_what_it_says() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let annotated = file("a.R", "x <- 1\n#* @get /\nfunction() x\n");
        assert!(needs_plumber(&annotated, None) && needs_plumber(&annotated, Some("plumber")));
        assert!(!needs_plumber(&annotated, Some("annotations")));
        assert!(needs_plumber(&file("b.R", "plumber::pr_run(pr)"), None));
        assert!(!needs_plumber(&file("c.R", "# a comment\ndr_app()"), None) && !needs_plumber(folder.path(), None));
        file("entrypoint.R", "pr()");
        assert!(needs_plumber(folder.path(), None));
        assert!(needs_plumber(Path::new("plumber::pr()"), None) && !needs_plumber(Path::new("pkg::app()"), None));
    }

    #[test]
    fn an_app_is_a_file_a_folder_or_a_call() {
        let told = |app: &str, kind: Option<&str>| {
            Recipe::new(Path::new("/bin/sh"), Path::new(app), kind).map(|recipe| (recipe.app, recipe.kind))
        };
        assert_eq!(told("/tmp", None).unwrap(), ("/tmp".into(), None));
        assert_eq!(told("pkg::make_app()", None).unwrap(), ("pkg::make_app()".into(), None));
        assert_eq!(told("app", Some("expression")).unwrap(), ("app".into(), Some("expression".to_owned())));
        assert!(told("app", None).is_err() && told("pkg::make_app()", Some("script")).is_err());
    }
}
