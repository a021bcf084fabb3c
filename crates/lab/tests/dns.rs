//! What the lab's DNS servers say when nothing is broken.

mod common;

use common::*;
use hickory_proto::{
    op::ResponseCode,
    rr::{DNSClass, RData, RecordType, rdata::opt::EdnsCode},
};

const DO: [&str; 3] = ["ns1.digitalocean.com", "ns2.digitalocean.com", "ns3.digitalocean.com"];

#[tokio::test]
async fn referrals_lead_from_the_root_to_q7_io() {
    let w = demo().await;
    let root = w.ask("a.root.lab", "q7.io", RecordType::SOA).await;
    assert!(!root.metadata.authoritative);
    assert!(root.answers.is_empty());
    assert_eq!(ns_of(&root.authorities), ["a.nic.io", "b.nic.io"]);
    let glue: Vec<_> = root.additionals.iter().filter_map(|r| r.data.ip_addr()).collect();
    assert_eq!(glue.len(), 2);
    assert_eq!(glue[0], std::net::IpAddr::V4(w.lab.address_of("a.nic.io").unwrap()));

    let tld = w.ask("a.nic.io", "q7.io", RecordType::SOA).await;
    assert!(!tld.metadata.authoritative);
    assert_eq!(ns_of(&tld.authorities), DO);
    assert!(tld.additionals.is_empty(), "names under com have no glue in io");

    let com = w.ask("a.nic.com", DO[0], RecordType::A).await;
    assert_eq!(ns_of(&com.authorities), DO);
    assert_eq!(com.additionals.len(), 3, "names inside the zone have glue");

    for server in DO {
        let zone = w.ask(server, "q7.io", RecordType::SOA).await;
        assert!(zone.metadata.authoritative, "{server}");
        assert_eq!(code(&zone), ResponseCode::NoError);
        assert_eq!(serial_of(&zone), Some(2_026_112_001));
        let ns = w.ask(server, "q7.io", RecordType::NS).await;
        assert_eq!(ns_of(&ns.answers), DO);
    }
    let address = w.ask(DO[1], "q7.io", RecordType::A).await;
    assert_eq!(address.answers[0].data.to_string(), "192.0.2.7");
    assert_eq!(w.lab.query_log().asked("q7.io", "SOA"), 5);
    assert_eq!(w.lab.query_log().of_server("a.nic.io"), 1);
}

#[tokio::test]
async fn negative_answers_carry_the_soa_with_the_negative_ttl() {
    let w = small().await;
    let none = w.ask("ns1.one.example", "nope.plain.example", RecordType::A).await;
    assert_eq!(code(&none), ResponseCode::NXDomain);
    assert!(none.metadata.authoritative);
    let soa = &none.authorities[0];
    assert_eq!(soa.record_type(), RecordType::SOA);
    assert_eq!(soa.ttl, 1800, "the smaller of the SOA's TTL (1800) and its minimum (3600)");

    let nodata = w.ask("ns1.one.example", "plain.example", RecordType::AAAA).await;
    assert_eq!(code(&nodata), ResponseCode::NoError);
    assert!(nodata.answers.is_empty());
    assert_eq!(nodata.authorities[0].record_type(), RecordType::SOA);

    let empty = w.ask("ns1.one.example", "wild.plain.example", RecordType::A).await;
    assert_eq!(code(&empty), ResponseCode::NoError, "an empty non-terminal exists");

    let parent = w.ask("a.nic.example", "nobody.example", RecordType::A).await;
    assert_eq!(code(&parent), ResponseCode::NXDomain);
    assert_eq!(parent.authorities[0].name, name("example"));
}

#[tokio::test]
async fn aliases_wildcards_and_any() {
    let w = small().await;
    let www = w.ask("ns2.one.example", "www.plain.example", RecordType::A).await;
    let types: Vec<_> = www.answers.iter().map(hickory_proto::rr::Record::record_type).collect();
    assert_eq!(types, [RecordType::CNAME, RecordType::A]);
    let alias = w.ask("ns2.one.example", "www.plain.example", RecordType::CNAME).await;
    assert_eq!(alias.answers.len(), 1);

    let wild = w.ask("ns2.one.example", "a.b.wild.plain.example", RecordType::TXT).await;
    assert_eq!(wild.answers[0].name, name("a.b.wild.plain.example"));
    let other = w.ask("ns2.one.example", "a.wild.plain.example", RecordType::A).await;
    assert_eq!((code(&other), other.answers.len()), (ResponseCode::NoError, 0));

    let any = w.ask("ns2.one.example", "plain.example", RecordType::ANY).await;
    assert!(any.answers.len() >= 4, "SOA, two NS and an A: {:?}", any.answers);
}

