//! Golden texts of rendered traces: what a person reads in a terminal.

mod fake;

use dns::render::trace_tree;
use fake::{Fault, faulty, server, world};
use model::dns::Trace;
use model::names::Fqdn;

const ROOT: (&str, &str) = (
    "",
    "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
     @ 60 NS a.root.example.
     test. 3600 NS ns1.test.
     test. 3600 NS ns2.test.
     test. 3600 NS ns3.test.
     test. 3600 DS 12345 13 2 E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855
     ns1.test. 60 A 192.0.2.11
     ns2.test. 60 A 192.0.2.12
     ns3.test. 60 A 192.0.2.13",
);
const TLD: (&str, &str) = (
    "test",
    "@ 60 SOA ns1.test. host.test. 7 2 3 4 5
     @ 60 NS ns1.test.
     www 60 A 198.51.100.1",
);

/// Times differ from run to run; so does which of two equals is faster.
fn still(mut trace: Trace) -> Trace {
    trace.elapsed_ms = 0.0;
    for step in &mut trace.steps {
        for answer in &mut step.answers {
            answer.latency_ms = answer.latency_ms.map(|_| 1.0);
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
    let w = world(
        &["192.0.2.1"],
        vec![
            server("192.0.2.1", &[ROOT]),
            server("192.0.2.11", &[TLD]),
            faulty("192.0.2.12", &[TLD], Fault::Refused),
            server("192.0.2.13", &[TLD]),
        ],
    )
    .await;
    let found = still(w.engine().trace(&Fqdn::trusted("www.test"), "A").await.unwrap());
    insta::assert_snapshot!("found", trace_tree(&found, false));
    let missing = still(w.engine().trace(&Fqdn::trusted("nothing.test"), "A").await.unwrap());
    insta::assert_snapshot!("missing", trace_tree(&missing, false));
    assert!(trace_tree(&found, true).contains("\u{1b}[32m"), "colour when asked for");
    assert!(!trace_tree(&found, false).contains('\u{1b}'), "none when not");
}
