//! The target `dispatcher` with libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::dispatcher::run(data));
