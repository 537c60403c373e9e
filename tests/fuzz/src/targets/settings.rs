//! Options of the program and variables of its environment: never a panic; what is refused is named in the message;
//! what is accepted gives settings that make sense.
//!
//! Input: lines, each an argument, or `NAME=VALUE` for a variable `DROVER_NAME`.

use clap::error::ErrorKind;
use cli::options::Asked;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// See the module.
pub fn run(data: &[u8]) {
    let lines: Vec<_> = data.split(|&b| b == b'\n').take(8).collect();
    let mut variables = Vec::new();
    let mut args: Vec<OsString> = vec!["drover".into(), "serve".into()];
    for line in lines {
        let name = line.iter().take_while(|b| b.is_ascii_uppercase() || **b == b'_').count();
        if name > 0 && line.get(name) == Some(&b'=') && !line[name..].contains(&0) {
            let name = format!("DROVER_{}", String::from_utf8_lossy(&line[..name]));
            std::env::set_var(&name, OsString::from_vec(line[name.len() - 6..].to_vec()));
            variables.push(name);
        } else {
            args.push(OsString::from_vec(line.to_vec()));
        }
    }
    let parsed = cli::options::read(args);
    variables.iter().for_each(|name| std::env::remove_var(name));
    let told = match parsed {
        Ok(Asked::Serve(told)) => told,
        // the first word is always serve
        Ok(other) => panic!("{other:?}"),
        Err(error) => return refused(&error),
    };
    let settings = told.settings(PathBuf::new());
    let limits = &settings.limits;
    let times =
        [limits.header_timeout, limits.body_timeout, limits.write_timeout, limits.keep_alive, limits.kill_after];
    assert!(times.iter().all(|time| *time > 0.0 && time.is_finite()), "{times:?}");
    let or_none = [limits.timeout, limits.queue_timeout, limits.graceful_timeout];
    assert!(or_none.iter().all(|time| *time >= 0.0 && time.is_finite()), "{or_none:?}");
    assert!(settings.threads > 0 && settings.cpp_workers > 0);
    assert!(limits.max_request_line > 0 && limits.max_request_line < 1 << 16);
    let pool = &told.pool;
    assert!(1 <= pool.n_min && pool.n_min <= pool.n_max, "{pool:?}");
}

/// A refusal has to say what of.
fn refused(error: &clap::Error) {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => assert_eq!(error.exit_code(), 0),
        // an argument that is no text has no name
        ErrorKind::InvalidUtf8 => assert_eq!(error.exit_code(), 2),
        _ => {
            assert_eq!(error.exit_code(), 2);
            let named = text.contains("--") || text.contains("'") || text.contains("FILE") || text.contains("n_min");
            let variables = ["variable PORT", "variable DROVER_"];
            let named = named || text.contains("cannot read ") || variables.iter().any(|name| text.contains(name));
            assert!(named, "{text}");
        }
    }
}
