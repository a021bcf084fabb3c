//! Commands change registration, parent zone and zone together, from code and over the control endpoint.

mod common;

use common::*;
use hickory_proto::{op::ResponseCode, rr::RecordType};
use serde_json::Value;

#[tokio::test]
async fn moving_the_nameservers_moves_everything() {
    let w = demo().await;
    let new = ["ns1.meridian-dns.example", "ns2.meridian-dns.example"];
    let before = serial_of(&w.ask("ns1.digitalocean.com", "q7.io", RecordType::SOA).await).unwrap();
    let tld_before = serial_of(&w.ask("a.nic.io", "io", RecordType::SOA).await).unwrap();
    let said = w.command("ns q7.io ns1.meridian-dns.example ns2.meridian-dns.example").await;
    assert_eq!(said, "q7.io: nameservers are now ns1.meridian-dns.example, ns2.meridian-dns.example");

    let (_, rdap) = w.rdap("rdap.nic.io", "/domain/q7.io").await;
    let listed: Vec<_> = rdap["nameservers"].as_array().unwrap().iter().map(|n| &n["ldhName"]).collect();
    assert_eq!(listed, new);
    let changed =
        rdap["events"].as_array().unwrap().iter().find(|e| e["eventAction"] == "last changed").unwrap();
    assert!(changed["eventDate"].as_str().unwrap() >= NOW, "{changed}");

    assert_eq!(ns_of(&w.ask("a.nic.io", "q7.io", RecordType::NS).await.authorities), new);
    assert_eq!(serial_of(&w.ask("b.nic.io", "io", RecordType::SOA).await).unwrap(), tld_before + 1);
    for server in new {
        let soa = w.ask(server, "q7.io", RecordType::SOA).await;
        assert!(soa.metadata.authoritative);
        assert_eq!(serial_of(&soa).unwrap(), before + 1);
        assert_eq!(ns_of(&w.ask(server, "q7.io", RecordType::NS).await.answers), new);
    }
    let old = w.ask("ns1.digitalocean.com", "q7.io", RecordType::SOA).await;
    assert_eq!(code(&old), ResponseCode::Refused);
}

