//! Presentation of record types that nothing else here looks into. In: RDATA octets with names uncompressed; out: the
//! form of a zone file, or `None` where the octets do not fit the type. Octets that are not printable are always
//! escaped: what a stranger publishes must not reach a terminal as it is.
//! RFC 2782 (SRV), 3403 (NAPTR), 4255 (SSHFP), 6698 (TLSA), 7553 (URI), 8659 (CAA), 9460 (SVCB, HTTPS).

use super::{absolute, hex, quoted};
use crate::wire::{Name, Rtype};
use data_encoding::BASE64;
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

/// RDATA of `rtype` as text.
pub(super) fn text(rtype: Rtype, raw: &[u8]) -> Option<String> {
    let mut rest = Octets(raw);
    let text = match rtype {
        Rtype::CAA => {
            let (flags, tag) = (rest.u8()?, rest.string()?);
            let named = !tag.is_empty() && tag.iter().all(u8::is_ascii_alphanumeric);
            let tag = std::str::from_utf8(tag).ok().filter(|_| named)?;
            format!("{flags} {tag} {}", quoted(rest.all()))
        }
        Rtype::SRV => {
            let (priority, weight, port) = (rest.u16()?, rest.u16()?, rest.u16()?);
            format!("{priority} {weight} {port} {}", absolute(&rest.name()?))
        }
        Rtype::NAPTR => {
            let (order, preference) = (rest.u16()?, rest.u16()?);
            let [flags, services, regexp] = [rest.string()?, rest.string()?, rest.string()?].map(quoted);
            format!("{order} {preference} {flags} {services} {regexp} {}", absolute(&rest.name()?))
        }
        Rtype::HINFO => {
            let [cpu, os] = [rest.string()?, rest.string()?].map(quoted);
            format!("{cpu} {os}")
        }
        Rtype::SSHFP => format!("{} {} {}", rest.u8()?, rest.u8()?, hex(rest.all())),
        Rtype::TLSA | Rtype::SMIMEA => {
            format!("{} {} {} {}", rest.u8()?, rest.u8()?, rest.u8()?, hex(rest.all()))
        }
        Rtype::URI => format!("{} {} {}", rest.u16()?, rest.u16()?, quoted(rest.all())),
        Rtype::OPENPGPKEY => BASE64.encode(rest.all()),
        Rtype::SVCB | Rtype::HTTPS => service(&mut rest)?,
        _ => return None,
    };
    rest.0.is_empty().then_some(text)
}

/// Priority, target and parameters of SVCB and HTTPS (RFC 9460 section 2.1).
fn service(rest: &mut Octets<'_>) -> Option<String> {
    let mut text = format!("{} {}", rest.u16()?, absolute(&rest.name()?));
    let mut before = None;
    while !rest.0.is_empty() {
        let (key, length) = (rest.u16()?, rest.u16()?);
        let value = rest.take(usize::from(length))?;
        // Keys ascend, so none comes twice.
        if before.is_some_and(|b| key <= b) {
            return None;
        }
        before = Some(key);
        text.push(' ');
        text.push_str(&parameter(key, value)?);
    }
    Some(text)
}

fn parameter(key: u16, value: &[u8]) -> Option<String> {
    let name = key_name(key);
    let joined = |list: Vec<String>| (!list.is_empty()).then(|| format!("{name}={}", list.join(",")));
    match key {
        0 => joined(pairs(value)?.into_iter().map(key_name).collect()),
        1 => {
            let mut rest = Octets(value);
            let mut list = Vec::new();
            while !rest.0.is_empty() {
                list.push(escaped(rest.string().filter(|s| !s.is_empty())?, true));
            }
            joined(list)
        }
        2 => value.is_empty().then_some(name),
        3 => Some(format!("{name}={}", <[u8; 2]>::try_from(value).ok().map(u16::from_be_bytes)?)),
        4 => {
            let (list, rest) = value.as_chunks::<4>();
            rest.is_empty()
                .then(|| list.iter().map(|a| Ipv4Addr::from(*a).to_string()).collect())
                .and_then(joined)
        }
        5 => Some(format!("{name}={}", BASE64.encode(value))),
        6 => {
            let (list, rest) = value.as_chunks::<16>();
            rest.is_empty()
                .then(|| list.iter().map(|a| Ipv6Addr::from(*a).to_string()).collect())
                .and_then(joined)
        }
        _ if value.is_empty() => Some(name),
        _ => Some(format!("{name}={}", escaped(value, false))),
    }
}

fn key_name(key: u16) -> String {
    let known = ["mandatory", "alpn", "no-default-alpn", "port", "ipv4hint", "ech", "ipv6hint", "dohpath"];
    known.get(usize::from(key)).map_or_else(|| format!("key{key}"), |name| (*name).to_string())
}

