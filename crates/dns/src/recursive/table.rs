//! Which resolvers are asked: the shipped table, and those the machine itself uses (resolv.conf(5)).

use model::resolvers::{PublicResolver, parse};
use std::net::IpAddr;
use std::sync::LazyLock;

static SHIPPED: LazyLock<Vec<PublicResolver>> =
    // The file is part of the program and a test reads it.
    LazyLock::new(|| parse(include_str!("../../data/resolvers.toml")).unwrap_or_default());

/// The table that comes with the program; a comparison asks its rows with `default` set.
pub fn shipped() -> &'static [PublicResolver] {
    &SHIPPED
}

/// Most resolvers of a machine that are asked: the C library uses three.
const OWN: usize = 3;

/// The resolvers a machine uses, from the text of its `/etc/resolv.conf` (macOS writes one too). Zone identifiers of
/// link-local addresses are left off, comments and unknown lines passed over.
pub fn own_resolvers(text: &str) -> Vec<IpAddr> {
    let mut found: Vec<IpAddr> = Vec::new();
    for line in text.lines() {
        let line = line.split(['#', ';']).next().unwrap_or("");
        let mut words = line.split_whitespace();
        if words.next() != Some("nameserver") {
            continue;
        }
        let address = words.next().and_then(|w| w.split('%').next()).and_then(|w| w.parse().ok());
        if let Some(ip) = address.filter(|ip| !found.contains(ip)) {
            found.push(ip);
        }
    }
    found.truncate(OWN);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::resolvers::Filtering;
    use std::collections::BTreeSet;

    #[test]
    fn the_shipped_table_reads_and_every_row_can_be_asked_and_has_a_source() {
        let rows = parse(include_str!("../../data/resolvers.toml")).unwrap();
        assert!(rows.len() >= 60, "{}", rows.len());
        // Every comparison asks all of these: few enough to be polite, enough to see the world.
        let asked: Vec<_> = rows.iter().filter(|r| r.default).collect();
        assert!((30..=40).contains(&asked.len()), "{}", asked.len());
        for row in &rows {
            assert!(!row.source.is_empty() && !row.operator.is_empty() && !row.country.is_empty(), "{row:?}");
            assert!(row.source.contains("listed by ") && !row.source.contains("memory"), "{row:?}");
            for ip in &row.addresses {
                assert_eq!(net::guard::is_private(*ip), None, "{row:?}");
            }
            for url in row.doh.iter().chain(&row.json) {
                assert!(url.starts_with("https://") && url.parse::<url_check::Host>().is_ok(), "{row:?}");
            }
        }
        let restena = rows.iter().find(|r| r.id == "restena").and_then(|r| r.doh.as_deref());
        assert_eq!(restena, Some("https://dnspub.restena.lu/dns-query"), "an earlier table had another host");
        let countries: BTreeSet<_> = asked.iter().map(|r| r.country.as_str()).collect();
        assert!(countries.len() >= 10, "{countries:?}");
        for kind in [Filtering::None, Filtering::Malware, Filtering::Ads, Filtering::Family] {
            assert!(rows.iter().any(|r| r.filtering == kind), "{kind:?}");
        }
        assert!(rows.iter().filter(|r| r.json.is_some()).count() >= 3);
    }

    /// The host of a URL, as far as a table needs it.
    mod url_check {
        pub(super) struct Host;
        impl std::str::FromStr for Host {
            type Err = ();
            fn from_str(url: &str) -> Result<Self, ()> {
                let rest = url.strip_prefix("https://").ok_or(())?;
                let host = rest.split(['/', ':']).next().unwrap_or("");
                if model::names::Fqdn::read(host).is_ok() && host.contains('.') { Ok(Host) } else { Err(()) }
            }
        }
    }

    #[test]
    fn a_machines_resolvers_are_read_from_its_file() {
        let text = "# made by systemd-resolved\n; old\nsearch lan\nnameserver 127.0.0.53\nnameserver fe80::1%eth0\n\
                    nameserver  192.0.2.1 # comment\nnameserver 127.0.0.53\noptions edns0\nnameserver x\nnameserver 9.9.9.9";
        let found: Vec<String> = own_resolvers(text).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["127.0.0.53", "fe80::1", "192.0.2.1"]);
        assert!(own_resolvers("").is_empty());
    }
}
