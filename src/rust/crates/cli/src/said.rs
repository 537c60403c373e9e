//! What the top of a settings file says, or the table of one of several apps in it: values are read as those of flags
//! are. Neighbours: `file`, which has it read; `table`, of what there may be.

use crate::nearest::nearest;
use crate::policies::{self, in_order};
use crate::table::{find, settings, Setting, GROUPS};
use crate::values::Kind;
use std::collections::BTreeMap;
use toml::de::{DeArray, DeString, DeValue};
use toml::{Spanned, Value};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// values by the names of settings
    pub(crate) values: BTreeMap<&'static str, Value>,
    /// "file:line" of each
    pub(crate) places: BTreeMap<&'static str, String>,
    /// policies, as JSON for R; empty if there are none
    pub(crate) policies: String,
}

/// Reads what stands at the top of the file, or in the table of one of several apps.
pub(crate) struct Reader<At> {
    /// "file:line" of an offset
    pub(crate) at: At,
    pub(crate) said: Said,
    /// whether it is the table of an app
    pub(crate) of_app: bool,
}

impl<At: Fn(usize) -> String> Reader<At> {
    /// Takes a key: that of a setting, of a table of such, or of policies.
    pub(crate) fn take_entry(
        &mut self,
        key: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), String> {
        if key.get_ref() == policies::KEY {
            self.said.policies = policies::read(value, &self.at)?;
            return Ok(());
        }
        let group = GROUPS.iter().find(|(group, _)| *group == key.get_ref().as_ref());
        match (value.get_ref(), group) {
            (DeValue::Table(table), Some((group, _))) => in_order(table)
                .into_iter()
                .try_for_each(|(key, value)| self.take(key.get_ref(), key.span().start, value, Some(group))),
            _ => self.take(key.get_ref(), key.span().start, value, None),
        }
    }

    /// Takes the value of a key; `group`: of the table that it stands in.
    fn take(
        &mut self,
        key: &str,
        offset: usize,
        value: &Spanned<DeValue<'_>>,
        group: Option<&str>,
    ) -> Result<(), String> {
        let at = (self.at)(offset);
        // in their table they may be called as the arguments of dr_tls() are
        let short = || group.filter(|group| *group == "tls").and_then(|group| find(&format!("{group}_{key}")));
        let setting = find(key).or_else(short).ok_or_else(|| format!("{at}: {}", unknown(key)))?;
        if group.is_some_and(|group| group != setting.group) {
            return Err(format!(
                "{at}: {key} does not stand in [{}] but {}",
                group.unwrap_or_default(),
                place(setting)
            ));
        }
        if self.of_app && !setting.is_of_app() {
            return Err(format!("{at}: {key} is one setting for all apps: it stands {}", place(setting)));
        }
        let wrong = |right: &str, given: &str| format!("{at}: {key} {right}, not {given}");
        let text = text_of(value.get_ref(), &setting.kind).ok_or_else(|| {
            let right = setting.kind.read("\0").err().unwrap_or_else(|| "must be a string".to_owned());
            wrong(&right, value.get_ref().type_str())
        })?;
        let value = setting.kind.read(&text).map_err(|right| wrong(&right, &format!("'{text}'")))?;
        if self.said.values.insert(setting.name, value).is_some() {
            return Err(format!("{at}: {key} is there twice"));
        }
        self.said.places.insert(setting.name, at);
        Ok(())
    }
}

/// Where the key of a setting may stand.
fn place(setting: &Setting) -> String {
    if setting.group == GROUPS[0].0 {
        "at the top of the file".to_owned()
    } else {
        format!("in [{}]", setting.group)
    }
}

fn unknown(key: &str) -> String {
    match nearest(key, settings().iter().map(|setting| setting.name)) {
        Some(name) => format!("{key} is not a setting: did you mean {name}?"),
        None => format!("{key} is not a setting: `drover serve --help` has them all"),
    }
}

/// A value as it would be written as a flag; `None` for one of a type that no setting of this kind has.
fn text_of(value: &DeValue<'_>, kind: &Kind) -> Option<String> {
    let line_of = |values: &DeArray<'_>, between| {
        let values: Option<Vec<_>> = values.iter().map(|value| text_of(value.get_ref(), kind)).collect();
        values.map(|values| values.join(between))
    };
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(flag) if matches!(kind, Kind::Flag | Kind::FlagOrAuto) => Some(flag.to_string()),
        // workers = [2, 8]
        DeValue::Array(bounds) if *kind == Kind::Workers && bounds.len() == 2 => line_of(bounds, "-"),
        // tls_cert = ["a.pem", "b.pem"], response_headers = ["a: 1", "b: 2"]
        DeValue::Array(values) if matches!(kind, Kind::Paths | Kind::List | Kind::Lines) => {
            line_of(values, if *kind == Kind::Lines { "\n" } else { "," })
        }
        _ => None,
    }
}
