//! RDAP and WHOIS of the demo: what is stated, by whom, in which form; then every way of failing.

mod common;

use common::*;
use serde_json::{Value, json};

fn event(answer: &Value, action: &str) -> Option<String> {
    answer["events"]
        .as_array()?
        .iter()
        .find(|e| e["eventAction"] == action)
        .map(|e| e["eventDate"].as_str().unwrap().to_owned())
}

fn link(answer: &Value, rel: &str) -> Option<String> {
    answer["links"]
        .as_array()?
        .iter()
        .find(|l| l["rel"] == rel)
        .map(|l| l["href"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn q7_io_in_rdap_is_exact() {
    let w = demo().await;
    let (status, answer) = w.rdap("rdap.nic.io", "/domain/q7.io").await;
    assert_eq!(status, 200);
    assert_eq!(event(&answer, "registration").unwrap(), "2012-07-06T13:58:57Z");
    assert_eq!(event(&answer, "last changed").unwrap(), "2019-08-17T16:33:24.36Z");
    assert_eq!(event(&answer, "expiration").unwrap(), "2029-07-06T13:58:57Z");
    assert_eq!(
        answer["status"],
        json!(["client delete prohibited", "client transfer prohibited", "client update prohibited"])
    );
    let servers: Vec<_> = answer["nameservers"].as_array().unwrap().iter().map(|n| &n["ldhName"]).collect();
    assert_eq!(servers, ["ns1.digitalocean.com", "ns2.digitalocean.com", "ns3.digitalocean.com"]);
    assert_eq!(answer["secureDNS"], json!({"delegationSigned": false}));
    let registrar = &answer["entities"][0];
    assert_eq!(registrar["roles"], json!(["registrar"]));
    assert_eq!(registrar["publicIds"], json!([{"type": "IANA Registrar ID", "identifier": "1068"}]));
    assert_eq!(registrar["vcardArray"][1][1], json!(["fn", {}, "text", "NAMECHEAP INC"]));
    let port = w.lab.endpoints().https_port;
    assert_eq!(link(&answer, "related").unwrap(), format!("https://rdap.namecheap.com:{port}/domain/q7.io"));
    let (status, of_registrar) = w.rdap("rdap.namecheap.com", "/domain/q7.io").await;
    assert_eq!(status, 200);
    assert_eq!(event(&of_registrar, "registrar expiration").unwrap(), "2029-07-06T13:58:57Z");
}

#[tokio::test]
async fn the_bootstrap_names_registries_with_rdap_only() {
    let w = demo().await;
    let file: Value =
        serde_json::from_str(&std::fs::read_to_string(&w.lab.endpoints().rdap_bootstrap).unwrap()).unwrap();
    let tlds: Vec<&str> =
        file["services"].as_array().unwrap().iter().map(|s| s[0][0].as_str().unwrap()).collect();
    assert_eq!(tlds, ["com", "example", "io", "net"]);
    let port = w.lab.endpoints().https_port;
    assert!(file.to_string().contains(&format!("https://rdap.nic.io:{port}/")));
    let (head, body) = w.https("data.nic.lab", "/rdap/dns.json").await.unwrap();
    assert!(head.starts_with("HTTP/1.0 200") || head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["services"], file["services"]);
}

#[tokio::test]
async fn thin_and_thick_registries_differ() {
    let w = demo().await;
    let (_, thick) = w.rdap("rdap.nic.example", "/domain/alder.example").await;
    assert_eq!(thick["entities"][1]["roles"], json!(["registrant"]));
    assert_eq!(thick["entities"][1]["vcardArray"][1][2], json!(["org", {}, "text", "Alder Labs"]));
    assert_eq!(thick["secureDNS"]["delegationSigned"], json!(true));
    assert_eq!(thick["secureDNS"]["dsData"][0]["algorithm"], json!(13));

    let (_, thin) = w.rdap("rdap.nic.com", "/domain/alder-labs-demo.com").await;
    assert_eq!(thin["ldhName"], json!("ALDER-LABS-DEMO.COM"));
    assert_eq!(thin["entities"].as_array().unwrap().len(), 1, "no registrant");
    let (_, more) = w.rdap("rdap.lantern-registrar.example", "/domain/alder-labs-demo.com").await;
    assert_eq!(more["entities"][1]["vcardArray"][1][2], json!(["org", {}, "text", "Alder Labs"]));

    let (_, registry) = w.rdap("rdap.nic.com", "/domain/tidewater-demo.com").await;
    let (_, registrar) = w.rdap("rdap.harbor-names.example", "/domain/tidewater-demo.com").await;
    assert_eq!(event(&registry, "expiration").unwrap(), "2027-12-10T12:00:00Z");
    assert_eq!(event(&registrar, "registrar expiration").unwrap(), "2026-12-10T12:00:00Z");

    let (_, idn) = w.rdap("rdap.nic.example", "/domain/xn--bcherei-n2a.example").await;
    assert_eq!(idn["unicodeName"], json!("bücherei.example"));
    assert_eq!(event(&idn, "expiration"), None);
}

#[tokio::test]
async fn names_that_are_not_registered() {
    let w = demo().await;
    for (path, code, title) in [
        ("/domain/vacant-lot.example", 404, "Not Found"),
        ("/domain/nobody-ever.example", 404, "Not Found"),
        ("/domain/q7.io", 404, "Not Found"),
        ("/domain/nic.example", 404, "Reserved"),
        ("/domain/crown-jewels.example", 404, "Reserved"),
        ("/domain/a..b", 400, "Bad Request"),
        ("/nothing", 404, "Not Found"),
    ] {
        let (status, answer) = w.rdap("rdap.nic.example", path).await;
        assert_eq!(
            (status, &answer["errorCode"], &answer["title"]),
            (code, &json!(code), &json!(title)),
            "{path}"
        );
    }
    let (status, _) = w.rdap("rdap.namecheap.com", "/domain/alder.example").await;
    assert_eq!(status, 404, "a registrar knows its own domains only");
}

#[tokio::test]
async fn whois_speaks_five_dialects() {
    let w = demo().await;
    let root = w.whois_text("whois.nic.lab", "q7.io").await;
    assert!(root.contains("refer:        whois.nic.io\r\n"), "{root}");
    let root = w.whois_text("whois.nic.lab", "test").await;
    assert!(root.contains("refer:        whois.nic.test\r\n"), "{root}");

    let thick = w.whois_text("whois.nic.io", "q7.io").await;
    for line in [
        "Domain Name: q7.io",
        "Creation Date: 2012-07-06T13:58:57Z",
        "Updated Date: 2019-08-17T16:33:24Z",
        "Registry Expiry Date: 2029-07-06T13:58:57Z",
        "Registrar: NAMECHEAP INC",
        "Registrar IANA ID: 1068",
        "Domain Status: clientTransferProhibited https://icann.org/epp#clientTransferProhibited",
        "Name Server: ns2.digitalocean.com",
        "DNSSEC: unsigned",
    ] {
        assert!(thick.contains(&format!("{line}\r\n")), "{line}\n{thick}");
    }

    let thin = w.whois_text("whois.nic.com", "domain TIDEWATER-DEMO.COM").await;
    assert!(thin.contains("   Registrar WHOIS Server: whois.harbor-names.example\r\n"), "{thin}");
    assert!(thin.contains("   Name Server: NS1.QUARRY-DNS.EXAMPLE\r\n"));
    assert!(!thin.contains("Registrant"));
    let registrar = w.whois_text("whois.harbor-names.example", "tidewater-demo.com").await;
    assert!(
        registrar.contains("Registrar Registration Expiration Date: 2026-12-10T12:00:00Z\r\n"),
        "{registrar}"
    );
    assert!(registrar.contains("Registrant Organization: Tidewater Ferries\r\n"));

    let short = w.whois_text("whois.nic.de", "copperworks-demo.de").await;
    assert!(short.contains("Status: connect") && !short.contains("Nserver"), "{short}");
    let long = w.whois_text("whois.nic.de", "-T dn,ace copperworks-demo.de").await;
    assert!(long.contains("Nserver: ns1.copperworks-demo.de\r\n"), "{long}");
    assert!(long.contains("Changed: 2026-10-11T12:00:00+00:00\r\n"), "{long}");
    assert!(!long.to_lowercase().contains("expir"));

    let own = w.whois_text("whois.nic.test", "harbour.test").await;
    assert!(own.contains("paid until............: 05-FEB-2027\r\n"), "{own}");
    assert!(own.contains("state.................: TRANSFER-LOCKED\r\n"), "{own}");
}

#[tokio::test]
async fn whois_says_free_reserved_and_too_often_in_each_dialect() {
    let w = demo().await;
    for (server, query, said) in [
        ("whois.nic.example", "vacant-lot.example", "Domain not found."),
        ("whois.nic.com", "vacant-demo.com", "No match for domain \"VACANT-DEMO.COM\"."),
        ("whois.nic.de", "-T dn,ace frei-demo.de", "Status: free"),
        ("whois.nic.test", "nobody.test", "free to register"),
        ("whois.nic.example", "nic.example", "reserved by the Registry"),
        ("whois.nic.com", "reserved-demo.com", "reserved by the registry"),
        ("whois.nic.test", "nic.test", "reserved name"),
        ("whois.nic.example", "meadow.example", "Access denied"),
        ("whois.nic.example", "", "No query given"),
        ("whois.nic.lab", "no-such-tld-here", "returned 0 objects"),
    ] {
        let answer = w.whois_text(server, query).await;
        assert!(answer.contains(said), "{server} {query}: {answer}");
    }
}

#[tokio::test]
async fn a_tired_registry_says_when_to_come_back() {
    let w = demo().await;
    let (first, _) = w.https("rdap.nic.net", "/domain/tired-demo.net").await.unwrap();
    let (second, body) = w.https("rdap.nic.net", "/domain/sleepy-demo.net").await.unwrap();
    assert!(first.contains(" 200 "), "{first}");
    assert!(second.contains(" 429 "), "{second}");
    let wait = second.lines().find_map(|l| l.strip_prefix("retry-after: ")).unwrap();
    assert!((1..=60).contains(&wait.parse::<u32>().unwrap()));
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["errorCode"], json!(429));
    let (other, _) = w.https("rdap.nic.example", "/domain/alder.example").await.unwrap();
    assert!(other.contains(" 200 "), "the limit is that of one registry");

    let first = w.whois_text("whois.nic.net", "tired-demo.net").await;
    let second = w.whois_text("whois.nic.net", "tired-demo.net").await;
    assert!(first.contains("Domain Name: tired-demo.net"));
    assert!(second.contains("exceeded"));
    assert_eq!(w.lab.query_log().per_host["rdap.nic.net"].requests, 2);
}

#[tokio::test]
async fn rdap_fails_in_every_way() {
    let w = small().await;
    let path = "/domain/plain.example";
    let host = "rdap.nic.example";
    let set = async |fault: &str| {
        w.command("mend").await;
        w.command(&format!("fault rdap:example {fault}")).await;
    };
    set("http-500").await;
    assert_eq!(w.rdap(host, path).await.0, 500);
    set("refused").await;
    assert_eq!(w.rdap(host, path).await.0, 403);
    set("invalid-json").await;
    let (_, body) = w.https(host, path).await.unwrap();
    assert!(serde_json::from_slice::<Value>(&body).is_err() && body.starts_with(b"{"));
    set("garbage").await;
    let (_, body) = w.https(host, path).await.unwrap();
    assert!(std::str::from_utf8(&body).is_err());
    set("redirect-loop").await;
    let (head, _) = w.https(host, path).await.unwrap();
    let port = w.lab.endpoints().https_port;
    assert!(head.contains(&format!("location: https://{host}:{port}{path}")), "{head}");
    set("referral-loop").await;
    let (_, answer) = w.rdap(host, path).await;
    assert_eq!(link(&answer, "related"), link(&answer, "self"));
    set("close-early").await;
    let cut = w.https(host, path).await;
    assert!(cut.is_err() || serde_json::from_slice::<Value>(&cut.unwrap().1).is_err());
    set("hang").await;
    assert!(tokio::time::timeout(SILENCE, w.https(host, path)).await.is_err());
    set("drip").await;
    assert!(tokio::time::timeout(SILENCE, w.https(host, path)).await.is_err());
    set("huge").await;
    let (_, body) = w.https(host, path).await.unwrap();
    assert_eq!(body.len(), 100 << 20);

    w.command("mend").await;
    w.command("fault rdap:example/plain.example http-500").await;
    assert_eq!(w.rdap(host, path).await.0, 500);
    assert_eq!(w.rdap(host, "/domain/signed.example").await.0, 200, "only the one domain");
}

#[tokio::test]
async fn whois_fails_in_every_way() {
    let w = small().await;
    let host = "whois.nic.example";
    let whole = w.whois(host, "plain.example").await;
    let set = async |fault: &str| {
        w.command("mend").await;
        w.command(&format!("fault whois:example {fault}")).await;
    };
    set("close-early").await;
    assert_eq!(w.whois(host, "plain.example").await.len(), whole.len() / 2);
    set("garbage").await;
    assert!(std::str::from_utf8(&w.whois(host, "plain.example").await).is_err());
    set("refused").await;
    assert!(w.whois_text(host, "plain.example").await.contains("Access denied"));
    set("referral-loop").await;
    assert!(w.whois_text(host, "plain.example").await.contains("Registrar WHOIS Server: whois.nic.example"));
    set("hang").await;
    assert!(tokio::time::timeout(SILENCE, w.whois(host, "plain.example")).await.is_err());
    set("drip").await;
    assert!(tokio::time::timeout(SILENCE, w.whois(host, "plain.example")).await.is_err());
    set("huge").await;
    assert!(w.whois(host, "plain.example").await.len() > 99 << 20);
    w.command("mend").await;
    w.command("fault whois:root referral-loop").await;
    assert!(w.whois_text("whois.nic.lab", "plain.example").await.contains("refer: whois.nic.lab"));
}

#[tokio::test]
async fn web_servers_show_what_the_scenario_says() {
    let w = demo().await;
    let (head, body) = w.https("pop-17.harborcdn.example", "/").await.unwrap();
    assert!(head.contains(" 200 ") && body.starts_with(b"Alder Labs"), "{head}");
    let (head, _) = w.https("alder.example", "/").await.unwrap();
    assert!(head.contains("location: https://www.alder.example/"), "{head}");
    assert!(
        w.https("www.lantern-demo.io", "/").await.is_ok(),
        "a certificate that ends in five days is valid"
    );
    for host in ["www.quarry-demo.io", "www.halcyon-demo.com"] {
        let refused = w.https(host, "/").await.unwrap_err();
        assert!(refused.to_string().contains("certificate"), "{host}: {refused}");
    }
    let ip = w.lab.address_of("alder.example").unwrap();
    let at = w.lab.real(ip, w.lab.endpoints().http_port);
    let mut stream = tokio::net::TcpStream::connect(at).await.unwrap();
    let (head, _) = exchange(&mut stream, "alder.example", "/").await.unwrap();
    assert!(head.contains(" 301 "), "{head}");
}

#[tokio::test]
async fn the_log_shows_who_was_pressed_how_hard() {
    let w = small().await;
    w.command("fault rdap:example slow 1000").await;
    let ask = || w.rdap("rdap.nic.example", "/domain/plain.example");
    tokio::join!(ask(), ask(), ask());
    ask().await;
    let load = w.lab.query_log().per_host["rdap.nic.example"].clone();
    assert_eq!((load.requests, load.peak), (4, 3));
    assert!((1..=3).contains(&load.busiest_second), "{}", load.busiest_second);
    assert_eq!(load.questions["/domain/plain.example"], 4);
}
