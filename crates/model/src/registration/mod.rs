//! Registration data: what a registry or registrar publishes about a domain, whichever protocol it came by
//! (RDAP, RFC 9083; WHOIS, RFC 3912). A field the source did not state is `None`, never empty and never "now".

pub mod epp;

use crate::base::time::{DAY, StatedTime};
use epp::EppStatus;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What asking about a name came to. Only the first three say something about the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The name is registered.
    Registered,
    /// The registry says the name does not exist; it can probably be registered.
    Available,
    /// The registry withholds the name from registration.
    Reserved,
    /// The server asked us to come back later.
    Throttled,
    /// The server will not answer us.
    Refused,
    /// The answer said none of these.
    Unknown,
}

impl Outcome {
    /// The stable lower-case word used in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Registered => "registered",
            Outcome::Available => "available",
            Outcome::Reserved => "reserved",
            Outcome::Throttled => "throttled",
            Outcome::Refused => "refused",
            Outcome::Unknown => "unknown",
        }
    }
}

/// The protocol a registration was read with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// RFC 9082/9083 over HTTPS.
    Rdap,
    /// RFC 3912, port 43.
    Whois,
}

impl Protocol {
    /// `RDAP` or `WHOIS`, as people write it.
    pub fn label(self) -> &'static str {
        match self {
            Protocol::Rdap => "RDAP",
            Protocol::Whois => "WHOIS",
        }
    }
}

/// Whether an answer came from the registry or from the registrar of the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// The operator of the TLD.
    Registry,
    /// The company the name was registered through.
    Registrar,
}

/// Who said something about a registration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Provenance {
    /// By which protocol.
    pub protocol: Protocol,
    /// Registry or registrar.
    pub party: Party,
    /// Host (WHOIS) or base URL (RDAP) that answered.
    pub server: String,
}

/// The sponsoring registrar.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Registrar {
    /// Name as written by the source.
    pub name: Option<String>,
    /// IANA registrar id, decimal digits.
    pub iana_id: Option<String>,
    /// Web address.
    pub url: Option<String>,
    /// Abuse contact, mail.
    pub abuse_email: Option<String>,
    /// Abuse contact, telephone as written.
    pub abuse_phone: Option<String>,
}

impl Registrar {
    /// True when nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Registrar::default()
    }

    /// True when it is another registrar: their IANA ids differ, or, where one states none, their names do after folding
    /// case, punctuation and the legal form.
    pub fn differs_from(&self, other: &Registrar) -> bool {
        match (&self.iana_id, &other.iana_id, &self.name, &other.name) {
            (Some(x), Some(y), ..) => x != y,
            (_, _, Some(x), Some(y)) => !same_company(x, y),
            _ => false,
        }
    }
}

/// A delegation signer record (RFC 4034 section 5), as registries publish it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ds {
    /// Key tag.
    pub key_tag: u16,
    /// DNSSEC algorithm number.
    pub algorithm: u8,
    /// Digest type number.
    pub digest_type: u8,
    /// Digest, upper-case hexadecimal.
    pub digest: String,
}

/// DNSSEC as the registration states it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DnssecStated {
    /// Whether the delegation is signed.
    pub signed: bool,
    /// DS records the source lists, sorted; may be empty even when signed (many WHOIS servers say only "yes").
    pub ds: Vec<Ds>,
}

/// A registration. Only stated fields are `Some`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Registration {
    /// The registered name as an A-label, lower case.
    pub name: Option<String>,
    /// Registry object id (ROID, handle).
    pub registry_id: Option<String>,
    /// The sponsoring registrar.
    pub registrar: Registrar,
    /// The registrar's WHOIS host, where the registry refers to one.
    pub registrar_whois_server: Option<String>,
    /// The registrar's RDAP address of this name (`related` link).
    pub registrar_rdap: Option<String>,
    /// Creation.
    pub created: Option<StatedTime>,
    /// Last change at the registry.
    pub updated: Option<StatedTime>,
    /// Expiration at the registry.
    pub expires: Option<StatedTime>,
    /// Expiration as the registrar states it; may legitimately differ.
    pub registrar_expires: Option<StatedTime>,
    /// Since when `registrar_expires` is out of date: a renewal overtook it, and the registrar has stated none since. It is
    /// shown, and alerts do not follow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registrar_expires_overtaken: Option<Timestamp>,
    /// EPP status codes in camelCase (RFC 8056). `None`: not published; empty: published as none.
    pub statuses: Option<BTreeSet<EppStatus>>,
    /// Name servers: lower case, no final dot, sorted, no addresses.
    pub nameservers: Option<Vec<String>>,
    /// DNSSEC, where stated.
    pub dnssec: Option<DnssecStated>,
    /// Whether the source redacted contact data (RFC 9537 or in words).
    pub redacted: Option<bool>,
    /// Organisation of the registrant, where published.
    pub registrant_organization: Option<String>,
    /// Which source stated which field; keys are the field names of this type (`created`, `registrar`, ...).
    pub provenance: BTreeMap<String, Provenance>,
    /// Values of other sources that differ from the kept one, for showing.
    pub disagreements: Vec<Disagreement>,
    /// What was odd about the answer, for people.
    pub warnings: Vec<String>,
}