#[tokio::test]
async fn renewal_moves_both_dates_and_ends_the_grace() {
    let w = demo().await;
    let said = w.command("renew second-chance.example 1").await;
    assert!(said.contains("expires 2028-11-10T12:00:00Z"), "{said}");
    let (_, registry) = w.rdap("rdap.nic.example", "/domain/second-chance.example").await;
    let (_, registrar) = w.rdap("rdap.lantern-registrar.example", "/domain/second-chance.example").await;
    assert!(registry.to_string().contains("2028-11-10T12:00:00Z"));
    assert!(
        registrar
            .to_string()
            .contains(r#""eventAction":"registrar expiration","eventDate":"2028-11-10T12:00:00Z""#)
    );
    assert!(!registry.to_string().contains("auto renew period"));
}

#[tokio::test]
async fn a_hold_takes_the_name_out_of_the_zone_and_back() {
    let w = demo().await;
    let said = w.command("status q7.io clientHold").await;
    assert!(said.ends_with("not in the zone of its TLD"), "{said}");
    assert_eq!(code(&w.ask("a.nic.io", "q7.io", RecordType::NS).await), ResponseCode::NXDomain);
    let (_, rdap) = w.rdap("rdap.nic.io", "/domain/q7.io").await;
    assert_eq!(rdap["status"], serde_json::json!(["client hold"]));
    w.command("status q7.io ok").await;
    assert_eq!(ns_of(&w.ask("a.nic.io", "q7.io", RecordType::NS).await.authorities).len(), 3);
    let (_, rdap) = w.rdap("rdap.nic.io", "/domain/q7.io").await;
    assert_eq!(rdap["status"], serde_json::json!(["active"]));
}

#[tokio::test]
async fn records_come_and_go_and_the_serial_tells() {
    let w = small().await;
    let ask = async || w.ask("ns1.one.example", "_x.plain.example", RecordType::TXT).await;
    let first = ask().await;
    assert_eq!(code(&first), ResponseCode::NXDomain);
    w.command("txt _x.plain.example \"hello world\"").await;
    let there = ask().await;
    assert!(there.answers[0].data.to_string().contains("hello world"));
    let soa = w.ask("ns2.one.example", "plain.example", RecordType::SOA).await;
    assert_eq!(serial_of(&soa).unwrap(), serial_of(&first).unwrap() + 1);
    assert_eq!(w.command("untxt _x.plain.example").await, "1 record(s) removed from _x.plain.example");
    assert_eq!(code(&ask().await), ResponseCode::NXDomain);
    w.command("add plain.example 60 MX 5 mail").await;
    let mx = w.ask("ns1.one.example", "plain.example", RecordType::MX).await;
    assert_eq!(mx.answers[0].data.to_string(), "5 mail.plain.example.");
}

#[tokio::test]
async fn a_name_is_registered_transferred_and_deleted() {
    let w = demo().await;
    w.command("register vacant-lot.example opal a.anycast-one.example b.anycast-one.example").await;
    let (status, rdap) = w.rdap("rdap.nic.example", "/domain/vacant-lot.example").await;
    assert_eq!((status, &rdap["status"]), (200, &serde_json::json!(["add period"])));
    assert!(
        w.ask("b.anycast-one.example", "vacant-lot.example", RecordType::SOA).await.metadata.authoritative
    );
    w.command("registrar vacant-lot.example harbor").await;
    let (_, rdap) = w.rdap("rdap.nic.example", "/domain/vacant-lot.example").await;
    assert_eq!(rdap["entities"][0]["handle"], "9995");
    w.command("delete vacant-lot.example").await;
    assert_eq!(w.rdap("rdap.nic.example", "/domain/vacant-lot.example").await.0, 404);
    assert_eq!(
        code(&w.ask("a.nic.example", "vacant-lot.example", RecordType::NS).await),
        ResponseCode::NXDomain
    );
}

#[tokio::test]
async fn what_cannot_be_done_changes_nothing_and_says_why() {
    let w = small().await;
    for (line, reason) in [
        ("renew nobody.example 1", "the lab has no domain nobody.example"),
        ("renew plain.example 0", "1 to 10 years"),
        ("registrar plain.example nobody", "known: reg"),
        ("expires plain.example soon", "is not a date"),
        ("add elsewhere.test 60 A 192.0.2.1", "no domain of the lab holds"),
        ("add x.plain.example 60 A not-an-address", "not zone-file syntax"),
        ("remove x.plain.example NOTATYPE", "is no record type"),
        ("fault nobody.example dead", "nothing called nobody.example"),
        ("fault rdap:example tc-only", "can't have the fault"),
        ("fault ns1.one.example http-500", "can't have the fault"),
        ("fault ns1.one.example stale-glue", "name the domain alone"),
        ("fault rdap:nobody hang", "nothing called rdap:nobody"),
        ("register plain.example reg", "taken or reserved"),
        ("register nic.example reg", "taken or reserved"),
        ("register new.test reg", "no registry"),
        ("ns plain.example bad..name", "not a name"),
    ] {
        let error = w.lab.apply(line.parse().unwrap()).await.unwrap_err();
        assert_eq!(error.label(), "command", "{line}");
        assert!(error.to_string().contains(reason), "{line}: {error}");
    }
    let soa = w.ask("ns1.one.example", "plain.example", RecordType::SOA).await;
    assert_eq!(serial_of(&soa), Some(2_026_112_001));
}

#[tokio::test]
async fn the_control_endpoint_takes_lines_and_json() {
    let w = small().await;
    let (head, body) = w
        .control("POST", "/commands", "# two at once\ntxt _a.plain.example one\nrenew plain.example 2\n", "")
        .await;
    assert!(head.contains(" 200 "), "{head}");
    assert_eq!(body.lines().count(), 2, "{body}");
    let (_, body) = w
        .control(
            "POST",
            "/commands",
            r#"{"command":"set-fault","target":"ns1.one.example","fault":"slow 30"}"#,
            "",
        )
        .await;
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["said"][0], "ns1.one.example: slow 30");
    let (_, faults) = w.control("GET", "/faults", "", "").await;
    assert_eq!(
        serde_json::from_str::<Value>(&faults).unwrap(),
        serde_json::json!([{"target": "ns1.one.example", "fault": "slow 30"}])
    );
    let (head, body) = w.control("POST", "/commands", "renew plain.example\n", "").await;
    assert!(head.contains(" 400 ") && body.contains("renew DOMAIN YEARS"), "{head} {body}");
    let (_, help) = w.control("GET", "/", "", "").await;
    assert!(help.contains("plain.example") && help.contains("upward-referral"), "{help}");
    let (_, state) = w.control("GET", "/state", "", "").await;
    let state: Value = serde_json::from_str(&state).unwrap();
    let plain = state["domains"].as_array().unwrap().iter().find(|d| d["name"] == "plain.example").unwrap();
    assert_eq!(plain["serial"], 2_026_112_002_u32);
    w.ask("ns2.one.example", "plain.example", RecordType::SOA).await;
    let (_, queries) = w.control("GET", "/queries", "", "").await;
    let queries: Value = serde_json::from_str(&queries).unwrap();
    assert_eq!(queries["per_question"][0]["qname"], "plain.example");
    w.command("reset-log").await;
    assert_eq!(w.lab.query_log().dns_total(), 0);
}

