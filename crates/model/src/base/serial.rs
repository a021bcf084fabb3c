//! Serial numbers: of zones (RFC 1982) and, by the same arithmetic, the times of signatures (RFC 4034 section 3.1.5).

/// True when `a` is greater than `b`: a newer copy of a zone, a later second. Never for numbers half the circle apart.
pub fn later(a: u32, b: u32) -> bool {
    a != b && a.wrapping_sub(b) < 1 << 31
}

#[cfg(test)]
mod tests {
    use super::later;

    #[test]
    fn after_the_greatest_number_comes_zero() {
        assert!(later(8, 7) && !later(7, 8) && !later(7, 7));
        assert!(later(2, u32::MAX) && !later(u32::MAX, 2));
        assert!(later(0x7FFF_FFFF, 0) && !later(0, 0x7FFF_FFFF));
        assert!(!later(0x8000_0000, 0) && !later(0, 0x8000_0000), "RFC 1982 leaves these without order");
    }
}
