//! The segment tree: all routes of a router, looked up together.
//!
//! A node stands for the segments that lead to it, so a search visits each node at most once, and each visit looks at one segment of the
//! path: the cost of a lookup is at most (nodes of the tree) x (length of that segment) x (longest literal inside a mixed segment), whatever the path holds.
//! The depth of recursion is at most that of the deepest pattern.

use crate::segment::Segment;
use crate::{Method, MethodSet};
use std::cmp::Ordering;

/// No route: larger than the index of any.
const NONE: u32 = u32::MAX;

/// The place of a route in the tree.
#[derive(Debug)]
struct End {
    route: u32,
    methods: MethodSet,
}

#[derive(Debug)]
struct Node {
    /// the first route in or below this node: a search that holds an earlier one need not look here
    first: u32,
    /// by length, then by bytes
    literals: Vec<(String, usize)>,
    /// parameters and mixed segments; none is `Literal` or `Rest`
    others: Vec<(Segment, usize)>,
    /// routes whose pattern ends here
    ends: Vec<End>,
    /// routes whose catch-all starts here
    rests: Vec<End>,
}

impl Node {
    fn new(first: u32) -> Node {
        Node { first, literals: Vec::new(), others: Vec::new(), ends: Vec::new(), rests: Vec::new() }
    }
}

/// Routes by their segments. Indices of routes are the order of registration.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    case_sensitive: bool,
}

/// What a lookup found: the first registered route for the method, or else which methods the path has.
pub(crate) enum Lookup {
    Route(u32),
    Methods(MethodSet),
}

impl Tree {
    pub(crate) fn new(case_sensitive: bool) -> Tree {
        Tree { nodes: vec![Node::new(NONE)], case_sensitive }
    }

    /// Adds a route, after all those added before. Literals are in lower case unless the tree is case-sensitive.
    pub(crate) fn insert(&mut self, segments: &[Segment], methods: MethodSet, route: u32) {
        let mut at = 0;
        self.nodes[at].first = self.nodes[at].first.min(route);
        for segment in segments {
            let fresh = self.nodes.len();
            let node = &mut self.nodes[at];
            at = match segment {
                Segment::Rest => return node.rests.push(End { route, methods }),
                Segment::Literal(literal) => match node.search(literal, true) {
                    Ok(found) => node.literals[found].1,
                    Err(place) => {
                        node.literals.insert(place, (literal.clone(), fresh));
                        fresh
                    }
                },
                other => match node.others.iter().find(|(known, _)| known == other) {
                    Some((_, child)) => *child,
                    None => {
                        node.others.push((other.clone(), fresh));
                        fresh
                    }
                },
            };
            if at == fresh {
                self.nodes.push(Node::new(route));
            }
        }
        self.nodes[at].ends.push(End { route, methods });
    }

    /// Looks for the routes that match `path`, given as its decoded segments.
    pub(crate) fn lookup<S: AsRef<str>>(&self, method: Method, path: &[S]) -> Lookup {
        let mut search = Search { method, best: NONE, get: NONE, methods: MethodSet::NONE };
        self.visit(0, path, &mut search);
        match search.best.min(search.get) {
            _ if search.best != NONE => Lookup::Route(search.best),
            NONE => Lookup::Methods(search.methods),
            get => Lookup::Route(get),
        }
    }

    fn visit<S: AsRef<str>>(&self, at: usize, path: &[S], search: &mut Search) {
        let node = &self.nodes[at];
        if node.first >= search.best {
            return;
        }
        let Some((segment, path)) = path.split_first() else {
            return search.consider(&node.ends);
        };
        let segment = segment.as_ref();
        search.consider(&node.rests);
        if let Ok(found) = node.search(segment, self.case_sensitive) {
            self.visit(node.literals[found].1, path, search);
        }
        for (other, child) in &node.others {
            if other.values(segment, self.case_sensitive).is_some() {
                self.visit(*child, path, search);
            }
        }
    }
}

impl Node {
    /// Where `segment` is among the literals, or where it would be.
    fn search(&self, segment: &str, case_sensitive: bool) -> Result<usize, usize> {
        self.literals.binary_search_by(|(literal, _)| {
            literal.len().cmp(&segment.len()).then_with(|| {
                if case_sensitive {
                    literal.as_str().cmp(segment)
                } else {
                    compare_lowercase(literal, segment)
                }
            })
        })
    }
}

/// Compares `lower` with `text` in lower case.
fn compare_lowercase(lower: &str, text: &str) -> Ordering {
    lower.bytes().cmp(text.bytes().map(|byte| byte.to_ascii_lowercase()))
}

/// The state of one lookup.
struct Search {
    method: Method,
    /// the first route that takes the method
    best: u32,
    /// the first route that takes `GET`, when the method is `HEAD`
    get: u32,
    /// the methods of all matching routes; complete when there is no `best`
    methods: MethodSet,
}

impl Search {
    fn consider(&mut self, ends: &[End]) {
        for end in ends {
            self.methods |= end.methods;
            if end.methods.contains(self.method) {
                self.best = self.best.min(end.route);
            } else if self.method == Method::Head && end.methods.contains(Method::Get) {
                self.get = self.get.min(end.route);
            }
        }
    }
}
