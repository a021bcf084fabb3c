//! Address01 (globally reachable addresses), Address02 and Address03 (reverse names).

use super::context::{Context, joined};
use crate::resolve::Stuck;
use crate::resolve::origin::{reverse_name, within};
use crate::wire::{Data, Name, Rtype};
use model::finding::Finding;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

/// A row of the IANA special-purpose address registries.
#[derive(serde::Deserialize)]
struct Special {
    prefix: String,
    /// `documentation`, `local`, `other` (not globally reachable) or `global`.
    class: String,
}

#[derive(serde::Deserialize)]
struct Registry {
    block: Vec<Special>,
}

static REGISTRY: LazyLock<Vec<(IpAddr, u8, String)>> = LazyLock::new(|| {
    let table: Registry = toml::from_str(include_str!("../../data/special-addresses.toml"))
        .unwrap_or(Registry { block: Vec::new() });
    let mut rows: Vec<(IpAddr, u8, String)> = table
        .block
        .into_iter()
        .filter_map(|b| {
            let (ip, length) = b.prefix.split_once('/')?;
            Some((ip.parse().ok()?, length.parse().ok()?, b.class))
        })
        .collect();
    // The most specific block decides: parts of a reserved block may be global.
    rows.sort_by_key(|(_, length, _)| std::cmp::Reverse(*length));
    rows
});

/// `None` for an address in the global space.
pub(crate) fn special_class(ip: IpAddr) -> Option<&'static str> {
    let row = REGISTRY.iter().find(|(block, length, _)| within(ip, *block, *length))?;
    Some(row.2.as_str()).filter(|class| *class != "global")
}

pub(super) async fn address01(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Address01");
    let servers = c.all_ns().await;
    let pairs: BTreeSet<(String, IpAddr)> =
        servers.iter().flat_map(|(n, ips)| ips.iter().map(move |ip| (format!("{n}/{ip}"), *ip))).collect();
    if pairs.is_empty() {
        out.add("A01_NO_NAME_SERVERS_FOUND", &[]);
        return out.list;
    }
    // Inside a closed network its own addresses are the reachable ones.
    let special_class = |ip| special_class(ip).filter(|_| !c.is_own(ip));
    let of = |class: &str| -> Vec<&String> {
        pairs.iter().filter(|(_, ip)| special_class(*ip) == Some(class)).map(|(ns, _)| ns).collect()
    };
    let mut special = 0;
    for (class, tag) in [
        ("documentation", "A01_DOCUMENTATION_ADDR"),
        ("local", "A01_LOCAL_USE_ADDR"),
        ("other", "A01_ADDR_NOT_GLOBALLY_REACHABLE"),
    ] {
        let list = of(class);
        special += list.len();
        if !list.is_empty() {
            out.add(tag, &[("ns_list", joined(list))]);
        }
    }
    if special < pairs.len() {
        let global = pairs.iter().filter(|(_, ip)| special_class(*ip).is_none()).map(|(ns, _)| ns);
        out.add("A01_GLOBALLY_REACHABLE_ADDR", &[("ns_list", joined(global))]);
    } else {
        out.add("A01_NO_GLOBALLY_REACHABLE_ADDR", &[]);
    }
    out.list
}

/// 127.0.0.1 and ::1, which the specifications call localhost; the rest of 127/8 is not.
pub(super) fn is_localhost(ip: IpAddr) -> bool {
    ip == IpAddr::from(Ipv4Addr::LOCALHOST) || ip == IpAddr::from(Ipv6Addr::LOCALHOST)
}

