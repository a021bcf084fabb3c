//! `DomainEvent`: an entry of the event log. Read-only.

use crate::failure::Failure;
use crate::kind::{Kind, Verb, column};
use crate::meta::{self, Identity, instant};
use crate::schema::text;
use crate::store::{Objects, Storage};
use async_trait::async_trait;
use model::event::Event;
use model::ids::{EventId, LogPosition, OrgId};
use model::scan::LogEntry;
use serde_json::{Value, json};
use service::policy::Action;

/// The kind.
pub static DOMAIN_EVENT: Kind = Kind {
    name: "DomainEvent",
    plural: "domainevents",
    singular: "domainevent",
    short: &["domev"],
    description: "A change of a domain that was detected: an entry of the event log.",
    is_namespaced: true,
    log_kind: "event",
    columns: &[
        column("Last Seen", "date", 0, ".spec.time", "Time since it was detected."),
        column("Severity", "string", 0, ".spec.severity", "How much it asks for attention."),
        column("Reason", "string", 0, ".spec.reason", "What kind of change it is."),
        column("Domain", "string", 0, ".spec.domain", "The domain."),
        column("Message", "string", 0, ".spec.message", "What changed, in a sentence."),
    ],
    schema,
    selectable: &["spec.domain", "spec.reason", "spec.severity"],
    selectable_list: None,
    action: |verb| match verb {
        Verb::Get | Verb::List => Some(Action::EventObjects),
        Verb::Watch => Some(Action::Changes),
        _ => None,
    },
    status_action: None,
    validate: |_, _| Vec::new(),
    storage: &Events,
};

fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "spec": {
                "type": "object",
                "description": "What happened. It never changes.",
                "properties": {
                    "domain": text("The domain."),
                    "time": { "type": "string", "format": "date-time", "description": "When it was detected." },
                    "reason": text("Stable word for the kind of change, such as registrar_changed."),
                    "severity": { "type": "string", "enum": ["info", "notice", "warning", "critical"], "description": "How much it asks for attention." },
                    "field": text("The field that differs."),
                    "old": text("The value before."),
                    "new": text("The value after."),
                    "source": text("Who stated the new value."),
                    "message": text("What changed, in a sentence."),
                    "cluster": text("Identity of the installation that detected it (id.k8s.io)."),
                    "clusterset": text("The set that the installation was a member of (clusterset.k8s.io)."),
                },
            },
            "status": {
                "type": "object",
                "description": "Who has seen it.",
                "properties": {
                    "acknowledgedBy": text("Who acknowledged it."),
                    "acknowledgedTime": { "type": "string", "format": "date-time", "description": "When." },
                },
            },
        },
    })
}

/// The name of an event's object.
fn name(id: EventId) -> String {
    format!("event-{}", id.0)
}

/// The identifier in the name of an event's object.
fn id(name: &str) -> Option<EventId> {
    let digits = name.strip_prefix("event-").filter(|d| !d.starts_with(['+', '-', '0']))?;
    digits.parse().ok().map(EventId)
}

/// The object of an event; `rv` is the position of its newest log entry.
fn object(org: OrgId, namespace: &str, event: &Event, rv: LogPosition) -> Value {
    let name = name(event.id);
    let identity = Identity { kind: &DOMAIN_EVENT, org, namespace, name: &name, rv, created: event.at };
    let mut object = json!({
        "apiVersion": Kind::api_version(),
        "kind": DOMAIN_EVENT.name,
        "metadata": meta::metadata(&identity, "{}"),
        "spec": {
            "domain": event.domain.as_str(),
            "time": instant(event.at),
            "reason": event.change.kind.as_str(),
            "severity": event.change.severity.as_str(),
            "field": event.change.field,
            "old": event.change.old,
            "new": event.change.new,
            "source": event.change.source,
            "message": event.change.sentence(),
            "cluster": event.cluster,
            "clusterset": event.clusterset,
        },
        "status": {},
    });
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.retain(|_, v| !v.is_null());
    }
    if let Some(seen) = &event.acknowledged {
        object["status"] = json!({ "acknowledgedBy": seen.by, "acknowledgedTime": instant(seen.at) });
    }
    object
}

struct Events;

#[async_trait]
impl Storage for Events {
    async fn get(&self, objects: &Objects, name: &str) -> Result<Option<Value>, Failure> {
        let Some(id) = id(name) else { return Ok(None) };
        let mut found = objects.backend.event_objects(&objects.caller, EventId(id.0 - 1), 1).await?;
        let event = found.pop().filter(|(e, _)| e.id == id);
        Ok(event.map(|(e, rv)| object(objects.caller.org, &objects.namespace, &e, rv)))
    }

    async fn after(&self, objects: &Objects, after: &str, limit: u32) -> Result<Vec<Value>, Failure> {
        let after = id(after).unwrap_or(EventId(0));
        let found = objects.backend.event_objects(&objects.caller, after, limit).await?;
        Ok(found.iter().map(|(e, rv)| object(objects.caller.org, &objects.namespace, e, *rv)).collect())
    }

    fn name_of(&self, entry: &LogEntry) -> String {
        format!("event-{}", entry.name)
    }

    /// Of an event its name is left.
    fn deleted(&self, _: &Objects, _: &str, _: LogPosition, _: Value) -> Option<Value> {
        None
    }
}
