//! Near misses: the mistakes people make when they copy a record into a provider's form, each recognised by name.

use super::challenge::{APEX_PREFIX, LABEL};
use super::round::{Elsewhere, Reply, ServerAnswer, ServerVerdict, Value};
use super::{Challenge, ExpectedRecord, Method};
use serde::{Deserialize, Serialize};

/// Near misses told about one round.
const MOST: usize = 12;

/// Why a published record does not count as proof.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NearMiss {
    /// Nothing is published at the name.
    NotFound {
        /// The name asked for.
        name: String,
    },
    /// The provider appended the zone to a name that held it already.
    ZoneAppendedTwice {
        /// Where the record was found.
        found_at: String,
        /// What to type into the host field instead.
        host: String,
    },
    /// The right value at another name.
    WrongName {
        /// Where the record was found.
        found_at: String,
        /// Where it belongs.
        expected_at: String,
    },
    /// The right value in a record of another type.
    WrongType {
        /// The type found.
        found: String,
        /// The type expected.
        expected: String,
    },
    /// Quotation marks inside the value.
    QuotesInValue {
        /// The value found.
        found: String,
    },
    /// White space around or inside the value.
    WhiteSpace {
        /// The value found.
        found: String,
    },
    /// The value ends or begins too early.
    Truncated {
        /// The value found.
        found: String,
        /// Characters that are missing.
        missing: usize,
    },
    /// The letter case differs, which counts in a TXT record.
    LetterCase {
        /// The value found.
        found: String,
    },
    /// The prefix of the apex form is missing, or stands where it does not belong.
    Prefix {
        /// The value found.
        found: String,
        /// The value expected.
        expected: String,
    },
    /// Another challenge of ours: of an earlier claim, or of another organisation.
    OtherChallenge {
        /// The value found.
        found: String,
    },
    /// The CNAME points to the right label below another domain.
    WrongSuffix {
        /// The target found.
        found: String,
        /// The target expected.
        expected: String,
    },
    /// Some servers still serve an older copy of the zone.
    OldCopy {
        /// Servers that lack the value.
        servers: Vec<String>,
        /// Their serial, where all of them have the same.
        serial: Option<u32>,
        /// Serial of those that hold it.
        newest: Option<u32>,
    },
    /// Some addresses of the web server do not return the file that others return.
    OtherAddresses {
        /// Those that do not.
        addresses: Vec<String>,
    },
}

impl NearMiss {
    /// What happened and what to do at this DNS provider, where it is known.
    pub fn sentence_at(&self, provider: Option<&str>) -> String {
        match (self, provider) {
            (NearMiss::ZoneAppendedTwice { found_at, host }, Some(provider)) => format!(
                "The record is at {found_at}: {provider} appended the domain to a name that ended in it. At \
                 {provider}, enter only “{host}” as the host name."
            ),
            _ => self.sentence(),
        }
    }

    /// What is published instead, where that is a name or a value: what it is, and its text.
    pub fn found(&self) -> Option<(&'static str, &str)> {
        match self {
            NearMiss::ZoneAppendedTwice { found_at, .. } | NearMiss::WrongName { found_at, .. } => {
                Some(("Name", found_at))
            }
            NearMiss::WrongType { found, .. } => Some(("Type", found)),
            NearMiss::QuotesInValue { found }
            | NearMiss::WhiteSpace { found }
            | NearMiss::Truncated { found, .. }
            | NearMiss::LetterCase { found }
            | NearMiss::Prefix { found, .. }
            | NearMiss::OtherChallenge { found }
            | NearMiss::WrongSuffix { found, .. } => Some(("Value", found)),
            NearMiss::NotFound { .. } | NearMiss::OldCopy { .. } | NearMiss::OtherAddresses { .. } => None,
        }
    }

