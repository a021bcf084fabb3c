//! What the SOA records say: Consistency01 to 03 (the same on all servers), Zone02 to 06 (timers), Zone10 (one only).

use super::context::{Context, joined, serves};
use super::tags::Findings;
use crate::wire::{Data, Reply, Rtype, SoaData};
use model::finding::Finding;
use model::serial::later;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// SOA records of all servers. What gives none is noted under the old tags, at level DEBUG.
pub(super) async fn all_soas(c: &Context<'_>, out: &mut Findings<'_>) -> Vec<(IpAddr, SoaData)> {
    let mut list = Vec::new();
    for (ip, asked) in c.ask_each(&c.all_ips().await, &c.zone, Rtype::SOA).await {
        let Some(reply) = asked.reply() else {
            out.add("NO_RESPONSE", &[("ns", c.ns_list([&ip]).await)]);
            continue;
        };
        match reply.answers_of(&c.zone, Rtype::SOA).next().map(|rr| &rr.data) {
            Some(Data::Soa(soa)) => list.push((ip, soa.clone())),
            _ => out.add("NO_RESPONSE_SOA_QUERY", &[("ns", c.ns_list([&ip]).await)]),
        }
    }
    list
}

/// The first and the last of serial numbers by their arithmetic; by size where that gives them no order.
fn ends(serials: &BTreeSet<u32>) -> Option<(u32, u32)> {
    let past = |a: u32, is: fn(u32, u32) -> bool| serials.iter().all(|b| a == *b || is(a, *b));
    let first = serials.iter().copied().find(|a| past(*a, |a, b| later(b, a)));
    let last = serials.iter().copied().find(|a| past(*a, later));
    first.zip(last).or_else(|| Some((*serials.first()?, *serials.last()?)))
}

pub(super) async fn consistency01(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Consistency01");
    let mut serials: BTreeMap<u32, BTreeSet<IpAddr>> = BTreeMap::new();
    for (ip, soa) in all_soas(c, &mut out).await {
        serials.entry(soa.serial).or_default().insert(ip);
    }
    if serials.len() == 1 {
        out.add("ONE_SOA_SERIAL", &[("serial", joined(serials.keys()))]);
    } else if let Some((first, last)) = ends(&serials.keys().copied().collect()) {
        out.add("SOA_SERIAL_VARIATION", &[("serial_min", first.into()), ("serial_max", last.into())]);
        out.add("MULTIPLE_SOA_SERIALS", &[("count", serials.len().into())]);
    }
    for (serial, ips) in &serials {
        out.add("SOA_SERIAL", &[("serial", (*serial).into()), ("ns_list", c.ns_list(ips).await)]);
    }
    out.list
}

pub(super) async fn consistency02(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Consistency02");
    let mut rnames: BTreeMap<String, BTreeSet<IpAddr>> = BTreeMap::new();
    for (ip, soa) in all_soas(c, &mut out).await {
        rnames.entry(soa.rname.to_string()).or_default().insert(ip);
    }
    match rnames.len() {
        0 => {}
        1 => out.add("ONE_SOA_RNAME", &[("rname", joined(rnames.keys()))]),
        n => {
            out.add("MULTIPLE_SOA_RNAMES", &[("count", n.into())]);
            for (rname, ips) in &rnames {
                out.add("SOA_RNAME", &[("rname", rname.as_str().into()), ("ns_list", c.ns_list(ips).await)]);
            }
        }
    }
    out.list
}

pub(super) async fn consistency03(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Consistency03");
    let mut sets: BTreeMap<[u32; 4], BTreeSet<IpAddr>> = BTreeMap::new();
    for (ip, soa) in all_soas(c, &mut out).await {
        sets.entry([soa.refresh, soa.retry, soa.expire, soa.minimum]).or_default().insert(ip);
    }
    if sets.len() > 1 {
        out.add("MULTIPLE_SOA_TIME_PARAMETER_SET", &[("count", sets.len().into())]);
    }
    for ([refresh, retry, expire, minimum], ips) in &sets {
        let args = [
            ("refresh", (*refresh).into()),
            ("retry", (*retry).into()),
            ("expire", (*expire).into()),
            ("minimum", (*minimum).into()),
            ("ns_list", c.ns_list(ips).await),
        ];
        out.add(if sets.len() > 1 { "SOA_TIME_PARAMETER_SET" } else { "ONE_SOA_TIME_PARAMETER_SET" }, &args);
    }
    out.list
}

/// The SOA record of the first server that answers with authority, those of the delegation first.
pub(super) async fn first_soa(c: &Context<'_>) -> Option<SoaData> {
    soa_where(c, |reply| serves(Some(reply), &c.zone)).await
}

/// The same, but where no server has authority any SOA record is better than none (Syntax05 and 07 ask for a response).
pub(super) async fn any_soa(c: &Context<'_>) -> Option<SoaData> {
    match first_soa(c).await {
        None => soa_where(c, |_| true).await,
        soa => soa,
    }
}

