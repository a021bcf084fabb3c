//! Delegation01 to 07: enough servers, distinct ones, a short referral, authority, no aliases, SOA, the same names.

use crate::fake::Fault;
use crate::row::{Make, NS, REST, Row, SOA, asked, rcode, row, text};
use hickory_proto::op::ResponseCode;

/// A zone whose parent lists `del` servers and which lists `child` servers itself, each with IPv4 and IPv6 or without.
fn counted(what: &'static str, del: (usize, bool, bool), child: (usize, bool, bool)) -> Row {
    let lines = |(n, v4, v6): (usize, bool, bool), owner: &str, below: &str| {
        let each = (1..=n).map(|i| {
            let mut text = format!("{owner} 60 NS ns{i}.zone.test.\n");
            if v4 {
                text += &format!("ns{i}{below} 60 A 192.0.2.1{i}\n");
            }
            if v6 {
                text += &format!("ns{i}{below} 60 AAAA 2001:db8::1{i}\n");
            }
            text
        });
        each.collect::<String>().leak() as &'static str
    };
    let zone = text(&[SOA, lines(child, "@", "")]);
    let row = row("Delegation01", what).parent(lines(del, "zone", ".zone"));
    ["192.0.2.11", "192.0.2.12", "2001:db8::11", "2001:db8::12"]
        .into_iter()
        .fold(row, |r, a| r.serves(a, "zone.test", zone))
}

fn numbers() -> Vec<Row> {
    let (many, few) = (["ENOUGH_NS_DEL", "ENOUGH_NS_CHILD"], ["NOT_ENOUGH_NS_DEL", "NOT_ENOUGH_NS_CHILD"]);
    let of = |what: &str, family: &str| -> Vec<&'static str> {
        ["DEL", "CHILD"]
            .iter()
            .map(|side| -> &'static str { format!("{what}_{family}_NS_{side}").leak() })
            .collect()
    };
    let mut rows = vec![];
    for (n, enough, some) in [(2, many, "ENOUGH"), (1, few, "NOT_ENOUGH")] {
        for (v4, v6) in [(true, true), (true, false), (false, true)] {
            let v4_tags = of(if v4 { some } else { "NO" }, "IPV4");
            let v6_tags = of(if v6 { some } else { "NO" }, "IPV6");
            let tags = [&enough[..], &v4_tags, &v6_tags].concat();
            rows.push(counted("alike at parent and zone", (n, v4, v6), (n, v4, v6)).says(&tags));
        }
    }
    rows.push(row("Delegation01", "no delegation").parent("").says(&[
        "NOT_ENOUGH_NS_DEL",
        "NOT_ENOUGH_NS_CHILD",
        "NO_IPV4_NS_DEL",
        "NO_IPV4_NS_CHILD",
        "NO_IPV6_NS_DEL",
        "NO_IPV6_NS_CHILD",
    ]));
    rows.push(counted("two at the parent, one in the zone", (2, true, false), (1, true, false)).says(&[
        "ENOUGH_NS_DEL",
        "ENOUGH_IPV4_NS_DEL",
        "NO_IPV6_NS_DEL",
        "NOT_ENOUGH_NS_CHILD",
        "NOT_ENOUGH_IPV4_NS_CHILD",
        "NO_IPV6_NS_CHILD",
    ]));
    rows
}

