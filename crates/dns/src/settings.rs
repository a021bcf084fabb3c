//! How the engine behaves: root hints, port, time, bounds, and the address map of closed networks.

use crate::error::Error;
use crate::sockets::{Network, System};
use crate::wire::{Dnskey, Name, digest};
use data_encoding::BASE64;
use model::dns::NsName;
use model::registration::Ds;
use net::AddressMap;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Settings of an [`crate::Engine`].
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where every walk starts.
    pub root_hints: RootHints,
    /// Port of name servers.
    pub port: u16,
    /// How long one address may take for one question, all datagrams included.
    pub timeout: Duration,
    /// Datagrams sent within `timeout`, spread evenly; from the third on the question goes without EDNS.
    pub tries: u32,
    /// Questions of one operation, side look-ups included.
    pub max_queries: u32,
    /// Octets of replies that one operation keeps, or those of one scan together; what is made of them takes about as much again.
    pub memory: usize,
    /// Wall time of one operation.
    pub budget: Duration,
    /// Questions in flight at once.
    pub parallel: usize,
    /// Keys or digests that DNSSEC chains start from.
    pub trust_anchors: TrustAnchors,
    /// Whether private, loopback and link-local servers may be asked.
    pub allow_private: bool,
    /// Prefixes the operator allows or denies.
    pub networks: net::Networks,
    /// Translation of addresses in closed networks.
    pub address_map: AddressMap,
    /// Networks whose addresses are as good as globally reachable ones, because everybody who matters is inside; empty
    /// on the real Internet.
    pub own_networks: Vec<(IpAddr, u8)>,
    /// What carries messages: the sockets of the operating system, except in fuzz targets.
    pub network: Arc<dyn Network>,
    /// Zone in which origin AS and prefix of an address are looked up (`origin.` and `origin6.` below it, rows in the
    /// form of Team Cymru); empty: not looked up.
    pub asn_zone: String,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            root_hints: RootHints::shipped(),
            port: 53,
            timeout: Duration::from_secs(2),
            tries: 3,
            max_queries: 500,
            memory: 16 << 20,
            budget: Duration::from_secs(20),
            parallel: 64,
            trust_anchors: TrustAnchors::shipped(),
            allow_private: false,
            networks: net::Networks::default(),
            address_map: AddressMap::default(),
            own_networks: Vec::new(),
            network: Arc::new(System),
            asn_zone: "asnlookup.zonemaster.net".into(),
        }
    }
}

/// Names and addresses of the root servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootHints(Vec<NsName>);

impl RootHints {
    /// The list that comes with the program.
    pub fn shipped() -> Self {
        // The file is part of the program and a test reads it: an empty list cannot get out of the build.
        RootHints::parse(include_str!("../data/named.root")).unwrap_or(RootHints(Vec::new()))
    }

    /// Reads a file in the format of `named.root`: NS records of the root, A and AAAA records of their names.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut servers: BTreeMap<String, Vec<IpAddr>> = BTreeMap::new();
        let mut addresses: HashMap<String, Vec<IpAddr>> = HashMap::new();
        let mut owner = String::new();
        for line in text.lines() {
            let line = line.split(';').next().unwrap_or("");
            if line.trim().is_empty() || line.starts_with('$') {
                continue;
            }
            let mut words: Vec<&str> = line.split_whitespace().collect();
            if !line.starts_with(char::is_whitespace) {
                owner = plain(words.remove(0));
            }
            words.retain(|w| !w.eq_ignore_ascii_case("IN") && w.parse::<u32>().is_err());
            let [rtype, data] = words[..] else {
                return Err(Error::Hints(format!("the line “{}” is no record", line.trim())));
            };
            match rtype.to_ascii_uppercase().as_str() {
                "NS" if owner.is_empty() => {
                    servers.entry(plain(data)).or_default();
                }
                "A" | "AAAA" => {
                    let address =
                        data.parse().map_err(|_| Error::Hints(format!("“{data}” is no address")))?;
                    addresses.entry(owner.clone()).or_default().push(address);
                }
                "NS" => {}
                _ => {
                    return Err(Error::Hints(format!(
                        "the line “{}” is no record of a hints file",
                        line.trim()
                    )));
                }
            }
        }
        let list: Vec<NsName> = servers
            .into_keys()
            .map(|name| {
                let mut addresses = addresses.get(&name).cloned().unwrap_or_default();
                addresses.sort();
                NsName { name, addresses, glue: true }
            })
            .collect();
        if list.iter().all(|s| s.addresses.is_empty()) {
            return Err(Error::Hints("no root server with an address".into()));
        }
        Ok(RootHints(list))
    }

    /// Hints of one's own.
    pub fn new(servers: Vec<NsName>) -> Self {
        RootHints(servers)
    }

    /// The servers.
    pub fn servers(&self) -> &[NsName] {
        &self.0
    }
}

