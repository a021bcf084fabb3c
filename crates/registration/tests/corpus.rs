//! Reads the corpus of real WHOIS answers (not part of the repository) and holds the parser to it: every field at
//! least 98 % exact and at most 0.3 % wrong, outcomes at least 99 % right. The comparison rules are those of the
//! corpus' README.

mod compare;

use compare::{Cell, Grade};
use model::registration::Outcome;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn corpus() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/whois");
    if root.join("expected.jsonl").is_file() {
        return Some(root);
    }
    println!("SKIPPED: no corpus at {}", root.display());
    None
}

fn cases(root: &Path) -> Vec<(Value, Vec<u8>)> {
    let text = std::fs::read_to_string(root.join("expected.jsonl")).unwrap();
    text.lines()
        .filter(|l| !l.trim().is_empty())
        .map(|l| {
            let case: Value = serde_json::from_str(l).unwrap();
            let raw = std::fs::read(root.join(case["raw"].as_str().unwrap())).unwrap();
            (case, raw)
        })
        .collect()
}

#[test]
fn the_corpus_is_read_as_expected() {
    let Some(root) = corpus() else { return };
    let mut table: BTreeMap<&'static str, Cell> = BTreeMap::new();
    let (mut outcomes, mut right) = (0u32, 0u32);
    for (case, raw) in cases(&root) {
        let id = case["id"].as_str().unwrap();
        let reading =
            registration::parse_whois(case["domain"].as_str().unwrap(), case["tld"].as_str(), None, &raw);
        let expected = case["outcome"].as_str().unwrap();
        outcomes += 1;
        let good = match expected {
            "unknown" => reading.outcome != Outcome::Available,
            e => reading.outcome.as_str() == e,
        };
        right += u32::from(good);
        if !good {
            println!("outcome   {id}: {} instead of {expected}", reading.outcome.as_str());
        }
        for (field, grade, note) in compare::grades(&case, &reading) {
            let cell = table.entry(field).or_default();
            match grade {
                Grade::Exact => cell.exact += 1,
                Grade::Missing => cell.missing += 1,
                Grade::Wrong => cell.wrong += 1,
                Grade::Unclaimed => continue,
            }
            if grade != Grade::Exact {
                println!("{field:<12}{id}: {grade:?} {note}");
            }
        }
    }
    println!("{:<14}{:>6}{:>9}{:>7}{:>9}", "field", "exact", "missing", "wrong", "exact %");
    for (field, c) in &table {
        println!("{field:<14}{:>6}{:>9}{:>7}{:>9.2}", c.exact, c.missing, c.wrong, c.share(c.exact));
    }
    println!("outcome {right}/{outcomes}");
    assert!(f64::from(right) >= 0.99 * f64::from(outcomes), "outcomes {right}/{outcomes}");
    for (field, c) in &table {
        assert!(c.share(c.exact) >= 98.0, "{field}: only {:.2} % exact", c.share(c.exact));
        assert!(c.share(c.wrong) <= 0.3, "{field}: {:.2} % wrong", c.share(c.wrong));
    }
}

#[test]
fn line_ends_do_not_matter() {
    let Some(root) = corpus() else { return };
    for (case, raw) in cases(&root) {
        let Ok(text) = String::from_utf8(raw) else { continue };
        let lf = text.replace("\r\n", "\n").replace('\r', "\n");
        let read = |t: &str| {
            registration::parse_whois(
                case["domain"].as_str().unwrap(),
                case["tld"].as_str(),
                None,
                t.as_bytes(),
            )
        };
        assert_eq!(read(&lf), read(&lf.replace('\n', "\r\n")), "{}", case["id"]);
    }
}

/// A cut-off answer (a connection that broke) may say less, never something else.
#[test]
fn a_cut_answer_never_turns_into_a_free_name() {
    let Some(root) = corpus() else { return };
    let mut bad = Vec::new();
    for (case, raw) in cases(&root) {
        if case["outcome"] != "registered" {
            continue;
        }
        for part in 1..8 {
            let reading = registration::parse_whois(
                case["domain"].as_str().unwrap(),
                case["tld"].as_str(),
                None,
                &raw[..raw.len() * part / 8],
            );
            if reading.outcome == Outcome::Available {
                bad.push((case["id"].clone(), part));
            }
        }
    }
    assert!(bad.is_empty(), "{bad:?}");
}

/// Whatever lines of a record are lost, what is left is no free name.
#[test]
fn a_thinned_answer_never_turns_into_a_free_name() {
    let Some(root) = corpus() else { return };
    let mut seed = 2_463_534_242_u32;
    let mut bad = Vec::new();
    for (case, raw) in cases(&root) {
        if case["outcome"] != "registered" {
            continue;
        }
        let lines: Vec<&[u8]> = raw.split_inclusive(|b| *b == b'\n').collect();
        for round in 2..8_u32 {
            let mut kept = Vec::new();
            for line in &lines {
                seed ^= seed << 13;
                seed ^= seed >> 17;
                seed ^= seed << 5;
                if seed % 12 > round {
                    kept.extend_from_slice(line);
                }
            }
            let (domain, tld) = (case["domain"].as_str().unwrap(), case["tld"].as_str());
            if registration::parse_whois(domain, tld, None, &kept).outcome == Outcome::Available {
                bad.push((case["id"].clone(), String::from_utf8_lossy(&kept).into_owned()));
            }
        }
    }
    assert!(bad.is_empty(), "{}: {:?}", bad.len(), bad.first());
}

/// Broken copies of real answers: bytes flipped, cut out, doubled, put in. Deterministic, so that a failure repeats.
#[test]
fn broken_copies_of_real_answers_do_no_harm() {
    let Some(root) = corpus() else { return };
    let cases = cases(&root);
    let mut seed = 88_172_645_463_325_252_u64;
    let mut random = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below.max(1) as u64) as usize
    };
    let pieces: [&[u8]; 8] = [b"\n", b":", b"\t", b"(", b"[", b"\xff", b"\0", b"<br"];
    for _ in 0..1500 {
        let (case, raw) = &cases[random(cases.len())];
        let mut bytes = raw.clone();
        for _ in 0..1 + random(20) {
            let at = random(bytes.len());
            let end = (at + random(50)).min(bytes.len());
            match random(4) {
                0 if !bytes.is_empty() => bytes[at] = random(256) as u8,
                1 => drop(bytes.drain(at..end)),
                2 => drop(bytes.splice(at..at, pieces[random(pieces.len())].iter().copied())),
                _ => bytes.extend_from_within(at..end),
            }
        }
        let reading =
            registration::parse_whois(case["domain"].as_str().unwrap(), case["tld"].as_str(), None, &bytes);
        let json = registration::reading_to_json(&reading);
        assert!(json["outcome"].is_string());
    }
}
