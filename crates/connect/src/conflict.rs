//! Which records cannot be together (draft section 10.4): a new one and those of the zone, and the new ones among
//! themselves.

use crate::error::{Error, Result};
use crate::names::is_at_or_below;
use crate::record::Record;
use crate::render::{Rendered, is_redirect, is_underscore_label};
use crate::template_record::TxtConflict;

/// Records that belong to the zone itself or its signing; no template removes them.
fn belongs_to_zone(record: &Record) -> bool {
    match record.kind.as_str() {
        "SOA" | "RRSIG" | "NSEC" | "NSEC3" | "NSEC3PARAM" | "DNSKEY" | "CDS" | "CDNSKEY" => true,
        "NS" => record.name == "@",
        _ => false,
    }
}

/// Whether a new record replaces one that is in the zone.
pub(crate) fn replaces(new: &Rendered, old: &Record) -> bool {
    let (record, kind) = (&new.record, new.record.kind.as_str());
    if belongs_to_zone(old) {
        return false;
    }
    let same_host = record.name == old.name;
    let old_is_address = matches!(old.kind.as_str(), "A" | "AAAA");
    // A redirect stands for addresses of the provider, an APEXCNAME for addresses looked up elsewhere.
    let old_stands_for_address = old.kind == "APEXCNAME" || is_redirect(&old.kind);
    match kind {
        "NS" if is_at_or_below(&old.name, &record.name) => true,
        _ if old.kind == "NS" => {
            is_at_or_below(&record.name, &old.name) && !is_beside_delegation(record, old)
        }
        "NS" => false,
        "CNAME" => same_host,
        _ if old.kind == "CNAME" => same_host,
        "A" | "AAAA" | "REDIR301" | "REDIR302" => same_host && (old_is_address || old_stands_for_address),
        "APEXCNAME" => {
            same_host
                && (old_is_address || old_stands_for_address || matches!(old.kind.as_str(), "MX" | "TXT"))
        }
        "MX" => same_host && old.kind == "MX",
        "SRV" => same_host && old.kind == "SRV" && is_same_service(record, old),
        "TXT" => {
            same_host
                && old.kind == "TXT"
                && match &new.conflict {
                    TxtConflict::None => false,
                    TxtConflict::All => true,
                    TxtConflict::Prefix(prefix) => old.text().starts_with(prefix.as_str()),
                }
        }
        _ => false,
    }
}

/// DS records are at the delegation point by design (RFC 4035 section 2.4).
fn is_beside_delegation(record: &Record, ns: &Record) -> bool {
    record.kind == "DS" && record.name == ns.name
}

/// With the labels of RFC 2782 (`_sip`, `_tls`) the owner name tells services apart. Without them only the name does.
fn is_same_service(a: &Record, b: &Record) -> bool {
    let labels = |record: &Record| {
        let service = record.service.as_deref().filter(|service| is_underscore_label(service))?;
        let protocol = record.protocol.as_deref()?;
        Some((service.to_string(), protocol.trim_start_matches('_').to_string()))
    };
    match (labels(a), labels(b)) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    }
}

/// Checks that the records of one template can be together in a zone.
pub(crate) fn check_among(new: &[Rendered]) -> Result<()> {
    for (index, a) in new.iter().enumerate() {
        if let Some(b) = new[index + 1..].iter().find(|b| exclude(a, b) || exclude(b, a)) {
            return Err(Error::data(format!(
                "the template creates {} at {} and {} at {}, which cannot be together",
                a.record.kind, a.record.name, b.record.kind, b.record.name
            )));
        }
    }
    Ok(())
}

fn exclude(a: &Rendered, b: &Rendered) -> bool {
    let (a, b) = (&a.record, &b.record);
    let same_host = a.name == b.name;
    match a.kind.as_str() {
        "CNAME" => same_host,
        "NS" => match b.kind.as_str() {
            "NS" => !same_host && is_at_or_below(&b.name, &a.name),
            _ => is_at_or_below(&b.name, &a.name) && !is_beside_delegation(b, a),
        },
        "APEXCNAME" => {
            same_host && (matches!(b.kind.as_str(), "A" | "AAAA" | "APEXCNAME") || is_redirect(&b.kind))
        }
        kind if is_redirect(kind) => same_host && is_redirect(&b.kind),
        _ => false,
    }
}
