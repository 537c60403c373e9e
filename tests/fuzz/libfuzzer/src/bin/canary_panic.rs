//! A target that is wrong on purpose, with libFuzzer: see `fuzz::canary`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::canary::panic(data));
