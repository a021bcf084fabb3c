//! What every tool says about every name of the demo, as one table that a person can read: `demo_table.txt`. The
//! functions are those of the pages and of the command line. `UPDATE_TABLE=1` rewrites the file; read the difference.

mod demo;

use demo::{now, services, steady};
use futures::StreamExt;
use jiff::Timestamp;
use model::ids::{Caller, OrgId};
use model::item::{Item, Ownership};
use model::judge::{Thresholds, judge};
use model::names::DomainName;
use model::verdict::CheckVerdict;
use product::Services;
use service::Backend;
use std::fmt::Write;
use std::path::PathBuf;

/// Hosts below the inventory, and names that are in no inventory.
const HOSTS: [&str; 16] = [
    "www.q7.io",
    "missing.q7.io",
    "www.alder.example",
    "www.orchard.example",
    "www.copperline.example",
    "www.sour-milk.example",
    "www.forged.example",
    "www.half-life.example",
    "www.lighthouse.example",
    "www.ghost-ship.example",
    "www.bridgeless.example",
    "loop.carousel.example",
    "loop.labyrinth.example",
    "www.vacant-lot.example",
    "never-registered.example",
    "no-such-tld.invalid",
];

/// One line of the table: what the command prints first, and its exit code.
fn line(out: &mut String, tool: &str, code: u8, words: &str) {
    writeln!(out, "  {tool:<8} {code}  {words}").unwrap();
}

/// What the four tools say about a name.
async fn rows(services: &Services, name: &str, now: Timestamp) -> String {
    let caller = Caller::system();
    let mut out = format!("{name}\n");
    // A host is scanned as its registrable domain, which has rows of its own.
    if let Some(domain) = DomainName::read(name).ok().map(|u| u.name).filter(|d| d.as_str() == name) {
        match services.look_up(&caller, domain.as_str()).await {
            Ok(r) => {
                let item = Item::new(OrgId::BUILT_IN, domain, Ownership::Owned, now);
                let status = judge(&item, &r.observation, &Thresholds::default(), now);
                let words = format!("{}: {}", status.kind.label(), status.why());
                line(&mut out, "scan", status.kind.is_problem().into(), &words);
                let all = model::attention::attention(&item, &status, Some(&r.observation));
                // How fast a server of the lab answers depends on the machine.
                for a in all.iter().filter(|a| !a.title.starts_with("Slow when asked once")) {
                    let todo = if a.todo.is_empty() { String::new() } else { format!(" → {}", a.todo) };
                    writeln!(out, "    {}{todo}", a.title).unwrap();
                }
            }
            Err(e) => line(&mut out, "scan", 2, &e.to_string()),
        }
    }
    match services.check(&caller, name, &[], &[]).await {
        Ok(o) => {
            let verdict =
                CheckVerdict::of(&o.zone, &o.findings, o.test_cases.len(), false).because(o.cause.as_ref());
            let code = o.findings.iter().any(model::finding::Finding::is_urgent).into();
            line(&mut out, "check", code, &format!("{:?}: {}", verdict.tone, verdict.title));
        }
        Err(e) => line(&mut out, "check", 2, &e.to_string()),
    }
    match services.fqdn(&caller, name).await {
        Ok(r) => line(&mut out, "fqdn", r.is_problem().into(), &format!("{:?}: {}", r.tone, r.headline)),
        Err(e) => line(&mut out, "fqdn", 2, &e.to_string()),
    }
    match services.compare(&caller, name, "A", false).await {
        Ok(c) => line(&mut out, "compare", (!c.agrees()).into(), &c.summary.sentence),
        Err(e) => line(&mut out, "compare", 2, &e.to_string()),
    }
    out
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_tool_says_the_worst_thing_first_about_every_name_of_the_demo() {
    let folder = tempfile::tempdir().unwrap();
    let (services, lab) = services(folder.path()).await;
    let now = now();
    let mut names = lab.endpoints().domains.clone();
    // It loses every second question: its result is chance.
    names.retain(|name| name != "leaky.example");
    names.sort();
    names.extend(HOSTS.map(String::from));
    let blocks: Vec<String> = futures::stream::iter(names)
        .map(|name| {
            let services = services.clone();
            async move { rows(&services, &name, now).await }
        })
        .buffered(8)
        .collect()
        .await;
    let table = steady(&blocks.join("\n"));
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/demo_table.txt");
    if std::env::var_os("UPDATE_TABLE").is_some() {
        std::fs::write(&file, &table).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap();
    let lines = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
    let (old, new) = (lines(&expected), lines(&table));
    let missing: Vec<_> = old.iter().filter(|l| !new.contains(l)).collect();
    let added: Vec<_> = new.iter().filter(|l| !old.contains(l)).collect();
    assert!(expected == table, "no longer said: {missing:#?}\nsaid now: {added:#?}");
}
