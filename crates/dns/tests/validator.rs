//! Verdicts on a chain from a trust anchor at `test` to `sealed.test`, with one thing made of it in each case: ours, and
//! those of Unbound where it is installed. Both zones have the same keys, as with operators who sign all zones alike:
//! what one zone says must not count for the other.

mod catalogue;
mod chains;
mod fake;
mod peers;
mod sealed;
mod signed;

use chains::{Chain, PARENT, links, zones};
use data_encoding::BASE64;
use dns::{Settings, TrustAnchors};
use model::dns::DnssecStatus::{self, Bogus, Insecure, Secure};
use sealed::world::tree;
use sealed::{NAME, NOW, ds_of};
use std::process::Command;
use std::time::Duration;

/// Unbound's verdict, with the zones' servers told to it: it takes ports only so.
fn theirs(chain: &Chain, world: &fake::World) -> (Option<DnssecStatus>, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("unbound.conf");
    let port = |address: &str| world.map.dial(format!("{address}:53").parse().unwrap()).port();
    let mut text = String::from(
        "server:\n  do-not-query-localhost: no\n  do-ip6: no\n  do-daemonize: no\n  harden-algo-downgrade: yes\n  \
         module-config: \"validator iterator\"\n  val-override-date: \"20231114221320\"\n  \
         local-zone: \"test.\" nodefault\n",
    );
    for key in &chain.anchors {
        let [high, low, protocol, algorithm, public @ ..] = key.as_slice() else { panic!("a key") };
        let flags = u16::from_be_bytes([*high, *low]);
        let public = BASE64.encode(public);
        text += &format!("  trust-anchor: \"{PARENT}. DNSKEY {flags} {protocol} {algorithm} {public}\"\n");
    }
    for (zone, address) in [(PARENT, "192.0.2.2"), (NAME, "192.0.2.11")] {
        let port = port(address);
        text += &format!("stub-zone:\n  name: \"{zone}\"\n  stub-prime: no\n  stub-addr: 127.0.0.1@{port}\n");
    }
    std::fs::write(&path, text).unwrap();
    let output = Command::new("unbound-host").arg("-C").arg(&path).args(["-v", "-t", "SOA", NAME]).output();
    let said = String::from_utf8_lossy(&output.unwrap().stdout).into_owned();
    let verdict = [("(secure)", Secure), ("(insecure)", Insecure), ("(BOGUS", Bogus)]
        .into_iter()
        .find_map(|(word, verdict)| said.contains(word).then_some(verdict));
    (verdict, said)
}

async fn compare(chains: Vec<Chain>) {
    let unbound = peers::find("unbound-host", "unbound-host").is_some();
    let now = jiff::Timestamp::from_second(NOW.into()).unwrap();
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for chain in chains {
        let world = tree(NAME, [chain.parent; 2], [chain.child; 2]).await;
        let anchors = chain.anchors.iter().map(|key| (PARENT.to_string(), ds_of(PARENT, key, 2))).collect();
        let settings = Settings {
            trust_anchors: TrustAnchors(anchors),
            timeout: Duration::from_secs(3),
            ..world.settings()
        };
        let ours = dns::Engine::new(settings).dnssec(NAME, now).await.unwrap();
        if ours.status != chain.verdict {
            wrong.push(format!("{}: ours {:?}, {}", chain.what, ours.status, ours.reason));
        }
        if unbound {
            let what = chain.what;
            let wanted = chain.theirs.unwrap_or(chain.verdict);
            let (verdict, said) = tokio::task::spawn_blocking(move || theirs(&chain, &world)).await.unwrap();
            compared += 1;
            if verdict != Some(wanted) {
                wrong.push(format!("{what}: Unbound {verdict:?}, {said}"));
            }
        }
    }
    println!("{compared} verdicts compared with Unbound's");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_parent_says_of_its_child() {
    compare(links()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_zone_says_of_itself() {
    compare(zones()).await;
}
