//! Every DNS fault does what its name says, where it is attached, and nowhere else.

mod common;

use common::*;
use hickory_proto::{
    op::{Message, ResponseCode},
    rr::{RData, RecordType},
};

const A: &str = "ns1.one.example";
const B: &str = "ns2.one.example";

#[tokio::test]
async fn refusals_and_wrong_referrals() {
    let w = small().await;
    w.command(&format!("fault {A}/plain.example lame")).await;
    let lame = w.ask(A, "plain.example", RecordType::SOA).await;
    assert_eq!((code(&lame), lame.metadata.authoritative), (ResponseCode::Refused, false));
    assert_eq!(code(&w.ask(A, "signed.example", RecordType::SOA).await), ResponseCode::NoError);
    assert_eq!(code(&w.ask(B, "plain.example", RecordType::SOA).await), ResponseCode::NoError);

    w.command(&format!("fault {A}/plain.example none")).await;
    assert_eq!(code(&w.ask(A, "plain.example", RecordType::SOA).await), ResponseCode::NoError);

    w.command("fault plain.example servfail").await;
    for server in [A, B] {
        assert_eq!(code(&w.ask(server, "plain.example", RecordType::SOA).await), ResponseCode::ServFail);
    }
    w.command("mend").await;

    w.command(&format!("fault {A} upward-referral")).await;
    let up = w.ask(A, "plain.example", RecordType::SOA).await;
    assert_eq!(up.authorities[0].name, name(""));
    assert!(!up.metadata.authoritative && up.answers.is_empty());
    w.command("mend").await;

    w.command(&format!("fault {A} self-referral")).await;
    let own = w.ask(A, "www.plain.example", RecordType::A).await;
    assert_eq!(own.authorities[0].name, name("plain.example"));
    assert_eq!(ns_of(&own.authorities), [A, B]);
}

#[tokio::test]
async fn silence_delay_and_loss() {
    let w = small().await;
    w.command(&format!("fault {A} dead")).await;
    assert!(w.try_ask(A, "plain.example", RecordType::SOA, &hurried()).await.is_none());
    let over_tcp = Ask { tcp: true, ..hurried() };
    assert!(w.try_ask(A, "plain.example", RecordType::SOA, &over_tcp).await.is_none());
    w.command("mend").await;

    w.command(&format!("fault {A}/plain.example slow 200")).await;
    let before = std::time::Instant::now();
    w.ask(A, "plain.example", RecordType::SOA).await;
    assert!(before.elapsed().as_millis() >= 200);
    w.command("mend").await;

    w.command(&format!("fault {A} drop 50")).await;
    let mut answered = 0;
    let second = Ask { wait: std::time::Duration::from_secs(1), ..Ask::default() };
    for _ in 0..4 {
        answered += usize::from(w.try_ask(A, "plain.example", RecordType::SOA, &second).await.is_some());
    }
    assert_eq!(answered, 2, "every second one is lost, not some");
}

#[tokio::test]
async fn messages_that_must_not_be_believed() {
    let w = small().await;
    let bytes = question("plain.example", RecordType::SOA, &Ask::default()).to_vec().unwrap();
    w.command(&format!("fault {A} garbage")).await;
    let (answer, _) = w.raw(A, &bytes, &Ask::default()).await.unwrap();
    assert_eq!(answer[..2], bytes[..2]);
    assert!(Message::from_vec(&answer).is_err());
    w.command("mend").await;

    w.command(&format!("fault {A} wrong-id")).await;
    let wrong = w.ask(A, "plain.example", RecordType::SOA).await;
    assert_eq!(wrong.metadata.id, 0x4c42);
    w.command("mend").await;

    w.command(&format!("fault {A} wrong-case")).await;
    let wrong = w.ask(A, "pLain.eXample", RecordType::SOA).await;
    assert_eq!(wrong.queries[0].name().to_ascii(), "PlAIN.ExAMPLE.");
    w.command("mend").await;

    w.command(&format!("fault {A} fold-case")).await;
    let folded = w.ask(A, "pLain.eXample", RecordType::SOA).await;
    assert_eq!(folded.queries[0].name().to_ascii(), "plain.example.");
    w.command("mend").await;

    w.command(&format!("fault {A} wrong-source")).await;
    let (_, from) = w.raw(A, &bytes, &Ask::default()).await.unwrap();
    assert_eq!(from.ip(), w.dns(A).ip());
    assert_ne!(from.port(), w.dns(A).port());
}

#[tokio::test]
async fn servers_that_know_only_half_the_protocol() {
    let w = small().await;
    w.command(&format!("fault {A} formerr-edns")).await;
    let answer = w.ask(A, "plain.example", RecordType::SOA).await;
    assert_eq!((code(&answer), answer.edns.is_some()), (ResponseCode::FormErr, false));
    let answer = w.ask_how(A, "plain.example", RecordType::SOA, &plain()).await;
    assert_eq!(code(&answer), ResponseCode::NoError);
    w.command("mend").await;

    w.command(&format!("fault {A} no-edns")).await;
    let answer = w.ask(A, "plain.example", RecordType::SOA).await;
    assert_eq!((code(&answer), answer.edns.is_some()), (ResponseCode::NoError, false));
    w.command("mend").await;

    w.command(&format!("fault {A} not-aa")).await;
    let answer = w.ask(A, "plain.example", RecordType::SOA).await;
    assert!(!answer.metadata.authoritative && !answer.answers.is_empty());
    w.command("mend").await;

    w.command(&format!("fault {A} recursive")).await;
    assert!(w.ask(A, "plain.example", RecordType::SOA).await.metadata.recursion_available);
    w.command("mend").await;

    w.command(&format!("fault {A} tc-only")).await;
    let answer = w.ask(A, "plain.example", RecordType::SOA).await;
    assert!(answer.metadata.truncation && answer.answers.is_empty());
    let answer = w.ask_how(A, "plain.example", RecordType::SOA, &tcp()).await;
    assert!(!answer.metadata.truncation && !answer.answers.is_empty());
    w.command("mend").await;

    w.command(&format!("fault {A} tcp-closed")).await;
    assert!(w.try_ask(A, "plain.example", RecordType::SOA, &tcp()).await.is_none());
    assert!(w.try_ask(A, "plain.example", RecordType::SOA, &Ask::default()).await.is_some());
}