fn pairs(value: &[u8]) -> Option<Vec<u16>> {
    let (list, rest) = value.as_chunks::<2>();
    rest.is_empty().then(|| list.iter().map(|p| u16::from_be_bytes(*p)).collect())
}

/// A value without quotes: white space, quotes and what is not printable escaped; in lists the comma too
/// (RFC 9460 appendix A.1: twice, once for the list and once for the text).
fn escaped(value: &[u8], in_list: bool) -> String {
    let mut out = String::new();
    for byte in value {
        match byte {
            b',' if in_list => out.push_str("\\\\,"),
            b'\\' if in_list => out.push_str("\\\\\\\\"),
            b'"' | b'\\' | b';' | b'(' | b')' => {
                let _ = write!(out, "\\{}", *byte as char);
            }
            0x21..=0x7E => out.push(*byte as char),
            _ => {
                let _ = write!(out, "\\{byte:03}");
            }
        }
    }
    out
}

/// What is left to read.
struct Octets<'a>(&'a [u8]);

impl<'a> Octets<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(count)?;
        self.0 = tail;
        Some(head)
    }

    fn all(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|o| o[0])
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|o| u16::from_be_bytes([o[0], o[1]]))
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.u8()?;
        self.take(usize::from(length))
    }

    /// An uncompressed name.
    fn name(&mut self) -> Option<Name> {
        let (name, end) = Name::read(self.0, 0).ok()?;
        // A pointer would make the wire form longer than what was read.
        (name.wire_len() == end).then(|| self.take(end))??;
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_read_as_in_a_zone_file() {
        for (rtype, raw, want) in [
            (Rtype::SRV, &b"\x00\x0a\x00\x05\x01\xbb\x03Sip\x00"[..], "10 5 443 sip."),
            (Rtype::NAPTR, b"\x00\x64\x00\x0a\x01S\x07SIP+D2U\x00\x01a\x00", r#"100 10 "S" "SIP+D2U" "" a."#),
            (Rtype::HINFO, b"\x03a b\x02\\\"", r#""a b" "\\\"""#),
            (Rtype::SSHFP, b"\x04\x02\xab\x01", "4 2 AB01"),
            (Rtype::TLSA, b"\x03\x01\x01\xff", "3 1 1 FF"),
            (Rtype::URI, b"\x00\x0a\x00\x01https://a/", r#"10 1 "https://a/""#),
            (Rtype::SVCB, b"\x00\x00\x01b\x00", "0 b."),
            (
                Rtype::HTTPS,
                b"\x00\x01\x00\x00\x00\x00\x04\x00\x01\x00\x03\x00\x01\x00\x06\x02h2\x02h3\x00\x03\x00\x02\x1f\x90",
                "1 . mandatory=alpn,port alpn=h2,h3 port=8080",
            ),
            (Rtype::HTTPS, b"\x00\x01\x00\x00\x04\x00\x04\xc0\x00\x02\x01", "1 . ipv4hint=192.0.2.1"),
        ] {
            assert_eq!(text(rtype, raw).as_deref(), Some(want), "{rtype}");
        }
    }

    #[test]
    fn what_does_not_fit_is_not_shown_as_if_it_did() {
        for (rtype, raw) in [
            (Rtype::CAA, &b"\x00\x00x"[..]),
            (Rtype::SRV, b"\x00\x0a\x00\x05\x01"),
            (Rtype::SRV, b"\x00\x0a\x00\x05\x01\xbb\x00\x00"),
            (Rtype::NAPTR, b"\x00\x64\x00\x0a\x09S"),
            (Rtype::HTTPS, b"\x00\x01\x00\x00\x01\x00\x00"),
            (Rtype::HTTPS, b"\x00\x01\x00\x00\x03\x00\x02\x00\x35\x00\x03\x00\x02\x00\x35"),
            (Rtype::HTTPS, b"\x00\x01\x00\x00\x04\x00\x03\xc0\x00\x02"),
        ] {
            assert_eq!(text(rtype, raw), None, "{rtype} {raw:?}");
        }
    }

    /// Found by fuzzing: control characters in character strings reached the terminal as they were.
    #[test]
    fn nothing_unprintable_is_shown_as_it_is() {
        let naptr = b"\x00\x64\x00\x0a\x02\x1b[\x02\x00\n\x01\x9b\x00";
        assert_eq!(text(Rtype::NAPTR, naptr).as_deref(), Some(r#"100 10 "\027[" "\000\010" "\155" ."#));
        let alpn = b"\x00\x01\x00\x00\x01\x00\x05\x04\x1b,\\ ";
        assert_eq!(text(Rtype::HTTPS, alpn).as_deref(), Some(r"1 . alpn=\027\\,\\\\\032"));
    }
}
