//! Zone01 and 07 to 11: the primary server, mail, the SOA record, SPF.

use crate::fake::Fault;
use crate::row::{Make, NS, REST, Row, SOA, asked, raw, rcode, row, text};
use hickory_proto::op::{Message, ResponseCode};

/// The SOA record with another primary server and serial number.
fn soa(mname: &str, serial: u32) -> &'static str {
    format!("@ 3600 SOA {mname} host.zone.test. {serial} 14400 3600 604800 300").leak()
}

fn primary() -> Vec<Row> {
    let z = |what| row("Zone01", what);
    let (master, unlisted) = ("Z01_MNAME_IS_MASTER", "Z01_MNAME_NOT_IN_NS_LIST");
    let behind = "Z01_MNAME_NOT_MASTER";
    let primary = "p 60 A 192.0.2.20";
    // A primary server outside the NS set, with a fault or content of its own.
    let hidden = |what| z(what).both(&[soa("p.zone.test.", 7), NS, REST, primary]);
    let copy = |serial| text(&[soa("p.zone.test.", serial), NS, REST, primary]);
    let served = |what, serial| hidden(what).serves("192.0.2.20", "zone.test", copy(serial));
    let old = [soa("ns1.zone.test.", 7), NS, REST];
    vec![
        z("healthy").says(&[master]),
        z("the root is no server").both(&[soa(".", 7), NS, REST]).says(&["Z01_MNAME_IS_DOT"]),
        z("the root is no server, and two SOA records say so")
            .both(&[soa(".", 7), soa(".", 8), NS, REST])
            .says(&["Z01_MNAME_IS_DOT"]),
        z("localhost").both(&[soa("localhost.", 7), NS, REST]).says(&["Z01_MNAME_IS_LOCALHOST"]),
        z("a name without address")
            .both(&[soa("nobody.zone.test.", 7), NS, REST])
            .says(&[unlisted, "Z01_MNAME_NOT_RESOLVE"]),
        z("an address at home")
            .both(&[soa("p.zone.test.", 7), NS, REST, "p 60 A 127.0.0.1"])
            .says(&[unlisted, "Z01_MNAME_HAS_LOCALHOST_ADDR"]),
        z("an address at home, IPv6")
            .both(&[soa("p.zone.test.", 7), NS, REST, "p 60 AAAA ::1"])
            .says(&[unlisted, "Z01_MNAME_HAS_LOCALHOST_ADDR"]),
        served("hidden, ahead", 8).says(&[unlisted, master]),
        served("hidden, behind", 6).says(&[unlisted, behind]),
        served("hidden, ahead by serial number arithmetic", 2_000_000_000).says(&[unlisted, master]),
        served("hidden, behind by serial number arithmetic", 4_294_967_290).says(&[unlisted, behind]),
        hidden("silent").fault("192.0.2.20", Fault::Drop).says(&[unlisted, "Z01_MNAME_NO_RESPONSE"]),
        hidden("refusing").says(&[unlisted, "Z01_MNAME_UNEXPECTED_RCODE"]),
        served("without authority", 7)
            .fault("192.0.2.20", Fault::NoAuthority)
            .says(&[unlisted, "Z01_MNAME_NOT_AUTHORITATIVE"]),
        hidden("without SOA record")
            .serves("192.0.2.20", "zone.test", text(&[NS, REST]))
            .says(&[unlisted, "Z01_MNAME_MISSING_SOA_RECORD"]),
        z("listed, behind the other")
            .both(&old)
            .second(&[soa("ns1.zone.test.", 8), NS, REST])
            .says(&[behind]),
        z("two are named, one is behind")
            .both(&old)
            .second(&[soa("ns2.zone.test.", 8), NS, REST])
            .says(&[behind, master]),
        z("one has no authority: it is left out")
            .second(&[soa("nobody.zone.test.", 9), NS, REST])
            .fault("192.0.2.12", Fault::NoAuthority)
            .says(&[master]),
        z("silent").faults(Fault::Drop).says(&[]),
    ]
}