    /// What happened and what to do, in a sentence or two.
    pub fn sentence(&self) -> String {
        match self {
            NearMiss::NotFound { name } => format!("Nothing is published at {name} yet."),
            NearMiss::ZoneAppendedTwice { found_at, host } => format!(
                "The record is at {found_at}: the provider appended the domain to a name that ended in it. Enter only \
                 “{host}” as the host name."
            ),
            NearMiss::WrongName { found_at, expected_at } => {
                format!("The value is published at {found_at}. Move it to {expected_at}.")
            }
            NearMiss::WrongType { found, expected } => {
                format!("The value is in a {found} record. Publish it as {expected}.")
            }
            NearMiss::QuotesInValue { found } => {
                format!("The value holds quotation marks: {found}. Enter it without them.")
            }
            NearMiss::WhiteSpace { found } => {
                format!("The value holds spaces or line breaks: \"{}\". Remove them.", found.escape_debug())
            }
            NearMiss::Truncated { found, missing } => {
                let characters = if *missing == 1 { "character" } else { "characters" };
                format!("The value is incomplete, {missing} {characters} missing: {found}. Copy all of it.")
            }
            NearMiss::LetterCase { found } => {
                format!("The value differs in upper and lower case: {found}. Copy it exactly.")
            }
            NearMiss::Prefix { found, expected } => {
                format!("The value is {found}; here it must be {expected}.")
            }
            NearMiss::OtherChallenge { found } => format!(
                "Another challenge is published: {found}. It belongs to an earlier or another claim; add the current \
                 value."
            ),
            NearMiss::WrongSuffix { found, expected } => {
                format!("The CNAME points to {found}. It must point to {expected}.")
            }
            NearMiss::OtherAddresses { addresses } => format!(
                "The expected file is missing at {}. Publish it on every web server of the host.",
                addresses.join(", ")
            ),
            NearMiss::OldCopy { servers, serial, newest } => {
                let who = servers.join(", ");
                match (serial, newest) {
                    (Some(old), Some(new)) if old != new => format!(
                        "{who} still serve serial {old} of the zone; the others have {new}. Wait until they have \
                         copied it."
                    ),
                    _ => format!("{who} do not return the value yet. Wait until they have copied the zone."),
                }
            }
        }
    }
}

/// Explains why `expected` was not found (everywhere). Each cause once, at most [`MOST`].
pub(super) fn near_misses(
    challenge: &Challenge,
    method: Method,
    expected: &ExpectedRecord,
    servers: &[(ServerAnswer, ServerVerdict)],
    elsewhere: &[Elsewhere],
) -> Vec<NearMiss> {
    let mut found: Vec<NearMiss> = Vec::new();
    let mut add = |miss: NearMiss| {
        if found.len() < MOST && !found.contains(&miss) {
            found.push(miss);
        }
    };
    let lags = if method == Method::Http { other_addresses(servers) } else { old_copy(servers) };
    if let Some(lags) = lags {
        add(lags);
    }
    for (server, verdict) in servers {
        if let (Reply::Records { values }, ServerVerdict::Lacks) = (&server.reply, verdict) {
            values
                .iter()
                .filter_map(|value| at_the_name(challenge, method, expected, value))
                .for_each(&mut add);
        }
    }
    for place in elsewhere {
        if let Some(miss) = at_another_name(challenge, expected, place) {
            add(miss);
        }
    }
    if found.is_empty() && servers.iter().any(|(_, verdict)| *verdict == ServerVerdict::Lacks) {
        found.push(NearMiss::NotFound { name: expected.name.clone() });
    }
    found
}

fn other_addresses(servers: &[(ServerAnswer, ServerVerdict)]) -> Option<NearMiss> {
    let lacking = servers.iter().filter(|(_, verdict)| *verdict == ServerVerdict::Lacks);
    let addresses: Vec<String> =
        lacking.filter_map(|(server, _)| Some(server.address?.to_string())).collect();
    let holds = servers.iter().any(|(_, verdict)| *verdict == ServerVerdict::Holds);
    (holds && !addresses.is_empty()).then_some(NearMiss::OtherAddresses { addresses })
}

fn old_copy(servers: &[(ServerAnswer, ServerVerdict)]) -> Option<NearMiss> {
    let of = |wanted: &ServerVerdict| -> Vec<&ServerAnswer> {
        servers.iter().filter(|(_, verdict)| verdict == wanted).map(|(server, _)| server).collect()
    };
    let (holds, lacks) = (of(&ServerVerdict::Holds), of(&ServerVerdict::Lacks));
    if holds.is_empty() || lacks.is_empty() {
        return None;
    }
    let same = |list: &[&ServerAnswer]| {
        let first = list.first()?.serial?;
        list.iter().all(|server| server.serial == Some(first)).then_some(first)
    };
    let mut names: Vec<String> = lacks.iter().map(|server| server.nameserver.clone()).collect();
    names.dedup();
    Some(NearMiss::OldCopy { servers: names, serial: same(&lacks), newest: same(&holds) })
}

