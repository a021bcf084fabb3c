//! Values of WHOIS labels: host names, DNSSEC words, registrar names, placeholders. In: the text of a value;
//! out: what it says, or `None`.

use crate::whois::text::entities::unescape;
use crate::whois::text::fold;
use crate::whois::vocabulary::tables::{TABLES, has};
use model::registration::Ds;
use std::net::IpAddr;

/// A value that says something; `null`, `-`, `N/A` and blanks do not.
pub(crate) fn stated(value: &str) -> Option<&str> {
    let v = value.trim();
    // `"registrar": "Sample",`
    let v = if v.starts_with('"') { v.trim_end_matches([',', ' ']) } else { v };
    let v = v.trim_matches('"').trim();
    if v.is_empty() || !v.chars().any(char::is_alphanumeric) {
        return None;
    }
    if v.len() <= 40 && has(&TABLES.words.placeholder, &fold::word(v)) {
        return None;
    }
    (!says_none(v) && (!v.starts_with('<') || !v.ends_with('>'))).then_some(v)
}

/// `No registration status listed.`: a sentence for a value that is not there.
fn says_none(value: &str) -> bool {
    let none = value.get(..3).is_some_and(|head| head.eq_ignore_ascii_case("no "));
    let last = value.trim_end_matches('.').rsplit(' ').next().unwrap_or_default();
    none && ["listed", "set", "specified", "provided", "given", "defined"]
        .iter()
        .any(|w| last.eq_ignore_ascii_case(w))
}

/// A host name in A-labels, lower case, no final dot; `None` for addresses, e-mail, prose.
pub(crate) fn host(token: &str) -> Option<String> {
    let t = token.trim_matches(|c: char| ",;()[]{}<>*\"'".contains(c)).trim_end_matches('.');
    if t.len() > 253 || t.len() < 3 || !t.contains('.') || t.contains('@') {
        return None;
    }
    let ascii = if t.is_ascii() { t.to_ascii_lowercase() } else { idna::domain_to_ascii(t).ok()? };
    let fine = |l: &str| {
        !l.is_empty()
            && l.len() <= 63
            && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
            && !l.starts_with('-')
    };
    if !ascii.split('.').all(fine) {
        return None;
    }
    if !t.is_ascii() && !t.rsplit('.').next()?.chars().all(char::is_alphabetic) {
        return None;
    }
    let top = ascii.rsplit('.').next()?;
    let is_top = top.len() >= 2 && (top.bytes().all(|b| b.is_ascii_alphabetic()) || top.starts_with("xn--"));
    (is_top && !TABLES.words.not_a_host.contains(&ascii)).then_some(ascii)
}

/// The host names a name-server value lists; addresses and remarks beside them are left out.
pub(crate) fn hosts(value: &str, out: &mut Vec<String>) {
    // A line of a zone: `google.pt NS ns1.google.com.`
    let mut words = value.split_whitespace();
    let second = words.nth(1);
    let is = |w: Option<&str>, kind: &str| w.is_some_and(|w| w.eq_ignore_ascii_case(kind));
    let zone_line = is(second, "ns") || is(second, "in") && is(words.next(), "ns");
    let rest = if zone_line { words.next_back().unwrap_or(value) } else { value };
    for token in
        rest.split(|c: char| c.is_whitespace() || ",;|/+".contains(c)).filter(|t| !t.is_empty()).take(64)
    {
        if let Some(h) = host(before_address(token)) {
            if !out.contains(&h) && out.len() < 64 {
                out.push(h);
            }
        } else if address(token).is_none() && !is_remark(token) && !is_number(token) && token != "and" {
            break;
        }
    }
}

/// The name of `ns1.example.net:192.0.2.1`, `ns1.example.net:53` and `ns1.example.net(192.0.2.1)`.
fn before_address(token: &str) -> &str {
    let port = |t: &str| (1..=5).contains(&t.len()) && t.bytes().all(|b| b.is_ascii_digit());
    let bracketed = token.split_once(['(', '[']).filter(|(name, _)| !name.is_empty());
    let glued = || token.split_once(':').filter(|(_, tail)| address(tail).is_some() || port(tail));
    bracketed.or_else(glued).map_or(token, |(name, _)| name)
}