async fn soa_where(c: &Context<'_>, wanted: impl Fn(&Reply) -> bool) -> Option<SoaData> {
    let delegated = c.del_ns().await.as_ref().map(super::methods::ips).unwrap_or_default();
    let mut answers = c.ask_each(&delegated, &c.zone, Rtype::SOA).await;
    answers.extend(c.ask_each(&c.all_ips().await, &c.zone, Rtype::SOA).await);
    let replies = answers.iter().filter_map(|(_, asked)| asked.reply()).filter(|reply| wanted(reply));
    replies.flat_map(|reply| reply.answers_of(&c.zone, Rtype::SOA)).find_map(|rr| match &rr.data {
        Data::Soa(soa) => Some(soa.clone()),
        _ => None,
    })
}

async fn timer(c: &Context<'_>, case: &'static str, judge: fn(&SoaData, &mut Findings<'_>)) -> Vec<Finding> {
    let mut out = c.findings(case);
    match first_soa(c).await {
        Some(soa) => judge(&soa, &mut out),
        None => out.add("NO_RESPONSE_SOA_QUERY", &[]),
    }
    out.list
}

pub(super) async fn zone02(c: &Context<'_>) -> Vec<Finding> {
    timer(c, "Zone02", |soa, out| {
        let args = [("refresh", soa.refresh.into()), ("required_refresh", 14_400.into())];
        out.add(
            if soa.refresh < 14_400 { "REFRESH_MINIMUM_VALUE_LOWER" } else { "REFRESH_MINIMUM_VALUE_OK" },
            &args,
        );
    })
    .await
}

pub(super) async fn zone03(c: &Context<'_>) -> Vec<Finding> {
    timer(c, "Zone03", |soa, out| {
        let args = [("refresh", soa.refresh.into()), ("retry", soa.retry.into())];
        let low = soa.retry >= soa.refresh;
        out.add(if low { "REFRESH_LOWER_THAN_RETRY" } else { "REFRESH_HIGHER_THAN_RETRY" }, &args);
    })
    .await
}

pub(super) async fn zone04(c: &Context<'_>) -> Vec<Finding> {
    timer(c, "Zone04", |soa, out| {
        let args = [("retry", soa.retry.into()), ("required_retry", 3_600.into())];
        out.add(
            if soa.retry < 3_600 { "RETRY_MINIMUM_VALUE_LOWER" } else { "RETRY_MINIMUM_VALUE_OK" },
            &args,
        );
    })
    .await
}

pub(super) async fn zone05(c: &Context<'_>) -> Vec<Finding> {
    timer(c, "Zone05", |soa, out| {
        let args = [
            ("expire", soa.expire.into()),
            ("required_expire", 604_800.into()),
            ("refresh", soa.refresh.into()),
        ];
        if soa.expire < 604_800 {
            out.add("EXPIRE_MINIMUM_VALUE_LOWER", &args);
        }
        if soa.expire < soa.refresh {
            out.add("EXPIRE_LOWER_THAN_REFRESH", &args);
        }
        if out.list.is_empty() {
            out.add("EXPIRE_MINIMUM_VALUE_OK", &args);
        }
    })
    .await
}

pub(super) async fn zone06(c: &Context<'_>) -> Vec<Finding> {
    timer(c, "Zone06", |soa, out| {
        let args = [
            ("minimum", soa.minimum.into()),
            ("highest_minimum", 86_400.into()),
            ("lowest_minimum", 300.into()),
        ];
        let tag = match soa.minimum {
            86_401.. => "SOA_DEFAULT_TTL_MAXIMUM_VALUE_HIGHER",
            0..300 => "SOA_DEFAULT_TTL_MAXIMUM_VALUE_LOWER",
            _ => "SOA_DEFAULT_TTL_MAXIMUM_VALUE_OK",
        };
        out.add(tag, &args);
    })
    .await
}

pub(super) async fn zone10(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Zone10");
    let mut good = false;
    for (ip, asked) in c.ask_each(&c.all_ips().await, &c.zone, Rtype::SOA).await {
        let ns = ("ns", c.ns_list([&ip]).await);
        let Some(reply) = asked.reply() else {
            out.add("NO_RESPONSE", &[ns]);
            continue;
        };
        let all: Vec<_> = reply.answers.iter().filter(|rr| rr.rtype == Rtype::SOA).collect();
        if all.is_empty() {
            out.add("NO_SOA_IN_RESPONSE", &[ns]);
        } else if let Some(wrong) = all.iter().find(|rr| rr.name != c.zone) {
            out.add(
                "WRONG_SOA",
                &[ns, ("owner", wrong.name.to_string().into()), ("name", c.text.clone().into())],
            );
        } else if all.len() > 1 {
            out.add("MULTIPLE_SOA", &[ns, ("count", all.len().into())]);
        } else {
            good = true;
        }
    }
    if good && out.list.is_empty() {
        out.add("ONE_SOA", &[]);
    }
    out.list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_numbers_are_ordered_by_their_arithmetic() {
        let ends = |list: &[u32]| ends(&list.iter().copied().collect());
        assert_eq!(ends(&[7, 9, 8]), Some((7, 9)));
        assert_eq!(
            ends(&[5, 4_294_967_290, 0]),
            Some((4_294_967_290, 5)),
            "past the greatest number comes 0"
        );
        assert_eq!(
            ends(&[0, 0x8000_0000]),
            Some((0, 0x8000_0000)),
            "RFC 1982 leaves these two without order"
        );
        assert_eq!(
            ends(&[0, 0x6000_0000, 0xC000_0000]),
            Some((0, 0xC000_0000)),
            "these go round in a circle"
        );
        assert_eq!(ends(&[]), None);
    }
}
