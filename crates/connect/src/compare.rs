//! Expected against live records: what is present, missing, different, in the way or hidden, and the faults that
//! copying makes, each with the corrected record.

use crate::conflict;
use crate::names::is_at_or_below;
use crate::record::Record;
use crate::render::{Rendered, Source};
use crate::spf::Spf;
use crate::template_record::TxtConflict;
use serde::Serialize;

/// How an expected record stands in the live zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is there.
    Present,
    /// Nothing of its name and type is there.
    Missing,
    /// Its name and type are there with other data.
    Different,
    /// Records are in the way: a CNAME beside others, addresses of another service.
    Conflicting,
    /// A delegation or DNAME above hides the name from this zone.
    Shadowed,
}

/// One expected record and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The record that should be there.
    pub expected: Record,
    /// How it stands.
    pub state: State,
    /// Live records that the state is about: the different ones, those in the way, the delegation.
    pub live: Vec<Record>,
    /// Faults of copying, recognised in live records.
    pub faults: Vec<Fault>,
}

/// A fault of copying.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Which one.
    pub kind: FaultKind,
    /// The record as it is.
    pub live: Record,
    /// The record as it should be.
    pub corrected: Record,
}

/// Faults that copying records makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// Quotes of presentation format, or typographic ones, became part of the value.
    QuotesInValue,
    /// A host name without its final dot got the zone appended.
    MissingFinalDot,
    /// A dot that does not belong there ends the value.
    ExtraDot,
    /// The full name was typed where the provider appends the zone.
    ZoneAppendedTwice,
    /// The value begins with the name, type or TTL of the record.
    HostInValue,
    /// White space inside or around the value.
    Whitespace,
    /// The value is right, the type is not.
    WrongType,
    /// Two SPF records at one name, which receivers treat as none (RFC 7208 section 4.5).
    TwoSpfRecords,
}

impl FaultKind {
    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::QuotesInValue => "quotes_in_value",
            Self::MissingFinalDot => "missing_final_dot",
            Self::ExtraDot => "extra_dot",
            Self::ZoneAppendedTwice => "zone_appended_twice",
            Self::HostInValue => "host_in_value",
            Self::Whitespace => "whitespace",
            Self::WrongType => "wrong_type",
            Self::TwoSpfRecords => "two_spf_records",
        }
    }

    /// Its name.
    pub fn label(self) -> &'static str {
        match self {
            Self::QuotesInValue => "Quotes in the value",
            Self::MissingFinalDot => "Zone appended to the target",
            Self::ExtraDot => "Extra dot",
            Self::ZoneAppendedTwice => "Zone appended twice",
            Self::HostInValue => "Host in the value",
            Self::Whitespace => "White space in the value",
            Self::WrongType => "Wrong type",
            Self::TwoSpfRecords => "Two SPF records",
        }
    }

    /// A sentence for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::QuotesInValue => "The quotes are part of the value; enter the text without them",
            Self::MissingFinalDot => "The zone was appended to the target; enter the target with a final dot",
            Self::ExtraDot => "The value ends with a dot that does not belong there",
            Self::ZoneAppendedTwice => "The name has the zone twice; enter the name without the zone",
            Self::HostInValue => "The name or type of the record was copied into the value",
            Self::Whitespace => "The value has white space that does not belong there",
            Self::WrongType => "The value is right and the record type is not",
            Self::TwoSpfRecords => "Two SPF records at one name count as none; merge them",
        }
    }
}

/// Compares records of the zone `domain`, all in normal form.
pub fn compare(expected: &[Record], live: &[Record], domain: &str) -> Vec<Finding> {
    expected
        .iter()
        .map(|record| one(record, expected, live, &domain.trim_end_matches('.').to_lowercase()))
        .collect()
}

fn one(wanted: &Record, expected: &[Record], live: &[Record], domain: &str) -> Finding {
    let finding = |state: State, live: Vec<&Record>, faults: Vec<Fault>| Finding {
        expected: wanted.clone(),
        state,
        live: live.into_iter().cloned().collect(),
        faults,
    };
    let hides = |r: &&Record| {
        r.name != "@"
            && is_at_or_below(&wanted.name, &r.name)
            && (r.kind == "NS" && wanted.kind != "NS" && !(wanted.kind == "DS" && wanted.name == r.name)
                || r.kind == "DNAME" && wanted.name != r.name)
    };
    let hiding: Vec<&Record> = live.iter().filter(hides).collect();
    if !hiding.is_empty() {
        return finding(State::Shadowed, hiding, Vec::new());
    }
    let spf = two_spf_records(wanted, live);
    let there = live.iter().any(|r| is_met_by(wanted, r));
    // Other expected records (a second address, a second MX) are not in the way of this one.
    let rendered = Rendered {
        record: wanted.clone(),
        essential: "Always",
        conflict: TxtConflict::None,
        is_grouped: false,
        source: Source::Template,
    };
    let in_the_way: Vec<&Record> = live
        .iter()
        .filter(|r| conflict::replaces(&rendered, r) && !expected.iter().any(|e| is_met_by(e, r)))
        .collect();
    if there && in_the_way.is_empty() {
        return finding(State::Present, Vec::new(), spf.into_iter().collect());
    }
    let mut faults: Vec<Fault> =
        if there { Vec::new() } else { live.iter().filter_map(|r| fault(wanted, r, domain)).collect() };
    faults.extend(spf);
    let (same_type, other): (Vec<&Record>, Vec<&Record>) =
        in_the_way.into_iter().partition(|r| r.kind == wanted.kind);
    if !other.is_empty() || there {
        return finding(State::Conflicting, other.into_iter().chain(same_type).collect(), faults);
    }
    if !same_type.is_empty() {
        return finding(State::Different, same_type, faults);
    }
    // TXT and CAA records of other purposes are beside this one; only a faulty copy of it is a different value of it.
    let copies: Vec<&Record> = live
        .iter()
        .filter(|r| r.name == wanted.name && r.kind == wanted.kind && faults.iter().any(|f| f.live == **r))
        .collect();
    let state = if copies.is_empty() { State::Missing } else { State::Different };
    finding(state, copies, faults)
}

