//! The corpus of real answers (not part of the repository) with its outward form changed: line ends, tabs, trailing blanks,
//! capital labels, banners, comments, blocks in another order. What an answer says stays the same, so must the reading.

mod compare;
mod outward;

use compare::{Cell, Grade};
use model::registration::Outcome;
use outward::{CHANGES, Change, label};
use serde_json::Value;
use std::path::Path;

struct Case {
    json: Value,
    text: String,
}

fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/whois");
    let Ok(text) = std::fs::read_to_string(root.join("expected.jsonl")) else {
        println!("SKIPPED: no corpus at {}", root.display());
        return Vec::new();
    };
    let case = |l: &str| {
        let json: Value = serde_json::from_str(l).unwrap();
        let raw = std::fs::read(root.join(json["raw"].as_str().unwrap())).unwrap();
        // Text in other encodings is left to the other tests.
        let text = String::from_utf8(raw).ok()?.replace("\r\n", "\n").replace('\r', "\n");
        Some(Case { json, text })
    };
    text.lines().filter(|l| !l.trim().is_empty()).filter_map(case).collect()
}

#[derive(Default, PartialEq, Eq, Debug)]
struct Score {
    right: u32,
    fields: Cell,
}

/// Reads every case after `change`; cases that are right as they are and not after the change are printed.
fn score(what: &str, cases: &[Case], change: impl Fn(&str) -> String) -> (Score, Score) {
    let (mut before, mut after) = (Score::default(), Score::default());
    for c in cases {
        let at = |k: &str| c.json[k].as_str().unwrap();
        let read =
            |text: &str| registration::parse_whois(at("domain"), Some(at("tld")), None, text.as_bytes());
        let mut grades = Vec::new();
        for (text, score) in [(c.text.clone(), &mut before), (change(&c.text), &mut after)] {
            let reading = read(&text);
            let good = match at("outcome") {
                "unknown" => reading.outcome != Outcome::Available,
                e => reading.outcome.as_str() == e,
            };
            score.right += u32::from(good);
            let all = compare::grades(&c.json, &reading);
            for (_, grade, _) in &all {
                match grade {
                    Grade::Exact => score.fields.exact += 1,
                    Grade::Missing => score.fields.missing += 1,
                    Grade::Wrong => score.fields.wrong += 1,
                    Grade::Unclaimed => {}
                }
            }
            grades.push((reading.outcome, all));
        }
        if grades[0].0 != grades[1].0 {
            println!("{what}: {}: {:?} instead of {:?}", at("id"), grades[1].0, grades[0].0);
        }
        for ((field, was, _), (_, is, note)) in grades[0].1.iter().zip(&grades[1].1) {
            if was != is {
                println!("{what}: {}: {field} {is:?} {note}", at("id"));
            }
        }
    }
    (before, after)
}

#[test]
fn the_outward_form_does_not_matter() {
    let cases = cases();
    for (what, change) in CHANGES {
        let (before, after) = score(what, &cases, change);
        println!("{what}: {before:?} {after:?}");
        assert_eq!(before, after, "{what}");
    }
}

/// Blocks parted by blank lines, those after the domain's own in reverse: few answers depend on the order of blocks, and
/// none may be misread for it.
#[test]
fn the_order_of_blocks_matters_little() {
    let cases = cases();
    let (before, after) = score("reordered", &cases, |t| {
        let blocks: Vec<&str> = t.split("\n\n").collect();
        let own = blocks.iter().position(|b| {
            b.lines().any(|l| {
                let l = l.trim().to_lowercase();
                l.starts_with("domain") && l.contains('.')
            })
        });
        let Some(own) = own else { return t.to_string() };
        let mut out: Vec<&str> = blocks[..=own].to_vec();
        out.extend(blocks[own + 1..].iter().rev());
        out.join("\n\n")
    });
    println!("reordered: {before:?} {after:?}");
    let (was, is) = (&before.fields, &after.fields);
    assert!(is.share(is.exact) + 1.0 >= was.share(was.exact), "{before:?} {after:?}");
    assert!(is.share(is.wrong) <= 0.3 && after.right == before.right, "{before:?} {after:?}");
}

