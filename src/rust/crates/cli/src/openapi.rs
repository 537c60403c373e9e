//! `drover openapi`, as it is asked for. What it does is R's: R/command-openapi.R.

use crate::tool::{about, AppOfTool, Tool};
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const OPENAPI_EXAMPLES: &str = "\
Examples:
  drover openapi app.R               to the terminal, as YAML
  drover openapi app.R -o api.json   into a file, as its name says";

#[derive(Debug, Args)]
#[command(after_help = OPENAPI_EXAMPLES)]
pub(crate) struct OpenApiArgs {
    #[command(flatten)]
    app: AppOfTool,
    /// json or yaml [default: by the name of the output, otherwise yaml]
    #[arg(long, value_name = "FORMAT", value_parser = ["json", "yaml"])]
    format: Option<String>,
    /// File to write, replaced if it exists
    #[arg(short, long, value_name = "OUTPUT")]
    output: Option<PathBuf>,
}

impl OpenApiArgs {
    /// The command for R.
    pub(crate) fn tool(self) -> Tool {
        let OpenApiArgs { app, format, output } = self;
        let is_json = output.as_deref().and_then(Path::extension).is_some_and(|ending| ending == "json");
        let format = format.unwrap_or_else(|| if is_json { "json" } else { "yaml" }.to_owned());
        let mut further: Vec<OsString> = vec!["--format".into(), format.into()];
        further.extend(output.into_iter().flat_map(|output| ["--output".into(), output.into()]));
        about("openapi", app, further)
    }
}
