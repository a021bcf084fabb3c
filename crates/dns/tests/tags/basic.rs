//! Basic01 to 03: is there a parent, a zone, a server that works.

use crate::fake::Fault;
use crate::row::{Make, NS, REST, Row, SECOND, SECOND_TLD, SOA, TWO, asked, raw, rcode, row, script, text};
use hickory_proto::op::{Message, ResponseCode};

/// DNAME of `zone.test` to a name in wire format.
fn dname(query: &Message, mut reply: Message, target: &[u8]) -> Option<Message> {
    let (name, rtype) = asked(query);
    if name == "zone.test" {
        reply.metadata.response_code = ResponseCode::NoError;
        if rtype == 39 {
            reply.authorities.clear();
            reply.add_answer(raw("zone.test.", 39, target.to_vec()));
        }
    }
    Some(reply)
}

/// A referral to another zone, with the alias that leads there.
fn alias_and_referral(query: &Message, mut reply: Message) -> Option<Message> {
    if asked(query) == ("zone.test".into(), 6) {
        reply.metadata.authoritative = false;
        reply.metadata.response_code = ResponseCode::NoError;
        reply.authorities.clear();
        reply.add_answer(raw("zone.test.", 5, b"\x03www\x05other\x00".to_vec()));
        reply.add_authority(raw("other.", 2, b"\x02ns\x05other\x00".to_vec()));
    }
    Some(reply)
}

fn basic01() -> Vec<Row> {
    let b = |what| row("Basic01", what);
    let other: Make = |q, r| dname(q, r, b"\x05other\x04test\x00");
    let third: Make = |q, r| dname(q, r, b"\x05third\x04test\x00");
    let no_soa_of_tld: Make = |q, r| (asked(q) != ("test".into(), 6)).then_some(r);
    let two_soas: Make = |q, mut r| {
        if asked(q) == ("test".into(), 6) {
            r.add_answer(raw("other.", 6, [&[0, 0][..], &[0; 20]].concat()));
        }
        Some(r)
    };
    let no_ns_of_tld: Make = |q, r| (asked(q) != ("test".into(), 2)).then_some(r);
    let no_soa_of_child: Make = |q, r| (asked(q) != ("zone.test".into(), 6)).then_some(r);
    let refuses_child: Make = |q, r| match asked(q).0.as_str() {
        "zone.test" => rcode(r, ResponseCode::Refused),
        _ => Some(r),
    };
    let lost = ["B01_SERVER_ZONE_ERROR", "B01_PARENT_NOT_FOUND", "B01_NO_CHILD"];
    let absent = ["B01_PARENT_FOUND", "B01_NO_CHILD"];
    let mut rows = vec![
        b("healthy").says(&["B01_PARENT_FOUND", "B01_CHILD_FOUND"]),
        b("the root").of(".").says(&["B01_CHILD_FOUND", "B01_ROOT_HAS_NO_PARENT"]),
        b("not delegated yet")
            .parent("")
            .ns("ns1.zone.test", "192.0.2.11")
            .says(&["B01_CHILD_FOUND", "B01_PARENT_DISREGARDED"]),
        b("the parent denies it").parent("").says(&absent),
        b("an alias at the parent").parent("zone 60 CNAME www.test.").says(&absent),
        b("a name without records of the type").parent("zone 60 A 192.0.2.9").says(&absent),
        b("the parent's server is silent").fault("192.0.2.2", Fault::Drop).says(&lost),
        b("the parent's server refuses").fault("192.0.2.2", Fault::Refused).says(&lost),
        b("the parent's server has no authority").fault("192.0.2.2", Fault::NoAuthority).says(&lost),
        b("the parent's server is silent about the zone's SOA")
            .fault("192.0.2.2", script(no_soa_of_child))
            .says(&lost),
        b("the parent's server refuses to talk of the zone")
            .fault("192.0.2.2", script(refuses_child))
            .says(&lost),
        b("the parent's server is silent about its own SOA")
            .fault("192.0.2.2", script(no_soa_of_tld))
            .says(&lost),
        b("the parent's server gives a second SOA record").fault("192.0.2.2", script(two_soas)).says(&lost),
        b("the parent's server is silent about its own NS")
            .fault("192.0.2.2", script(no_ns_of_tld))
            .says(&lost),
        b("DNAME at the parent").parent("").fault("192.0.2.2", script(other)).says(&[
            "B01_PARENT_FOUND",
            "B01_NO_CHILD",
            "B01_CHILD_IS_ALIAS",
        ]),
        b("an alias in a referral elsewhere")
            .parent("")
            .fault("192.0.2.2", script(alias_and_referral))
            .says(&absent),
        b("parent and zone on the same server")
            .serves("192.0.2.2", "zone.test", text(&[SOA, NS, REST]))
            .says(&["B01_PARENT_FOUND", "B01_CHILD_FOUND"]),
        b("one server of the parent denies it").root(SECOND).serves("192.0.2.5", "test", SECOND_TLD).says(&[
            "B01_PARENT_FOUND",
            "B01_CHILD_FOUND",
            "B01_INCONSISTENT_DELEGATION",
        ]),
        b("two DNAMEs").parent("").root(SECOND).fault("192.0.2.2", script(other)).says(&[
            "B01_PARENT_FOUND",
            "B01_NO_CHILD",
            "B01_CHILD_IS_ALIAS",
            "B01_INCONSISTENT_ALIAS",
        ]),
    ];
    if let Some(two) = rows.pop() {
        rows.push(two.serves("192.0.2.5", "test", SECOND_TLD).fault("192.0.2.5", script(third)));
    }
    let below = "zone.mid 60 NS ns1.zone.mid.test.
        ns1.zone.mid 60 A 192.0.2.11";
    let old = "@ 60 SOA ns.test. host.test. 7 2 3 4 5
        @ 60 NS nsb.test.
        zone 60 NS ns1.zone.mid.test.
        ns1.zone 60 A 192.0.2.11";
    let found = ["B01_PARENT_FOUND", "B01_CHILD_FOUND"];
    rows.push(b("below a name without records").of("zone.mid.test").parent(below).says(&found));
    rows.push(
        b("one server has a zone in between")
            .of("zone.mid.test")
            .parent(below)
            .root(SECOND)
            .serves("192.0.2.5", "test", SECOND_TLD)
            .serves("192.0.2.5", "mid.test", old)
            .says(&["B01_PARENT_FOUND", "B01_PARENT_UNDETERMINED", "B01_CHILD_FOUND"]),
    );
    rows
}

