//! libFuzzer's way into [`holds::whois`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| holds::whois::check(data));
