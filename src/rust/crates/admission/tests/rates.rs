//! The three ways to count requests against models that remember every request.

use admission::rate::{Algorithm, Bucket, Rate};
use proptest::prelude::*;

/// What has passed: times and costs.
type Passed = Vec<(u64, u64)>;

/// Whether a request may pass, by what has passed before it. `origin` is the beginning of the windows.
fn may_pass(
    algorithm: Algorithm,
    capacity: u64,
    window: u64,
    passed: &Passed,
    origin: &mut u64,
    now: u64,
    cost: u64,
) -> bool {
    let within = |from: u64, to: u64| -> u64 {
        passed.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, cost)| cost).sum()
    };
    match algorithm {
        Algorithm::FixedWindow => {
            if passed.is_empty() || now >= *origin + window {
                *origin = now;
            }
            within(*origin, now + 1) + cost <= capacity
        }
        Algorithm::SlidingWindow => {
            // windows lie side by side for as long as two in a row are not empty
            let number = (now - *origin) / window;
            let begins = *origin + number * window;
            let (mut current, mut previous) = (within(begins, now + 1), within(begins.saturating_sub(window), begins));
            let mut begins = begins;
            if number == 0 {
                previous = 0;
            }
            if current + previous == 0 {
                (current, previous, begins) = (0, 0, now);
            }
            *origin = if previous > 0 { begins - window } else { begins };
            (current + cost) * window + previous * (begins + window - now) <= capacity * window
        }
        // what has passed since any request, that included, is no more than a full bucket and what came since
        Algorithm::TokenBucket => passed
            .iter()
            .map(|(at, _)| *at)
            .chain([now])
            .all(|since| (within(since, now + 1) + cost) * window <= capacity * window + capacity * (now - since)),
    }
}

fn algorithm() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(vec![Algorithm::SlidingWindow, Algorithm::FixedWindow, Algorithm::TokenBucket])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn they_agree_with_models_that_remember_all(
        algorithm in algorithm(),
        capacity in 1u64..8,
        window in 1u64..60,
        steps in prop::collection::vec((prop_oneof![3 => 0u64..4, 1 => 0u64..150], 1u64..4), 1..80),
    ) {
        let rate = Rate::new(algorithm, capacity, window).unwrap();
        let (mut bucket, mut passed, mut now, mut origin) = (Bucket::default(), Passed::new(), 1, 0);
        for (pause, cost) in steps {
            now += pause;
            let cost = cost.min(capacity);
            let expected = may_pass(algorithm, capacity, window, &passed, &mut origin, now, cost);
            match rate.take(bucket, now, cost) {
                Ok((taken, standing)) => {
                    prop_assert!(expected, "{:?} passes at {} after {:?}", cost, now, passed);
                    passed.push((now, cost));
                    bucket = taken;
                    prop_assert!(standing.reset <= window);
                    // what is said to remain passes, and no more
                    if standing.remaining > 0 {
                        prop_assert!(rate.take(bucket, now, standing.remaining).is_ok());
                    }
                    if standing.remaining < capacity {
                        prop_assert!(rate.take(bucket, now, standing.remaining + 1).is_err());
                    }
                }
                Err(refused) => {
                    prop_assert!(!expected, "{:?} is refused at {} after {:?}", cost, now, passed);
                    // the time to try again is the first at which it passes
                    prop_assert!(refused.retry > 0);
                    prop_assert!(rate.take(bucket, now + refused.retry, cost).is_ok());
                    prop_assert!(rate.take(bucket, now + refused.retry - 1, cost).is_err());
                }
            }
            prop_assert_eq!(rate.usage(bucket, now + 2 * window + 1), 0);
        }
    }

    #[test]
    fn what_is_given_back_was_never_taken(
        algorithm in algorithm(),
        capacity in 1u64..8,
        window in 1u64..60,
        before in prop::collection::vec((0u64..20, 1u64..4), 0..20),
        (cost, held, after) in (1u64..4, 0u64..100, 0u64..100),
    ) {
        let rate = Rate::new(algorithm, capacity, window).unwrap();
        let (mut bucket, mut now) = (Bucket::default(), 1);
        for (pause, cost) in before {
            now += pause;
            bucket = rate.take(bucket, now, cost).map_or(bucket, |(taken, _)| taken);
        }
        let Ok((taken, _)) = rate.take(bucket, now, cost) else { return Ok(()) };
        // what a window has taken can be given back in that one; to a token bucket, at any time
        let later = if algorithm == Algorithm::TokenBucket { now + held } else { now };
        let back = rate.give_back(taken, later, cost);
        prop_assert_eq!(rate.usage(back, later + after), rate.usage(bucket, later + after));
    }

    #[test]
    fn requests_under_way_use_a_token_bucket_and_those_given_back_do_not(
        capacity in 1u64..8,
        window in 1u64..60,
        // what happens: a request begins, or ends and counts, or does not
        steps in prop::collection::vec((prop_oneof![3 => 0u64..4, 1 => 0u64..150], 0u32..5), 1..80),
    ) {
        let rate = Rate::new(Algorithm::TokenBucket, capacity, window).unwrap();
        let (mut bucket, mut now, mut under_way, mut counted) = (Bucket::default(), 1, 0, 0);
        for (pause, step) in steps {
            now += pause;
            match (step, under_way) {
                (3, 1..) => (under_way, counted) = (under_way - 1, counted + 1),
                (4, 1..) => {
                    under_way -= 1;
                    bucket = rate.give_back(bucket, now, 1);
                }
                _ => if let Ok((taken, _)) = rate.take(bucket, now, 1) {
                    under_way += 1;
                    bucket = taken;
                },
            }
            let both = (under_way + counted) * window;
            prop_assert!(both <= capacity * window + capacity * (now - 1), "more than ever was there");
            prop_assert!(rate.usage(bucket, now) <= both, "what was given back counts");
        }
    }
}
