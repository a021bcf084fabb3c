//! libFuzzer's way into [`holds::rdap`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| holds::rdap::check(data));
