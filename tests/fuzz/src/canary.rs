//! Targets that are wrong on purpose: tools/fuzz.sh sees first that the fuzzer finds what is wrong with them.

/// Only by looking at what is covered is that found.
pub fn panic(data: &[u8]) {
    let found = data.iter().zip(b"drover").take_while(|(a, b)| a == b).count();
    assert!(found < 6, "reached what is hidden");
}

/// Some memory for each input.
pub fn leak(data: &[u8]) {
    std::mem::forget(data.to_vec());
}
