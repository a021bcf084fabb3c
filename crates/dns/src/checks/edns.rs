//! Nameserver02 (EDNS), 10 (unknown version), 11 (unknown option), 12 (unknown flag), 13 (truncation), 14 (unknown
//! version and option together). RFC 6891; specifications of 2021 to 2024.

use super::context::{Context, plain, serves};
use super::tags::Findings;
use crate::session::QueryMode;
use crate::wire::{Edns, Question, Reply, Rtype, rcode_text};
use model::finding::Finding;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

fn edns() -> Edns {
    Edns { version: 0, payload: 512, dnssec_ok: false, z: 0, options: Vec::new() }
}

/// An unassigned option code.
const UNKNOWN_OPTION: u16 = 137;

fn soa_with(c: &Context<'_>, edns: Edns) -> Question {
    Question { edns: Some(edns), ..plain(&c.zone, Rtype::SOA) }
}

/// Sets of servers by tag, in the order of their first use.
#[derive(Default)]
struct ByTag(BTreeMap<String, BTreeSet<IpAddr>>);

impl ByTag {
    fn note(&mut self, tag: &str, ip: IpAddr) {
        self.0.entry(tag.to_string()).or_default().insert(ip);
    }

    async fn report(&self, c: &Context<'_>, out: &mut Findings<'_>) {
        for (tag, ips) in &self.0 {
            out.add(tag, &[("ns_ip_list", super::context::joined(ips)), ("ns_list", c.ns_list(ips).await)]);
        }
    }
}

fn version(reply: &Reply) -> Option<u8> {
    reply.edns.as_ref().map(|e| e.version)
}

pub(super) async fn nameserver02(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Nameserver02");
    let question = soa_with(c, edns());
    let mut sets = ByTag::default();
    for ip in c.all_ips().await {
        let asked = c.session.ask(ip, &question, QueryMode::Exact).await;
        let Some(reply) = asked.reply() else {
            let without = c.ask(ip, &c.zone, Rtype::SOA).await;
            sets.note(if without.reply().is_some() { "BREAKS_ON_EDNS" } else { "NO_RESPONSE" }, ip);
            continue;
        };
        let tag = match (reply.rcode, version(reply)) {
            (1, None) => "NO_EDNS_SUPPORT",
            (0, Some(0)) if reply.answers_of(&c.zone, Rtype::SOA).next().is_some() => "EDNS0_SUPPORT",
            (0, None) => "EDNS_RESPONSE_WITHOUT_EDNS",
            (0, Some(1..)) => "EDNS_VERSION_ERROR",
            _ => "NS_ERROR",
        };
        sets.note(tag, ip);
    }
    sets.report(c, &mut out).await;
    out.list
}

pub(super) async fn nameserver10(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Nameserver10");
    let (one, two) = (soa_with(c, edns()), soa_with(c, Edns { version: 1, ..edns() }));
    let mut sets = ByTag::default();
    let mut rcodes: BTreeMap<String, BTreeSet<IpAddr>> = BTreeMap::new();
    for ip in c.all_ips().await {
        let first = c.session.ask(ip, &one, QueryMode::Exact).await;
        if first.reply().is_none_or(|r| r.rcode != 0) {
            continue;
        }
        let asked = c.session.ask(ip, &two, QueryMode::Exact).await;
        match asked.reply() {
            None => sets.note("N10_NO_RESPONSE_EDNS1_QUERY", ip),
            Some(r) if r.rcode != 16 => {
                rcodes.entry(rcode_text(r.rcode)).or_default().insert(ip);
            }
            Some(r) if version(r) == Some(0) && r.answers.is_empty() => {}
            Some(_) => sets.note("N10_EDNS_RESPONSE_ERROR", ip),
        }
    }
    sets.report(c, &mut out).await;
    for (rcode, ips) in &rcodes {
        let args = [("ns_ip_list", super::context::joined(ips)), ("rcode", rcode.as_str().into())];
        out.add("N10_UNEXPECTED_RCODE", &args);
    }
    out.list
}

