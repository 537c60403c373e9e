//! Schemas that are refused when an app is loaded: too large or deep, with unknown keywords, that refer to themselves
//! or to other documents, or whose references multiply. What is left takes time in proportion to a schema's size and a
//! value's. Patterns are the regular expression engine's to refuse, whose time is linear.

use serde_json::Value;
use std::collections::HashMap;

/// Longest text of a schema in bytes.
pub const MAX_TEXT: usize = 256 * 1024;

/// Deepest nesting of schemas in a schema.
const MAX_DEPTH: usize = 64;

/// Most schemas that one value may be held against, references followed.
const MAX_SCHEMAS: u64 = 10_000;

/// Keywords whose value is a schema.
const ONE: [&str; 10] = [
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords whose value is an array of schemas.
const LISTED: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/// Keywords whose value is an object of schemas.
const NAMED: [&str; 3] = ["dependentSchemas", "patternProperties", "properties"];

/// Keywords whose value holds schemas that count where they are referred to.
const DEFINED: [&str; 2] = ["$defs", "definitions"];

/// All others; `example` is one of OpenAPI, `enumNames` one of forms of the Model Context Protocol.
const PLAIN: [&str; 36] = [
    "$anchor",
    "$comment",
    "$id",
    "$ref",
    "$schema",
    "const",
    "contentEncoding",
    "contentMediaType",
    "default",
    "dependentRequired",
    "deprecated",
    "description",
    "enum",
    "enumNames",
    "example",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "readOnly",
    "required",
    "title",
    "type",
    "uniqueItems",
];

/// Says what is hostile in a schema, and where.
pub fn check(root: &Value) -> Result<(), String> {
    let mut walk = Walk { root, sizes: HashMap::new() };
    let size = walk.size(root, "#", 0)?;
    if size > MAX_SCHEMAS {
        return Err(format!("it has {size} schemas, references followed; at most {MAX_SCHEMAS} are taken"));
    }
    for defined in DEFINED {
        if let Value::Object(schemas) = &root[defined] {
            for (name, schema) in schemas {
                walk.size(schema, &format!("#/{defined}/{name}"), 1)?;
            }
        }
    }
    Ok(())
}

struct Walk<'s> {
    root: &'s Value,
    /// by reference; 0 while it is being found out
    sizes: HashMap<&'s str, u64>,
}

impl<'s> Walk<'s> {
    /// How many schemas a value is held against by this one.
    fn size(&mut self, schema: &'s Value, place: &str, depth: usize) -> Result<u64, String> {
        let keywords = match schema {
            Value::Bool(_) => return Ok(1),
            Value::Object(keywords) => keywords,
            _ => return Err(format!("{}: a schema is an object, or true or false", shown(place))),
        };
        if depth > MAX_DEPTH {
            return Err(format!("it is nested deeper than {MAX_DEPTH} schemas"));
        }
        let mut size = 1_u64;
        for (keyword, value) in keywords {
            let place = format!("{place}/{keyword}");
            size = size.saturating_add(self.keyword(keyword, value, &place, depth)?);
        }
        Ok(size)
    }

    fn keyword(&mut self, keyword: &str, value: &'s Value, place: &str, depth: usize) -> Result<u64, String> {
        if ONE.contains(&keyword) {
            return self.size(value, place, depth + 1);
        }
        if LISTED.contains(&keyword) {
            let schemas = value.as_array().ok_or_else(|| format!("{}: it must be an array", shown(place)))?;
            let mut size = 0_u64;
            for (i, schema) in schemas.iter().enumerate() {
                size = size.saturating_add(self.size(schema, &format!("{place}/{i}"), depth + 1)?);
            }
            return Ok(size);
        }
        if NAMED.contains(&keyword) {
            let schemas = value.as_object().ok_or_else(|| format!("{}: it must be an object", shown(place)))?;
            let mut size = 0_u64;
            for (name, schema) in schemas {
                size = size.saturating_add(self.size(schema, &format!("{place}/{name}"), depth + 1)?);
            }
            return Ok(size);
        }
        if DEFINED.contains(&keyword) && depth == 0 {
            return Ok(0);
        }
        if keyword == "$ref" {
            return self.reference(value, place, depth);
        }
        if keyword == "$id" && depth > 0 || keyword == "$schema" && !is_known_dialect(value) {
            return Err(format!("{}: schemas are of JSON Schema 2020-12, without an $id inside", shown(place)));
        }
        if PLAIN.contains(&keyword) || keyword.starts_with("x-") {
            return Ok(0);
        }
        let hint = if keyword == "nullable" { "; for null, write \"type\": [\"string\", \"null\"]" } else { "" };
        Err(format!("{}: this keyword is not known in JSON Schema 2020-12{hint}", shown(place)))
    }

