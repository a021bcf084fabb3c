//! What the audit log says about objects of the resource API: parts, so that an entry names those that changed.

use super::{StoredNetworkClaim, held};
use crate::accounts::audit;
use crate::api::Result;
use crate::db::Tx;
use crate::items::By;
use serde_json::Value;
use std::collections::HashSet;

/// Characters of a part in an entry; the rest is cut.
const PART_MAX: usize = 200;
/// Octets of the parts of an entry, which the log would cut at 1,000 characters; the others are counted.
const ENTRY_MAX: usize = 960;
/// What the client-side apply of kubectl keeps for itself: a copy of all the rest.
const BOOKKEEPING: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The metadata of an object that clients write, from its JSON text: finalizers, labels, annotations, owners, and whether it
/// is to be deleted.
pub(crate) fn metadata_parts(metadata: &str) -> Vec<String> {
    let metadata: Value = serde_json::from_str(metadata).unwrap_or_default();
    let list = |key: &str| metadata[key].as_array().cloned().unwrap_or_default();
    let map = |key: &str| metadata[key].as_object().cloned().unwrap_or_default();
    let word = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    let mut parts = Vec::new();
    parts.extend(metadata["deletionTimestamp"].as_str().map(|at| format!("to be deleted since {at}")));
    parts.extend(list("finalizers").iter().map(|f| format!("finalizer: {}", word(f))));
    parts.extend(map("labels").iter().map(|(k, v)| format!("label: {k}={}", word(v))));
    let annotations = map("annotations");
    let shown = annotations.iter().filter(|(k, _)| *k != BOOKKEEPING);
    parts.extend(shown.map(|(k, v)| format!("annotation: {k}={}", word(v))));
    parts.extend(
        list("ownerReferences").iter().map(|r| format!("owner: {} {}", word(&r["kind"]), word(&r["name"]))),
    );
    parts
}

/// What a claim asks for and holds, and its metadata.
fn claim_parts(claim: &StoredNetworkClaim) -> Vec<String> {
    let mut parts: Vec<String> = held(&claim.status).iter().map(|(p, _)| format!("holds {p}")).collect();
    for request in &claim.spec.address_space {
        let what = match (&request.prefix, &request.from, request.prefix_length) {
            (Some(prefix), _, _) => prefix.clone(),
            (None, from, length) => {
                let length = length.map_or_else(String::new, |l| format!("/{l} "));
                format!("{length}out of {}", from.as_deref().unwrap_or_default())
            }
        };
        let by = [request.reference.group.as_str(), request.reference.resource.as_str()];
        let by: Vec<_> = by.into_iter().filter(|word| !word.is_empty()).collect();
        let description = if request.description.is_empty() { "" } else { ": " };
        parts.push(format!("asks for {what} for {}{description}{}", by.join("/"), request.description));
    }
    parts.extend(metadata_parts(&claim.metadata));
    parts
}

/// Parts that only the old state has, and those that only the new one has: what an entry says.
pub(crate) fn differences(old: &[String], new: &[String]) -> (Option<String>, Option<String>) {
    let only = |these: &[String], others: &[String]| {
        let others: HashSet<&String> = others.iter().collect();
        let cut = |part: &String| part.chars().take(PART_MAX).collect::<String>();
        let parts: Vec<_> = these.iter().filter(|part| !others.contains(part)).map(cut).collect();
        let mut text = String::new();
        for (n, part) in parts.iter().enumerate() {
            if text.len() + part.len() > ENTRY_MAX {
                text.push_str(&format!("; and {} more", parts.len() - n));
                break;
            }
            text.push_str(if n == 0 { "" } else { "; " });
            text.push_str(part);
        }
        (!text.is_empty()).then_some(text)
    };
    (only(old, new), only(new, old))
}

/// Writes the entry of the audit log about a claim before and after a change, if what people write or what it holds changed.
pub(super) async fn noted(
    tx: &mut Tx,
    by: &By<'_>,
    action: &str,
    (before, after): (Option<&StoredNetworkClaim>, Option<&StoredNetworkClaim>),
) -> Result<()> {
    let parts = |claim: Option<&StoredNetworkClaim>| claim.map(claim_parts).unwrap_or_default();
    let (was, is) = differences(&parts(before), &parts(after));
    if before.is_some() && after.is_some() && was.is_none() && is.is_none() {
        return Ok(());
    }
    let name = before.or(after).map(|claim| claim.name.clone()).unwrap_or_default();
    audit::append(tx, (by.org, by.actor, by.now), action, &[(name, was, is)]).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_names_what_changed_and_nothing_else() {
        let old = r#"{"labels":{"team":"web","tier":"1"},"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}}"#;
        let new = r#"{"labels":{"team":"edge","tier":"1"},"finalizers":["a.example/x"],"managedFields":[{}],"generation":2}"#;
        let (was, is) = differences(&metadata_parts(old), &metadata_parts(new));
        assert_eq!(was.as_deref(), Some("label: team=web"));
        assert_eq!(is.as_deref(), Some("finalizer: a.example/x; label: team=edge"));
        assert_eq!(differences(&metadata_parts(old), &metadata_parts(old)), (None, None));
        let long = metadata_parts(&format!(r#"{{"annotations":{{"a":"{}"}}}}"#, "x".repeat(5000)));
        assert_eq!(differences(&[], &long).1.unwrap().len(), PART_MAX);
        let many: Vec<String> = (0..256).map(|n| format!("holds 10.20.{n}.0/24")).collect();
        let (was, _) = differences(&many, &[]);
        let was = was.unwrap();
        let listed = was.matches("holds ").count();
        assert!(was.len() < 1_000 && was.ends_with(&format!("; and {} more", 256 - listed)), "{was}");
    }
}
