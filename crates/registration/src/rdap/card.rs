//! Contact cards of RDAP entities: jCard (RFC 7095) with its oddities, and JSContact (RFC 9553) where a server sends
//! that. In: an entity; out: names, mail, telephone, address.

use super::{list, text};
use serde_json::Value;

/// What a card says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Card {
    pub full_name: Option<String>,
    pub organization: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
    pub url: Option<String>,
    /// The card says that its name is a company's (`KIND`, RFC 6350 section 6.1.4).
    pub is_company: bool,
}

pub(super) fn card(entity: &Value) -> Card {
    let mut c = Card::default();
    if let Some(Value::Array(outer)) = entity.get("vcardArray") {
        // ["vcard", [...]]; a few servers leave the word out.
        for part in outer.iter().take(4) {
            let Value::Array(properties) = part else { continue };
            let one = properties.first().is_some_and(Value::is_string);
            let all = if one { std::slice::from_ref(part) } else { properties.as_slice() };
            for p in all.iter().take(200) {
                property(p, &mut c);
            }
        }
    }
    let js = ["jscontact_card", "jscard", "jsContact"].into_iter().find_map(|m| entity.get(m));
    if let Some(js) = js {
        jscontact(js, &mut c);
    }
    c
}

fn property(p: &Value, c: &mut Card) {
    let Value::Array(parts) = p else { return };
    let Some(name) = parts.first().and_then(Value::as_str) else { return };
    let Some(value) = parts.get(3).and_then(flat) else { return };
    let slot = match name.to_ascii_lowercase().as_str() {
        "fn" => &mut c.full_name,
        "org" => &mut c.organization,
        "email" => &mut c.email,
        "url" => &mut c.url,
        "kind" => {
            c.is_company |= is_company(&value);
            return;
        }
        "tel" => {
            let fax = parts.get(1).is_some_and(|a| a.to_string().to_ascii_lowercase().contains("fax"));
            if fax {
                return;
            }
            &mut c.phone
        }
        _ => return,
    };
    if slot.is_none() {
        *slot = Some(value);
    }
}

fn is_company(kind: &str) -> bool {
    ["org", "organization", "organisation"].iter().any(|k| kind.eq_ignore_ascii_case(k))
}

/// A property's value as one text.
fn flat(v: &Value) -> Option<String> {
    let s = match v {
        Value::String(s) => s.as_str(),
        Value::Array(a) => a.iter().find_map(Value::as_str)?,
        Value::Object(o) => o.get("text").or_else(|| o.get("uri")).and_then(Value::as_str)?,
        _ => return None,
    };
    let s = s.trim();
    let s = s.strip_prefix("tel:").or_else(|| s.strip_prefix("mailto:")).unwrap_or(s);
    crate::whois::stated(s).map(|s| s.chars().take(300).collect())
}

fn jscontact(js: &Value, c: &mut Card) {
    let first = |group: &str, member: &str| -> Option<String> {
        js.get(group)?.as_object()?.values().find_map(|v| text(v, member).map(str::to_string))
    };
    c.full_name = c.full_name.take().or_else(|| {
        js.get("name").and_then(|n| text(n, "full")).or_else(|| text(js, "fullName")).map(str::to_string)
    });
    c.is_company |= text(js, "kind").is_some_and(is_company);
    c.organization = c.organization.take().or_else(|| first("organizations", "name"));
    c.email = c.email.take().or_else(|| first("emails", "address").or_else(|| first("emails", "email")));
    c.phone = c.phone.take().or_else(|| first("phones", "number").or_else(|| first("phones", "phone")));
    c.url = c.url.take().or_else(|| first("links", "uri").or_else(|| first("onlineServices", "uri")));
}

/// The entity's roles, lower case.
pub(super) fn roles(entity: &Value) -> Vec<String> {
    list(entity, "roles")
        .chain(list(entity, "role"))
        .filter_map(Value::as_str)
        .map(|r| r.trim().to_ascii_lowercase())
        .collect()
}
