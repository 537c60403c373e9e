//! The target `h1_response` with libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::h1_response::run(data));
