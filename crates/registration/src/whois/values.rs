//! Values of WHOIS labels: host names, statuses, DNSSEC words, registrar names, placeholders. In: the text of a value;
//! out: what it says, or `None`.

use super::fold;
use super::tables::{TABLES, has};
use model::epp::EppStatus;
use model::registration::{Ds, Outcome};
use std::borrow::Cow;
use std::net::IpAddr;

/// A value that says something; `null`, `-`, `N/A` and blanks do not.
pub(crate) fn stated(value: &str) -> Option<&str> {
    let v = value.trim().trim_matches('"').trim();
    if v.is_empty() || !v.chars().any(char::is_alphanumeric) {
        return None;
    }
    if v.len() <= 40 && has(&TABLES.words.placeholder, &fold::word(v)) {
        return None;
    }
    (!v.starts_with('<') || !v.ends_with('>')).then_some(v)
}

/// The few HTML entities that registries leave in texts.
pub(crate) fn unescape(s: &str) -> Cow<'_, str> {
    if !s.contains('&') {
        return Cow::Borrowed(s);
    }
    let mut out = s.to_string();
    for (from, to) in [
        ("&amp;", "&"),
        ("&eacute;", "é"),
        ("&Eacute;", "É"),
        ("&egrave;", "è"),
        ("&ecirc;", "ê"),
        ("&agrave;", "à"),
        ("&ccedil;", "ç"),
        ("&uuml;", "ü"),
        ("&ouml;", "ö"),
        ("&auml;", "ä"),
        ("&szlig;", "ß"),
        ("&quot;", "\""),
        ("&#039;", "'"),
        ("&#39;", "'"),
        ("&apos;", "'"),
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
    ] {
        if out.contains(from) {
            out = out.replace(from, to);
        }
    }
    Cow::Owned(out)
}

/// A host name in A-labels, lower case, no final dot; `None` for addresses, e-mail, prose.
pub(crate) fn host(token: &str) -> Option<String> {
    let t = token.trim_matches(|c: char| ",;()[]<>\"'".contains(c)).trim_end_matches('.');
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
    let zone_line =
        words.nth(1).is_some_and(|w| w.eq_ignore_ascii_case("ns") || w.eq_ignore_ascii_case("in"));
    let rest = if zone_line { words.next_back().unwrap_or(value) } else { value };
    for token in
        rest.split(|c: char| c.is_whitespace() || ",;|/".contains(c)).filter(|t| !t.is_empty()).take(64)
    {
        if let Some(h) = host(token) {
            if !out.contains(&h) && out.len() < 64 {
                out.push(h);
            }
        } else if address(token).is_none() && !is_remark(token) {
            break;
        }
    }
}

/// `(ok)`, `[OK]`: what a registry found out about a server, in brackets behind it.
fn is_remark(token: &str) -> bool {
    let inside = token.strip_prefix(['(', '[']).and_then(|t| t.strip_suffix([')', ']']));
    inside.is_some_and(|t| !t.is_empty() && t.bytes().all(|b| b.is_ascii_alphanumeric()))
}

fn address(token: &str) -> Option<IpAddr> {
    token.trim_matches(|c: char| "()[]<>,;".contains(c)).parse().ok()
}

/// The statuses a value lists: URLs, explanations and codes are not part of them.
pub(crate) fn statuses(value: &str, out: &mut Vec<String>) {
    let plain = strip_brackets(value);
    let mut text = plain.as_ref();
    if let Some(i) = address_at(text) {
        text = &text[..i];
    }
    let pieces: Vec<&str> = text.split([',', ';', '|', '+']).collect();
    let list = pieces.len() > 1 && pieces.iter().all(|p| p.split_whitespace().count() <= 4);
    let slashed: Vec<&str> = text.split(" / ").collect();
    let pieces = if list {
        pieces
    } else if slashed.len() > 1 && slashed.iter().all(|p| is_epp(p.trim())) {
        slashed
    } else {
        vec![text]
    };
    for p in pieces {
        let mut p = p.trim();
        if let Some((head, tail)) = p.split_once(" - ") {
            // `1 - Registered` has its explanation behind a number, `ok - Normal state.` behind the state.
            p = if head.bytes().all(|b| b.is_ascii_digit()) { tail } else { head };
        }
        if let Some((head, _)) = p.split_once(": ").filter(|(head, _)| is_epp(head)) {
            p = head;
        }
        p = p.trim_end_matches([' ', '-', '.', ':']).trim_start_matches(['-', ' ', '*']);
        if p.len() > 4 && p.as_bytes()[..3].iter().all(u8::is_ascii_digit) && p.as_bytes()[3] == b' ' {
            // DNC: `200 Active` is a status, `404 ...` an error of the question.
            if p.starts_with(['4', '5']) {
                continue;
            }
            p = p[4..].trim();
        }
        let Some(p) = stated(p) else { continue };
        if p.len() > 80 {
            continue;
        }
        let epp_words: Vec<&str> = p.split_whitespace().collect();
        if epp_words.len() > 1 && epp_words.iter().all(|w| is_epp(w)) {
            out.extend(epp_words.iter().map(|w| (*w).to_string()));
        } else {
            out.push(p.to_string());
        }
    }
}

