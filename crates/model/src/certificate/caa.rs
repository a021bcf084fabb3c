//! What CAA records permit (RFC 8659 section 4). In: records as text (`0 issue "ca.example; policy=ev"`) and the names by
//! which an authority knows itself. Out: whether it may issue.

/// One record's parts.
struct Property<'a> {
    critical: bool,
    tag: String,
    value: &'a str,
}

fn read(record: &str) -> Option<Property<'_>> {
    let (flags, rest) = record.trim().split_once(char::is_whitespace)?;
    let (tag, value) = rest.trim_start().split_once(char::is_whitespace)?;
    Some(Property {
        critical: flags.parse::<u8>().ok()? & 0x80 != 0,
        tag: tag.to_ascii_lowercase(),
        value: value.trim().trim_matches('"'),
    })
}

/// Whether the records of one name let an authority with these names issue, for a wildcard name or another. Parameters
/// after the semicolon (validation methods, accounts) are not judged.
pub fn permits(records: &[String], issuer_names: &[String], wildcard: bool) -> bool {
    let properties: Vec<Property<'_>> = records.iter().filter_map(|r| read(r)).collect();
    let known = ["issue", "issuewild", "iodef", "issuemail", "issuevmc", "contactemail", "contactphone"];
    if properties.iter().any(|p| p.critical && !known.contains(&p.tag.as_str())) {
        return false;
    }
    let of = |tag: &str| properties.iter().filter(|p| p.tag == tag).map(|p| p.value).collect::<Vec<_>>();
    let mut relevant = if wildcard { of("issuewild") } else { Vec::new() };
    if relevant.is_empty() {
        relevant = of("issue");
    }
    relevant.is_empty()
        || relevant.iter().any(|value| {
            let domain = value.split(';').next().unwrap_or_default().trim();
            issuer_names.iter().any(|name| name.eq_ignore_ascii_case(domain))
        })
}

#[cfg(test)]
mod tests {
    use super::permits;

    #[test]
    fn records_permit_as_rfc_8659_says() {
        let ca = ["ca.example".to_string()];
        for (records, wildcard, allowed) in [
            (&[][..], false, true),
            (&["0 iodef \"mailto:a@b.example\""], false, true),
            (&["0 issue \"ca.example\""], false, true),
            (&["0 issue \"CA.example; validationmethods=dns-01\""], false, true),
            (&["0 issue \"other.example\""], false, false),
            (&["0 issue \";\""], false, false),
            (&["0 issue \"\""], false, false),
            (&["0 issue \"other.example\"", "0 issue \"ca.example\""], false, true),
            (&["0 issuewild \";\""], false, true),
            (&["0 issue \"ca.example\"", "0 issuewild \";\""], true, false),
            (&["0 issue \"ca.example\""], true, true),
            (&["0 issue \";\"", "0 issuewild \"ca.example\""], true, true),
            (&["128 unheard \"x\"", "0 issue \"ca.example\""], false, false),
            (&["0 unheard \"x\""], false, true),
        ] {
            let records: Vec<String> = records.iter().map(|r| (*r).to_string()).collect();
            assert_eq!(permits(&records, &ca, wildcard), allowed, "{records:?} {wildcard}");
        }
    }
}
