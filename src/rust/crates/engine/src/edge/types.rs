//! Types that routes declare: params and bodies that do not have them are refused, and R is not asked. Not for what the
//! types are (the crate `schema`) nor for the values that handlers get: the worker makes those, of what has passed.

use crate::edge::threads::{Asked, Threads};
use fields::Pair;
use http::header::{ACCEPT, CONTENT_TYPE, COOKIE};
use http::StatusCode;
use httpd::{ascii, Failure, Head, Received};
use observe::metrics::Refusal;
use observe::quote;
use router::{Params, Pattern};
use schema::{Schema, Shape, Value, Violation, MAX_VIOLATIONS};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

/// Longer bodies, in bytes, are looked at by a thread of their own: this many take about a tenth of a millisecond, for
/// which the connections of an I/O thread may wait.
const LONG: usize = 64 * 1024;

/// Rules that the log and `detail` say; `errors` has all.
const TOLD: usize = 3;

static LOOKING: Threads = Threads::new("drover-types");

/// What a route declares, as an app has registered it.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TypesConfig {
    /// values beside the body
    #[serde(default)]
    pub params: Vec<ParamConfig>,
    /// the body
    #[serde(default)]
    pub body: Option<BodyConfig>,
}

/// A value beside the body.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ParamConfig {
    /// as requests have it
    pub name: String,
    /// where they have it
    #[serde(rename = "in")]
    pub place: Place,
    /// whether they have to
    pub required: bool,
    /// JSON Schema
    pub schema: String,
}

/// Where a request has a value.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// a placeholder of the path
    Path,
    /// a field of the query
    Query,
    /// a header field
    Header,
    /// a cookie
    Cookie,
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Place::Path => "path",
            Place::Query => "query",
            Place::Header => "header",
            Place::Cookie => "cookie",
        }
    }
}

/// The body.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct BodyConfig {
    /// what it is written in
    pub content_type: Content,
    /// whether there has to be one
    pub required: bool,
    /// JSON Schema
    pub schema: String,
}

/// What a body is written in.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, PartialEq, Eq)]
pub enum Content {
    /// JSON, under its own name or that of a format made of it
    #[serde(rename = "application/json")]
    Json,
    /// fields of a form
    #[serde(rename = "application/x-www-form-urlencoded")]
    Form,
}

/// See the module.
#[derive(Debug)]
pub struct Types {
    params: Vec<Param>,
    wants: Wants,
    body: Option<Arc<Body>>,
}

/// What has to be read for the params.
#[derive(Debug, Default)]
struct Wants {
    query: bool,
    cookies: bool,
}

#[derive(Debug)]
struct Param {
    name: String,
    place: Place,
    /// among the placeholders of the path
    at: usize,
    required: bool,
    schema: Schema,
}

#[derive(Debug)]
struct Body {
    content: Content,
    required: bool,
    schema: Schema,
}

/// Limits of the server that hold for what is read here.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// fields of a query or form, or cookies
    pub max_fields: usize,
    /// nesting of JSON
    pub max_json_depth: u32,
}

/// Of a request, as far as it can be said at once.
pub enum Looked {
    /// it fits
    Fits,
    /// its body is long, and being looked at
    Later(Looking),
}

/// A long body that is being looked at.
pub struct Looking(Asked<Result<(), Failure>>);

impl Looking {
    /// Whether it fits.
    ///
    /// # Errors
    /// As [`Types::judge`].
    pub async fn outcome(self) -> Result<(), Failure> {
        let panicked = || Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "");
        self.0.await.unwrap_or_else(|| Err(panicked()))
    }
}

impl Types {
    /// Those of a route.
    ///
    /// # Errors
    /// A text that names the param, or the body, and what is wrong with its schema.
    pub fn new(config: &TypesConfig, pattern: &Pattern) -> Result<Types, String> {
        let schema = |what: &str, text: &str| Schema::new(text).map_err(|why| format!("the type of {what}: {why}"));
        let mut params = Vec::with_capacity(config.params.len());
        let mut wants = Wants::default();
        for param in &config.params {
            let ParamConfig { name, place, required, schema: text } = param;
            let at = pattern.params().iter().position(|placeholder| placeholder.name == *name);
            if *place == Place::Path && at.is_none() {
                return Err(format!("the path has no placeholder {name:?}"));
            }
            wants.query |= *place == Place::Query;
            wants.cookies |= *place == Place::Cookie;
            let (name, place, required) = (name.clone(), *place, *required);
            let schema = schema(&format!("{}.{name}", place.name()), text)?;
            params.push(Param { name, place, at: at.unwrap_or_default(), required, schema });
        }
        let body = config.body.as_ref().map(|body| {
            let schema = schema("the body", &body.schema)?;
            Ok::<_, String>(Arc::new(Body { content: body.content_type, required: body.required, schema }))
        });
        Ok(Types { params, wants, body: body.transpose()? })
    }

