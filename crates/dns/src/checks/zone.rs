//! Zone09 (mail exchangers) and Zone11 (SPF policy).

use super::context::{Context, joined, serves};
use super::spf;
use crate::wire::{Data, Name, Rtype, rcode_text};
use model::finding::Finding;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Root, TLDs and the .ARPA tree are not expected to be used for mail.
fn is_no_mail_domain(zone: &Name) -> bool {
    zone.labels().len() < 2 || zone.labels().last().is_some_and(|l| l == b"arpa")
}

/// Preference and exchange, sorted.
type MxSet = BTreeSet<(u16, Name)>;

pub(super) async fn zone09(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Zone09");
    let (mut silent, mut not_auth, mut none) = (Vec::new(), Vec::new(), Vec::new());
    let mut rcodes: BTreeMap<String, Vec<IpAddr>> = BTreeMap::new();
    let mut sets: BTreeMap<MxSet, Vec<IpAddr>> = BTreeMap::new();
    for (ip, soa) in c.ask_each(&c.all_ips().await, &c.zone, Rtype::SOA).await {
        if !serves(soa.reply(), &c.zone) {
            continue;
        }
        let asked = c.ask(ip, &c.zone, Rtype::MX).await;
        match asked.reply() {
            None => silent.push(ip),
            Some(r) if r.rcode != 0 => rcodes.entry(rcode_text(r.rcode)).or_default().push(ip),
            Some(r) if !r.aa => not_auth.push(ip),
            Some(r) => {
                let set: MxSet = r
                    .answers_of(&c.zone, Rtype::MX)
                    .filter_map(|rr| match &rr.data {
                        Data::Mx(preference, name) => Some((*preference, name.clone())),
                        _ => None,
                    })
                    .collect();
                if set.is_empty() { none.push(ip) } else { sets.entry(set).or_default().push(ip) }
            }
        }
    }
    if !silent.is_empty() {
        out.add("Z09_NO_RESPONSE_MX_QUERY", &[("ns_ip_list", joined(&silent))]);
    }
    for (rcode, ips) in &rcodes {
        let args = [("ns_ip_list", joined(ips)), ("rcode", rcode.as_str().into())];
        out.add("Z09_UNEXPECTED_RCODE_MX", &args);
    }
    if !not_auth.is_empty() {
        out.add("Z09_NON_AUTH_MX_RESPONSE", &[("ns_ip_list", joined(&not_auth))]);
    }
    if !none.is_empty() && !sets.is_empty() {
        out.add("Z09_INCONSISTENT_MX", &[]);
        out.add("Z09_NO_MX_FOUND", &[("ns_ip_list", joined(&none))]);
        out.add("Z09_MX_FOUND", &[("ns_ip_list", joined(sets.values().flatten()))]);
    }
    let data = |set: &MxSet, ips: &[IpAddr]| {
        [("ns_ip_list", joined(ips)), ("mailtarget_list", joined(set.iter().map(|(_, name)| name)))]
    };
    if sets.len() > 1 {
        out.add("Z09_INCONSISTENT_MX_DATA", &[]);
        for (set, ips) in &sets {
            out.add("Z09_MX_DATA", &data(set, ips));
        }
    } else if let Some((set, ips)) = sets.iter().next() {
        let null: Vec<&(u16, Name)> = set.iter().filter(|(_, name)| name.is_root()).collect();
        if !null.is_empty() {
            if set.len() > 1 {
                out.add("Z09_NULL_MX_WITH_OTHER_MX", &[]);
            }
            if null.iter().any(|(preference, _)| *preference != 0) {
                out.add("Z09_NULL_MX_NON_ZERO_PREF", &[]);
            }
        } else if c.zone.is_root() {
            out.add("Z09_ROOT_EMAIL_DOMAIN", &[]);
        } else if c.zone.labels().len() == 1 {
            out.add("Z09_TLD_EMAIL_DOMAIN", &[]);
        } else {
            out.add("Z09_MX_DATA", &data(set, ips));
        }
    } else if !none.is_empty() && !is_no_mail_domain(&c.zone) {
        out.add("Z09_MISSING_MAIL_TARGET", &[]);
    }
    out.list
}

pub(super) async fn zone11(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Zone11");
    // One entry per server: its policies; empty when it has none.
    let mut policies: BTreeMap<Vec<String>, Vec<IpAddr>> = BTreeMap::new();
    for (ip, asked) in c.ask_each(&c.all_ips().await, &c.zone, Rtype::TXT).await {
        let Some(reply) = asked.reply().filter(|r| r.rcode == 0 && r.aa) else { continue };
        let mut list: Vec<String> = reply
            .answers_of(&c.zone, Rtype::TXT)
            .filter_map(|rr| match &rr.data {
                Data::Txt(strings) => Some(String::from_utf8_lossy(&strings.concat()).to_lowercase()),
                _ => None,
            })
            .filter(|text| text == "v=spf1" || text.starts_with("v=spf1 "))
            .collect();
        list.sort();
        list.dedup();
        policies.entry(list).or_default().push(ip);
    }
    let domain = || ("domain", c.text.clone().into());
    if policies.is_empty() {
        out.add("Z11_UNABLE_TO_CHECK_FOR_SPF", &[]);
        return out.list;
    }
    if policies.keys().all(Vec::is_empty) {
        let tag = if is_no_mail_domain(&c.zone) { "Z11_NO_SPF_NON_MAIL_DOMAIN" } else { "Z11_NO_SPF_FOUND" };
        out.add(tag, &[domain()]);
        return out.list;
    }
    if policies.len() > 1 {
        out.add("Z11_INCONSISTENT_SPF_POLICIES", &[]);
        for ips in policies.values() {
            out.add("Z11_DIFFERENT_SPF_POLICIES_FOUND", &[("ns_list", c.ns_list(ips).await)]);
        }
        return out.list;
    }
    let Some((list, ips)) = policies.iter().next() else { return out.list };
    let ns_list = ("ns_list", c.ns_list(ips).await);
    let policy = list[0].as_str();
    if list.len() > 1 {
        out.add("Z11_SPF_MULTIPLE_RECORDS", &[ns_list]);
    } else if !spf::is_valid(policy) {
        out.add("Z11_SPF_SYNTAX_ERROR", &[domain(), ns_list]);
    } else if is_no_mail_domain(&c.zone) {
        let null = policy.split_whitespace().skip(1).eq(["-all"]);
        let tag = if null { "Z11_NULL_SPF_NON_MAIL_DOMAIN" } else { "Z11_NON_NULL_SPF_NON_MAIL_DOMAIN" };
        out.add(tag, &[domain()]);
    } else {
        out.add("Z11_SPF_SYNTAX_OK", &[domain()]);
    }
    out.list
}
