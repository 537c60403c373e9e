//! Stacks of one or more workers, by route.

use crate::report::Stacks;
use crate::stack::calls;
use std::collections::BTreeMap;

/// Of samples that no handler was in: between requests, in callbacks of promises, in generators of streams.
pub(crate) const NO_ROUTE: &str = "(no route)";
/// The loop that calls handlers, and what is beneath it: R/worker-inspection.R gives it this name.
const BASE: &str = "drover";

/// Samples of R's stack.
#[derive(Debug, Default)]
pub struct Samples {
    /// seconds of CPU time that a sample stands for
    pub interval: f64,
    /// how long samples were taken, of all workers together
    pub seconds: f64,
    /// samples whose stacks were left out of a report
    pub left_out: u64,
    pub(crate) routes: BTreeMap<String, Handled>,
    pub(crate) stacks: Vec<Stack>,
}

/// What was asked of a route.
#[derive(Debug, Default)]
pub(crate) struct Handled {
    /// how often
    pub requests: u64,
    /// seconds that handlers ran
    pub seconds: f64,
}

/// Calls that were found together.
#[derive(Debug)]
pub(crate) struct Stack {
    pub route: String,
    /// the outermost first, beginning within the handler
    pub functions: Vec<String>,
    /// where the innermost was: file and line
    pub at: Option<String>,
    pub count: u64,
}

impl Samples {
    /// Adds what a worker reported.
    ///
    /// # Errors
    /// When that is no such report.
    pub fn add(&mut self, report: &str) -> Result<(), String> {
        let report: Stacks = sonic_rs::from_str(report).map_err(|e| format!("the report cannot be read: {e}"))?;
        let lengths = [report.routes.len(), report.requests.len(), report.spent.len()];
        if report.stacks.len() != report.counts.len() || lengths.iter().any(|&n| n != lengths[0]) {
            return Err("the report cannot be read: its columns are of different lengths".to_owned());
        }
        if !report.interval.is_finite() || report.interval <= 0.0 || !report.seconds.is_finite() {
            return Err("the report cannot be read: its times are no times".to_owned());
        }
        for (line, &count) in report.stacks.iter().zip(&report.counts) {
            self.stacks.push(stack(line, count, &report));
        }
        for ((route, requests), seconds) in report.routes.into_iter().zip(report.requests).zip(report.spent) {
            let handled = self.routes.entry(route).or_default();
            handled.requests += requests;
            handled.seconds += seconds;
        }
        self.interval = report.interval;
        self.seconds += report.seconds;
        self.left_out += report.left_out;
        Ok(())
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.stacks.iter().map(|stack| stack.count).sum()
    }
}

fn stack(line: &str, count: u64, report: &Stacks) -> Stack {
    let mut calls = calls(line);
    let at = calls.iter().find_map(|call| call.at).and_then(|(file, line)| {
        let name = report.files.get(file.checked_sub(1)?)?;
        Some(format!("{name}:{line}"))
    });
    calls.reverse();
    let found = calls.iter().position(|call| report.routes.iter().any(|route| route == call.name));
    let (route, from) = match found {
        Some(found) => (calls[found].name, found + 1),
        None => (NO_ROUTE, usize::from(calls.first().is_some_and(|call| call.name == BASE))),
    };
    let functions = calls[from..].iter().map(|call| call.name.to_owned()).collect();
    Stack { route: route.to_owned(), functions, at, count }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beneath_a_handler_is_left_out() {
        let report = r##"{"interval":0.01,"seconds":2,"files":["app.R"],
            "stacks":["\"sum\" 1#3 \"f\" \"GET /a\" \"drover\" ","\"gc\" \"drover\" ","\"drover\" "],
            "counts":[3,2,1],"left_out":1,"routes":["GET /a"],"requests":[5],"spent":[0.5]}"##;
        let mut samples = Samples::default();
        samples.add(report).unwrap();
        samples.add(report).unwrap();
        let stack = &samples.stacks[0];
        assert_eq!((&*stack.route, &stack.functions[..], stack.count), ("GET /a", &["f".into(), "sum".into()][..], 3));
        assert_eq!(stack.at.as_deref(), Some("app.R:3"));
        assert_eq!((&*samples.stacks[1].route, &samples.stacks[1].functions[..]), (NO_ROUTE, &["gc".to_owned()][..]));
        assert!(samples.stacks[2].functions.is_empty());
        assert_eq!((samples.count(), samples.left_out, samples.routes["GET /a"].requests), (12, 2, 10));
    }

    #[test]
    fn nonsense_is_an_error() {
        let broken = r#"{"interval":0.01,"seconds":2,"files":[],"stacks":["x"],"counts":[],"left_out":0,"routes":[],
            "requests":[],"spent":[]}"#;
        let timeless = broken.replace("[\"x\"]", "[]").replace("0.01", "0");
        for text in ["", "{}", broken, &timeless] {
            assert!(Samples::default().add(text).is_err(), "{text}");
        }
    }
}
