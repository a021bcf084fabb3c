//! Who announces which address, and signs of anycast; then what the demo's resolvers hold against the truth.

mod common;

use std::{
    collections::BTreeSet,
    net::{Ipv4Addr, SocketAddr},
};

use common::*;
use hickory_proto::{
    op::{Message, ResponseCode},
    rr::{
        DNSClass, RData, RecordType,
        rdata::opt::{EdnsCode, EdnsOption},
    },
};
use lab::Scenario;
use tokio::{net::UdpSocket, time::timeout};

fn texts(message: &Message) -> Vec<String> {
    let text = |r: &hickory_proto::rr::Record| match &r.data {
        RData::TXT(txt) => Some(txt.txt_data.iter().map(|p| String::from_utf8_lossy(p)).collect::<String>()),
        _ => None,
    };
    message.answers.iter().filter_map(text).collect()
}

fn reversed(ip: Ipv4Addr) -> String {
    let [a, b, c, d] = ip.octets();
    format!("{d}.{c}.{b}.{a}.origin.asn.lab")
}

impl World {
    async fn origin(&self, host: &str) -> String {
        let name = reversed(self.lab.address_of(host).unwrap());
        let answer = self.ask("a.nic.lab", &name, RecordType::TXT).await;
        assert!(answer.metadata.authoritative);
        let texts = texts(&answer);
        assert_eq!(texts.len(), 1, "{host}: {texts:?}");
        texts[0].clone()
    }
}

#[tokio::test]
async fn nobody_announces_what_is_not_there() {
    let world = demo().await;
    for name in ["1.2.0.192.origin.asn.lab", "origin.asn.lab", "as1.asn.lab"] {
        let answer = world.ask("a.nic.lab", name, RecordType::TXT).await;
        assert!(texts(&answer).is_empty(), "{name}");
    }
    for (networks, words) in [
        ("[{ prefix = \"192.0.2.0/24\", asn = 1 }]", "127.0.0.0/8"),
        ("[{ prefix = \"127.61.0.0/25\", asn = 1 }]", "multiple of 8"),
        ("[{ prefix = \"127.61.0.0/24\", asn = 1, speed = 2 }]", "speed"),
    ] {
        let text = format!(
            "name = \"x\"\n[[provider]]\nid = \"p\"\nname = \"P\"\nnetworks = {networks}\nservers = [{{ name = \"ns.p.lab\" }}]"
        );
        let said = Scenario::parse(&text, "x.toml").unwrap_err().to_string();
        assert!(said.contains(words), "{networks}: {said}");
    }
}

#[tokio::test]
async fn addresses_lead_to_prefix_and_system() {
    let world = demo().await;
    assert_eq!(world.lab.endpoints().asn_zone, "asn.lab");
    assert_eq!(
        world.origin("ns1.meridian-dns.example").await,
        "65536 | 127.61.1.0/24 | DE | ripencc | 2011-05-12"
    );
    let field = |text: &str, n: usize| text.split(" | ").nth(n).unwrap().to_owned();
    let mut spread = (BTreeSet::new(), BTreeSet::new());
    let mut together = (BTreeSet::new(), BTreeSet::new());
    for i in 1..=3 {
        let said = world.origin(&format!("ns{i}.meridian-dns.example")).await;
        spread.0.insert(field(&said, 0));
        spread.1.insert(field(&said, 1));
        let said = world.origin(&format!("ns{i}.quarry-dns.example")).await;
        together.0.insert(field(&said, 0));
        together.1.insert(field(&said, 1));
    }
    assert_eq!((spread.0.len(), spread.1.len()), (3, 3));
    assert_eq!((together.0.len(), together.1.len()), (1, 1));
    assert!(world.origin("ns1.tortoise.example").await.starts_with("64496 | 127.53.0.0/16 | "));
    let answer = world.ask("a.nic.lab", "AS65536.asn.lab", RecordType::TXT).await;
    assert_eq!(texts(&answer), ["65536 | DE | ripencc | 2011-05-12 | MERIDIAN-FRA"]);
    // A walk from the root finds the zone.
    let referral = world.ask("a.root.lab", &reversed(Ipv4Addr::new(127, 61, 1, 1)), RecordType::TXT).await;
    assert_eq!(ns_of(&referral.authorities), ["a.nic.lab", "b.nic.lab"]);
}

#[tokio::test]
async fn a_scenario_can_say_who_announces_anything() {
    let text = "name = \"x\"\n\
        [[origin]]\nprefix = \"2001:db8:80::/48\"\nasn = 65550\ncountry = \"NL\"\nregistry = \"ripencc\"\ndate = \"2020-02-02\"\n\
        [[origin]]\nprefix = \"192.0.2.7/32\"\nasn = 65551\n";
    let world = start_with(Scenario::parse(text, "x.toml").unwrap(), false).await;
    let ip: std::net::Ipv6Addr = "2001:db8:80::80".parse().unwrap();
    let nibbles: String = format!("{:032x}", ip.to_bits()).chars().rev().map(|c| format!("{c}.")).collect();
    let name = format!("{nibbles}origin6.asn.lab");
    let answer = world.ask("a.nic.lab", &name, RecordType::TXT).await;
    assert_eq!(texts(&answer), ["65550 | 2001:db8:80::/48 | NL | ripencc | 2020-02-02"], "{name}");
    let answer = world.ask("a.nic.lab", "7.2.0.192.origin.asn.lab", RecordType::TXT).await;
    assert_eq!(texts(&answer), ["65551 | 192.0.2.7/32 |  |  | "]);
}

