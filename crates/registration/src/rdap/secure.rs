//! `secureDNS` of an RDAP answer (RFC 9083 section 5.3). In: the domain object; out: what it states about DNSSEC.

use super::{list, number};
use model::registration::{DnssecStated, Ds};
use serde_json::Value;

pub(super) fn dnssec(answer: &Value, warnings: &mut Vec<String>) -> Option<DnssecStated> {
    let secure = list(answer, "secureDNS").find(|v| v.is_object())?;
    let said = secure.get("delegationSigned").and_then(truth);
    let mut ds: Vec<Ds> = list(secure, "dsData").filter_map(record).collect();
    ds.sort();
    ds.dedup();
    let listed =
        !ds.is_empty() || list(secure, "keyData").any(|k| k.as_object().is_some_and(|k| !k.is_empty()));
    if said == Some(false) && listed {
        warnings.push("delegationSigned is false, yet DS or key data is listed; taken as signed".into());
    }
    match said {
        Some(signed) => Some(DnssecStated { signed: signed || listed, ds }),
        None => listed.then_some(DnssecStated { signed: true, ds }),
    }
}

fn truth(v: &Value) -> Option<bool> {
    v.as_bool().or_else(|| match v.as_u64() {
        Some(0) => Some(false),
        Some(1) => Some(true),
        _ => match v.as_str()?.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Some(true),
            "false" | "no" | "0" => Some(false),
            _ => None,
        },
    })
}

fn record(v: &Value) -> Option<Ds> {
    let small = |m| v.get(m).and_then(number).and_then(|n| u8::try_from(n).ok());
    let digest: String = v
        .get("digest")?
        .as_str()?
        .chars()
        .filter(|c| !c.is_whitespace() && *c != ':')
        .collect::<String>()
        .to_ascii_uppercase();
    let fine = (40..=128).contains(&digest.len()) && digest.bytes().all(|b| b.is_ascii_hexdigit());
    fine.then_some(Ds {
        key_tag: v.get("keyTag").and_then(number).and_then(|n| u16::try_from(n).ok())?,
        algorithm: small("algorithm")?,
        digest_type: small("digestType")?,
        digest,
    })
}
