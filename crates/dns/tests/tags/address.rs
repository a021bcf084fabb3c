//! Address01 to 03: where the servers' addresses lie, and their reverse names.

use crate::fake::Fault;
use crate::row::{NS, REST, Row, SOA, row, text};

/// A zone whose only server has this address.
fn at(what: &'static str, addresses: &[&'static str]) -> Row {
    let lines: Vec<String> = addresses
        .iter()
        .map(|a| format!("ns1 60 {} {a}", if a.contains(':') { "AAAA" } else { "A" }))
        .collect();
    let zone = text(&[SOA, "@ 60 NS ns1.zone.test.", &lines.join("\n")]);
    addresses.iter().fold(row("Address01", what).parent(""), |row, address| {
        row.serves(address, "zone.test", zone).ns("ns1.zone.test", address)
    })
}

pub fn rows() -> Vec<Row> {
    let (good, none) = ("A01_GLOBALLY_REACHABLE_ADDR", "A01_NO_GLOBALLY_REACHABLE_ADDR");
    let (documentation, local) = ("A01_DOCUMENTATION_ADDR", "A01_LOCAL_USE_ADDR");
    let other = "A01_ADDR_NOT_GLOBALLY_REACHABLE";
    let mut rows = vec![
        at("healthy", &["198.51.99.1", "2a00:1::1"]).says(&[good]),
        at("for documentation", &["198.51.100.1", "2001:db8::1"]).says(&[documentation, none]),
        at("private, shared, link-local, loopback", &["10.0.0.1", "100.64.0.1", "169.254.1.1", "fd00::1"])
            .says(&[local, none]),
        at("reserved", &["198.18.0.1"]).says(&[other, none]),
        at("reserved, IPv6", &["2001:10::1"]).says(&[other, none]),
        at("a global part of a reserved block", &["192.0.0.9"]).says(&[good]),
        at("one of each", &["198.51.99.1", "192.0.2.99", "10.0.0.1", "240.0.0.1"]).says(&[
            documentation,
            local,
            other,
            good,
        ]),
        row("Address01", "no address")
            .parent("zone 60 NS ns1.zone.test.")
            .says(&["A01_NO_NAME_SERVERS_FOUND"]),
    ];
    let names = "11.2.0.192 60 PTR ns1.zone.test.
        12.2.0.192 60 PTR ns2.zone.test.";
    let wrong = "11.2.0.192 60 PTR other.test.
        12.2.0.192 60 PTR other.test.
        12.2.0.192 60 PTR ns2.zone.test.";
    let alias = "11.2.0.192 60 CNAME 11.sub.2.0.192.in-addr.arpa.
        11.sub.2.0.192 60 PTR ns1.zone.test.
        12.2.0.192 60 PTR ns2.zone.test.";
    let loud = "11.2.0.192 60 PTR NS1.Zone.Test.
        12.2.0.192 60 PTR ns2.ZONE.test.";
    let half = "11.2.0.192 60 PTR ns1.zone.test.";
    let empty = "11.2.0.192 60 TXT \"no name\"
        12.2.0.192 60 TXT \"no name\"";
    let (without, silent) = ("NAMESERVER_IP_WITHOUT_REVERSE", "NO_RESPONSE_PTR_QUERY");
    for (case, fine) in
        [("Address02", "NAMESERVERS_IP_WITH_REVERSE"), ("Address03", "NAMESERVER_IP_PTR_MATCH")]
    {
        let a = |what| row(case, what);
        let mismatch = if case == "Address02" { fine } else { "NAMESERVER_IP_PTR_MISMATCH" };
        rows.extend([
            a("healthy").reverse(names).says(&[fine]),
            a("the name of another host").reverse(wrong).says(&[mismatch]),
            a("other letters").reverse(loud).says(&[fine]),
            a("an alias to the name (RFC 2317)").reverse(alias).says(&[fine]),
            a("one has none").reverse(half).says(&[without]),
            a("no such name").says(&[without]),
            a("no name at the address").reverse(empty).says(&[without]),
            a("the reverse zone refuses").reverse(names).fault("192.0.2.3", Fault::Refused).says(&[without]),
            a("the reverse zone is silent").reverse(names).fault("192.0.2.3", Fault::Drop).says(&[silent]),
            a("no server has an address").parent("zone 60 NS ns1.zone.test.").says(&[]),
        ]);
    }
    // Address03 goes by the names in the zone alone, Address02 by those of the delegation too.
    let zone = [SOA, "@ 60 NS ns2.zone.test.\nns2 60 A 192.0.2.12", REST];
    let second = "12.2.0.192 60 PTR ns2.zone.test.";
    let a = |case| row(case, "a server that only the parent lists").both(&zone).reverse(second);
    rows.push(a("Address02").says(&[without]));
    rows.push(a("Address03").says(&["NAMESERVER_IP_PTR_MATCH"]));
    // Two names of one address, of which the reverse zone has one.
    let shared = [SOA, NS, "ns3 60 A 192.0.2.11\n@ 60 NS ns3.zone.test."];
    let a = |case| row(case, "two names at one address").both(&shared).reverse(names);
    rows.push(a("Address02").says(&["NAMESERVERS_IP_WITH_REVERSE"]));
    rows.push(a("Address03").says(&["NAMESERVER_IP_PTR_MISMATCH"]));
    rows.push(
        row("Address02", "two names at one address of a silent reverse zone")
            .both(&shared)
            .fault("192.0.2.3", Fault::Drop)
            .says(&[silent]),
    );
    rows
}
