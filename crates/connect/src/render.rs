//! One record of a template into one record of a zone (draft sections 6.2 and 9).

use crate::error::{Error, Result};
use crate::names;
use crate::record::Record;
use crate::template_record::{TemplateRecord, TxtConflict};
use crate::variables::Scope;
use serde_json::Value;

/// A rendered record and what the rest of the application needs to know of its template record.
#[derive(Debug, Clone)]
pub(crate) struct Rendered {
    pub record: Record,
    pub essential: &'static str,
    pub conflict: TxtConflict,
    /// The template record is in a group.
    pub is_grouped: bool,
    pub source: Source,
}

/// What a rendered record came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Template,
    /// `SPFM`: data holds the rules, to be merged; the TTL is absent when the template has none.
    SpfMerge,
    /// An address of the provider's redirect service, below a REDIR301 or REDIR302.
    Redirect,
}

const MAX_U16: u32 = 65_535;

/// Renders a record, and for a redirect the address records of the redirect service after it.
pub(crate) fn render(
    template: &TemplateRecord,
    redirects: &[TemplateRecord],
    scope: &Scope<'_>,
) -> Result<Vec<Rendered>> {
    let kind = template.kind()?;
    let written = template.0.get("host").or_else(|| template.0.get("name")).and_then(Value::as_str);
    let place = format!("{kind} record at {:?}", written.unwrap_or("@"));
    let one = |record: Record, source: Source| {
        Ok(Rendered {
            record,
            essential: template.essential()?,
            conflict: if kind == "TXT" { template.txt_conflict()? } else { TxtConflict::None },
            is_grouped: template.group().is_some(),
            source,
        })
    };
    let all = || -> Result<Vec<Rendered>> {
        template.check_critical()?;
        let source = if kind == "SPFM" { Source::SpfMerge } else { Source::Template };
        let record = record(template, &kind, scope)?;
        let name = record.name.clone();
        let mut rendered = vec![one(record, source)?];
        if is_redirect(&kind) {
            for address in redirects {
                let address_kind = address.kind()?;
                if address_kind != "A" && address_kind != "AAAA" {
                    return Err(Error::template("records of the redirect service must be A or AAAA"));
                }
                let data = self::address(&address_kind, address, scope)?;
                let ttl = Some(scope.ttl(address.number("ttl")?)?);
                rendered.push(one(Record::new(&address_kind, &name, data, ttl), Source::Redirect)?);
            }
        }
        Ok(rendered)
    };
    all().map_err(|error| error.within(&place))
}

pub(crate) fn is_redirect(kind: &str) -> bool {
    matches!(kind, "REDIR301" | "REDIR302")
}

fn record(template: &TemplateRecord, kind: &str, scope: &Scope<'_>) -> Result<Record> {
    let name = match kind {
        "APEXCNAME" => names::owner("@", scope.domain, scope.host)?,
        "SRV" => owner(template.required("name")?, scope)?,
        "REDIR301" | "REDIR302" => owner(template.text("host")?.unwrap_or("@"), scope)?,
        _ => owner(template.required("host")?, scope)?,
    };
    let ttl = || scope.ttl(template.number("ttl")?).map(Some);
    Ok(match kind {
        "A" | "AAAA" => Record::new(kind, &name, address(kind, template, scope)?, ttl()?),
        "CNAME" | "NS" => {
            let target = host_name(template.required("pointsTo")?, "pointsTo", scope)?;
            if kind == "NS" && template.text("pointsTo")? == Some("@") {
                return Err(Error::data("pointsTo @ would delegate a name to itself"));
            }
            if name == "@" {
                return Err(Error::data(format!("{kind} cannot be at the zone apex")));
            }
            Record::new(kind, &name, target, ttl()?)
        }
        "APEXCNAME" => {
            Record::new(kind, &name, host_name(template.required("pointsTo")?, "pointsTo", scope)?, ttl()?)
        }
        "MX" => {
            let target = host_name_or_root(template.required("pointsTo")?, "pointsTo", scope)?;
            let mut record = Record::new(kind, &name, target, ttl()?);
            record.priority = Some(uint16(template, "priority", scope)?);
            record
        }
        "SRV" => service(template, &name, scope)?,
        "TXT" => Record::new(kind, &name, text(template, scope)?, ttl()?),
        "SPFM" => {
            let ttl =
                template.0.get("ttl").filter(|ttl| !ttl.is_null()).map(|ttl| scope.ttl(ttl)).transpose()?;
            Record::new(kind, &name, scope.substitute(template.required("spfRules")?)?, ttl)
        }
        // The redirect is a setting of the provider's web server, so it has no TTL.
        "REDIR301" | "REDIR302" => Record::new(kind, &name, redirect_target(template, scope)?, None),
        _ => {
            let data = scope.substitute(template.required("data")?)?;
            if data.trim().is_empty() || data.trim() == "@" {
                return Err(Error::data(format!("data {data:?} is no record data of type {kind}")));
            }
            if data.contains(['\n', '\r', '\0']) {
                return Err(Error::data("data must be one line"));
            }
            Record::new(kind, &name, data, ttl()?)
        }
    })
}

