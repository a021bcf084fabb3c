//! Bytes to text by the suffix's encoding: whatever the bytes, a text without NULs that is not blown up.

use crate::input::Input;
use registration::whois::decode_text;

/// Panics when a promise of the decoder is broken.
pub fn check(data: &[u8]) {
    let input = Input::read(data);
    let domain = input.suffix.map_or(input.domain, |suffix| format!("harbour.{suffix}"));
    let text = decode_text(&domain, &input.answer);
    assert!(
        !text.contains(|c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r')),
        "a control character came through"
    );
    // One octet becomes at most one character of three octets (U+FFFD, or Latin above ASCII).
    assert!(text.len() <= 3 * input.answer.len(), "{} octets from {}", text.len(), input.answer.len());
    let tame = |b: &u8| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~') && *b != b'<';
    if input.answer.iter().all(tame) {
        assert_eq!(text.as_bytes(), input.answer, "plain ASCII is changed");
    }
    if !text.contains(['<', '\u{1b}', '\u{feff}']) {
        assert_eq!(decode_text(&domain, text.as_bytes()), text, "decoding its own text changes it");
    }
}
