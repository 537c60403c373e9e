//! The target `h2_connection` with libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::h2_connection::run(data));
