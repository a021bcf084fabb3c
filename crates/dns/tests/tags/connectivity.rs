//! Connectivity01 to 04: do the servers answer over UDP and TCP, and where in the network do they stand.

use crate::fake::Fault;
use crate::row::{Make, NS, REST, Row, SOA, asked, raw, rcode, row, text};
use hickory_proto::op::{Message, ResponseCode};

/// A reply to this type, with one record of another owner instead of the answer.
fn elsewhere(query: &Message, mut reply: Message, rtype: u16) -> Option<Message> {
    if asked(query).1 == rtype {
        reply.answers.clear();
        let numbers = [7u32, 14_400, 3_600, 604_800, 300].map(u32::to_be_bytes).concat();
        let soa = [&b"\x02ns\x04test\x00\x04host\x04test\x00"[..], &numbers].concat();
        let data = if rtype == 6 { soa } else { b"\x02ns\x04test\x00".to_vec() };
        reply.add_answer(raw("other.test.", rtype, data));
    }
    Some(reply)
}

/// Reply made over for questions of one type.
fn only(
    query: &Message,
    reply: Message,
    rtype: u16,
    make: fn(Message) -> Option<Message>,
) -> Option<Message> {
    if asked(query).1 == rtype { make(reply) } else { Some(reply) }
}

fn not_authoritative(mut reply: Message) -> Option<Message> {
    reply.metadata.authoritative = false;
    Some(reply)
}

