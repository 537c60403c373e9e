//! `drover install` and `drover completions`: the program at hand in a shell.

use crate::exit::{Code, Error};
use crate::terminal::print;
use clap::{Args, Command};
use clap_complete::{generate, Shell};
use rustix::process::geteuid;
use std::env;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const EXAMPLES_OF_INSTALL: &str = "\
Examples:
  $(Rscript -e 'cat(drover::dr_cli_path())') install     ~/.local/bin/drover, or /usr/local/bin/drover as root
  drover install --folder ~/bin                          another folder";

const EXAMPLES_OF_COMPLETIONS: &str = "\
Examples:
  drover completions bash > ~/.local/share/bash-completion/completions/drover
  drover completions zsh > ~/.zfunc/_drover              with fpath+=~/.zfunc before compinit in ~/.zshrc
  drover completions fish > ~/.config/fish/completions/drover.fish";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES_OF_INSTALL)]
pub struct InstallArgs {
    /// Where to put the link [default: ~/.local/bin, as root /usr/local/bin]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES_OF_COMPLETIONS)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_parser = ["bash", "zsh", "fish"])]
    shell: String,
}

/// Prints what the shell is to read of this command.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn completions(args: &CompletionsArgs, mut command: Command) -> Result<(), Error> {
    let shell = match args.shell.as_str() {
        "zsh" => Shell::Zsh,
        "fish" => Shell::Fish,
        _ => Shell::Bash,
    };
    let mut text = Vec::new();
    generate(shell, &mut command, "drover", &mut text);
    print(&String::from_utf8_lossy(&text))
}

/// Makes the link.
///
/// # Errors
/// When something else has its name, or it cannot be made.
pub(crate) fn link(args: &InstallArgs) -> Result<(), Error> {
    let program = env::current_exe().map_err(|e| Error::new(Code::System, format!("where is this program? {e}")))?;
    let folder = args.folder.clone().or_else(usual_folder);
    let folder = folder.ok_or_else(|| Error::new(Code::Usage, "there is no HOME: say where with --folder"))?;
    let name = folder.join("drover");
    let cannot = |e: &io::Error| Error::new(Code::System, format!("cannot make {}: {e}", name.display()));
    fs::create_dir_all(&folder).map_err(|e| cannot(&e))?;
    if fs::canonicalize(&name).is_ok_and(|there| there == program) {
        return print(&format!("{} is there already\n{}", name.display(), hint(&folder)));
    }
    make_link(&program, &name).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => Error::new(
            Code::App,
            format!("{} is something else, which stays: remove it, or name another --folder", name.display()),
        ),
        _ => cannot(&e),
    })?;
    print(&format!("{} is a link to {} now\n{}", name.display(), program.display(), hint(&folder)))
}

fn usual_folder() -> Option<PathBuf> {
    if geteuid().is_root() {
        return Some("/usr/local/bin".into());
    }
    env::var_os("HOME").filter(|home| !home.is_empty()).map(|home| PathBuf::from(home).join(".local/bin"))
}

/// What to do where the shell does not look into that folder.
fn hint(folder: &Path) -> String {
    let path = env::var_os("PATH").unwrap_or_default();
    if env::split_paths(&path).any(|one| one == folder) {
        String::new()
    } else {
        format!("it is not on the PATH yet: export PATH=\"{}:$PATH\"\n", folder.display())
    }
}

/// At once, so that there is always one or the other, in the place of an older link to this program only.
fn make_link(program: &Path, name: &Path) -> io::Result<()> {
    match symlink(program, name) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists && is_ours(name) => {}
        made => return made,
    }
    let new = name.with_file_name(format!(".drover-{}", std::process::id()));
    symlink(program, &new)?;
    fs::rename(&new, name).inspect_err(|_| drop(fs::remove_file(&new)))
}

/// Whether it is a link to the program of a package, even of one that has been removed.
fn is_ours(name: &Path) -> bool {
    fs::read_link(name).is_ok_and(|target| target.ends_with("drover/bin/drover"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_link_is_replaced_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (name, program) = (folder.path().join("drover"), Path::new("/b/drover/bin/drover"));
        symlink("/gone/drover/bin/drover", &name).unwrap();
        make_link(program, &name).unwrap();
        assert_eq!(fs::read_link(&name).unwrap(), program);
        for other in ["/bin/sh", "/usr/bin/drover"] {
            fs::remove_file(&name).unwrap();
            symlink(other, &name).unwrap();
            assert_eq!(make_link(program, &name).unwrap_err().kind(), ErrorKind::AlreadyExists);
            assert_eq!(fs::read_link(&name).unwrap(), Path::new(other));
        }
        fs::remove_file(&name).unwrap();
        fs::write(&name, "mine").unwrap();
        assert!(make_link(program, &name).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
