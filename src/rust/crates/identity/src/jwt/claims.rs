//! What a token claims, and what it has to. A claim of the wrong type is refused, not passed over: `exp` as a string
//! would be no time that ends.

use super::{Algorithm, Refused};
use crate::{Scheme, Who};
use serde_json::{Map, Value};
use std::sync::Arc;

/// What tokens have to be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rules {
    /// those that may be used
    pub algorithms: Vec<Algorithm>,
    /// one of these must have issued it; if empty, any issuer may have
    pub issuers: Vec<String>,
    /// it must be meant for one of these; if empty, a token that names an audience is refused
    pub audiences: Vec<String>,
    /// claims that it must have
    pub required: Vec<String>,
    /// seconds that clocks may differ by
    pub leeway: u64,
}

/// What a token claims, and when that holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Claims {
    /// its bearer
    pub who: Arc<Who>,
    /// seconds since 1970
    from: f64,
    until: f64,
}

impl Claims {
    /// Whether it holds at this time, in seconds since 1970.
    ///
    /// # Errors
    /// When it does not yet, or does no more.
    pub fn hold(&self, now: u64) -> Result<(), Refused> {
        let now = now as f64;
        if now >= self.until {
            return Err(Refused::Invalid("the token has expired"));
        }
        if now < self.from {
            return Err(Refused::Invalid("the token is not valid yet"));
        }
        Ok(())
    }
}

const WRONG_TYPE: Refused = Refused::Invalid("a claim has the wrong type");

impl Rules {
    /// Whether a token with these claims is taken at this time.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn judge(&self, claims: Map<String, Value>, now: u64) -> Result<Claims, Refused> {
        let invalid = |why| Err(Refused::Invalid(why));
        let leeway = self.leeway as f64;
        if self.required.iter().any(|name| claims.get(name).is_none_or(Value::is_null)) {
            return invalid("a claim is missing");
        }
        let until = time(&claims, "exp")?.map_or(f64::INFINITY, |exp| exp + leeway);
        let from = time(&claims, "nbf")?.map_or(f64::NEG_INFINITY, |nbf| nbf - leeway);
        time(&claims, "iat")?;
        for name in ["sub", "jti", "scope"] {
            text(&claims, name)?;
        }
        let issuer = text(&claims, "iss")?;
        if !self.issuers.is_empty() && !issuer.is_some_and(|issuer| self.issuers.iter().any(|one| one == issuer)) {
            return invalid("the token is of another issuer");
        }
        let audiences = audiences(&claims)?;
        let is_meant = match &audiences {
            // RFC 7519, section 4.1.3: a token that names others is for them
            Some(named) => named.iter().any(|name| self.audiences.iter().any(|one| one == name)),
            None => self.audiences.is_empty(),
        };
        if !is_meant {
            return invalid("the token is meant for others");
        }
        let claims = Claims { who: Arc::new(Who::of_claims(Scheme::Jwt, claims)), from, until };
        claims.hold(now).map(|()| claims)
    }
}

/// Seconds since 1970, which may have a fraction.
fn time(claims: &Map<String, Value>, name: &str) -> Result<Option<f64>, Refused> {
    match claims.get(name) {
        None => Ok(None),
        Some(value) => value.as_f64().filter(|time| time.is_finite() && *time >= 0.0).map(Some).ok_or(WRONG_TYPE),
    }
}

fn text<'c>(claims: &'c Map<String, Value>, name: &str) -> Result<Option<&'c str>, Refused> {
    claims.get(name).map(|value| value.as_str().ok_or(WRONG_TYPE)).transpose()
}

/// A string, or an array of them.
fn audiences(claims: &Map<String, Value>) -> Result<Option<Vec<&str>>, Refused> {
    match claims.get("aud") {
        None => Ok(None),
        Some(Value::String(one)) => Ok(Some(vec![one])),
        Some(Value::Array(all)) => {
            all.iter().map(|one| one.as_str().ok_or(WRONG_TYPE)).collect::<Result<_, _>>().map(Some)
        }
        Some(_) => Err(WRONG_TYPE),
    }
}
