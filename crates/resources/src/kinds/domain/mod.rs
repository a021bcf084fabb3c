//! `Domain`: a holding of an organisation with what was observed about it. Creating one starts its scan.

mod storage;

use crate::kind::{Kind, Verb, column};
use crate::meta::{self, Identity, instant};
use crate::schema::{Violation, conditions};
use jiff::Timestamp;
use model::dns::DnssecStatus;
use model::ids::{LogPosition, OrgId};
use model::names::DomainName;
use model::observation::Observation;
use model::ownership::Standing;
use model::registration::{Outcome, Registration, RegistrationState};
use model::status::StatusKind;
use serde_json::{Value, json};
use service::policy::Action;
use service::resources::DomainObject;

/// The kind.
pub static DOMAIN: Kind = Kind {
    name: "Domain",
    plural: "domains",
    singular: "domain",
    short: &["dom"],
    description: "A domain name that the organisation holds, and what was observed about it.",
    is_namespaced: true,
    log_kind: "item",
    columns: &[
        column("Registrar", "string", 0, ".status.registrarIANAname", "Registrar as the registry states it."),
        column("Expiration", "string", 0, ".status.expirationDate", "Expiration date."),
        column(
            "Status",
            "string",
            0,
            ".status.state",
            "Status as judged: Critical, Warning, Normal and so on.",
        ),
        column(
            "Observed",
            "string",
            0,
            r#".status.conditions[?(@.type=="Observed")].status"#,
            "Whether the last scan succeeded.",
        ),
        column("IANA ID", "string", 1, ".status.registrarIANAID", "IANA identifier of the registrar."),
        column("DNSSEC", "string", 1, ".status.DNSSEC", "Result of DNSSEC validation."),
        column("Nameservers", "string", 1, ".status.nameservers[*]", "Delegated name servers."),
        column("Age", "date", 0, ".metadata.creationTimestamp", "Time since the domain was added."),
    ],
    schema,
    selectable: &["spec.name"],
    selectable_list: None,
    action: |verb| {
        Some(match verb {
            Verb::Get => Action::DomainObject,
            Verb::List => Action::DomainObjects,
            Verb::Watch => Action::Changes,
            Verb::Create => Action::CreateDomain,
            Verb::Update | Verb::Patch => Action::SetDomainMetadata,
            Verb::Delete | Verb::DeleteCollection => Action::DeleteDomain,
        })
    },
    status_action: None,
    validate,
    storage: &storage::Holdings,
};

fn schema() -> Value {
    let date = |what: &str| json!({ "type": "string", "description": format!("{what}: a date, a local time or an instant, never more precise than the source states.") });
    json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "spec": {
                "type": "object",
                "description": "What is held.",
                "required": ["name"],
                "properties": {
                    "name": { "type": "string", "minLength": 1, "maxLength": 1000, "description": "The registrable domain name. It is also metadata.name, and immutable." },
                },
            },
            "status": {
                "type": "object",
                "description": "What was observed. Written by the server only.",
                "properties": {
                    "state": { "type": "string", "description": "Status as judged: Critical, Warning, Unlocked, Secure, Normal or Unknown." },
                    "registrarIANAID": { "type": "string", "description": "IANA identifier of the registrar." },
                    "registrarIANAname": { "type": "string", "description": "Name of the registrar as stated." },
                    "createdDate": date("Creation"),
                    "modifiedDate": date("Last change at the registry"),
                    "expirationDate": date("Expiration that alerts follow"),
                    "nameservers": { "type": "array", "items": { "type": "string" }, "description": "Delegated name servers." },
                    "dnsProvider": { "type": "string", "description": "DNS provider, by its name servers." },
                    "DNSSEC": { "type": "string", "enum": ["secure", "insecure", "bogus", "indeterminate"], "description": "Result of DNSSEC validation." },
                    "statusFlags": { "type": "array", "items": { "type": "string" }, "description": "EPP status codes (RFC 5731, RFC 8056)." },
                    "outcome": {
                        "type": "string",
                        "enum": ["registered", "available", "reserved", "throttled", "refused", "unknown"],
                        "description": "Outcome of the last look-up. After throttled, refused and unknown all else is from the last good one.",
                    },
                    "verification": { "type": "string", "description": "State of the proof of ownership." },
                    "lastScanTime": { "type": "string", "format": "date-time", "description": "When it was last scanned." },
                    "conditions": conditions(),
                },
            },
        },
    })
}

