//! The router: routes in the order of registration, and which of them a request is for.
//!
//! The first registered route that matches the path and takes the method wins, not the most specific one.
//! A path is percent-decoded segment by segment, so an encoded slash never separates segments; it is part of the value.

use crate::literals::Literals;
use crate::percent::decode;
use crate::search::{End, Found, Search};
use crate::segment::Segment;
use crate::tree::Tree;
use crate::{Method, MethodSet, PathError, Pattern};
use smallvec::SmallVec;
use std::borrow::Cow;

/// The values of a path's placeholders, in pattern order. Borrowed from the path unless decoding changed them.
pub type Params<'p> = SmallVec<[Cow<'p, str>; 4]>;

/// The segments of a path. Sixteen cover nearly every path without an allocation.
type Segments<'p> = SmallVec<[Cow<'p, str>; 16]>;

/// The answer to [`Router::find`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// A route takes the request.
    Found {
        /// what the route was registered with
        target: u32,
        /// the route, for [`Router::pattern`]
        route: usize,
    },
    /// Routes match the path but none takes the method: 405 with this set as `Allow`, or the answer to `OPTIONS`.
    MethodNotAllowed(MethodSet),
    /// No route matches the path, or only catch-alls for `OPTIONS`: answering the pre-flights of all paths does not
    /// make all paths exist.
    NotFound,
    /// The path cannot be read, regardless of the routes: 400.
    BadPath(PathError),
}

#[derive(Debug)]
struct Route {
    pattern: Pattern,
    /// the pattern's segments as the tree has them
    segments: Vec<Segment>,
    methods: MethodSet,
    target: u32,
}

/// Collects routes for a [`Router`].
#[derive(Debug)]
pub struct RouterBuilder {
    case_sensitive: bool,
    routes: Vec<Route>,
}

impl RouterBuilder {
    /// A builder without routes. Unless `case_sensitive`, ASCII letters in literals match in either case; values keep
    /// theirs.
    pub fn new(case_sensitive: bool) -> RouterBuilder {
        RouterBuilder { case_sensitive, routes: Vec::new() }
    }

    /// Adds a route after those added before. `target` is what [`Match::Found`] gives back; several routes may share
    /// one.
    pub fn add(&mut self, methods: MethodSet, pattern: Pattern, target: u32) -> &mut RouterBuilder {
        let segments = pattern.segments(self.case_sensitive);
        self.routes.push(Route { pattern, segments, methods, target });
        self
    }

    /// The router of all routes added.
    pub fn build(self) -> Router {
        let case_sensitive = self.case_sensitive;
        let mut tree = Tree::new(case_sensitive);
        let mut literals = Literals::new(case_sensitive);
        let with_placeholders: Vec<&Route> = self.routes.iter().filter(|route| route.literals().is_none()).collect();
        for (index, route) in (0u32..).zip(&self.routes) {
            let end = End { route: index, methods: route.methods };
            tree.insert(&route.segments, end);
            if let Some(path) = route.literals() {
                let text = format!("/{}", path.join("/"));
                // a '%' as it reads after decoding: never what is sent
                let as_sent = !text.contains('%');
                if as_sent && !with_placeholders.iter().any(|other| other.matches(&path, case_sensitive)) {
                    literals.insert(text, end);
                }
            }
        }
        Router { case_sensitive, routes: self.routes, literals, tree }
    }
}

