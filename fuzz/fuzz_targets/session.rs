//! libFuzzer's way into [`holds::session`], with an allocator that counts.
#![no_main]

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The budget of one operation (SPEC section 13).
const MOST: usize = 64 << 20;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    holds::session::check(data);
    let octets = ALLOCATOR.peak_usage().saturating_sub(before);
    assert!(octets <= MOST, "{octets} octets were held at once");
});