fn validate(new: &Value, old: Option<&Value>) -> Vec<Violation> {
    let mut out = Vec::new();
    let name = new["spec"]["name"].as_str().unwrap_or_default();
    let field = "spec.name";
    if let Some(old) = old.filter(|o| o["spec"]["name"] != new["spec"]["name"]) {
        let mut v =
            Violation::invalid(field, name, format!("field is immutable, it is {}", old["spec"]["name"]));
        v.reason = "FieldValueInvalid";
        out.push(v);
        return out;
    }
    match DomainName::read(name) {
        Err(e) => out.push(Violation::invalid(field, name, e.to_string())),
        Ok(read) if read.name.as_str() != name => {
            out.push(Violation::invalid(field, name, format!("must be written as {:?}", read.name.as_str())));
        }
        Ok(read) => {
            if let Some(object) = new["metadata"]["name"].as_str().filter(|n| *n != read.name.as_str()) {
                let rule = format!("must be equal to spec.name, {:?}", read.name.as_str());
                out.push(Violation::invalid("metadata.name", object, rule));
            }
        }
    }
    out
}

/// The object of a holding.
fn object(org: OrgId, namespace: &str, d: &DomainObject) -> Value {
    let metadata = d.metadata.as_deref().unwrap_or("{}");
    let mut object = holding(org, namespace, d.item.name.as_str(), d.rv, d.item.added_at, metadata);
    object["status"] = status(d);
    object
}

/// The same without what was observed: that is all a removed holding leaves.
fn holding(
    org: OrgId,
    namespace: &str,
    name: &str,
    rv: LogPosition,
    created: Timestamp,
    metadata: &str,
) -> Value {
    let identity = Identity { kind: &DOMAIN, org, namespace, name, rv, created };
    json!({
        "apiVersion": Kind::api_version(),
        "kind": DOMAIN.name,
        "metadata": meta::metadata(&identity, metadata),
        "spec": { "name": name },
    })
}

fn status(d: &DomainObject) -> Value {
    let observation = d.observation.as_ref();
    let state = observation.and_then(|o| o.registration.value.as_ref());
    let registration = state.and_then(RegistrationState::registration);
    let mut status = json!({
        "state": d.row.status.kind.label().split(" · ").next(),
        "registrarIANAID": registration.and_then(|r| r.registrar.iana_id.clone()),
        "registrarIANAname": registration.and_then(|r| r.registrar.name.clone()),
        "createdDate": registration.and_then(|r| r.created).map(|t| t.to_string()),
        "modifiedDate": registration.and_then(|r| r.updated).map(|t| t.to_string()),
        "expirationDate": d.row.expires.map(|t| t.to_string()),
        "nameservers": nameservers(registration, observation),
        "dnsProvider": d.row.provider.as_ref().map(|p| p.name.clone()),
        "DNSSEC": observation.and_then(|o| o.dnssec.value.as_ref()).map(|v| dnssec_word(v.status)),
        "statusFlags": registration.and_then(|r| r.statuses.as_ref()).map(|s| s.iter().map(|f| f.as_str().to_string()).collect::<Vec<_>>()),
        "outcome": outcome(d).map(Outcome::as_str),
        "verification": d.row.claim.map(Standing::as_str),
        "lastScanTime": d.row.last_scan_at.map(instant),
        "conditions": domain_conditions(d),
    });
    if let Some(map) = status.as_object_mut() {
        map.retain(|_, v| !v.is_null());
    }
    status
}

fn nameservers(
    registration: Option<&Registration>,
    observation: Option<&Observation>,
) -> Option<Vec<String>> {
    let delegation = observation.and_then(|o| o.delegation.value.as_ref()).filter(|d| d.delegated);
    let parent = delegation.map(|d| d.parent_ns.iter().map(|n| n.name.clone()).collect());
    parent.or_else(|| registration.and_then(|r| r.nameservers.clone()))
}

fn dnssec_word(status: DnssecStatus) -> &'static str {
    match status {
        DnssecStatus::Secure => "secure",
        DnssecStatus::Insecure => "insecure",
        DnssecStatus::Bogus => "bogus",
        DnssecStatus::Indeterminate => "indeterminate",
    }
}

/// The reason for which the last look-up of the registration failed, as a label of [`model::observation::PartError`].
fn label(d: &DomainObject) -> &str {
    let error = d.observation.as_ref().and_then(|o| o.registration.error.as_ref());
    error.map_or("", |e| e.label.as_str())
}

/// The same as a reason.
fn failure_reason(label: &str) -> &'static str {
    match label {
        "timeout" => "TimedOut",
        "throttled" => "Throttled",
        "refused" => "Refused",
        "unparsable" => "Unparsable",
        "unreachable" => "Unreachable",
        "too_large" => "TooLarge",
        "blocked" => "Blocked",
        "no_server" => "NoServer",
        "internal" => "InternalError",
        "clock_wrong" => "ClockWrong",
        "own_network" => "OwnNetworkDown",
        _ => "LookupFailed",
    }
}

