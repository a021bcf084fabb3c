//! libFuzzer's way into [`holds::encodings`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| holds::encodings::check(data));