#[tokio::test]
async fn the_client_speaks_to_the_control_endpoint() {
    let w = small().await;
    let at = w.lab.endpoints().control;
    let said = lab::client::send(at, "renew plain.example 1").await.unwrap();
    assert!(said.starts_with("plain.example: renewed by 1 year(s)"), "{said}");
    let refused = lab::client::send(at, "renew nobody.example 1").await.unwrap_err();
    assert_eq!(refused.to_string(), "the lab has no domain nobody.example");
    assert!(lab::client::read(at, "/state").await.unwrap().starts_with('{'));
    w.lab.shutdown().await;
    assert!(lab::client::read(at, "/").await.unwrap_err().to_string().contains("no lab answers at"));
}

#[tokio::test]
async fn the_control_endpoint_is_not_for_web_pages() {
    let w = small().await;
    let (head, _) = w.control("POST", "/commands", "mend", "Origin: https://evil.example\r\n").await;
    assert!(head.contains(" 403 "), "{head}");
    let (head, _) = w.control("PUT", "/commands", "mend", "").await;
    assert!(head.contains(" 405 "), "{head}");
    let (head, _) = w.control("GET", "/nothing", "", "").await;
    assert!(head.contains(" 404 "), "{head}");
}

#[tokio::test]
async fn faults_in_zone_data_begin_and_end_by_command() {
    let w = demo().await;
    let parent = async || ns_of(&w.ask("a.nic.example", "orchard.example", RecordType::NS).await.authorities);
    let before = parent().await;
    w.command("fault orchard.example ns-unresolvable").await;
    assert!(parent().await.contains(&"ns1.vanished.example".to_owned()));
    w.command("fault orchard.example cname-loop 3").await;
    let m = w.ask("a.anycast-one.example", "loop-2.orchard.example", RecordType::CNAME).await;
    assert_eq!(m.answers[0].data.to_string(), "loop.orchard.example.");
    w.command("fault orchard.example none").await;
    assert_eq!(parent().await, before);

    let glue = async || {
        let m = w.ask("a.nic.example", "lighthouse.example", RecordType::NS).await;
        m.additionals.iter().filter_map(|r| r.data.ip_addr()).collect::<Vec<_>>()
    };
    let sound = glue().await;
    w.command("fault lighthouse.example stale-glue").await;
    assert_ne!(glue().await, sound);
    w.command("fault lighthouse.example none").await;
    assert_eq!(glue().await, sound);
    w.command("fault lighthouse.example missing-glue").await;
    assert!(glue().await.is_empty());
    w.command("mend").await;
    assert_eq!(glue().await, sound);
}

#[tokio::test]
async fn a_change_of_the_registration_alone_leaves_the_zones_alone() {
    let w = demo().await;
    let serials = async || {
        let tld = w.ask("a.nic.example", "example", RecordType::SOA).await;
        let zone = w.ask("a.anycast-one.example", "orchard.example", RecordType::SOA).await;
        (serial_of(&tld), serial_of(&zone))
    };
    let before = serials().await;
    w.command("renew orchard.example 1").await;
    w.command("registrar orchard.example lantern").await;
    assert_eq!(serials().await, before);
    w.command("status orchard.example serverHold").await;
    assert_ne!(serials().await.0, before.0);
}

#[tokio::test]
async fn messages_are_kept_as_they_arrived() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let w = demo().await;
    let mut mail = tokio::net::TcpStream::connect(w.lab.endpoints().smtp).await.unwrap();
    let session = "EHLO me\r\nDATA\r\nMAIL FROM:<a@b.example>\r\nRCPT TO:<unknown@b.example>\r\n\
                   RCPT TO:<ops@b.example>\r\nDATA\r\nX-Domainscope-Message: m1\r\n\r\n..dotted\r\n.\r\nQUIT\r\n";
    mail.write_all(session.as_bytes()).await.unwrap();
    let mut said = String::new();
    mail.read_to_string(&mut said).await.unwrap();
    let codes: Vec<&str> = said.lines().map(|l| &l[..3]).collect();
    assert_eq!(codes, ["220", "250", "503", "250", "550", "250", "354", "250", "221"], "{said}");
    let kept = w.lab.messages();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!((kept[0].id.as_str(), kept[0].to[0].as_str()), ("m1", "ops@b.example"));
    assert!(kept[0].body.ends_with("\n.dotted\n"), "{}", kept[0].body);
    let (_, shown) = w.control("GET", "/messages", "", "").await;
    assert!(shown.contains("ops@b.example"), "{shown}");
}
