//! What the program says to whoever started it, on standard error. A terminal may have gone meanwhile: `eprintln!` would panic then.

use std::io::{self, Write};

/// A line of the program's.
pub(crate) fn say(text: &str) {
    write(&format!("drover: {text}"));
}

/// A line that says by itself who speaks.
pub(crate) fn write(line: &str) {
    // nowhere left to complain
    let _ = writeln!(io::stderr(), "{line}");
}