fn transport(case: &'static str, proto: &'static str) -> Vec<Row> {
    let c = |what| row(case, what);
    let prefix = if case == "Connectivity01" { "CN01" } else { "CN02" };
    let tag = |word: &str| -> &'static str { format!("{prefix}_{word}_{proto}").leak() };
    let mut rows = vec![
        c("healthy").says(&[]),
        c("silent").fault("192.0.2.12", Fault::Drop).says(&[tag("NO_RESPONSE")]),
        c("refusing")
            .fault("192.0.2.12", Fault::Refused)
            .says(&[tag("UNEXPECTED_RCODE_SOA_QUERY"), tag("UNEXPECTED_RCODE_NS_QUERY")]),
        c("referring upward")
            .fault("192.0.2.12", Fault::Upward)
            .says(&[tag("MISSING_SOA_RECORD"), tag("MISSING_NS_RECORD")]),
        c("a server that only the zone lists")
            .both(&[SOA, NS, REST, "@ 60 NS ns3.zone.test.\nns3 60 A 192.0.2.13"])
            .fault("192.0.2.13", Fault::Drop)
            .says(&[tag("NO_RESPONSE")]),
        c("truncating over UDP").fault("192.0.2.12", Fault::Truncate).says(&[]),
    ];
    let makes: [(&'static str, Make, Make); 5] = [
        ("NO_RESPONSE_*_QUERY", |q, r| (asked(q).1 != 6).then_some(r), |q, r| (asked(q).1 != 2).then_some(r)),
        (
            "UNEXPECTED_RCODE_*_QUERY",
            |q, r| only(q, r, 6, |r| rcode(r, ResponseCode::ServFail)),
            |q, r| only(q, r, 2, |r| rcode(r, ResponseCode::NXDomain)),
        ),
        (
            "MISSING_*_RECORD",
            |q, r| only(q, r, 6, |r| rcode(r, ResponseCode::NoError)),
            |q, r| only(q, r, 2, |r| rcode(r, ResponseCode::NoError)),
        ),
        ("WRONG_*_RECORD", |q, r| elsewhere(q, r, 6), |q, r| elsewhere(q, r, 2)),
        ("*_RECORD_NOT_AA", |q, r| only(q, r, 6, not_authoritative), |q, r| only(q, r, 2, not_authoritative)),
    ];
    for (word, soa, ns) in makes {
        rows.push(c(word).second_makes(soa).says(&[tag(&word.replace('*', "SOA"))]));
        rows.push(c(word).second_makes(ns).says(&[tag(&word.replace('*', "NS"))]));
    }
    rows
}

/// Second server at an IPv6 address, too.
const SIX: &str = "ns2 3600 AAAA 2001:db8::12";

/// `origin6` row of an address `2001:db8::` and its last 8 bits.
fn row6(last: u8, text: &str) -> String {
    let zeros = ["0"; 22].join(".");
    let (low, high) = (last & 15, last >> 4);
    format!("{low:x}.{high:x}.{zeros}.8.b.d.0.1.0.0.2.origin6 60 TXT \"{text}\"")
}

fn origin(case: &'static str) -> Vec<Row> {
    let asn = case == "Connectivity03";
    let c = |what| row(case, what);
    // Tags of both test cases for the same data of the database.
    let pick = |first: &[&'static str], second: &[&'static str]| -> Vec<&'static str> {
        if asn { first.to_vec() } else { second.to_vec() }
    };
    let two = |first: &str, second: &str| -> &'static str {
        format!("11.2.0.192.origin 60 TXT \"{first}\"\n12.2.0.192.origin 60 TXT \"{second}\"").leak()
    };
    let one_prefix = &["CN04_IPV4_SAME_PREFIX", "CN04_IPV4_SINGLE_PREFIX"];
    let (empty, failed) = (
        pick(&["EMPTY_ASN_SET"], &["CN04_EMPTY_PREFIX_SET"]),
        pick(&["ERROR_ASN_DATABASE"], &["CN04_ERROR_PREFIX_DATABASE"]),
    );
    let different = pick(&["IPV4_DIFFERENT_ASN"], &["CN04_IPV4_DIFFERENT_PREFIX"]);
    let mut rows = vec![
        c("two networks").database(two("1 | 192.0.2.11/32", "2 | 192.0.2.12/32")).says(&different),
        c("one network")
            .database(two("1 | 192.0.2.0/24", "1 | 192.0.2.0/24"))
            .says(&pick(&["IPV4_ONE_ASN"], one_prefix)),
        c("one set of systems")
            .database(two("1 2 | 192.0.2.0/24", "2 1 | 192.0.2.0/24"))
            .says(&pick(&["IPV4_SAME_ASN"], one_prefix)),
        c("the most specific row counts")
            .database(two(
                "1 | 192.0.0.0/16",
                "1 | 192.0.0.0/16\"\n12.2.0.192.origin 60 TXT \"2 | 192.0.2.0/24",
            ))
            .says(&different),
        c("two names at one address")
            .parent("zone 60 NS ns1.zone.test.\nzone 60 NS ns2.zone.test.\nns1.zone 60 A 192.0.2.11\nns2.zone 60 A 192.0.2.11")
            .both(&[SOA, "@ 60 NS ns1.zone.test.\n@ 60 NS ns2.zone.test.\nns1 60 A 192.0.2.11\nns2 60 A 192.0.2.11"])
            .database("11.2.0.192.origin 60 TXT \"1 | 192.0.2.0/24\"")
            .says(&pick(&["IPV4_ONE_ASN"], one_prefix)),
        c("names that are not there").says(&empty),
        c("names without TXT")
            .database("11.2.0.192.origin 60 A 192.0.2.9\n12.2.0.192.origin 60 A 192.0.2.9")
            .says(&empty),
        c("an alias instead of TXT")
            .database("11.2.0.192.origin 60 CNAME x.asn.test.\n12.2.0.192.origin 60 CNAME x.asn.test.")
            .says(&failed),
        c("a silent database").fault("192.0.2.4", Fault::Drop).says(&failed),
        c("a refusing database").fault("192.0.2.4", Fault::Refused).says(&failed),
        c("text of another kind").database(two("v=spf1 -all", "hello")).says(&empty),
        c("rows that cannot be read").database(two("1 | x", "NA | 192.0.2.0/24")).says(&failed),
        c("rows of another place").database(two("1 | 198.51.100.0/24", "1 | 198.51.100.0/24")).says(&failed),
        c("one is not known")
            .database("11.2.0.192.origin 60 TXT \"1 | 192.0.2.0/24\"")
            .says(&[&empty[..], &pick(&["IPV4_ONE_ASN"], &["CN04_IPV4_DIFFERENT_PREFIX"])].concat()),
    ];
    let v4 = two("1 | 192.0.2.11/32", "2 | 192.0.2.12/32");
    for (what, first, second, says) in [
        (
            "IPv6, two networks",
            "1 | 2001:db8::11/128",
            "2 | 2001:db8::12/128",
            pick(&["IPV6_DIFFERENT_ASN"], &["CN04_IPV6_DIFFERENT_PREFIX"]),
        ),
        (
            "IPv6, one network",
            "1 | 2001:db8::/32",
            "1 | 2001:db8::/32",
            pick(&["IPV6_ONE_ASN"], &["CN04_IPV6_SAME_PREFIX", "CN04_IPV6_SINGLE_PREFIX"]),
        ),
        (
            "IPv6, one set of systems",
            "1 2 | 2001:db8::/32",
            "1 2 | 2001:db8::/32",
            pick(&["IPV6_SAME_ASN"], &["CN04_IPV6_SAME_PREFIX", "CN04_IPV6_SINGLE_PREFIX"]),
        ),
    ] {
        let database = [v4, &row6(0x11, first), &row6(0x12, second)].join("\n").leak();
        let zone = [SOA, NS, REST, SIX, "ns1 3600 AAAA 2001:db8::11"];
        let served = c(what).both(&zone).database(database);
        let served =
            ["2001:db8::11", "2001:db8::12"].into_iter().fold(served, |r, a| r.fault(a, Fault::None));
        rows.push(served.says(&[&different[..], &says].concat()));
    }
    rows
}

