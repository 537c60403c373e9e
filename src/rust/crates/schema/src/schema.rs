//! A schema, made ready once, and what does not fit it.

use crate::formats::{is_date, is_datetime, is_int64, UNCHECKED};
use crate::hostile;
use crate::representation::Read;
use crate::shape::Shape;
use crate::value::Value;
use crate::violation::{self, Violation};
use jsonschema::{Draft, PatternOptions, Validator};
use std::collections::HashMap;

/// Most memory of a compiled pattern in bytes: repeats of repeats want more.
const MAX_PATTERN: usize = 1 << 20;

/// A schema that is ready. See the crate.
#[derive(Debug)]
pub struct Schema {
    validator: Validator<Read>,
    shape: Shape,
    /// of the members of an object, by their names
    fields: HashMap<String, Shape>,
}

impl Schema {
    /// Of the text of a JSON Schema.
    ///
    /// # Errors
    /// A text that says what is wrong, or hostile, and where.
    pub fn new(text: &str) -> Result<Schema, String> {
        if text.len() > hostile::MAX_TEXT {
            return Err(format!("it has {} bytes, at most {} are taken", text.len(), hostile::MAX_TEXT));
        }
        let mut json: serde_json::Value = serde_json::from_str(text).map_err(|e| format!("it is not JSON: {e}"))?;
        hostile::check(&json)?;
        if let Some(keywords) = json.as_object_mut() {
            // says where the schema is published, by which references would have to be resolved
            keywords.remove("$id");
        }
        let mut options = jsonschema::options_for::<Read>()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(true)
            .should_ignore_unknown_formats(false)
            .with_format("date", is_date)
            .with_format("date-time", is_datetime)
            .with_format("int64", is_int64)
            .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN).dfa_size_limit(MAX_PATTERN));
        for name in UNCHECKED {
            options = options.with_format(name, |_| true);
        }
        let validator = options.build(&json).map_err(|error| violation::of_schema(&error))?;
        let properties = json["properties"].as_object().into_iter().flatten();
        let fields = properties.map(|(name, schema)| (name.clone(), Shape::of(schema))).collect();
        Ok(Schema { validator, shape: Shape::of(&json), fields })
    }

    /// What texts are read as for it.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The same of a member of an object, if the schema has it.
    pub fn field(&self, name: &str) -> Option<&Shape> {
        self.fields.get(name)
    }

    /// Whether a value fits.
    pub fn fits(&self, value: &Value<'_>) -> bool {
        self.validator.is_valid(value)
    }

    /// Adds what does not fit in a value, up to [`crate::MAX_VIOLATIONS`] in all. `whole` is what the value is called:
    /// places in it are named by JSON Pointers behind it (RFC 6901).
    pub fn explain(&self, value: &Value<'_>, whole: &str, out: &mut Vec<Violation>) {
        for error in self.validator.iter_errors(value) {
            if out.len() >= violation::MAX_VIOLATIONS {
                return;
            }
            violation::add(&error, whole, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_VIOLATIONS;
    use proptest::prelude::*;
    use serde_json::json;

    fn schema(of: serde_json::Value) -> Schema {
        Schema::new(&of.to_string()).unwrap()
    }

    fn wrong(schema: &Schema, text: &str) -> Vec<(String, Option<String>, String)> {
        let value = Value::parse(text.as_bytes(), 64).unwrap();
        let mut out = Vec::new();
        if !schema.fits(&value) {
            schema.explain(&value, "", &mut out);
            assert!(!out.is_empty(), "{text}");
        }
        out.into_iter().map(|one| (one.place, one.value, one.rule)).collect()
    }

    fn person() -> Schema {
        schema(json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 10},
                "age": {"type": ["integer", "null"], "minimum": 0, "maximum": 150},
                "born": {"type": "string", "format": "date"},
                "role": {"enum": ["reader", "editor"]},
                "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}, "uniqueItems": true},
            },
            "required": ["name"],
            "additionalProperties": false,
        }))
    }

    #[test]
    fn every_field_its_value_and_the_rule_are_named() {
        let person = person();
        assert!(
            wrong(&person, r#"{"name":"Ada","age":36,"born":"1815-12-10","role":"editor","tags":["a"]}"#).is_empty()
        );
        let text = r#"{"age":-1,"born":"1815-13-10","role":"king","tags":["a","B","a"],"x/y~":1}"#;
        let mut found = wrong(&person, text);
        found.sort();
        let one = |place: &str, value: Option<&str>, rule: &str| (place.into(), value.map(str::to_owned), rule.into());
        let expected = [
            one("/age", Some("-1"), "must be at least 0"),
            one("/born", Some("\"1815-13-10\""), "must be a date such as 2026-11-25"),
            one("/name", None, "is missing"),
            one("/role", Some("\"king\""), "must be one of \"reader\", \"editor\""),
            one("/tags", None, "must not have the same item twice"),
            one("/tags/1", Some("\"B\""), "must match ^[a-z]+$"),
            one("/x~1y~0", None, "is not a known field"),
        ];
        assert_eq!(found, expected);
        assert_eq!(wrong(&person, "[]"), [one("", None, "must be an object")]);
        let age = wrong(&person, r#"{"name":"","age":"x"}"#);
        assert!(age.contains(&one("/age", Some("\"x\""), "must be null or a whole number")), "{age:?}");
        assert!(age.contains(&one("/name", Some("\"\""), "must have at least 1 character")), "{age:?}");
    }

    #[test]
    fn what_is_said_is_short_whatever_was_sent() {
        let person = person();
        let long = "x".repeat(100_000);
        let found = wrong(&person, &format!(r#"{{"name":"{long}","{long}":1}}"#));
        assert_eq!(found.len(), 2);
        for (place, value, rule) in found {
            assert!(place.len() < 200 && value.unwrap_or_default().len() < 100 && rule.len() < 300);
        }
        let many = schema(json!({"type": "array", "items": {"type": "integer"}}));
        assert_eq!(wrong(&many, &format!("[{}]", vec!["true"; 5000].join(","))).len(), MAX_VIOLATIONS);
    }

    #[test]
    fn numbers_and_equality() {
        let whole = schema(json!({"type": "integer", "maximum": 9007199254740991_i64}));
        assert!(wrong(&whole, "5.0").is_empty() && wrong(&whole, "1e3").is_empty());
        assert!(!wrong(&whole, "5.5").is_empty() && !wrong(&whole, "9007199254740992").is_empty());
        assert!(!wrong(&whole, "9007199254740991.5").is_empty());
        let one_of = schema(json!({"enum": [1, {"a": [true, null]}]}));
        assert!(wrong(&one_of, "1.0").is_empty() && wrong(&one_of, r#"{"a":[true,null]}"#).is_empty());
        assert!(!wrong(&one_of, r#"{"a":[true]}"#).is_empty());
        let unique = schema(json!({"uniqueItems": true}));
        assert!(!wrong(&unique, r#"[{"a":1,"b":2},{"b":2.0,"a":1}]"#).is_empty());
        assert!(wrong(&unique, r#"[1,"1",true,[1],{"a":1}]"#).is_empty());
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        let refused = |of: serde_json::Value| Schema::new(&of.to_string()).unwrap_err();
        assert!(refused(json!({"type": "nothing"})).contains("#/type"));
        assert!(refused(json!({"minimum": "1"})).contains("#/minimum"));
        assert!(refused(json!({"format": "colour"})).contains("colour"));
        for pattern in ["(?=a)b", "(a)\\1", "(", "((a{1000}){1000}){1000}"] {
            assert!(Schema::new(&format!(r#"{{"pattern":"{pattern}"}}"#)).is_err(), "{pattern}");
        }
        assert!(Schema::new("{").unwrap_err().contains("JSON"));
        assert!(Schema::new(&" ".repeat(300 * 1024)).unwrap_err().contains("bytes"));
    }

    /// A pattern that takes a backtracking engine exponential time.
    #[test]
    fn patterns_take_linear_time() {
        let slow = schema(json!({"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}));
        assert!(!wrong(&slow, &format!("\"{}\"", "a".repeat(60_000))).is_empty());
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            (-1e6..1e6_f64).prop_map(Into::into),
            "[a-c~/\"\\\\é]{0,4}".prop_map(Into::into),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                proptest::collection::btree_map("[a-d]{1,2}", inner, 0..4)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// The library says the same of values as they were read as of its own.
        #[test]
        fn values_are_judged_as_the_librarys_own(value in any_json(), listed in any_json()) {
            for of in [
                json!({"enum": [listed, value.clone(), 1]}),
                json!({"const": listed}),
                json!({"uniqueItems": true, "minItems": 1}),
                json!({"type": ["object", "integer"], "maxProperties": 1, "multipleOf": 2, "required": ["a"]}),
                json!({"properties": {"a": {"type": "string", "maxLength": 2}}, "additionalProperties": {"type": "number"}}),
                json!({"contains": {"type": "number"}, "propertyNames": {"maxLength": 1}}),
            ] {
                let text = value.to_string();
                let fits = schema(of.clone()).fits(&Value::parse(text.as_bytes(), 64).unwrap());
                prop_assert_eq!(fits, jsonschema::is_valid(&of, &value), "{} of {}", of, text);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Value::parse(&text, 8);
        }
    }
}
