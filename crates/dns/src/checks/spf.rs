//! The grammar of SPF records (RFC 7208 section 12). In: the text of a record. Out: whether it is one.

/// True when the text is a record by the grammar.
pub(crate) fn is_valid(text: &str) -> bool {
    let Some(rest) = strip_prefix_ignoring_case(text, "v=spf1") else { return false };
    if !(rest.is_empty() || rest.starts_with(' ')) {
        return false;
    }
    let terms: Vec<&str> = rest.split(' ').filter(|t| !t.is_empty()).collect();
    // `redirect` and `exp` at most once each (section 6).
    let once =
        |name: &str| terms.iter().filter(|t| strip_prefix_ignoring_case(t, name).is_some()).count() <= 1;
    terms.iter().all(|t| directive(t) || modifier(t)) && once("redirect=") && once("exp=")
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

fn directive(term: &str) -> bool {
    let term = term.strip_prefix(['+', '-', '?', '~']).unwrap_or(term);
    let end = term.find([':', '/']).unwrap_or(term.len());
    let (name, rest) = (term[..end].to_ascii_lowercase(), &term[end..]);
    match name.as_str() {
        "all" => rest.is_empty(),
        "include" | "exists" => rest.strip_prefix(':').is_some_and(domain_spec),
        "a" | "mx" => match rest.strip_prefix(':') {
            Some(rest) => host_with_prefix(rest),
            None => dual_prefix(rest),
        },
        "ptr" => rest.is_empty() || rest.strip_prefix(':').is_some_and(domain_spec),
        "ip4" => rest.strip_prefix(':').is_some_and(|r| network(r, true)),
        "ip6" => rest.strip_prefix(':').is_some_and(|r| network(r, false)),
        _ => false,
    }
}

fn number(text: &str, most: u8) -> bool {
    let canonical = text == "0" || !text.starts_with('0');
    canonical
        && !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_digit())
        && text.parse().is_ok_and(|n: u8| n <= most)
}

fn network(text: &str, v4: bool) -> bool {
    let (ip, length) = text.split_once('/').map_or((text, None), |(ip, length)| (ip, Some(length)));
    let good =
        if v4 { ip.parse::<std::net::Ipv4Addr>().is_ok() } else { ip.parse::<std::net::Ipv6Addr>().is_ok() };
    good && length.is_none_or(|l| number(l, if v4 { 32 } else { 128 }))
}

/// `[ "/" n ] [ "//" n ]`.
fn dual_prefix(text: &str) -> bool {
    let (v4, v6) = text.find("//").map_or((text, None), |at| (&text[..at], Some(&text[at + 2..])));
    let v4 = v4.is_empty() || v4.strip_prefix('/').is_some_and(|n| number(n, 32));
    v4 && v6.is_none_or(|n| number(n, 128))
}

/// A domain and a prefix length; slashes may be part of macros, so every place to cut is tried.
fn host_with_prefix(text: &str) -> bool {
    (0..=text.len())
        .filter(|at| text.is_char_boundary(*at) && (*at == text.len() || text[*at..].starts_with('/')))
        .any(|at| domain_spec(&text[..at]) && dual_prefix(&text[at..]))
}

fn modifier(term: &str) -> bool {
    let Some((name, value)) = term.split_once('=') else { return false };
    let mut letters = name.bytes();
    let starts = letters.next().is_some_and(|b| b.is_ascii_alphabetic());
    if !starts || !letters.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')) {
        return false;
    }
    match name.to_ascii_lowercase().as_str() {
        "redirect" | "exp" => domain_spec(value),
        _ => macro_string(value).is_some(),
    }
}

/// Walks a macro-string; says whether it ends with a macro expansion, or `None` when it is malformed.
fn macro_string(text: &str) -> Option<bool> {
    let bytes = text.as_bytes();
    let (mut at, mut expansion) = (0, false);
    while at < bytes.len() {
        expansion = false;
        match (bytes[at], bytes.get(at + 1)) {
            (b'%', Some(b'%' | b'_' | b'-')) => {
                at += 2;
                expansion = true;
            }
            (b'%', Some(b'{')) => {
                let end = at + text[at..].find('}')?;
                if !expand(&text[at + 2..end]) {
                    return None;
                }
                at = end + 1;
                expansion = true;
            }
            (b'%', _) => return None,
            (0x21..=0x7E, _) => at += 1,
            _ => return None,
        }
    }
    Some(expansion)
}

/// Inside `%{…}`: a letter, digits, `r`, delimiters.
fn expand(inner: &str) -> bool {
    let mut chars = inner.chars();
    let letter = chars.next().is_some_and(|c| "slodiphcrtvSLODIPHCRTV".contains(c));
    let rest = chars.as_str().trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = rest.strip_prefix(['r', 'R']).unwrap_or(rest);
    letter && rest.chars().all(|c| ".-+,/_=".contains(c))
}

/// A macro-string that ends in a top label or an expansion.
fn domain_spec(text: &str) -> bool {
    match macro_string(text) {
        None => false,
        Some(true) => true,
        Some(false) => {
            let text = text.strip_suffix('.').unwrap_or(text);
            let Some((_, top)) = text.rsplit_once('.') else { return false };
            let edge = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
            edge(top.bytes().next())
                && edge(top.bytes().last())
                && top.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
                && !top.bytes().all(|b| b.is_ascii_digit())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn records_of_the_rfc_are_valid() {
        for good in [
            "v=spf1",
            "v=spf1 -all",
            "V=SPF1 +mx  a:colo.example.com/28 -all",
            "v=spf1 a mx/24//64 ip4:192.0.2.0/24 ip6:2001:db8::/32 ~all",
            "v=spf1 include:example.com -all exp=explain._spf.%{d}",
            "v=spf1 redirect=_spf.example.com",
            "v=spf1 exists:%{ir}.%{l1r+-}._spf.%{d} ?all",
            "v=spf1 ptr ptr:example.org. unknown-modifier=%{s}%%x",
            "v=spf1 a:%{d}/24",
        ] {
            assert!(is_valid(good), "{good}");
        }
    }

    #[test]
    fn what_the_grammar_does_not_know_is_refused() {
        for bad in [
            "v=spf10 -all",
            "spf1 -all",
            "v=spf1 -alll",
            "v=spf1 all:x",
            "v=spf1 include",
            "v=spf1 include:nodots",
            "v=spf1 ip4:300.1.1.1",
            "v=spf1 ip4:192.0.2.0/33",
            "v=spf1 ip4:192.0.2.0/024",
            "v=spf1 ip6:192.0.2.1",
            "v=spf1 a/40",
            "v=spf1 exists:%{x}.example.com",
            "v=spf1 redirect=a.example redirect=b.example",
            "v=spf1 mx:%(d)",
            "v=spf1 include:example.123",
        ] {
            assert!(!is_valid(bad), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged(s in "v=spf1 \\PC{0,60}") {
            let _ = is_valid(&s);
        }
    }
}
