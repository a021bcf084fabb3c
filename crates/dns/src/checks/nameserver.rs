//! Nameserver01 (no recursion), 03 (zone transfer), 05 (AAAA), 06 (names resolve), 07 (upward referrals),
//! 15 (software versions that servers reveal).

use super::context::{Context, joined, plain};
use crate::session::QueryMode;
use crate::wire::{Data, Name, Question, Reply, Rtype, rcode_text};
use model::finding::Finding;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Class CH.
const CHAOS: u16 = 3;

pub(super) async fn nameserver15(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Nameserver15");
    let mut versions: BTreeMap<(String, String), BTreeSet<IpAddr>> = BTreeMap::new();
    let mut errors: BTreeMap<String, BTreeSet<IpAddr>> = BTreeMap::new();
    let (mut silent, mut wrong) = (BTreeSet::new(), BTreeSet::new());
    for (ip, soa) in c.ask_each(&c.all_ips().await, &c.zone, Rtype::SOA).await {
        if soa.reply().is_none() {
            continue;
        }
        silent.insert(ip);
        for text in ["version.bind", "version.server"] {
            let Ok(name) = Name::from_text(text) else { continue };
            let question = Question { class: CHAOS, ..plain(&name, Rtype::TXT) };
            let asked = c.session.ask(ip, &question, QueryMode::Exact).await;
            let Some(reply) = asked.reply().filter(|r| r.rcode != 2) else {
                errors.entry(text.to_string()).or_default().insert(ip);
                continue;
            };
            if reply.answers_of(&name, Rtype::TXT).next().is_none() {
                continue;
            }
            for rr in reply.answers.iter().filter(|rr| rr.rtype == Rtype::TXT) {
                if rr.class != CHAOS {
                    wrong.insert(ip);
                }
                let Data::Txt(strings) = &rr.data else { continue };
                let string = String::from_utf8_lossy(&strings.concat()).into_owned();
                if !string.is_empty() {
                    versions.entry((text.to_string(), string)).or_default().insert(ip);
                }
            }
        }
    }
    for ((query, string), ips) in &versions {
        silent.retain(|ip| !ips.contains(ip));
        let args = [
            ("ns_list", c.ns_list(ips).await),
            ("query_name", query.as_str().into()),
            ("string", string.as_str().into()),
        ];
        out.add("N15_SOFTWARE_VERSION", &args);
    }
    for (query, ips) in &errors {
        let args = [("ns_list", c.ns_list(ips).await), ("query_name", query.as_str().into())];
        out.add("N15_ERROR_ON_VERSION_QUERY", &args);
    }
    if !silent.is_empty() {
        out.add("N15_NO_VERSION_REVEALED", &[("ns_list", c.ns_list(&silent).await)]);
    }
    if !wrong.is_empty() {
        out.add("N15_WRONG_CLASS", &[("ns_list", c.ns_list(&wrong).await)]);
    }
    out.list
}

/// Names that no server but a recursive one can know about: they break IDNA under well-kept domains.
const NOBODYS_NAMES: [&str; 3] =
    ["xn--nameservertest.iis.se", "xn--nameservertest.icann.org", "xn--nameservertest.ripe.net"];

pub(super) async fn nameserver01(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Nameserver01");
    for ip in c.all_ips().await {
        let (mut silent, mut recursor, mut denials) = (false, false, 0);
        for text in NOBODYS_NAMES {
            let Ok(name) = Name::from_text(text) else { continue };
            let asked = c.ask(ip, &name, Rtype::A).await;
            match asked.reply() {
                None => silent = true,
                Some(r) => {
                    recursor |= r.ra;
                    denials += usize::from(r.rcode == 3);
                }
            }
        }
        let ns = ("ns", c.ns_list([&ip]).await);
        recursor |= denials == NOBODYS_NAMES.len();
        for (there, tag) in
            [(silent, "NO_RESPONSE"), (recursor, "IS_A_RECURSOR"), (!silent && !recursor, "NO_RECURSOR")]
        {
            if there {
                out.add(tag, std::slice::from_ref(&ns));
            }
        }
    }
    out.list
}

