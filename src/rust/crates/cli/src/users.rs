//! The names of users, as `/etc/passwd` has them. Not for those that a directory service knows, which no library here
//! asks.

use std::fs;

/// The name of a user; the number where there is no name, which other programs take, too.
pub(crate) fn name(uid: u32) -> String {
    let known = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let line = known
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|line| line.get(2).is_some_and(|number| number.parse() == Ok(uid)));
    line.map_or_else(|| uid.to_string(), |line| line[0].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_a_name_or_a_number() {
        assert_eq!((name(0), name(4_000_000_000)), ("root".into(), "4000000000".into()));
    }
}
