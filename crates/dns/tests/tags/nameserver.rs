//! Nameserver01, 03 to 09 and 15: recursion, transfers, source address, AAAA, letters, versions.

use crate::fake::Fault;
use crate::row::{Make, NS, REST, Row, SOA, asked, chaos, modern, raw, rcode, row};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{DNSClass, Name};

/// Answers questions for a version; other questions are left alone.
fn version(
    query: &Message,
    mut reply: Message,
    strings: &[(&str, &str)],
    class: DNSClass,
) -> Option<Message> {
    let name = asked(query).0;
    if name.starts_with("version.") {
        reply.metadata.response_code = ResponseCode::NoError;
        let of_name = strings.iter().filter(|(n, _)| *n == name);
        reply.answers.extend(of_name.map(|(n, s)| chaos(&format!("{n}."), s, class)));
    }
    Some(reply)
}

fn versions() -> Vec<Row> {
    let n = |what| row("Nameserver15", what);
    let (hidden, told) = ("N15_NO_VERSION_REVEALED", "N15_SOFTWARE_VERSION");
    let (failed, wrong) = ("N15_ERROR_ON_VERSION_QUERY", "N15_WRONG_CLASS");
    let bind: Make = |q, r| version(q, r, &[("version.bind", "9.18")], DNSClass::CH);
    let both: Make =
        |q, r| version(q, r, &[("version.bind", "9.18"), ("version.server", "9.18")], DNSClass::CH);
    let empty: Make = |q, r| version(q, r, &[("version.bind", "")], DNSClass::CH);
    let internet: Make = |q, r| version(q, r, &[("version.bind", "9.18")], DNSClass::IN);
    let elsewhere: Make = |q, r| {
        let mut r = version(q, r, &[], DNSClass::CH)?;
        if asked(q).0 == "version.bind" {
            r.answers.push(chaos("version.other.", "9.18", DNSClass::CH));
        }
        Some(r)
    };
    let mixed: Make = |q, r| {
        let mut r = version(q, r, &[("version.bind", "9.18")], DNSClass::CH)?;
        if asked(q).0 == "version.bind" {
            r.answers.push(chaos("version.other.", "more", DNSClass::IN));
        }
        Some(r)
    };
    let silent: Make = |q, r| (!asked(q).0.starts_with("version.")).then_some(r);
    let servfail: Make = |q, r| match asked(q).0.as_str() {
        "version.server" => rcode(r, ResponseCode::ServFail),
        _ => version(q, r, &[("version.bind", "9.18")], DNSClass::CH),
    };
    vec![
        n("healthy: refused").says(&[hidden]),
        n("told by both names").make(both).says(&[told]),
        n("told by one server").second_makes(bind).says(&[told, hidden]),
        n("an empty string").make(empty).says(&[hidden]),
        n("records of another name").make(elsewhere).says(&[hidden]),
        n("a record of class IN beside the right one").make(mixed).says(&[told, wrong]),
        n("class IN").make(internet).says(&[told, wrong]),
        n("no answer").make(silent).says(&[failed, hidden]),
        n("one name fails, the other tells").make(servfail).says(&[failed, told]),
        n("silent to everything").faults(Fault::Drop).says(&[]),
    ]
}

fn aaaa() -> Vec<Row> {
    let n = |what| row("Nameserver05", what);
    let well = "AAAA_WELL_PROCESSED";
    let dropped: Make = |q, r| (asked(q).1 != 28).then_some(r);
    let failing: Make = |q, r| if asked(q).1 == 28 { rcode(r, ResponseCode::NXDomain) } else { Some(r) };
    let short: Make = |q, mut r| {
        if asked(q).1 == 28 {
            r.add_answer(raw("zone.test.", 28, vec![192, 0, 2, 80]));
        }
        Some(r)
    };
    let good: Make = |q, mut r| {
        if asked(q).1 == 28 {
            r.add_answer(raw("zone.test.", 28, vec![7; 16]));
        }
        Some(r)
    };
    vec![
        n("healthy: no AAAA record").says(&[well]),
        n("an AAAA record").make(good).says(&[well]),
        n("one is silent").fault("192.0.2.12", Fault::Drop).says(&["NO_RESPONSE", well]),
        n("one refuses").fault("192.0.2.12", Fault::Refused).says(&["A_UNEXPECTED_RCODE", well]),
        n("one is silent to AAAA").second_makes(dropped).says(&["AAAA_QUERY_DROPPED"]),
        n("one denies the name for AAAA").second_makes(failing).says(&["AAAA_UNEXPECTED_RCODE"]),
        n("an IPv4 address for AAAA").second_makes(short).says(&["AAAA_BAD_RDATA"]),
    ]
}