/// The outcome of the last look-up; `None` before there was one.
fn outcome(d: &DomainObject) -> Option<Outcome> {
    match label(d) {
        _ if d.row.error.is_none() => d.row.outcome,
        "throttled" => Some(Outcome::Throttled),
        "refused" => Some(Outcome::Refused),
        _ => Some(Outcome::Unknown),
    }
}

/// The state of a claim of ownership, as a reason.
fn reason(s: Standing) -> &'static str {
    match s {
        Standing::Pending => "Pending",
        Standing::Waiting => "WaitingForHolder",
        Standing::Verified => "Verified",
        Standing::Lapsing => "Lapsing",
        Standing::Contested => "Contested",
        Standing::Lapsed => "Lapsed",
        Standing::Expired => "Expired",
        Standing::Refused => "Refused",
    }
}

fn domain_conditions(d: &DomainObject) -> Vec<Value> {
    let since = d.row.known_transitions();
    let (observed_since, healthy_since) =
        (since.observed.unwrap_or(d.item.added_at), since.healthy.unwrap_or(d.item.added_at));
    // The spec of a domain never changes.
    let condition = |kind: &str, holds: &str, reason: &str, message: &str, at| {
        meta::condition((kind, holds), reason, message, &json!(1), at)
    };
    let observed = match (&d.row.error, d.row.last_scan_at) {
        (_, None) => ("False", "NotScanned", "The first scan has not ended yet.".to_string()),
        (Some(error), _) => ("False", failure_reason(label(d)), error.clone()),
        (None, _) => ("True", "Scanned", "The last scan read the registration.".to_string()),
    };
    let sentences: Vec<&str> = d.row.status.reasons.iter().map(|r| r.sentence.as_str()).collect();
    let kind = d.row.status.kind;
    let healthy = match (kind.is_healthy(), kind) {
        (Some(true), _) => ("True", "AsExpected"),
        (Some(false), StatusKind::Critical) => ("False", "Critical"),
        (Some(false), _) => ("False", "Warning"),
        (None, _) => ("Unknown", "Unknown"),
    };
    // A claim may be older than the holding.
    let verified_since = since.verified.unwrap_or(d.item.added_at).max(d.item.added_at);
    let verified = match d.row.claim {
        None => ("False", "NotClaimed", "No proof of ownership was started."),
        Some(s) if s.counts() => ("True", reason(s), "Control of the domain is proven."),
        Some(s) => ("False", reason(s), "Control of the domain is not proven."),
    };
    vec![
        condition("Accepted", "True", "Held", "The organisation holds the name.", d.item.added_at),
        condition("Observed", observed.0, observed.1, &observed.2, observed_since),
        condition("Healthy", healthy.0, healthy.1, &sentences.join(" "), healthy_since),
        condition("Verified", verified.0, verified.1, verified.2, verified_since),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::Vantage;
    use model::inventory::Row;
    use model::item::{Item, Ownership};
    use model::observation::{Part, PartError};

    /// The object of a domain whose look-up failed so; `None`: it was not scanned.
    fn status_after(label: Option<&str>) -> Value {
        let now: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
        let name = DomainName::trusted("q7.io");
        let item = Item::new(OrgId::BUILT_IN, name.clone(), Ownership::Owned, now);
        let observation = label.map(|label| {
            let error = PartError { label: label.into(), sentence: "It failed".into(), retry_at: None };
            let mut observation = Observation::empty(name.clone(), Vantage::local());
            observation.registration = Part::failed(Part::default(), now, error);
            observation
        });
        let row = Row::of(&item, "q7.io".into(), observation.as_ref());
        status(&DomainObject { item, row, rv: LogPosition(1), observation, metadata: None })
    }

    #[test]
    fn a_look_up_that_failed_says_so_in_the_reason_and_the_outcome() {
        for (label, reason, outcome) in [
            ("throttled", "Throttled", "throttled"),
            ("refused", "Refused", "refused"),
            ("timeout", "TimedOut", "unknown"),
            ("unreachable", "Unreachable", "unknown"),
            ("own_network", "OwnNetworkDown", "unknown"),
            ("of_a_later_version", "LookupFailed", "unknown"),
        ] {
            let status = status_after(Some(label));
            let observed = status["conditions"].as_array().unwrap().iter().find(|c| c["type"] == "Observed");
            let observed = observed.unwrap();
            assert_eq!(
                (&observed["status"], &observed["reason"]),
                (&json!("False"), &json!(reason)),
                "{label}"
            );
            assert_eq!(
                (&observed["message"], &status["outcome"]),
                (&json!("It failed"), &json!(outcome)),
                "{label}"
            );
        }
        let fresh = status_after(None);
        assert!(fresh.get("outcome").is_none(), "{fresh}");
    }
}
