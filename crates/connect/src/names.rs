//! Host and domain names: normal form, syntax, and names relative to a zone (draft section 9.3).

use crate::error::{Error, Result};

/// Longest name in presentation format without the final dot (RFC 1035 section 2.3.4).
const MAX_NAME: usize = 253;
/// Longest label.
const MAX_LABEL: usize = 63;

/// Lower case, A-labels, without the final dot. `name` must be a zone apex.
pub(crate) fn domain(name: &str) -> Result<String> {
    let ascii = to_ascii(name.strip_suffix('.').unwrap_or(name))?;
    check(&ascii, Wildcard::Refused)?;
    Ok(ascii)
}

/// The applied host, relative to `domain`; empty at the apex (`""` or `@`). An absolute name inside the
/// domain is made relative.
pub(crate) fn host(host: &str, domain: &str) -> Result<String> {
    if host.is_empty() || host == "@" {
        return Ok(String::new());
    }
    let ascii = to_ascii(host)?;
    let relative = match ascii.strip_suffix('.') {
        Some(absolute) => relative_to(absolute, domain)
            .ok_or_else(|| Error::data(format!("host {host} is not inside {domain}")))?,
        None => ascii,
    };
    if relative == "@" {
        return Ok(String::new());
    }
    check_below(&relative, domain)?;
    Ok(relative)
}

/// The owner name of a record, relative to `domain` (`@` at the apex). `rendered` is the `host` or `name` field
/// after substitution; `host` is the applied host in normal form.
pub(crate) fn owner(rendered: &str, domain: &str, host: &str) -> Result<String> {
    if rendered.is_empty() || rendered == "@" {
        return Ok(if host.is_empty() { "@".into() } else { host.into() });
    }
    let ascii = to_ascii(rendered)?;
    let name = match ascii.strip_suffix('.') {
        Some(absolute) => relative_to(absolute, domain)
            .ok_or_else(|| Error::data(format!("{rendered:?} ends with a dot and is not inside {domain}")))?,
        None if host.is_empty() => ascii,
        None => format!("{ascii}.{host}"),
    };
    if name != "@" {
        check_below(&name, domain)?;
    }
    Ok(name)
}

/// The name of a record of an existing zone in normal form: lower case, relative, `@` at the apex. Names that break
/// the syntax are kept, so that what is in the zone stays visible.
pub(crate) fn of_zone(name: &str, domain: &str) -> String {
    let lower = name.to_lowercase();
    match lower.strip_suffix('.') {
        _ if lower.is_empty() => "@".into(),
        Some(absolute) => relative_to(absolute, domain).unwrap_or(lower),
        None => lower,
    }
}

/// A host name in RDATA: lower case, A-labels, the final dot kept if there was one. IP addresses pass, because they
/// are well-formed names.
pub(crate) fn target(text: &str) -> Result<String> {
    let ascii = to_ascii(text)?;
    check(ascii.strip_suffix('.').unwrap_or(&ascii), Wildcard::Refused)?;
    Ok(ascii)
}

/// Whether `name` is `ancestor` or below it. Both are relative to one zone, `@` being its apex.
pub(crate) fn is_at_or_below(name: &str, ancestor: &str) -> bool {
    ancestor == "@"
        || name == ancestor
        || name.strip_suffix(ancestor).is_some_and(|labels| labels.ends_with('.'))
}

fn relative_to(absolute: &str, domain: &str) -> Option<String> {
    if absolute == domain {
        return Some("@".into());
    }
    let labels = absolute.strip_suffix(domain)?.strip_suffix('.')?;
    (!labels.is_empty()).then(|| labels.to_string())
}

fn to_ascii(name: &str) -> Result<String> {
    if name.is_ascii() {
        return Ok(name.to_ascii_lowercase());
    }
    // Label by label: underscores and wildcards are no part of IDNA and must not make the rest fail.
    let labels = name.split('.').map(|label| {
        if label.is_ascii() { Ok(label.to_ascii_lowercase()) } else { idna::domain_to_ascii(label) }
    });
    let labels: std::result::Result<Vec<String>, _> = labels.collect();
    Ok(labels.map_err(|_| Error::data(format!("{name:?} is not an internationalised name")))?.join("."))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wildcard {
    Refused,
    Leftmost,
}

fn check_below(relative: &str, domain: &str) -> Result<()> {
    check(relative, Wildcard::Leftmost)?;
    if relative.len() + 1 + domain.len() > MAX_NAME {
        return Err(Error::data(format!("{relative}.{domain} is longer than {MAX_NAME} characters")));
    }
    Ok(())
}

/// Letters, digits, hyphens inside, and underscores anywhere: `_dmarc`, `a_b`, and keys of validation services.
fn check(name: &str, wildcard: Wildcard) -> Result<()> {
    let wrong = |why: &str| Err(Error::data(format!("{name:?} is not a host name: {why}")));
    if name.is_empty() {
        return wrong("it is empty");
    }
    if name.len() > MAX_NAME {
        return wrong("it is longer than 253 characters");
    }
    for (index, label) in name.split('.').enumerate() {
        if label == "*" && index == 0 && wildcard == Wildcard::Leftmost {
            continue;
        }
        if label.is_empty() {
            return wrong("a label is empty");
        }
        if label.len() > MAX_LABEL {
            return wrong("a label is longer than 63 characters");
        }
        if label.contains('*') {
            return wrong("an asterisk must be the leftmost label alone");
        }
        if !label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
            return wrong("only letters, digits, hyphens and underscores may be in a label");
        }
        if label.starts_with('-') || label.ends_with('-') {
            return wrong("a label begins or ends with a hyphen");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_final_dot_makes_a_name_absolute() {
        assert_eq!(owner("Sub.FOO.com.", "foo.com", "bar").unwrap(), "sub");
        assert_eq!(owner("foo.com.", "foo.com", "bar").unwrap(), "@");
        assert_eq!(owner("foo.com", "foo.com", "").unwrap(), "foo.com");
        for outside in ["foo.", "xfoo.com.", ".foo.com.", ".", "sub.foo.com.."] {
            assert!(owner(outside, "foo.com", "").is_err(), "{outside}");
        }
    }

    #[test]
    fn labels_are_checked() {
        for good in ["*", "*.a", "_a", "a_b", "a._b", "xn--bcher-kva", "bücher", "1"] {
            assert!(owner(good, "foo.com", "h").is_ok(), "{good}");
        }
        for bad in ["a b", "a..b", ".a", "-a", "a-", "a.*", "*.*", "*a", "a@b", "a%b", "a/b", "@.a"] {
            assert!(owner(bad, "foo.com", "h").is_err(), "{bad}");
        }
        assert_eq!(owner("Bücher", "foo.com", "").unwrap(), "xn--bcher-kva");
        assert!(owner(&"a".repeat(64), "foo.com", "").is_err());
        assert!(owner(&["abcdefg"; 31].join("."), "foo.com", "").is_err());
    }

    #[test]
    fn the_apex_is_the_ancestor_of_all() {
        assert!(is_at_or_below("www.bar", "bar") && is_at_or_below("bar", "bar"));
        assert!(is_at_or_below("x", "@") && !is_at_or_below("xbar", "bar") && !is_at_or_below("@", "bar"));
    }

    #[test]
    fn the_applied_host_may_be_absolute() {
        assert_eq!(host("Bar.Foo.com.", "foo.com").unwrap(), "bar");
        assert_eq!(host("@", "foo.com").unwrap(), "");
        assert_eq!(host("foo.com.", "foo.com").unwrap(), "");
        assert!(host("a b", "foo.com").is_err() && host("bar.", "foo.com").is_err());
    }
}