fn aliases() -> Vec<Row> {
    let z7 = |what| row("Zone07", what);
    let z8 = |what| row("Zone08", what);
    let alias = "a 60 CNAME ns1.zone.test.";
    let apex: Make = |q, mut r| {
        if asked(q).1 == 15 {
            r.answers = vec![raw("zone.test.", 5, b"\x03www\x04test\x00".to_vec())];
        }
        Some(r)
    };
    vec![
        z7("healthy").says(&["MNAME_IS_NOT_CNAME"]),
        z7("an alias").both(&[soa("a.zone.test.", 7), NS, REST, alias]).says(&["MNAME_IS_CNAME"]),
        z7("no address").both(&[soa("a.zone.test.", 7), NS, REST]).says(&["MNAME_HAS_NO_ADDRESS"]),
        z7("silent").faults(Fault::Drop).says(&["NO_RESPONSE_SOA_QUERY"]),
        z7("without authority").faults(Fault::NoAuthority).says(&["NO_RESPONSE_SOA_QUERY"]),
        z8("healthy").says(&["MX_RECORD_IS_NOT_CNAME"]),
        z8("an exchanger that is an alias")
            .both(&[SOA, NS, alias, "@ 60 MX 1 a.zone.test."])
            .says(&["MX_RECORD_IS_CNAME"]),
        z8("the zone's name is an alias for MX").make(apex).says(&["MX_RECORD_IS_CNAME"]),
        z8("an exchanger at the zone's own name")
            .both(&[SOA, NS, "@ 60 MX 1 zone.test.\n@ 60 A 192.0.2.25"])
            .says(&["MX_RECORD_IS_NOT_CNAME"]),
        z8("no MX record").both(&[SOA, NS]).says(&["MX_RECORD_IS_NOT_CNAME"]),
        z8("silent").faults(Fault::Drop).says(&["NO_RESPONSE_MX_QUERY"]),
        z8("without authority").faults(Fault::NoAuthority).says(&["NO_RESPONSE_MX_QUERY"]),
    ]
}

/// The reply to the question for MX records, made over.
fn mx(query: &Message, reply: Message, make: fn(Message) -> Option<Message>) -> Option<Message> {
    if asked(query).1 == 15 { make(reply) } else { Some(reply) }
}

/// A top-level domain and a zone of the reverse tree, on the first server.
fn special(case: &'static str, zone: &'static str, lines: &str) -> Row {
    row(case, zone).of(zone).ns("www.test", "192.0.2.90").serves(
        "192.0.2.90",
        zone,
        text(&["@ 60 SOA a.test. b.test. 1 2 3 4 5\n@ 60 NS www.test.", lines]),
    )
}

fn mail() -> Vec<Row> {
    let z = |what| row("Zone09", what);
    let (data, missing) = ("Z09_MX_DATA", "Z09_MISSING_MAIL_TARGET");
    let with = |lines: &str| -> &'static str { text(&[SOA, NS, lines]) };
    let root = |mx: &str| -> Row {
        let lines = text(&[
            "a.root.example. 60 A 192.0.2.1\n@ 60 SOA a.root.example. h.example. 1 2 3 4 5\n@ 60 NS a.root.example.",
            mx,
        ]);
        row("Zone09", "the root").of(".").serves("192.0.2.1", "", lines)
    };
    vec![
        z("healthy").says(&[data]),
        z("none").both(&[SOA, NS]).says(&[missing]),
        z("null MX").both(&[with("@ 60 MX 0 .")]).says(&[]),
        z("null MX with a preference").both(&[with("@ 60 MX 5 .")]).says(&["Z09_NULL_MX_NON_ZERO_PREF"]),
        z("null MX beside another")
            .both(&[with("@ 60 MX 0 .\n@ 60 MX 1 mail.zone.test.")])
            .says(&["Z09_NULL_MX_WITH_OTHER_MX"]),
        z("null MX with a preference beside another")
            .both(&[with("@ 60 MX 1 .\n@ 60 MX 1 mail.zone.test.")])
            .says(&["Z09_NULL_MX_WITH_OTHER_MX", "Z09_NULL_MX_NON_ZERO_PREF"]),
        z("one server has none").second(&[SOA, NS]).says(&[
            "Z09_INCONSISTENT_MX",
            "Z09_NO_MX_FOUND",
            "Z09_MX_FOUND",
            data,
        ]),
        z("other data")
            .second(&[with("@ 60 MX 20 mail.zone.test.")])
            .says(&["Z09_INCONSISTENT_MX_DATA", data]),
        z("one is silent to MX")
            .second_makes(|q, r| mx(q, r, |_| None))
            .says(&["Z09_NO_RESPONSE_MX_QUERY", data]),
        z("one fails for MX")
            .second_makes(|q, r| mx(q, r, |r| rcode(r, ResponseCode::NotImp)))
            .says(&["Z09_UNEXPECTED_RCODE_MX", data]),
        z("one has no authority for MX")
            .second_makes(|q, r| {
                mx(q, r, |mut r| {
                    r.metadata.authoritative = false;
                    Some(r)
                })
            })
            .says(&["Z09_NON_AUTH_MX_RESPONSE", data]),
        z("one has no authority at all: it is left out")
            .fault("192.0.2.12", Fault::NoAuthority)
            .says(&[data]),
        z("silent").faults(Fault::Drop).says(&[]),
        special("Zone09", "tld", "").says(&[]),
        special("Zone09", "tld", "@ 60 MX 0 .").says(&[]),
        special("Zone09", "tld", "@ 60 MX 1 mail.test.").says(&["Z09_TLD_EMAIL_DOMAIN"]),
        special("Zone09", "2.0.192.in-addr.arpa", "").says(&[]),
        special("Zone09", "2.0.192.in-addr.arpa", "@ 60 MX 1 mail.test.").says(&[data]),
        root("").says(&[]),
        root("@ 60 MX 1 mail.test.").says(&["Z09_ROOT_EMAIL_DOMAIN"]),
    ]
}

