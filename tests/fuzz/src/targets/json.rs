//! JSON: what is accepted is what `serde_json` accepts, within the limits; without simplifying it is the same tree;
//! with it, vectors, matrices and data frames have as many elements as they say. What jsonlite makes of the corpus is
//! compared by `json.R`.
//!
//! Input: flags, then the text.

use crate::input::Input;
use binding::json::fuzzing::{read, Described, Values};
use binding::json::ParseOptions;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// See the module.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let flags = input.byte();
    let max_depth = if flags & 1 == 0 { 64 } else { 3 };
    let max_collisions = if flags & 2 == 0 { usize::MAX } else { 0 };
    let options = ParseOptions { simplify: false, max_depth, max_collisions };
    let plain = read(input.0, &options);
    let simple = read(input.0, &ParseOptions { simplify: true, ..options });
    match (serde_json::from_slice::<Tree>(input.0), plain) {
        (Ok(tree), Ok(plain)) => {
            assert!(depth(&tree) <= max_depth && !has_nul(&tree));
            if let Some(plain) = plain {
                same(&tree, &plain);
            }
        }
        (Err(_), Err(_)) => assert!(simple.is_err()),
        (Ok(tree), Err(error)) => {
            let message = &error.message[..];
            let why = match message {
                _ if message.contains("NUL") => has_nul(&tree),
                _ if message.contains("too deep") => depth(&tree) > max_depth,
                _ => message.contains("collide") && max_collisions == 0,
            };
            assert!(why && simple.is_err(), "refused: {message}");
        }
        (Err(error), Ok(plain)) => panic!("{plain:?} is no JSON: {error}"),
    }
    if let Ok(Some(simple)) = simple {
        sound(&simple);
    }
}

/// What `serde_json` reads, repeated keys and all.
enum Tree {
    Null,
    Bool(bool),
    Int(i32),
    Double(f64),
    Text(String),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl<'d> Deserialize<'d> for Tree {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reading)
    }
}

struct Reading;

impl<'d> Visitor<'d> for Reading {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        // the smallest integer is R's NA
        Ok(i32::try_from(value).ok().filter(|n| *n != i32::MIN).map_or(Tree::Double(value as f64), Tree::Int))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(i32::try_from(value).map_or(Tree::Double(value as f64), Tree::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Double(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'d>>(self, mut elements: A) -> Result<Tree, A::Error> {
        let mut all = Vec::new();
        while let Some(element) = elements.next_element()? {
            all.push(element);
        }
        Ok(Tree::Array(all))
    }

    fn visit_map<A: MapAccess<'d>>(self, mut members: A) -> Result<Tree, A::Error> {
        let mut all = Vec::new();
        while let Some(member) = members.next_entry()? {
            all.push(member);
        }
        Ok(Tree::Object(all))
    }
}

fn children(tree: &Tree) -> Vec<&Tree> {
    match tree {
        Tree::Array(all) => all.iter().collect(),
        Tree::Object(all) => all.iter().map(|(_, value)| value).collect(),
        _ => Vec::new(),
    }
}

fn depth(tree: &Tree) -> u32 {
    let own = u32::from(matches!(tree, Tree::Array(_) | Tree::Object(_)));
    own + children(tree).into_iter().map(depth).max().unwrap_or(0)
}

fn has_nul(tree: &Tree) -> bool {
    let own = match tree {
        Tree::Text(text) => text.contains('\0'),
        Tree::Object(all) => all.iter().any(|(key, _)| key.contains('\0')),
        _ => false,
    };
    own || children(tree).into_iter().any(has_nul)
}

/// Without simplifying all arrays are lists, and each scalar is a vector of one.
fn same(tree: &Tree, node: &Described) {
    assert!(node.dim.is_empty() && node.rows.is_none());
    match (tree, &node.values) {
        (Tree::Null, Values::Null) => {}
        (Tree::Bool(value), Values::Logical(all)) => assert_eq!(all[..], [i32::from(*value)]),
        (Tree::Int(value), Values::Integer(all)) => assert_eq!(all[..], [*value]),
        // a zero with a minus is an integer to jsonlite
        (Tree::Double(value), Values::Integer(all)) => assert!(*value == 0.0 && all[..] == [0]),
        (Tree::Double(value), Values::Double(all)) => assert_eq!(all[..], [*value]),
        (Tree::Text(text), Values::Text(all)) => assert_eq!(all[..], [text.clone()]),
        (Tree::Array(all), Values::List(nodes)) => {
            assert!(node.names.is_none() && all.len() == nodes.len());
            all.iter().zip(nodes).for_each(|(tree, node)| same(tree, node));
        }
        (Tree::Object(all), Values::List(nodes)) => {
            let keys = || all.iter().map(|(key, _)| key);
            assert!(node.names.as_ref().is_some_and(|names| names.iter().eq(keys())) && all.len() == nodes.len());
            all.iter().zip(nodes).for_each(|((_, tree), node)| same(tree, node));
        }
        (_, other) => panic!("{other:?} is of another kind"),
    }
}

/// As many elements as names, extents and rows say.
fn sound(node: &Described) {
    let n = node.values.len();
    assert!(node.names.as_ref().is_none_or(|names| names.len() == n));
    if !node.dim.is_empty() {
        assert_eq!(node.dim.iter().try_fold(1, |n: usize, d| n.checked_mul(usize::try_from(*d).ok()?)), Some(n));
    }
    if let Values::List(all) = &node.values {
        all.iter().for_each(sound);
        if let Some(rows) = node.rows {
            assert!(node.names.is_some());
            for column in all {
                let of_array = column.dim.first().and_then(|d| usize::try_from(*d).ok());
                assert_eq!(column.rows.or(of_array).unwrap_or(column.values.len()), rows);
            }
        }
    }
}