impl Route {
    /// The segments as texts, when there is no placeholder.
    fn literals(&self) -> Option<Vec<&str>> {
        self.segments
            .iter()
            .map(|segment| match segment {
                Segment::Literal(text) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// Whether the pattern matches `path`.
    fn matches(&self, path: &[&str], case_sensitive: bool) -> bool {
        let same = |(segment, text): (&Segment, &&str)| segment.values(text, case_sensitive).is_some();
        match self.segments.split_last() {
            Some((Segment::Rest, before)) => path.len() > before.len() && before.iter().zip(path).all(same),
            _ => path.len() == self.segments.len() && self.segments.iter().zip(path).all(same),
        }
    }
}

/// Finds the route of a request. Immutable once built, so that threads share it freely.
#[derive(Debug)]
pub struct Router {
    case_sensitive: bool,
    routes: Vec<Route>,
    literals: Literals,
    tree: Tree,
}

impl Router {
    /// The route for `method` and `raw_path` (as sent, without the query), with the values of its placeholders in
    /// `params`, which is empty for any other answer.
    ///
    /// `HEAD` falls back to a route for `GET` when no route for `HEAD` matches. The cost is bounded by the length of
    /// the path plus (nodes of the tree) x (length of a segment); a path without escapes and with at most sixteen
    /// segments costs no allocation.
    pub fn find<'p>(&self, method: Method, raw_path: &'p str, params: &mut Params<'p>) -> Match {
        params.clear();
        match self.try_find(method, raw_path, params) {
            Ok(answer) => answer,
            Err(error) => Match::BadPath(error),
        }
    }

    fn try_find<'p>(&self, method: Method, raw_path: &'p str, params: &mut Params<'p>) -> Result<Match, PathError> {
        let mut search = Search::new(method);
        if let Some(ends) = self.literals.get(raw_path) {
            search.consider(ends, false);
            return Ok(self.answer(search.outcome()));
        }
        let path = raw_path.strip_prefix('/').ok_or(PathError::NoLeadingSlash)?;
        let mut segments = Segments::new();
        if path.contains('%') {
            for segment in path.split('/') {
                segments.push(decode(segment)?);
            }
        } else {
            segments.extend(path.split('/').map(Cow::Borrowed));
        }
        self.tree.look(&segments, &mut search);
        let answer = self.answer(search.outcome());
        if let Match::Found { route, .. } = answer {
            self.capture(&self.routes[route].segments, path, &segments, params)?;
        }
        Ok(answer)
    }

    fn answer(&self, outcome: Found) -> Match {
        match outcome {
            Found::Route(index) => {
                let route = index as usize;
                Match::Found { target: self.routes[route].target, route }
            }
            Found::Methods(methods) if methods.is_empty() => Match::NotFound,
            Found::Methods(methods) => Match::MethodNotAllowed(methods.allowed()),
        }
    }

    /// The pattern of the route that [`Match::Found`] names.
    pub fn pattern(&self, route: usize) -> &Pattern {
        &self.routes[route].pattern
    }

    fn capture<'p>(
        &self,
        pattern: &[Segment],
        path: &'p str,
        segments: &[Cow<'p, str>],
        params: &mut Params<'p>,
    ) -> Result<(), PathError> {
        for (at, (segment, text)) in pattern.iter().zip(segments).enumerate() {
            match (segment, text) {
                (Segment::Literal(_), _) => {}
                (Segment::Param(_), text) => params.push(text.clone()),
                (Segment::Rest, _) => {
                    let rest = path.splitn(at + 1, '/').last().unwrap_or_default();
                    params.push(decode(rest)?);
                }
                (mixed, Cow::Borrowed(text)) => {
                    let values = mixed.values(text, self.case_sensitive).unwrap_or_default();
                    params.extend(values.into_iter().map(Cow::Borrowed));
                }
                (mixed, Cow::Owned(text)) => {
                    let values = mixed.values(text, self.case_sensitive).unwrap_or_default();
                    params.extend(values.into_iter().map(|value| Cow::Owned(value.to_owned())));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn router(routes: &[(&str, &str)]) -> Router {
        build(false, routes)
    }

    fn build(case_sensitive: bool, routes: &[(&str, &str)]) -> Router {
        let mut builder = RouterBuilder::new(case_sensitive);
        for (target, (methods, pattern)) in (0..).zip(routes) {
            let methods = MethodSet::from_names(methods.split(' ')).unwrap();
            builder.add(methods, Pattern::parse(pattern).unwrap(), target);
        }
        builder.build()
    }

    /// The answer as text: `target value|value`, the value of `Allow`, `-` for none, or the mistake.
    fn find(router: &Router, method: &str, path: &str) -> String {
        let mut params = Params::new();
        match router.find(Method::from_name(method), path, &mut params) {
            Match::Found { target, .. } => format!("{target} {}", params.join("|")).trim_end().to_owned(),
            Match::MethodNotAllowed(methods) => methods.to_string(),
            Match::NotFound => "-".to_owned(),
            Match::BadPath(error) => error.to_string(),
        }
    }

    #[test]
    fn the_first_registered_route_wins() {
        let routes = router(&[
            ("GET", "/u/<id>"),
            ("GET", "/u/me"),
            ("POST", "/u/me"),
            ("GET", "/v/me"),
            ("GET", "/v/<id>"),
            ("GET", "/*all"),
            ("GET", "/late"),
        ]);
        assert_eq!(find(&routes, "GET", "/u/me"), "0 me");
        assert_eq!(find(&routes, "POST", "/u/me"), "2");
        assert_eq!(find(&routes, "GET", "/v/me"), "3");
        assert_eq!(find(&routes, "GET", "/v/you"), "4 you");
        assert_eq!(find(&routes, "GET", "/late"), "5 late");
        assert_eq!(find(&routes, "GET", "/u/a/b"), "5 u/a/b");
    }

    #[test]
    fn a_branch_that_leads_nowhere_is_left_again() {
        let routes = router(&[("GET", "/a/b/c"), ("GET", "/<x>/b/d"), ("GET", "/a/<y>/e")]);
        assert_eq!(find(&routes, "GET", "/a/b/d"), "1 a");
        assert_eq!(find(&routes, "GET", "/a/b/e"), "2 b");
        assert_eq!(find(&routes, "GET", "/a/b/f"), "-");
    }

    #[test]
    fn types_decide_between_routes() {
        let routes = router(&[("GET", "/n/<x:int>"), ("GET", "/n/<x:dbl>"), ("GET", "/n/{x:uuid}"), ("GET", "/n/:x")]);
        assert_eq!(find(&routes, "GET", "/n/12"), "0 12");
        assert_eq!(find(&routes, "GET", "/n/1.5"), "1 1.5");
        assert_eq!(
            find(&routes, "GET", "/n/123e4567-e89b-12d3-a456-426614174000"),
            "2 123e4567-e89b-12d3-a456-426614174000"
        );
        assert_eq!(find(&routes, "GET", "/n/x"), "3 x");
        assert_eq!(find(&routes, "GET", "/n/"), "-");
    }

    #[test]
    fn slashes_at_the_end_and_in_a_row_count() {
        let routes = router(&[("GET", "/"), ("GET", "/a"), ("GET", "/b/"), ("GET", "/c//d"), ("GET", "/p/<x>/q")]);
        for (path, answer) in [
            ("/", "0"),
            ("/a", "1"),
            ("/a/", "-"),
            ("/b", "-"),
            ("/b/", "2"),
            ("/c//d", "3"),
            ("/c/d", "-"),
            ("//", "-"),
            ("/p//q", "-"),
        ] {
            assert_eq!(find(&routes, "GET", path), answer, "{path}");
        }
    }

    #[test]
    fn a_catch_all_takes_the_rest_even_when_empty() {
        let routes = router(&[("GET", "/f/*rest"), ("GET", "/g/:x/*")]);
        assert_eq!(find(&routes, "GET", "/f/"), "0");
        assert_eq!(find(&routes, "GET", "/f"), "-");
        assert_eq!(find(&routes, "GET", "/f/a//b/"), "0 a//b/");
        assert_eq!(find(&routes, "GET", "/f/a%2Fb/c%20d"), "0 a/b/c d");
        assert_eq!(find(&routes, "GET", "/g/1/2/3"), "1 1|2/3");
        assert_eq!(find(&router(&[("GET", "/*")]), "GET", "/"), "0");
    }

    #[test]
    fn segments_are_decoded_once_and_apart() {
        let routes = router(&[("GET", "/café/<x>"), ("GET", "/m/<a>-<b>"), ("GET", "/50%25")]);
        assert_eq!(find(&routes, "GET", "/50%25"), "-", "a pattern is what the path reads like once decoded");
        assert_eq!(find(&routes, "GET", "/50%2525"), "2");
        assert_eq!(find(&routes, "GET", "/caf%C3%A9/a%20b"), "0 a b");
        assert_eq!(find(&routes, "GET", "/caf%C3%a9/a%2fb"), "0 a/b");
        assert_eq!(find(&routes, "GET", "/caf%C3%a9/%252f"), "0 %2f");
        assert_eq!(find(&routes, "GET", "/caf%C3%A9%2fx"), "-");
        assert_eq!(find(&routes, "GET", "/m/a%2Db"), "1 a|b");
        let mut params = Params::new();
        routes.find(Method::Get, "/m/a-b", &mut params);
        assert!(params.iter().all(|value| matches!(value, Cow::Borrowed(_))));
    }

    #[test]
    fn a_bad_path_is_bad_whatever_the_routes() {
        for routes in [router(&[]), router(&[("GET", "/*")])] {
            assert_eq!(find(&routes, "GET", "/a%"), PathError::BadEscape.to_string());
            assert_eq!(find(&routes, "GET", "/a%00"), PathError::Nul.to_string());
            assert_eq!(find(&routes, "GET", "/%ff/b"), PathError::NotUtf8.to_string());
            assert_eq!(find(&routes, "GET", "*"), PathError::NoLeadingSlash.to_string());
            assert_eq!(find(&routes, "GET", ""), PathError::NoLeadingSlash.to_string());
        }
    }

    #[test]
    fn case_of_literals_but_not_of_values() {
        let routes = [("GET", "/Users/<x>/Vx<y>")];
        assert_eq!(find(&router(&routes), "GET", "/uSERS/Ann/vXQ"), "0 Ann|Q");
        assert_eq!(find(&build(true, &routes), "GET", "/users/Ann/VxQ"), "-");
        assert_eq!(find(&build(true, &routes), "GET", "/Users/Ann/VxQ"), "0 Ann|Q");
    }

    #[test]
    fn a_wrong_method_names_the_right_ones() {
        let routes = router(&[("GET", "/a"), ("POST PUT", "/<x>"), ("DELETE", "/b"), ("ANY", "/any")]);
        assert_eq!(find(&routes, "DELETE", "/a"), "GET, HEAD, POST, PUT, OPTIONS");
        assert_eq!(find(&routes, "OPTIONS", "/b"), "POST, PUT, DELETE, OPTIONS");
        assert_eq!(find(&routes, "BREW", "/b"), "POST, PUT, DELETE, OPTIONS");
        assert_eq!(find(&routes, "BREW", "/any"), "3");
        assert_eq!(find(&routes, "DELETE", "/x/y"), "-");
    }

    #[test]
    fn a_catch_all_for_options_makes_no_path() {
        let routes = router(&[
            ("OPTIONS", "/*path"),
            ("POST", "/a"),
            ("OPTIONS", "/b"),
            ("OPTIONS", "/c/<x>"),
            ("PUT OPTIONS", "/d/*"),
            ("GET", "/e/*"),
            ("OPTIONS", "/e/*"),
        ]);
        for (method, path, answer) in [
            ("OPTIONS", "/x", "0 x"),
            ("GET", "/x", "-"),
            ("BREW", "/x/y", "-"),
            ("GET", "/", "-"),
            // a route with another method is one, and so is one for OPTIONS that names its paths
            ("GET", "/a", "POST, OPTIONS"),
            ("OPTIONS", "/a", "0 a"),
            ("GET", "/b", "OPTIONS"),
            ("GET", "/c/1", "OPTIONS"),
            ("GET", "/c/1/2", "-"),
            ("GET", "/d/x", "PUT, OPTIONS"),
            ("HEAD", "/e/x", "5 x"),
            ("POST", "/e/x", "GET, HEAD, OPTIONS"),
        ] {
            assert_eq!(find(&routes, method, path), answer, "{method} {path}");
        }
        // the short way, where nothing but literals matches
        assert_eq!(find(&router(&[("OPTIONS", "/a/*"), ("OPTIONS", "/b")]), "GET", "/b"), "OPTIONS");
    }

    #[test]
    fn head_falls_back_to_get() {
        let routes = router(&[("GET", "/a"), ("GET", "/b"), ("HEAD", "/<x>"), ("POST", "/c/d")]);
        assert_eq!(find(&routes, "HEAD", "/a"), "2 a", "a route for HEAD comes before one for GET");
        assert_eq!(find(&routes, "GET", "/a"), "0");
        assert_eq!(find(&router(&[("POST", "/a"), ("GET", "/<x>"), ("GET", "/a")]), "HEAD", "/a"), "1 a");
        assert_eq!(find(&routes, "HEAD", "/c/d"), "POST, OPTIONS");
    }

    #[test]
    fn found_names_the_route_for_its_pattern() {
        let mut builder = RouterBuilder::new(false);
        builder.add(Method::Post.into(), Pattern::parse("/a").unwrap(), 7);
        builder.add(Method::Get.into(), Pattern::parse("/:b").unwrap(), 7);
        let routes = builder.build();
        let Match::Found { target: 7, route } = routes.find(Method::Get, "/a", &mut Params::new()) else {
            panic!("not found");
        };
        assert_eq!(routes.pattern(route).canonical(), "/<b>");
    }
}