fn owner(written: &str, scope: &Scope<'_>) -> Result<String> {
    names::owner(&scope.substitute(written)?, scope.domain, scope.host)
}

fn uint16(template: &TemplateRecord, field: &str, scope: &Scope<'_>) -> Result<u16> {
    let number = scope.integer(field, template.number(field)?, MAX_U16)?;
    u16::try_from(number).map_err(|_| Error::data(format!("{field} {number} is greater than {MAX_U16}")))
}

/// IPv4 addresses may leave out middle octets (`192.0.1` is 192.0.0.1), which `inet_aton` and providers accept.
fn address(kind: &str, template: &TemplateRecord, scope: &Scope<'_>) -> Result<String> {
    let data = points_to(template.required("pointsTo")?, scope)?;
    let (valid, what) = match kind {
        "A" => (octets(&data).is_some(), "an IPv4 address"),
        _ => (data.parse::<std::net::Ipv6Addr>().is_ok(), "an IPv6 address"),
    };
    if valid {
        Ok(data.to_ascii_lowercase())
    } else {
        Err(Error::data(format!("pointsTo {data:?} is not {what}")))
    }
}

/// The address, where the last number fills the octets that are left out.
pub(crate) fn octets(text: &str) -> Option<std::net::Ipv4Addr> {
    let parts: Vec<&str> = text.split('.').collect();
    let (last, first) = parts.split_last().filter(|(_, first)| (1..=3).contains(&first.len()))?;
    let number = |part: &str| {
        let digits = !part.is_empty() && part.len() <= 10 && part.bytes().all(|b| b.is_ascii_digit());
        // A leading zero means octal to some programs and decimal to others.
        if digits && (part == "0" || !part.starts_with('0')) { part.parse::<u64>().ok() } else { None }
    };
    let mut address = number(last).filter(|n| *n < 1 << (8 * (4 - first.len())))?;
    for (index, part) in first.iter().enumerate() {
        address += number(part).filter(|n| *n <= 255)? << (8 * (3 - index));
    }
    u32::try_from(address).ok().map(std::net::Ipv4Addr::from)
}

/// `@` alone stands for the name the template is applied to.
fn points_to(written: &str, scope: &Scope<'_>) -> Result<String> {
    if written == "@" { Ok(scope.fqdn()) } else { scope.substitute(written) }
}

fn host_name(written: &str, field: &str, scope: &Scope<'_>) -> Result<String> {
    names::target(&points_to(written, scope)?).map_err(|error| error.within(field))
}

/// MX and SRV say with the root that there is no such service (RFC 7505, RFC 2782).
fn host_name_or_root(written: &str, field: &str, scope: &Scope<'_>) -> Result<String> {
    if written == "." { Ok(".".into()) } else { host_name(written, field, scope) }
}

