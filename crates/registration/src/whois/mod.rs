//! WHOIS answers (RFC 3912): free text in, [`WhoisReading`] out. Pure: no I/O, no clock, linear in the size of the
//! text. The layout is read first (lines, labels, blocks), then what each label means, from the tables in `data/`.
//!
//! Floors, lowest first; each uses only those before it: text, question, vocabulary, values, layout, walk, outcome,
//! assemble.

mod assemble;
mod json;
mod layout;
mod outcome;
mod question;
mod text;
mod values;
mod vocabulary;
mod walk;

pub use json::reading_to_json;
pub use vocabulary::tables::publishes_no_expiration;

use model::registration::{Outcome, Registration};
use question::Question;

/// What a WHOIS answer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhoisReading {
    /// What asking about the name came to.
    pub outcome: Outcome,
    /// What the answer states; empty unless `outcome` is `Registered`.
    pub registration: Registration,
    /// What was odd, for people.
    pub warnings: Vec<String>,
}

/// Answers are read up to this many bytes; registries send a few kilobytes.
pub const MAX_TEXT: usize = 1 << 20;

/// Reads the answer of a WHOIS server about `domain`.
///
/// `tld` is the suffix the answer was asked under (default: the last label of `domain`); it and `server`, the host that
/// answered, decide day/month order and encoding, from tables.
pub fn parse_whois(domain: &str, tld: Option<&str>, server: Option<&str>, text: &[u8]) -> WhoisReading {
    let mut warnings = Vec::new();
    let asked = Question::new(domain, tld, server);
    let cut = if text.len() > MAX_TEXT {
        warnings.push(format!("only the first {MAX_TEXT} bytes of the answer were read"));
        &text[..MAX_TEXT]
    } else {
        text
    };
    let decoded = text::decode::decode(cut, &asked, &mut warnings);
    let lines = layout::lines::lines(&decoded);
    let facts = walk::walk(&lines, &asked);
    let outcome = outcome::outcome(&lines, &facts, &asked, outcome::sentences::is_web_page(cut));
    let registration = if outcome == Outcome::Registered {
        assemble::registration(&facts, &asked, &decoded, &mut warnings)
    } else {
        Registration::default()
    };
    WhoisReading { outcome, registration, warnings }
}

/// The text of an answer about `domain`, decoded as [`parse_whois`] decodes it; for showing and keeping.
pub fn decode_text(domain: &str, bytes: &[u8]) -> String {
    let asked = Question::new(domain, None, None);
    text::decode::decode(&bytes[..bytes.len().min(MAX_TEXT)], &asked, &mut Vec::new()).into_owned()
}

/// What one sentence says about a name, by the patterns of `phrases.toml`.
pub(crate) fn says(domain: &str, sentence: &str) -> Option<Outcome> {
    let asked = Question::new(domain, None, None);
    let lines: Vec<_> = layout::lines::lines(sentence);
    outcome::sentences::sentence(&lines, &asked, false)
}

/// A name in A-labels, lower case.
pub(crate) fn ascii(name: &str) -> String {
    text::fold::to_ascii(&name.chars().take(253).collect::<String>().to_lowercase())
}

/// A value that says something; placeholders (`null`, `-`, `REDACTED FOR PRIVACY`) do not.
pub(crate) fn stated(value: &str) -> Option<&str> {
    values::fields::stated(value)
}

/// A host name in A-labels, lower case, no final dot.
pub(crate) fn host_name(value: &str) -> Option<String> {
    values::fields::host(value.trim())
}

/// A date that needs no knowledge of the order of day and month.
pub(crate) fn read_date(value: &str) -> Option<model::time::StatedTime> {
    values::date::parse(value, None).ok()
}

/// The EPP codes that a text of statuses stands for.
pub(crate) fn read_statuses(value: &str) -> Vec<model::epp::EppStatus> {
    let mut words = Vec::new();
    values::states::statuses(value, &mut words);
    words.iter().map(|w| values::states::epp(w)).collect()
}

/// What a status says about the name itself, where it says that it is free or withheld.
pub(crate) fn status_outcome(status: &str) -> Option<Outcome> {
    values::states::outcome(status)
}

#[cfg(test)]
#[path = "../../tests/compare/mod.rs"]
mod compare;
#[cfg(test)]
mod leave_one_out;
#[cfg(test)]
mod tests;
