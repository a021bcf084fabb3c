//! WHOIS answers (RFC 3912): free text in, [`WhoisReading`] out. Pure: no I/O, no clock, linear in the size of the
//! text. The layout is read first (lines, labels, blocks), then what each label means, from the tables in `data/`.

mod ahead;
mod assemble;
mod compose;
mod date;
mod decode;
mod entities;
mod facts;
mod fold;
mod grammar;
mod json;
mod lines;
mod outcome;
mod phrases;
mod sentences;
mod short_date;
mod states;
mod tables;
mod values;
mod walk;

pub use json::reading_to_json;
pub use tables::publishes_no_expiration;

use model::registration::{Outcome, Registration};

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
    let asked = Asked::new(domain, tld, server);
    let cut = if text.len() > MAX_TEXT {
        warnings.push(format!("only the first {MAX_TEXT} bytes of the answer were read"));
        &text[..MAX_TEXT]
    } else {
        text
    };
    let decoded = decode::decode(cut, &asked, &mut warnings);
    let lines = lines::lines(&decoded);
    let facts = walk::walk(&lines, &asked);
    let outcome = outcome::outcome(&lines, &facts, &asked, sentences::is_web_page(cut));
    let registration = if outcome == Outcome::Registered {
        assemble::registration(&facts, &asked, &decoded, &mut warnings)
    } else {
        Registration::default()
    };
    WhoisReading { outcome, registration, warnings }
}

/// The question: name and suffix in lower case, A-labels beside the name as given.
pub(crate) struct Asked {
    /// The name as given, lower case, no final dot.
    pub name: String,
    /// The name in A-labels.
    pub ascii: String,
    /// Suffixes the tables are looked up with, longest first (`co.uk`, `uk`).
    pub tlds: Vec<String>,
    /// The host that answered, lower case, where known.
    pub server: Option<String>,
}

impl Asked {
    fn new(domain: &str, tld: Option<&str>, server: Option<&str>) -> Self {
        let trim = |s: &str| s.trim().trim_matches('.').chars().take(253).collect::<String>().to_lowercase();
        let name = trim(domain);
        let ascii = fold::to_ascii(&name);
        let mut tlds = Vec::new();
        let suffix = tld.map_or_else(|| ascii.clone(), |t| fold::to_ascii(&trim(t)));
        let mut rest = suffix.as_str();
        loop {
            tlds.push(rest.to_string());
            match rest.split_once('.') {
                Some((_, r)) => rest = r,
                None => break,
            }
        }
        Asked { name, ascii, tlds, server: server.map(trim) }
    }

    /// True when `text` is the asked name in either form.
    pub fn is(&self, text: &str) -> bool {
        let t = text.trim_end_matches('.');
        t.eq_ignore_ascii_case(&self.ascii)
            || (!t.is_ascii() && t.contains('.') && fold::to_ascii(&t.to_lowercase()) == self.ascii)
            || t.eq_ignore_ascii_case(&self.name)
    }

    /// True when a row about these suffixes or these servers is about this question.
    pub fn answered_by(&self, row: &tables::TldRow) -> bool {
        self.under(&row.names) || self.server.as_ref().is_some_and(|s| row.servers.contains(s))
    }

    /// True when the tables' `names` hold one of the suffixes.
    pub fn under(&self, names: &[String]) -> bool {
        self.tlds.iter().any(|t| names.iter().any(|n| n == t))
    }
}

/// The text of an answer about `domain`, decoded as [`parse_whois`] decodes it; for showing and keeping.
pub fn decode_text(domain: &str, bytes: &[u8]) -> String {
    let asked = Asked::new(domain, None, None);
    decode::decode(&bytes[..bytes.len().min(MAX_TEXT)], &asked, &mut Vec::new()).into_owned()
}

/// What one sentence says about a name, by the patterns of `phrases.toml`.
pub(crate) fn says(domain: &str, sentence: &str) -> Option<Outcome> {
    let asked = Asked::new(domain, None, None);
    let lines: Vec<_> = lines::lines(sentence);
    sentences::sentence(&lines, &asked, false)
}

/// A name in A-labels, lower case.
pub(crate) fn ascii(name: &str) -> String {
    fold::to_ascii(&name.chars().take(253).collect::<String>().to_lowercase())
}

/// A value that says something; placeholders (`null`, `-`, `REDACTED FOR PRIVACY`) do not.
pub(crate) fn stated(value: &str) -> Option<&str> {
    values::stated(value)
}

/// A host name in A-labels, lower case, no final dot.
pub(crate) fn host_name(value: &str) -> Option<String> {
    values::host(value.trim())
}

/// A date that needs no knowledge of the order of day and month.
pub(crate) fn read_date(value: &str) -> Option<model::time::StatedTime> {
    date::parse(value, None).ok()
}

/// The EPP codes that a text of statuses stands for.
pub(crate) fn read_statuses(value: &str) -> Vec<model::epp::EppStatus> {
    let mut words = Vec::new();
    states::statuses(value, &mut words);
    words.iter().map(|w| states::epp(w)).collect()
}

/// What a status says about the name itself, where it says that it is free or withheld.
pub(crate) fn status_outcome(status: &str) -> Option<Outcome> {
    states::outcome(status)
}

#[cfg(test)]
#[path = "../../tests/compare/mod.rs"]
mod compare;
#[cfg(test)]
mod leave_one_out;
#[cfg(test)]
mod probe;
#[cfg(test)]
mod tests;
