//! Which traces are recorded that begin here, or go on: head sampling, as the variables `OTEL_TRACES_SAMPLER` and
//! `OTEL_TRACES_SAMPLER_ARG` of OpenTelemetry say. The server passes them on to its workers, so that both decide the
//! same.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampler {
    /// whether a trace that the caller has begun is recorded if the caller records it
    follows_caller: bool,
    /// of other traces, the part that is recorded: 0 to 1
    share: f64,
}

/// What OpenTelemetry has without variables, and drover for words that it does not know.
const USUAL: Sampler = Sampler { follows_caller: true, share: 1.0 };

// of this process; written when a server or worker starts, and read for each request
static FOLLOWS_CALLER: AtomicBool = AtomicBool::new(USUAL.follows_caller);
static SHARE: AtomicU64 = AtomicU64::new(USUAL.share.to_bits());

impl Sampler {
    /// The one of these words: the sampler's name, and its argument.
    ///
    /// # Errors
    /// A text that says what is wrong with them, and what would be right.
    pub fn named(name: &str, argument: Option<&str>) -> Result<Sampler, String> {
        let (follows_caller, kind) = match name.strip_prefix("parentbased_") {
            Some(kind) => (true, kind),
            None => (false, name),
        };
        let share = match kind {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => {
                let given = argument.unwrap_or("1").trim();
                given.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| {
                    format!("OTEL_TRACES_SAMPLER_ARG={given}: it must be a number from 0 to 1, the part of traces")
                })?
            }
            _ => {
                return Err(format!(
                    "OTEL_TRACES_SAMPLER={name}: it must be always_on, always_off or traceidratio, or one of these \
                     behind parentbased_"
                ))
            }
        };
        Ok(Sampler { follows_caller, share })
    }

    /// The one of these variables.
    ///
    /// # Errors
    /// As [`Sampler::named`].
    pub fn of_variables(variables: &BTreeMap<String, String>) -> Result<Sampler, String> {
        let variable = |name| variables.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
        match variable("OTEL_TRACES_SAMPLER") {
            Some(name) => Sampler::named(name, variable("OTEL_TRACES_SAMPLER_ARG")),
            None => Ok(USUAL),
        }
    }

    /// From now on, traces of this process are sampled so. Variables that are wrong are as if there were none.
    ///
    /// # Errors
    /// As [`Sampler::named`].
    pub fn install(variables: &BTreeMap<String, String>) -> Result<(), String> {
        let found = Sampler::of_variables(variables);
        let sampler = *found.as_ref().unwrap_or(&USUAL);
        FOLLOWS_CALLER.store(sampler.follows_caller, Relaxed);
        SHARE.store(sampler.share.to_bits(), Relaxed);
        found.map(drop)
    }

    /// The one that was installed last.
    pub(crate) fn here() -> Sampler {
        Sampler { follows_caller: FOLLOWS_CALLER.load(Relaxed), share: f64::from_bits(SHARE.load(Relaxed)) }
    }

    /// Whether a trace is recorded: `caller` says whether the caller records it, `random` is a number that looks
    /// random, the same for every server and worker that decides on this trace.
    pub(crate) fn records(self, caller: Option<bool>, random: u64) -> bool {
        match caller {
            Some(recorded) if self.follows_caller => recorded,
            _ => self.share >= 1.0 || (random as f64) < self.share * u64::MAX as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samplers_have_the_names_of_opentelemetry() {
        let decides = |name: &str, argument| {
            let sampler = Sampler::named(name, argument).unwrap();
            [(None, 0), (None, u64::MAX / 2), (Some(true), u64::MAX / 2), (Some(false), 0)]
                .map(|(caller, random)| sampler.records(caller, random))
        };
        assert_eq!(decides("always_on", None), [true, true, true, true]);
        assert_eq!(decides("always_off", None), [false; 4]);
        assert_eq!(decides("traceidratio", Some("0.25")), [true, false, false, true]);
        assert_eq!(decides("parentbased_always_on", None), [true, true, true, false]);
        assert_eq!(decides("parentbased_always_off", None), [false, false, true, false]);
        assert_eq!(decides("parentbased_traceidratio", Some("0.25")), [true, false, true, false]);
        assert_eq!(decides("parentbased_traceidratio", None), [true, true, true, false]);
        for (name, argument) in [("jaeger_remote", None), ("traceidratio", Some("2")), ("traceidratio", Some("x"))] {
            assert!(Sampler::named(name, argument).is_err());
        }
    }
}