fn service(template: &TemplateRecord, name: &str, scope: &Scope<'_>) -> Result<Record> {
    if name == "*" || name.starts_with("*.") {
        return Err(Error::data("an SRV name cannot be a wildcard: service and protocol stand before it"));
    }
    let target = host_name_or_root(template.required("target")?, "target", scope)?;
    let protocol = scope.substitute(template.required("protocol")?)?.to_ascii_lowercase();
    if !matches!(protocol.strip_prefix('_').unwrap_or(&protocol), "tcp" | "udp" | "tls" | "sctp" | "dccp") {
        return Err(Error::data(format!("protocol {protocol:?} is none of tcp, udp, tls, sctp, dccp")));
    }
    let service = scope.substitute(template.required("service")?)?.to_ascii_lowercase();
    names::target(&service).map_err(|error| error.within("service"))?;
    // The owner name is _service._protocol.name (RFC 2782). Old templates carry the service in `name` and something
    // else in `service`; at the apex that leaves no name for the record.
    if name == "@" && !is_underscore_label(&service) {
        return Err(Error::data(format!(
            "service {service:?} is no _service label, so the apex cannot hold it"
        )));
    }
    let mut record = Record::new("SRV", name, target, Some(scope.ttl(template.number("ttl")?)?));
    record.protocol = Some(protocol);
    record.service = Some(service);
    record.priority = Some(uint16(template, "priority", scope)?);
    record.weight = Some(uint16(template, "weight", scope)?);
    record.port = Some(uint16(template, "port", scope)?);
    Ok(record)
}

/// `_sip`: a service label of RFC 2782 and RFC 8552.
pub(crate) fn is_underscore_label(label: &str) -> bool {
    label.len() > 1 && label.starts_with('_') && !label.contains('.')
}

fn text(template: &TemplateRecord, scope: &Scope<'_>) -> Result<String> {
    let data = scope.substitute(template.required("data")?)?;
    // RDATA is at most 65,535 octets; every 255 octets of text take one more for their length.
    if data.len() + data.len() / 255 + 1 > 65_535 {
        return Err(Error::data("data is longer than a TXT record can be"));
    }
    Ok(data)
}

fn redirect_target(template: &TemplateRecord, scope: &Scope<'_>) -> Result<String> {
    let target = scope.substitute(template.required("target")?)?;
    let wrong = || Error::data(format!("target {target:?} is not an http or https URL"));
    let lower = target.to_ascii_lowercase();
    let rest = lower.strip_prefix("http://").or_else(|| lower.strip_prefix("https://")).ok_or_else(wrong)?;
    if target.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(wrong());
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let parsed = url::Url::parse(&target).map_err(|_| wrong())?;
    let host = match parsed.host() {
        Some(url::Host::Domain(name)) => names::target(name).is_ok(),
        Some(_) => true,
        None => false,
    };
    // A user name in the target would only serve to disguise where the redirect leads.
    if host && !authority.is_empty() && !authority.contains('@') { Ok(target) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::octets;

    #[test]
    fn addresses_may_be_short_but_not_out_of_range() {
        for good in ["1.2.3.4", "0.0.0.0", "255.255.255.255", "132.148.25", "10.1", "10.1.65535"] {
            assert!(octets(good).is_some(), "{good}");
        }
        for bad in
            ["", "1", "foo.com", "::1", "1.2.3.256", "256.1.1.1", "1.2.3.4.5", "1.2.3.", ".1.2.3", "1.2.3.04"]
        {
            assert!(octets(bad).is_none(), "{bad}");
        }
        assert_eq!(octets("10.1.513").unwrap().to_string(), "10.1.2.1");
        for bad in ["1.2.3.4 ", "1.2.3.-4", "1.2.65536", "0x1.2.3.4", "1.2.3.+4", "1..2.3"] {
            assert!(octets(bad).is_none(), "{bad}");
        }
    }
}