    /// Holds a request against them. Its params are those of its path, in order.
    ///
    /// # Errors
    /// 422 with all that is wrong, 400 for what cannot be read, 415 for a body of another type, 503 when too many long
    /// bodies wait.
    pub fn judge(&self, head: &Head, params: &Params<'_>, body: &Received, bounds: Bounds) -> Result<Looked, Failure> {
        let mut wrong = Vec::new();
        self.judge_params(head, params, bounds, &mut wrong)?;
        let Some(declared) = &self.body else { return refuse(&wrong).map(|()| Looked::Fits) };
        let source = match body {
            Received::Empty => None,
            Received::Memory(bytes) if bytes.len() > LONG => Some(Source::Memory(bytes.clone())),
            Received::Memory(bytes) => {
                declared.check_type(head)?;
                declared.judge(bytes, bounds, &mut wrong)?;
                return refuse(&wrong).map(|()| Looked::Fits);
            }
            Received::Spooled(path, _) => Some(Source::File(path.to_path_buf())),
        };
        let Some(source) = source else {
            if declared.required {
                wrong.push(Wrong { place: "body", violation: Violation::new("", None, "is missing") });
            }
            return refuse(&wrong).map(|()| Looked::Fits);
        };
        declared.check_type(head)?;
        let declared = declared.clone();
        let looking = LOOKING.ask(move || {
            let mut wrong = wrong;
            match source {
                Source::Memory(bytes) => declared.judge(&bytes, bounds, &mut wrong)?,
                Source::File(path) => {
                    let unreadable = |why| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "").because(why);
                    declared.judge(&std::fs::read(path).map_err(unreadable)?, bounds, &mut wrong)?;
                }
            }
            refuse(&wrong)
        });
        let busy = || Failure::new(StatusCode::SERVICE_UNAVAILABLE, "too many long bodies wait to be looked at");
        looking.map(|asked| Looked::Later(Looking(asked))).ok_or_else(|| busy().counts_as(Refusal::NoRoom))
    }

    fn judge_params(
        &self,
        head: &Head,
        params: &Params<'_>,
        bounds: Bounds,
        wrong: &mut Vec<Wrong>,
    ) -> Result<(), Failure> {
        let unreadable = |error: fields::FieldError| Failure::new(StatusCode::BAD_REQUEST, error.message());
        let query = match (self.wants.query, head.target().split_once('?')) {
            (true, Some((_, query))) => {
                fields::query::parse(query.as_bytes(), bounds.max_fields).map_err(unreadable)?
            }
            _ => Vec::new(),
        };
        let cookies = if self.wants.cookies {
            fields::cookies::parse(head.fields.all(&COOKIE), bounds.max_fields).map_err(unreadable)?
        } else {
            Vec::new()
        };
        for param in &self.params {
            match param.place {
                Place::Path => param.judge(params.get(param.at).map(|text| Cow::Borrowed(&**text)).into_iter(), wrong),
                Place::Query => param.judge(named(&query, &param.name), wrong),
                Place::Cookie => param.judge(named(&cookies, &param.name).take(1), wrong),
                Place::Header => {
                    let texts: Vec<_> = head.fields.named(param.name.as_bytes()).map(header_text).collect();
                    param.judge(texts.into_iter(), wrong);
                }
            }
        }
        Ok(())
    }
}

/// Where a long body is.
enum Source {
    Memory(bytes::Bytes),
    File(PathBuf),
}

/// A violation, and in what.
struct Wrong {
    place: &'static str,
    violation: Violation,
}

impl Param {
    fn judge<'a>(&self, texts: impl Iterator<Item = Cow<'a, str>> + Clone, wrong: &mut Vec<Wrong>) {
        let place = || format!("{}.{}", self.place.name(), self.name);
        let mut put = |violation| wrong.push(Wrong { place: self.place.name(), violation });
        let mut first = texts.clone();
        let Some(text) = first.next() else {
            if self.required {
                put(Violation::new(&place(), None, "is missing"));
            }
            return;
        };
        if first.next().is_some() && !self.schema.shape().is_array() {
            put(Violation::new(&place(), Some(&text), "must be there once"));
            return;
        }
        let value = self.schema.shape().read(texts);
        if !self.schema.fits(&value) {
            let mut found = Vec::new();
            self.schema.explain(&value, &place(), &mut found);
            found.into_iter().for_each(put);
        }
    }
}

