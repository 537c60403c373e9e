//! Request methods as the router tells them apart, and sets of them for routes and for `Allow`.
//!
//! Not for deciding which methods the server refuses outright (`TRACE`, `CONNECT`): the engine does that.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// The method of a request. Names are case-sensitive (RFC 9110 section 9.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Method {
    /// `GET`
    Get = 1,
    /// `HEAD`
    Head = 1 << 1,
    /// `POST`
    Post = 1 << 2,
    /// `PUT`
    Put = 1 << 3,
    /// `PATCH`
    Patch = 1 << 4,
    /// `DELETE`
    Delete = 1 << 5,
    /// `OPTIONS`
    Options = 1 << 6,
    /// any other: only a route for [`MethodSet::ANY`] takes it
    Other = 1 << 7,
}

/// The methods with a name, in the order in which `Allow` lists them.
const NAMED: [(Method, &str); 7] = [
    (Method::Get, "GET"),
    (Method::Head, "HEAD"),
    (Method::Post, "POST"),
    (Method::Put, "PUT"),
    (Method::Patch, "PATCH"),
    (Method::Delete, "DELETE"),
    (Method::Options, "OPTIONS"),
];

impl Method {
    /// The method called `name`; [`Method::Other`] for a name the router does not know.
    pub fn from_name(name: &str) -> Method {
        match name {
            "GET" => Method::Get,
            "POST" => Method::Post,
            "HEAD" => Method::Head,
            "PUT" => Method::Put,
            "PATCH" => Method::Patch,
            "DELETE" => Method::Delete,
            "OPTIONS" => Method::Options,
            _ => Method::Other,
        }
    }
}

/// A set of methods. Displayed as the value of `Allow`: `GET, HEAD, OPTIONS`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MethodSet(u8);

/// A route was given a method that the router cannot tell from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMethod(
    /// the name as given
    pub String,
);

impl fmt::Display for UnknownMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown method '{}': use ANY", self.0)?;
        NAMED.iter().try_for_each(|(_, name)| write!(f, ", {name}"))
    }
}

impl std::error::Error for UnknownMethod {}

impl MethodSet {
    /// No method.
    pub const NONE: MethodSet = MethodSet(0);
    /// Every method, also those without a name here.
    pub const ANY: MethodSet = MethodSet(u8::MAX);

    /// The methods called `names`, in capitals; `ANY` stands for all of them.
    pub fn from_names<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<MethodSet, UnknownMethod> {
        let mut set = MethodSet::NONE;
        for name in names {
            set |= match (name, Method::from_name(name)) {
                ("ANY", _) => MethodSet::ANY,
                (_, Method::Other) => return Err(UnknownMethod(name.to_owned())),
                (_, method) => MethodSet::from(method),
            };
        }
        Ok(set)
    }

    /// Whether `method` is in the set.
    pub fn contains(self, method: Method) -> bool {
        self.0 & method as u8 != 0
    }

    /// Whether no method is in the set.
    pub fn is_empty(self) -> bool {
        self == MethodSet::NONE
    }

    /// What the server answers for a path whose routes take this set: `HEAD` wherever `GET` is, and `OPTIONS` always.
    pub fn allowed(self) -> MethodSet {
        let head = if self.contains(Method::Get) { Method::Head as u8 } else { 0 };
        MethodSet(self.0 | head | Method::Options as u8)
    }
}

impl From<Method> for MethodSet {
    fn from(method: Method) -> MethodSet {
        MethodSet(method as u8)
    }
}

impl BitOr for MethodSet {
    type Output = MethodSet;
    fn bitor(self, other: MethodSet) -> MethodSet {
        MethodSet(self.0 | other.0)
    }
}

impl BitOrAssign for MethodSet {
    fn bitor_assign(&mut self, other: MethodSet) {
        *self = *self | other;
    }
}

impl fmt::Display for MethodSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (method, name) in NAMED {
            if self.contains(method) {
                write!(f, "{separator}{name}")?;
                separator = ", ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for (method, name) in NAMED {
            assert_eq!(Method::from_name(name), method);
            assert_eq!(MethodSet::from(method).to_string(), name);
        }
        assert_eq!(Method::from_name("get"), Method::Other);
        assert_eq!(Method::from_name("PROPFIND"), Method::Other);
    }

    #[test]
    fn sets_are_listed_in_one_order() {
        let set = MethodSet::from_names(["OPTIONS", "DELETE", "GET", "GET"]).unwrap();
        assert_eq!(set.to_string(), "GET, DELETE, OPTIONS");
        assert_eq!(MethodSet::NONE.to_string(), "");
        assert_eq!(MethodSet::ANY.to_string(), "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    }

    #[test]
    fn allowed_adds_what_the_server_answers_itself() {
        let allowed = |names: &[&str]| MethodSet::from_names(names.iter().copied()).unwrap().allowed().to_string();
        assert_eq!(allowed(&["GET"]), "GET, HEAD, OPTIONS");
        assert_eq!(allowed(&["POST"]), "POST, OPTIONS");
    }

    #[test]
    fn an_unknown_name_is_refused_and_any_is_everything() {
        assert_eq!(MethodSet::from_names(["ANY"]), Ok(MethodSet::ANY));
        assert!(MethodSet::ANY.contains(Method::Other));
        let error = MethodSet::from_names(["GET", "get"]).unwrap_err();
        assert!(error.to_string().starts_with("unknown method 'get': use ANY, GET"), "{error}");
    }
}