fn names() -> Vec<Row> {
    let d2 = |what| row("Delegation02", what);
    let d5 = |what| row("Delegation05", what);
    let d7 = |what| row("Delegation07", what);
    let same = "@ 60 NS ns1.zone.test.
        @ 60 NS ns2.zone.test.
        ns1 60 A 192.0.2.11
        ns2 60 A 192.0.2.11";
    let same_del = "zone 60 NS ns1.zone.test.
        zone 60 NS ns2.zone.test.
        ns1.zone 60 A 192.0.2.11
        ns2.zone 60 A 192.0.2.11";
    let (del, child) = ("DEL_DISTINCT_NS_IP", "CHILD_DISTINCT_NS_IP");
    let aliased = "@ 60 NS ns1.zone.test.
        @ 60 NS a.zone.test.
        ns1 60 A 192.0.2.11
        a 60 CNAME ns1.zone.test.";
    let outside = "@ 60 NS ns1.zone.test.
        @ 60 NS alias.test.
        ns1 60 A 192.0.2.11";
    let cut = "@ 60 NS ns1.zone.test.
        @ 60 NS a.sub.zone.test.
        sub 60 NS ns.sub.zone.test.
        ns.sub 60 A 192.0.2.13
        ns1 60 A 192.0.2.11";
    let sub = "@ 60 SOA ns.sub.zone.test. b.test. 1 2 3 4 5
        @ 60 NS ns.sub.zone.test.
        ns 60 A 192.0.2.13
        a 60 CNAME ns.sub.zone.test.";
    let other = "@ 60 NS ns3.zone.test.
        ns3 60 A 192.0.2.11";
    let alone = "@ 60 NS ns1.zone.test.
        ns1 60 A 192.0.2.11";
    let more = "@ 60 NS ns3.zone.test.
        ns3 60 A 192.0.2.11";
    vec![
        d2("healthy").says(&[del, child]),
        d2("one address at the parent").parent(same_del).says(&["DEL_NS_SAME_IP", child]),
        d2("one address in the zone").both(&[SOA, same, REST]).says(&[del, "CHILD_NS_SAME_IP"]),
        d2("no delegation").parent("").says(&[]),
        d5("healthy").says(&["NO_NS_CNAME"]),
        d5("an alias in the zone").both(&[SOA, aliased, REST]).says(&["NS_IS_CNAME", "UNEXPECTED_RCODE"]),
        d5("an alias outside")
            .both(&[SOA, NS, REST, outside])
            .serves("192.0.2.90", "zone.test", text(&[SOA, NS]))
            .says(&["NS_IS_CNAME"]),
        d5("an alias behind a cut")
            .both(&[SOA, NS, REST, cut])
            .serves("192.0.2.13", "sub.zone.test", sub)
            .serves("192.0.2.13", "zone.test", text(&[SOA, NS]))
            .says(&["NS_IS_CNAME"]),
        d5("one is silent").fault("192.0.2.12", Fault::Drop).says(&["NO_NS_CNAME", "NO_RESPONSE"]),
        d5("one refuses").fault("192.0.2.12", Fault::Refused).says(&["NO_NS_CNAME", "UNEXPECTED_RCODE"]),
        d7("healthy").says(&["NAMES_MATCH"]),
        d7("one more at the parent").both(&[SOA, alone, REST]).says(&["EXTRA_NAME_PARENT"]),
        d7("one more in the zone").both(&[SOA, NS, REST, more]).says(&["EXTRA_NAME_CHILD"]),
        d7("others altogether").both(&[SOA, other, REST]).says(&[
            "EXTRA_NAME_PARENT",
            "EXTRA_NAME_CHILD",
            "TOTAL_NAME_MISMATCH",
        ]),
        d7("no authority").faults(Fault::NoAuthority).says(&["EXTRA_NAME_PARENT", "TOTAL_NAME_MISMATCH"]),
    ]
}

fn referral() -> Vec<Row> {
    let many: String =
        (1..=14).map(|i| format!("zone 60 NS server-with-a-long-name-{i}.other-{i}.test.\n")).collect();
    let glued = "zone 60 NS ns1.zone.test.
        zone 60 NS www.test.
        ns1.zone 60 A 192.0.2.11";
    let d3 = |what| row("Delegation03", what);
    vec![
        d3("healthy").says(&["REFERRAL_SIZE_OK"]),
        d3("names outside the zone").parent(glued).says(&["REFERRAL_SIZE_OK"]),
        d3("many long names").parent(many.leak()).says(&["REFERRAL_SIZE_TOO_LARGE"]),
    ]
}

fn authority() -> Vec<Row> {
    let d4 = |what| row("Delegation04", what);
    let d6 = |what| row("Delegation06", what);
    let no_soa: Make = |q, r| if asked(q).1 == 6 { rcode(r, ResponseCode::NoError) } else { Some(r) };
    vec![
        d4("healthy").says(&["ARE_AUTHORITATIVE"]),
        d4("one has none").fault("192.0.2.12", Fault::NoAuthority).says(&["IS_NOT_AUTHORITATIVE"]),
        d4("one refuses").fault("192.0.2.12", Fault::Refused).says(&["IS_NOT_AUTHORITATIVE"]),
        d4("one is silent").fault("192.0.2.12", Fault::Drop).says(&["ARE_AUTHORITATIVE"]),
        d4("all are silent").faults(Fault::Drop).says(&[]),
        d6("healthy").says(&["SOA_EXISTS"]),
        d6("one has none").second_makes(no_soa).says(&["SOA_NOT_EXISTS"]),
        d6("one refuses").fault("192.0.2.12", Fault::Refused).says(&["SOA_EXISTS"]),
        d6("all refuse").faults(Fault::Refused).says(&[]),
    ]
}

pub fn rows() -> Vec<Row> {
    let mut rows = numbers();
    rows.extend(names());
    rows.extend(referral());
    rows.extend(authority());
    rows
}
