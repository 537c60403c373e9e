//! Pools of workers that routes name, as the settings say how many workers they have.

use crate::options::AUTO;
use crate::PoolOptions;

/// What is right.
const RIGHT: &str = "NAME=WORKERS, as in gpu=1, fits=0-2 or fits=0-2,max_rss=8GB";
/// Longest name.
const LONGEST: usize = 64;

impl PoolOptions {
    /// The pools that are spoken of, with how many workers they have. Those that make no sense are left out: see
    /// [`PoolOptions::check`].
    pub(crate) fn named_pools(&self) -> impl Iterator<Item = (String, PoolOptions)> + '_ {
        self.pools.iter().filter_map(|text| self.read(text).ok())
    }

    /// The options of the pool of this name: one worker where nothing is said of it. An empty one is that of routes
    /// without a pool.
    pub(crate) fn of_pool(&self, name: &str) -> PoolOptions {
        if name.is_empty() {
            return self.clone();
        }
        let said = self.named_pools().find(|(known, _)| known == name);
        said.map_or_else(|| self.with_workers(1, 1), |(_, options)| options)
    }

    /// Other bounds for the number of workers in the pool of this name, or in that of routes without one.
    pub(crate) fn set_workers(&mut self, name: &str, n_min: usize, n_max: usize) {
        if name.is_empty() {
            (self.n_min, self.n_max) = (n_min, n_max);
            return;
        }
        let PoolOptions { max_rss, .. } = self.of_pool(name);
        self.pools.retain(|text| text.split_once('=').is_none_or(|(known, _)| known.trim() != name));
        self.pools.push(format!("{name}={},max_rss={max_rss}", self.with_workers(n_min, n_max).workers()));
    }

    /// Whether the texts about pools make sense.
    ///
    /// # Errors
    /// A text that names what does not, and what would be right.
    pub(crate) fn check_pools(&self) -> Result<(), String> {
        let mut names = Vec::new();
        for text in &self.pools {
            let (name, _) = self.read(text)?;
            if names.contains(&name) {
                return Err(format!("pools must name each pool once, and names {name} twice"));
            }
            names.push(name);
        }
        Ok(())
    }

    /// The same, for so many workers, of one pool.
    pub(crate) fn with_workers(&self, n_min: usize, n_max: usize) -> PoolOptions {
        PoolOptions { n_min, n_max, pools: Vec::new(), ..self.clone() }
    }

    fn read(&self, text: &str) -> Result<(String, PoolOptions), String> {
        let wrong = || format!("pools must be {RIGHT}, not {text:?}");
        let (name, rest) = text.split_once('=').ok_or_else(wrong)?;
        let name = name.trim();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > LONGEST || !name.chars().all(fits) {
            return Err(wrong());
        }
        let mut parts = rest.split(',').map(str::trim);
        let (n_min, n_max) = workers(parts.next().unwrap_or_default()).ok_or_else(wrong)?;
        let mut options = self.with_workers(n_min, n_max);
        for part in parts {
            options.max_rss = part.strip_prefix("max_rss=").and_then(admission::units::bytes).ok_or_else(wrong)?;
        }
        options.check()?;
        Ok((name.to_owned(), options))
    }
}

fn workers(text: &str) -> Option<(usize, usize)> {
    if text == "auto" {
        return Some((1, AUTO));
    }
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    let (least, most) = (least.parse().ok()?, most.parse().ok()?);
    (most >= 1 && most >= least).then_some((least, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pools: &[&str]) -> PoolOptions {
        PoolOptions { pools: pools.iter().map(|text| (*text).to_owned()).collect(), ..PoolOptions::default() }
    }

    #[test]
    fn a_pool_has_the_workers_that_are_said_or_one() {
        let options =
            PoolOptions { n_min: 4, n_max: 8, max_rss: 7, ..of(&["gpu=0-2, max_rss=9GB", "fits=auto", "x=3"]) };
        let sizes = |name: &str| {
            let pool = options.of_pool(name);
            (pool.n_min, pool.n_max, pool.max_rss)
        };
        assert_eq!(
            [sizes("gpu"), sizes("fits"), sizes("x"), sizes("other")],
            [(0, 2, 9_000_000_000), (1, AUTO, 7), (3, 3, 7), (1, 1, 7)]
        );
        assert_eq!(options.check_pools(), Ok(()));
        assert_eq!(options.named_pools().count(), 3);
    }

    #[test]
    fn a_pool_gets_other_bounds_and_keeps_the_rest() {
        let mut options = of(&["gpu=1,max_rss=9GB", "fits=2"]);
        let set = |options: &mut PoolOptions, name: &str, n_min, n_max| {
            options.set_workers(name, n_min, n_max);
            let pool = options.of_pool(name);
            (pool.n_min, pool.n_max, pool.max_rss)
        };
        assert_eq!(set(&mut options, "gpu", 0, 3), (0, 3, 9_000_000_000));
        assert_eq!(set(&mut options, "gpu", 1, AUTO), (1, AUTO, 9_000_000_000));
        assert_eq!(set(&mut options, "new", 2, 2), (2, 2, 0));
        assert_eq!(set(&mut options, "", 5, 6), (5, 6, 0));
        assert_eq!((options.pools.len(), options.of_pool("fits").n_min, options.check_pools()), (3, 2, Ok(())));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for wrong in ["gpu", "=1", "gpu=", "gpu=0", "gpu=2-1", "gpu=many", "g p=1", "gpu=1,max_rss=much", "gpu=1,x=2"] {
            assert!(of(&[wrong]).check_pools().unwrap_err().starts_with("pools must be NAME=WORKERS"), "{wrong}");
        }
        assert!(of(&["gpu=2000"]).check_pools().unwrap_err().starts_with("n_max must be at most"));
        assert_eq!(of(&["a=1", "a=2"]).check_pools().unwrap_err(), "pools must name each pool once, and names a twice");
    }
}
