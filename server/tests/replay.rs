//! Recorded answers of real registries, replayed on port 43 by the lab, become inventory rows.

use model::ids::OrgId;
use model::inventory::ListQuery;
use model::item::Ownership;
use model::names::DomainName;
use monitor::{Hub, Policy, Scanner, SystemClock};
use serde_json::Value;
use server::settings::EngineArgs;
use server::wiring;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use store::NewItem;

/// The domains that the recordings call registered, each once, with what is expected of them.
fn registered(index: &Path) -> BTreeMap<String, Value> {
    let text = std::fs::read_to_string(index).unwrap();
    let cases: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for c in &cases {
        *counts.entry(c["domain"].as_str().unwrap()).or_default() += 1;
    }
    let wanted = |c: &&Value| {
        let domain = c["domain"].as_str().unwrap();
        // Recordings of a suffix or of a host below a domain are for the parser alone.
        let plain = DomainName::read(domain).is_ok_and(|u| u.name.as_str() == domain);
        c["outcome"] == "registered" && counts[domain] == 1 && plain
    };
    cases
        .iter()
        .filter(wanted)
        .map(|c| (c["domain"].as_str().unwrap().to_string(), c["expected"].clone()))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_answers_become_rows() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/whois");
    let index = corpus.join("expected.jsonl");
    if !index.exists() {
        println!("SKIPPED: {} is not here", index.display());
        return;
    }
    let wanted = registered(&index);
    let folder = tempfile::tempdir().unwrap();
    let scenario = lab::Scenario::named("small").unwrap().with_replay(&corpus, &index);
    let lab = lab::Lab::start(lab::Options::new(scenario, folder.path().join("lab"), jiff::Timestamp::now()))
        .await
        .unwrap();
    let args = EngineArgs {
        config: Some(lab.endpoints().engine.clone()),
        registry_spacing: Some(0),
        ..EngineArgs::default()
    };
    let store = store::open(&folder.path().to_string_lossy()).await.unwrap();
    let scanner = Scanner {
        store: store.clone(),
        observer: Arc::new(wiring::internet(&args.resolved().unwrap()).unwrap()),
        clock: Arc::new(SystemClock),
        hub: Hub::default(),
        policy: Policy::default(),
    };
    let items: Vec<_> = wanted
        .keys()
        .map(|n| NewItem {
            name: DomainName::trusted(n),
            unicode: n.clone(),
            ownership: Ownership::Watched,
            tags: vec![],
            note: String::new(),
        })
        .collect();
    let now = jiff::Timestamp::now();
    store.add(OrgId::BUILT_IN, &items, now).await.unwrap();
    for names in items.chunks(16) {
        let scans = names.iter().map(|i| scanner.scan(&i.name, true));
        for (item, result) in names.iter().zip(futures::future::join_all(scans).await) {
            result.unwrap_or_else(|e| panic!("{}: {e}", item.name));
        }
    }

    let query = ListQuery { per_page: 500, ..ListQuery::default() };
    let page = store.list(OrgId::BUILT_IN, &query, now).await.unwrap();
    assert_eq!(page.rows.len(), wanted.len());
    let (mut dates, mut wrong) = (0, Vec::new());
    for row in &page.rows {
        let expected = &wanted[row.name.as_str()];
        let date = |v: &Value| v.as_str().map(|s| s[..10].to_string());
        let expires = row.expires.map(|e| e.date().to_string());
        if let Some(wanted) = date(&expected["expires"]) {
            dates += 1;
            if expires.as_deref() != Some(&wanted) {
                wrong.push(format!("{}: expires {expires:?}, recorded {wanted}; {:?}", row.name, row.error));
            }
        }
        if expected["registrar"].is_string() && row.registrar.is_none() {
            wrong.push(format!("{}: no registrar; {:?}", row.name, row.error));
        }
    }
    println!("{} rows from recorded answers, {dates} with a recorded expiration", page.rows.len());
    assert!(dates > 100 && wrong.is_empty(), "{} of {}:\n{}", wrong.len(), page.rows.len(), wrong.join("\n"));
    lab.shutdown().await;
}
