//! Which addresses are not for user-driven connections: everything that is not global unicast
//! (IANA special-purpose registries, RFC 6890).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What kind of special address this is, in words; `None` for a global unicast address.
pub fn is_private(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(ip) => v4(ip),
        IpAddr::V6(ip) => v6(ip),
    }
}

/// True for addresses of examples (RFC 5737, RFC 3849, RFC 9637), which lead nowhere on any network.
pub fn is_documentation(ip: IpAddr) -> bool {
    is_private(ip) == Some(DOCUMENTATION)
}

const DOCUMENTATION: &str = "a documentation address";

fn v4(ip: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = ip.octets();
    Some(match (a, b, c) {
        (0, ..) => "an address of this network (0.0.0.0/8)",
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => "a private address (RFC 1918)",
        (100, 64..=127, _) => "a shared address (RFC 6598)",
        (127, ..) => "a loopback address",
        (169, 254, _) => "a link-local address",
        (192, 0, 0) => "a protocol assignment (192.0.0.0/24)",
        (192, 0, 2) | (198, 51, 100) | (203, 0, 113) => DOCUMENTATION,
        (192, 88, 99) => "a 6to4 relay address",
        (198, 18..=19, _) => "a benchmarking address",
        (224..=239, ..) => "a multicast address",
        (240..=255, ..) => "a reserved address",
        _ => return None,
    })
}

fn v6(ip: Ipv6Addr) -> Option<&'static str> {
    let s = ip.segments();
    // An IPv4 address in disguise is judged as what it is.
    let embedded = |hi: u16, lo: u16| {
        let ([a, b], [c, d]) = (hi.to_be_bytes(), lo.to_be_bytes());
        v4(Ipv4Addr::new(a, b, c, d))
    };
    match s {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("the unspecified address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("a loopback address"),
        [0, 0, 0, 0, 0, 0xffff, hi, lo] => embedded(hi, lo),
        [0, 0, 0, 0, 0, 0, ..] => Some("an IPv4-compatible address"),
        [0, 0, 0, 0, 0xffff, 0, hi, lo] => embedded(hi, lo).or(Some("an IPv4-translated address (RFC 7915)")),
        [0x64, 0xff9b, 0, 0, 0, 0, hi, lo] => embedded(hi, lo),
        [0x64, 0xff9b, 1, ..] => Some("a local translation address (RFC 8215)"),
        [0x2002, hi, lo, ..] => embedded(hi, lo),
        [0x2001, 0, ..] => Some("a Teredo address"),
        [0x2001, 2, 0, ..] => Some("a benchmarking address"),
        [0x2001, 0x10..=0x2f, ..] => Some("an identifier, not an address (ORCHID, RFC 7343)"),
        [0x2001, 0xdb8, ..] | [0x3fff, ..] => Some(DOCUMENTATION),
        [0x100, 0, 0, 0, ..] => Some("a discard address"),
        [first, ..] if first & 0xfe00 == 0xfc00 => Some("a unique local address (RFC 4193)"),
        [first, ..] if first & 0xffc0 == 0xfe80 => Some("a link-local address"),
        [first, ..] if first & 0xffc0 == 0xfec0 => Some("a site-local address"),
        [first, ..] if first & 0xff00 == 0xff00 => Some("a multicast address"),
        // Global unicast is what IANA hands out of 2000::/3; the rest is reserved or someone's own.
        [first, ..] if first & 0xe000 != 0x2000 => Some("an address outside global unicast (2000::/3)"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_told_in_every_disguise() {
        for bad in [
            "127.0.0.1",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "2001:db8::1",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "::ffff:0:8.8.8.8",
            "100:0:0:1::1",
            "1::1",
            "5f00::1",
            "4000::1",
            "fec0::1",
            "2001:2::1",
            "2001:10::1",
            "2001:2f:ffff::1",
        ] {
            assert!(is_private(bad.parse().unwrap()).is_some(), "{bad}");
        }
        for good in [
            "1.1.1.1",
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "64:ff9b::808:808",
            "2001:500:2::c",
            "2001:4:112::1",
            "2001:30::1",
            "2a00::1",
        ] {
            assert_eq!(is_private(good.parse().unwrap()), None, "{good}");
        }
    }
}