/// What the reverse tree says of an address: `None` when it gives no answer. One that refuses or fails has answered,
/// without a name (Address02 step 5.2).
async fn pointers(c: &Context<'_>, ip: IpAddr) -> Option<BTreeSet<Name>> {
    let name = reverse_name(ip, "in-addr.arpa", "ip6.arpa")?;
    let found = match c.session.resolve(name.clone(), Rtype::PTR, true, Vec::new()).await {
        Ok(found) => found,
        Err(Stuck::NoServer { .. }) => return c.is_answered(&name, Rtype::PTR).await.then(BTreeSet::new),
        Err(_) => return None,
    };
    let records = &found.asked.reply()?.answers;
    let names = records.iter().filter(|rr| rr.name == found.owner).filter_map(|rr| match &rr.data {
        Data::Ptr(name) => Some(name.clone()),
        _ => None,
    });
    Some(names.collect())
}

pub(super) async fn address02(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Address02");
    let servers = c.all_ns().await;
    for (name, ips) in &servers {
        for ip in ips {
            let args = [("nsname", name.to_string().into()), ("ns_ip", ip.to_string().into())];
            match pointers(c, *ip).await {
                None => {
                    let query = reverse_name(*ip, "in-addr.arpa", "ip6.arpa")
                        .map_or(String::new(), |n| n.to_string());
                    out.add("NO_RESPONSE_PTR_QUERY", &[("domain", query.into())]);
                }
                Some(names) if names.is_empty() => out.add("NAMESERVER_IP_WITHOUT_REVERSE", &args),
                Some(_) => {}
            }
        }
    }
    if out.list.is_empty() && servers.values().any(|ips| !ips.is_empty()) {
        out.add("NAMESERVERS_IP_WITH_REVERSE", &[]);
    }
    out.list
}

pub(super) async fn address03(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Address03");
    let servers = c.zone_ns().await.clone().unwrap_or_default();
    for (name, ips) in &servers {
        for ip in ips {
            match pointers(c, *ip).await {
                None => {
                    let query = reverse_name(*ip, "in-addr.arpa", "ip6.arpa")
                        .map_or(String::new(), |n| n.to_string());
                    out.add("NO_RESPONSE_PTR_QUERY", &[("domain", query.into())]);
                }
                Some(names) if names.is_empty() => {
                    let args = [("nsname", name.to_string().into()), ("ns_ip", ip.to_string().into())];
                    out.add("NAMESERVER_IP_WITHOUT_REVERSE", &args);
                }
                Some(names) if !names.contains(name) => {
                    let args = [
                        ("nsname", name.to_string().into()),
                        ("ns_ip", ip.to_string().into()),
                        ("names", joined(names)),
                    ];
                    out.add("NAMESERVER_IP_PTR_MISMATCH", &args);
                }
                Some(_) => {}
            }
        }
    }
    if out.list.is_empty() && servers.values().any(|ips| !ips.is_empty()) {
        out.add("NAMESERVER_IP_PTR_MATCH", &[]);
    }
    out.list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_told_by_the_most_specific_row() {
        for (ip, class) in [
            ("192.0.2.1", Some("documentation")),
            ("2001:db8::1", Some("documentation")),
            ("10.1.2.3", Some("local")),
            ("127.0.0.1", Some("local")),
            ("100.64.0.1", Some("local")),
            ("fe80::1", Some("local")),
            ("fd00::1", Some("local")),
            ("192.0.0.9", None),
            ("192.0.0.8", Some("other")),
            ("198.18.0.1", Some("other")),
            ("240.0.0.1", Some("other")),
            ("8.8.8.8", None),
            ("2001:500:1::53", None),
            ("2001:1::1", None),
        ] {
            assert_eq!(special_class(ip.parse().unwrap()), class, "{ip}");
        }
        assert!(REGISTRY.len() > 40);
    }

    #[test]
    fn reverse_names_are_built_as_the_rfcs_say() {
        let name =
            |ip: &str| reverse_name(ip.parse().unwrap(), "in-addr.arpa", "ip6.arpa").unwrap().to_string();
        assert_eq!(name("10.2.0.52"), "52.0.2.10.in-addr.arpa");
        assert!(name("4321:0:1:2:3:4:567:89ab").starts_with("b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0."));
    }
}
