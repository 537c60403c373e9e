//! Parts of a value that the writer does not know, and what R says of them.
//!
//! R cannot be called while a text is written, since it may jump. So the writer notes what it would ask and goes on;
//! the R side (`json.R`) finds the answers, and the text is written again with them, until nothing is asked.

use super::options::Na;
use super::unsupported::Unsupported;
use crate::r::{self, kind, List, Sexp};
use std::collections::HashMap;

/// What R says of a part.
#[derive(Clone, Copy)]
pub enum Answer<'a> {
    /// JSON: one text, or for a column of a data frame one for each row, NA where it has none
    Texts(&'a [Sexp]),
    /// another value to be written in its place
    Instead(Sexp),
}

/// What is known, and what is not. A part is told by its address: all parts live as long as the value and the answers.
pub struct Parts {
    /// nothing, where R is yet to answer
    known: HashMap<(Sexp, i32), Option<Sexp>>,
    asked: Vec<(Sexp, i32)>,
}

impl Parts {
    /// `known`: a list of parts, their contexts, and their answers. It is protected as long as the writer writes.
    pub fn new(known: Sexp) -> Result<Parts, Unsupported> {
        let malformed = || Unsupported::Foreign;
        let list = |x: Sexp| {
            // SAFETY: a list, by its type.
            (r::type_of(x) == kind::LIST).then(|| unsafe { List::new(x) }).flatten().ok_or_else(malformed)
        };
        let all = list(known)?;
        if all.len() != 3 || r::type_of(all.get(1)) != kind::INTEGER {
            return Err(malformed());
        }
        let (parts, answers) = (list(all.get(0))?, list(all.get(2))?);
        // SAFETY: an integer vector, by its type.
        let contexts: &[i32] = unsafe { r::elements(all.get(1)) }.ok_or_else(malformed)?;
        if parts.len() != contexts.len() || parts.len() != answers.len() {
            return Err(malformed());
        }
        let known = (0..parts.len()).map(|i| ((parts.get(i), contexts[i]), Some(answers.get(i)))).collect();
        Ok(Parts { known, asked: Vec::new() })
    }

    /// The answer for a part, which depends on whether it is a column and how it is to be written; `None` when R is yet
    /// to be asked.
    pub fn answer<'a>(&mut self, part: Sexp, na: Na, unbox: bool, column: bool) -> Option<Answer<'a>> {
        let context = i32::from(column) | i32::from(unbox) << 1 | (na as i32) << 2;
        let asked = &mut self.asked;
        let answer = self.known.entry((part, context)).or_insert_with(|| {
            asked.push((part, context));
            None
        });
        let answer = (*answer)?;
        // SAFETY: each is read by its type; the answers are protected and never change.
        unsafe {
            match r::type_of(answer) {
                kind::STRING => r::elements(answer).map(Answer::Texts),
                kind::LIST => List::new(answer).filter(|one| one.len() == 1).map(|one| Answer::Instead(one.get(0))),
                _ => None,
            }
            .or(Some(Answer::Texts(&[])))
        }
    }

    /// How many questions there are.
    pub fn questions(&self) -> usize {
        self.asked.len()
    }

    /// Takes back all questions but the first `n`: they were about parts of what is itself foreign.
    pub fn take_back(&mut self, n: usize) {
        for question in self.asked.drain(n..) {
            self.known.remove(&question);
        }
    }

    /// What R is to be asked, each with its context.
    pub fn asked(self) -> Vec<(Sexp, i32)> {
        self.asked
    }
}