/// Whether a live record does what the expected one asks: the same data, or an SPF record that holds all its rules.
fn is_met_by(wanted: &Record, live: &Record) -> bool {
    if wanted.kind != live.kind || wanted.name != live.name {
        return false;
    }
    if let (Some(wanted), Some(live)) = (spf_of(wanted), spf_of(live)) {
        return live.contains(&wanted);
    }
    let numbers = |r: &Record| (r.priority, r.weight, r.port, r.service.clone());
    numbers(wanted) == numbers(live) && value(wanted) == value(live)
}

/// Data in one spelling: text without quotes, host names without the final dot.
fn value(record: &Record) -> String {
    match record.kind.as_str() {
        "TXT" => record.text(),
        _ if names_host(record) => record.data.trim_end_matches('.').to_lowercase(),
        "AAAA" => {
            record.data.parse::<std::net::Ipv6Addr>().map_or_else(|_| record.data.clone(), |a| a.to_string())
        }
        _ => record.data.clone(),
    }
}

fn names_host(record: &Record) -> bool {
    matches!(record.kind.as_str(), "CNAME" | "NS" | "MX" | "SRV" | "APEXCNAME" | "PTR")
}

fn spf_of(record: &Record) -> Option<Spf> {
    if record.kind == "TXT" { Spf::parse(&record.text()) } else { None }
}

fn two_spf_records(wanted: &Record, live: &[Record]) -> Option<Fault> {
    let rules = spf_of(wanted)?;
    let mut found = live.iter().filter(|r| r.name == wanted.name).filter_map(|r| Some((r, spf_of(r)?)));
    let (first, mut merged) = found.next()?;
    let others: Vec<Spf> = found.map(|(_, spf)| spf).collect();
    if others.is_empty() {
        return None;
    }
    others.iter().chain([&rules]).for_each(|other| merged.absorb(other));
    let corrected = Record { data: merged.to_string(), ..first.clone() };
    Some(Fault { kind: FaultKind::TwoSpfRecords, live: first.clone(), corrected })
}

fn fault(wanted: &Record, live: &Record, domain: &str) -> Option<Fault> {
    let kind = if live.name == wanted.name && live.kind == wanted.kind {
        value_fault(wanted, live, domain)?
    } else if live.name == wanted.name && same_value(wanted, live) {
        FaultKind::WrongType
    } else if live.kind == wanted.kind && has_zone_twice(&live.name, &wanted.name, domain) {
        FaultKind::ZoneAppendedTwice
    } else {
        return None;
    };
    let corrected = Record { ttl: live.ttl.or(wanted.ttl), owner: None, ..wanted.clone() };
    Some(Fault { kind, live: live.clone(), corrected })
}

/// A CNAME target in a TXT record, or the reverse.
fn same_value(wanted: &Record, live: &Record) -> bool {
    let plain = |r: &Record| r.text().trim().trim_end_matches('.').to_lowercase();
    !plain(wanted).is_empty() && plain(wanted) == plain(live)
}

fn has_zone_twice(live: &str, wanted: &str, domain: &str) -> bool {
    if wanted == "@" {
        live == domain
    } else {
        live.strip_suffix(domain).and_then(|l| l.strip_suffix('.')) == Some(wanted)
    }
}

fn value_fault(wanted: &Record, live: &Record, domain: &str) -> Option<FaultKind> {
    let (right, wrong) = (value(wanted), value(live));
    if right.is_empty() || right == wrong {
        return None;
    }
    let quotes = ['"', '\'', '“', '”', '„', '‘', '’', '«', '»'];
    let bare: String = wrong.trim().trim_matches(quotes).into();
    let tight = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    if wrong == format!("{right}.{domain}") {
        Some(FaultKind::MissingFinalDot)
    } else if bare == right && bare != wrong.trim() {
        Some(FaultKind::QuotesInValue)
    } else if tight(&wrong) == tight(&right) {
        Some(FaultKind::Whitespace)
    } else if live.data.trim_matches('.').eq_ignore_ascii_case(right.trim_matches('.'))
        || wrong.trim_end_matches('.') == right
    {
        Some(FaultKind::ExtraDot)
    } else if has_name_before(&wrong, &right, wanted, domain) {
        Some(FaultKind::HostInValue)
    } else {
        None
    }
}

/// `www.example.com. 300 IN CNAME target`: only words of a zone file's line stand before the value.
fn has_name_before(wrong: &str, right: &str, wanted: &Record, domain: &str) -> bool {
    let bare = wrong.trim().trim_end_matches(['.', '"']);
    let right = right.trim_end_matches('.');
    let Some(before) = bare.strip_suffix(right).filter(|before| !before.is_empty()) else { return false };
    let full = if wanted.name == "@" { domain.to_string() } else { format!("{}.{domain}", wanted.name) };
    let words = before.split([' ', '\t', '=', '"']).filter(|word| !word.is_empty());
    let is_of_line = |word: &str| {
        let word = word.trim_end_matches([':', '.']).to_lowercase();
        word == full
            || word == wanted.name
            || word == wanted.kind.to_lowercase()
            || word == "in"
            || word.parse::<u32>().is_ok()
    };
    let words: Vec<&str> = words.collect();
    !words.is_empty() && words.iter().all(|word| is_of_line(word))
}

#[cfg(test)]
mod tests;