/// Seconds by which a registrar's date may be earlier than the registry's and still follow it: some count in another time
/// zone, or show the day on which they charge. One that has not followed a renewal is a year behind.
const REGISTRAR_LAG_S: i64 = 30 * DAY;

/// Status codes of a name on its way to deletion (RFC 3915 section 3.1): whatever its date, it was not renewed.
const DELETION_FLAGS: [&str; 3] = ["redemptionPeriod", "pendingDelete", "pendingRestore"];

impl Registration {
    /// The expiration that alerts follow: the earlier of the registry's and the registrar's, unless a renewal overtook the
    /// registrar's.
    pub fn effective_expires(&self) -> Option<StatedTime> {
        match (self.expires, self.registrar_expires) {
            (Some(a), Some(b)) => {
                let follows = self.registrar_expires_overtaken.is_none() && !b.agrees_with(&a);
                Some(if follows && b.nominal() < a.nominal() { b } else { a })
            }
            (a, b) => a.or(b),
        }
    }

    /// The registrar's expiration, where it is not the registry's.
    pub fn differing_registrar_expires(&self) -> Option<StatedTime> {
        self.registrar_expires.filter(|own| self.expires.is_none_or(|e| !own.agrees_with(&e)))
    }

    /// True when the registrar's date has not followed that of the registry.
    pub fn registrar_lags(&self) -> bool {
        self.expires
            .zip(self.registrar_expires)
            .is_some_and(|(e, own)| e.nominal().as_second() - own.nominal().as_second() > REGISTRAR_LAG_S)
    }

    /// True while the registry's date does not say that the name was renewed: the registrar may still delete it.
    pub fn awaits_renewal(&self) -> bool {
        self.has("autoRenewPeriod") || self.registrar_lags()
    }

    /// True when the name is on its way to deletion.
    pub fn is_being_deleted(&self) -> bool {
        DELETION_FLAGS.iter().any(|flag| self.has(flag))
    }

    /// Keeps beside this registration that another server of the registry denies it.
    pub fn note_denial(&mut self, by: Provenance) {
        let (field, value) = ("outcome".to_string(), "not registered".to_string());
        self.disagreements.push(Disagreement { field, value, by });
    }

    /// True when `status` is published as set.
    pub fn has(&self, status: &str) -> bool {
        self.statuses.as_ref().is_some_and(|s| s.iter().any(|x| x.as_str() == status))
    }
}

/// Another source's differing value of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disagreement {
    /// Field name.
    pub field: String,
    /// The value that was not kept, as text.
    pub value: String,
    /// Who stated it.
    pub by: Provenance,
}

/// What a good look-up says about a name: the part of an observation that may be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", content = "registration", rename_all = "lowercase")]
pub enum RegistrationState {
    /// Registered, with what is published.
    Registered(Box<Registration>),
    /// Not registered.
    Available,
    /// Withheld by the registry.
    Reserved,
}

impl RegistrationState {
    /// The registration, when there is one.
    pub fn registration(&self) -> Option<&Registration> {
        match self {
            RegistrationState::Registered(r) => Some(r),
            _ => None,
        }
    }

    /// The outcome this state stands for.
    pub fn outcome(&self) -> Outcome {
        match self {
            RegistrationState::Registered(_) => Outcome::Registered,
            RegistrationState::Available => Outcome::Available,
            RegistrationState::Reserved => Outcome::Reserved,
        }
    }
}
/// Words that say what kind of company it is, not which.
const LEGAL_FORMS: [&str; 27] = [
    "inc",
    "incorporated",
    "llc",
    "ltd",
    "limited",
    "gmbh",
    "co",
    "kg",
    "corp",
    "corporation",
    "sas",
    "sarl",
    "sa",
    "ab",
    "bv",
    "ag",
    "se",
    "srl",
    "pty",
    "plc",
    "l",
    "c",
    "b",
    "v",
    "s",
    "a",
    "oy",
];

/// True when two names mean one company as far as spelling goes: case, punctuation, the legal form and what it trades as
/// (`d/b/a …`) do not count. A name made of legal forms only is compared whole; one without letters is no one's.
pub fn same_company(a: &str, b: &str) -> bool {
    let (a, b) = (company(a), company(b));
    a == b && !a.is_empty()
}

fn company(name: &str) -> String {
    let lower = name.to_lowercase();
    let formal =
        ["d/b/a", " dba ", " t/a "].iter().fold(lower.as_str(), |n, cut| n.split(cut).next().unwrap_or(n));
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_owned).collect()
    };
    let core: String = words(formal).into_iter().filter(|w| !LEGAL_FORMS.contains(&w.as_str())).collect();
    if core.is_empty() { words(&lower).concat() } else { core }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_company() {
        for (a, b) in [
            ("MARKMONITOR, INC.", "MarkMonitor Inc."),
            ("OVH SAS", "OVH, SAS"),
            ("Gandi SAS", "GANDI"),
            ("A, Inc.", "A INC"),
            ("Sample Ltd d/b/a samples.example", "SAMPLE LIMITED"),
        ] {
            assert!(same_company(a, b), "{a} = {b}");
        }
        for (a, b) in [("Gandi SAS", "OVH SAS"), ("A, Inc.", "B, Inc."), ("", ""), ("-", "?")] {
            assert!(!same_company(a, b), "{a} ≠ {b}");
        }
    }
}
