//! Test-only: fields of blocks that belong to someone else, in layouts with invented data.

use crate::whois::parse_whois;
use model::registration::Registration;

fn read(text: &str) -> Registration {
    parse_whois("a.example", None, None, text.as_bytes()).registration
}

/// Created, updated, expires.
fn days(r: &Registration) -> [Option<String>; 3] {
    [r.created, r.updated, r.expires].map(|t| t.map(|t| t.to_string()))
}

fn some(created: &str, updated: &str, expires: &str) -> [Option<String>; 3] {
    [created, updated, expires].map(|t| (!t.is_empty()).then(|| t.to_string()))
}

#[test]
fn days_of_a_registrar_or_contact_are_not_the_domain_s() {
    for (text, want) in [
        (
            "Domain: a.example\nNserver: ns1.b.net\nRegistrar:\n  Name: Foo\n  Registration Date: 1999-05-05\n  \
             Expiry date: 2027-01-01\nDomain registration date: 2001-01-01\nExpiry date: 2031-01-01\n",
            some("2001-01-01", "", "2031-01-01"),
        ),
        (
            "Domain: a.example\nNserver: ns1.b.net\nRegistrar:\n  Name: Foo\n  Registration Date: 1999-05-05\n  \
             Expiry date: 2027-01-01\n",
            some("", "", ""),
        ),
        (
            "Domain: a.example\nNserver: ns1.b.net\nOwner:\n  Name: John\n  Created on: 2015-05-05\n  \
             Modified on: 2016-06-06\n",
            some("", "", ""),
        ),
        (
            "Domain: a.example\nNserver: ns1.b.net\n\nAdmin Contact:\n    Name: John\n    Created Date: 2015-05-05\n    \
             Updated Date: 2016-06-06\n\nCreated Date: 2001-01-01\n",
            some("2001-01-01", "", ""),
        ),
        // Not deeper: the domain's own days are believed more, wherever they stand.
        (
            "Domain: a.example\nNserver: ns1.b.net\nOwner:\nName: John\nCreated on: 2015-05-05\n\nDNS:\nns1.b.net\n\n\
             Created on: 2001-01-01\n",
            some("2001-01-01", "", ""),
        ),
        (
            "domain: a.example\nnserver: ns1.b.net\ncreated: 2001-01-01\nchanged: 2002-02-02\n\nperson: John\n\
             Updated Date: 2016-06-06\nCreated Date: 2015-05-05\n",
            some("2001-01-01", "2002-02-02", ""),
        ),
        (
            "domain: a.example\nnserver: ns1.b.net\ncreated: 2001-01-01\n\nperson: John\nUpdated Date: 2016-06-06\n",
            some("2001-01-01", "", ""),
        ),
        // Inside a block, but of the domain by its label; or below the block, at its margin.
        (
            "Domain: a.example\nNserver: ns1.b.net\nRegistrar:\n  Name: Foo\n  Domain created: 2001-01-01\n  \
             Record expires on: 2031-01-01\n",
            some("2001-01-01", "", "2031-01-01"),
        ),
        (
            "Domain: a.example\nNserver: ns1.b.net\nAdmin Contact:\n  Name: John\nCreated on: 2001-01-01\n\
             Expires on: 2031-01-01\n",
            some("2001-01-01", "", "2031-01-01"),
        ),
    ] {
        assert_eq!(days(&read(text)), want, "{text}");
    }
}

#[test]
fn a_contact_s_registrar_is_not_the_domain_s() {
    let text =
        "Domain: a.example\nNserver: ns1.b.net\nBilling contact:\n  Name: Bill Ltd\n  Registrar: BillReg\n";
    assert_eq!(read(text).registrar.name, None);
    let flat =
        "Domain: a.example\nNserver: ns1.b.net\nBilling contact:\n  Name: Bill Ltd\nRegistrar: Sample\n";
    assert_eq!(read(flat).registrar.name.as_deref(), Some("Sample"));
}

#[test]
fn a_brand_is_not_replaced_as_a_handle_is() {
    for (text, want) in [
        ("Registrar: Name.com\nSponsor: University X\n", "Name.com"),
        ("Registrar: Key-Systems\nAgent: John Smith\n", "Key-Systems"),
        ("Registrar: SAMP-0292\nSponsor: University X\n", "SAMP-0292"),
        ("Registrar: SAMP-0292\n\nRegistrar:\n  Name: Sample Names Ltd\n", "Sample Names Ltd"),
        ("Registrar: Key-Systems\n\nRegistrar:\n  Name: Jane Doe\n", "Key-Systems"),
        ("Registrar: ua.sample\n\nRegistrar:\n  Organization: Sample Names Ltd\n", "Sample Names Ltd"),
    ] {
        let text = format!("Domain: a.example\nNserver: ns1.b.net\n{text}");
        assert_eq!(read(&text).registrar.name.as_deref(), Some(want), "{text}");
    }
}

#[test]
fn a_reseller_s_block_names_no_registrar() {
    let head = "Domain name: a.example\nName Server: ns1.b.net\n\n";
    let block = format!(
        "{head}Registration Service Provider:\n    Sample Reseller, help@reseller.test\n    +1.0000000002\n"
    );
    assert_eq!(read(&block).registrar.name, None);
    let name =
        format!("{head}Registration Service Provider:\n    Sample Reseller\n    http://reseller.test\n");
    assert_eq!(read(&name).registrar.name, None);
    let mail = format!("{head}Registration Service Provider: Sample Reseller, help@reseller.test\n");
    assert_eq!(read(&mail).registrar.name, None);
    // The registry of .tw means the registrar; one that is named as such is believed more.
    let line = format!("{head}Registration Service Provider: Sample\n");
    assert_eq!(read(&line).registrar.name.as_deref(), Some("Sample"));
    let both = format!("{line}Sponsor company registrar: Sample Names Ltd\n");
    assert_eq!(read(&both).registrar.name.as_deref(), Some("Sample Names Ltd"));
}

#[test]
fn labels_of_periods_are_read_to_their_end() {
    for (line, want) in [
        ("Validity: from 2020-01-01 to 2021-01-01", some("", "", "2021-01-01")),
        ("Validity: 2020-01-01 - 2021-01-01", some("", "", "2021-01-01")),
        ("Geldig: 2019-01-01 t/m 2020-01-01", some("", "", "2020-01-01")),
        ("Срок действия: 01.01.2019 - 01.01.2020", some("", "", "2020-01-01")),
        ("有效期限: 2020-01-01 至 2021-01-01", some("", "", "2021-01-01")),
        ("Expiration date: 2020-01-01 - 2021-01-01", some("", "", "2021-01-01")),
        ("Expiration date: since 2020-01-01", some("", "", "")),
        ("Registration valid to: 2031-12-31", some("", "", "2031-12-31")),
        ("Registriert bis: 31.12.2031", some("", "", "2031-12-31")),
        ("Зарегистрирован до: 31.12.2031", some("", "", "2031-12-31")),
        ("Registered: until 2031-12-31", some("", "", "")),
        ("Data last updated: 2026-01-02", some("", "", "")),
        ("Latest update: 2026-01-02", some("", "", "")),
        ("Date of last update: 2026-01-02", some("", "", "")),
        ("Registry last updated: 2026-01-02", some("", "", "")),
        ("Last registry update: 2026-01-02", some("", "", "")),
    ] {
        let text = format!("Domain: a.example\nNserver: ns1.b.net\n{line}\n");
        assert_eq!(days(&read(&text)), want, "{line}");
    }
}
