//! A validator that no one here wrote judges the signed zones: `unbound-host`, where it is installed. What the lab's
//! resolvers say of the same names must be the same.

mod common;

use common::*;
use hickory_proto::op::{Message, ResponseCode};
use tokio::process::Command;

/// Unbound takes ports for stub zones only, so each zone is told to it; the chain of trust is its own work.
fn configuration(w: &World, zones: &[(&str, &[&str])]) -> String {
    let e = w.lab.endpoints();
    let mut text = format!(
        "server:\n  do-not-query-localhost: no\n  do-ip6: no\n  module-config: \"validator iterator\"\n  \
         trust-anchor-file: \"{}\"\n  val-override-date: \"20261120130000\"\n",
        e.trust_anchor.display()
    );
    for (zone, servers) in zones {
        text.push_str(&format!("stub-zone:\n  name: \"{zone}\"\n  stub-prime: no\n"));
        for server in *servers {
            let ip = w.lab.address_of(server).unwrap();
            text.push_str(&format!("  stub-addr: {ip}@{}\n", e.dns_port));
        }
    }
    text
}

#[tokio::test]
async fn unbound_trusts_what_is_sound_and_nothing_else() {
    let has_unbound = Command::new("unbound-host").arg("-h").output().await.is_ok();
    if !has_unbound {
        let words = "unbound-host (Debian package of that name) is not installed";
        assert!(std::env::var_os("CI").is_none(), "{words}");
        println!("SKIPPED in part: {words}");
    }
    let w = demo().await;
    const MERIDIAN: &[&str] = &["ns1.meridian-dns.example", "ns2.meridian-dns.example"];
    const QUARRY: &[&str] = &["ns1.quarry-dns.example"];
    const ANYCAST: &[&str] = &["a.anycast-one.example", "b.anycast-one.example"];
    let zones: &[(&str, &[&str])] = &[
        (".", &["a.root.lab", "b.root.lab"]),
        ("example", &["a.nic.example", "b.nic.example"]),
        ("com", &["a.nic.com"]),
        ("alder.example", MERIDIAN),
        ("sealed.example", MERIDIAN),
        ("alder-labs-demo.com", MERIDIAN),
        ("forged.example", MERIDIAN),
        ("juniper-lab.example", MERIDIAN),
        ("sour-milk.example", QUARRY),
        ("unsealed.example", QUARRY),
        ("kestrel-demo.com", ANYCAST),
        ("vantage.example", ANYCAST),
        ("wrong-key.example", ANYCAST),
        ("half-life.example", ANYCAST),
    ];
    let path = w.dir.path().join("unbound.conf");
    std::fs::write(&path, configuration(&w, zones)).unwrap();
    for (name, qtype, verdict) in [
        ("alder.example", "MX", "(secure)"),
        ("nope.alder.example", "A", "(secure)"),
        ("alder.example", "SRV", "(secure)"),
        ("sealed.example", "A", "(secure)"),
        ("any.apps.sealed.example", "A", "(secure)"),
        ("any.apps.sealed.example", "TXT", "(secure)"),
        ("nope.sealed.example", "A", "(secure)"),
        ("alder-labs-demo.com", "A", "(secure)"),
        ("kestrel-demo.com", "A", "(secure)"),
        ("nope.kestrel-demo.com", "A", "(secure)"),
        ("vacant-demo.com", "A", "(secure)"),
        ("vacant-lot.example", "A", "(secure)"),
        ("vantage.example", "A", "(secure)"),
        ("half-life.example", "A", "(secure)"),
        ("juniper-lab.example", "A", "(insecure)"),
        ("unsealed.example", "A", "(insecure)"),
        ("forged.example", "A", "(BOGUS"),
        ("sour-milk.example", "A", "(BOGUS"),
        ("wrong-key.example", "A", "(BOGUS"),
    ] {
        // The lab's own resolvers say the same.
        let mut message = question(name, qtype.parse().unwrap(), &signed());
        message.metadata.recursion_desired = true;
        let (bytes, _) =
            w.raw("linden.resolver.lab", &message.to_vec().unwrap(), &signed()).await.expect("an answer");
        let answer = Message::from_vec(&bytes).unwrap();
        let said = match code(&answer) {
            ResponseCode::ServFail => "(BOGUS",
            _ if answer.metadata.authentic_data => "(secure)",
            _ => "(insecure)",
        };
        assert_eq!(said, verdict, "{name} {qtype} at a resolver of the lab");
        if !has_unbound {
            continue;
        }
        let output = Command::new("unbound-host")
            .arg("-C")
            .arg(&path)
            .args(["-v", "-t", qtype, name])
            .output()
            .await
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(verdict), "{name} {qtype} is not {verdict}: {text}");
    }
}
