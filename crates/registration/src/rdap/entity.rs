//! Entities of an RDAP answer: the registrar, its abuse contact, the registrant. In: the domain object; out: fields of
//! the registration. Entities may be nested in any order; the walk is bounded.

use super::card::{card, roles};
use super::{list, number, text};
use model::registration::Registration;
use serde_json::Value;

/// Entities inside entities deeper than this are not looked at.
const DEPTH: usize = 5;

pub(super) fn read(answer: &Value, r: &mut Registration) {
    walk(answer, DEPTH, false, r);
    if r.registrar.name.is_none() {
        r.registrar.name = text(answer, "registrar").map(str::to_string);
    }
}

fn walk(holder: &Value, depth: usize, inside_registrar: bool, r: &mut Registration) {
    if depth == 0 {
        return;
    }
    for e in list(holder, "entities").filter(|e| e.is_object()).take(100) {
        let roles = roles(e);
        let is = |role: &str| roles.iter().any(|x| x == role);
        let registrar = is("registrar");
        if registrar {
            registrar_of(e, r);
        }
        if is("abuse") && (inside_registrar || registrar || r.registrar.abuse_email.is_none()) {
            let c = card(e);
            let own = inside_registrar || registrar;
            if own || r.registrar.abuse_email.is_none() {
                set(&mut r.registrar.abuse_email, c.email.filter(|m| m.contains('@')));
                set(&mut r.registrar.abuse_phone, c.phone);
            }
        }
        if is("registrant") {
            let c = card(e);
            let company = c.organization.or(c.full_name.filter(|_| c.is_company));
            set(&mut r.registrant_organization, company.filter(|o| !is_redaction(o)));
        }
        walk(e, depth - 1, inside_registrar || registrar, r);
    }
}

fn set(slot: &mut Option<String>, value: Option<String>) {
    if slot.is_none() {
        *slot = value;
    }
}

fn registrar_of(e: &Value, r: &mut Registration) {
    let c = card(e);
    // A number is no name.
    let handle = text(e, "handle").filter(|h| h.chars().any(char::is_alphabetic)).map(str::to_string);
    set(&mut r.registrar.name, c.full_name.or(c.organization).or_else(|| handle.clone()));
    let iana = list(e, "publicIds")
        .filter(|p| text(p, "type").is_some_and(|t| t.to_ascii_lowercase().contains("iana")))
        .find_map(|p| p.get("identifier").and_then(number))
        .map(|n| n.to_string());
    set(&mut r.registrar.iana_id, iana);
    let about = list(e, "links")
        .filter(|l| matches!(l.get("rel").and_then(Value::as_str), Some("about" | "alternate")))
        .find_map(|l| text(l, "href"))
        .map(str::to_string);
    set(&mut r.registrar.url, c.url.or_else(|| text(e, "url").map(str::to_string)).or(about));
    let whois = text(e, "port43").and_then(crate::whois::host_name);
    set(&mut r.registrar_whois_server, whois);
}

/// True for a contact that says of itself that it was taken out or covered (RFC 9083 section 10.2.2), or whose name does.
pub(super) fn is_hidden(e: &Value) -> bool {
    let roles = roles(e);
    if roles.iter().any(|r| r == "registrar" || r == "reseller") {
        return false;
    }
    let hidden = |s: &Value| {
        s.as_str().is_some_and(|s| {
            ["removed", "obscured", "private"].iter().any(|w| s.trim().eq_ignore_ascii_case(w))
        })
    };
    let c = card(e);
    list(e, "status").any(hidden) || [c.full_name, c.organization].iter().flatten().any(|s| is_redaction(s))
}

fn is_redaction(s: &str) -> bool {
    let s = s.to_ascii_lowercase();
    s.contains("redacted") || s.contains("privacy") || s.contains("withheld") || s.contains("not disclosed")
}
