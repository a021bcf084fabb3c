//! The resolver in front of the lab: its answers are those of the authoritative servers, record by record; what is
//! signed is validated, what is forged is refused.

mod support;

use dns::wire::{Rr, Rtype};
use lab::Scenario;
use support::world::{NOW, demo, set, start};
use support::*;

#[tokio::test]
async fn answers_are_those_of_the_authoritative_servers() {
    let world = demo().await;
    for (name, rtype) in [
        ("q7.io", Rtype::A),
        ("q7.io", Rtype::MX),
        ("q7.io", Rtype::TXT),
        ("q7.io", Rtype::SOA),
        ("q7.io", Rtype::NS),
        ("sealed.example", Rtype::A),
        ("sealed.example", Rtype::DNSKEY),
        ("kestrel-bank.example", Rtype::A),
        ("kestrel-bank.example", Rtype::CAA),
        ("kestrel-bank.example", Rtype::AAAA),
        ("nothing.alder.example", Rtype::A),
    ] {
        let message = signed(name, rtype.0);
        let got = get(&world.router, &message).await.reply();
        let direct = world.direct(&message).await;
        let what = format!("{name} {rtype}");
        assert_eq!(got.rcode, direct.rcode, "{what}");
        assert_eq!(set(&got.answers), set(&direct.answers), "{what}");
        let longest = |section: &[Rr]| section.iter().map(|rr| rr.ttl).max();
        assert!(longest(&got.answers) <= longest(&direct.answers), "{what}");
        if direct.answers.is_empty() {
            let soa = |section: &[Rr]| set(section).into_iter().filter(|r| r.1 == 6).collect::<Vec<_>>();
            assert_eq!(soa(&got.authority), soa(&direct.authority), "{what}");
        }
        assert!(!got.aa && got.ra && direct.aa, "{what}");
    }
    world.lab.shutdown().await;
}

#[tokio::test]
async fn signed_zones_validate_and_forged_ones_are_refused() {
    let world = demo().await;
    let ask = |name: &'static str, rtype: Rtype| {
        let router = world.router.clone();
        async move {
            let got = get(&router, &signed(name, rtype.0)).await;
            (got.reply().rcode, got.authentic())
        }
    };
    for name in
        ["sealed.example", "half-life.example", "alder.example", "kestrel-demo.com", "copperworks-demo.de"]
    {
        assert_eq!(ask(name, Rtype::A).await, (0, true), "{name}");
    }
    for (name, code) in [("forged.example", 6), ("sour-milk.example", 7), ("wrong-key.example", 9)] {
        assert_eq!(ask(name, Rtype::A).await, (2, false), "{name}");
        let cd = get(&world.router, &question(name, 1, [1, 0x10], None)).await;
        assert_eq!(
            (cd.reply().rcode, cd.reply().answers.len(), cd.authentic()),
            (0, 1, false),
            "{name} with CD"
        );
        let words = get(&world.router, &signed(name, 1)).await.reply().edns.unwrap();
        let explained = words.options.iter().find(|(code, _)| *code == 15).unwrap();
        assert_eq!(explained.1[..2], [0, code], "{name}: {}", String::from_utf8_lossy(&explained.1[2..]));
    }
    for name in ["q7.io", "unsealed.example"] {
        assert_eq!(ask(name, Rtype::A).await, (0, false), "{name}");
    }
    // Denials: NSEC and NSEC3, names and types, and the proof that a delegation is unsigned.
    for (name, rtype, rcode) in [
        ("nothing.alder.example", Rtype::A, 3),
        ("a.b.nothing.alder.example", Rtype::A, 3),
        ("alder.example", Rtype::LOC, 0),
        ("nothing.sealed.example", Rtype::A, 3),
        ("sealed.example", Rtype::LOC, 0),
        ("unsealed.example", Rtype::DS, 0),
        ("no-such-name.example", Rtype::A, 3),
        ("no-such-tld-at-all", Rtype::A, 3),
        // Answered, or denied, by a wildcard.
        ("x.apps.sealed.example", Rtype::A, 0),
        ("*.apps.sealed.example", Rtype::A, 0),
        ("x.apps.sealed.example", Rtype::LOC, 0),
    ] {
        assert_eq!(ask(name, rtype).await, (rcode, true), "{name} {rtype}");
    }
    // An alias out of a signed zone into an unsigned one is proved only halfway.
    let alias = get(&world.router, &signed("www.alder.example", 1)).await;
    assert_eq!((alias.reply().rcode, alias.authentic()), (0, false));
    // With a clock that is wrong by years, names that were not asked before.
    for (days, name, words) in
        [(-800, "vantage.example", "valid only from"), (400, "sealed.example", "expired at")]
    {
        world.hand.forward(days * 86_400);
        let got = get(&world.router, &signed(name, 1)).await;
        assert_eq!((got.reply().rcode, got.authentic()), (2, false), "{days}");
        let said: String = got.reply().edns.unwrap().options.iter().map(|(_, o)| lossy(o)).collect();
        assert!(said.contains(words), "{days}: {said}");
        world.hand.forward(-days * 86_400);
    }
    world.lab.shutdown().await;
}

