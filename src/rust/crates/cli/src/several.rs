//! Several apps of one server, from what the program was told: each as if it were the only one. Neighbours: `apps`,
//! their tables; `options`, which asks here; `house`, which serves them.

use crate::apps::{self, AppTable};
use crate::blame::usage;
use crate::file::{self, File};
use crate::given::Origin;
use crate::invocation::{Invocation, OfApp};
use crate::policies;
use crate::processes;
use crate::r;
use crate::surroundings;
use crate::tool::{about, AppOfTool, Tool, KINDS};
use clap::error::ErrorKind;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::Value;

/// The apps that are meant, if they are several: those of the settings file, or of the folder.
///
/// # Errors
/// When one app is meant, or none.
pub(crate) fn tables(path: &Path, file: &mut File, for_one: bool) -> Result<Vec<AppTable>, clap::Error> {
    let tables = std::mem::take(&mut file.apps);
    let tables = if tables.is_empty() { apps::in_folder(path) } else { tables };
    let wrong = |text: &str| Err(usage(ErrorKind::ValueValidation, text));
    match tables.first() {
        None if path.as_os_str().is_empty() => {
            wrong("FILE is missing, and the settings file has no apps, such as [apps.shop]: one of them is required")
        }
        None => Ok(tables),
        Some(one) if for_one => {
            let text =
                format!("this command is for one app, and there are several, such as {}: name its file", one.name);
            wrong(&text)
        }
        Some(_) if !path.as_os_str().is_empty() && !path.is_dir() => {
            let text = "the settings file has several apps: name its folder to serve them, or have --config name another one to serve FILE";
            wrong(text)
        }
        Some(_) => Ok(tables),
    }
}

/// Each of them as if it were the only one.
///
/// # Errors
/// With what is wrong, and where it stands.
pub(crate) fn invocations(all: &Invocation, tables: Vec<AppTable>) -> Result<Vec<Invocation>, clap::Error> {
    let apps: Vec<Invocation> = tables.into_iter().map(|table| one(all, table)).collect::<Result<_, _>>()?;
    let mut stores: Vec<&str> = apps.iter().filter_map(|app| app.given.text("jobs_store")).collect();
    stores.sort_unstable();
    match stores.windows(2).find(|two| two[0] == two[1]) {
        Some(two) => {
            let why = format!("jobs_store: '{}' is that of two apps: give each its own, in its table", two[0]);
            Err(usage(ErrorKind::ValueValidation, &all.with_places(&why)))
        }
        None => Ok(apps),
    }
}

/// What has each of several apps loaded, and told what is wrong, by their names; none where there is one app.
///
/// # Errors
/// As for [`invocations`].
pub(crate) fn checks(app: &AppOfTool) -> Result<Vec<(String, Tool)>, clap::Error> {
    let mut file = file::read(None, &app.file).map_err(|e| usage(ErrorKind::ValueValidation, &e))?;
    let (folder, all) = (app.file.clone(), file.said.policies.clone());
    let check = |table: AppTable| {
        let policies = policies::both(&all, &table.own.policies);
        let Placed { file, kind, args, of_app } = placed(table, &folder)?;
        let program = app.program.clone();
        let tool = about("check", AppOfTool { file, kind, program, args }, Vec::new());
        let env = r::surroundings(&of_app.env, of_app.library.as_deref());
        Ok((of_app.name, Tool { policies, env, ..tool }))
    };
    tables(&app.file, &mut file, false)?.into_iter().map(check).collect()
}

/// Where an app is, and what it is started with.
struct Placed {
    file: PathBuf,
    kind: Option<String>,
    args: Vec<OsString>,
    of_app: OfApp,
}

/// The same of a table in a settings file, or for a folder, that is in this folder.
fn placed(table: AppTable, folder: &Path) -> Result<Placed, clap::Error> {
    let wrong = |text: String| usage(ErrorKind::ValueValidation, &text);
    let AppTable { name, at, file, kind, hosts, library, env, args, .. } = table;
    let library = library.map(|library| folder.join(library));
    if let Some(library) = library.as_ref().filter(|library| !library.is_dir()) {
        return Err(wrong(format!("{at}: the library of {name} is no folder: {}", library.display())));
    }
    if let Some(kind) = kind.as_deref().filter(|kind| !KINDS.contains(kind)) {
        return Err(wrong(format!("{at}: kind must be one of: {}, not '{kind}'", KINDS.join(", "))));
    }
    let file = file.unwrap_or_else(|| PathBuf::from(&name));
    let is_call = kind.as_deref() == Some("expression") || file.to_str().is_some_and(|text| text.contains("::"));
    let file = if is_call { file } else { folder.join(file) };
    Ok(Placed { file, kind, args, of_app: OfApp { by_host: !hosts.is_empty(), name, env, library } })
}

/// One of several apps: what all have, and what its own table says.
fn one(all: &Invocation, table: AppTable) -> Result<Invocation, clap::Error> {
    let wrong = |text: String| usage(ErrorKind::ValueValidation, &text);
    let mut given = all.given.of_app(&table.own);
    surroundings::valve(&mut given)?;
    let (below, path) = (all.given.text("base_path").unwrap_or_default(), table.base_path());
    let base_path = format!("{}{path}", below.trim_end_matches('/'));
    given.set_at("base_path", Value::String(base_path), Origin::File, table.at.clone());
    if !table.hosts.is_empty() {
        let hosts = table.hosts.iter().cloned().map(Value::String).collect();
        given.set_at("allowed_hosts", Value::Array(hosts), Origin::File, table.at.clone());
    }
    let folder = if all.file.is_dir() { &*all.file } else { all.config.parent().unwrap_or(Path::new("")) };
    let (at, policies) = (table.at.clone(), policies::both(&all.policies, &table.own.policies));
    let Placed { file, kind, args, of_app } = placed(table, folder)?;
    let invocation = Invocation {
        file,
        kind,
        args,
        r: all.r.clone(),
        pool: processes::options(&given)?,
        notes: Vec::new(),
        config: all.config.clone(),
        sockets: None,
        dev: None,
        client: None,
        policies,
        of_app: Some(of_app),
        apps: Vec::new(),
        given,
    };
    let settings = invocation.read_settings(PathBuf::new()).map_err(|e| wrong(invocation.with_places(&e)))?;
    settings.base_path().map_err(|e| wrong(format!("{at}: {}", e.replacen("base_path", "path", 1))))?;
    Ok(invocation)
}