fn one_soa() -> Vec<Row> {
    let z = |what| row("Zone10", what);
    let none: Make = |q, r| if asked(q).1 == 6 { rcode(r, ResponseCode::NoError) } else { Some(r) };
    let wrong: Make = |q, mut r| {
        if asked(q).1 == 6 {
            r.answers = vec![raw("test.", 6, [&[0, 0][..], &[0; 20]].concat())];
        }
        Some(r)
    };
    vec![
        z("healthy").says(&["ONE_SOA"]),
        z("two").both(&[SOA, soa("ns2.zone.test.", 8), NS, REST]).says(&["MULTIPLE_SOA"]),
        z("two on one server").second(&[SOA, soa("ns2.zone.test.", 8), NS, REST]).says(&["MULTIPLE_SOA"]),
        z("none on one server").second_makes(none).says(&["NO_SOA_IN_RESPONSE"]),
        z("that of another zone").second_makes(wrong).says(&["WRONG_SOA"]),
        z("one is silent").fault("192.0.2.12", Fault::Drop).says(&["NO_RESPONSE"]),
    ]
}

fn spf() -> Vec<Row> {
    let z = |what| row("Zone11", what);
    let with = |lines: &str| -> &'static str { text(&[SOA, NS, lines]) };
    let ok = "Z11_SPF_SYNTAX_OK";
    let several = ["Z11_INCONSISTENT_SPF_POLICIES", "Z11_DIFFERENT_SPF_POLICIES_FOUND"];
    let mut rows = vec![
        z("healthy").says(&[ok]),
        z("none").both(&[SOA, NS]).says(&["Z11_NO_SPF_FOUND"]),
        z("other text").both(&[with("@ 60 TXT \"v=spf10 -all\"")]).says(&["Z11_NO_SPF_FOUND"]),
        z("in two strings").both(&[with("@ 60 TXT \"v=sp\" \"f1 -all\"")]).says(&[ok]),
        z("two")
            .both(&[with("@ 60 TXT \"v=spf1 -all\"\n@ 60 TXT \"v=spf1 mx\"")])
            .says(&["Z11_SPF_MULTIPLE_RECORDS"]),
        z("an error").both(&[with("@ 60 TXT \"v=spf1 includ:a.test\"")]).says(&["Z11_SPF_SYNTAX_ERROR"]),
        z("another on one server").second(&[with("@ 60 TXT \"v=spf1 -all\"")]).says(&several),
        z("none on one server").second(&[SOA, NS]).says(&several),
        z("one is silent").fault("192.0.2.12", Fault::Drop).says(&[ok]),
        z("one has no authority").fault("192.0.2.12", Fault::NoAuthority).says(&[ok]),
        z("silent").faults(Fault::Drop).says(&["Z11_UNABLE_TO_CHECK_FOR_SPF"]),
        z("refusing").faults(Fault::Refused).says(&["Z11_UNABLE_TO_CHECK_FOR_SPF"]),
        z("without authority").faults(Fault::NoAuthority).says(&["Z11_UNABLE_TO_CHECK_FOR_SPF"]),
    ];
    for zone in ["tld", "2.0.192.in-addr.arpa"] {
        let text = |t: &str| format!("@ 60 TXT \"{t}\"");
        rows.push(special("Zone11", zone, "").says(&["Z11_NO_SPF_NON_MAIL_DOMAIN"]));
        rows.push(special("Zone11", zone, &text("v=spf1 -all")).says(&["Z11_NULL_SPF_NON_MAIL_DOMAIN"]));
        rows.push(
            special("Zone11", zone, &text("v=spf1 mx -all")).says(&["Z11_NON_NULL_SPF_NON_MAIL_DOMAIN"]),
        );
        rows.push(special("Zone11", zone, &text("v=spf1 x")).says(&["Z11_SPF_SYNTAX_ERROR"]));
    }
    rows
}

pub fn rows() -> Vec<Row> {
    [primary(), aliases(), mail(), one_soa(), spf()].into_iter().flatten().collect()
}
