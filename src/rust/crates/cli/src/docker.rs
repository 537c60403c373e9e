//! `drover docker`, as it is asked for. What it does is R's: R/command-docker.R.

use crate::help::DOCKER_EXAMPLES;
use crate::tool::{further, Program, Tool};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = DOCKER_EXAMPLES)]
pub(crate) struct DockerArgs {
    /// The app: an R file, or a folder with one
    file: PathBuf,
    /// Port to listen on in the container
    #[arg(short, long, default_value_t = 8080, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// Base image [default: rocker/r-ver of this R]
    #[arg(long, value_name = "IMAGE")]
    base: Option<String>,
    /// Overwrite existing files
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    program: Program,
    /// Arguments of the app, which has them as commandArgs(TRUE)
    #[arg(last = true, value_name = "ARGUMENTS")]
    args: Vec<OsString>,
}

impl DockerArgs {
    /// The command for R.
    pub(crate) fn tool(self) -> Tool {
        let DockerArgs { file, port, base, force, program, args } = self;
        let mut words: Vec<OsString> =
            vec!["docker".into(), file.clone().into(), "--port".into(), port.to_string().into()];
        words.extend(base.into_iter().flat_map(|base| ["--base".into(), base.into()]));
        words.extend(force.then(|| "--force".into()));
        words.extend(further(args));
        Tool { words, app: Some((file, None)), r: program.r, policies: String::new(), env: Vec::new() }
    }
}