/// What is wrong with a value at the right name; `None` for one that has nothing to do with us.
fn at_the_name(
    challenge: &Challenge,
    method: Method,
    expected: &ExpectedRecord,
    value: &Value,
) -> Option<NearMiss> {
    let text = value.text.as_str();
    let nonce = challenge.nonce.as_str();
    let found = || text.to_string();
    if value.rtype != expected.rtype {
        return contains_nonce(text, nonce)
            .then(|| NearMiss::WrongType { found: value.rtype.clone(), expected: expected.rtype.clone() });
    }
    if method == Method::Cname {
        let label = text.split('.').next().unwrap_or_default();
        return Some(if label.eq_ignore_ascii_case(nonce) {
            NearMiss::WrongSuffix { found: found(), expected: expected.value.clone() }
        } else {
            NearMiss::OtherChallenge { found: found() }
        });
    }
    let unquoted = text.replace(['"', '\'', '“', '”'], "");
    let compact: String = unquoted.chars().filter(|c| !c.is_whitespace()).collect();
    if unquoted != text && compact == expected.value {
        return Some(NearMiss::QuotesInValue { found: found() });
    }
    if compact == expected.value {
        return Some(NearMiss::WhiteSpace { found: found() });
    }
    if compact.eq_ignore_ascii_case(&expected.value) {
        return Some(NearMiss::LetterCase { found: found() });
    }
    // A part of eight characters of a random value is no coincidence.
    let is_part = |part: &str, least: usize| part.len() >= least && expected.value.contains(part);
    if method == Method::TxtApex {
        if compact.eq_ignore_ascii_case(nonce) {
            return Some(NearMiss::Prefix { found: found(), expected: expected.value.clone() });
        }
        let rest = compact.strip_prefix(APEX_PREFIX)?;
        return Some(if is_part(rest, 8) {
            NearMiss::Truncated {
                found: found(),
                missing: expected.value.len().saturating_sub(compact.len()),
            }
        } else {
            NearMiss::OtherChallenge { found: found() }
        });
    }
    if compact == format!("{APEX_PREFIX}{nonce}") {
        return Some(NearMiss::Prefix { found: found(), expected: expected.value.clone() });
    }
    if is_part(&compact, 8) {
        return Some(NearMiss::Truncated { found: found(), missing: expected.value.len() - compact.len() });
    }
    // A web server may return any page at any address.
    let is_challenge = method != Method::Http || compact.len() == nonce.len();
    is_challenge.then(|| NearMiss::OtherChallenge { found: found() })
}

fn at_another_name(challenge: &Challenge, expected: &ExpectedRecord, place: &Elsewhere) -> Option<NearMiss> {
    let value = place.values.iter().find(|value| contains_nonce(&value.text, challenge.nonce.as_str()))?;
    if place.name.eq_ignore_ascii_case(&expected.name) {
        let (found, expected) = (value.rtype.clone(), expected.rtype.clone());
        return (found != expected).then_some(NearMiss::WrongType { found, expected });
    }
    let twice = format!("{}.{}", expected.name, challenge.domain);
    Some(if place.name.eq_ignore_ascii_case(&twice) {
        let host = expected.name.strip_suffix(&challenge.domain).unwrap_or("").trim_end_matches('.');
        let host = if host.is_empty() { "@" } else { host };
        NearMiss::ZoneAppendedTwice { found_at: place.name.clone(), host: host.to_string() }
    } else {
        NearMiss::WrongName { found_at: place.name.clone(), expected_at: expected.name.clone() }
    })
}

fn contains_nonce(text: &str, nonce: &str) -> bool {
    text.to_ascii_lowercase().contains(nonce)
}

/// Names at which a record that is missing at `expected` is looked for, most likely first: the zone appended twice,
/// the label without its underscore, the domain itself, the label alone as a host of `www`.
pub fn other_names(challenge: &Challenge, expected: &ExpectedRecord) -> Vec<String> {
    let domain = &challenge.domain;
    let mut names = vec![
        format!("{}.{domain}", expected.name),
        format!("{LABEL}.{domain}"),
        domain.clone(),
        format!("{}.{domain}", LABEL.trim_start_matches('_')),
        format!("{LABEL}.www.{domain}"),
    ];
    names.retain(|name| *name != expected.name && name.len() <= 253);
    names
}
