//! Times of many requests in little memory: counted in steps of at most one in 128 of their size.

/// Steps between a power of two and the next, as a power of two.
const BITS: u32 = 7;
const STEPS: usize = 1 << BITS;

/// How often which time was measured, in microseconds.
#[derive(Debug)]
pub(crate) struct Latencies {
    counts: Vec<u64>,
    total: u64,
    longest: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Latencies { counts: vec![0; STEPS * (64 - BITS as usize + 1)], total: 0, longest: 0 }
    }
}

impl Latencies {
    /// One more.
    pub(crate) fn add(&mut self, micros: u64) {
        self.counts[place(micros)] += 1;
        self.total += 1;
        self.longest = self.longest.max(micros);
    }

    /// Those of another one, too.
    pub(crate) fn join(&mut self, other: &Latencies) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
    }

    /// How many there are.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The longest.
    pub(crate) fn longest(&self) -> u64 {
        self.longest
    }

    /// The time that this part of them did not exceed, 0 to 1; 0 without any.
    pub(crate) fn quantile(&self, part: f64) -> u64 {
        let wanted = ((self.total as f64 * part).ceil() as u64).max(1);
        let mut seen = 0;
        for (place, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return most_of(place).min(self.longest);
            }
        }
        self.longest
    }
}

/// The step that a time is in.
fn place(micros: u64) -> usize {
    if micros < STEPS as u64 {
        return micros as usize;
    }
    let shift = 63 - micros.leading_zeros() - BITS;
    (shift as usize + 1) * STEPS + (micros >> shift) as usize - STEPS
}

/// The longest time in a step.
fn most_of(place: usize) -> u64 {
    if place < STEPS {
        return place as u64;
    }
    let shift = (place / STEPS - 1) as u32;
    let first = ((place % STEPS + STEPS) as u64) << shift;
    first + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_within_one_in_a_hundred() {
        let mut latencies = Latencies::default();
        assert_eq!((latencies.quantile(0.5), latencies.total()), (0, 0));
        (1..=100_000).for_each(|micros| latencies.add(micros));
        for (part, right) in [(0.5, 50_000.0), (0.9, 90_000.0), (0.99, 99_000.0), (1.0, 100_000.0)] {
            let measured = latencies.quantile(part) as f64;
            assert!((measured - right).abs() <= right / 100.0, "{part}: {measured}");
        }
        let mut both = Latencies::default();
        both.join(&latencies);
        both.add(7_000_000);
        assert_eq!((both.total(), both.longest(), both.quantile(1.0)), (100_001, 7_000_000, 7_000_000));
    }

    #[test]
    fn every_time_has_a_place() {
        for micros in [0, 1, 127, 128, 129, 255, 256, 1 << 20, u64::from(u32::MAX), u64::MAX] {
            let most = most_of(place(micros));
            assert!(most >= micros && most - micros <= micros / STEPS as u64, "{micros}: {most}");
        }
    }
}
