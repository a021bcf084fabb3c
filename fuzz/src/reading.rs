//! What holds for a reading of registration data, whichever protocol it came by.

use crate::dates;
use model::registration::{Outcome, Registration};

/// Longest text one field may have.
const FIELD: usize = 2_000;

/// Panics when the reading breaks a promise. `text` is the answer as text, the rest the reading.
pub fn check(outcome: Outcome, registration: &Registration, warnings: &[String], text: &str) {
    let stated = *registration != Registration::default();
    assert!(!stated || outcome == Outcome::Registered, "{outcome:?} with facts: {registration:?}");
    for (field, date) in [
        ("created", &registration.created),
        ("updated", &registration.updated),
        ("expires", &registration.expires),
        ("registrar_expires", &registration.registrar_expires),
    ] {
        if let Some(date) = date {
            dates::no_more_than_stated(field, date, text);
            let again: Result<model::time::StatedTime, _> = date.to_string().parse();
            assert_eq!(again.ok().as_ref(), Some(date), "{field} does not survive being written");
        }
    }
    for host in registration.nameservers.iter().flatten() {
        assert!(
            host.len() <= 253 && host.contains('.') && !host.ends_with('.') && !host.starts_with('.'),
            "{host:?} is no host"
        );
        assert!(
            host.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b)),
            "{host:?} is no host in A-labels"
        );
        assert!(host.parse::<std::net::IpAddr>().is_err(), "{host:?} is an address");
    }
    let registrar = &registration.registrar;
    if let Some(id) = &registrar.iana_id {
        assert!(!id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()), "IANA id {id:?}");
    }
    for (field, value) in [
        ("registrar", &registrar.name),
        ("url", &registrar.url),
        ("abuse_email", &registrar.abuse_email),
        ("abuse_phone", &registrar.abuse_phone),
        ("whois server", &registration.registrar_whois_server),
        ("organization", &registration.registrant_organization),
    ] {
        let Some(value) = value else { continue };
        assert!(!value.trim().is_empty(), "{field} is stated but empty");
        assert!(value.len() <= FIELD, "{field} has {} octets", value.len());
        assert!(!value.contains(|c: char| c.is_control() && c != '\t'), "{field} holds {value:?}");
    }
    if let Some(dnssec) = &registration.dnssec {
        assert!(dnssec.signed || dnssec.ds.is_empty(), "unsigned with DS records: {dnssec:?}");
    }
    let size = serde_json::to_vec(registration).expect("can be written").len();
    let limit = 32 * text.len() + 16_384;
    assert!(size <= limit, "a reading of {size} octets from a text of {}", text.len());
    assert!(!warnings.iter().any(|w| w.contains(|c: char| c.is_control() && c != '\t')), "{warnings:?}");
    let said: usize = warnings.iter().map(String::len).sum();
    assert!(said <= limit, "{} warnings of {said} octets from a text of {}", warnings.len(), text.len());
}
