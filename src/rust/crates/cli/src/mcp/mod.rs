//! `drover mcp`: an app's tools for a client of the Model Context Protocol that has started this program and talks to
//! it by standard input and output. It is `drover serve` on a socket that nothing else knows, and a bridge: each
//! message is posted to the app's endpoint, and what comes back is written, a line each. So workers, limits and
//! deadlines are those of every server, and what messages mean is known to R alone: R/mcp.R, R/mcp-stdio.R.
//!
//! `streams` has the standard streams, `json` looks into what goes through, `message` is what the bridge must know of a
//! message, `answer` makes lines of answers of HTTP, `bridge` puts them together; `serve` starts it.

mod answer;
mod bridge;
mod json;
mod message;
mod streams;

pub(crate) use bridge::Bridge;
pub(crate) use streams::Streams;

use crate::http::field;
use crate::invocation::{AppArgs, Client};
use crate::manage::Sockets;
use crate::tool::{about, AppOfTool, Tool};
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  drover mcp app.R                   what a client has as the command of its server
  drover mcp app.R --workers 1       with one R process
  drover mcp --list app.R            what a client will find
A client's settings name the whole path of this program, and that of the app.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    app: AppOfTool,
    /// Settings file, in TOML [default: drover.toml beside the app's file, if there is one]
    #[arg(short = 'c', long, value_name = "FILE", env = "DROVER_CONFIG")]
    config: Option<PathBuf>,
    /// The path of the dr_mcp() to use, if the app has several
    #[arg(long, value_name = "PATH")]
    endpoint: Option<String>,
    /// A header field to authenticate with, as in 'Authorization: Bearer TOKEN'; without one, the app's authentication
    /// does not apply
    #[arg(long, value_name = "FIELD", env = "DROVER_CREDENTIALS", hide_env_values = true, value_parser = field)]
    credentials: Option<String>,
    /// Print the tools, and serve nothing; `?` marks arguments that may be left out
    #[arg(long)]
    list: bool,
    /// With --list: as JSON, as clients see them
    #[arg(long, requires = "list")]
    json: bool,
}

/// What was asked for.
pub(crate) enum Asked {
    /// to serve
    Serve(AppArgs, Client),
    /// a list, which is R's to make, and the settings file
    List(Tool, Option<PathBuf>),
}

impl McpArgs {
    pub(crate) fn asked(self) -> Asked {
        let McpArgs { app, config, endpoint, credentials, list, json } = self;
        let client = Client { endpoint, credentials };
        if list {
            let json = json.then(|| "--json".into());
            return Asked::List(about("mcp", app, client.words().chain(json).collect()), config);
        }
        let AppOfTool { file, kind, program, args } = app;
        let sockets = Sockets::default();
        Asked::Serve(AppArgs { file: Some(file), named: None, kind, config, sockets, program, args }, client)
    }
}
