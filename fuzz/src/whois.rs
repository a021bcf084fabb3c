//! WHOIS answers: any bytes, about any name, under any suffix.

use crate::input::Input;
use crate::reading;
use model::registration::Outcome;
use registration::{parse_whois, reading_to_json, whois::decode_text};

/// Panics when a promise of the parser is broken.
pub fn check(data: &[u8]) {
    let input = Input::read(data);
    let (domain, suffix) = (input.domain.as_str(), input.suffix.as_deref());
    let read = |answer: &[u8]| parse_whois(domain, suffix, None, answer);
    let first = read(&input.answer);
    // The text is that of the suffix's encoding; where they differ every digit is ASCII in both.
    let text = decode_text(&format!("x.{}", suffix.unwrap_or(domain)), &input.answer);
    reading::check(first.outcome, &first.registration, &first.warnings, &text);
    let json = reading_to_json(&first);
    assert_eq!(json["outcome"], first.outcome.as_str());
    assert_eq!(json["expires"].is_string(), first.registration.expires.is_some());
    assert_eq!(read(&input.answer), first, "the same bytes are read in two ways");
    line_ends_do_not_matter(&input.answer, &read, &first);
    if input.answer.iter().all(u8::is_ascii_whitespace) {
        assert_ne!(first.outcome, Outcome::Registered, "out of nothing");
        assert_ne!(first.outcome, Outcome::Available, "silence is not consent");
    }
}

/// RFC 3912 ends lines with CR LF, servers do not all.
fn line_ends_do_not_matter(
    answer: &[u8],
    read: &impl Fn(&[u8]) -> registration::WhoisReading,
    first: &registration::WhoisReading,
) {
    let plain = std::str::from_utf8(answer).ok().filter(|t| !t.contains(['\r', '<', '\0', '\u{1b}']));
    if let Some(text) = plain.filter(|t| t.len() < 64 << 10) {
        let other = read(text.replace('\n', "\r\n").as_bytes());
        assert_eq!(other, *first, "line ends change the reading");
    }
}