pub(super) async fn nameserver03(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Nameserver03");
    let question = plain(&c.zone, Rtype::AXFR);
    for ip in c.all_ips().await {
        // The first message tells: a transfer begins with the SOA record.
        let asked = c.session.ask(ip, &question, QueryMode::ExactTcp).await;
        let begins =
            |r: &Reply| r.answers.first().is_some_and(|rr| rr.rtype == Rtype::SOA && rr.name == c.zone);
        let open = asked.reply().is_some_and(|r| r.rcode == 0 && begins(r));
        let tag = if open { "AXFR_AVAILABLE" } else { "AXFR_FAILURE" };
        out.add(tag, &[("ns", c.ns_list([&ip]).await)]);
    }
    out.list
}

pub(super) async fn nameserver05(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Nameserver05");
    let mut good = 0;
    for (ip, asked) in c.ask_each(&c.all_ips().await, &c.zone, Rtype::A).await {
        let ns = ("ns", c.ns_list([&ip]).await);
        match asked.reply() {
            None => {
                out.add("NO_RESPONSE", &[ns]);
                continue;
            }
            Some(r) if r.rcode != 0 => {
                out.add("A_UNEXPECTED_RCODE", &[ns, ("rcode", rcode_text(r.rcode).into())]);
                continue;
            }
            Some(_) => {}
        }
        let asked = c.ask(ip, &c.zone, Rtype::AAAA).await;
        match asked.reply() {
            None => out.add("AAAA_QUERY_DROPPED", &[ns]),
            Some(r) if r.rcode != 0 => {
                out.add("AAAA_UNEXPECTED_RCODE", &[ns, ("rcode", rcode_text(r.rcode).into())]);
            }
            Some(r) if r.answers.iter().any(|rr| rr.rtype == Rtype::AAAA && rr.data == Data::Malformed) => {
                out.add("AAAA_BAD_RDATA", &[ns]);
            }
            Some(_) => good += 1,
        }
    }
    if good > 0 && !out.list.iter().any(|f| f.tag.starts_with("AAAA_")) {
        out.add("AAAA_WELL_PROCESSED", &[]);
    }
    out.list
}

pub(super) async fn nameserver06(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Nameserver06");
    let servers = c.all_ns().await;
    if servers.is_empty() {
        return out.list;
    }
    let (with, without): (Vec<_>, Vec<_>) = servers.iter().partition(|(_, ips)| !ips.is_empty());
    if !without.is_empty() && !with.is_empty() {
        out.add("CAN_NOT_BE_RESOLVED", &[("nsname_list", joined(without.iter().map(|(n, _)| n)))]);
    } else if with.is_empty() {
        out.add("NO_RESOLUTION", &[("nsname_list", joined(servers.keys()))]);
    } else {
        out.add("CAN_BE_RESOLVED", &[]);
    }
    out.list
}

pub(super) async fn nameserver07(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Nameserver07");
    if c.zone.is_root() {
        out.add("UPWARD_REFERRAL_IRRELEVANT", &[]);
        return out.list;
    }
    let mut answered = false;
    for (ip, asked) in c.ask_each(&c.all_ips().await, &Name::root(), Rtype::NS).await {
        let Some(reply) = asked.reply() else { continue };
        answered = true;
        if reply.authority.iter().any(|rr| rr.rtype == Rtype::NS) {
            out.add("UPWARD_REFERRAL", &[("ns", c.ns_list([&ip]).await)]);
        }
    }
    // Of servers that say nothing nothing is claimed.
    if answered && out.list.is_empty() {
        out.add("NO_UPWARD_REFERRAL", &[("nsname_list", joined(c.all_ns().await.keys()))]);
    }
    out.list
}
