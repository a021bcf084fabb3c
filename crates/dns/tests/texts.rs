//! Golden texts of comparison and analyzer: what a person reads in a terminal, out of the lab's demo.

#[allow(dead_code)]
mod resolvers;

use dns::compare::Asking;
use dns::compare::text::{comparison, flush_advice};
use dns::fqdn::{Here, Vantage, analyze};
use dns::fqdn_text;
use model::compare::{Comparison, Earlier, judge};
use model::fqdn::FqdnReport;
use model::names::Fqdn;
use resolvers::{NOW, world};
use std::sync::Arc;

/// What differs from run to run: latencies, and the addresses that the lab hands out.
fn still(mut c: Comparison) -> Comparison {
    for s in &mut c.authority.servers {
        s.latency_ms = s.latency_ms.map(|_| 12.0);
        s.address = s.address.map(|_| "192.0.2.53".parse().unwrap());
    }
    c.authority.servers.sort_by(|a, b| (&a.owner, &a.server).cmp(&(&b.owner, &b.server)));
    c
}

fn quiet(mut r: FqdnReport) -> FqdnReport {
    for v in &mut r.vantages {
        v.latency_ms = v.latency_ms.map(|_| 11.0);
    }
    r
}

#[tokio::test]
async fn a_comparison_reads_well() {
    let w = world("demo").await;
    let asked = |name: &str| Asking::new(Fqdn::trusted(name), "A");
    let run = |a: Asking| {
        let comparer = w.comparer();
        async move { still(comparer.run(&a, &mut |_| ()).await.unwrap()) }
    };
    insta::assert_snapshot!("compare_stale", comparison(&run(asked("orchard.example")).await, false));
    insta::assert_snapshot!("compare_geographic", comparison(&run(asked("q7.io")).await, false));
    insta::assert_snapshot!("compare_negative", comparison(&run(asked("newborn.example")).await, false));
    let mut denied = run(asked("nothing.q7.io")).await;
    insta::assert_snapshot!("compare_denied", comparison(&denied, false));
    let coloured = comparison(&run(asked("q7.io")).await, true);
    assert!(coloured.contains("\u{1b}[32m✓ Same"), "colour when asked for");

    // A machine whose own resolver remembers the "no": how to flush is said.
    let c = run(asked("newborn.example")).await;
    let said = c.answers.iter().find(|j| j.resolver.id == "kestrel").unwrap().answer.clone().unwrap();
    let row = model::resolvers::PublicResolver::of_machine("127.0.0.53".parse().unwrap());
    denied.own = vec![judge(&c.authority, &row, Some(&said), &Earlier::default(), c.now)];
    insta::assert_snapshot!("compare_flush", flush_advice(&denied.own, false));
    assert_eq!(flush_advice(&[], false), "");
}

#[tokio::test]
async fn a_report_on_a_host_reads_well() {
    let w = world("demo").await;
    for (file, name) in [
        ("fqdn_chain", "www.orchard.example"),
        ("fqdn_missing", "nothing.q7.io"),
        ("fqdn_apex", "copperline.example"),
    ] {
        let here: Arc<dyn Vantage> = Arc::new(Here::new(w.engine.clone()).called("This machine"));
        let report = quiet(analyze(&Fqdn::trusted(name), &[here], NOW.parse().unwrap()).await);
        insta::assert_snapshot!(file, fqdn_text::report(&report, false));
        assert!(!fqdn_text::report(&report, false).contains('\u{1b}'));
    }
}
