//! What the program says to whoever started it: on standard error how it goes, on standard output what was asked for. A
//! terminal may have gone meanwhile: `eprintln!` would panic then.

use crate::exit::{Code, Error};
use std::io::{self, ErrorKind, Write};

/// A line of the program's.
pub(crate) fn say(text: &str) {
    write(&format!("drover: {text}"));
}

/// A line that says by itself who speaks.
pub(crate) fn write(line: &str) {
    // nowhere left to complain
    let _ = writeln!(io::stderr(), "{line}");
}

/// To standard output, which may be a pipe that nobody reads.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Error::new(Code::System, e.to_string())),
        _ => Ok(()),
    }
}

/// `1 worker`, `2 workers`
pub(crate) fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
