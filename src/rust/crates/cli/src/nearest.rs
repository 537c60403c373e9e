//! Which of some names was most likely meant.

/// How many letters of a name may be wrong for it to be a slip of the pen: one in three, at most two.
fn is_slip(distance: usize, name: &str) -> bool {
    distance <= 2 && distance * 3 <= name.len()
}

/// The one of `known` that was most likely meant.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.map(|known| (strsim::damerau_levenshtein(known, name), known));
    scored.filter(|(distance, _)| is_slip(*distance, name)).min().map(|(_, known)| known)
}