/// Where a web address begins, `http://` or `HTTP://`.
fn address_at(text: &str) -> Option<usize> {
    let end = text.find("://").unwrap_or(text.len());
    let head = &text.as_bytes()[..end];
    head.windows(4).position(|w| w.eq_ignore_ascii_case(b"http"))
}

/// True for one EPP code in camelCase: several of them in one value are a list.
fn is_epp(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_alphabetic()) && EppStatus::new(word).explained().is_some()
}

fn strip_brackets(s: &str) -> Cow<'_, str> {
    if !s.contains(['(', '[']) {
        return Cow::Borrowed(s);
    }
    let mut out = String::with_capacity(s.len());
    let mut depth = 0u32;
    for c in s.chars() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    if out.trim().is_empty() {
        Cow::Owned(s.trim_matches(['(', ')', '[', ']']).to_string())
    } else {
        Cow::Owned(out)
    }
}

/// A status as EPP writes it, where the wording stands for an EPP code.
pub(crate) fn epp(status: &str) -> EppStatus {
    match TABLES.words.status.epp.get(&fold::word(status)) {
        Some(code) => EppStatus::new(code),
        None => EppStatus::new(status),
    }
}

/// True for an EPP code and for a registry's wording of one.
pub(crate) fn is_code(status: &str) -> bool {
    is_epp(status) || TABLES.words.status.epp.contains_key(&fold::word(status))
}

/// What a status says about the name itself, where it says that it is free or withheld.
pub(crate) fn status_outcome(status: &str) -> Option<Outcome> {
    let w = fold::word(status);
    let words = &TABLES.words.status;
    if has(&words.free, &w) {
        Some(Outcome::Available)
    } else if has(&words.reserved, &w) {
        Some(Outcome::Reserved)
    } else {
        None
    }
}

/// True for statuses that say only that the name is registered.
pub(crate) fn says_taken(status: &str) -> bool {
    has(&TABLES.words.status.taken, &fold::word(status))
}

/// `Some(true)` for signed, `Some(false)` for unsigned, `None` when the words are not known.
pub(crate) fn dnssec(value: &str) -> Option<bool> {
    if ds(value).is_some() {
        return Some(true);
    }
    // `DNSSEC: DS Records: none`
    let said = value.rsplit_once(": ").map_or(value, |(_, said)| said);
    let w = fold::word(said);
    let words = &TABLES.words.dnssec;
    if w.is_empty() {
        return None;
    }
    if has(&words.unsigned, &w) || w.starts_with("unsigned") || w.starts_with("notsigned") {
        return Some(false);
    }
    if has(&words.signed, &w) || w.starts_with("signed") {
        return Some(true);
    }
    None
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
        ] {
            let mut out = Vec::new();
            hosts(value, &mut out);
            assert_eq!(out, want, "{value}");
        }
    }

    #[test]
    fn statuses_without_noise() {
        for (value, want) in [
            (
                "clientDeleteProhibited http://icann.org/epp#clientDeleteProhibited",
                vec!["clientDeleteProhibited"],
            ),
            ("ok (paid and in zone)", vec!["ok"]),
            ("200 Active", vec!["Active"]),
            ("ok - Normal state.", vec!["ok"]),
            ("REGISTERED, NOT DELEGATED", vec!["REGISTERED", "NOT DELEGATED"]),
            ("Connected (2024/06/30)", vec!["Connected"]),
            ("clientHold clientUpdateProhibited", vec!["clientHold", "clientUpdateProhibited"]),
            ("ok / autoRenewPeriod", vec!["ok", "autoRenewPeriod"]),
            ("Registered until expiry date.", vec!["Registered until expiry date"]),
            ("-", vec![]),
            ("null", vec![]),
            ("500 Invalid characters in query string", vec![]),
        ] {
            let mut out = Vec::new();
            statuses(value, &mut out);
            assert_eq!(out, want, "{value}");
        }
        assert_eq!(epp("Update forbidden").as_str(), "serverUpdateProhibited");
        assert_eq!(epp("Client Updt Lock").as_str(), "clientUpdateProhibited");
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
