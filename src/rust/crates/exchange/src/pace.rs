//! What handlers are expected to take, by what they have taken lately.

/// The average after one more handler took so long, where it was `before`. In any unit, of which `slack` are a tenth of
/// a millisecond.
///
/// It follows within some dozen requests. A single pause, as for garbage collection, counts for little, while a handler
/// that has become slow is seen to be by its second request.
pub fn follow(before: u32, took: u32, slack: u32) -> u32 {
    let capped = took.min(before.saturating_mul(8).saturating_add(slack));
    if capped >= before {
        before + (capped - before).div_ceil(8)
    } else {
        before - (before - capped).div_ceil(16)
    }
}
