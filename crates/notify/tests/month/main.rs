//! The whole path over a simulated month: 50 domains looked at every three hours by the real scanner, with a scripted list
//! of true changes and of accidents, the real store, rules and dispatcher, and two webhooks that record what arrives. Every
//! true change that the rules ask for arrives once, and so does its end; nothing else does. The daily digest has none of
//! what was over before it was sent.

mod script;
mod sink;

use jiff::ToSpan;
use model::ids::OrgId;
use model::item::Ownership;
use model::notify::{Channel, Delivery, Rule, Target};
use monitor::{Clock, Hub, Policy, Scanner};
use notify::{Deliverer, Dispatcher};
use script::{DOMAINS, STEP_HOURS, STEPS, Script, expected, name};
use sink::Sink;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{NewItem, Store};

const ORG: OrgId = OrgId::BUILT_IN;

async fn set_up(store: &dyn Store, script: &Script, sink: &Sink) {
    let now = script.now();
    let items: Vec<_> = (0..DOMAINS)
        .map(|n| NewItem {
            unicode: name(n).unicode(),
            name: name(n),
            ownership: Ownership::Owned,
            tags: vec![],
            note: String::new(),
        })
        .collect();
    store.add(ORG, &items, now).await.unwrap();
    for (id, delivery) in [("now", Delivery::Immediate), ("daily", Delivery::Daily { hour: 7 })] {
        let target = Target::Webhook { url: sink.url(id), secret: notify::new_secret([7; 32]) };
        store
            .save_channel(ORG, &Channel { id: id.into(), name: id.into(), target, created_at: now }, now)
            .await
            .unwrap();
        let channels = vec![id.into()];
        let rule = Rule { id: id.into(), name: id.into(), channels, delivery, ..Rule::default() };
        store.save_rule(ORG, &rule, now).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_true_change_of_a_month_arrives_once_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let store = store::open(&folder.path().to_string_lossy()).await.unwrap();
    let script = Arc::new(Script::new());
    let sink = Sink::start().await;
    set_up(&*store, &script, &sink).await;
    let scanner = Scanner {
        store: store.clone(),
        observer: script.clone(),
        clock: script.clone(),
        hub: Hub::default(),
        policy: Policy::default(),
    };
    let dialer = net::Dialer::new(net::Settings { allow_private: true, ..net::Settings::default() }).unwrap();
    let clock = script.clone();
    let deliverer = Deliverer::new(dialer, None, None);
    let dispatcher = Dispatcher::new(store.clone(), Arc::new(move || clock.now()), deliverer);
    for _ in 0..STEPS {
        for n in 0..DOMAINS {
            scanner.scan(&name(n), false).await.unwrap();
        }
        while dispatcher.deliver_due().await.unwrap() > 0 {}
        script.advance(STEP_HOURS.hours());
    }
    let seen = sink.seen();
    for (channel, is_digest) in [("now", false), ("daily", true)] {
        let mut arrived: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut ids = Vec::new();
        for event in seen.iter().filter(|e| e.channel == channel) {
            arrived.entry(event.domain.clone()).or_default().push(event.kind.clone());
            ids.push(event.id);
        }
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(all, ids.len(), "{channel}: an event arrived twice");
        for n in 0..DOMAINS {
            let got = arrived.remove(name(n).as_str()).unwrap_or_default();
            assert_eq!(got, expected(n, is_digest), "{channel}: {}", name(n));
        }
        assert!(arrived.is_empty(), "{arrived:?}");
    }
    assert_eq!(store.outbox_stats().await.unwrap(), store::OutboxStats::default());
}
