//! Has the linker refuse what is not defined here, as a function of R would be: the program runs without R.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,defs");
}
