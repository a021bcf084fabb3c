//! A reading as JSON, for `domainscope parse-whois`. In: a [`WhoisReading`]; out: one object, absent fields `null`.

use super::WhoisReading;
use serde_json::{Value, json};

/// The reading as the JSON object of `domainscope parse-whois`.
///
/// Instants are RFC 3339, local times `YYYY-MM-DDTHH:MM:SS`, bare dates `YYYY-MM-DD`.
pub fn reading_to_json(reading: &WhoisReading) -> Value {
    let r = &reading.registration;
    let time = |t: &Option<model::time::StatedTime>| t.as_ref().map(ToString::to_string);
    let statuses: Vec<&str> = r.statuses.iter().flatten().map(model::epp::EppStatus::as_str).collect();
    json!({
        "outcome": reading.outcome.as_str(),
        "registrar": {
            "name": r.registrar.name,
            "iana_id": r.registrar.iana_id,
            "url": r.registrar.url,
            "abuse_email": r.registrar.abuse_email,
            "abuse_phone": r.registrar.abuse_phone,
        },
        "registrar_whois_server": r.registrar_whois_server,
        "created": time(&r.created),
        "updated": time(&r.updated),
        "expires": time(&r.expires),
        "nameservers": r.nameservers.clone().unwrap_or_default(),
        "statuses": statuses,
        "dnssec": r.dnssec.as_ref().map(|d| if d.signed { "signed" } else { "unsigned" }),
        "registrant_organization": r.registrant_organization,
        "redacted": r.redacted.unwrap_or(false),
        "warnings": reading.warnings,
    })
}