impl Body {
    /// A body without a type is taken for what is declared.
    fn check_type(&self, head: &Head) -> Result<(), Failure> {
        let Some(given) = head.fields.get(&CONTENT_TYPE) else { return Ok(()) };
        let essence = ascii(given).unwrap_or_default().split(';').next().unwrap_or_default().trim();
        let is_right = match self.content {
            Content::Json => crate::respond::is_json(essence),
            Content::Form => essence.eq_ignore_ascii_case("application/x-www-form-urlencoded"),
        };
        if is_right {
            return Ok(());
        }
        let right = match self.content {
            Content::Json => "application/json",
            Content::Form => "application/x-www-form-urlencoded",
        };
        let why = format!("the body must be {right}");
        let failure = Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why);
        Err(failure.with(&ACCEPT, right))
    }

    fn judge(&self, body: &[u8], bounds: Bounds, wrong: &mut Vec<Wrong>) -> Result<(), Failure> {
        let bad = |why: String| Failure::new(StatusCode::BAD_REQUEST, why);
        let pairs;
        let value = match self.content {
            Content::Json => {
                let read = Value::parse(body, bounds.max_json_depth);
                read.map_err(|why| bad(format!("the body is not JSON that can be read: {why}")))?
            }
            Content::Form => {
                let read = fields::query::parse_form(body, bounds.max_fields);
                pairs = read.map_err(|error| bad(error.message().to_owned()))?;
                self.form(&pairs, wrong)
            }
        };
        if !self.schema.fits(&value) {
            let mut found = Vec::new();
            self.schema.explain(&value, "", &mut found);
            wrong.extend(found.into_iter().map(|violation| Wrong { place: "body", violation }));
        }
        Ok(())
    }

    /// The fields of a form as an object.
    fn form<'a>(&self, pairs: &'a [Pair<'a>], wrong: &mut Vec<Wrong>) -> Value<'a> {
        let mut members: Vec<(Cow<'a, str>, Value<'a>)> = Vec::new();
        for (name, text) in pairs {
            if members.iter().any(|(other, _)| other == name) {
                continue;
            }
            let shape = self.schema.field(name).unwrap_or(&Shape::Text);
            if !shape.is_array() && named(pairs, name).nth(1).is_some() {
                let violation = Violation::member(name, Some(text), "must be there once");
                wrong.push(Wrong { place: "body", violation });
            }
            let value = shape.read(named(pairs, name));
            members.push((Cow::Borrowed(name), value));
        }
        Value::Object(members)
    }
}

/// A header field as workers read it: what is not UTF-8 is Latin-1.
fn header_text(value: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(value) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => value.iter().map(|&byte| byte as char).collect::<String>().into(),
    }
}

/// The values of one name.
fn named<'a>(pairs: &'a [Pair<'a>], name: &'a str) -> impl Iterator<Item = Cow<'a, str>> + Clone {
    pairs.iter().filter(move |(other, _)| other == name).map(|(_, value)| Cow::Borrowed(&**value))
}

/// 422 when anything is wrong: the failure has all of it, within bounds.
fn refuse(wrong: &[Wrong]) -> Result<(), Failure> {
    if wrong.is_empty() {
        return Ok(());
    }
    let mut detail = String::new();
    let mut errors = String::from("[");
    for (i, Wrong { place, violation }) in wrong.iter().take(MAX_VIOLATIONS).enumerate() {
        let Violation { place: field, value, rule } = violation;
        let between = if i == 0 { "" } else { "," };
        errors.push_str(between);
        errors.push_str("{\"in\":");
        quote(place, &mut errors);
        errors.push_str(",\"field\":");
        quote(field, &mut errors);
        if let Some(value) = value {
            errors.push_str(",\"value\":");
            errors.push_str(value);
        }
        errors.push_str(",\"rule\":");
        quote(rule, &mut errors);
        errors.push('}');
        if i < TOLD {
            let name = match (*place, field.as_str()) {
                ("body", "") => "the body".to_owned(),
                (_, field) => field.escape_debug().to_string(),
            };
            detail.push_str(if i == 0 { "" } else { "; " });
            detail.push_str(&format!("{name} {}", rule.escape_debug()));
        }
    }
    errors.push(']');
    if wrong.len() > TOLD {
        detail.push_str("; and more");
    }
    let failure = Failure::new(StatusCode::UNPROCESSABLE_ENTITY, detail);
    Err(failure.counts_as(Refusal::BadRequest).with_errors(errors))
}
