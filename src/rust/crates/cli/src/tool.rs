//! Commands that R carries out. Neighbour: `r`, which has it do so.

use crate::file;
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A command that R carries out.
#[derive(Debug, PartialEq, Eq)]
pub struct Tool {
    /// the command, and what it is about
    pub words: Vec<OsString>,
    /// the app that it is about, and what that is, if it was said
    pub app: Option<(PathBuf, Option<String>)>,
    /// the program R
    pub r: PathBuf,
    /// policies of the settings file beside the app, see [`crate::policies`]
    pub policies: String,
    /// further variables of R
    pub env: Vec<(OsString, OsString)>,
}

/// What a file may be said to be.
pub(crate) const KINDS: [&str; 5] = ["script", "plumber", "annotations", "rds", "expression"];

#[derive(Clone, Debug, Args)]
pub(crate) struct Program {
    /// The R program: a path, or a name on the PATH
    #[arg(long, value_name = "PROGRAM", env = "DROVER_R", default_value = "R")]
    pub(crate) r: PathBuf,
}

/// The app of a command that asks about it.
#[derive(Debug, Args)]
pub(crate) struct AppOfTool {
    /// The app: as for serve
    pub(crate) file: PathBuf,
    /// What FILE is, where that cannot be detected
    #[arg(long, env = "DROVER_KIND", value_parser = KINDS)]
    pub(crate) kind: Option<String>,
    #[command(flatten)]
    pub(crate) program: Program,
    /// Arguments of the app: as for serve
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub(crate) args: Vec<OsString>,
}

/// A command about an app, with further options.
pub(crate) fn about(command: &str, app: AppOfTool, options: Vec<OsString>) -> Tool {
    let kind = app.kind.iter().flat_map(|kind| ["--kind".into(), kind.into()]);
    let words = [command.into(), app.file.clone().into()].into_iter().chain(kind).chain(options);
    let words = words.chain(further(app.args)).collect();
    Tool { words, app: Some((app.file, app.kind)), r: app.program.r, policies: String::new(), env: Vec::new() }
}

/// A command with one more word, or none.
pub(crate) fn tool(command: &str, word: Option<PathBuf>, program: Program) -> Tool {
    let words = std::iter::once(command.into()).chain(word.map(Into::into)).collect();
    Tool { words, app: None, r: program.r, policies: String::new(), env: Vec::new() }
}

/// A command that loads its app, with the policies of this settings file, or of that beside it.
///
/// # Errors
/// What is wrong with that file.
pub(crate) fn loading(mut tool: Tool, config: Option<&Path>) -> Result<Tool, String> {
    if let Some((app, _)) = &tool.app {
        tool.policies = file::read(config, app)?.said.policies;
    }
    Ok(tool)
}

/// Arguments of the app, as the words behind all others.
pub(crate) fn further(args: Vec<OsString>) -> impl Iterator<Item = OsString> {
    (!args.is_empty()).then(|| "--".into()).into_iter().chain(args)
}
