//! A line of R's profiler: the calls that were under way, the innermost first, as `"sum" 1#3 "handler" `. Before the
//! name of a function, where it was at that moment: the number of a file, and a line.

/// One call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call<'a> {
    /// the function, as it was called
    pub name: &'a str,
    /// the number of a file and a line
    pub at: Option<(usize, usize)>,
}

/// The calls of a line, the innermost first. A name may have quotes in it; what follows the last name is left out.
pub(crate) fn calls(line: &str) -> Vec<Call<'_>> {
    let mut calls = Vec::new();
    let mut rest = line;
    loop {
        let (place, after) = match rest.split_once('"') {
            Some(parts) => parts,
            None => return calls,
        };
        let (name, after) = match end_of_name(after) {
            Some(end) => (&after[..end], &after[end + 1..]),
            None => return calls,
        };
        calls.push(Call { name, at: position(place) });
        rest = after;
    }
}

/// Where the quote is that ends a name: behind it, there is a space, and another name, a position or the end.
fn end_of_name(text: &str) -> Option<usize> {
    let ends = |at: usize| {
        let Some(rest) = text[at + 1..].strip_prefix(' ') else { return text.len() == at + 1 };
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '#' || c == ' ');
        rest.is_empty() || rest.starts_with('"')
    };
    text.match_indices('"').map(|(at, _)| at).find(|&at| ends(at))
}

fn position(text: &str) -> Option<(usize, usize)> {
    let (file, line) = text.split_whitespace().next_back()?.split_once('#')?;
    Some((file.parse().ok()?, line.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(line: &str) -> Vec<&str> {
        calls(line).iter().map(|call| call.name).collect()
    }

    #[test]
    fn calls_have_names_and_positions() {
        let read = calls("\"<GC>\" \"runif\" 1#3 \"g\" 2#14 \"GET /a\" ");
        assert_eq!(read.len(), 4);
        assert_eq!(read[0], Call { name: "<GC>", at: None });
        assert_eq!(read[2], Call { name: "g", at: Some((1, 3)) });
        assert_eq!(read[3], Call { name: "GET /a", at: Some((2, 14)) });
    }

    #[test]
    fn quotes_in_names_are_theirs() {
        assert_eq!(names("\"runif\" \"GET /a\"b\" "), ["runif", "GET /a\"b"]);
        assert_eq!(names("\"a\"b\" \"c\""), ["a\"b", "c"]);
        assert_eq!(names("\"\" \"\" "), ["", ""]);
    }

    #[test]
    fn what_is_no_stack_has_no_calls() {
        for line in ["", "x", "\"", "1#2 ", "1#2 \"open"] {
            assert!(calls(line).is_empty(), "{line}");
        }
        assert_eq!(calls("99999999999999999999#1 \"f\" ")[0].at, None);
    }
}