fn letters() -> Vec<Row> {
    let n8 = |what| row("Nameserver08", what).of(LONG).parent("").ns("ns1.test", "192.0.2.11");
    let n9 = |what| row("Nameserver09", what).of(LONG).parent("").ns("ns1.test", "192.0.2.11");
    let zone = "@ 60 SOA ns1.test. host.test. 1 2 3 4 5\n@ 60 NS ns1.test.";
    let fill = |row: Row| row.serves("192.0.2.11", LONG, zone);
    let folds: Make = |q, mut r| {
        r.queries[0].name = r.queries[0].name.to_lowercase();
        modern(q, r)
    };
    let other_data: Make = |q, mut r| {
        let text = q.queries[0].name.to_string();
        if text != text.to_lowercase() {
            r.answers =
                vec![raw(&text, 6, b"\x00\x00\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01".to_vec())];
        }
        Some(r)
    };
    let other_rcode: Make = |q, r| {
        let text = q.queries[0].name.to_string();
        if text == text.to_lowercase() { Some(r) } else { rcode(r, ResponseCode::NXDomain) }
    };
    let one_only: Make = |q, r| {
        let text = q.queries[0].name.to_string();
        (text == text.to_lowercase()).then_some(r)
    };
    let (ok, differ) = ("CASE_QUERIES_RESULTS_OK", "CASE_QUERIES_RESULTS_DIFFER");
    vec![
        fill(n8("healthy")).says(&["QNAME_CASE_SENSITIVE"]),
        fill(n8("folding")).fault("192.0.2.11", crate::row::script(folds)).says(&["QNAME_CASE_INSENSITIVE"]),
        fill(n8("silent")).faults(Fault::Drop).says(&[]),
        fill(n9("healthy")).says(&["CASE_QUERY_SAME_ANSWER", ok]),
        fill(n9("truncating over UDP")).faults(Fault::Truncate).says(&["CASE_QUERY_SAME_RC", ok]),
        fill(n9("alike without data")).faults(Fault::Refused).says(&["CASE_QUERY_SAME_RC", ok]),
        fill(n9("other data")).make(other_data).says(&["CASE_QUERY_DIFFERENT_ANSWER", differ]),
        fill(n9("another code")).make(other_rcode).says(&["CASE_QUERY_DIFFERENT_RC", differ]),
        fill(n9("one case only")).make(one_only).says(&["CASE_QUERY_NO_ANSWER", differ]),
        fill(n9("silent")).faults(Fault::Drop).says(&[]),
    ]
}

/// Letters enough for a random case never to be all lower case.
const LONG: &str = "a-zone-with-letters-enough-for-every-random-case.test";

pub fn rows() -> Vec<Row> {
    let n1 = |what| row("Nameserver01", what);
    let n3 = |what| row("Nameserver03", what);
    let n4 = |what| row("Nameserver04", what);
    let n6 = |what| row("Nameserver06", what);
    let n7 = |what| row("Nameserver07", what);
    let recursive: Make = |q, mut r| {
        r.metadata.recursion_available = true;
        modern(q, r)
    };
    let denies: Make = |q, r| match asked(q).0.starts_with("xn--") {
        true => rcode(r, ResponseCode::NXDomain),
        false => Some(r),
    };
    let denies_two: Make = |q, r| match asked(q).0.as_str() {
        "xn--nameservertest.iis.se" | "xn--nameservertest.icann.org" => rcode(r, ResponseCode::NXDomain),
        _ => Some(r),
    };
    let transfer: Make = |q, mut r| {
        if asked(q).1 == 252 {
            r.answers = vec![raw("zone.test.", 6, [&[0, 0][..], &[0; 20]].concat())];
        }
        Some(r)
    };
    let refused: Make = |q, r| if asked(q).1 == 252 { rcode(r, ResponseCode::Refused) } else { Some(r) };
    let lost = "zone 60 NS ns1.zone.test.\nzone 60 NS nobody.test.\nns1.zone 60 A 192.0.2.11";
    let upward: Make = |q, mut r| {
        if q.queries[0].name == Name::root() {
            r.add_authority(raw(".", 2, b"\x01a\x00".to_vec()));
        }
        Some(r)
    };
    let root = "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
        @ 60 NS a.root.example.
        a.root.example. 60 A 192.0.2.1";
    let mut rows = vec![
        n1("healthy").says(&["NO_RECURSOR"]),
        n1("recursion offered").make(recursive).says(&["IS_A_RECURSOR"]),
        n1("three names denied").make(denies).says(&["IS_A_RECURSOR"]),
        n1("two names denied").make(denies_two).says(&["NO_RECURSOR"]),
        n1("one is silent").fault("192.0.2.12", Fault::Drop).says(&["NO_RESPONSE", "NO_RECURSOR"]),
        n3("healthy: refused").make(refused).says(&["AXFR_FAILURE"]),
        n3("open").make(transfer).says(&["AXFR_AVAILABLE"]),
        n3("silent").faults(Fault::Drop).says(&["AXFR_FAILURE"]),
        n4("healthy").says(&["SAME_SOURCE_IP"]),
        n4("one is silent").fault("192.0.2.12", Fault::Drop).says(&["SAME_SOURCE_IP"]),
        n4("all are silent").faults(Fault::Drop).says(&[]),
        n4("one answers from another address")
            .fault("192.0.2.12", Fault::OtherAddress)
            .says(&["DIFFERENT_SOURCE_IP"]),
        n6("healthy").says(&["CAN_BE_RESOLVED"]),
        n6("one leads nowhere").parent(lost).says(&["CAN_NOT_BE_RESOLVED"]),
        n6("all lead nowhere").parent("zone 60 NS nobody.test.").says(&["NO_RESOLUTION"]),
        n6("no delegation").parent("").says(&[]),
        n7("healthy").says(&["NO_UPWARD_REFERRAL"]),
        n7("one refers to the root").second_makes(upward).says(&["UPWARD_REFERRAL"]),
        n7("one is silent").fault("192.0.2.12", Fault::Drop).says(&["NO_UPWARD_REFERRAL"]),
        n7("all are silent").faults(Fault::Drop).says(&[]),
        n7("the root").of(".").serves("192.0.2.1", "", root).says(&["UPWARD_REFERRAL_IRRELEVANT"]),
        n7("a zone with data").both(&[SOA, NS, REST]).says(&["NO_UPWARD_REFERRAL"]),
    ];
    rows.extend(versions());
    rows.extend(aaaa());
    rows.extend(letters());
    rows
}
