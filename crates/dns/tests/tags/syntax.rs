//! Syntax01 to 08: the zone's name, names of servers and mail exchangers, the mailbox.

use crate::fake::Fault;
use crate::row::{Make, NS, REST, Row, SOA, asked, raw, rcode, row, text};
use hickory_proto::op::ResponseCode;

/// Another name than the usual one: nothing but the name counts, so no server serves it.
fn named(case: &'static str, zone: &'static str) -> Row {
    row(case, zone).of(zone).ns("www.test", "192.0.2.90").fault("192.0.2.90", Fault::Refused)
}

/// SOA record with another primary server and mailbox.
fn soa(mname: &str, rname: &str) -> String {
    format!("@ 3600 SOA {mname} {rname} 7 14400 3600 604800 300")
}

fn names() -> Vec<Row> {
    let (ok, bad) = ("ONLY_ALLOWED_CHARS", "NON_ALLOWED_CHARS");
    let (edges, first, last) = ("NO_ENDING_HYPHENS", "INITIAL_HYPHEN", "TERMINAL_HYPHEN");
    let (single, double) = ("NO_DOUBLE_DASH", "DISCOURAGED_DOUBLE_DASH");
    let name = |case, zone, tags: &[&'static str]| named(case, zone).says(tags);
    vec![
        row("Syntax01", "healthy").says(&[ok]),
        name("Syntax01", "under_score.test", &[bad]),
        name("Syntax01", "xn--bcherei-n2a.test", &[ok]),
        row("Syntax02", "healthy").says(&[edges]),
        name("Syntax02", "-a.test", &[first]),
        name("Syntax02", "a-.test", &[last]),
        name("Syntax02", "-a-.b.test", &[first, last]),
        row("Syntax03", "healthy").says(&[single]),
        name("Syntax03", "ab--c.test", &[double]),
        name("Syntax03", "xn--bcherei-n2a.test", &[single]),
        name("Syntax03", "a--b.test", &[single]),
    ]
}

/// Syntax04, 07 and 08 use one validator of host names.
fn hosts() -> Vec<Row> {
    let mut rows = Vec::new();
    for (case, what) in [("Syntax04", "NAMESERVER"), ("Syntax07", "MNAME"), ("Syntax08", "MX")] {
        let tag = |word: &str| -> &'static str { format!("{what}_{word}").leak() };
        let ok = tag("SYNTAX_OK");
        for (host, tags) in [
            ("ns.good.test.", vec![ok]),
            ("n_s.test.", vec![tag("NON_ALLOWED_CHARS")]),
            ("ab--c.test.", vec![tag("DISCOURAGED_DOUBLE_DASH")]),
            ("ns.example.123.", vec![tag("NUMERIC_TLD")]),
            ("4.b--d.test.", vec![ok]),
            (
                "a_b.cd--e.45.",
                vec![tag("NON_ALLOWED_CHARS"), tag("DISCOURAGED_DOUBLE_DASH"), tag("NUMERIC_TLD")],
            ),
        ] {
            let row = row(case, host);
            rows.push(match case {
                "Syntax04" => {
                    let tags = if tags.contains(&ok) { tags } else { [tags, vec![ok]].concat() };
                    row.both(&[SOA, NS, REST, &format!("@ 60 NS {host}")]).says(&tags)
                }
                "Syntax07" => row.both(&[&soa(host, "host.zone.test."), NS]).says(&tags),
                _ => row.both(&[SOA, NS, &format!("@ 60 MX 10 {host}")]).says(&tags),
            });
        }
    }
    let no_soa: Make = |q, r| if asked(q).1 == 6 { rcode(r, ResponseCode::NoError) } else { Some(r) };
    rows.extend([
        row("Syntax04", "no good name")
            .parent("zone 60 NS n_s.zone.test.\nn_s.zone 60 A 192.0.2.11")
            .both(&[SOA, "@ 60 NS n_s.zone.test.\nn_s 60 A 192.0.2.11"])
            .says(&["NAMESERVER_NON_ALLOWED_CHARS"]),
        row("Syntax07", "silent").faults(Fault::Drop).says(&["NO_RESPONSE_SOA_QUERY"]),
        row("Syntax07", "no SOA record").make(no_soa).says(&["NO_RESPONSE_SOA_QUERY"]),
        row("Syntax07", "the first without SOA record")
            .fault("192.0.2.11", Fault::Drop)
            .says(&["MNAME_SYNTAX_OK"]),
        row("Syntax08", "silent").faults(Fault::Drop).says(&["NO_RESPONSE_MX_QUERY"]),
        row("Syntax08", "no MX record").both(&[SOA, NS]).says(&[]),
        row("Syntax08", "null MX").both(&[SOA, NS, "@ 60 MX 0 ."]).says(&[]),
    ]);
    rows
}

fn mailbox() -> Vec<Row> {
    let s5 = |what| row("Syntax05", what);
    let s6 = |what| row("Syntax06", what);
    let with =
        |rname: &str, lines: &str| -> &'static str { text(&[&soa("ns1.zone.test.", rname), NS, lines]) };
    let (valid, invalid) = ("RNAME_RFC822_VALID", "RNAME_RFC822_INVALID");
    let (nowhere, localhost, alias) =
        ("RNAME_MAIL_DOMAIN_INVALID", "RNAME_MAIL_DOMAIN_LOCALHOST", "RNAME_MAIL_ILLEGAL_CNAME");
    let host = "host.zone.test.";
    let at_sign: Make = |q, mut r| {
        if asked(q).1 == 6 {
            r.answers =
                vec![raw("zone.test.", 6, [&b"\x00\x09host@zone\x04test\x00"[..], &[0; 20]].concat())];
        }
        Some(r)
    };
    let no_soa: Make = |q, r| if asked(q).1 == 6 { rcode(r, ResponseCode::NoError) } else { Some(r) };
    vec![
        s5("healthy").says(&["RNAME_NO_AT_SIGN"]),
        s5("an at sign").make(at_sign).says(&["RNAME_MISUSED_AT_SIGN"]),
        s5("silent").faults(Fault::Drop).says(&["NO_RESPONSE_SOA_QUERY"]),
        s6("healthy").says(&[valid]),
        s6("one is silent").fault("192.0.2.12", Fault::Drop).says(&[valid, "NO_RESPONSE"]),
        s6("one has no SOA record").second_makes(no_soa).says(&[valid, "NO_RESPONSE_SOA_QUERY"]),
        s6("one label").both(&[with("host.", "")]).says(&[invalid]),
        s6("a dot in the local part").both(&[with("first\\.last.zone.test.", REST)]).says(&[valid]),
        s6("two dots in the local part").both(&[with("first\\.\\.last.zone.test.", REST)]).says(&[invalid]),
        s6("an at sign in the local part").make(at_sign).says(&[invalid]),
        s6("a domain that is not there").both(&[with("host.nothing.test.", "")]).says(&[nowhere]),
        s6("no MX record, but an address").both(&[with(host, "@ 60 A 192.0.2.80")]).says(&[valid]),
        s6("neither").both(&[with(host, "")]).says(&[nowhere]),
        s6("no MX record, and an alias for the address")
            .both(&[with("host.alias.test.", "")])
            .says(&[alias, nowhere]),
        s6("MX records behind an alias")
            .both(&[with(
                "host.a.zone.test.",
                "a 60 CNAME b.zone.test.\nb 60 MX 1 mail.zone.test.\nmail 60 A 192.0.2.25",
            )])
            .says(&[valid]),
        s6("an exchanger without address").both(&[with(host, "@ 60 MX 1 mail.zone.test.")]).says(&[nowhere]),
        s6("an exchanger that is an alias")
            .both(&[with(host, "@ 60 MX 1 alias.test.")])
            .says(&[alias, nowhere]),
        s6("an exchanger at home")
            .both(&[with(host, "@ 60 MX 1 mail.zone.test.\nmail 60 A 127.0.0.1")])
            .says(&[localhost, nowhere]),
        s6("an exchanger at home, IPv6")
            .both(&[with(host, "@ 60 MX 1 mail.zone.test.\nmail 60 AAAA ::1")])
            .says(&[localhost, nowhere]),
        s6("one mailbox good, one bad")
            .both(&[with(host, REST)])
            .second(&[with("host.nothing.test.", REST)])
            .says(&[nowhere]),
    ]
}

pub fn rows() -> Vec<Row> {
    [names(), hosts(), mailbox()].into_iter().flatten().collect()
}
