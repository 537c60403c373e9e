//! The table of settings, `inst/settings.dcf` of the package: names, what each may be, defaults and help. Flags,
//! variables and keys of the settings file are made of it here, checks in R of the same file (`R/settings-table.R`).

use crate::values::Kind;
use std::sync::OnceLock;

/// The commands that serve, which take settings.
pub(crate) const SERVING: [&str; 3] = ["serve", "dev", "mcp"];

/// Settings that say where a server listens, for whom, and what it believes of those who connect.
const OF_ADDRESSES: [&str; 14] = [
    "host",
    "port",
    "metrics",
    "admin",
    "admin_token",
    "agent_check",
    "allowed_hosts",
    "base_path",
    "base_path_field",
    "trusted_proxies",
    "forwarded_fields",
    "underscores_in_headers",
    "proxy_protocol",
    "response_headers",
];

/// Settings of the first group that `drover mcp` does not take beside these and those of TLS: how clients are answered.
/// Its only client is itself.
const OF_CONNECTIONS: [&str; 6] = ["errors", "health", "docs", "compress", "decompress", "affinity"];

/// Settings that all apps of a server have in common beside these and those of TLS: what it does before it knows for
/// which app a request is, and what it writes.
const OF_ALL_APPS: [&str; 21] = [
    "threads",
    "log",
    "log_format",
    "log_level",
    "access_log",
    "access_log_format",
    "otlp_endpoint",
    "upload_path",
    "max_connections",
    "max_connections_per_address",
    "max_request_line",
    "max_headers",
    "max_header_size",
    "max_header_field",
    "max_streams",
    "spool_above",
    "header_timeout",
    "keep_alive",
    "body_timeout",
    "min_body_rate",
    "write_timeout",
];

/// A setting of the server.
#[derive(Debug)]
pub(crate) struct Setting {
    /// as in R and in a settings file: `max_queue`
    pub(crate) name: &'static str,
    /// the heading it stands under, and its table in a settings file
    pub(crate) group: &'static str,
    /// what it may be
    pub(crate) kind: Kind,
    /// as a user would write it; empty where there is none
    pub(crate) default: &'static str,
    /// the letter of its short flag
    pub(crate) short: Option<char>,
    /// what stands for its value in the help
    pub(crate) value: String,
    /// one line
    pub(crate) help: &'static str,
    /// `max-queue`
    pub(crate) flag: String,
    /// `DROVER_MAX_QUEUE`
    pub(crate) variable: String,
}

impl Setting {
    fn is_of_addresses(&self) -> bool {
        self.group == "tls" || OF_ADDRESSES.contains(&self.name)
    }

    /// Whether each of several apps may have another value.
    pub(crate) fn is_of_app(&self) -> bool {
        !self.is_of_addresses() && !OF_ALL_APPS.contains(&self.name)
    }

    /// Whether this command takes it.
    pub(crate) fn is_of(&self, command: &str) -> bool {
        command != "mcp" || (!self.is_of_addresses() && !OF_CONNECTIONS.contains(&self.name))
    }
}

/// Groups, in the order of the help, with the headings there. All but the first are tables of a settings file.
pub(crate) const GROUPS: [(&str, &str); 5] =
    [("serving", "Serving"), ("tls", "TLS"), ("pool", "R processes"), ("limits", "Limits"), ("timeouts", "Timeouts")];

/// All settings, in the order of the help.
pub(crate) fn settings() -> &'static [Setting] {
    static SETTINGS: OnceLock<Vec<Setting>> = OnceLock::new();
    SETTINGS.get_or_init(|| include_str!("../../../../../inst/settings.dcf").split("\n\n").map(setting).collect())
}

/// The setting of that name.
pub(crate) fn find(name: &str) -> Option<&'static Setting> {
    settings().iter().find(|setting| setting.name == name)
}

/// Reads a record of the table, which the tests of this file know to be sound.
fn setting(record: &'static str) -> Setting {
    let field = |name: &str| {
        let fields = record.lines().filter_map(|line| line.split_once(": "));
        fields.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let number = |name| field(name).and_then(|text| text.parse().ok());
    let name = field("Name").unwrap_or_default();
    let kind = match field("Kind").unwrap_or_default() {
        "count" => Kind::Count { least: number("Least").unwrap_or(0), most: number("Most") },
        "bytes" => Kind::Bytes { least: number("Least").unwrap_or(0), most: number("Most") },
        "seconds" => Kind::Seconds { zero: field("Least").is_some() },
        "flag" => Kind::Flag,
        "flag or auto" => Kind::FlagOrAuto,
        "choice" => Kind::Choice(field("Choices").unwrap_or_default().split(", ").collect()),
        "workers" => Kind::Workers,
        "paths" => Kind::Paths,
        "list" => Kind::List,
        "lines" => Kind::Lines,
        "target" => Kind::Target,
        _ => Kind::Text,
    };
    Setting {
        name,
        group: field("Group").unwrap_or_default(),
        default: field("Default").unwrap_or_default(),
        short: field("Short").and_then(|short| short.chars().next()),
        value: match (field("Value"), &kind) {
            (Some(value), _) => value.to_owned(),
            (None, Kind::Count { .. }) => "N".to_owned(),
            (None, Kind::Bytes { .. }) => "BYTES".to_owned(),
            (None, Kind::Seconds { .. }) => "SECONDS".to_owned(),
            (None, Kind::Flag) => "true|false".to_owned(),
            (None, Kind::FlagOrAuto) => "true|false|auto".to_owned(),
            (None, _) => name.to_uppercase(),
        },
        help: field("Help").unwrap_or_default(),
        flag: name.replace('_', "-"),
        variable: format!("DROVER_{}", name.to_uppercase()),
        kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_for_one_client_takes_what_there_is() {
        assert!(OF_CONNECTIONS
            .iter()
            .chain(&OF_ADDRESSES)
            .all(|name| find(name).is_some_and(|setting| setting.group == "serving")));
        let is_of = |name: &str| find(name).is_some_and(|setting| setting.is_of("mcp"));
        assert!(is_of("timeout") && is_of("workers") && !is_of("host") && !is_of("tls_cert"));
    }

    #[test]
    fn what_all_apps_have_in_common_are_settings() {
        assert!(OF_ALL_APPS.iter().chain(&OF_ADDRESSES).all(|name| find(name).is_some()));
        let is_of_app = |name: &str| find(name).is_some_and(Setting::is_of_app);
        assert!(is_of_app("workers") && is_of_app("max_body") && !is_of_app("port") && !is_of_app("tls_cert"));
    }

    #[test]
    fn the_table_is_sound() {
        assert!(settings().len() >= 40);
        for setting in settings() {
            let name = setting.name;
            assert!(!name.is_empty() && !setting.help.is_empty(), "{setting:?}");
            assert!(GROUPS.iter().any(|(group, _)| *group == setting.group), "{name}");
            assert_eq!(settings().iter().filter(|other| other.name == name).count(), 1, "{name}");
            if !setting.default.is_empty() {
                assert!(setting.kind.read(setting.default).is_ok(), "{name}");
            }
        }
    }
}