pub fn rows() -> Vec<Row> {
    let b2 = |what| row("Basic02", what);
    let b3 = |what| row("Basic03", what);
    let dead = "B02_NO_WORKING_NS";
    let mut rows = basic01();
    rows.extend([
        b2("healthy").says(&["B02_AUTH_RESPONSE_SOA"]),
        b2("one of two works").fault("192.0.2.11", Fault::Drop).says(&["B02_AUTH_RESPONSE_SOA"]),
        b2("no delegation").parent("").says(&["B02_NO_DELEGATION"]),
        b2("silent and refusing")
            .fault("192.0.2.11", Fault::Drop)
            .fault("192.0.2.12", Fault::Refused)
            .says(&[dead, "B02_NS_NO_RESPONSE", "B02_UNEXPECTED_RCODE"]),
        b2("no authority").faults(Fault::NoAuthority).says(&[dead, "B02_NS_NOT_AUTH"]),
        b2("referring upward").faults(Fault::Upward).says(&[dead, "B02_NS_NOT_AUTH"]),
        b2("no SOA record").both(&[NS, REST]).says(&[dead, "B02_NS_BROKEN"]),
        b2("no such name")
            .make(|_, r| rcode(r, ResponseCode::NXDomain))
            .says(&[dead, "B02_UNEXPECTED_RCODE"]),
        b2("names below the zone without glue")
            .parent("zone 60 NS ns1.zone.test.")
            .says(&[dead, "B02_NS_NO_IP_ADDR"]),
        b2("a name outside that leads nowhere")
            .parent("zone 60 NS nobody.test.")
            .says(&[dead, "B02_NS_NO_IP_ADDR"]),
        b2("a name outside, found by look-up, not delegated yet")
            .serves("192.0.2.90", "zone.test", text(&[SOA, REST]))
            .ns("www.test", "")
            .says(&["B02_AUTH_RESPONSE_SOA"]),
        b2("an address that is not the name's, not delegated yet")
            .ns("ns1.zone.test", "192.0.2.13")
            .fault("192.0.2.13", Fault::Refused)
            .says(&[dead, "B02_UNEXPECTED_RCODE"]),
        b2("a name in the zone without address, not delegated yet")
            .ns("ns1.zone.test", "")
            .says(&[dead, "B02_NS_NO_IP_ADDR"]),
        b2("a name server behind an alias")
            .parent("zone 60 NS alias.test.")
            .serves("192.0.2.90", "zone.test", text(&[SOA, REST]))
            .says(&["B02_AUTH_RESPONSE_SOA"]),
        b2("the parent's servers disagree about the servers")
            .root(SECOND)
            .parent(TWO)
            .serves(
                "192.0.2.5",
                "test",
                text(&[SECOND_TLD, "zone 60 NS ns3.zone.test.\nns3.zone 60 A 192.0.2.13"]),
            )
            .serves("192.0.2.13", "zone.test", text(&[SOA, REST]))
            .faults(Fault::Refused)
            .says(&["B02_AUTH_RESPONSE_SOA"]),
        b3("healthy").says(&["HAS_NAMESERVER_NO_WWW_A_TEST"]),
        b3("broken, but www has an address")
            .both(&["www 60 A 192.0.2.80"])
            .faults(Fault::NoAuthority)
            .says(&["HAS_A_RECORDS"]),
        b3("broken, and www has none").faults(Fault::Refused).says(&[]),
        b3("silent").faults(Fault::Drop).says(&["A_QUERY_NO_RESPONSES"]),
    ]);
    rows
}
