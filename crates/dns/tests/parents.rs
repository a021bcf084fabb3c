//! The servers of a parent zone that disagree, or of which few answer; and host names of name servers about which nobody answers.

mod fake;

use dns::{Engine, Error};
use fake::{Fault, Script, Server, faulty, server, world};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{RData, Record, RecordType, rdata};
use model::dns::{Delegation, ServerHealth};
use std::time::Duration;

const ROOT: (&str, &str) = (
    "",
    "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
     @ 60 NS a.root.example.
     test. 60 NS ns1.test.
     test. 60 NS ns2.test.
     test. 60 NS ns3.test.
     ns1.test. 60 A 192.0.2.11
     ns2.test. 60 A 192.0.2.12
     ns3.test. 60 A 192.0.2.13
     dual. 60 NS ns1.dual.
     dual. 60 NS ns2.dual.
     dual. 60 NS ns3.dual.
     ns1.dual. 60 A 192.0.2.41
     ns1.dual. 60 A 192.0.2.42
     ns1.dual. 60 A 192.0.2.43
     ns2.dual. 60 A 192.0.2.44
     ns3.dual. 60 A 192.0.2.45
     other. 60 NS ns.other.
     ns.other. 60 A 192.0.2.31",
);
/// With the delegation as it is, and as it was.
const NEWEST: (&str, &str) = (
    "test",
    "@ 60 SOA ns1.test. host.test. 7 2 3 4 5
     @ 60 NS ns1.test.
     child 60 NS ns1.child.test.
     child 60 DS 4711 13 2 E2D3C916F6DEEAC73294E8268FB5885044A833FC5459588F4A9184CFC41A5766
     ns1.child 60 A 192.0.2.21
     unsigned 60 NS ns1.child.test.
     far 60 NS ns.far.other.",
);
const OLD: (&str, &str) = (
    "test",
    "@ 60 SOA ns1.test. host.test. 6 2 3 4 5
     @ 60 NS ns1.test.
     child 60 NS ns1.child.test.
     child 60 NS old.child.test.
     ns1.child 60 A 192.0.2.21
     old.child 60 A 192.0.2.22",
);
const CHILD: (&str, &str) = (
    "child.test",
    "@ 60 SOA ns1.child.test. host.test. 7 2 3 4 5
     @ 60 NS ns1.child.test.
     ns1 60 A 192.0.2.21",
);
const SLOW: Fault = Fault::Delay(Duration::from_millis(60));

