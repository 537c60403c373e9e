//! What a server was told: its app and its settings.

use crate::blame;
use crate::given::{Given, Origin};
use crate::manage::Sockets;
use crate::r;
use crate::surroundings;
use crate::tls;
use crate::tool::{Program, KINDS};
use clap::Args;
use engine::Settings;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use supervisor::PoolOptions;
use toml::Value;

#[derive(Clone, Debug, Args)]
pub(crate) struct AppArgs {
    /// The app: an R file, a plumber.R, a folder with one or with several apps, an .rds, or a call such as
    /// pkg::make_app()
    #[arg(required_unless_present_any = ["named", "config"])]
    pub(crate) file: Option<PathBuf>,
    /// Same as FILE
    #[arg(id = "named", short = 'f', long = "file", value_name = "FILE", env = "DROVER_FILE")]
    pub(crate) named: Option<PathBuf>,
    /// What FILE is, where that cannot be detected
    #[arg(long, env = "DROVER_KIND", value_parser = KINDS)]
    pub(crate) kind: Option<String>,
    /// Settings file, in TOML [default: drover.toml beside the app's file, if there is one]
    #[arg(short = 'c', long, value_name = "FILE", env = "DROVER_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) sockets: Sockets,
    #[command(flatten)]
    pub(crate) program: Program,
    /// Arguments of the app, which has them as commandArgs(TRUE)
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub(crate) args: Vec<OsString>,
}

/// What is asked of `drover dev` beside what `drover serve` takes.
#[derive(Clone, Debug, Args)]
pub struct DevArgs {
    #[command(flatten)]
    pub(crate) app: AppArgs,
    /// Open the app in a browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Another file or folder that the app is made of; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) watch: Vec<PathBuf>,
    /// A file or folder that the app writes, whose changes are ignored; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) ignore: Vec<PathBuf>,
}

/// What `drover mcp` is told of its client, beside what `drover serve` is told.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    /// the path of the endpoint, if one was named
    pub(crate) endpoint: Option<String>,
    /// a header field of every request
    pub(crate) credentials: Option<String>,
}

impl Client {
    /// The same for R, as words behind the app's file.
    pub(crate) fn words(&self) -> impl Iterator<Item = OsString> {
        let words = ["--mcp".to_owned(), self.endpoint.clone().unwrap_or_default()];
        words.into_iter().chain(self.credentials.as_ref().map(|_| "--with-credentials".to_owned())).map(Into::into)
    }
}

/// What the program was told.
#[derive(Debug)]
pub struct Invocation {
    /// the app's file
    pub file: PathBuf,
    /// what the file is, if that was said
    pub kind: Option<String>,
    /// arguments of the app
    pub args: Vec<OsString>,
    /// the program R
    pub r: PathBuf,
    /// how many processes, and for how long
    pub pool: PoolOptions,
    /// lines for the user: how settings were understood
    pub notes: Vec<String>,
    /// where settings are read from, or would be if there were some
    pub config: PathBuf,
    /// where other commands find this server, when that was said
    pub sockets: Option<PathBuf>,
    /// of `drover dev`, for the developer of the app
    pub(crate) dev: Option<DevArgs>,
    /// of `drover mcp`, for the client that has started it
    pub(crate) client: Option<Client>,
    pub(crate) given: Given,
    /// policies of the settings file, see [`crate::policies`]
    pub(crate) policies: String,
    /// of one of several apps
    pub(crate) of_app: Option<OfApp>,
    /// several apps, each as if it were the only one; then there is no file
    pub(crate) apps: Vec<Invocation>,
}

/// What one of several apps is told beside what a single one is.
#[derive(Clone, Debug)]
pub(crate) struct OfApp {
    pub(crate) name: String,
    /// whether it is for its hosts only
    pub(crate) by_host: bool,
    /// variables of its processes
    pub(crate) env: BTreeMap<String, String>,
    /// a folder of R packages that it finds first
    pub(crate) library: Option<PathBuf>,
}

impl Invocation {
    /// Where the value of a setting comes from.
    pub(crate) fn origin(&self, name: &str) -> Origin {
        self.given.origin(name)
    }

    /// What the server itself writes.
    pub(crate) fn written(&self) -> impl Iterator<Item = PathBuf> + '_ {
        ["log", "access_log", "upload_path"].iter().filter_map(|name| self.given.text(name).map(PathBuf::from))
    }

    /// An error about settings, with the places of those that it names.
    pub(crate) fn with_places(&self, error: &str) -> String {
        blame::with_places(error, &self.given)
    }

    /// Whether a certificate for development was asked for.
    pub fn wants_dev_tls(&self) -> bool {
        tls::is_for_development(&self.given)
    }

    /// The folder for uploads that was asked for.
    pub fn upload_path(&self) -> Option<&Path> {
        self.given.text("upload_path").map(Path::new)
    }

    /// Settings of the server, whose folder for uploads is this one.
    ///
    /// # Panics
    /// Never: the settings were checked when this was made.
    pub fn settings(&self, upload_path: PathBuf) -> Settings {
        self.read_settings(upload_path).expect("they were read before")
    }

    /// The same, or what is wrong with them.
    pub(crate) fn read_settings(&self, upload_path: PathBuf) -> Result<Settings, String> {
        let mut fields = self.given.fields(&["serving"]);
        let mut limits = self.given.fields(&["limits", "timeouts"]);
        let said = limits.keys().filter(|name| self.given.origin(name) != Origin::Default);
        fields.insert("given".to_owned(), Value::Array(said.cloned().map(Value::String).collect()));
        limits.extend(fields.remove_entry("max_queue"));
        fields.insert("limits".to_owned(), Value::Table(limits));
        fields.extend(tls::fields(&self.given)?.map(|tls| ("tls".to_owned(), Value::Table(tls))));
        fields.insert("upload_path".to_owned(), Value::String(String::new()));
        let settings: Settings = fields.try_into().map_err(|e: toml::de::Error| e.message().to_owned())?;
        let colours = surroundings::has_colours(|name| std::env::var_os(name));
        let otel = surroundings::of_telemetry(std::env::vars_os());
        let (name, by_host) = self.of_app.as_ref().map_or((None, false), |app| (Some(app.name.clone()), app.by_host));
        Ok(Settings { upload_path, colours, otel, web: r::web(), name, by_host, ..settings })
    }
}
