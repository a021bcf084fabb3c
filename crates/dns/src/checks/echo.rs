//! Nameserver04 (answers come from the address that was asked), Nameserver08 and Nameserver09 (letter case).

use super::context::{Context, plain};
use crate::session::QueryMode;
use crate::wire::{Reply, Rr, Rtype, rcode_text};
use model::finding::Finding;
use std::collections::BTreeSet;

pub(super) async fn nameserver04(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Nameserver04");
    let question = plain(&c.zone, Rtype::SOA);
    let ips = c.all_ips().await;
    let answers = ips.iter().map(|ip| async { (*ip, c.session.source_of(*ip, &question).await) });
    let mut same = 0;
    for (ip, sources) in futures::future::join_all(answers).await {
        match sources {
            Some((asked, source)) if asked != source => {
                let args = [("ns", c.ns_list([&ip]).await), ("source", source.to_string().into())];
                out.add("DIFFERENT_SOURCE_IP", &args);
            }
            Some(_) => same += 1,
            None => {}
        }
    }
    if out.list.is_empty() && same > 0 {
        out.add("SAME_SOURCE_IP", &[]);
    }
    out.list
}

pub(super) async fn nameserver08(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Nameserver08");
    // A label of our own: short names keep their case by chance.
    let Some(name) = c.zone.child("case-of-letters-is-to-be-repeated") else { return out.list };
    let question = plain(&name, Rtype::SOA);
    for ip in c.all_ips().await {
        let asked = c.session.ask(ip, &question, QueryMode::Cased).await;
        if asked.reply().is_some() {
            let tag = if asked.letters_kept { "QNAME_CASE_SENSITIVE" } else { "QNAME_CASE_INSENSITIVE" };
            out.add(tag, &[("ns", c.ns_list([&ip]).await), ("domain", name.to_string().into())]);
        }
    }
    out.list
}

/// Answers without their TTLs, in no order.
fn gist(reply: &Reply) -> BTreeSet<(String, u16, Vec<u8>)> {
    reply.answers.iter().map(|rr: &Rr| (rr.name.to_string(), rr.rtype.0, rr.raw.clone())).collect()
}

pub(super) async fn nameserver09(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Nameserver09");
    let question = plain(&c.zone, Rtype::SOA);
    let mut compared = 0;
    for ip in c.all_ips().await {
        let cased = c.session.ask(ip, &question, QueryMode::Cased).await;
        // A truncated answer is compared with what UDP says to the other letters, not with what TCP does.
        let truncated = cased.reply().is_some_and(|r| r.tc);
        let mode = if truncated { QueryMode::ExactUdp } else { QueryMode::Exact };
        let lower = c.session.ask(ip, &question, mode).await;
        let ns = ("ns", c.ns_list([&ip]).await);
        match (lower.reply(), cased.reply()) {
            (None, None) => continue,
            (Some(l), Some(r)) if l.rcode != r.rcode => {
                let args =
                    [ns, ("rcode1", rcode_text(l.rcode).into()), ("rcode2", rcode_text(r.rcode).into())];
                out.add("CASE_QUERY_DIFFERENT_RC", &args);
            }
            (Some(l), Some(r)) if r.answers.is_empty() && l.answers.is_empty() => {
                out.add("CASE_QUERY_SAME_RC", &[ns]);
            }
            (Some(l), Some(r)) if gist(r) == gist(l) => out.add("CASE_QUERY_SAME_ANSWER", &[ns]),
            (Some(_), Some(_)) => out.add("CASE_QUERY_DIFFERENT_ANSWER", &[ns]),
            // One letter case is answered, the other is not.
            _ => out.add("CASE_QUERY_NO_ANSWER", &[ns]),
        }
        compared += 1;
    }
    if compared > 0 {
        let same = out.list.iter().all(|f| f.tag.starts_with("CASE_QUERY_SAME"));
        out.add(if same { "CASE_QUERIES_RESULTS_OK" } else { "CASE_QUERIES_RESULTS_DIFFER" }, &[]);
    }
    out.list
}
