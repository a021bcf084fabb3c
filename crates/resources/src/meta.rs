//! Metadata: what clients write, what the server sets, and the rules of names, labels and annotations.

use crate::kind::Kind;
use crate::schema::Violation;
use jiff::Timestamp;
use model::ids::{LogPosition, OrgId};
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

/// Keys of metadata that are stored; all others are computed or fixed.
const STORED: [&str; 9] = [
    "generateName",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];
/// Longest sum of all annotations of an object, octets.
pub(crate) const ANNOTATIONS_MAX: usize = 256 << 10;

/// The identity of an object: the same name created again has another one.
pub(crate) fn uid(kind: &str, org: OrgId, name: &str, created: Timestamp) -> String {
    let text = format!("{kind}/{org}/{name}/{}", created.as_microsecond());
    let hash = digest(&SHA256, text.as_bytes());
    let mut bytes = [0u8; 16];
    bytes.copy_from_slice(&hash.as_ref()[..16]);
    // The form of a UUID of version 8 (RFC 9562): made from data of our own.
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = data_encoding::HEXLOWER.encode(&bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// An instant to the second, as Kubernetes writes it.
pub(crate) fn instant(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A condition of a status: its type, whether it holds (`True`, `False`, `Unknown`), why, and since when.
pub(crate) fn condition(
    (kind, holds): (&str, &str),
    reason: &str,
    message: &str,
    generation: &Value,
    at: Timestamp,
) -> Value {
    json!({
        "type": kind, "status": holds, "reason": reason, "message": message,
        "observedGeneration": generation, "lastTransitionTime": instant(at),
    })
}

/// The parts of an object's metadata that are computed.
pub(crate) struct Identity<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) org: OrgId,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) rv: LogPosition,
    pub(crate) created: Timestamp,
}

/// The metadata of an object from its identity and the stored part.
pub(crate) fn metadata(identity: &Identity<'_>, stored: &str) -> Value {
    let mut map: Map<String, Value> = serde_json::from_str(stored).unwrap_or_default();
    map.insert("name".into(), identity.name.into());
    if identity.kind.is_namespaced {
        map.insert("namespace".into(), identity.namespace.into());
    }
    map.insert("uid".into(), uid(identity.kind.name, identity.org, identity.name, identity.created).into());
    map.insert("resourceVersion".into(), identity.rv.0.to_string().into());
    map.insert("creationTimestamp".into(), instant(identity.created).into());
    map.entry("generation").or_insert(json!(1));
    Value::Object(map)
}

/// The stored part of an object's metadata as JSON text.
pub(crate) fn stored(object: &Value) -> String {
    let mut kept = Map::new();
    for key in STORED {
        if let Some(value) = object["metadata"].get(key).filter(|v| !is_empty(v)) {
            kept.insert(key.into(), value.clone());
        }
    }
    Value::Object(kept).to_string()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(a) => a.is_empty(),
        Value::Object(o) => o.is_empty(),
        _ => false,
    }
}

/// True for an RFC 1123 subdomain.
pub(crate) fn is_subdomain(name: &str) -> bool {
    let label = |l: &str| {
        let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
        l.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && edge(l.as_bytes().first())
            && edge(l.as_bytes().last())
    };
    name.len() <= 253 && name.split('.').all(label)
}

/// True for what the name of an object may begin with.
fn is_prefix(prefix: &str) -> bool {
    is_subdomain(&format!("{prefix}x"))
}

/// True for a label key: an optional DNS prefix, a slash, and up to 63 characters.
pub(crate) fn is_key(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(p, n)| (Some(p), n));
    prefix.is_none_or(is_subdomain) && is_label_word(name)
}

pub(crate) fn is_label_word(word: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    word.len() <= 63
        && word.bytes().all(inner)
        && edge(word.as_bytes().first())
        && edge(word.as_bytes().last())
}

/// Octets of all annotations of an object.
pub(crate) fn annotations_size(object: &Value) -> usize {
    let all = object["metadata"]["annotations"].as_object();
    all.into_iter().flatten().map(|(k, v)| k.len() + v.as_str().map_or(0, str::len)).sum()
}

/// Rules that metadata breaks.
pub(crate) fn check(object: &Value) -> Vec<Violation> {
    let mut out = Vec::new();
    let meta = &object["metadata"];
    if let Some(name) = meta["name"].as_str().filter(|n| !is_subdomain(n)) {
        let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
                    and must start and end with an alphanumeric character";
        out.push(Violation::invalid("metadata.name", name, rule));
    }
    // A name is generated after the prefix, so that it may end in a hyphen.
    if let Some(prefix) = meta["generateName"].as_str().filter(|p| !p.is_empty() && !is_prefix(p)) {
        let rule = "must consist of lower case letters, digits, '-' or '.', and begin with a letter or digit";
        out.push(Violation::invalid("metadata.generateName", prefix, rule));
    }
    let texts = |key: &str| meta[key].as_object().cloned().unwrap_or_default();
    for (key, value) in texts("labels") {
        let value = value.as_str().unwrap_or_default().to_string();
        if !is_key(&key) {
            out.push(Violation::invalid("metadata.labels", &key, "is not a valid label key"));
        } else if !value.is_empty() && !is_label_word(&value) {
            let rule = "a label value has at most 63 letters, digits, '-', '_' or '.', and starts and ends with a letter or digit";
            out.push(Violation::invalid(format!("metadata.labels[{key}]"), &value, rule));
        }
    }
    let annotations = texts("annotations");
    for key in annotations.keys().filter(|k| !is_key(&k.to_lowercase())) {
        out.push(Violation::invalid("metadata.annotations", key, "is not a valid annotation key"));
    }
    let size = annotations_size(object);
    if size > ANNOTATIONS_MAX {
        let rule = format!("annotations may have at most {ANNOTATIONS_MAX} octets together");
        out.push(Violation::invalid("metadata.annotations", &size.to_string(), rule));
    }
    out
}

/// Longest prefix that a name is generated after.
const PREFIX_MAX: usize = 58;

/// A name after the prefix of `generateName`: letters and digits that form no words.
pub(crate) fn generated(prefix: &str) -> String {
    use rand::seq::IndexedRandom;
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut rng = rand::rng();
    let suffix: String = (0..5).filter_map(|_| LETTERS.choose(&mut rng)).map(|b| char::from(*b)).collect();
    let prefix: String = prefix.chars().take(PREFIX_MAX).collect();
    format!("{prefix}{suffix}")
}
