//! What is wrong with a value, for people and programs: where, the value, and the rule that it breaks. All three are
//! short, however long what a client has sent is.

use crate::representation::KEPT;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value as Json;
use std::fmt::Write as _;

/// Most of one request: what is wrong with a large body would be a larger one.
pub const MAX_VIOLATIONS: usize = 20;

/// Longest place and longest rule in characters.
const MAX_PLACE: usize = 120;
const MAX_RULE: usize = 200;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// where it is: a name such as `query.n`, and a JSON Pointer into what that names
    pub place: String,
    /// the value as JSON, cut; `None` where there is none, or it is an array or object
    pub value: Option<String>,
    /// what it has to be: "must be at least 1"
    pub rule: String,
}

impl Violation {
    /// One that no schema has found.
    pub fn new(place: &str, value: Option<&str>, rule: &str) -> Self {
        let value = value.map(|value| shown(&Json::String(value.chars().take(KEPT).collect())));
        Violation { place: cut(place, MAX_PLACE), value, rule: cut(rule, MAX_RULE) }
    }

    /// The same of a member of an object, by its name.
    pub fn member(name: &str, value: Option<&str>, rule: &str) -> Self {
        Violation::new(&within("", name), value, rule)
    }
}

/// Adds what the library has found: one violation, or one for each name that must not be there.
pub fn add(error: &ValidationError<'_>, whole: &str, out: &mut Vec<Violation>) {
    let place = format!("{whole}{}", error.instance_path().as_str());
    let mut put = |place: String, value: Option<String>, rule: String| {
        if out.len() < MAX_VIOLATIONS {
            out.push(Violation { place: cut(&place, MAX_PLACE), value, rule: cut(&rule, MAX_RULE) });
        }
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            put(within(&place, property.as_str().unwrap_or_default()), None, "is missing".to_owned());
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            for name in unexpected.iter().take(MAX_VIOLATIONS) {
                put(within(&place, name), None, "is not a known field".to_owned());
            }
        }
        kind => {
            let value = error.instance();
            let value = (!value.is_array() && !value.is_object()).then(|| shown(value));
            put(place, value, rule(kind, error));
        }
    }
}

/// Why a schema is none.
pub fn of_schema(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().as_str();
    cut(&format!("#{place}: {error}"), 300)
}

fn rule(kind: &ValidationErrorKind, error: &ValidationError<'_>) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::Type { kind: TypeKind::Single(one) } => format!("must be {}", noun(*one)),
        Kind::Type { kind: TypeKind::Multiple(several) } => {
            let nouns: Vec<_> = several.iter().map(noun).collect();
            format!("must be {}", nouns.join(" or "))
        }
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be above {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be below {limit}"),
        Kind::MinLength { limit } => format!("must have at least {}", counted(*limit, "character")),
        Kind::MaxLength { limit } => format!("must have at most {}", counted(*limit, "character")),
        Kind::MinItems { limit } => format!("must have at least {}", counted(*limit, "item")),
        Kind::MaxItems { limit } => format!("must have at most {}", counted(*limit, "item")),
        Kind::Pattern { pattern } => format!("must match {pattern}"),
        Kind::UniqueItems => "must not have the same item twice".to_owned(),
        Kind::Constant { expected_value } => format!("must be {expected_value}"),
        Kind::Enum { options } => {
            let options = options.as_array().map_or(&[][..], Vec::as_slice);
            let shown: Vec<_> = options.iter().map(Json::to_string).collect();
            format!("must be one of {}", shown.join(", "))
        }
        Kind::Format { format } => match &**format {
            "date" => "must be a date such as 2026-11-25".to_owned(),
            "date-time" => "must be a time such as 2026-11-25T14:03:00Z".to_owned(),
            "int64" => "must be a whole number of 64 bits".to_owned(),
            other => format!("must have the format {other}"),
        },
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::FalseSchema => "must not be there".to_owned(),
        Kind::AnyOf { .. } => "must fit one of several schemas, and fits none".to_owned(),
        Kind::OneOfNotValid { .. } => "must fit exactly one of several schemas, and fits none".to_owned(),
        Kind::OneOfMultipleValid { .. } => "must fit exactly one of several schemas, and fits more".to_owned(),
        Kind::Not { .. } => "must not be what it is".to_owned(),
        // the library's words, without the value
        _ => error.masked().to_string(),
    }
}

fn counted(n: u64, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

fn noun(of: JsonType) -> &'static str {
    match of {
        JsonType::Null => "null",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "an array",
        JsonType::Object => "an object",
    }
}

/// A member by its name, as JSON Pointers have it.
fn within(place: &str, name: &str) -> String {
    let name: String = name.chars().take(MAX_PLACE).collect();
    format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// A value as JSON; of a string its beginning.
fn shown(value: &Json) -> String {
    match value {
        Json::String(text) if text.chars().count() >= KEPT => {
            let mut begins: String = text.chars().take(KEPT - 1).collect();
            begins.push('\u{2026}');
            Json::String(begins).to_string()
        }
        other => other.to_string(),
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => {
            let mut begins = text[..at].to_owned();
            let _ = write!(begins, "\u{2026}");
            begins
        }
    }
}