    fn reference(&mut self, value: &'s Value, place: &str, depth: usize) -> Result<u64, String> {
        let to = value.as_str().unwrap_or_default();
        let Some(pointer) = to
            .strip_prefix('#')
            .filter(|pointer| pointer.starts_with("/$defs/") || pointer.starts_with("/definitions/"))
        else {
            return Err(format!("{}: it must refer to \"#/$defs/NAME\"; nothing is fetched", shown(place)));
        };
        match self.sizes.get(to) {
            Some(0) => return Err(format!("{}: it refers to itself, which has no end", shown(place))),
            Some(size) => return Ok(*size),
            None => {}
        }
        let Some(schema) = self.root.pointer(pointer) else {
            return Err(format!("{}: there is no {}", shown(place), shown(to)));
        };
        self.sizes.insert(to, 0);
        let size = self.size(schema, to, depth + 1)?;
        self.sizes.insert(to, size);
        Ok(size)
    }
}

fn is_known_dialect(value: &Value) -> bool {
    value.as_str().is_some_and(|name| name.trim_end_matches('#') == "https://json-schema.org/draft/2020-12/schema")
}

/// A place in a schema, which is as long as its author makes it.
fn shown(place: &str) -> String {
    let cut: String = place.chars().take(120).collect();
    let more = if cut.len() < place.len() { "..." } else { "" };
    format!("{cut:?}{more}").replacen('"', "", 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{json, Map};

    fn problem(schema: &Value) -> String {
        check(schema).unwrap_err()
    }

    #[test]
    fn usual_schemas_are_taken() {
        check(&json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "https://example.org/order",
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/a"}, "b": {"$ref": "#/$defs/a"}, "nullable": true},
            "patternProperties": {"^x-": {"type": "string"}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            "x-note": {"anything": "goes"},
            "$defs": {"a": {"type": "array", "items": {"enum": [{"unknown": 1}]}}}
        }))
        .unwrap();
        check(&json!(true)).unwrap();
    }

    #[test]
    fn what_is_hostile_is_named() {
        assert!(problem(&json!({"typ": "string"})).contains("#/typ: this keyword is not known"));
        assert!(problem(&json!({"properties": {"a": {"nullable": true}}})).contains("\"null\""));
        assert!(problem(&json!({"$ref": "https://example.org/x"})).contains("nothing is fetched"));
        assert!(problem(&json!({"$ref": "#/$defs/none"})).contains("there is no #/$defs/none"));
        assert!(problem(&json!({"$ref": "#"})).contains("#/$ref"));
        let recursive = json!({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}});
        assert!(problem(&recursive).contains("refers to itself"));
        let unused = json!({"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}});
        assert!(problem(&unused).contains("refers to itself"));
        assert!(problem(&json!({"$schema": "http://json-schema.org/draft-04/schema#"})).contains("2020-12"));
        assert!(problem(&json!({"properties": {"a": {"$id": "b"}}})).contains("$id"));
        assert!(
            problem(&json!({"allOf": 1})).contains("array") && problem(&json!({"properties": 1})).contains("object")
        );
        assert!(problem(&json!({"items": [1]})).contains("a schema is an object"));
        assert!(problem(&json!({"$dynamicRef": "#a"})).contains("not known"));
    }

    #[test]
    fn depth_and_multiplication_are_bounded() {
        let deep = (0..70).fold(json!({}), |inner, _| json!({"items": inner}));
        assert!(problem(&deep).contains("deeper than 64"));
        let mut defs = Map::new();
        defs.insert("d0".into(), json!({"type": "string"}));
        for i in 1..25 {
            let one = json!({"$ref": format!("#/$defs/d{}", i - 1)});
            defs.insert(format!("d{i}"), json!({"anyOf": [one, one]}));
        }
        assert!(problem(&json!({"$ref": "#/$defs/d24", "$defs": defs})).contains("schemas, references followed"));
        let long = "a".repeat(5000);
        assert!(problem(&json!({long: 1})).len() < 300);
    }
}
