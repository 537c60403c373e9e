//! Tables for a terminal, and as JSON for programs. Names of an app stay within their line.

use crate::objects::Objects;
use crate::table::Tables;
use std::fmt::Write as _;

/// Rows of each table that are shown; JSON has them all.
const ROUTES: usize = 30;
const FUNCTIONS: usize = 20;
const LINES: usize = 10;
/// Longest text of a cell, in characters.
const LONGEST: usize = 60;

impl Tables {
    /// As JSON.
    pub fn json(&self) -> String {
        // structs of numbers and strings can always be written
        sonic_rs::to_string(self).unwrap_or_default()
    }

    /// For people.
    pub fn text(&self) -> String {
        let cpu = self.samples as f64 * self.interval;
        let mut text = format!("{} samples: {cpu:.2} s of CPU time within {:.1} s\n", self.samples, self.seconds);
        if self.left_out > 0 {
            let _ = writeln!(text, "{} more are of rare stacks, and left out", self.left_out);
        }
        let percent = |n: u64| format!("{:.1} %", 100.0 * n as f64 / self.samples.max(1) as f64);
        let routes = self.routes.iter().take(ROUTES).map(|r| {
            let per_request = if r.requests > 0 { 1000.0 * r.seconds / r.requests as f64 } else { 0.0 };
            let numbers = [percent(r.samples), r.requests.to_string(), format!("{:.2} s", r.seconds)];
            [&numbers[..], &[format!("{per_request:.2} ms"), shown(&r.route)]].concat()
        });
        text += &table(&["CPU", "requests", "handler", "each", "route"], 4, routes);
        let functions = self.functions.iter().take(FUNCTIONS).filter(|f| f.total > 0);
        let functions = functions.map(|f| vec![percent(f.own), percent(f.total), shown(&f.function), shown(&f.route)]);
        text += &table(&["self", "total", "function", "route"], 2, functions);
        let lines = self.lines.iter().take(LINES).map(|l| vec![percent(l.samples), shown(&l.line)]);
        text += &table(&["CPU", "line"], 1, lines);
        text
    }
}

impl Objects {
    /// As JSON.
    pub fn json(&self) -> String {
        // the same as above
        sonic_rs::to_string(&self.0).unwrap_or_default()
    }

    /// For people.
    pub fn text(&self) -> String {
        let found = &self.0;
        let mut text =
            format!("{} in {} objects that handlers and the session reach\n", bytes(found.total), found.objects);
        if !found.whole {
            text += "the time was over before all had been looked at: --seconds gives more\n";
        }
        let rows = (0..found.name.len()).map(|i| {
            vec![bytes(found.bytes[i]), shown(&found.name[i]), shown(&found.class[i]), shown(&found.r#where[i])]
        });
        text + &table(&["size", "variable", "class", "where"], 1, rows)
    }
}

fn bytes(n: f64) -> String {
    let (unit, name) =
        [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")].into_iter().find(|(unit, _)| n >= *unit).unwrap_or((1.0, "B"));
    format!("{:.1} {name}", n / unit)
}

/// What an app has named, in one line of a terminal, which it does not control.
fn shown(name: &str) -> String {
    let is_text = |c: char| !c.is_control() && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut text: String = name.chars().map(|c| if is_text(c) { c } else { '\u{fffd}' }).collect();
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('\u{2026}');
    }
    text
}

/// Rows below their heads, the first columns, which are numbers, to the right; nothing without rows.
fn table(heads: &[&str], numbers: usize, rows: impl Iterator<Item = Vec<String>>) -> String {
    let heads = heads.iter().map(|&head| head.to_owned()).collect();
    let rows: Vec<Vec<String>> = [heads].into_iter().chain(rows).collect();
    if rows.len() == 1 {
        return String::new();
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = "\n".to_owned();
    for row in &rows {
        let cells = row.iter().enumerate().map(|(column, cell)| match column < numbers {
            true => format!("{cell:>0$}", widths[column]),
            false => format!("{cell:<0$}", widths[column]),
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "  {}", line.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Samples;

    #[test]
    fn names_do_not_leave_their_line() {
        let mut samples = Samples::default();
        let report = r#"{"interval":0.01,"seconds":2,"files":[],"stacks":["\"f\u001b[31m\u202e\" \"GET /\" "],
            "counts":[4],"left_out":0,"routes":["GET /"],"requests":[2],"spent":[0.05]}"#;
        samples.add(report).unwrap();
        let text = samples.tables().text();
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
        assert!(text.contains("100.0 %         2   0.05 s  25.00 ms  GET /\n"), "{text}");
        assert!(shown(&"x".repeat(100)).chars().count() == LONGEST + 1);
    }
}
