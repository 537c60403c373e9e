//! The segment tree: all routes of a router, looked up together.
//!
//! A node stands for the segments that lead to it, so a search visits each node at most once, and each visit looks at
//! one segment of the path: the cost of a lookup is at most (nodes of the tree) x (length of that segment) x (longest
//! literal inside a mixed segment), for any path. The depth of recursion is at most that of the deepest pattern.

use crate::search::{End, Search};
use crate::segment::Segment;
use std::cmp::Ordering;

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

impl Tree {
    pub(crate) fn new(case_sensitive: bool) -> Tree {
        Tree { nodes: vec![Node::new(u32::MAX)], case_sensitive }
    }

    /// Adds a route, after all those added before. Literals are in lower case unless the tree is case-sensitive.
    pub(crate) fn insert(&mut self, segments: &[Segment], end: End) {
        let mut at = 0;
        self.nodes[at].first = self.nodes[at].first.min(end.route);
        for segment in segments {
            let fresh = self.nodes.len();
            let node = &mut self.nodes[at];
            at = match segment {
                Segment::Rest => return node.rests.push(end),
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
                self.nodes.push(Node::new(end.route));
            }
        }
        self.nodes[at].ends.push(end);
    }

    /// Shows `search` the routes that match `path`, given as its decoded segments.
    pub(crate) fn look<S: AsRef<str>>(&self, path: &[S], search: &mut Search) {
        self.visit(0, path, search);
    }

    fn visit<S: AsRef<str>>(&self, at: usize, path: &[S], search: &mut Search) {
        let node = &self.nodes[at];
        if !search.wants(node.first) {
            return;
        }
        let Some((segment, path)) = path.split_first() else {
            return search.consider(&node.ends, false);
        };
        let segment = segment.as_ref();
        search.consider(&node.rests, true);
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
