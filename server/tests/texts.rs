//! Golden texts of the terminal: traces, comparisons and reports on host names, out of the lab's demo.

mod demo;

use demo::{now, services, steady};
use dns::compare::Asking;
use dns::fqdn::{Here, Vantage, analyze};
use model::compare::{Comparison, Earlier, judge};
use model::dns::Trace;
use model::fqdn::FqdnReport;
use model::names::Fqdn;
use server::cli::text::compare::{comparison, flush_advice};
use server::cli::text::fqdn::report;
use server::cli::text::trace::trace_tree;
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

/// Times differ from run to run; so does which of two equals is faster.
fn traced(mut trace: Trace) -> Trace {
    trace.elapsed_ms = 0.0;
    for step in &mut trace.steps {
        for answer in &mut step.answers {
            answer.latency_ms = answer.latency_ms.map(|_| 1.0);
            answer.address = answer.address.map(|_| "192.0.2.53".parse().unwrap());
        }
        if let Some(chosen) = step.chosen {
            let kind = step.answers[chosen].kind;
            step.chosen = step.answers.iter().position(|a| a.kind == kind);
        }
    }
    trace
}

#[tokio::test]
async fn a_trace_reads_as_a_tree() {
    let folder = tempfile::tempdir().unwrap();
    let (services, _lab) = services(folder.path()).await;
    let trace = async |name: &str| traced(services.engine.trace(&Fqdn::trusted(name), "A").await.unwrap());
    let found = trace("www.lame-duck.example").await;
    insta::assert_snapshot!("trace_found", steady(&trace_tree(&found, false)));
    insta::assert_snapshot!("trace_missing", steady(&trace_tree(&trace("nothing.q7.io").await, false)));
    assert!(trace_tree(&found, true).contains("\u{1b}[32m"), "colour when asked for");
    assert!(!trace_tree(&found, false).contains('\u{1b}'), "none when not");
}

#[tokio::test]
async fn a_comparison_reads_well() {
    let folder = tempfile::tempdir().unwrap();
    let (services, _lab) = services(folder.path()).await;
    let comparer = &services.tools.comparer;
    let run = async |name: &str| {
        let asking = Asking::new(Fqdn::trusted(name), "A");
        still(comparer.run(&asking, &mut |_| ()).await.unwrap())
    };
    insta::assert_snapshot!("compare_stale", steady(&comparison(&run("orchard.example").await, false)));
    insta::assert_snapshot!("compare_geographic", steady(&comparison(&run("q7.io").await, false)));
    let negative = run("newborn.example").await;
    insta::assert_snapshot!("compare_negative", steady(&comparison(&negative, false)));
    let mut denied = run("nothing.q7.io").await;
    insta::assert_snapshot!("compare_denied", steady(&comparison(&denied, false)));
    let coloured = comparison(&run("q7.io").await, true);
    assert!(coloured.contains("\u{1b}[32m✓ Same"), "colour when asked for");

    // A machine whose own resolver remembers the "no": how to flush is said.
    let said = negative.answers.iter().find(|j| j.resolver.id == "kestrel").unwrap().answer.clone().unwrap();
    let row = model::resolvers::PublicResolver::of_machine("127.0.0.53".parse().unwrap());
    denied.own = vec![judge(&negative.authority, &row, Some(&said), &Earlier::default(), negative.now)];
    insta::assert_snapshot!("compare_flush", steady(&flush_advice(&denied.own, false)));
    assert_eq!(flush_advice(&[], false), "");
}

#[tokio::test]
async fn a_report_on_a_host_reads_well() {
    let folder = tempfile::tempdir().unwrap();
    let (services, _lab) = services(folder.path()).await;
    for (file, name) in [
        ("fqdn_chain", "www.orchard.example"),
        ("fqdn_missing", "nothing.q7.io"),
        ("fqdn_apex", "copperline.example"),
    ] {
        let here: Arc<dyn Vantage> = Arc::new(Here::new(services.engine.clone()).called("This machine"));
        let found = quiet(analyze(&Fqdn::trusted(name), &[here], now()).await);
        insta::assert_snapshot!(file, steady(&report(&found, false)));
        assert!(!report(&found, false).contains('\u{1b}'));
    }
}
