//! Record sets as each server of a zone has them.

mod fake;

use fake::{Fault, ROOT, TLD, faulty, server, world};
use model::dns::SetAnswer;

const ONE: &str = "@ 60 SOA ns1.test. host.test. 7 2 3 4 5
    @ 60 NS ns1.pair.test.
    @ 60 NS ns2.pair.test.
    @ 60 NS ns3.pair.test.
    ns1 60 A 192.0.2.31
    ns2 60 A 192.0.2.32
    ns3 60 A 192.0.2.33
    @ 60 A 198.51.100.1";
const PARENT: &str = "pair 60 NS ns1.pair.test.
    pair 60 NS ns2.pair.test.
    pair 60 NS ns3.pair.test.
    ns1.pair 60 A 192.0.2.31
    ns2.pair 60 A 192.0.2.32
    ns3.pair 60 A 192.0.2.33";

#[tokio::test]
async fn every_authoritative_server_is_asked_and_no_other() {
    let tld: &'static str = format!("{}\n{PARENT}", TLD.1).leak();
    let two: &'static str = ONE.replace("198.51.100.1", "198.51.100.2\n @ 30 A 198.51.100.3").leak();
    let w = world(
        &["192.0.2.1"],
        vec![
            server("192.0.2.1", &[ROOT]),
            server("192.0.2.11", &[("test", tld)]),
            server("192.0.2.12", &[("test", tld)]),
            server("192.0.2.31", &[("pair.test", ONE)]),
            server("192.0.2.32", &[("pair.test", two)]),
            faulty("192.0.2.33", &[("pair.test", ONE)], Fault::Refused),
        ],
    )
    .await;
    let engine = w.engine();
    let delegation = engine.delegation("pair.test").await.unwrap();
    let before = w.questions.load(std::sync::atomic::Ordering::Relaxed);
    let fields = ["pair.test A".to_string(), "www.pair.test A".to_string()];
    let sets = engine.record_sets(&delegation, &fields).await.unwrap();
    assert_eq!(w.questions.load(std::sync::atomic::Ordering::Relaxed) - before, 4, "two servers, two sets");
    let of = |server: &str, field: &str| {
        let found = sets.iter().find(|s| s.server.starts_with(server) && s.field == field);
        found.map(|s| s.answer.clone())
    };
    let data = |answer: Option<SetAnswer>| answer.and_then(|a| a.data().map(<[String]>::to_vec));
    assert_eq!(data(of("ns1.pair.test/192.0.2.31", "pair.test A")).unwrap(), ["198.51.100.1"]);
    let second = of("ns2.pair.test/192.0.2.32", "pair.test A");
    assert!(matches!(&second, Some(SetAnswer::Set(set)) if set.ttl == 30), "{second:?}");
    assert_eq!(data(second).unwrap(), ["198.51.100.2", "198.51.100.3"]);
    assert_eq!(of("ns1", "www.pair.test A"), Some(SetAnswer::Absent));
    assert!(!sets.iter().any(|s| s.server.starts_with("ns3")), "refused before: {sets:?}");
}
