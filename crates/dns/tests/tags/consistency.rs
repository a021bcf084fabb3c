//! Consistency01 to 06: do all servers say the same, and the parent with them.

use crate::fake::Fault;
use crate::row::{Make, NS, REST, Row, SOA, asked, rcode, row, text};
use hickory_proto::op::ResponseCode;

const SERIAL: &str = "@ 3600 SOA ns1.zone.test. host.zone.test. 8 14400 3600 604800 300";
const RNAME: &str = "@ 3600 SOA ns1.zone.test. admin.zone.test. 7 14400 3600 604800 300";
const TIMERS: &str = "@ 3600 SOA ns1.zone.test. host.zone.test. 7 14400 3600 604800 600";
const MNAME: &str = "@ 3600 SOA ns2.zone.test. host.zone.test. 7 14400 3600 604800 300";

/// Consistency01, 02, 03 and 06 differ in one field: the tags for one value, for several, and the second SOA record.
fn soa(case: &'static str, one: &[&'static str], several: &[&'static str], other: &'static str) -> Vec<Row> {
    let c = |what| row(case, what);
    let with = |tag| [one, &[tag]].concat();
    let no_soa: Make = |q, r| match asked(q).1 {
        6 => rcode(r, ResponseCode::NoError),
        _ => Some(r),
    };
    let all = [SERIAL, RNAME, TIMERS, MNAME].into_iter().filter(|soa| *soa != other);
    let mut rows = vec![
        c("healthy").says(one),
        c("another value on one server").second(&[other, NS, REST]).says(several),
        c("one is silent").fault("192.0.2.12", Fault::Drop).says(&with("NO_RESPONSE")),
        c("one has no SOA record").second_makes(no_soa).says(&with("NO_RESPONSE_SOA_QUERY")),
        c("one refuses").fault("192.0.2.12", Fault::Refused).says(&with("NO_RESPONSE_SOA_QUERY")),
        c("all are silent").faults(Fault::Drop).says(&["NO_RESPONSE"]),
        c("one answers without authority").fault("192.0.2.12", Fault::NoAuthority).says(one),
        c("a server that only the zone lists")
            .both(&[SOA, NS, REST, "@ 60 NS ns3.zone.test.\nns3 60 A 192.0.2.13"])
            .serves("192.0.2.13", "zone.test", text(&[other, NS, REST]))
            .says(several),
    ];
    rows.extend(all.map(|soa| c("another value of another field").second(&[soa, NS, REST]).says(one)));
    rows
}

fn ns_sets() -> Vec<Row> {
    let c = |what| row("Consistency04", what);
    let several = ["MULTIPLE_NS_SET", "NS_SET"];
    let no_ns: Make = |q, r| match asked(q).1 {
        2 => rcode(r, ResponseCode::NoError),
        _ => Some(r),
    };
    let half = "@ 3600 NS ns2.zone.test.
        ns2 3600 A 192.0.2.12";
    vec![
        c("healthy").says(&["ONE_NS_SET"]),
        c("one lists fewer").second(&[SOA, half, REST]).says(&several),
        c("another TTL").second(&[SOA, &NS.replace("3600 NS", "60 NS"), REST]).says(&several),
        c("one is silent").fault("192.0.2.12", Fault::Drop).says(&["ONE_NS_SET", "NO_RESPONSE"]),
        c("one has none").second_makes(no_ns).says(&["ONE_NS_SET", "NO_RESPONSE_NS_QUERY"]),
        c("one has no authority")
            .fault("192.0.2.12", Fault::NoAuthority)
            .says(&["ONE_NS_SET", "NO_RESPONSE_NS_QUERY"]),
        c("all are silent").faults(Fault::Drop).says(&["NO_RESPONSE"]),
    ]
}

