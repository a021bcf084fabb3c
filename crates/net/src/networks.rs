//! Which addresses may be dialled: the guard's rule, and the prefixes an operator allows or denies.
//!
//! In: prefixes such as `10.20.0.0/16`. Out: whether an address is refused, and why. An IPv4 address inside an IPv6
//! address (IPv4-mapped, 6to4, NAT64, Teredo) is judged as well as the address around it.

use crate::guard::is_private;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Metadata services of cloud providers, which hand out credentials to any process that asks: refused even where private
/// addresses are allowed, unless a prefix of the operator names them.
const METADATA: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// A network: an address and a length (RFC 4632, RFC 4291).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// True when the network holds the address.
    pub fn contains(&self, ip: IpAddr) -> bool {
        let same = |a: u128, b: u128, bits: u32| {
            let shift = bits - u32::from(self.length);
            // A shift by all bits is none at all: a length of 0 holds everything.
            a.checked_shr(shift).unwrap_or(0) == b.checked_shr(shift).unwrap_or(0)
        };
        match (self.address, ip) {
            (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
            _ => false,
        }
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("“{text}” is not ADDRESS/LENGTH, as in 10.0.0.0/8 or 2001:db8::/32");
        let text = text.trim();
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(most), |l| l.parse::<u8>().map_err(|_| wrong()))?;
        if length > most { Err(wrong()) } else { Ok(Prefix { address, length }) }
    }
}

/// The operator's prefixes. A denied one wins over an allowed one, an allowed one over the guard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks {
    /// Allowed although they are private, loopback or link-local.
    pub allow: Vec<Prefix>,
    /// Denied although they are global.
    pub deny: Vec<Prefix>,
}

impl Networks {
    /// Why an address must not be dialled; `None` when it may. `allow_private` allows all that the guard refuses.
    pub fn refuses(&self, ip: IpAddr, allow_private: bool) -> Option<&'static str> {
        let forms = [Some(ip), embedded(ip)];
        let mut forms = forms.into_iter().flatten();
        let within = |list: &[Prefix], ip: IpAddr| list.iter().any(|prefix| prefix.contains(ip));
        if forms.clone().any(|form| within(&self.deny, form)) {
            return Some("in a network the operator denies");
        }
        if forms.clone().any(|form| within(&self.allow, form)) {
            return None;
        }
        if forms.any(|form| METADATA.contains(&form)) {
            return Some("a metadata service of a cloud provider");
        }
        is_private(ip).filter(|_| !allow_private)
    }
}

/// The IPv4 address inside an IPv6 address that leads to it through a translator or a tunnel.
fn embedded(ip: IpAddr) -> Option<IpAddr> {
    let IpAddr::V6(v6) = ip else { return None };
    let s = v6.segments();
    let v4 = |hi: u16, lo: u16| Some(IpAddr::V4(Ipv4Addr::from_bits((u32::from(hi) << 16) | u32::from(lo))));
    match s {
        // IPv4-compatible, IPv4-mapped, IPv4-translated.
        [0, 0, 0, 0, 0, 0, hi, lo] if hi != 0 => v4(hi, lo),
        [0, 0, 0, 0, 0, 0xffff, hi, lo] | [0, 0, 0, 0, 0xffff, 0, hi, lo] => v4(hi, lo),
        // NAT64 (RFC 6052, RFC 8215), 6to4 (RFC 3056).
        [0x64, 0xff9b, 0 | 1, .., hi, lo] => v4(hi, lo),
        [0x2002, hi, lo, ..] => v4(hi, lo),
        // Teredo (RFC 4380): the client's address with its bits inverted.
        [0x2001, 0, .., hi, lo] => v4(!hi, !lo),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(allow: &[&str], deny: &[&str]) -> Networks {
        let read = |list: &[&str]| list.iter().map(|p| p.parse().unwrap()).collect();
        Networks { allow: read(allow), deny: read(deny) }
    }

    #[test]
    fn a_prefix_holds_its_addresses_and_no_others() {
        let holds = |prefix: &str, ip: &str| prefix.parse::<Prefix>().unwrap().contains(ip.parse().unwrap());
        assert!(holds("10.20.0.0/16", "10.20.255.255") && !holds("10.20.0.0/16", "10.21.0.0"));
        assert!(holds("0.0.0.0/0", "1.2.3.4") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("fd00::/8", "fdff::1") && holds("::/0", "ffff::") && holds("192.0.2.7", "192.0.2.7"));
        for bad in ["10.0.0.0/33", "::/129", "10.0.0/8", "x/8", "10.0.0.0/", ""] {
            assert!(bad.parse::<Prefix>().unwrap_err().contains("ADDRESS/LENGTH"), "{bad}");
        }
    }

    #[test]
    fn a_denied_network_is_refused_in_every_form_and_an_allowed_one_only_there() {
        let n = networks(&["10.20.0.0/16"], &["10.20.9.0/24", "198.41.0.0/16"]);
        let refuses = |ip: &str| n.refuses(ip.parse().unwrap(), false).is_some();
        assert!(!refuses("10.20.1.1") && !refuses("::ffff:10.20.1.1") && !refuses("8.8.8.8"));
        for bad in [
            "10.20.9.1",
            "10.21.1.1",
            "127.0.0.1",
            "198.41.0.4",
            "::ffff:198.41.0.4",
            "64:ff9b::198.41.0.4",
            "2002:c629:4::1",
            // Teredo of 198.41.0.4.
            "2001:0:1:2:3:4:39d6:fffb",
        ] {
            assert!(refuses(bad), "{bad}");
        }
    }

    #[test]
    fn metadata_services_stay_closed_unless_they_are_named() {
        let n = Networks::default();
        for ip in ["169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "64:ff9b::a9fe:a9fe"] {
            assert!(n.refuses(ip.parse().unwrap(), true).is_some(), "{ip}");
        }
        assert_eq!(n.refuses("127.0.0.1".parse().unwrap(), true), None);
        let named = networks(&["169.254.169.254/32"], &[]);
        assert_eq!(named.refuses("169.254.169.254".parse().unwrap(), false), None);
    }
}