/// A contact's dates, state and registrar are not the domain's, whatever style the block is in.
#[test]
fn a_contact_after_the_record_changes_nothing() {
    let mut cases = cases();
    cases.retain(|c| c.json["expected"].as_object().is_some_and(|e| !e.is_empty()));
    let changes: [(&str, Change); 2] = [
        ("a contact at the end", |t| {
            format!(
                "{t}\n\ncontact:      EX-9\nname:         Some Body\naddress:      1 Street\nphone:        \
                 +1.0000000000\ncreated:      1999-09-09\nchanged:      1998-08-08\nstatus:       verified\nregistrar:    \
                 REG-OTHER\nsource:       TEST\n"
            )
        }),
        ("an indented contact at the end", |t| {
            format!(
                "{t}\n\nTechnical Contact:\n   Name: Some Body\n   Organization: Other Ltd\n   Email: a@other.example\n   \
                 Created: 1999-09-09\n   Last Updated: 1998-08-08\n   Status: verified\n   Expires: 2001-01-01\n"
            )
        }),
    ];
    for (what, change) in changes {
        let (before, after) = score(what, &cases, change);
        println!("{what}: {before:?} {after:?}");
        assert_eq!(before, after, "{what}");
    }
}

/// A field that is made empty is unknown or as before: nothing else may be read in its place, and what is left of a record
/// is still a record. An answer that states a field twice, or a registrar by name and handle, may fall back on the other.
#[test]
fn an_empty_field_is_not_filled_from_elsewhere() {
    let (mut emptied, mut bad) = (0, 0);
    for (n, c) in cases().iter().filter(|c| c.json["outcome"] == "registered").enumerate() {
        let at = |k: &str| c.json[k].as_str().unwrap();
        let read = |text: &str| {
            let reading = registration::parse_whois(at("domain"), Some(at("tld")), None, text.as_bytes());
            (reading.outcome, registration::reading_to_json(&reading))
        };
        let (_, before) = read(&c.text);
        let lines: Vec<&str> = c.text.split('\n').collect();
        // Every second line of every answer: answers of one server take turns.
        for (i, line) in lines.iter().enumerate().filter(|(i, _)| (i + n) % 2 == 0) {
            let Some((label, _)) = label(line).filter(|(_, v)| !v.trim().is_empty()) else { continue };
            let filler = ["", "null", "-", "N/A", "unknown", "not found"][i % 6];
            // A state of "not found" does say that the name is free.
            let state = label.to_lowercase().contains("stat") && filler == "not found";
            let empty = format!("{label}: {}", if state { "null" } else { filler });
            let mut changed = lines.clone();
            changed[i] = &empty;
            let (outcome, after) = read(&changed.join("\n"));
            emptied += 1;
            assert_ne!(outcome, Outcome::Available, "{}: {line}", at("id"));
            let filled =
                ["created", "updated", "expires", "dnssec", "nameservers", "statuses"].iter().find(|f| {
                    let (was, is) = (&before[**f], &after[**f]);
                    let fewer = was
                        .as_array()
                        .zip(is.as_array())
                        .is_some_and(|(was, is)| is.iter().all(|v| was.contains(v)));
                    was != is && !is.is_null() && !fewer
                });
            if let Some(f) = filled {
                println!("{}: {line}: {f} {} -> {}", at("id"), before[*f], after[*f]);
                bad += 1;
            }
        }
    }
    assert!(bad * 2000 <= emptied, "{bad} of {emptied}");
}

/// The terms of real answers, without the records they stand beside, say nothing about a name.
#[test]
fn real_terms_alone_say_nothing() {
    let mut bad = 0;
    let mut seen = 0;
    for c in cases().iter().filter(|c| c.json["outcome"] == "registered") {
        let prose = |l: &&str| {
            let text = l.trim();
            let comment = text.starts_with(['%', '#', '>', '*']) && !text.contains("..:");
            text.is_empty() || comment || text.len() > 48 && !text.chars().take(34).any(|c| c == ':')
        };
        let terms = c.text.split('\n').filter(prose).collect::<Vec<_>>().join("\n");
        let at = |k: &str| c.json[k].as_str().unwrap();
        let outcome =
            registration::parse_whois(at("domain"), Some(at("tld")), None, terms.as_bytes()).outcome;
        seen += 1;
        if !matches!(outcome, Outcome::Unknown | Outcome::Registered) {
            println!("{}: {outcome:?}", at("id"));
            bad += 1;
        }
    }
    assert_eq!(bad, 0, "of {seen}");
}
