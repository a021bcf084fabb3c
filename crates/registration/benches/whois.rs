//! Samples per second of the WHOIS parser on one core, over the corpus (not part of the repository).
//! `cargo bench -p domainscope-registration`.

use std::path::Path;
use std::time::Instant;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/whois");
    let Ok(expected) = std::fs::read_to_string(root.join("expected.jsonl")) else {
        println!("SKIPPED: no corpus at {}", root.display());
        return;
    };
    let cases: Vec<(String, String, Vec<u8>)> = expected
        .lines()
        .filter_map(|l| {
            let v: serde_json::Value = serde_json::from_str(l).ok()?;
            let raw = std::fs::read(root.join(v["raw"].as_str()?)).ok()?;
            Some((v["domain"].as_str()?.to_string(), v["tld"].as_str()?.to_string(), raw))
        })
        .collect();
    let bytes: usize = cases.iter().map(|c| c.2.len()).sum();
    let pass = || {
        cases
            .iter()
            .filter(|(d, t, raw)| {
                registration::parse_whois(d, Some(t), None, raw).outcome.as_str() == "registered"
            })
            .count()
    };
    let registered = pass();
    let rounds = if cfg!(debug_assertions) { 1 } else { 40 };
    let start = Instant::now();
    for _ in 0..rounds {
        assert_eq!(std::hint::black_box(pass()), registered);
    }
    let seconds = start.elapsed().as_secs_f64();
    let n = (rounds * cases.len()) as f64;
    println!(
        "{:.0} samples/s, {:.1} MB/s ({} samples, {registered} registered, {} rounds, {:.2} s)",
        n / seconds,
        rounds as f64 * bytes as f64 / 1e6 / seconds,
        cases.len(),
        rounds,
        seconds
    );
}
