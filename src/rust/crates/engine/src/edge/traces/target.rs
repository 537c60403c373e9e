//! Where traces go, and the service that they name: the setting `otlp_endpoint`, and the variables that all programs
//! with OpenTelemetry have in common (its specification, "OpenTelemetry Protocol Exporter").

use std::path::PathBuf;

/// See the module.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// all of the address
    pub url: String,
    /// for each request to it
    pub headers: Vec<(String, String)>,
    /// attributes of the service, `service.name` among them
    pub resource: Vec<(String, String)>,
    /// authorities that the collector is trusted by; those of the system without it
    pub ca: Option<PathBuf>,
}

/// Where traces are taken below the address of a collector.
const PATH: &str = "/v1/traces";

impl Target {
    /// The one of the setting, or else of the variables; `None` where there is neither, or they say that nothing is
    /// exported.
    ///
    /// # Errors
    /// A text that names what is wrong.
    pub fn find(setting: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Target>, String> {
        let variable = |name: &str| variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let either = |for_traces: &str, for_all: &str| variable(for_traces).or_else(|| variable(for_all));
        if variable("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let (name, url) = match (setting, variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")) {
            (Some(base), _) => ("otlp_endpoint", below(base)),
            _ if variable("OTEL_TRACES_EXPORTER").is_some_and(|text| text == "none") => return Ok(None),
            (None, Some(url)) => ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url),
            (None, None) => match variable("OTEL_EXPORTER_OTLP_ENDPOINT") {
                Some(base) => ("OTEL_EXPORTER_OTLP_ENDPOINT", below(&base)),
                None => return Ok(None),
            },
        };
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        if rest.is_none_or(|rest| rest.is_empty() || rest.starts_with('/')) {
            return Err(format!("{name}: {url}: it must be an address such as http://127.0.0.1:4318"));
        }
        let protocol = either("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL");
        if let Some(protocol) = protocol.filter(|protocol| !protocol.starts_with("http/")) {
            return Err(format!(
                "OTEL_EXPORTER_OTLP_PROTOCOL={protocol}: traces are sent over HTTP, to port 4318 of most collectors: \
                 http/json would be right"
            ));
        }
        let headers = either("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS");
        let mut resource = pairs(&variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
        if let Some(name) = variable("OTEL_SERVICE_NAME") {
            resource.retain(|(key, _)| key != "service.name");
            resource.push(("service.name".into(), name));
        } else if resource.iter().all(|(key, _)| key != "service.name") {
            resource.push(("service.name".into(), "drover".into()));
        }
        let ca = either("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE");
        Ok(Some(Target { url, headers: pairs(&headers.unwrap_or_default()), resource, ca: ca.map(PathBuf::from) }))
    }
}

fn below(base: &str) -> String {
    let base = base.trim().trim_end_matches('/');
    if base.ends_with(PATH) {
        base.to_owned()
    } else {
        format!("{base}{PATH}")
    }
}

/// `key=value,key=value`, with percent-escapes in values.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        let value = grammar::percent::decode(value.trim().as_bytes(), false).ok()?;
        let value = String::from_utf8_lossy(&value).into_owned();
        (!key.trim().is_empty()).then(|| (key.trim().to_owned(), value))
    };
    text.split(',').filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(setting: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<Target>, String> {
        Target::find(setting, |name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
    }

    fn url(setting: Option<&str>, variables: &[(&str, &str)]) -> Option<String> {
        found(setting, variables).unwrap().map(|target| target.url)
    }

    #[test]
    fn the_setting_comes_before_the_variables() {
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4318/");
        let whole = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://b/x");
        assert_eq!(url(None, &[]), None);
        assert_eq!(url(None, &[base]).as_deref(), Some("http://a:4318/v1/traces"));
        assert_eq!(url(None, &[base, whole]).as_deref(), Some("https://b/x"));
        assert_eq!(url(Some("http://c"), &[base, whole]).as_deref(), Some("http://c/v1/traces"));
        assert_eq!(url(Some("http://c/v1/traces"), &[]).as_deref(), Some("http://c/v1/traces"));
        assert_eq!(url(None, &[base, ("OTEL_SDK_DISABLED", "true")]), None);
        assert_eq!(url(None, &[base, ("OTEL_TRACES_EXPORTER", "none")]), None);
        assert_eq!(url(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), None);
    }

    #[test]
    fn the_service_has_a_name_and_attributes() {
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a");
        let attributes = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=x,deployment.environment=a%20b,,=c");
        let resource = |variables: &[(&str, &str)]| found(None, variables).unwrap().unwrap().resource;
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(resource(&[base]), [pair("service.name", "drover")]);
        let environment = pair("deployment.environment", "a b");
        assert_eq!(resource(&[base, attributes]), [pair("service.name", "x"), environment.clone()]);
        let named = resource(&[base, attributes, ("OTEL_SERVICE_NAME", "shop")]);
        assert_eq!(named, [environment, pair("service.name", "shop")]);
        let headers =
            found(None, &[base, ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=s%3D1, x=y")]).unwrap().unwrap().headers;
        assert_eq!(headers, [pair("api-key", "s=1"), pair("x", "y")]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (setting, variables, named) in [
            (Some("collector:4318"), &[][..], "otlp_endpoint"),
            (Some("http://"), &[], "otlp_endpoint"),
            (None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "4318")], "OTEL_EXPORTER_OTLP_ENDPOINT"),
            (Some("http://a"), &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], "http/json"),
        ] {
            assert!(found(setting, variables).unwrap_err().contains(named));
        }
    }
}
