//! What a look at a service came to.

use super::{CacheStep, ServiceSpec};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// How an expected record stands at the authoritative servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordState {
    /// Every server that answered has it.
    Present,
    /// Nothing of its name and type is there.
    Missing,
    /// Its name and type are there with other data.
    Different,
    /// Records are in the way.
    Conflicting,
    /// A delegation or DNAME above hides the name from this zone.
    Shadowed,
    /// No server answered for it.
    Unknown,
}

impl RecordState {
    /// The word shown to people.
    pub fn label(self) -> &'static str {
        match self {
            RecordState::Present => "Present",
            RecordState::Missing => "Missing",
            RecordState::Different => "Different",
            RecordState::Conflicting => "Conflicting",
            RecordState::Shadowed => "Shadowed",
            RecordState::Unknown => "Unknown",
        }
    }

    /// What it means, in a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            RecordState::Present => "Every authoritative server that answered has the record.",
            RecordState::Missing => "No record of this name and type is there.",
            RecordState::Different => "The name has a record of this type with another value.",
            RecordState::Conflicting => "Other records of this name are in the way.",
            RecordState::Shadowed => {
                "A delegation or DNAME above hides the name: change it in the zone below."
            }
            RecordState::Unknown => "No authoritative server answered for the name.",
        }
    }
}

/// Where a service stands as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceState {
    /// All records are there.
    Working,
    /// Some are.
    Partial,
    /// None is.
    NotSetUp,
    /// All were there once, and no longer are.
    Drifted,
    /// The servers did not answer.
    Unknown,
}

impl ServiceState {
    /// The word shown to people.
    pub fn label(self) -> &'static str {
        match self {
            ServiceState::Working => "Working",
            ServiceState::Partial => "Incomplete",
            ServiceState::NotSetUp => "Not set up",
            ServiceState::Drifted => "Drifted",
            ServiceState::Unknown => "Unknown",
        }
    }

    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            ServiceState::Working => "working",
            ServiceState::Partial => "partial",
            ServiceState::NotSetUp => "not_set_up",
            ServiceState::Drifted => "drifted",
            ServiceState::Unknown => "unknown",
        }
    }

    /// Reads the stable word.
    pub fn from_word(word: &str) -> Option<ServiceState> {
        use ServiceState::{Drifted, NotSetUp, Partial, Unknown, Working};
        [Working, Partial, NotSetUp, Drifted, Unknown].into_iter().find(|s| s.as_str() == word)
    }
}

/// A record that a server has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveRecord {
    /// Absolute name without the final dot.
    pub name: String,
    /// Type.
    #[serde(rename = "type")]
    pub rtype: String,
    /// Value as people type it.
    pub value: String,
    /// TTL in seconds.
    pub ttl: Option<u32>,
}

/// A fault of copying, recognised by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyFault {
    /// The stable word (`zone_appended_twice`).
    pub kind: String,
    /// Its name (`Zone appended twice`).
    pub label: String,
    /// What is wrong and what to do, in a sentence.
    pub sentence: String,
    /// The record as it is.
    pub live: LiveRecord,
    /// Host to enter instead.
    pub host: String,
    /// Type to choose instead.
    #[serde(rename = "type")]
    pub rtype: String,
    /// Value to enter instead.
    pub value: String,
}

/// A hint beside a field of the provider's form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FormHints {
    /// Beside the host: what the provider adds by itself.
    pub host: String,
    /// Beside the value: dots, quotes.
    pub value: String,
    /// Beside the TTL: how the provider shows it.
    pub ttl: String,
}

/// An expected record and how it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordCheck {
    /// Type as the provider calls it (`ALIAS`).
    #[serde(rename = "type")]
    pub rtype: String,
    /// Host as it is typed into the provider's form.
    pub host: String,
    /// Absolute name without the final dot.
    pub name: String,
    /// Value as it is typed into the provider's form.
    pub value: String,
    /// TTL to start with, in seconds.
    pub ttl: u32,
    /// What to mind at this provider.
    pub hints: FormHints,
    /// How it stands.
    pub state: RecordState,
    /// Live records the state is about.
    pub live: Vec<LiveRecord>,
    /// Faults of copying that were recognised.
    pub faults: Vec<CopyFault>,
    /// Servers that have it.
    pub present_on: u32,
    /// Servers that answered for it.
    pub answered: u32,
}

/// What a change does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeAction {
    /// A new record.
    Create,
    /// Another value for a record that exists.
    Change,
    /// A record that has to go.
    Delete,
}

impl ChangeAction {
    /// The word shown to people.
    pub fn label(self) -> &'static str {
        match self {
            ChangeAction::Create => "Create",
            ChangeAction::Change => "Change",
            ChangeAction::Delete => "Delete",
        }
    }
}

