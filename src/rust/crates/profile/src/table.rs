//! What takes the time: routes, functions and lines, by samples.

use crate::samples::Samples;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};

/// See the module. Each table has the largest first.
#[derive(Debug, Serialize)]
pub struct Tables {
    /// samples of R's stack
    pub samples: u64,
    /// samples that are in no table: a report was full
    pub left_out: u64,
    /// seconds of CPU time that a sample stands for
    pub interval: f64,
    /// how long samples were taken, of all workers together
    pub seconds: f64,
    /// one for each route that was asked or that samples are of
    pub routes: Vec<OfRoute>,
    /// one for each function and route
    pub functions: Vec<OfFunction>,
    /// one for each line of source that R was in
    pub lines: Vec<OfLine>,
}

/// A route.
#[derive(Debug, Serialize)]
pub struct OfRoute {
    /// as tracebacks name it: `GET /users/:id`
    pub route: String,
    /// requests that its handler has ended meanwhile
    pub requests: u64,
    /// seconds that its handler ran, by the clock on the wall
    pub seconds: f64,
    /// samples in it
    pub samples: u64,
    /// of all samples, 0 to 1
    pub share: f64,
}

/// A function, as one route uses it.
#[derive(Debug, Serialize)]
pub struct OfFunction {
    /// as it was called
    pub function: String,
    /// of the handler that was under way
    pub route: String,
    /// samples in it, and in nothing that it had called
    pub own: u64,
    /// samples in it and in what it had called
    pub total: u64,
}

/// A line of source.
#[derive(Debug, Serialize)]
pub struct OfLine {
    /// file and number
    pub line: String,
    /// samples in it: what it calls has no source
    pub samples: u64,
}

impl Samples {
    /// The tables.
    pub fn tables(&self) -> Tables {
        let all = self.count();
        let mut routes: BTreeMap<&str, u64> = self.routes.keys().map(|route| (&**route, 0)).collect();
        let mut functions: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
        let mut lines: BTreeMap<&str, u64> = BTreeMap::new();
        for stack in &self.stacks {
            *routes.entry(&stack.route).or_default() += stack.count;
            if let Some(at) = &stack.at {
                *lines.entry(at).or_default() += stack.count;
            }
            // the handler itself, where nothing that it calls was under way
            let inner = stack.functions.last().map_or(&*stack.route, |name| name);
            functions.entry((inner, &stack.route)).or_default().0 += stack.count;
            let mut counted = HashSet::new();
            for name in [&stack.route].into_iter().chain(&stack.functions).filter(|name| counted.insert(*name)) {
                functions.entry((name, &stack.route)).or_default().1 += stack.count;
            }
        }
        let mut routes: Vec<OfRoute> = routes
            .into_iter()
            .map(|(route, samples)| {
                let handled = self.routes.get(route);
                OfRoute {
                    route: route.to_owned(),
                    requests: handled.map_or(0, |handled| handled.requests),
                    seconds: handled.map_or(0.0, |handled| handled.seconds),
                    samples,
                    share: samples as f64 / all.max(1) as f64,
                }
            })
            .collect();
        routes.sort_by(|a, b| b.samples.cmp(&a.samples).then(b.seconds.total_cmp(&a.seconds)));
        let mut functions: Vec<OfFunction> = functions
            .into_iter()
            .map(|((function, route), (own, total))| OfFunction {
                function: function.to_owned(),
                route: route.to_owned(),
                own,
                total,
            })
            .collect();
        functions.sort_by_key(|function| std::cmp::Reverse((function.own, function.total)));
        let mut lines: Vec<OfLine> =
            lines.into_iter().map(|(line, samples)| OfLine { line: line.to_owned(), samples }).collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.samples));
        Tables {
            samples: all,
            left_out: self.left_out,
            interval: self.interval,
            seconds: self.seconds,
            routes,
            functions,
            lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recursion_counts_once_and_own_time_is_that_of_the_innermost() {
        let mut samples = Samples::default();
        let report = r#"{"interval":0.01,"seconds":2,"files":["app.R"],
            "stacks":["1#2 \"f\" \"f\" \"GET /a\" ","\"f\" \"GET /b\" ","\"GET /b\" "],
            "counts":[3,1,2],"left_out":0,"routes":["GET /a","GET /b","GET /c"],"requests":[1,2,9],"spent":[1,2,0.5]}"#;
        samples.add(report).unwrap();
        let tables = samples.tables();
        let row = |f: &OfFunction| (f.function.clone(), f.route.clone(), f.own, f.total);
        let rows: Vec<_> = tables.functions.iter().map(row).collect();
        let expected =
            [("f", "GET /a", 3, 3), ("GET /b", "GET /b", 2, 3), ("f", "GET /b", 1, 1), ("GET /a", "GET /a", 0, 3)];
        assert_eq!(rows, expected.map(|(f, r, own, total)| (f.to_owned(), r.to_owned(), own, total)));
        let shares: Vec<_> = tables.routes.iter().map(|r| (&*r.route, r.samples, r.share)).collect();
        assert_eq!(shares, [("GET /b", 3, 0.5), ("GET /a", 3, 0.5), ("GET /c", 0, 0.0)]);
        assert_eq!((&*tables.lines[0].line, tables.lines[0].samples), ("app.R:2", 3));
    }
}
