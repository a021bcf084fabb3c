//! Our own check "Domainscope": slow, unicast authoritative DNS, judged by the time all answers of this check took and
//! by the identifiers (RFC 5001) that came with them. In: the servers of the zone and of its parent. Out: the findings of `model::latency`.

use super::context::Context;
use super::methods::NsMap;
use crate::resolve::origin::origin;
use crate::session::{Observed, QueryMode};
use crate::wire::{Edns, Question, Rtype};
use model::finding::Finding;
use model::latency::{ChainServer, LatencyHistory, ServerNetwork};
use std::collections::HashMap;
use std::net::IpAddr;

/// How the check is called.
pub(super) const NAME: &str = "Domainscope";

pub(super) async fn domainscope(c: &Context<'_>) -> Vec<Finding> {
    let seen = c.session.seen();
    let parent = c.parent_ns().await.clone().unwrap_or_default();
    let above = c.zone.parent().to_string();
    let mut chain = LatencyHistory::default();
    let own = c.all_ns().await;
    for (zone, servers) in [(&above, &parent), (&c.text, &own)] {
        chain.servers.extend(servers_of(zone, servers, &seen));
    }
    let most = chain.servers.iter().map(|s| s.ms.len()).max().unwrap_or(0);
    chain.looks = vec![c.now; most];
    // The places are asked only of servers that are to be judged.
    if !chain.findings(&c.text).is_empty() && !c.asn_zone.is_empty() {
        let networks = futures::future::join_all(own.values().flatten().map(|ip| network(c, *ip))).await;
        chain.add_networks(&networks);
    }
    // And so are their identifiers.
    if !chain.findings(&c.text).is_empty() {
        futures::future::join_all(own.values().flatten().map(|ip| identify(c, *ip))).await;
        let seen = c.session.seen();
        for server in &mut chain.servers {
            server.ids = seen.get(&server.address).map(|s| s.ids.clone()).unwrap_or_default();
        }
    }
    chain.findings(&c.text)
}

fn servers_of<'a>(
    zone: &'a str,
    servers: &'a NsMap,
    seen: &'a HashMap<IpAddr, Observed>,
) -> impl Iterator<Item = ChainServer> + 'a {
    servers.iter().flat_map(move |(name, ips)| {
        ips.iter().map(move |ip| ChainServer {
            zone: zone.to_string(),
            server: name.to_string(),
            address: *ip,
            ms: seen.get(ip).into_iter().flat_map(|s| &s.ms).map(|ms| Some(*ms)).collect(),
            network: None,
            ids: seen.get(ip).map(|s| s.ids.clone()).unwrap_or_default(),
        })
    })
}

/// Asks a server for its identifier a few times, each time from another port: where several machines share the address
/// the way to them is often chosen by that.
async fn identify(c: &Context<'_>, address: IpAddr) {
    let ask = |rtype| async move {
        let edns = Some(Edns::ordinary(false));
        let question = Question { edns, ..Question::new(c.zone.clone(), rtype) };
        c.session.ask(address, &question, QueryMode::ExactUdp).await;
    };
    futures::future::join_all([Rtype::SOA, Rtype::NS, Rtype::A, Rtype::AAAA].map(ask)).await;
}

async fn network(c: &Context<'_>, address: IpAddr) -> ServerNetwork {
    let known = origin(c.session, &c.asn_zone, address).await.known;
    let (prefix, asns) = known.map_or((None, Vec::new()), |k| (Some(k.prefix), k.asns.into_iter().collect()));
    ServerNetwork { address, asns, prefix, id: None }
}
