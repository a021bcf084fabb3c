//! The name server sets of the specification "MethodsV2": those of the parent, of the delegation, of the zone itself.

use crate::fake::Fault;
use crate::row::{Make, NS, REST, Row, SECOND, SECOND_TLD, SOA, TWO, asked, raw, rcode, row, script, text};
use hickory_proto::op::ResponseCode;
use std::collections::BTreeSet;

/// A world, and the three sets in it; `None` is undetermined.
type Sets = (Row, Option<&'static str>, Option<&'static str>, Option<&'static str>);

const PARENT: Option<&str> = Some("ns.test/192.0.2.2");
const BOTH: Option<&str> = Some("ns1.zone.test/192.0.2.11 ns2.zone.test/192.0.2.12");
const NOBODY: Option<&str> = Some("");
/// A zone on one server outside.
const OUTSIDE: &str = "@ 60 SOA a.test. b.test. 1 2 3 4 5
    @ 60 NS www.test.";
fn m(what: &'static str) -> Row {
    row("Basic01", what)
}

fn delegated() -> Vec<Sets> {
    let third = "zone 60 NS ns1.zone.test.
        zone 60 NS ns3.zone.test.
        ns1.zone 60 A 192.0.2.21
        ns3.zone 60 A 192.0.2.13";
    let sibling = "zone 60 NS ns.sibling.test.
        sibling 60 NS ns.sibling.test.
        ns.sibling 60 A 192.0.2.14";
    let moved = "@ 60 SOA a.test. b.test. 1 2 3 4 5
        @ 60 NS ns.sibling.test.
        ns 60 A 192.0.2.15";
    let listed = "@ 60 SOA a.test. b.test. 1 2 3 4 5
        @ 60 NS ns.sibling.test.";
    let aliased = "@ 60 NS a.zone.test.
        a 60 CNAME ns1.zone.test.
        ns1 60 A 192.0.2.11";
    let cut = "@ 60 NS a.sub.zone.test.
        sub 60 NS ns.sub.zone.test.
        ns.sub 60 A 192.0.2.13";
    let sub = "@ 60 SOA ns.sub.zone.test. b.test. 1 2 3 4 5
        @ 60 NS ns.sub.zone.test.
        ns 60 A 192.0.2.13
        a 60 A 192.0.2.11";
    let no_authority: Make = |q, mut r| {
        r.metadata.authoritative &= asked(q).1 != 2;
        Some(r)
    };
    vec![
        (m("healthy"), PARENT, BOTH, BOTH),
        (m("names without glue"), PARENT, Some("ns1.zone.test"), NOBODY)
            .with(|r| r.parent("zone 60 NS ns1.zone.test.")),
        (m("a name outside"), PARENT, Some("www.test/192.0.2.90"), Some("www.test/192.0.2.90"))
            .with(|r| r.parent("zone 60 NS www.test.").serves("192.0.2.90", "zone.test", OUTSIDE)),
        (
            m("a name outside behind an alias"),
            PARENT,
            Some("alias.test/192.0.2.90"),
            Some("www.test/192.0.2.90"),
        )
            .with(|r| r.parent("zone 60 NS alias.test.").serves("192.0.2.90", "zone.test", OUTSIDE)),
        (m("a name outside that leads nowhere"), PARENT, Some("nobody.test"), NOBODY)
            .with(|r| r.parent("zone 60 NS nobody.test.")),
        (
            m("glue of a sibling's name is not believed, its zone is"),
            PARENT,
            Some("ns.sibling.test/192.0.2.15"),
            Some("ns.sibling.test/192.0.2.15"),
        )
            .with(|r| {
                r.parent(sibling).serves("192.0.2.14", "sibling.test", moved).serves(
                    "192.0.2.15",
                    "zone.test",
                    listed,
                )
            }),
        (m("a name in the zone that is an alias"), PARENT, BOTH, Some("a.zone.test/192.0.2.11"))
            .with(|r| r.both(&[SOA, aliased])),
        (m("a name below a cut of the zone"), PARENT, BOTH, Some("a.sub.zone.test/192.0.2.11"))
            .with(|r| r.both(&[SOA, cut]).serves("192.0.2.13", "sub.zone.test", sub)),
        (m("NS records without authority do not count"), PARENT, BOTH, NOBODY).with(|r| r.make(no_authority)),
        (m("one server of the zone is silent"), PARENT, BOTH, BOTH)
            .with(|r| r.fault("192.0.2.11", Fault::Drop)),
        (m("all are silent"), PARENT, BOTH, NOBODY).with(|r| r.faults(Fault::Drop)),
        (
            m("servers of the parent that disagree"),
            Some("ns.test/192.0.2.2 nsb.test/192.0.2.5"),
            Some(
                "ns1.zone.test/192.0.2.11 ns1.zone.test/192.0.2.21 ns2.zone.test/192.0.2.12 \
                 ns3.zone.test/192.0.2.13",
            ),
            BOTH,
        )
            .with(|r| r.root(SECOND).serves("192.0.2.5", "test", text(&[SECOND_TLD, third]))),
        (m("a server of the parent that refuses"), PARENT, BOTH, BOTH)
            .with(|r| r.root(SECOND).fault("192.0.2.5", Fault::Refused)),
        (m("a server of the parent that denies the zone"), PARENT, BOTH, BOTH)
            .with(|r| r.root(SECOND).serves("192.0.2.5", "test", SECOND_TLD)),
        (m("parent and zone on the same server"), PARENT, BOTH, BOTH)
            .with(|r| r.serves("192.0.2.2", "zone.test", text(&[SOA, NS, REST]))),
        (
            m("a referral counts more than the zone on a server of the parent"),
            Some("ns.test/192.0.2.2 nsb.test/192.0.2.5"),
            BOTH,
            BOTH,
        )
            .with(|r| {
                r.root(SECOND).serves("192.0.2.5", "test", SECOND_TLD).serves(
                    "192.0.2.5",
                    "zone.test",
                    text(&[SOA, NS, "@ 60 NS ns4.zone.test."]),
                )
            }),
    ]
}

fn above() -> Vec<Sets> {
    let below = "zone.mid 60 NS ns1.zone.mid.test.
        ns1.zone.mid 60 A 192.0.2.11";
    let zone = "@ 60 SOA a.test. b.test. 1 2 3 4 5
        @ 60 NS ns1.zone.mid.test.
        ns1 60 A 192.0.2.11";
    let denies: Make = |q, r| match asked(q).0.as_str() {
        "mid.test" => rcode(r, ResponseCode::NXDomain),
        _ => Some(r),
    };
    let dname: Make = |q, mut r| {
        if asked(q) == ("zone.test".into(), 39) {
            r.metadata.response_code = ResponseCode::NoError;
            r.add_answer(raw("zone.test.", 39, b"\x05other\x04test\x00".to_vec()));
        }
        Some(r)
    };
    let listed = Some("ns1.zone.mid.test/192.0.2.11");
    let mid = |r: Row| r.of("zone.mid.test").parent(below).serves("192.0.2.11", "zone.mid.test", zone);
    let root = "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
        @ 60 NS a.root.example.
        a.root.example. 60 A 192.0.2.1";
    let hints = Some("a.root.example/192.0.2.1");
    // The server of `test` under a name that is an alias at the root.
    let alias = "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
        @ 60 NS a.root.example.
        a.root.example. 60 A 192.0.2.1
        test. 60 NS alias.example.
        alias.example. 60 CNAME real.example.
        real.example. 60 A 192.0.2.2";
    // The root's server has `test`, too.
    let tld = "@ 60 SOA ns.test. host.test. 7 2 3 4 5
        @ 60 NS ns.test.
        ns 60 A 192.0.2.1
        zone 60 NS ns1.zone.test.
        zone 60 NS ns2.zone.test.
        ns1.zone 60 A 192.0.2.11
        ns2.zone 60 A 192.0.2.12";
    vec![
        (
            m("the parent's server under an alias and under its name"),
            Some("alias.example/192.0.2.2 ns.test/192.0.2.2"),
            BOTH,
            BOTH,
        )
            .with(|r| r.serves("192.0.2.1", "", alias)),
        (
            m("the root's server has the parent, too"),
            Some("a.root.example/192.0.2.1 ns.test/192.0.2.1"),
            BOTH,
            BOTH,
        )
            .with(|r| r.serves("192.0.2.1", "test", tld)),
        (m("the root"), NOBODY, hints, hints).with(|r| r.of(".").serves("192.0.2.1", "", root)),
        (m("below a name without records"), PARENT, listed, listed).with(mid),
        (m("below a name without records that is denied"), PARENT, listed, listed)
            .with(|r| mid(r).fault("192.0.2.2", script(denies))),
        (m("the parent denies the zone"), None, None, None).with(|r| r.parent("")),
        (m("DNAME at the parent"), None, None, None)
            .with(|r| r.parent("zone 60 A 192.0.2.9").fault("192.0.2.2", script(dname))),
        (m("an alias at the parent"), None, None, None).with(|r| r.parent("zone 60 CNAME www.test.")),
        (m("the parent is silent"), None, None, None).with(|r| r.fault("192.0.2.2", Fault::Drop)),
    ]
}

fn undelegated() -> Vec<Sets> {
    let given = Some("ns1.zone.test/192.0.2.11");
    let other = Some("www.test/192.0.2.91");
    let found = Some("www.test/192.0.2.90");
    vec![
        (m("given, with address"), NOBODY, given, BOTH)
            .with(|r| r.parent("").ns("ns1.zone.test", "192.0.2.11")),
        (m("given, the parent has others"), NOBODY, given, BOTH)
            .with(|r| r.parent(TWO).ns("ns1.zone.test", "192.0.2.11")),
        (m("given, in the zone, without address"), NOBODY, Some("ns1.zone.test"), NOBODY)
            .with(|r| r.parent("").ns("ns1.zone.test", "")),
        (m("given, outside, without address: looked up"), NOBODY, found, found)
            .with(|r| r.parent("").ns("www.test", "").serves("192.0.2.90", "zone.test", OUTSIDE)),
        (m("given, outside, with another address than it has"), NOBODY, other, other)
            .with(|r| r.parent("").ns("www.test", "192.0.2.91").serves("192.0.2.91", "zone.test", OUTSIDE)),
        (m("given, and dead"), NOBODY, given, NOBODY)
            .with(|r| r.parent("").ns("ns1.zone.test", "192.0.2.11").faults(Fault::Drop)),
    ]
}

/// Changes the world of a row.
trait With {
    fn with(self, change: impl FnOnce(Row) -> Row) -> Self;
}

impl With for Sets {
    fn with(self, change: impl FnOnce(Row) -> Row) -> Self {
        (change(self.0), self.1, self.2, self.3)
    }
}

#[tokio::test]
async fn the_sets_are_those_of_the_specification() {
    let mut wrong = Vec::new();
    for (row, parent, del, zone) in [delegated(), above(), undelegated()].into_iter().flatten() {
        let what = row.what;
        let sets = row.methods().await;
        for (name, promised, found) in
            [("parent", parent, sets.parent), ("del", del, sets.del), ("zone", zone, sets.zone)]
        {
            let promised =
                promised.map(|list| list.split_whitespace().map(String::from).collect::<BTreeSet<_>>());
            let found = found.map(|list| list.into_iter().collect::<BTreeSet<_>>());
            if promised != found {
                wrong.push(format!("{what}: {name} is {found:?}, not {promised:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