fn plain(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// DS records that are trusted without a parent: of the root, or of a closed network's own root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustAnchors(pub Vec<(String, Ds)>);

impl TrustAnchors {
    /// The root's key signing keys.
    pub fn shipped() -> Self {
        TrustAnchors::parse(include_str!("../data/root-anchors.ds")).unwrap_or(TrustAnchors(Vec::new()))
    }

    /// No anchor: every chain is indeterminate.
    pub fn none() -> Self {
        TrustAnchors(Vec::new())
    }

    /// Reads DS or DNSKEY records in presentation form, one per line (`. IN DS 20326 8 2 E06D…`).
    pub fn parse(text: &str) -> Result<Self, Error> {
        let lines = text.lines().map(|l| l.split(';').next().unwrap_or("").trim());
        lines
            .filter(|l| !l.is_empty())
            .map(|line| anchor(line).map_err(|why| Error::Anchor(line.to_string(), why.to_string())))
            .collect::<Result<_, _>>()
            .map(TrustAnchors)
    }
}

fn anchor(line: &str) -> Result<(String, Ds), &'static str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is = |w: &&str, t: &str| w.eq_ignore_ascii_case(t);
    let at = words.iter().position(|w| is(w, "DS") || is(w, "DNSKEY")).ok_or("no DS or DNSKEY record")?;
    let owner = plain(words.first().filter(|_| at > 0).copied().unwrap_or("."));
    let [first, second, third, ..] = words[at + 1..] else { return Err("fields are missing") };
    let rest = words[at + 4..].concat();
    if is(&words[at], "DS") {
        if rest.is_empty() || !rest.chars().all(|c| c.is_ascii_hexdigit()) {
            return Err("the digest is not hexadecimal");
        }
        let ds = Ds {
            key_tag: first.parse().map_err(|_| "the key tag is no number")?,
            algorithm: second.parse().map_err(|_| "the algorithm is no number")?,
            digest_type: third.parse().map_err(|_| "the digest type is no number")?,
            digest: rest.to_ascii_uppercase(),
        };
        return Ok((owner, ds));
    }
    let key = BASE64.decode(rest.as_bytes()).map_err(|_| "the key is not base64")?;
    let key = Dnskey::new(
        first.parse().map_err(|_| "the flags are no number")?,
        second.parse().map_err(|_| "the protocol is no number")?,
        third.parse().map_err(|_| "the algorithm is no number")?,
        key,
    );
    let name = Name::from_text(&owner).map_err(|_| "the owner is no name")?;
    let digest = digest(&name, &key, 2).ok_or("the key cannot be digested")?;
    Ok((owner, Ds { key_tag: key.key_tag, algorithm: key.algorithm, digest_type: 2, digest }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_hints_name_thirteen_servers_in_both_families() {
        let hints = RootHints::shipped();
        assert_eq!(hints.servers().len(), 13);
        assert!(hints.servers().iter().all(|s| s.addresses.len() == 2), "{hints:?}");
    }

    #[test]
    fn hints_that_cannot_be_used_are_refused_with_the_reason() {
        let e = |t: &str| RootHints::parse(t).unwrap_err().to_string();
        assert!(e("").contains("no root server"));
        assert!(e(". NS a.example.\na.example. A 300.1.1.1").contains("300.1.1.1"));
        assert!(e("what is this").contains("no record") && e("hello").contains("no record"));
    }

    #[test]
    fn the_shipped_anchors_are_the_roots() {
        let anchors = TrustAnchors::shipped();
        let tags: Vec<u16> = anchors.0.iter().map(|(_, ds)| ds.key_tag).collect();
        assert_eq!(tags, [20326, 38696]);
        assert!(anchors.0.iter().all(|(zone, ds)| zone.is_empty() && ds.digest.len() == 64));
    }

    #[test]
    fn a_key_is_as_good_as_its_digest() {
        // RFC 4034 section 5.4, with the digest of RFC 4509 section 2.3.
        let key = "dskey.example.com. 86400 IN DNSKEY 256 3 5 AQOeiiR0GOMYkDshWoSKz9Xz fwJr1AYtsmx3TGkJaNXVbfi/ \
             2pHm822aJ5iI9BMzNXxeYCmZDRD99WYwYqUSdjMmmAphXdvxegXd/M5+X7OrzKBaMbCVdFLUUh6DhweJBjEVv5f2wwjM9Xzc nOf+EPbtG9DMBmADjFDc2w/rljwvFw==";
        let (owner, ds) = TrustAnchors::parse(key).unwrap().0.remove(0);
        assert_eq!((owner.as_str(), ds.key_tag), ("dskey.example.com", 60485));
        assert_eq!(ds.digest, "D4B7D520E7BB5F0F67674A0CCEB1E3E0614B93C4F9E99B8383F6A1E4469DA50A");
    }

    #[test]
    fn anchors_that_cannot_be_used_are_refused() {
        assert!(TrustAnchors::parse(". IN DS 1 8 2 XYZ").is_err());
        assert!(TrustAnchors::parse(". IN DS x 8 2 AB").is_err());
        assert!(TrustAnchors::parse(". IN A 192.0.2.1").is_err());
    }
}
