//! libFuzzer's way into [`holds::dns_wire`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| holds::dns_wire::check(data));