fn glue() -> Vec<Row> {
    let c = |what| row("Consistency05", what);
    let (good, failed, lame) = ("ADDRESSES_MATCH", "CHILD_NS_FAILED", "CHILD_ZONE_LAME");
    let (inside, extra, outside) =
        ("IN_BAILIWICK_ADDR_MISMATCH", "EXTRA_ADDRESS_CHILD", "OUT_OF_BAILIWICK_ADDR_MISMATCH");
    let moved = "@ 3600 NS ns1.zone.test.
        @ 3600 NS ns2.zone.test.
        ns1 3600 A 192.0.2.11
        ns2 3600 A 192.0.2.13";
    let only_one: Make = |q, r| (asked(q).0 != "ns2.zone.test").then_some(r);
    let no_authority: Make = |q, mut r| {
        r.metadata.authoritative = !asked(q).0.starts_with("ns");
        Some(r)
    };
    let below = "@ 3600 NS ns1.sub.zone.test.
        sub 3600 NS ns1.sub.zone.test.
        ns1.sub 3600 A 192.0.2.11";
    let sub = "@ 3600 SOA ns1.sub.zone.test. host.zone.test. 7 14400 3600 604800 300
        @ 3600 NS ns1.sub.zone.test.
        ns1 3600 A 192.0.2.11";
    let gone = [SOA, "@ 3600 NS ns1.zone.test.\nns1 3600 A 192.0.2.11", REST];
    let alias = [SOA, "@ 3600 NS ns1.zone.test.\nns1 3600 A 192.0.2.11\nns2 60 CNAME ns1.zone.test.", REST];
    let sibling = text(&[SOA, "@ 60 NS ns1.zone.test.\n@ 60 NS ns.sibling.test.\nns1 60 A 192.0.2.11", REST]);
    vec![
        c("healthy").says(&[good]),
        c("the zone has one address more")
            .both(&[SOA, NS, REST, "ns2 60 A 192.0.2.13"])
            .serves("192.0.2.13", "zone.test", text(&[SOA, NS, REST]))
            .says(&[extra]),
        c("an address has changed")
            .both(&[SOA, moved, REST])
            .serves("192.0.2.13", "zone.test", text(&[SOA, moved, REST]))
            .says(&[inside, extra]),
        c("an address has changed to one that does not serve the zone")
            .both(&[SOA, moved, REST])
            .says(&[inside, extra, failed]),
        c("a name of the zone without glue")
            .parent("zone 60 NS ns1.zone.test.\nzone 60 NS ns2.zone.test.\nns1.zone 60 A 192.0.2.11")
            .says(&[extra]),
        c("parent and zone on the same server")
            .serves("192.0.2.2", "zone.test", text(&[SOA, NS, REST]))
            .says(&[good]),
        c("a name of the parent is not in the zone").both(&gone).says(&[inside]),
        c("a name of the parent is an alias, which is not followed").both(&alias).says(&[inside]),
        c("one is silent").fault("192.0.2.12", Fault::Drop).says(&["NO_RESPONSE", good]),
        c("one refuses").fault("192.0.2.12", Fault::Refused).says(&[failed, good]),
        c("one has no authority").second_makes(no_authority).says(&[failed, good]),
        c("all are silent").faults(Fault::Drop).says(&["NO_RESPONSE", lame]),
        c("all refuse").faults(Fault::Refused).says(&[failed, lame]),
        c("all are silent about one name").make(only_one).says(&["NO_RESPONSE", lame]),
        c("a name below a cut is looked up, and the cut is no failure")
            .parent("zone 60 NS ns1.sub.zone.test.\nns1.sub.zone 60 A 192.0.2.11")
            .both(&[SOA, below, REST])
            .serves("192.0.2.11", "sub.zone.test", sub)
            .says(&[good]),
        c("glue of a name in another zone, as that zone says")
            .parent("zone 60 NS www.test.")
            .serves("192.0.2.90", "zone.test", text(&[SOA, "@ 60 NS www.test."]))
            .says(&[good]),
        c("glue of a name in another zone, given explicitly, as that zone says")
            .ns("www.test", "192.0.2.90")
            .serves("192.0.2.90", "zone.test", text(&[SOA, "@ 60 NS www.test."]))
            .says(&[good]),
        c("another address of a name in another zone, given explicitly")
            .ns("www.test", "192.0.2.91")
            .serves("192.0.2.91", "zone.test", text(&[SOA, "@ 60 NS www.test."]))
            .says(&[outside]),
        c("an address of the zone's own name, given explicitly, that the zone does not have")
            .ns("ns1.zone.test", "192.0.2.11")
            .ns("ns2.zone.test", "192.0.2.13")
            .serves("192.0.2.13", "zone.test", text(&[SOA, NS, REST]))
            .says(&[inside, extra]),
        c("glue of a sibling's name that its zone no longer has")
            .parent(
                "zone 60 NS ns1.zone.test.\nzone 60 NS ns.sibling.test.\nns1.zone 60 A 192.0.2.11
                sibling 60 NS ns.sibling.test.\nns.sibling 60 A 192.0.2.14",
            )
            .both(&[sibling])
            .serves(
                "192.0.2.14",
                "sibling.test",
                "@ 60 SOA a.test. b.test. 1 2 3 4 5\n@ 60 NS ns.sibling.test.
                ns 60 A 192.0.2.15",
            )
            .serves("192.0.2.15", "zone.test", sibling)
            .says(&[outside]),
    ]
}

pub fn rows() -> Vec<Row> {
    let mut rows = soa(
        "Consistency01",
        &["ONE_SOA_SERIAL", "SOA_SERIAL"],
        &["MULTIPLE_SOA_SERIALS", "SOA_SERIAL_VARIATION", "SOA_SERIAL"],
        SERIAL,
    );
    rows.extend(soa("Consistency02", &["ONE_SOA_RNAME"], &["MULTIPLE_SOA_RNAMES", "SOA_RNAME"], RNAME));
    rows.extend(soa(
        "Consistency03",
        &["ONE_SOA_TIME_PARAMETER_SET"],
        &["MULTIPLE_SOA_TIME_PARAMETER_SET", "SOA_TIME_PARAMETER_SET"],
        TIMERS,
    ));
    rows.extend(soa("Consistency06", &["ONE_SOA_MNAME"], &["MULTIPLE_SOA_MNAMES"], MNAME));
    // The same mailbox or primary server in other letters is the same.
    let loud = "@ 3600 SOA NS1.zone.test. HOST.zone.test. 7 14400 3600 604800 300";
    for (case, tag) in [("Consistency02", "ONE_SOA_RNAME"), ("Consistency06", "ONE_SOA_MNAME")] {
        rows.push(row(case, "other letters").second(&[loud, NS, REST]).says(&[tag]));
    }
    rows.extend(ns_sets());
    rows.extend(glue());
    rows
}