/// NSID and `hostname.bind` as a client at this place sees them.
async fn site(world: &World, server: &str, client: Ipv4Addr) -> (String, String) {
    let socket = UdpSocket::bind((client, 0)).await.unwrap();
    let mut buffer = [0; 2048];
    let mut exchange = async |message: Message| {
        let to: SocketAddr = world.dns(server);
        socket.send_to(&message.to_vec().unwrap(), to).await.unwrap();
        let length = timeout(PATIENCE, socket.recv(&mut buffer)).await.unwrap().unwrap();
        Message::from_vec(&buffer[..length]).unwrap()
    };
    let answer = exchange(question("anycast-one.example", RecordType::SOA, &Ask::default())).await;
    let nsid = match answer.edns.as_ref().and_then(|e| e.option(EdnsCode::NSID)) {
        Some(EdnsOption::NSID(payload)) => String::from_utf8(payload.as_ref().to_vec()).unwrap(),
        _ => String::new(),
    };
    let mut chaos = question("hostname.bind", RecordType::TXT, &Ask::default());
    chaos.queries[0].set_query_class(DNSClass::CH);
    (nsid, texts(&exchange(chaos).await).concat())
}

#[tokio::test]
async fn anycast_shows_another_site_to_another_client() {
    let world = demo().await;
    let mut seen = BTreeSet::new();
    for _ in 0..60 {
        let (nsid, hostname) = site(&world, "a.anycast-one.example", Ipv4Addr::LOCALHOST).await;
        assert_eq!(nsid, hostname, "one client, one site");
        seen.insert(nsid);
    }
    // Each of 60 source ports is as likely to be led to one of three places.
    assert!(seen.len() > 1 && seen.iter().all(|s| s.starts_with("a1-")), "{seen:?}");
    let (nsid, _) = site(&world, "ns1.meridian-dns.example", Ipv4Addr::LOCALHOST).await;
    assert_eq!(nsid, "mer-fra-1", "unicast is the same everywhere");
}

async fn resolve(world: &World, id: &str, name: &str) -> (ResponseCode, Vec<String>) {
    let mut message = question(name, RecordType::A, &Ask::default());
    message.metadata.recursion_desired = true;
    let host = format!("{id}.resolver.lab");
    let (bytes, _) = world.raw(&host, &message.to_vec().unwrap(), &Ask::default()).await.unwrap();
    let answer = Message::from_vec(&bytes).unwrap();
    let a = |r: &hickory_proto::rr::Record| r.data.ip_addr().map(|ip| ip.to_string());
    (code(&answer), answer.answers.iter().filter_map(a).collect())
}

#[tokio::test]
async fn the_demo_has_a_resolver_of_every_kind() {
    let world = demo().await;
    let table: toml::Table =
        std::fs::read_to_string(&world.lab.endpoints().resolvers).unwrap().parse().unwrap();
    let rows = table["resolver"].as_array().unwrap();
    assert!(rows.len() >= 12, "{}", rows.len());
    let good = |ip: &str| (ResponseCode::NoError, vec![ip.to_owned()]);
    let says = async |id: &str, name: &str| resolve(&world, id, name).await;
    assert_eq!(says("clearwater", "orchard.example").await, good("203.0.113.31"));
    assert_eq!(says("longshore", "orchard.example").await, good("198.51.100.31"));
    assert_eq!(says("longshore", "www.orchard.example").await, good("198.51.100.31"));
    assert_eq!(says("kestrel", "newborn.example").await.0, ResponseCode::NXDomain);
    assert_eq!(says("linden", "newborn.example").await, good("203.0.113.62"));
    assert_eq!(says("monsoon", "copperline.example").await, good("203.0.113.124"));
    assert_eq!(says("tern", "lumen.example").await, good("0.0.0.0"));
    assert_eq!(says("alpenrose-guard", "babel.example").await.0, ResponseCode::NXDomain);
    assert_eq!(says("wattle", "copperline.example").await.0, ResponseCode::ServFail);
    assert_eq!(says("vltava", "ghost-ship.example").await.0, ResponseCode::ServFail);
    assert_eq!(says("vltava", "forged.example").await.0, ResponseCode::ServFail);
    assert_eq!(says("vltava", "chicken.example").await.0, ResponseCode::ServFail);
    assert_eq!(says("vltava", "sealed.example").await, good("203.0.113.52"));
}

#[tokio::test]
async fn every_domain_of_the_demo_can_be_asked_for() {
    let world = demo().await;
    for domain in world.lab.endpoints().domains.clone() {
        let (code, _) = resolve(&world, "linden", &domain).await;
        let known = [ResponseCode::NoError, ResponseCode::NXDomain, ResponseCode::ServFail];
        assert!(known.contains(&code), "{domain}: {code}");
    }
}

#[tokio::test]
async fn name_servers_have_names_by_their_addresses() {
    let world = demo().await;
    let host = "ns1.meridian-dns.example";
    let [a, b, c, d] = world.lab.address_of(host).unwrap().octets();
    let name = format!("{d}.{c}.{b}.{a}.in-addr.arpa");
    let answer = world.ask("a.nic.arpa", &name, RecordType::PTR).await;
    assert!(answer.metadata.authoritative);
    let names: Vec<String> = answer.answers.iter().map(|r| r.data.to_string()).collect();
    assert_eq!(names, [format!("{host}.")]);
    let no_server = world.ask("a.nic.arpa", "9.9.9.127.in-addr.arpa", RecordType::PTR).await;
    assert_eq!(no_server.metadata.response_code, ResponseCode::NXDomain);
}