/// One change of the zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedChange {
    /// What it does.
    pub action: ChangeAction,
    /// Type as the provider calls it.
    #[serde(rename = "type")]
    pub rtype: String,
    /// Host as it is typed into the provider's form.
    pub host: String,
    /// Absolute name without the final dot.
    pub name: String,
    /// Values that go.
    pub old: Vec<String>,
    /// Values that come.
    pub new: Vec<String>,
    /// TTL to set, in seconds; nothing for a deletion.
    pub ttl: Option<u32>,
    /// Longest TTL of what goes, in seconds.
    pub old_ttl: Option<u32>,
    /// Why, in a sentence.
    pub why: String,
}

/// The changes in the format of another program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// The stable word (`bind`).
    pub format: String,
    /// Its name (`BIND zone`).
    pub label: String,
    /// Name of a file for it.
    pub file: String,
    /// The text.
    pub text: String,
}

/// One server × address and what it has of the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCheck {
    /// Host name.
    pub server: String,
    /// Address; `None` when the name has none.
    pub address: Option<IpAddr>,
    /// SOA serial of the zone there.
    pub serial: Option<u32>,
    /// Expected records it has; `None` when it did not answer.
    pub present: Option<u32>,
    /// Why it did not answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub problem: String,
}

/// What the DNS provider's forms are like, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProviderForm {
    /// The provider's name; empty when it is not known.
    pub name: String,
    /// Where records are edited (`DNS › Records`).
    pub place: String,
    /// Whether ALIAS, ANAME or a flattened CNAME exist; `None`: not known.
    pub alias: Option<bool>,
    /// What the provider calls it.
    pub alias_type: String,
    /// Label of the field for the name; empty: not known.
    pub host_label: String,
    /// Label of the field for the value; empty: not known.
    pub value_label: String,
    /// Facts to mind, each a sentence.
    pub notes: Vec<String>,
    /// Where the facts come from.
    pub source: String,
}

/// The way to apply a template at the provider in one click.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyLink {
    /// The provider's name for itself.
    pub provider: String,
    /// Where the user is sent.
    pub url: String,
    /// Whether the request is signed.
    pub signed: bool,
}

/// A look at one service on one domain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServiceReport {
    /// The domain, A-labels.
    pub domain: String,
    /// The domain as people read it.
    pub unicode: String,
    /// The service as it was described.
    pub spec: ServiceSpec,
    /// Its title (`Web gateway`, or what the template is called).
    pub title: String,
    /// What it is for, in a few words.
    pub about: String,
    /// Where it stands.
    pub state: ServiceState,
    /// The verdict in a sentence.
    pub sentence: String,
    /// The DNS provider and its forms.
    pub provider: ProviderForm,
    /// Expected records.
    pub records: Vec<RecordCheck>,
    /// What to create, change and delete.
    pub changes: Vec<PlannedChange>,
    /// What is allowed but likely to be wrong, each a sentence.
    pub warnings: Vec<String>,
    /// When caches agree if the changes are made now; empty without changes.
    pub caches: Vec<CacheStep>,
    /// The changes in formats of other programs.
    pub exports: Vec<Export>,
    /// The authoritative servers.
    pub servers: Vec<ServerCheck>,
    /// One click at the provider, where it is supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apply: Option<ApplyLink>,
    /// Why there is no one click, for those who expect it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub no_apply: String,
    /// When the servers were asked.
    pub checked_at: Timestamp,
}

impl ServiceReport {
    /// Expected records that are present.
    pub fn present(&self) -> usize {
        self.records.iter().filter(|r| r.state == RecordState::Present).count()
    }

    /// Servers that answered, and all of them.
    pub fn answered(&self) -> (usize, usize) {
        (self.servers.iter().filter(|s| s.present.is_some()).count(), self.servers.len())
    }
}

/// A live value in parts, `true` for what does not belong there: text around the right value.
pub fn excess(live: &str, right: &str) -> Vec<(String, bool)> {
    let part = |text: &str, wrong: bool| (!text.is_empty()).then(|| (text.to_string(), wrong));
    match live.find(right).filter(|_| !right.is_empty() && live != right) {
        Some(at) => {
            let end = at + right.len();
            [part(&live[..at], true), part(right, false), part(&live[end..], true)]
                .into_iter()
                .flatten()
                .collect()
        }
        None => vec![(live.to_string(), false)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_in_a_value_is_marked() {
        let marked = |live, right| {
            let parts = excess(live, right);
            parts.into_iter().map(|(t, wrong)| if wrong { format!("[{t}]") } else { t }).collect::<String>()
        };
        assert_eq!(marked("\"v=STSv1\"", "v=STSv1"), "[\"]v=STSv1[\"]");
        assert_eq!(marked("www.a.example.a.example", "www.a.example"), "www.a.example[.a.example]");
        assert_eq!(marked("192.0.2.1", "192.0.2.9"), "192.0.2.1");
        assert_eq!(marked("same", "same"), "same");
    }

    #[test]
    fn states_read_back() {
        for state in ["working", "partial", "not_set_up", "drifted", "unknown"] {
            assert_eq!(ServiceState::from_word(state).unwrap().as_str(), state);
        }
    }
}
