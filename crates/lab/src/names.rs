//! Names as the lab keeps them: lower-case A-labels without the final dot in the world, wire names in zones.
//! In: text from scenarios and commands. Out: one normal form (RFC 5890 A-labels), or the reason why not.

use hickory_proto::rr::Name;

/// Normal form of a host or domain name: A-labels, lower case, no final dot.
///
/// # Errors
/// A sentence, when the text is not a host name.
pub fn normal(text: &str) -> Result<String, String> {
    let trimmed = text.trim().trim_end_matches('.');
    if trimmed.is_empty() {
        return Err("an empty name".into());
    }
    let name = Name::from_utf8(format!("{trimmed}.")).map_err(|e| format!("`{text}` is not a name: {e}"))?;
    Ok(name.to_ascii().trim_end_matches('.').to_ascii_lowercase())
}

/// The wire form of a name that came through [`normal`]; the empty string, and what is no name, is the root.
#[must_use]
pub fn wire(normal: &str) -> Name {
    if normal.is_empty() || normal == "." {
        return Name::root();
    }
    Name::from_ascii(format!("{normal}.")).unwrap_or_else(|_| Name::root())
}

/// The normal form of a wire name; the root is the empty string.
#[must_use]
pub fn text(name: &Name) -> String {
    name.to_ascii().trim_end_matches('.').to_ascii_lowercase()
}

/// True when `name` is `zone` or lies below it; both in normal form, the root is the empty string.
#[must_use]
pub fn within(name: &str, zone: &str) -> bool {
    zone.is_empty()
        || name == zone
        || (name.ends_with(zone) && name[..name.len() - zone.len()].ends_with('.'))
}

/// The last label of a normal name.
#[must_use]
pub fn tld_of(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_form_for_all_spellings() {
        assert_eq!(normal("BÜCHEREI.example.").unwrap(), "xn--bcherei-n2a.example");
        assert_eq!(normal(" q7.IO ").unwrap(), "q7.io");
        assert!(normal("").is_err());
        assert!(normal("a..b").is_err());
    }

    #[test]
    fn within_respects_label_borders() {
        assert!(within("a.example", "example"));
        assert!(within("example", "example"));
        assert!(!within("badexample", "example"));
        assert!(within("anything", ""));
    }
}
