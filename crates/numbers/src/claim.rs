//! Claims: what a component asks for, the form of the registry's decision, and the rules a claim must keep by itself.

use crate::prefix::{is_v4, overlaps, parse};
use ipnet::IpNet;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Longest description, in characters.
pub const DESCRIPTION_MAX: usize = 255;
/// Most requests of one claim.
pub const REQUESTS_MAX: usize = 256;
/// Longest group or resource of a reference, in characters.
pub const REFERENCE_MAX: usize = 253;

/// The component that uses a prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Reference {
    /// API group or system, such as `apps` or `kube-apiserver`.
    pub group: String,
    /// Resource in it, such as `services`.
    pub resource: String,
}

/// One prefix that is asked for: an exact `prefix`, or any of `prefix_length` bits out of the block `from`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AddressRequest {
    /// An exact prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The block to take it from. With `prefix`, the prefix must lie inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The length wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_length: Option<u8>,
    /// The component that uses it.
    pub reference: Reference,
    /// What it is for; at most [`DESCRIPTION_MAX`] characters.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// What a claim asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimSpec {
    /// The prefixes, all or none of which are allocated.
    pub address_space: Vec<AddressRequest>,
}

/// Whether a record's prefix is the claim's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordState {
    /// It is.
    Allocated,
    /// It is not; the record says why.
    Unavailable,
}

/// The decision about one request, in the order of the requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddressRecord {
    /// The prefix; absent when a block had none of the length wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The component that uses it.
    pub reference: Reference,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// When it was allocated or refused.
    pub date: Timestamp,
    /// Allocated or not.
    pub status: RecordState,
    /// Why not, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The claim of the same organisation that holds the addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
    /// What that claim holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_prefix: Option<String>,
}

/// How the message of a record begins whose own prefix is free, and whose claim is refused for another one. Stored messages
/// of earlier versions begin so, too.
const FREE_BUT_REFUSED: &str = "Free, but a claim is allocated as a whole";

/// Why such a record is not allocated: what its claim is refused for.
pub(crate) fn free_but_refused(cause: &str) -> String {
    format!("{FREE_BUT_REFUSED}. Change or remove {cause}.")
}

impl AddressRecord {
    /// True when it is itself what its claim is refused for, rather than free and refused with another record.
    pub fn is_conflict(&self) -> bool {
        self.status == RecordState::Unavailable
            && !self.message.as_deref().is_some_and(|m| m.starts_with(FREE_BUT_REFUSED))
    }
}

/// The registry's decision about a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimStatus {
    /// One record for each request.
    pub address_space: Vec<AddressRecord>,
    /// Since when the claim is allocated, or is not; `None` in a status of an earlier version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

impl ClaimStatus {
    /// True when every record is allocated. A claim that asks for nothing is.
    pub fn is_allocated(&self) -> bool {
        self.address_space.iter().all(|r| r.status == RecordState::Allocated)
    }

    /// Since when it is allocated or is not, as far as the records of an earlier version tell; `None` without records.
    pub fn known_since(&self) -> Option<Timestamp> {
        self.since.or_else(|| self.address_space.iter().map(|r| r.date).max())
    }

    /// Prefixes that the claim holds.
    pub fn allocated(&self) -> impl Iterator<Item = (IpNet, &AddressRecord)> {
        let allocated = self.address_space.iter().filter(|r| r.status == RecordState::Allocated);
        allocated.filter_map(|r| Some((r.prefix.as_deref()?.parse().ok()?, r)))
    }

    /// Prefixes that the claim holds for a component: the services ranges of `kube-apiserver`, for instance.
    pub fn held_for(&self, reference: &Reference) -> impl Iterator<Item = IpNet> {
        self.allocated().filter(move |(_, r)| r.reference == *reference).map(|(p, _)| p)
    }
}

/// A field of a claim that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct SpecError {
    /// Path of the field.
    pub field: String,
    /// The value, shortened.
    pub value: String,
    /// The rule it breaks.
    pub rule: String,
}

/// A request whose texts were read.
pub(crate) struct Read {
    pub(crate) prefix: Option<IpNet>,
    pub(crate) from: Option<IpNet>,
    pub(crate) len: Option<u8>,
}