pub(super) async fn nameserver11(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Nameserver11");
    let (one, two) =
        (soa_with(c, edns()), soa_with(c, Edns { options: vec![(UNKNOWN_OPTION, vec![])], ..edns() }));
    let mut sets = ByTag::default();
    let mut rcodes: BTreeMap<String, BTreeSet<IpAddr>> = BTreeMap::new();
    for ip in c.all_ips().await {
        let first = c.session.ask(ip, &one, QueryMode::Exact).await;
        if first.reply().is_none_or(|r| r.edns.is_none() || !serves(Some(r), &c.zone)) {
            continue;
        }
        let asked = c.session.ask(ip, &two, QueryMode::Exact).await;
        let Some(reply) = asked.reply() else {
            sets.note("N11_NO_RESPONSE", ip);
            continue;
        };
        let returned = |e: &crate::wire::EdnsReply| e.options.iter().any(|(code, _)| *code == UNKNOWN_OPTION);
        if reply.rcode != 0 {
            rcodes.entry(rcode_text(reply.rcode)).or_default().insert(ip);
        } else if reply.edns.is_none() {
            sets.note("N11_NO_EDNS", ip);
        } else if reply.answers_of(&c.zone, Rtype::SOA).next().is_none() {
            sets.note("N11_UNEXPECTED_ANSWER_SECTION", ip);
        } else if !reply.aa {
            sets.note("N11_UNSET_AA", ip);
        } else if reply.edns.as_ref().is_some_and(returned) {
            sets.note("N11_RETURNS_UNKNOWN_OPTION_CODE", ip);
        }
    }
    sets.report(c, &mut out).await;
    for (rcode, ips) in &rcodes {
        let args = [("ns_ip_list", super::context::joined(ips)), ("rcode", rcode.as_str().into())];
        out.add("N11_UNEXPECTED_RCODE", &args);
    }
    out.list
}

pub(super) async fn nameserver12(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Nameserver12");
    let question = soa_with(c, Edns { z: 0x0004, ..edns() });
    let mut sets = ByTag::default();
    for ip in c.all_ips().await {
        let asked = c.session.ask(ip, &question, QueryMode::Exact).await;
        match asked.reply() {
            None => sets.note("NO_RESPONSE", ip),
            Some(r) if r.rcode == 1 => sets.note("NO_EDNS_SUPPORT", ip),
            Some(r) if r.edns.as_ref().is_some_and(|e| e.z != 0) => sets.note("Z_FLAGS_NOTCLEAR", ip),
            Some(r)
                if r.rcode == 0
                    && version(r) == Some(0)
                    && r.answers_of(&c.zone, Rtype::SOA).next().is_some() => {}
            Some(_) => sets.note("NS_ERROR", ip),
        }
    }
    sets.report(c, &mut out).await;
    out.list
}

pub(super) async fn nameserver13(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Nameserver13");
    let question =
        Question { edns: Some(Edns { dnssec_ok: true, ..edns() }), ..plain(&c.zone, Rtype::DNSKEY) };
    let mut sets = ByTag::default();
    for ip in c.all_ips().await {
        let asked = c.session.ask(ip, &question, QueryMode::ExactUdp).await;
        match asked.reply() {
            None => sets.note("NO_RESPONSE", ip),
            Some(r) if r.rcode == 1 => sets.note("NO_EDNS_SUPPORT", ip),
            Some(r) if r.tc && r.edns.is_none() => sets.note("MISSING_OPT_IN_TRUNCATED", ip),
            Some(r) if r.rcode == 0 && version(r) == Some(0) => {}
            Some(_) => sets.note("NS_ERROR", ip),
        }
    }
    sets.report(c, &mut out).await;
    out.list
}

pub(super) async fn nameserver14(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Nameserver14");
    let question = soa_with(c, Edns { version: 1, options: vec![(UNKNOWN_OPTION, vec![])], ..edns() });
    let mut sets = ByTag::default();
    for ip in c.all_ips().await {
        let asked = c.session.ask(ip, &question, QueryMode::Exact).await;
        let Some(reply) = asked.reply() else {
            sets.note("NO_RESPONSE", ip);
            continue;
        };
        let later = version(reply).is_some_and(|v| v > 0);
        let echoed = reply.edns.as_ref().is_some_and(|e| e.options.iter().any(|(c, _)| *c == UNKNOWN_OPTION));
        let soa = reply.answers_of(&c.zone, Rtype::SOA).next().is_some();
        match reply.rcode {
            1 => sets.note("NO_EDNS_SUPPORT", ip),
            0 if later || echoed => {
                if later {
                    sets.note("UNSUPPORTED_EDNS_VER", ip);
                }
                if echoed {
                    sets.note("UNKNOWN_OPTION_CODE", ip);
                }
            }
            16 if !soa && version(reply) == Some(0) && !echoed => {}
            _ => sets.note("NS_ERROR", ip),
        }
    }
    sets.report(c, &mut out).await;
    out.list
}