/// The three servers of `test`, each made from its address.
fn tld_of(make: impl FnMut(&'static str) -> Server) -> [Server; 3] {
    ["192.0.2.11", "192.0.2.12", "192.0.2.13"].map(make)
}

/// The engine in front of the root and these servers.
async fn engine(servers: impl IntoIterator<Item = Server>) -> Engine {
    let servers = std::iter::once(server("192.0.2.1", &[ROOT])).chain(servers).collect();
    world(&["192.0.2.1"], servers).await.engine()
}

async fn delegation(zone: &str, tld: [Server; 3]) -> Result<Delegation, Error> {
    let child = server("192.0.2.21", &[CHILD, ("unsigned.test", CHILD.1)]);
    engine(tld.into_iter().chain([child])).await.delegation(zone).await
}

fn names(d: &Delegation) -> Vec<&str> {
    d.parent_ns.iter().map(|n| n.name.as_str()).collect()
}

#[tokio::test]
async fn the_fastest_parent_with_an_old_copy_is_outvoted_and_one_finding() {
    let tld = || {
        let newest = |address| faulty(address, &[NEWEST], SLOW);
        [server("192.0.2.11", &[OLD]), newest("192.0.2.12"), newest("192.0.2.13")]
    };
    let d = delegation("child.test", tld()).await.unwrap();
    assert_eq!((names(&d), d.ds.len(), d.ds[0].key_tag), (vec!["ns1.child.test"], 1, 4711));
    let differ = d.parents_differ.unwrap();
    assert_eq!(
        differ,
        "2 × ns1.child.test with DS records of key 4711; 1 × ns1.child.test, old.child.test without DS records"
    );
    let child = server("192.0.2.21", &[CHILD]);
    let engine = engine(tld().into_iter().chain([child])).await;
    let scan = engine.zone_scan("child.test").unwrap();
    let (_, findings) = scan.delegation(jiff::Timestamp::now()).await.unwrap();
    let found: Vec<_> = findings.iter().filter(|f| f.tag == "PARENTS_DIFFER").collect();
    assert_eq!(found.len(), 1, "{findings:#?}");
    assert!(
        found[0].message.contains("The servers of test disagree about the delegation of child.test: 2 ×")
    );
    // All agree: nothing to say.
    let same = tld_of(|a| server(a, &[NEWEST]));
    assert_eq!(delegation("child.test", same).await.unwrap().parents_differ, None);
}

/// Servers count, not their addresses.
#[tokio::test]
async fn a_server_with_several_addresses_has_one_vote() {
    const NEW: (&str, &str) = (
        "dual",
        "@ 60 SOA ns1.dual. host.dual. 7 2 3 4 5
         @ 60 NS ns1.dual.
         child 60 NS ns1.child.dual.
         ns1.child 60 A 192.0.2.21",
    );
    const OLD: (&str, &str) = (
        "dual",
        "@ 60 SOA ns1.dual. host.dual. 6 2 3 4 5
         @ 60 NS ns1.dual.
         child 60 NS ns1.child.dual.
         child 60 NS old.child.dual.
         ns1.child 60 A 192.0.2.21
         old.child 60 A 192.0.2.22",
    );
    let old = ["192.0.2.41", "192.0.2.42", "192.0.2.43"].map(|a| server(a, &[OLD]));
    let new = ["192.0.2.44", "192.0.2.45"].map(|a| server(a, &[NEW]));
    let d = engine(old.into_iter().chain(new)).await.delegation("child.dual").await.unwrap();
    assert_eq!(names(&d), ["ns1.child.dual"]);
    let differ = d.parents_differ.unwrap();
    assert_eq!(differ, "2 × ns1.child.dual; 1 × ns1.child.dual, old.child.dual");
}

fn refuses_ds(query: &Message, mut reply: Message) -> Option<Message> {
    if query.queries[0].query_type == RecordType::DS {
        reply.authorities.clear();
        reply.metadata.authoritative = false;
        reply.metadata.response_code = ResponseCode::Refused;
    }
    Some(reply)
}

/// As a server does that knows nothing of DNSSEC.
fn refers_for_ds(query: &Message, mut reply: Message) -> Option<Message> {
    if query.queries[0].query_type == RecordType::DS {
        let name = query.queries[0].name.clone();
        let target = "ns1.child.test.".parse().unwrap();
        reply.authorities = vec![Record::from_rdata(name, 60, RData::NS(rdata::NS(target)))];
        reply.metadata.authoritative = false;
    }
    Some(reply)
}

fn drops_ds(query: &Message, reply: Message) -> Option<Message> {
    (query.queries[0].query_type != RecordType::DS).then_some(reply)
}

#[tokio::test]
async fn silence_about_ds_records_does_not_mean_unsigned() {
    let tld = |make| tld_of(|a| faulty(a, &[NEWEST], Fault::Script(Script(make))));
    let d = delegation("unsigned.test", tld(|_, reply| Some(reply))).await.unwrap();
    assert!(d.delegated && d.ds.is_empty());
    let failure = delegation("unsigned.test", tld(drops_ds)).await.unwrap_err();
    assert!(failure.to_string().contains("DS records of unsigned.test"), "{failure}");
    let failure = delegation("unsigned.test", tld(refuses_ds)).await.unwrap_err();
    assert!(failure.to_string().contains("DS records of unsigned.test"), "a refusal: {failure}");
    let d = delegation("unsigned.test", tld(refers_for_ds)).await.unwrap();
    assert!(d.delegated && d.ds.is_empty());
}

#[tokio::test]
async fn one_denial_while_others_are_silent_is_no_denial() {
    const EMPTY: (&str, &str) = ("test", "@ 60 SOA ns1.test. host.test. 5 2 3 4 5\n@ 60 NS ns1.test.");
    let drop = |address| faulty(address, &[NEWEST], Fault::Drop);
    let tld = [server("192.0.2.11", &[EMPTY]), drop("192.0.2.12"), drop("192.0.2.13")];
    let failure = delegation("child.test", tld).await.unwrap_err();
    assert_eq!(failure.label(), "unreachable", "{failure}");
    // They answer over TCP, and say otherwise.
    let tcp = |address| faulty(address, &[NEWEST], Fault::DropUdp);
    let tld = [server("192.0.2.11", &[EMPTY]), tcp("192.0.2.12"), drop("192.0.2.13")];
    let failure = delegation("child.test", tld).await.unwrap_err();
    assert!(failure.to_string().contains("disagree whether child.test is delegated"), "{failure}");
    // Two that agree are enough, and so is one of two.
    let tld = [server("192.0.2.11", &[EMPTY]), server("192.0.2.12", &[EMPTY]), drop("192.0.2.13")];
    assert!(!delegation("child.test", tld).await.unwrap().delegated);
    let as_many = [server("192.0.2.11", &[EMPTY]), server("192.0.2.12", &[NEWEST]), drop("192.0.2.13")];
    assert!(delegation("child.test", as_many).await.unwrap().delegated, "a delegation is evidence");
}

#[tokio::test]
async fn a_host_name_about_which_no_server_answers_may_have_an_address() {
    const OTHER: (&str, &str) = (
        "other",
        "@ 60 SOA ns.other. host.other. 7 2 3 4 5
         @ 60 NS ns.other.
         far 60 NS ns.far.other.
         ns.far 60 A 192.0.2.32",
    );
    const NONE: (&str, &str) = ("other", "@ 60 SOA ns.other. host.other. 7 2 3 4 5\n@ 60 NS ns.other.");
    let of = async |other: Server, far: Option<Server>| {
        let tld = tld_of(|a| server(a, &[NEWEST]));
        let servers = [other].into_iter().chain(tld).chain(far);
        let d = engine(servers).await.delegation("far.test").await.unwrap();
        assert_eq!((d.servers.len(), d.servers[0].health), (1, ServerHealth::Unresolvable));
        d.servers[0].is_unanswered()
    };
    // The servers of the zone of the name are silent, or those of the zone above.
    let silent = faulty("192.0.2.32", &[], Fault::Drop);
    assert!(of(server("192.0.2.31", &[OTHER]), Some(silent)).await);
    assert!(of(faulty("192.0.2.31", &[], Fault::Drop), None).await);
    // The name does not exist; or its servers answer that they don't serve it.
    assert!(!of(server("192.0.2.31", &[NONE]), None).await);
    let refuses = faulty("192.0.2.32", &[], Fault::Refused);
    assert!(!of(server("192.0.2.31", &[OTHER]), Some(refuses)).await);
}
