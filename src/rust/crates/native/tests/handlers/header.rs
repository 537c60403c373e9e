//! `drover.h` compiles without a warning as C99 and as C++11. That it says what `abi.rs` says is tested there.

use crate::library::compile;
use std::path::Path;

#[test]
fn the_header_compiles_in_both_languages() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = out.join(format!("header-{}.c", std::process::id()));
    std::fs::write(&source, "#include <drover.h>\n").unwrap();
    let object = source.with_extension("o");
    for (compiler, flags, arguments) in [
        ("cc", "CFLAGS", ["-std=c99", "-Wpedantic", "-xc", "-c"]),
        ("c++", "CXXFLAGS", ["-std=c++11", "-Wpedantic", "-xc++", "-c"]),
    ] {
        compile(compiler, flags, &arguments, &source, &object);
    }
    for file in [&source, &object] {
        std::fs::remove_file(file).unwrap();
    }
}