pub fn rows() -> Vec<Row> {
    let mut rows = transport("Connectivity01", "UDP");
    rows.extend(transport("Connectivity02", "TCP"));
    let no_v6 =
        |case| row(case, "no IPv6 here").both(&[SOA, NS, REST, SIX]).fault("2001:db8::12", Fault::NoRoute);
    rows.push(no_v6("Connectivity01").says(&["CN01_IPV6_DISABLED"]));
    rows.push(no_v6("Connectivity02").says(&[]));
    // A host with nothing but IPv6, down from the root: what it cannot ask it does not call silent.
    let only_v6 = |case| {
        let tld = "@ 60 SOA ns.test. host.test. 7 2 3 4 5
            @ 60 NS ns.test.
            ns 60 AAAA 2001:db8::2
            zone 60 NS ns1.zone.test.
            zone 60 NS ns2.zone.test.
            ns1.zone 60 A 192.0.2.11
            ns2.zone 60 AAAA 2001:db8::12";
        let root = "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
            @ 60 NS a.root.example.
            a.root.example. 60 AAAA 2001:db8::1
            test. 60 NS ns.test.
            ns.test. 60 AAAA 2001:db8::2";
        let zone = text(&[SOA, "@ 60 NS ns1.zone.test.\n@ 60 NS ns2.zone.test.", "ns1 60 A 192.0.2.11", SIX]);
        row(case, "no IPv4 here")
            .from("2001:db8::1")
            .serves("2001:db8::1", "", root)
            .serves("2001:db8::2", "test", tld)
            .serves("2001:db8::12", "zone.test", zone)
            .without_v4()
    };
    rows.push(only_v6("Connectivity01").says(&["CN01_IPV4_DISABLED"]));
    rows.push(only_v6("Connectivity02").says(&[]));
    rows.push(row("Connectivity02", "TCP only").fault("192.0.2.12", Fault::DropUdp).says(&[]));
    rows.extend(origin("Connectivity03"));
    rows.extend(origin("Connectivity04"));
    rows
}