#[tokio::test]
async fn parent_and_child_disagree_in_the_demo() {
    let w = demo().await;
    let quarry: Vec<String> = (1..=4).map(|i| format!("ns{i}.quarry-dns.example")).collect();
    let parent = w.ask("a.nic.example", "halcyon.example", RecordType::NS).await;
    assert_eq!(ns_of(&parent.authorities), quarry);
    let child = w.ask("ns1.quarry-dns.example", "halcyon.example", RecordType::NS).await;
    assert_eq!(ns_of(&child.answers), quarry[..3]);

    let parent = w.ask("a.nic.example", "alder.example", RecordType::NS).await;
    assert!(ns_of(&parent.authorities).contains(&"old-ns.alder.example".to_owned()));
    let old = w.ask("old-ns.alder.example", "alder.example", RecordType::SOA).await;
    assert_eq!(code(&old), ResponseCode::Refused);

    let new = w.ask("ns1.quarry-dns.example", "stale-bread.example", RecordType::SOA).await;
    let old = w.ask("ns4.quarry-dns.example", "stale-bread.example", RecordType::SOA).await;
    assert_eq!(serial_of(&new).unwrap() - serial_of(&old).unwrap(), 3);
}

#[tokio::test]
async fn glue_stale_missing_and_cyclic_in_the_demo() {
    let w = demo().await;
    let glue = |m: &Message| -> Vec<(String, String)> {
        m.additionals
            .iter()
            .filter(|r| r.record_type() == RecordType::A)
            .map(|r| (r.name.to_ascii(), r.data.to_string()))
            .collect()
    };
    let attic = w.ask("a.nic.example", "attic.example", RecordType::NS).await;
    let truth = w.lab.address_of("ns2.attic.example").unwrap().to_string();
    let stated = glue(&attic).into_iter().find(|(n, _)| n == "ns2.attic.example.").unwrap().1;
    assert_ne!(stated, truth);
    let child = w.ask("ns1.attic.example", "ns2.attic.example", RecordType::A).await;
    assert_eq!(child.answers[0].data.to_string(), truth);
    let retired = w.ask("retired.nic.lab", "attic.example", RecordType::SOA).await;
    assert_eq!(code(&retired), ResponseCode::Refused);
    assert_eq!(w.lab.address_of("retired.nic.lab").unwrap().to_string(), stated);

    let bridgeless = w.ask("a.nic.example", "bridgeless.example", RecordType::NS).await;
    assert_eq!(ns_of(&bridgeless.authorities), ["ns1.bridgeless.example"]);
    assert!(glue(&bridgeless).is_empty());

    for (one, other) in [("chicken", "egg"), ("egg", "chicken")] {
        let m = w.ask("a.nic.example", &format!("{one}.example"), RecordType::NS).await;
        assert_eq!(ns_of(&m.authorities), [format!("ns1.{other}.example"), format!("ns2.{other}.example")]);
        assert!(glue(&m).is_empty());
    }
}

#[tokio::test]
async fn nameserver_names_that_do_not_lead_to_a_server() {
    let w = demo().await;
    let m = w.ask("a.nic.example", "alias-street.example", RecordType::NS).await;
    assert!(ns_of(&m.authorities).contains(&"alias-ns.alias-street.example".to_owned()));
    let m = w.ask("ns1.meridian-dns.example", "alias-ns.alias-street.example", RecordType::A).await;
    assert!(matches!(m.answers[0].data, RData::CNAME(_)));

    let m = w.ask("a.nic.example", "vanishing.example", RecordType::NS).await;
    assert!(ns_of(&m.authorities).contains(&"ns1.vanished.example".to_owned()));
    let m = w.ask("a.nic.example", "ns1.vanished.example", RecordType::A).await;
    assert_eq!(code(&m), ResponseCode::NXDomain);
}

#[tokio::test]
async fn cname_loops_of_two_and_of_fifty_end_where_they_began() {
    let w = demo().await;
    for (zone, length) in [("carousel.example", 2), ("labyrinth.example", 50)] {
        let start = name(&format!("loop.{zone}"));
        let mut at = start.clone();
        for step in 1..=length {
            let text = at.to_ascii();
            let m = w.ask("a.anycast-one.example", &text, RecordType::CNAME).await;
            let RData::CNAME(next) = &m.answers[0].data else { panic!("{zone}: no alias at step {step}") };
            at = next.0.clone();
            assert_eq!(at == start, step == length, "{zone}, step {step}");
        }
        let m = w.ask("a.anycast-one.example", &format!("loop.{zone}"), RecordType::A).await;
        assert!(!m.answers.is_empty() && m.answers.iter().all(|r| r.record_type() == RecordType::CNAME));
    }
}

#[tokio::test]
async fn held_and_redeemed_names_are_out_of_the_parent_zone() {
    let w = demo().await;
    for name in
        ["on-hold.example", "court-order.example", "sunken.example", "last-breath.example", "parked.example"]
    {
        let m = w.ask("a.nic.example", name, RecordType::NS).await;
        assert_eq!(code(&m), ResponseCode::NXDomain, "{name}");
    }
}