#[tokio::test]
async fn edns_nsid_case_and_classes() {
    let w = demo().await;
    let answer = w.ask("ns1.meridian-dns.example", "AlDeR.ExAmPlE", RecordType::SOA).await;
    assert_eq!(
        answer.queries[0].name().to_ascii(),
        "AlDeR.ExAmPlE.",
        "the question comes back as it was asked"
    );
    let edns = answer.edns.as_ref().unwrap();
    assert_eq!(format!("{:?}", edns.option(EdnsCode::NSID)), format!("{:?}", Some(nsid("mer-fra-1"))));

    let bare = w.ask_how("ns1.meridian-dns.example", "alder.example", RecordType::SOA, &plain()).await;
    assert!(bare.edns.is_none(), "who asks without EDNS is answered without");

    let mut future = question("alder.example", RecordType::SOA, &Ask::default());
    future.edns.as_mut().unwrap().set_version(7);
    let (bytes, _) =
        w.raw("ns1.meridian-dns.example", &future.to_vec().unwrap(), &Ask::default()).await.unwrap();
    let bad = hickory_proto::op::Message::from_vec(&bytes).unwrap();
    // 16 is BADVERS in EDNS and BADSIG in TSIG (RFC 6895 2.3); the decoder prefers the latter name.
    assert_eq!(u16::from(code(&bad)), 16);

    let mut chaos = question("hostname.bind", RecordType::TXT, &plain());
    chaos.queries[0].set_query_class(DNSClass::CH);
    let (bytes, _) = w.raw("ns2.meridian-dns.example", &chaos.to_vec().unwrap(), &plain()).await.unwrap();
    let answer = hickory_proto::op::Message::from_vec(&bytes).unwrap();
    assert!(matches!(&answer.answers[0].data, RData::TXT(t) if t.to_string().contains("mer-lhr-1")));
}

fn nsid(text: &str) -> hickory_proto::rr::rdata::opt::EdnsOption {
    hickory_proto::rr::rdata::opt::EdnsOption::NSID(
        hickory_proto::rr::rdata::opt::NSIDPayload::new(text.as_bytes()).unwrap(),
    )
}

#[tokio::test]
async fn what_does_not_fit_is_truncated_and_whole_over_tcp() {
    let w = small().await;
    for i in 0..40 {
        w.command(&format!("add big.plain.example 300 TXT \"{i} {}\"", "x".repeat(60))).await;
    }
    let short = w.ask("ns1.one.example", "big.plain.example", RecordType::TXT).await;
    assert!(short.metadata.truncation);
    assert!(short.answers.is_empty());
    let whole = w.ask_how("ns1.one.example", "big.plain.example", RecordType::TXT, &tcp()).await;
    assert!(!whole.metadata.truncation);
    assert_eq!(whole.answers.len(), 40);
    assert_eq!(w.lab.query_log().tcp_per_server["ns1.one.example"], 1);
}

#[tokio::test]
async fn rubbish_gets_formerr_or_nothing() {
    let w = small().await;
    let (bytes, _) = w.raw("a.root.lab", &[0xab, 0xcd, 1, 2, 3], &Ask::default()).await.unwrap();
    let answer = hickory_proto::op::Message::from_vec(&bytes).unwrap();
    assert_eq!((answer.metadata.id, code(&answer)), (0xabcd, ResponseCode::FormErr));

    let mut reply = question("plain.example", RecordType::A, &plain());
    reply.metadata.message_type = hickory_proto::op::MessageType::Response;
    let silent = w.raw("a.root.lab", &reply.to_vec().unwrap(), &hurried()).await;
    assert!(silent.is_none(), "an answer is never answered");

    let foreign = w.ask("ns1.one.example", "elsewhere.test", RecordType::A).await;
    assert_eq!(code(&foreign), ResponseCode::Refused);
    assert!(!foreign.metadata.authoritative);
}

#[tokio::test]
async fn zones_below_domains_are_delegated_by_them() {
    let w = demo().await;
    let tld = w.ask("a.nic.example", "api.dev.alder.example", RecordType::A).await;
    assert_eq!(tld.authorities[0].name, name("alder.example"), "the registry knows nothing of them");
    let cut = w.ask_how("ns1.meridian-dns.example", "api.dev.alder.example", RecordType::A, &signed()).await;
    assert!(!cut.metadata.authoritative);
    assert_eq!(cut.authorities[0].name, name("dev.alder.example"));
    assert!(cut.authorities.iter().any(|r| r.record_type() == RecordType::DS));
    let below = w.ask("ns2.quarry-dns.example", "api.dev.alder.example", RecordType::A).await;
    assert!(below.metadata.authoritative);
    assert_eq!(below.answers.len(), 2);
    let ds = w.ask("ns1.meridian-dns.example", "dev.alder.example", RecordType::DS).await;
    assert!(ds.metadata.authoritative && ds.answers.len() == 1, "DS is the parent's to answer");
    assert_eq!(w.rdap("rdap.nic.example", "/domain/dev.alder.example").await.0, 404);
}
