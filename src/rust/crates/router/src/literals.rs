//! The short way: paths that only patterns without placeholders match, as sent, in one hash table.
//!
//! A path is here only when no pattern with a placeholder matches it, so what is found here is all there is, and the
//! order of registration between the two kinds never matters. A path in another spelling (with escapes) takes the way
//! through the tree, to the same answer.

use crate::search::End;
use std::collections::HashMap;

/// Literal paths and their routes.
#[derive(Debug)]
pub(crate) struct Literals {
    /// by a hash that is equal for all spellings of a path; texts that share one by chance stand in a row
    paths: HashMap<u64, Vec<(String, Vec<End>)>>,
    case_sensitive: bool,
}

impl Literals {
    pub(crate) fn new(case_sensitive: bool) -> Literals {
        Literals { paths: HashMap::new(), case_sensitive }
    }

    /// Adds a route for exactly `path`.
    pub(crate) fn insert(&mut self, path: String, end: End) {
        let row = self.paths.entry(hash(&path)).or_default();
        match row.iter_mut().find(|(known, _)| same(known, &path, self.case_sensitive)) {
            Some((_, ends)) => ends.push(end),
            None => row.push((path, vec![end])),
        }
    }

    /// All routes for `path`, when it is here.
    pub(crate) fn get(&self, path: &str) -> Option<&[End]> {
        let row = self.paths.get(&hash(path))?;
        row.iter().find(|(known, _)| same(known, path, self.case_sensitive)).map(|(_, ends)| &ends[..])
    }
}

fn same(known: &str, path: &str, case_sensitive: bool) -> bool {
    if case_sensitive {
        known == path
    } else {
        known.eq_ignore_ascii_case(path)
    }
}

/// Equal for texts that differ in the case of ASCII letters only. Not seeded: clients never put a path in the table.
fn hash(path: &str) -> u64 {
    // the bit that tells capitals from small letters, set in each of eight bytes
    const CASE: u64 = 0x2020_2020_2020_2020;
    // an odd number near 2^64 divided by the golden ratio: spreads neighbouring values over the high bits
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = path.len() as u64;
    for chunk in path.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = ((u64::from_le_bytes(word) | CASE) ^ hash.rotate_left(5)).wrapping_mul(SPREAD);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MethodSet;

    fn end(route: u32) -> End {
        End { route, methods: MethodSet::ANY }
    }

    #[test]
    fn paths_are_found_again_with_all_their_routes() {
        let mut literals = Literals::new(false);
        for route in 0..1_000 {
            literals.insert(format!("/api/v1/thing{}", route % 500), end(route));
        }
        let routes = |path| literals.get(path).map(|ends| ends.iter().map(|end| end.route).collect::<Vec<_>>());
        assert_eq!(routes("/api/v1/thing7"), Some(vec![7, 507]));
        assert_eq!(routes("/API/v1/Thing7"), Some(vec![7, 507]));
        assert_eq!(routes("/api/v1/thing7/"), None);
        assert_eq!(routes(""), None);
        // these differ in the bit of the case, but are no letters
        assert_eq!(routes("\x0fapi/v1/thing7"), None);
    }

    #[test]
    fn case_counts_when_asked() {
        let mut literals = Literals::new(true);
        literals.insert("/A".into(), end(0));
        literals.insert("/a".into(), end(1));
        assert_eq!(literals.get("/a").unwrap()[0].route, 1);
        assert_eq!(literals.get("/A").unwrap().len(), 1);
    }
}
