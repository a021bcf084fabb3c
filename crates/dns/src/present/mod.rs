//! Records in the words of the model: presentation form of RFC 1035 section 5, names in RDATA absolute and lower case.

mod other;

use crate::wire::{Data, Name, Reply, Rr, Rtype};
use data_encoding::{BASE32_DNSSEC, BASE64, HEXUPPER};
use model::dns::{Record, Soa};
use std::fmt::Write;

/// A name with its final dot, as RDATA shows it.
fn absolute(name: &Name) -> String {
    if name.is_root() { ".".into() } else { format!("{name}.") }
}

fn hex(octets: &[u8]) -> String {
    HEXUPPER.encode(octets)
}

fn quoted(octets: &[u8]) -> String {
    let mut out = String::from("\"");
    for byte in octets {
        match byte {
            b'"' | b'\\' => {
                let _ = write!(out, "\\{}", *byte as char);
            }
            0x20..=0x7E => out.push(*byte as char),
            _ => {
                let _ = write!(out, "\\{byte:03}");
            }
        }
    }
    out.push('"');
    out
}

/// Base 32 with the extended hex alphabet, no padding, lower case: owner labels of NSEC3 (RFC 5155 section 3.3).
pub(crate) fn base32hex(octets: &[u8]) -> String {
    BASE32_DNSSEC.encode(octets)
}

fn types(list: &[Rtype]) -> String {
    list.iter().map(Rtype::to_string).collect::<Vec<_>>().join(" ")
}

fn salt(octets: &[u8]) -> String {
    if octets.is_empty() { "-".into() } else { hex(octets) }
}

/// RRSIG times are shown as RFC 4034 section 3.2 has them: `YYYYMMDDHHMMSS`.
fn instant(seconds: u32) -> String {
    jiff::Timestamp::from_second(i64::from(seconds))
        .map_or_else(|_| seconds.to_string(), |t| t.strftime("%Y%m%d%H%M%S").to_string())
}

/// RDATA in presentation form.
pub fn data_text(rr: &Rr) -> String {
    match &rr.data {
        Data::A(ip) => ip.to_string(),
        Data::Aaaa(ip) => ip.to_string(),
        Data::Ns(n) | Data::Cname(n) | Data::Dname(n) | Data::Ptr(n) => absolute(n),
        Data::Soa(s) => format!(
            "{} {} {} {} {} {} {}",
            absolute(&s.mname),
            absolute(&s.rname),
            s.serial,
            s.refresh,
            s.retry,
            s.expire,
            s.minimum
        ),
        Data::Mx(preference, name) => format!("{preference} {}", absolute(name)),
        Data::Txt(strings) => strings.iter().map(|s| quoted(s)).collect::<Vec<_>>().join(" "),
        Data::Ds(d) => format!("{} {} {} {}", d.key_tag, d.algorithm, d.digest_type, d.digest),
        Data::Dnskey(k) => {
            format!("{} {} {} {}", k.flags, k.protocol, k.algorithm, BASE64.encode(&k.public_key))
        }
        Data::Rrsig(s) => format!(
            "{} {} {} {} {} {} {} {} {}",
            s.type_covered,
            s.algorithm,
            s.labels,
            s.original_ttl,
            instant(s.expiration),
            instant(s.inception),
            s.key_tag,
            absolute(&s.signer),
            BASE64.encode(&s.signature)
        ),
        Data::Nsec(next, list) => format!("{} {}", absolute(next), types(list)),
        Data::Nsec3(n) => format!(
            "{} {} {} {} {} {}",
            n.hash_algorithm,
            n.flags,
            n.iterations,
            salt(&n.salt),
            base32hex(&n.next),
            types(&n.types)
        ),
        Data::Nsec3Param(algorithm, flags, iterations, s) => {
            format!("{algorithm} {flags} {iterations} {}", salt(s))
        }
        Data::Other => other::text(rr.rtype, &rr.raw).unwrap_or_else(|| unknown(rr)),
        Data::Malformed => unknown(rr),
    }
}

/// RFC 3597 form.
fn unknown(rr: &Rr) -> String {
    format!("\\# {} {}", rr.raw.len(), hex(&rr.raw)).trim_end().to_string()
}

/// A record in the model's words.
pub fn record(rr: &Rr) -> Record {
    Record { name: rr.name.to_string(), rtype: rr.rtype.to_string(), ttl: rr.ttl, data: data_text(rr) }
}

/// A section in the model's words.
pub fn records(section: &[Rr]) -> Vec<Record> {
    section.iter().map(record).collect()
}

/// An SOA record in the model's words.
pub fn soa(rr: &Rr) -> Option<Soa> {
    let Data::Soa(s) = &rr.data else { return None };
    Some(Soa {
        zone: rr.name.to_string(),
        mname: s.mname.to_string(),
        rname: s.rname.to_string(),
        serial: s.serial,
        refresh: s.refresh,
        retry: s.retry,
        expire: s.expire,
        minimum: s.minimum,
        ttl: rr.ttl,
    })
}

/// The SOA record of a reply: in the answer, else in the authority section.
pub fn soa_of(reply: &Reply) -> Option<Soa> {
    reply.answers.iter().chain(&reply.authority).find_map(soa)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rr(rtype: Rtype, raw: &[u8]) -> Rr {
        let mut message = vec![0, 1, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0];
        message.extend(rtype.0.to_be_bytes());
        message.extend([0, 1, 0, 0, 0, 60]);
        message.extend((raw.len() as u16).to_be_bytes());
        message.extend(raw);
        Reply::read(&message).unwrap().answers.remove(0)
    }

    #[test]
    fn text_is_quoted_and_escaped() {
        assert_eq!(data_text(&rr(Rtype::TXT, b"\x05v=\"1\"\x03a\\\xff")), r#""v=\"1\"" "a\\\255""#);
    }

    #[test]
    fn rdata_that_does_not_fit_is_shown_as_octets() {
        assert_eq!(data_text(&rr(Rtype::A, &[1, 2, 3])), r"\# 3 010203");
        assert_eq!(data_text(&rr(Rtype(65534), &[])), r"\# 0");
        assert_eq!(data_text(&rr(Rtype::CAA, &[0])), r"\# 1 00");
    }

    #[test]
    fn well_known_types_read_as_in_a_zone_file() {
        assert_eq!(data_text(&rr(Rtype::CAA, b"\x00\x05issuelets.example")), r#"0 issue "lets.example""#);
        assert_eq!(data_text(&rr(Rtype::MX, b"\x00\x0a\x04Mail\x00")), "10 mail.");
        assert_eq!(data_text(&rr(Rtype::HTTPS, b"\x00\x01\x00\x00\x01\x00\x03\x02h2")), "1 . alpn=h2");
    }

    #[test]
    fn encodings_match_their_rfcs() {
        // RFC 4648 section 10.
        assert_eq!(
            (BASE64.encode(b"foob"), BASE64.encode(b"fooba"), BASE64.encode(b"foobar")),
            ("Zm9vYg==".into(), "Zm9vYmE=".into(), "Zm9vYmFy".into())
        );
        assert_eq!((base32hex(b"fo"), base32hex(b"foobar")), ("cpng".into(), "cpnmuoj1e8".into()));
        assert_eq!(instant(1_053_300_783), "20030518233303");
    }
}