/// The small scenario with two zones on the servers of their signed parent, one of them unsigned, and one below that.
fn hidden() -> Scenario {
    let small = include_str!("../../lab/scenarios/small.toml");
    let zone = |name: &str, dnssec: &str| {
        format!(
            "\n[[zone]]\nname = \"{name}\"\nprovider = \"one\"\ndnssec = \"{dnssec}\"\nrecords = [\"@ 300 A 192.0.2.90\", \
             \"www 300 A 192.0.2.91\", \"*.apps 300 A 192.0.2.92\"]\n"
        )
    };
    let aliases = "\n[[zone]]\nname = \"from.signed.example\"\nprovider = \"one\"\ndnssec = \"nsec\"\nrecords = [\
         '@ 300 A 192.0.2.93', 'shut 300 CNAME www.shut.signed.example.', 'open 300 CNAME www.open.signed.example.', \
         'bogus 300 CNAME broken.example.', 'gone 300 CNAME nothing.signed.example.', \
         'there 300 CNAME back.open.signed.example.']\n";
    let open = zone("open.signed.example", "none").replace(
        "192.0.2.92\"]\n",
        "192.0.2.92\", 'back 300 CNAME www.shut.signed.example.', 'bogus 300 CNAME broken.example.']\n",
    );
    let more = open
        + aliases
        + &zone("deep.open.signed.example", "none")
        + &zone("shut.signed.example", "nsec")
        + &zone("open.shut.signed.example", "none")
        + "\n[[provider]]\nid = \"two\"\nname = \"Provider Two\"\nservers = [{ name = \"ns1.two.example\" }]\n"
        + "\n[[domain]]\nname = \"two.example\"\nprovider = \"two\"\nregistrar = \"reg\"\nlisted = false\n"
        + &zone("away.open.signed.example", "none").replace("\"one\"", "\"two\"");
    Scenario::parse(&(small.to_string() + &more), "hidden").unwrap()
}

#[tokio::test]
async fn an_unsigned_zone_on_the_servers_of_its_signed_parent_is_no_forgery() {
    let world = start(hidden()).await;
    for (name, rcode, authentic) in [
        ("signed.example", 0, true),
        ("www.shut.signed.example", 0, true),
        ("x.apps.shut.signed.example", 0, true),
        ("nothing.shut.signed.example", 3, true),
        ("open.signed.example", 0, false),
        ("www.open.signed.example", 0, false),
        ("x.apps.open.signed.example", 0, false),
        ("nothing.open.signed.example", 3, false),
        ("www.deep.open.signed.example", 0, false),
        ("nothing.deep.open.signed.example", 3, false),
        // Delegated to servers of its own, out of a zone that is hidden.
        ("www.away.open.signed.example", 0, false),
        ("www.open.shut.signed.example", 0, false),
        ("nothing.open.shut.signed.example", 3, false),
        ("broken.example", 2, false),
        // Aliases from zone to zone: proved as far as every step is, refused where one is forged.
        ("shut.from.signed.example", 0, true),
        ("open.from.signed.example", 0, false),
        ("gone.from.signed.example", 3, true),
        ("there.from.signed.example", 0, false),
        ("bogus.from.signed.example", 2, false),
        ("bogus.open.signed.example", 2, false),
    ] {
        let got = get(&world.router, &signed(name, 1)).await;
        let words = got.reply().edns.map(|e| e.options.iter().map(|(_, o)| lossy(o)).collect::<String>());
        assert_eq!((got.reply().rcode, got.authentic()), (rcode, authentic), "{name}: {words:?}");
    }
    world.lab.shutdown().await;
}

