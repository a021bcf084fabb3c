//! Starting: files, ports, the single-address mode, strict scenarios, recorded WHOIS answers.

mod common;

use std::{net::SocketAddr, path::Path};

use common::*;
use hickory_proto::rr::RecordType;
use lab::{Lab, Options, Scenario};

fn table(path: &Path) -> toml::Table {
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_files_point_an_engine_at_the_lab() {
    let w = demo().await;
    let e = w.lab.endpoints();
    let engine = table(&e.engine);
    assert_eq!(engine["dns_port"].as_integer(), Some(e.dns_port.into()));
    assert_eq!(engine["allow_private"].as_bool(), Some(true));
    assert_eq!(engine["asn_zone"].as_str(), Some("asn.lab"));
    assert_eq!(engine["own_networks"][0].as_str(), Some("127.0.0.0/8"));
    for key in ["root_hints", "rdap_bootstrap", "trust_anchor", "extra_ca", "resolvers"] {
        assert!(Path::new(engine[key].as_str().unwrap()).is_file(), "{key}");
    }
    // 127.0.0.2 exists here: only the ports of web servers are others than those that are shown.
    let map = table(Path::new(engine["address_map"].as_str().unwrap()));
    assert!(!map.is_empty() && map.keys().all(|k| k.ends_with(":443") || k.ends_with(":80")), "{map}");
    let hints = std::fs::read_to_string(&e.root_hints).unwrap();
    assert!(hints.contains(&format!("A     {}", w.lab.address_of("a.root.lab").unwrap())), "{hints}");
    let json = std::fs::read_to_string(w.dir.path().join("endpoints.json")).unwrap();
    assert_eq!(&serde_json::from_str::<lab::Endpoints>(&json).unwrap(), e);
    assert!(e.domains.len() >= 60, "{}", e.domains.len());
    for wanted in ["q7.io", "alder.example", "xn--bcherei-n2a.example", "vacant-lot.example"] {
        assert!(e.domains.iter().any(|d| d == wanted), "{wanted}");
    }
}

#[tokio::test]
async fn one_address_is_enough() {
    let w = start_with(Scenario::named("small").unwrap(), true).await;
    let map = table(w.lab.endpoints().address_map.as_ref().unwrap());
    let server = w.lab.address_of("ns1.one.example").unwrap();
    let shown = format!("{server}:{}", w.lab.endpoints().dns_port);
    let real: SocketAddr = map[&shown].as_str().unwrap().parse().unwrap();
    assert_eq!(real, w.dns("ns1.one.example"));
    assert!(map.values().all(|v| v.as_str().unwrap().starts_with("127.0.0.1:")), "{map}");
    assert_eq!(
        table(&w.lab.endpoints().engine)["address_map"].as_str(),
        w.lab.endpoints().address_map.as_ref().and_then(|p| p.to_str())
    );

    let referral = w.ask("a.root.lab", "plain.example", RecordType::A).await;
    let glue = referral.additionals.iter().find_map(|r| r.data.ip_addr()).unwrap();
    assert_eq!(
        glue.to_string(),
        w.lab.address_of("a.nic.example").unwrap().to_string(),
        "DNS shows 127.x.y.z"
    );
    for how in [Ask::default(), tcp()] {
        let answer = w.ask_how("ns1.one.example", "plain.example", RecordType::A, &how).await;
        assert_eq!(answer.answers[0].data.to_string(), "192.0.2.10");
    }
    assert!(w.whois_text("whois.nic.lab", "plain.example").await.contains("refer:"));
    assert_eq!(w.rdap("rdap.nic.example", "/domain/plain.example").await.0, 200);
}

#[tokio::test]
async fn two_labs_live_side_by_side_and_ports_are_given_back() {
    let one = small().await;
    let two = small().await;
    assert_ne!(one.lab.endpoints().dns_port, two.lab.endpoints().dns_port);
    one.command("txt _only.plain.example here").await;
    let other = two.ask("ns1.one.example", "_only.plain.example", RecordType::TXT).await;
    assert!(other.answers.is_empty());
    let port = one.lab.endpoints().dns_port;
    let dir = one.dir;
    one.lab.shutdown().await;
    let mut options = Options::new(Scenario::named("small").unwrap(), dir.path(), NOW.parse().unwrap());
    options.dns_port = Some(port);
    let again = Lab::start(options.clone()).await.unwrap();
    assert_eq!(again.endpoints().dns_port, port);
    let Err(taken) = Lab::start(options).await else { panic!("the port is taken") };
    assert_eq!(taken.label(), "bind");
    assert!(taken.to_string().contains(&port.to_string()), "{taken}");
}

#[test]
fn scenarios_are_strict_and_say_where() {
    let base = "name = \"x\"\n[[tld]]\nname = \"example\"\nregistry = \"R\"\n";
    for (extra, said) in [
        ("colour = 3\n", "unknown field `colour`"),
        ("[[domain]]\nname = \"a.example\"\nnameserver = []\n", "unknown field `nameserver`"),
        ("[[domain]]\nname = \"a.test\"\n", "[[domain]] a.test: its TLD is not in the scenario"),
        ("[[domain]]\nname = \"a.example\"\nprovider = \"p\"\n", "provider `p`"),
        ("[[domain]]\nname = \"a.example\"\nregistrar = \"r\"\n", "registrar `r`"),
        ("[[domain]]\nname = \"a.example\"\n[[domain]]\nname = \"A.EXAMPLE.\"\n", "it is there twice"),
        ("[[domain]]\nname = \"a.example\"\nfaults = [\"lamee\"]\n", "no fault is called `lamee`"),
        ("[[domain]]\nname = \"a..example\"\n", "is not a name"),
        ("[[fault]]\non = \"rdap:example\"\nfault = \"lame\"\n", "none of this kind of server"),
        ("[[domain]]\nname = \"a.example\"\nfaults = [\"drip\"]\n", "none of a domain"),
        ("[[provider]]\nid = \"p\"\nname = \"P\"\nservers = []\n", "servers: none"),
    ] {
        let error = Scenario::parse(&format!("{base}{extra}"), "my.toml").unwrap_err();
        assert_eq!(error.label(), "scenario");
        let text = error.to_string();
        assert!(text.contains("my.toml") && text.contains(said), "{extra}: {text}");
    }
    assert!(Scenario::named("nothing").unwrap_err().to_string().contains("`demo` and `small`"));
    assert_eq!(Scenario::load(Path::new("/nowhere/x.toml")).unwrap_err().label(), "file");
}

#[tokio::test]
async fn dates_and_records_of_a_scenario_are_checked_at_the_start() {
    let base =
        "name = \"x\"\n[[tld]]\nname = \"example\"\nregistry = \"R\"\n[[domain]]\nname = \"a.example\"\n";
    for (extra, said) in [
        ("expires = \"soon\"\n", "expires: `soon` is not a date"),
        ("records = [\"@ 300 A\"]\n", "records: `@ 300 A`"),
        ("records = [\"other.test. 300 A 192.0.2.1\"]\n", "outside the zone"),
        ("records = [\"$INCLUDE /etc/hostname 1 2\"]\n", "one record a line"),
    ] {
        let scenario = Scenario::parse(&format!("{base}{extra}"), "my.toml").unwrap();
        let dir = tempfile::TempDir::new().unwrap();
        let Err(error) = Lab::start(Options::new(scenario, dir.path(), NOW.parse().unwrap())).await else {
            panic!("{extra} was accepted")
        };
        assert!(error.to_string().contains(said), "{extra}: {error}");
    }
}

#[tokio::test]
async fn recorded_answers_are_served_byte_for_byte() {
    let dir = tempfile::TempDir::new().unwrap();
    let raw = b"domain:\tlatin.zz\nholder: M\xfcller\r\n\x00odd\n";
    std::fs::write(dir.path().join("a.txt"), raw).unwrap();
    std::fs::write(dir.path().join("b.txt"), b"second").unwrap();
    let index = dir.path().join("index.jsonl");
    std::fs::write(
        &index,
        "{\"domain\":\"latin.zz\",\"tld\":\"zz\",\"raw\":\"a.txt\",\"more\":1}\n\n{\"domain\":\"x.co.zz\",\"tld\":\"co.zz\",\"raw\":\"b.txt\"}\n",
    )
    .unwrap();
    let scenario = Scenario::named("small").unwrap().with_replay(dir.path(), &index);
    let w = start_with(scenario, false).await;
    let root = w.whois_text("whois.nic.lab", "latin.zz").await;
    assert!(root.contains("refer:        whois-replay.nic.lab"), "{root}");
    assert_eq!(w.whois("whois-replay.nic.lab", "latin.zz").await, raw);
    assert_eq!(w.whois("whois-replay.nic.lab", "domain x.co.zz").await, b"second");
    assert!(w.whois_text("whois-replay.nic.lab", "other.zz").await.contains("not found"));
    let bootstrap = std::fs::read_to_string(&w.lab.endpoints().rdap_bootstrap).unwrap();
    assert!(!bootstrap.contains("zz"));
    let referral = w.ask("a.nic.zz", "x.co.zz", RecordType::SOA).await;
    assert_eq!(ns_of(&referral.authorities), ["ns1.replay.nic.lab"]);
    assert!(w.ask("ns1.replay.nic.lab", "x.co.zz", RecordType::SOA).await.metadata.authoritative);
    assert!(w.whois_text("whois.nic.example", "plain.example").await.contains("Domain Name: plain.example"));
}

#[tokio::test]
async fn a_whole_corpus_is_replayed() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/whois");
    if !corpus.is_dir() {
        println!("skipped: there is no folder {}", corpus.display());
        return;
    }
    let index = corpus.join("expected.jsonl");
    let w = start_with(Scenario::named("small").unwrap().with_replay(&corpus, &index), false).await;
    let mut seen = std::collections::HashSet::new();
    let mut checked = 0;
    for line in std::fs::read_to_string(&index).unwrap().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let domain = line["domain"].as_str().unwrap().to_lowercase();
        if !domain.is_ascii() || !domain.contains('.') || !seen.insert(domain.clone()) || checked == 60 {
            continue;
        }
        let referral = w.whois_text("whois.nic.lab", &domain).await;
        if !referral.contains("whois-replay") {
            continue;
        }
        let raw = std::fs::read(corpus.join(line["raw"].as_str().unwrap())).unwrap();
        assert_eq!(w.whois("whois-replay.nic.lab", &domain).await, raw, "{domain}");
        checked += 1;
    }
    assert_eq!(checked, 60);
}

#[tokio::test]
async fn ten_thousand_domains_at_once() {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/small.toml")).unwrap();
    let bulk = "\n[[bulk]]\nprefix = \"load-\"\ntld = \"example\"\ncount = 10000\nregistrar = \"reg\"\nprovider = \"one\"\n";
    let w = start_with(Scenario::parse(&format!("{text}{bulk}"), "bulk.toml").unwrap(), false).await;
    for number in ["00001", "10000"] {
        let domain = format!("load-{number}.example");
        let referral = w.ask("a.nic.example", &domain, RecordType::A).await;
        assert_eq!(ns_of(&referral.authorities), ["ns1.one.example", "ns2.one.example"]);
        assert!(w.ask("ns1.one.example", &domain, RecordType::A).await.metadata.authoritative);
        assert_eq!(w.rdap("rdap.nic.example", &format!("/domain/{domain}")).await.0, 200);
    }
    let wrong =
        Scenario::parse(&format!("{text}{}", bulk.replace("10000", "2000000")), "bulk.toml").unwrap_err();
    assert!(wrong.to_string().contains("at most 1,000,000"), "{wrong}");
}
