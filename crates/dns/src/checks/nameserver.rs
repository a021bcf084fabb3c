//! Nameserver15 (software versions that servers reveal).

use super::context::{Context, plain};
use crate::session::Manner;
use crate::wire::{Data, Name, Question, Rtype};
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
            let asked = c.session.ask(ip, &question, Manner::Exact).await;
            let Some(reply) = asked.reply().filter(|r| r.rcode != 2) else {
                errors.entry(text.to_string()).or_default().insert(ip);
                continue;
            };
            for rr in reply.answers_of(&name, Rtype::TXT) {
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
