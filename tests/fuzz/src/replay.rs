//! Every target on its corpus, without libFuzzer.

use std::collections::BTreeSet;
use std::fs::{read, read_dir};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

macro_rules! replay {
    ($($name:ident)+) => {
        $(
            #[test]
            fn $name() {
                on_corpus(stringify!($name), crate::$name::run);
            }
        )+

        /// Names are those of the tests above, of folders and of programs alike: nothing is left out by mistake.
        #[test]
        fn all_targets_are_replayed_and_have_programs() {
            let all = BTreeSet::from([$(stringify!($name).to_owned()),+]);
            assert_eq!(names("corpus"), all);
            assert_eq!(names("src/targets").into_iter().filter(|name| name != "mod").collect::<BTreeSet<_>>(), all);
            let programs = names("libfuzzer/src/bin");
            assert_eq!(programs.into_iter().filter(|name| !name.starts_with("canary_")).collect::<BTreeSet<_>>(), all);
        }
    };
}

replay! {
    coding
    cookies
    dispatcher
    h1_request
    h1_response
    h2_connection
    identity
    json
    multipart
    proxies
    query
    ring
    router
    settings
    static_files
    websocket
    wire
}

fn on_corpus(name: &str, run: fn(&[u8])) {
    let inputs = paths(&format!("corpus/{name}"));
    assert!(!inputs.is_empty(), "{name} has no corpus");
    for path in inputs {
        let bytes = read(&path).expect("an input");
        assert!(catch_unwind(|| run(&bytes)).is_ok(), "{} breaks {name}", path.display());
    }
}

fn paths(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
}

/// What is in a folder, without extensions.
fn names(folder: &str) -> BTreeSet<String> {
    paths(folder).iter().filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
}
