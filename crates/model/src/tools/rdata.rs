//! Whether two record sets are the same to a user: order, letter case of names and TTLs do not count (RFC 1034
//! section 3.6, RFC 4343), nor do the different spellings of DNS and JSON answers.

use crate::dns::Record;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// RDATA in a form that is equal for equal data, whatever wrote it.
pub fn rdata_key(rtype: &str, data: &str) -> String {
    let data = data.trim();
    match rtype.to_ascii_uppercase().as_str() {
        "A" | "AAAA" => data.parse::<IpAddr>().map_or_else(|_| data.to_string(), |ip| ip.to_string()),
        "CNAME" | "DNAME" | "NS" | "PTR" | "MX" | "SRV" | "SOA" | "AFSDB" => words(data, true).join(" "),
        "TXT" | "SPF" => text(data),
        "HTTPS" | "SVCB" | "CAA" => words(&data.replace('"', ""), true).join(" "),
        "DS" | "CDS" | "SSHFP" | "TLSA" | "SMIMEA" => digest(data),
        _ => words(data, false).join(" "),
    }
}

fn words(data: &str, fold: bool) -> Vec<Cow<'_, str>> {
    data.split_whitespace()
        .map(|w| {
            let bare = if w.len() > 1 { w.strip_suffix('.').unwrap_or(w) } else { w };
            if fold { Cow::Owned(bare.to_ascii_lowercase()) } else { Cow::Borrowed(w) }
        })
        .collect()
}

/// Numbers, then hexadecimal digits that may be broken up by spaces.
fn digest(data: &str) -> String {
    let mut parts = data.split_whitespace();
    let head: Vec<&str> = parts.by_ref().take(3).collect();
    let rest: String = parts.collect();
    format!("{} {rest}", head.join(" ")).to_ascii_lowercase()
}

/// The strings of a TXT record as one text: where a resolver breaks them up does not matter to a reader. JSON answers
/// come with and without quotes; octets beyond ASCII are escaped (`\195\164`) or not.
fn text(data: &str) -> String {
    if !data.starts_with('"') {
        return data.to_string();
    }
    let mut out = Vec::new();
    let (mut inside, mut rest) = (false, data.as_bytes());
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => inside = !inside,
            b'\\' => {
                let number = after.get(..3).and_then(|d| std::str::from_utf8(d).ok()?.parse::<u8>().ok());
                let (octet, used) = match number {
                    Some(octet) => (Some(octet), 3),
                    None => (after.first().copied(), 1),
                };
                out.extend(octet);
                rest = after.get(used..).unwrap_or_default();
            }
            byte if inside => out.push(*byte),
            _ => {}
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The keys of the records of a type.
pub(crate) fn keys(records: &[Record], rtype: &str) -> BTreeSet<String> {
    records
        .iter()
        .filter(|r| r.rtype.eq_ignore_ascii_case(rtype))
        .map(|r| rdata_key(rtype, &r.data))
        .collect()
}

/// True when both hold the same records of this type; owner names are left to the question.
pub fn same_rrset(a: &[Record], b: &[Record], rtype: &str) -> bool {
    keys(a, rtype) == keys(b, rtype)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings_of_the_same_data_are_the_same() {
        for (rtype, a, b) in [
            ("A", "192.0.2.1", " 192.0.2.1 "),
            ("AAAA", "2001:db8::1", "2001:0DB8:0:0:0:0:0:1"),
            ("CNAME", "Target.Example.", "target.example"),
            ("MX", "10 Mail.Example.", "10  mail.example"),
            ("NS", ".", "."),
            ("TXT", "\"v=spf1 -all\"", "v=spf1 -all"),
            ("TXT", "\"abc\" \"def\"", "\"abcdef\""),
            ("TXT", r#""say \"hi\"""#, r#"say "hi""#),
            ("TXT", r#""gr\195\188n \092 \"x\"""#, r#"grün \ "x""#),
            ("CAA", "0 issue \"ca.example\"", "0 issue ca.example"),
            ("HTTPS", "1 . alpn=\"h2,h3\"", "1 . alpn=h2,h3"),
            ("DS", "1 13 2 ABCD EF", "1 13 2 abcdef"),
        ] {
            assert_eq!(rdata_key(rtype, a), rdata_key(rtype, b), "{rtype} {a} {b}");
        }
    }

    #[test]
    fn different_data_stays_different() {
        for (rtype, a, b) in [
            ("A", "192.0.2.1", "192.0.2.10"),
            ("MX", "10 mail.example.", "20 mail.example."),
            ("TXT", "\"Abc\"", "\"abc\""),
            ("DNSKEY", "257 3 13 AbC=", "257 3 13 aBC="),
            ("CNAME", "a.example.", "b.example."),
        ] {
            assert_ne!(rdata_key(rtype, a), rdata_key(rtype, b), "{rtype} {a} {b}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken(data in "\\PC{0,60}", rtype in "(A|TXT|MX|DS|CAA|TYPE9)") {
            prop_assert_eq!(rdata_key(&rtype, &data), rdata_key(&rtype, data.trim()));
        }

        #[test]
        fn order_does_not_matter(mut octets in proptest::collection::vec(1u8..250, 1..6)) {
            let set = |o: &[u8]| -> Vec<Record> {
                o.iter().map(|b| Record {
                    name: "a.example".into(), rtype: "A".into(), ttl: u32::from(*b), data: format!("192.0.2.{b}"),
                }).collect()
            };
            let a = set(&octets);
            octets.reverse();
            prop_assert!(same_rrset(&a, &set(&octets), "A"));
        }
    }
}
