//! RDAP answers (RFC 9083, the ICANN response profile, RFC 8056 status names, RFC 9537 redaction).
//! In: the facts. Out: JSON as registries and registrars write it, differences between them included.

use serde_json::{Value, json};

use super::facts::Facts;
use crate::scenario::Registrar;

/// Which side answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Registry,
    Registrar,
}

/// URLs that answers mention.
pub(crate) struct Links {
    pub own: String,
    pub related: Option<String>,
    pub port43: Option<String>,
}

/// `clientTransferProhibited` to `client transfer prohibited` (RFC 8056 2).
fn status(epp: &str) -> String {
    if epp == "ok" {
        return "active".into();
    }
    let mut out = String::new();
    for c in epp.chars() {
        if c.is_ascii_uppercase() {
            out.push(' ');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn vcard(name: &str, org: Option<&str>, email: Option<&str>, phone: Option<&str>) -> Value {
    let mut rows = vec![json!(["version", {}, "text", "4.0"]), json!(["fn", {}, "text", name])];
    if let Some(org) = org {
        rows.push(json!(["org", {}, "text", org]));
    }
    if let Some(email) = email {
        rows.push(json!(["email", {}, "text", email]));
    }
    if let Some(phone) = phone {
        rows.push(json!(["tel", {"type": "voice"}, "uri", format!("tel:{phone}")]));
    }
    json!(["vcard", rows])
}

fn registrar_entity(registrar: &Registrar) -> Value {
    let abuse = format!("abuse@{}", registrar.domain);
    let mut entity = json!({
        "objectClassName": "entity",
        "roles": ["registrar"],
        "vcardArray": vcard(&registrar.name, None, None, None),
        "links": [{
            "rel": "about",
            "href": format!("https://www.{}/", registrar.domain),
            "value": format!("https://www.{}/", registrar.domain),
            "type": "text/html"
        }],
        "entities": [{
            "objectClassName": "entity",
            "roles": ["abuse"],
            "vcardArray": vcard("Abuse desk", None, Some(&abuse), registrar.abuse_phone.as_deref())
        }]
    });
    if let Some(id) = registrar.iana_id {
        entity["handle"] = json!(id.to_string());
        entity["publicIds"] = json!([{"type": "IANA Registrar ID", "identifier": id.to_string()}]);
    }
    entity
}

fn registrant_entity(organisation: Option<&str>) -> Value {
    json!({
        "objectClassName": "entity",
        "handle": "",
        "roles": ["registrant"],
        "vcardArray": vcard("", organisation, None, None)
    })
}

fn redaction(has_organisation: bool) -> Value {
    let mut list = vec![json!({
        "name": {"description": "Registrant Name"},
        "postPath": "$.entities[?(@.roles[0]=='registrant')].vcardArray[1][?(@[0]=='fn')][3]",
        "pathLang": "jsonpath",
        "method": "emptyValue",
        "reason": {"description": "Server policy"}
    })];
    if !has_organisation {
        list.push(json!({
            "name": {"description": "Registrant Organization"},
            "prePath": "$.entities[?(@.roles[0]=='registrant')].vcardArray[1][?(@[0]=='org')]",
            "pathLang": "jsonpath",
            "method": "removal",
            "reason": {"description": "Server policy"}
        }));
    }
    json!(list)
}

fn events(facts: &Facts<'_>, side: Side) -> Value {
    let mut events = Vec::new();
    let mut add = |action: &str, date: Option<jiff::Timestamp>| {
        if let Some(date) = date {
            events.push(json!({"eventAction": action, "eventDate": date.to_string()}));
        }
    };
    let domain = facts.domain;
    if facts.tld.expirations {
        add("registration", domain.created);
        add("expiration", facts.expires);
    }
    if side == Side::Registrar {
        add("registrar expiration", domain.registrar_expires.or(facts.expires));
    }
    add("last changed", domain.updated);
    add("last update of RDAP database", Some(facts.now));
    json!(events)
}

/// The answer about a registered domain.
pub(crate) fn domain(facts: &Facts<'_>, side: Side, links: &Links) -> Value {
    // Verisign writes names in upper case in its RDAP: readers must not take that for a change.
    let shout = facts.is_thin() && side == Side::Registry;
    let case = |name: &str| if shout { name.to_uppercase() } else { name.to_owned() };
    let domain = facts.domain;
    let mut entities: Vec<Value> = facts.registrar.map(registrar_entity).into_iter().collect();
    let with_registrant = side == Side::Registrar || !facts.is_thin();
    if with_registrant {
        entities.push(registrant_entity(domain.registrant.as_deref()));
    }
    let nameservers: Vec<Value> = domain
        .nameservers
        .iter()
        .map(|ns| json!({"objectClassName": "nameserver", "ldhName": case(ns)}))
        .collect();
    let mut secure = json!({"delegationSigned": facts.ds.is_some()});
    if let Some(ds) = &facts.ds {
        let digest: String = ds.digest().iter().map(|b| format!("{b:02X}")).collect();
        secure["dsData"] = json!([{
            "keyTag": ds.key_tag(),
            "algorithm": u8::from(ds.algorithm()),
            "digestType": u8::from(ds.digest_type()),
            "digest": digest
        }]);
    }
    let mut all_links = vec![json!({
        "rel": "self", "href": links.own, "value": links.own, "type": "application/rdap+json"
    })];
    if let Some(related) = &links.related {
        all_links.push(json!({
            "rel": "related", "href": related, "value": links.own, "type": "application/rdap+json"
        }));
    }
    let mut answer = json!({
        "rdapConformance": [
            "rdap_level_0",
            "icann_rdap_response_profile_1",
            "icann_rdap_technical_implementation_guide_1",
            "redacted"
        ],
        "objectClassName": "domain",
        "handle": facts.handle(),
        "ldhName": case(&domain.name),
        "status": facts.statuses().into_iter().map(status).collect::<Vec<_>>(),
        "events": events(facts, side),
        "entities": entities,
        "nameservers": nameservers,
        "secureDNS": secure,
        "links": all_links,
        "notices": notices(&facts.tld.registry)
    });
    if facts.unicode() != domain.name {
        answer["unicodeName"] = json!(facts.unicode());
    }
    if let Some(port43) = &links.port43 {
        answer["port43"] = json!(port43);
    }
    if with_registrant {
        answer["redacted"] = redaction(domain.registrant.is_some());
    }
    answer
}

fn notices(registry: &str) -> Value {
    json!([
        {
            "title": "Terms of Use",
            "description": [format!("{registry} of the lab: every fact here is invented.")]
        },
        {
            "title": "Status Codes",
            "description": ["For more information on domain status codes, please visit https://icann.org/epp"],
            "links": [{"rel": "glossary", "href": "https://icann.org/epp", "type": "text/html"}]
        }
    ])
}

/// An error answer (RFC 9083 6).
pub(crate) fn error(code: u16, title: &str, description: &str) -> Value {
    json!({
        "rdapConformance": ["rdap_level_0"],
        "errorCode": code,
        "title": title,
        "description": [description]
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn statuses_are_those_of_rfc_8056() {
        for (epp, rdap) in [
            ("ok", "active"),
            ("clientTransferProhibited", "client transfer prohibited"),
            ("autoRenewPeriod", "auto renew period"),
            ("redemptionPeriod", "redemption period"),
        ] {
            assert_eq!(super::status(epp), rdap);
        }
    }
}
