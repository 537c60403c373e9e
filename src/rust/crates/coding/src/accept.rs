//! What `Accept-Encoding` asks for (RFC 9110 section 12.5.3).

use crate::Coding;
use kept::Latest;
use smallvec::SmallVec;
use std::cell::RefCell;

/// Those of the codings `offered`, the preferred one first, that a client accepts and does not like less than no
/// coding: its best first, and of those that it likes the same in the order of the offer. `values` are those of its
/// fields.
///
/// Without a field, or with an element that is malformed, nothing is packed for it: every client understands that.
pub fn accepted<'v>(mut values: impl Iterator<Item = &'v [u8]>, offered: &[Coding]) -> SmallVec<[Coding; 4]> {
    let Some(first) = values.next() else { return SmallVec::new() };
    let mut weights = BEFORE.with_borrow_mut(|before| before.of(first, Weights::of));
    values.for_each(|value| weights.add(value));
    weights.best(offered)
}

thread_local! {
    /// what the client before has sent
    static BEFORE: RefCell<Latest<Weights>> = const { RefCell::new(Latest::new()) };
}

/// How much a client likes codings: qualities in thousandths, of those that it names.
#[derive(Debug, Default, Clone, Copy)]
struct Weights {
    named: [Option<u16>; Coding::ALL.len()],
    identity: Option<u16>,
    any: Option<u16>,
}

impl Weights {
    fn of(value: &[u8]) -> Self {
        let mut weights = Weights::default();
        weights.add(value);
        weights
    }

    /// Those of one more field.
    fn add(&mut self, value: &[u8]) {
        let Ok(value) = std::str::from_utf8(value) else { return };
        for (name, quality) in value.split(',').filter_map(preference) {
            match Coding::named(name) {
                Some(coding) => self.named[coding as usize] = Some(quality),
                None if name == "*" => self.any = Some(quality),
                None if name.eq_ignore_ascii_case("identity") => self.identity = Some(quality),
                None => {}
            }
        }
    }

    /// See [`accepted`].
    fn best(&self, offered: &[Coding]) -> SmallVec<[Coding; 4]> {
        let quality = |coding: Coding| self.named[coding as usize].or(self.any).unwrap_or(0);
        let plain = self.identity.unwrap_or(0);
        let mut best: SmallVec<[Coding; 4]> =
            offered.iter().copied().filter(|coding| quality(*coding) > 0 && quality(*coding) >= plain).collect();
        // stable
        best.sort_by_key(|coding| u16::MAX - quality(*coding));
        best
    }
}

/// One element of the list: `gzip`, `gzip;q=0.5`. `None` when it is malformed.
fn preference(element: &str) -> Option<(&str, u16)> {
    let Some((name, parameter)) = element.split_once(';') else {
        return Some((element.trim(), 1000));
    };
    let (key, value) = parameter.split_once('=')?;
    let quality = thousandths(value.trim()).filter(|_| key.trim().eq_ignore_ascii_case("q"))?;
    Some((name.trim(), quality))
}

/// `qvalue` of RFC 9110 section 12.4.2: 0 to 1 with at most three decimals.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if decimals.len() > 3 || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value = match whole {
        "0" | "1" => format!("{whole}{decimals:0<3}").parse().ok()?,
        _ => return None,
    };
    (value <= 1000).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use Coding::{Brotli, Gzip, Zstd};

    const OFFERED: [Coding; 3] = [Brotli, Zstd, Gzip];

    fn of(values: &[&str]) -> Vec<Coding> {
        accepted(values.iter().map(|value| value.as_bytes()), &OFFERED).to_vec()
    }

    #[test]
    fn accepted_codings_in_order() {
        let table: [(&[&str], &[Coding]); 24] = [
            (&[], &[]),
            (&[""], &[]),
            (&["gzip, deflate, br, zstd"], &[Brotli, Zstd, Gzip]),
            (&["gzip"], &[Gzip]),
            (&["GZip"], &[Gzip]),
            (&["x-gzip"], &[Gzip]),
            (&["gzip", "br"], &[Brotli, Gzip]),
            (&["br;q=0.5, gzip;q=0.8"], &[Gzip, Brotli]),
            (&["br;q=0, gzip ; q=1.000"], &[Gzip]),
            (&["*"], &[Brotli, Zstd, Gzip]),
            (&["*;q=0, gzip;q=0.001"], &[Gzip]),
            (&["br;q=0, *"], &[Zstd, Gzip]),
            (&["identity, gzip;q=0.9, br"], &[Brotli]),
            (&["identity;q=0.5, gzip;q=0.9"], &[Gzip]),
            (&["br;q=2, gzip;q=0.1234, zstd;level=3"], &[]),
            (&["deflate, compress"], &[]),
            (&["identity;q=0"], &[]),
            (&["identity;q=0, *;q=0.1"], &[Brotli, Zstd, Gzip]),
            (&["*;q=0"], &[]),
            (&["gzip;q=0"], &[]),
            (&["gzip;q=0, gzip"], &[Gzip]),
            (&["gzip;q=.5, br;q=1.001, zstd;q=-1"], &[]),
            (&["gzip;;q=1, zstd;q"], &[]),
            (&[",, gzip ,"], &[Gzip]),
        ];
        for (values, codings) in table {
            assert_eq!(of(values), codings, "{values:?}");
        }
        assert!(accepted([&b"gzip\xff"[..]].into_iter(), &OFFERED).is_empty(), "no text");
        assert_eq!(accepted([&b"*"[..]].into_iter(), &[Gzip, Zstd])[..], [Gzip, Zstd], "the order of the offer");
    }

    proptest! {
        /// Against the RFC's rules as written, without sorting and without a table.
        #[test]
        fn what_is_chosen_is_what_a_simple_model_chooses(
            weights in proptest::collection::vec((0usize..6, 0u16..=10), 0..7)
        ) {
            const NAMES: [&str; 6] = ["br", "zstd", "gzip", "identity", "*", "x-unknown"];
            let tenths = |q: u16| if q == 10 { "1".to_owned() } else { format!("0.{q}") };
            let text: Vec<_> = weights.iter().map(|(name, q)| format!("{};q={}", NAMES[*name], tenths(*q))).collect();
            let last = |name: &str| weights.iter().rev().find(|(at, _)| NAMES[*at] == name).map(|(_, q)| *q);
            let quality = |name: &str| last(name).or(last("*")).unwrap_or(0);
            let first = of(&[&text.join(", ")]).first().copied();
            let most = ["br", "zstd", "gzip"].map(quality).into_iter().max().unwrap_or(0);
            if most == 0 || most < last("identity").unwrap_or(0) {
                prop_assert_eq!(first, None);
            } else {
                let chosen = first.map(Coding::name);
                prop_assert_eq!(chosen, ["br", "zstd", "gzip"].into_iter().find(|name| quality(name) == most));
            }
        }

        #[test]
        fn any_bytes_are_survived(value in proptest::collection::vec(any::<u8>(), 0..64)) {
            accepted([&value[..]].into_iter(), &OFFERED);
        }
    }
}
