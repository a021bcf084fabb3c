//! libFuzzer's way into [`holds::names`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| holds::names::check(data));
