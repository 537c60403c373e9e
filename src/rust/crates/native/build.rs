//! Compiles the trampolines that C++ exceptions stop at.

fn main() {
    println!("cargo:rerun-if-changed=src/guard.cpp");
    println!("cargo:rerun-if-changed=../../../../inst/include/drover.h");
    cc::Build::new()
        .cpp(true)
        .file("src/guard.cpp")
        .include("../../../../inst/include")
        .flag("-std=c++11")
        .flag("-fvisibility=hidden")
        .warnings(true)
        .extra_warnings(true)
        .compile("drover_guard");
}