fn lossy(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).trim_matches('\0').to_string()
}

#[tokio::test]
async fn records_are_not_given_longer_than_their_signatures_hold() {
    let world = demo().await;
    let ttl = |message: Vec<u8>| {
        let router = world.router.clone();
        async move {
            let got = get(&router, &message).await;
            let ttls: Vec<u32> = got.reply().answers.iter().map(|rr| rr.ttl).collect();
            (got.header("cache-control").to_string(), ttls)
        }
    };
    let full = ttl(signed("half-life.example", 1)).await;
    let reply = get(&world.router, &signed("half-life.example", 1)).await.reply();
    let ends = reply.answers.iter().find_map(|rr| match &rr.data {
        dns::wire::Data::Rrsig(sig) => Some(i64::from(sig.expiration)),
        _ => None,
    });
    let now = NOW.parse::<jiff::Timestamp>().unwrap().as_second();
    world.hand.forward(ends.unwrap() - now - 20);
    let short = ttl(signed("half-life.example", 1)).await;
    assert_eq!(short, ("max-age=20".to_string(), vec![20, 20]), "{full:?}");
    world.lab.shutdown().await;
}

#[tokio::test]
async fn a_name_that_is_not_there_has_no_type_and_nothing_below_it() {
    let world = demo().await;
    let asked = |name: &str| {
        let log = world.lab.query_log();
        ["A", "AAAA", "MX"].iter().map(|t| log.asked(name, t)).sum::<u64>()
    };
    for (name, secure) in [("nothing.alder.example", true), ("nothing.q7.io", false)] {
        assert_eq!(get(&world.router, &signed(name, 1)).await.reply().rcode, 3);
        let once = asked(name);
        assert!(once > 0);
        for rtype in [28, 15] {
            let got = get(&world.router, &signed(name, rtype)).await;
            assert_eq!((got.reply().rcode, got.authentic()), (3, secure), "{name} {rtype}");
        }
        assert_eq!(asked(name), once, "{name}: no such name, whatever the type");
        let below = format!("x.y.{name}");
        let got = get(&world.router, &signed(&below, 1)).await;
        assert_eq!((got.reply().rcode, got.authentic()), (3, secure), "{below}");
        assert_eq!(asked(&below) == 0, secure, "{below}: only what is proved speaks for names below");
    }
    world.lab.shutdown().await;
}

#[tokio::test]
async fn what_was_answered_once_is_not_asked_again_until_it_runs_out() {
    let world = demo().await;
    let message = plain("q7.io", 1);
    let first = get(&world.router, &message).await.reply();
    let ttl = first.answers[0].ttl;
    for command in ["remove q7.io A", "add q7.io 60 A 192.0.2.99"] {
        world.lab.apply(command.parse().unwrap()).await.unwrap();
    }
    world.hand.forward(i64::from(ttl) - 1);
    let kept = get(&world.router, &message).await;
    assert_eq!((kept.reply().answers[0].ttl, &kept.reply().answers[0].raw), (1, &first.answers[0].raw));
    world.hand.forward(1);
    let renewed = get(&world.router, &message).await.reply();
    assert_eq!(renewed.answers[0].raw, [192, 0, 2, 99]);
    world.lab.shutdown().await;
}

#[tokio::test]
async fn what_was_known_outlives_its_servers() {
    let world = demo().await;
    let message = signed("sealed.example", 1);
    let before = get(&world.router, &message).await;
    assert!(before.authentic() && before.reply().answers.len() == 2, "{:?}", before.reply().answers);
    world.lab.shutdown().await;
    world.hand.forward(86_400);
    let after = get(&world.router, &message).await;
    let reply = after.reply();
    assert_eq!(set(&reply.answers), set(&before.reply().answers));
    assert!(reply.answers.iter().all(|rr| rr.ttl == 30) && !after.authentic());
    let words = reply.edns.unwrap().options.into_iter().find(|(code, _)| *code == 15).unwrap().1;
    assert_eq!(words[..2], [0, 3], "{}", String::from_utf8_lossy(&words[2..]));
    assert_eq!(
        get(&world.router, &signed("q7.io", 1)).await.reply().rcode,
        2,
        "what was not known is not told"
    );
}
