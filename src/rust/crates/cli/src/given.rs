//! The values of settings that the program was given, and where they come from: flags, variables, the settings file, or
//! nowhere. Neighbours: options.rs (what there may be), values.rs (what a value may be).

use crate::said::Said;
use crate::table::settings;
use clap::parser::ValueSource;
use clap::ArgMatches;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Values of settings, and where they come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    values: BTreeMap<&'static str, (Value, Origin)>,
    /// in words, of what a variable or the settings file says
    places: BTreeMap<&'static str, String>,
}

/// Where a value comes from, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    Default,
    File,
    Variable,
    Flag,
}

impl Given {
    /// What the arguments of a command and variables say, and what neither does and the file has.
    pub(crate) fn collect(command: &str, matches: &ArgMatches, mut file: Said) -> Given {
        let mut given = Given::default();
        let own = settings().iter().filter(|setting| setting.is_of(command)).map(|setting| setting.name);
        for name in own.chain(["n_min", "n_max"]) {
            let origin = match matches.value_source(name) {
                Some(ValueSource::CommandLine) => Origin::Flag,
                Some(ValueSource::EnvVariable) => Origin::Variable,
                _ => Origin::Default,
            };
            let from_file = if origin == Origin::Default { file.values.remove(name) } else { None };
            if let Some(value) = from_file {
                given.set_at(name, value, Origin::File, file.places.remove(name).unwrap_or_default());
            } else if let Some(value) = value_of(matches, name) {
                if origin == Origin::Variable {
                    given.set_at(name, value, origin, format!("the variable DROVER_{}", name.to_uppercase()));
                } else {
                    given.set(name, value, origin);
                }
            }
        }
        given
    }

    /// The same for one of several apps, whose own table says these.
    pub(crate) fn of_app(&self, own: &Said) -> Given {
        let mut given = self.clone();
        let counts = ["workers", "n_min", "n_max"];
        if counts.iter().any(|name| own.values.contains_key(name)) {
            counts.iter().for_each(|name| given.remove(name));
        }
        for (&name, value) in &own.values {
            given.set_at(name, value.clone(), Origin::File, own.places.get(name).cloned().unwrap_or_default());
        }
        given
    }

    /// Where the value of a setting stands, when that is not the command line.
    pub(crate) fn place(&self, name: &str) -> Option<&str> {
        self.places.get(name).map(String::as_str)
    }

    /// Where the value of a setting comes from; the default when it has none.
    pub(crate) fn origin(&self, name: &str) -> Origin {
        self.values.get(name).map_or(Origin::Default, |(_, origin)| *origin)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).and_then(|(value, _)| value.as_str())
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.values.get(name).and_then(|(value, _)| value.as_bool()).unwrap_or(false)
    }

    pub(crate) fn count(&self, name: &str) -> Option<usize> {
        let (value, _) = self.values.get(name)?;
        value.as_integer().and_then(|n| n.try_into().ok())
    }

    pub(crate) fn set(&mut self, name: &'static str, value: Value, origin: Origin) {
        self.values.insert(name, (value, origin));
        self.places.remove(name);
    }

    /// The same, of a value that stands at this place.
    pub(crate) fn set_at(&mut self, name: &'static str, value: Value, origin: Origin, place: String) {
        self.set(name, value, origin);
        self.places.insert(name, place);
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.values.remove(name);
        self.places.remove(name);
    }

    /// Defaults for development, where nothing else is set: errors in full, and one process to print and to stop in.
    pub(crate) fn suit_development(&mut self) {
        if self.origin("debug") == Origin::Default {
            self.set("debug", Value::Boolean(true), Origin::Default);
        }
        if ["workers", "n_min", "n_max"].iter().all(|name| self.origin(name) == Origin::Default) {
            self.set("workers", Value::String("1".to_owned()), Origin::Default);
        }
    }

    /// For a server whose only client is this program: the address is known when it starts, and what the client gives
    /// up it does not want finished.
    pub(crate) fn suit_one_client(&mut self) {
        self.set("host", Value::Array(Vec::new()), Origin::Default);
        self.set("port", Value::Integer(0), Origin::Default);
        if self.origin("on_client_gone") == Origin::Default {
            self.set("on_client_gone", Value::String("interrupt".to_owned()), Origin::Default);
        }
    }

    /// Those of some groups, as the fields of a struct.
    pub(crate) fn fields(&self, groups: &[&str]) -> Table {
        let chosen = settings().iter().filter(|setting| groups.contains(&setting.group));
        chosen
            .filter_map(|setting| {
                self.values.get(setting.name).map(|(value, _)| (setting.name.to_owned(), value.clone()))
            })
            .collect()
    }
}

/// The value of a setting, of all its flags where several may be given.
fn value_of(matches: &ArgMatches, name: &str) -> Option<Value> {
    let values = matches.get_many::<Value>(name)?;
    values.cloned().reduce(|all, more| match (all, more) {
        (Value::Array(all), Value::Array(more)) => Value::Array(all.into_iter().chain(more).collect()),
        (_, last) => last,
    })
}
