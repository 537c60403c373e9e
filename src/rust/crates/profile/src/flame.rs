//! The flame graph: an SVG without scripts or external resources. Names of the app are escaped as text.

use crate::samples::Samples;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// In pixels.
const WIDTH: f64 = 1200.0;
const ROW: f64 = 18.0;
const HEAD: f64 = 44.0;
/// What is narrower is left out: it could not be seen.
const NARROWEST: f64 = 0.4;
/// A character's width, as the font has it.
const CHARACTER: f64 = 6.7;
/// Deeper calls are left out: R allows some thousand, and no screen shows them.
const DEEPEST: usize = 250;

/// Calls under one another, with how many samples were in each.
#[derive(Default)]
struct Node<'a> {
    count: u64,
    inner: BTreeMap<&'a str, Node<'a>>,
}

impl<'a> Node<'a> {
    fn add(&mut self, names: impl Iterator<Item = &'a str>, count: u64) {
        let mut node = self;
        node.count += count;
        for name in names.take(DEEPEST) {
            node = node.inner.entry(name).or_default();
            node.count += count;
        }
    }

    fn depth(&self) -> usize {
        self.inner.values().map(|node| 1 + node.depth()).max().unwrap_or(0)
    }
}

impl Samples {
    /// The flame graph: routes at the bottom, what they call above; the wider, the more samples. `title` is a line.
    pub fn flame_graph(&self, title: &str) -> String {
        let mut root = Node::default();
        for stack in &self.stacks {
            let names = [&*stack.route].into_iter().chain(stack.functions.iter().map(String::as_str));
            root.add(names, stack.count);
        }
        let height = HEAD + ROW * (root.depth() + 1) as f64 + 8.0;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"100%\" role=\"img\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n\
             <rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>\n<text class=\"head\" x=\"8\" y=\"22\">{title}\
             </text>\n",
            title = escaped(title),
        );
        let all = root.count;
        let mut picture = Picture { svg: &mut svg, all, bottom: height - 8.0 - ROW };
        if all > 0 {
            picture.draw("all", &root, 0, 8.0, (WIDTH - 16.0) / all as f64);
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// Colours by `hue`, so that the page can be light or dark.
const STYLE: &str = ":root{color-scheme:light dark}.page{fill:#fff}text{font:11px ui-monospace,monospace;fill:#111}\
    .head{font-size:14px}rect{stroke:#fff;stroke-width:.6}.r{fill:#7fb2e5}.g{fill:#b9b9b9}.c0{fill:#f7a35c}\
    .c1{fill:#f9b877}.c2{fill:#f4c95d}.c3{fill:#ef8f6b}.c4{fill:#f6d27f}g:hover rect{stroke:#000;stroke-width:1}\
    @media(prefers-color-scheme:dark){.page{fill:#1b1b1b}.head{fill:#eee}rect{stroke:#1b1b1b}}";

struct Picture<'a> {
    svg: &'a mut String,
    all: u64,
    bottom: f64,
}

impl Picture<'_> {
    /// A node from `x` on, and those above it; a sample is so wide.
    fn draw(&mut self, name: &str, node: &Node<'_>, row: usize, x: f64, sample: f64) {
        let width = node.count as f64 * sample;
        if width < NARROWEST {
            return;
        }
        let y = self.bottom - ROW * row as f64;
        let share = 100.0 * node.count as f64 / self.all as f64;
        let class = match (row, name) {
            (0, _) | (_, "<GC>") => "g".to_owned(),
            (1, _) => "r".to_owned(),
            _ => format!("c{}", name.bytes().fold(0u32, |hash, byte| hash.wrapping_mul(31) + u32::from(byte)) % 5),
        };
        let (text, room) = (escaped(name), ((width - 6.0) / CHARACTER).max(0.0) as usize);
        // writing to a string does not fail
        let _ = write!(
            self.svg,
            "<g><title>{text}: {}, {share:.1} %</title><rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.0}\" \
             width=\"{width:.2}\" height=\"{ROW}\" rx=\"1\"/>",
            counted(node.count)
        );
        if room >= 3 {
            let shown = match name.chars().count() {
                n if n > room => escaped(&name.chars().take(room - 1).chain(['\u{2026}']).collect::<String>()),
                _ => text,
            };
            let _ = write!(self.svg, "<text x=\"{:.2}\" y=\"{:.0}\">{shown}</text>", x + 3.0, y + 12.5);
        }
        self.svg.push_str("</g>\n");
        let mut at = x;
        for (name, inner) in &node.inner {
            self.draw(name, inner, row + 1, at, sample);
            at += inner.count as f64 * sample;
        }
    }
}

fn counted(n: u64) -> String {
    if n == 1 {
        "1 sample".to_owned()
    } else {
        format!("{n} samples")
    }
}

/// Text as XML has it. Control characters, which XML does not allow, are shown as such.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            // text that runs the other way would move its neighbours
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Stack;

    fn graph(stacks: Vec<Stack>) -> String {
        Samples { interval: 0.01, stacks, ..Samples::default() }.flame_graph("a <title>")
    }

    fn stack(route: &str, functions: &[&str], count: u64) -> Stack {
        let functions = functions.iter().map(|&name| name.to_owned()).collect();
        Stack { route: route.to_owned(), functions, at: None, count }
    }

    #[test]
    fn the_width_of_a_call_is_its_samples() {
        let svg = graph(vec![stack("GET /a", &["f", "g"], 3), stack("GET /a", &["f"], 1)]);
        assert!(svg.contains("<title>f: 4 samples, 100.0 %</title>"), "{svg}");
        assert!(svg.contains("<title>g: 3 samples, 75.0 %</title>") && svg.contains("width=\"888.00\""), "{svg}");
        assert!(svg.contains("a &lt;title&gt;"), "{svg}");
    }

    #[test]
    fn names_are_text() {
        let svg = graph(vec![stack("GET /<script>alert('1')</script>", &["\"/><a href=\"x", "\u{1b}[1m\u{202e}"], 9)]);
        assert!(!svg.contains("<script") && !svg.contains("<a ") && !svg.contains('\u{1b}'), "{svg}");
        assert!(svg.contains("GET /&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"), "{svg}");
        let outside = |c: char| svg.matches(c).count();
        assert_eq!(outside('<'), outside('>'));
    }

    #[test]
    fn nothing_and_very_much_are_pictures_too() {
        assert!(graph(Vec::new()).ends_with("</svg>\n"));
        let deep: Vec<&str> = vec!["f"; 10_000];
        let svg = graph(vec![stack("GET /", &deep, 1)]);
        assert!(svg.len() < 100_000, "{}", svg.len());
        let names: Vec<String> = (0..5000).map(|i| format!("f{i}")).collect();
        let wide = names.iter().map(|name| stack("GET /", &[name], 1)).collect();
        assert!(graph(wide).len() < 1_000_000);
    }
}
