//! Incidents of PagerDuty (Events API v2): one for each domain and subject, opened by what is wrong and resolved by the event
//! that ends it. Both have the same key, so that what is sent again changes nothing.

use crate::message::{Message, Part, clip};
use crate::payload::plain;
use data_encoding::HEXLOWER;
use model::ending::subject_words;
use model::event::{Event, Severity};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Incidents of one message; what is beyond them is one more.
const INCIDENTS: usize = 100;
/// Longest key, in characters.
const KEY_MAX: usize = 255;

/// The requests for a message, each with its part of the message.
pub(crate) fn incidents(m: &Message, key: &str) -> Vec<(String, Value)> {
    let mut found: Vec<(&Part, Vec<&Event>)> = Vec::new();
    for part in &m.parts {
        let mut subjects: BTreeMap<String, Vec<&Event>> = BTreeMap::new();
        for e in &part.events {
            subjects.entry(subject_words(&e.change)).or_default().push(e);
        }
        found.extend(subjects.into_values().map(|events| (part, events)));
    }
    let more = found.split_off(found.len().min(INCIDENTS));
    let mut out: Vec<_> = found.iter().map(|(part, events)| incident(m, key, part, events)).collect();
    if m.test || !more.is_empty() {
        let whole = json!({ "events": plain(m, 50), "rules": m.rules });
        let source = m.parts.first().map_or_else(|| "Domainscope".to_string(), |p| p.domain.to_string());
        let body = request(
            m,
            key,
            ("trigger", &clip(&m.id, KEY_MAX)),
            (&m.subject(), &source, m.severity()),
            &whole,
        );
        out.push((m.id.clone(), body));
    }
    out
}

/// One incident: what the last of its events says counts.
fn incident(m: &Message, key: &str, part: &Part, events: &[&Event]) -> (String, Value) {
    let Some(last) = events.iter().max_by_key(|e| e.id) else { return (String::new(), Value::Null) };
    let is_over = part.over.contains_key(&last.id) || part.endings.get(&last.id).is_some_and(|e| e.is_clear);
    let action = if is_over { "resolve" } else { "trigger" };
    let dedup = dedup_key(m, part, last);
    let summary = format!("{}: {}", part.unicode(), last.change.headline());
    let severity = events.iter().map(|e| e.change.severity).max().unwrap_or_default();
    let mut sentences: Vec<_> = events.iter().map(|e| clip(&e.change.sentence(), 700)).collect();
    sentences.truncate(50);
    let details = json!({ "events": sentences, "rules": m.rules });
    let body = request(m, key, (action, &dedup), (&summary, part.domain.as_str(), severity), &details);
    // What another attempt leaves out: the names of incidents are longer.
    (format!("{action} {}", last.id.0), body)
}

/// The same for all events of a domain about the same subject, in this organisation of this installation.
fn dedup_key(m: &Message, part: &Part, event: &Event) -> String {
    let key = format!("{}/{}/{}/{}", m.cluster, m.org, part.domain, subject_words(&event.change));
    if key.chars().count() <= KEY_MAX {
        return key;
    }
    HEXLOWER.encode(ring::digest::digest(&ring::digest::SHA256, key.as_bytes()).as_ref())
}

fn request(
    m: &Message,
    key: &str,
    (action, dedup): (&str, &str),
    (summary, source, severity): (&str, &str, Severity),
    details: &Value,
) -> Value {
    let severity = match severity {
        Severity::Critical => "critical",
        Severity::Warning => "warning",
        Severity::Notice | Severity::Info => "info",
    };
    let links: Vec<Value> = m
        .main_link()
        .map(|href| json!({ "href": href, "text": "Open in Domainscope" }))
        .into_iter()
        .collect();
    json!({
        "routing_key": key,
        "event_action": action,
        "dedup_key": dedup,
        "client": "Domainscope",
        "payload": {
            "summary": clip(summary, 1024),
            "source": source,
            "severity": severity,
            "timestamp": m.at.to_string(),
            "group": m.organisation,
            "custom_details": details,
        },
        "links": links,
    })
}