/// `1.`, `2)`: the number of a server in a list.
fn is_number(token: &str) -> bool {
    let digits = token.trim_end_matches(['.', ')', ':']);
    (1..=2).contains(&digits.len())
        && digits.len() < token.len()
        && digits.bytes().all(|b| b.is_ascii_digit())
}

/// `(ok)`, `[OK]`: what a registry found out about a server, in brackets behind it.
fn is_remark(token: &str) -> bool {
    let inside = token.strip_prefix(['(', '[']).and_then(|t| t.strip_suffix([')', ']']));
    inside.is_some_and(|t| !t.is_empty() && t.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// True for an IP address, in brackets or not.
pub(crate) fn is_address(token: &str) -> bool {
    address(token).is_some()
}

fn address(token: &str) -> Option<IpAddr> {
    token.trim_matches(|c: char| "()[]{}<>,;".contains(c)).parse().ok()
}

/// `Some(true)` for signed, `Some(false)` for unsigned, `None` when the words are not known.
pub(crate) fn dnssec(value: &str) -> Option<bool> {
    if ds(value).is_some() {
        return Some(true);
    }
    // `DNSSEC: DS Records: none`
    let stated_value = value.rsplit_once(": ").map_or(value, |(_, after)| after);
    signed_word(stated_value).or_else(|| {
        // `yes (2 keys)`, `disabled / inactive`
        let first = stated_value.split(['(', '[', ',', ';', '/']).next().unwrap_or_default();
        (first.len() < stated_value.len() && stated(stated_value).is_some())
            .then(|| signed_word(first))
            .flatten()
    })
}

fn signed_word(word: &str) -> Option<bool> {
    let folded = fold::word(word);
    // `DNSSEC is not enabled`, `Domain signed`
    let mut w = folded.as_str();
    while let Some(rest) = ["dnssec", "domain", "zone", "is"].iter().find_map(|head| w.strip_prefix(head)) {
        w = rest;
    }
    let words = &TABLES.words.dnssec;
    if w.is_empty() {
        return None;
    }
    if has(&words.unsigned, w) || w.starts_with("unsigned") || w.starts_with("notsigned") {
        return Some(false);
    }
    if has(&words.signed, w) || w.starts_with("signed") {
        return Some(true);
    }
    // `3 DS records`
    let counted = w.trim_start_matches(|c: char| c.is_ascii_digit());
    let records = ["ds", "dsrecord", "dsrecords", "key", "keys", "record", "records"].contains(&counted);
    let number = &w[..w.len() - counted.len()];
    (records && !number.is_empty()).then(|| number.bytes().any(|b| b != b'0'))
}

/// A DS record written in one line: `57724 8 2 5D04...`.
pub(crate) fn ds(value: &str) -> Option<Ds> {
    let mut parts = value.split_whitespace();
    let key_tag = parts.next()?.parse().ok()?;
    let algorithm = parts.next()?.parse().ok()?;
    let digest_type = parts.next()?.parse().ok()?;
    let digest: String = parts.collect::<String>().to_ascii_uppercase();
    let fine = digest.len() >= 40 && digest.len() <= 128 && digest.bytes().all(|b| b.is_ascii_hexdigit());
    fine.then_some(Ds { key_tag, algorithm, digest_type, digest })
}

/// A registrar's name and, where the value carries one in brackets, its address.
pub(crate) fn registrar(value: &str) -> Option<(String, Option<String>)> {
    let v = stated(value)?;
    if v.get(..12).is_some_and(|h| h.eq_ignore_ascii_case("no registrar")) {
        return None;
    }
    if v.contains('@') {
        return None;
    }
    let mut name = v.to_string();
    let mut url = None;
    if let Some(i) = name.rfind('(') {
        let inside = name[i + 1..].trim_end_matches([')', ' ']).trim();
        let is_address = |w: &str| inside.get(..w.len()).is_some_and(|head| head.eq_ignore_ascii_case(w));
        if is_address("http") || is_address("www.") {
            url = Some(inside.to_string());
            name.truncate(i);
        }
    }
    let tag = name.rfind('[').filter(|i| name[*i..].to_ascii_lowercase().starts_with("[tag ="));
    if let Some(i) = tag {
        name.truncate(i);
    }
    let name = unescape(name.trim()).trim().to_string();
    if name.len() > 200 || !name.chars().any(char::is_alphanumeric) {
        return None;
    }
    stated(&name)?;
    Some((name, url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_without_noise() {
        for (value, want) in [
            ("ns1.google.com.", vec!["ns1.google.com"]),
            ("NS1.GOOGLE.COM  (216.239.32.10)", vec!["ns1.google.com"]),
            ("ns1.a.com, ns2.a.com", vec!["ns1.a.com", "ns2.a.com"]),
            ("not.defined. <no value>", vec![]),
            ("ns1.google.com - 216.239.36.10", vec!["ns1.google.com"]),
            ("google.pt NS ns1.google.com.", vec!["ns1.google.com"]),
            ("google.pt\tIN NS\tns1.google.com.", vec!["ns1.google.com"]),
            ("ns9.z.net 2a02:6b8::1 192.0.2.1", vec!["ns9.z.net"]),
            ("ns1.nic.uk [192.0.2.1] [OK]", vec!["ns1.nic.uk"]),
            ("Please visit www.example.org", vec![]),
            ("192.0.2.1", vec![]),
            ("ns1.z.net:192.0.2.1", vec!["ns1.z.net"]),
            ("ns1.z.net. IN A 192.0.2.1", vec!["ns1.z.net"]),
            (
                "ns1.z.net(192.0.2.1) ns2.z.net[2001:db8::1],ns3.z.net:53",
                vec!["ns1.z.net", "ns2.z.net", "ns3.z.net"],
            ),
            ("ns1.z.net* {192.0.2.1} ns2.z.net", vec!["ns1.z.net", "ns2.z.net"]),
            ("fe80::1", vec![]),
            ("1) ns1.z.net 2) ns2.z.net", vec!["ns1.z.net", "ns2.z.net"]),
            ("ns1.z.net and ns2.z.net", vec!["ns1.z.net", "ns2.z.net"]),
            ("ns1.z.net (ok) ns2.z.net [lame]", vec!["ns1.z.net", "ns2.z.net"]),
        ] {
            let mut out = Vec::new();
            hosts(value, &mut out);
            assert_eq!(out, want, "{value}");
        }
    }

    #[test]
    fn dnssec_in_words() {
        for (value, want) in [
            ("signedDelegation", Some(true)),
            ("Signed delegation, 2 keys", Some(true)),
            ("yes (2 keys)", Some(true)),
            ("3 DS records", Some(true)),
            ("DNSSEC is not enabled", Some(false)),
            ("Domain is signed", Some(true)),
            ("domain", None),
            ("10 keys", Some(true)),
            ("0 DS records", Some(false)),
            ("DS records", None),
            ("DS Records: yes", Some(true)),
            ("12345 8 2 0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF", Some(true)),
            ("no (0 DS)", Some(false)),
            ("disabled / inactive", Some(false)),
            ("DS Records: none", Some(false)),
            ("Unsigned delegation, no records", Some(false)),
            ("null", None),
            ("N/A", None),
            ("-", None),
            ("unknown", None),
        ] {
            assert_eq!(dnssec(value), want, "{value}");
        }
    }

    #[test]
    fn registrar_names() {
        assert_eq!(
            registrar("IONOS SE ( https://nic.at/registrar/22 )"),
            Some(("IONOS SE".into(), Some("https://nic.at/registrar/22".into())))
        );
        assert_eq!(registrar("X Ltd t/a X [Tag = X]"), Some(("X Ltd t/a X".into(), None)));
        assert_eq!(registrar("null"), None);
        assert_eq!(registrar("-"), None);
        assert_eq!(registrar("No registrar listed. This domain is registered directly with Nominet."), None);
    }
}