pub(crate) fn read(request: &AddressRequest, at: usize) -> Result<Read, Vec<SpecError>> {
    let mut errors = Vec::new();
    let mut wrong = |field: &str, value: &str, rule: String| {
        let field = format!("spec.addressSpace[{at}]{}{field}", if field.is_empty() { "" } else { "." });
        errors.push(SpecError { field, value: value.chars().take(80).collect(), rule });
    };
    let mut net = |field: &str, text: &Option<String>| {
        let text = text.as_deref()?;
        parse(text).map_err(|e| wrong(field, text, e.to_string())).ok()
    };
    let (prefix, from) = (net("prefix", &request.prefix), net("from", &request.from));
    match (&request.prefix, &request.from, request.prefix_length) {
        (None, None, _) => wrong("", "", "needs prefix, or from and prefixLength".into()),
        (None, Some(_), None) => {
            wrong("prefixLength", "", "required when only the block (from) is given".into());
        }
        (Some(_), _, Some(len)) if prefix.is_some_and(|p| p.prefix_len() != len) => {
            wrong("prefixLength", &len.to_string(), "differs from the length of prefix".into());
        }
        _ => {}
    }
    if let (Some(prefix), Some(from)) = (&prefix, &from) {
        if is_v4(prefix) != is_v4(from) {
            let (p, f) = if is_v4(prefix) { ("IPv4", "IPv6") } else { ("IPv6", "IPv4") };
            wrong("prefix", &prefix.to_string(), format!("is {p}, the block {from} is {f}"));
        } else if !from.contains(prefix) {
            wrong("prefix", &prefix.to_string(), format!("lies outside the block {from}"));
        }
    }
    if let (Some(from), Some(len), None) = (&from, request.prefix_length, &request.prefix)
        && (len < from.prefix_len() || len > from.max_prefix_len())
    {
        let rule =
            format!("must be from {} to {} in the block {from}", from.prefix_len(), from.max_prefix_len());
        wrong("prefixLength", &len.to_string(), rule);
    }
    let characters = request.description.chars().count();
    if characters > DESCRIPTION_MAX {
        wrong(
            "description",
            &request.description,
            format!("has {characters} characters, at most {DESCRIPTION_MAX} are allowed"),
        );
    }
    for (field, text) in
        [("reference.group", &request.reference.group), ("reference.resource", &request.reference.resource)]
    {
        if text.chars().count() > REFERENCE_MAX || text.chars().any(char::is_control) {
            wrong(
                field,
                text,
                format!("must be at most {REFERENCE_MAX} characters without control characters"),
            );
        }
    }
    if request.reference.resource.trim().is_empty() {
        wrong("reference.resource", "", "required: the component that uses the prefix".into());
    }
    if errors.is_empty() { Ok(Read { prefix, from, len: request.prefix_length }) } else { Err(errors) }
}

/// Every rule that a claim breaks by itself, whatever else is allocated.
pub fn validate(spec: &ClaimSpec) -> Vec<SpecError> {
    let whole = |value: usize, rule: &str| SpecError {
        field: "spec.addressSpace".into(),
        value: value.to_string(),
        rule: rule.into(),
    };
    if spec.address_space.is_empty() {
        return vec![whole(0, "needs at least one entry")];
    }
    if spec.address_space.len() > REQUESTS_MAX {
        return vec![whole(spec.address_space.len(), "has more than 256 entries")];
    }
    let mut errors = Vec::new();
    let mut exact: Vec<(usize, IpNet)> = Vec::new();
    for (at, request) in spec.address_space.iter().enumerate() {
        match read(request, at) {
            Err(e) => errors.extend(e),
            Ok(Read { prefix: Some(prefix), .. }) => {
                if let Some((i, other)) = exact.iter().find(|(_, p)| overlaps(p, &prefix)) {
                    errors.push(SpecError {
                        field: format!("spec.addressSpace[{at}].prefix"),
                        value: prefix.to_string(),
                        rule: format!("overlaps {other} of spec.addressSpace[{i}]"),
                    });
                }
                exact.push((at, prefix));
            }
            Ok(_) => {}
        }
    }
    errors
}

/// The prefixes that a status grants, in the order of the requests, once it grants all that the spec asks for. A component
/// checks with it what a registry answered before it uses the addresses.
///
/// # Errors
/// The first record that is not allocated, or that is not what its request asks for, with the registry's message.
pub fn granted(spec: &ClaimSpec, status: &ClaimStatus) -> Result<Vec<IpNet>, SpecError> {
    let wrong = |at: usize, value: &str, rule: String| SpecError {
        field: format!("status.addressSpace[{at}]"),
        value: value.to_string(),
        rule,
    };
    let mut granted: Vec<IpNet> = Vec::new();
    for (at, request) in spec.address_space.iter().enumerate() {
        let asked = read(request, at).map_err(|mut errors| errors.swap_remove(0))?;
        let Some(record) = status.address_space.get(at) else {
            return Err(wrong(at, "", "is missing: the registry has not decided about it".into()));
        };
        let text = record.prefix.as_deref().unwrap_or_default();
        if record.status != RecordState::Allocated {
            let message = record.message.clone().unwrap_or_else(|| "is unavailable".into());
            return Err(wrong(at, text, message));
        }
        let prefix = parse(text).map_err(|e| wrong(at, text, e.to_string()))?;
        let is_asked_for = asked.prefix.is_none_or(|p| p == prefix)
            && asked.from.is_none_or(|from| from.contains(&prefix))
            && asked.len.is_none_or(|len| len == prefix.prefix_len());
        if !is_asked_for || record.reference != request.reference {
            return Err(wrong(at, text, format!("is not what spec.addressSpace[{at}] asks for")));
        }
        if let Some(other) = granted.iter().find(|p| overlaps(p, &prefix)) {
            return Err(wrong(at, text, format!("overlaps {other} of the same claim")));
        }
        granted.push(prefix);
    }
    Ok(granted)
}
