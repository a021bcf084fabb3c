//! Statuses as registries write them: lists, codes, web addresses, explanations, wordings of their own. In: the text of a
//! value; out: states, and what one says about the name itself. RFC 5731, RFC 8056.

use crate::whois::text::fold;
use crate::whois::values::fields::stated;
use crate::whois::vocabulary::tables::{TABLES, has};
use model::epp::EppStatus;
use model::registration::Outcome;
use std::borrow::Cow;

/// The statuses a value lists: URLs, explanations and codes are not part of them.
pub(crate) fn statuses(value: &str, out: &mut Vec<String>) {
    let plain = strip_brackets(value);
    let plain = without_addresses(&plain);
    let text = plain.as_ref();
    let pieces: Vec<&str> = text.split([',', ';', '|', '+']).collect();
    let list = pieces.len() > 1 && pieces.iter().all(|p| p.split_whitespace().count() <= 4);
    let slashed: Vec<&str> = text.split('/').map(str::trim).collect();
    // `inactive / dnsHold` (.it) holds a state of the registry's own.
    let of_codes = slashed.iter().all(|p| is_epp(p))
        || text.contains(" / ")
            && slashed.iter().any(|p| is_epp(p))
            && !slashed.iter().any(|p| p.contains(' '));
    let pieces = if list {
        pieces
    } else if slashed.len() > 1 && of_codes {
        slashed
    } else {
        vec![text]
    };
    for p in pieces {
        let mut p = p.trim();
        if let Some((head, tail)) = [" - ", " -- ", " – "].iter().find_map(|dash| p.split_once(dash)) {
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

/// A text without its web addresses; a comma behind one stays.
fn without_addresses(text: &str) -> Cow<'_, str> {
    let is_address = |w: &str| {
        let bare = w.trim_start_matches(['<', '"', '\'']);
        bare.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("http"))
    };
    if !text.split_whitespace().any(is_address) {
        return Cow::Borrowed(text);
    }
    let kept = |w| {
        if !is_address(w) {
            w
        } else if w.ends_with(',') {
            ","
        } else {
            ""
        }
    };
    Cow::Owned(text.split_whitespace().map(kept).collect::<Vec<_>>().join(" "))
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
pub(crate) fn outcome(status: &str) -> Option<Outcome> {
    let w = fold::word(status);
    let words = &TABLES.words.status;
    if has(&words.free, &w) {
        Some(Outcome::Available)
    } else if has(&words.reserved, &w) || is_withheld(status) {
        Some(Outcome::Reserved)
    } else {
        None
    }
}

/// `Reserved by the registry`, `Blocked for legal reasons`.
fn is_withheld(status: &str) -> bool {
    let mut words = status.split_whitespace().map(str::to_ascii_lowercase);
    let (Some(state), Some(joint)) = (words.next(), words.next()) else { return false };
    ["reserved", "blocked", "withheld", "prohibited"].contains(&state.as_str())
        && ["by", "for", "from", "due", "because"].contains(&joint.as_str())
}

/// True for statuses that say only that the name is registered.
pub(crate) fn says_taken(status: &str) -> bool {
    has(&TABLES.words.status.taken, &fold::word(status))
}

/// True for a bare `state`, which may be a part of an address too.
pub(crate) fn is_label(label: &str) -> bool {
    let label = label.trim_matches(|c: char| !c.is_alphanumeric());
    ["state", "estado", "stato", "etat", "état"].iter().any(|w| label.eq_ignore_ascii_case(w))
}

/// A bare `state` label is a status only when its value is one; in an address it is a province.
pub(crate) fn is_state(value: &str) -> bool {
    value
        .split(',')
        .map(strip)
        .any(|p| has(&TABLES.words.status.state, &fold::word(p)) || outcome(p).is_some())
}

fn strip(p: &str) -> &str {
    p.split('(').next().unwrap_or(p)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("clientHold/serverHold", vec!["clientHold", "serverHold"]),
            ("inactive/noRegistrar", vec!["inactive/noRegistrar"]),
            ("ok/inactive", vec!["ok", "inactive"]),
            ("inactive / dnsHold", vec!["inactive", "dnsHold"]),
            ("Registered / Myönnetty", vec!["Registered / Myönnetty"]),
            ("Permanent/Reserved", vec!["Permanent/Reserved"]),
            ("Registered until expiry date.", vec!["Registered until expiry date"]),
            ("ok https://x.test/epp#ok, clientHold https://x.test/epp#clientHold", vec!["ok", "clientHold"]),
            ("1 - Registered", vec!["Registered"]),
            ("ok -- no restrictions", vec!["ok"]),
            ("clientHold – set by the registrar", vec!["clientHold"]),
            ("ok <https://x.test/epp#ok>", vec!["ok"]),
            ("serverHold: the registry holds it", vec!["serverHold"]),
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
}
