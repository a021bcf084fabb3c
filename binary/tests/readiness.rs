//! `docs/production-readiness.md` names only metrics, alerts, flags, commands and tests that exist, and is complete:
//! each feature and each alert rule has its row, each failure mode the test that covers it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn read(path: &str) -> String {
    std::fs::read_to_string(PathBuf::from(ROOT).join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The help of a command; `None` when there is no such command.
fn help(words: &[&str]) -> Option<String> {
    let out = Command::new(env!("CARGO_BIN_EXE_domainscope")).args(words).arg("--help").output().unwrap();
    out.status.success().then(|| String::from_utf8(out.stdout).unwrap())
}

/// Whether a text has a word, and not only a longer one that contains it.
fn has_word(text: &str, wanted: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c)).any(|word| word == wanted)
}

/// Names of alerts in the rules.
fn alerts() -> BTreeSet<String> {
    let rules = read("docs/alerts.rules.yml");
    rules.lines().filter_map(|l| l.trim().strip_prefix("- alert: ")).map(String::from).collect()
}

/// The lines of a section that are rows of a table, without its heading, as cells.
fn rows<'a>(text: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let section = text.split("\n## ").find(|s| s.starts_with(heading));
    let section = section.unwrap_or_else(|| panic!("no section {heading}"));
    // A bar inside code is written `\|`.
    let cells = |l: &'a str| {
        let mut cells = Vec::new();
        let mut from = 1;
        for (at, _) in l.match_indices('|').skip(1).filter(|(at, _)| !l[..*at].ends_with('\\')) {
            cells.push(l[from..at].trim());
            from = at + 1;
        }
        cells
    };
    let all: Vec<_> = section.lines().filter(|l| l.starts_with('|')).map(cells).collect();
    let is_rule = |row: &Vec<&str>| row.iter().all(|c| c.starts_with("---"));
    let headings: Vec<usize> = (0..all.len()).filter(|n| all.get(n + 1).is_some_and(is_rule)).collect();
    let kept = all.iter().enumerate().filter(|(n, row)| !headings.contains(n) && !is_rule(row));
    kept.map(|(_, row)| row.clone()).collect()
}

/// What is wrong with a test, written `path/of.rs` or `path/of.rs::name`.
fn wrong_test(span: &str) -> Option<String> {
    let (path, name) = span.split_once("::").map_or((span, None), |(p, n)| (p, Some(n)));
    let Ok(text) = std::fs::read_to_string(PathBuf::from(ROOT).join(path)) else {
        return Some(format!("no file {path}"));
    };
    let name = name?;
    (!text.contains(&format!("fn {name}("))).then(|| format!("no test {name} in {path}"))
}

/// What is wrong with a command line of ours: the command, or one of its flags.
fn wrong_command(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let lower = |w: &&&str| w.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !w.starts_with('-');
    let command: Vec<&str> = words.iter().take_while(lower).copied().collect();
    let Some(text) = help(&command) else { return vec![format!("no command {}", command.join(" "))] };
    let flags = words.iter().filter(|w| w.starts_with("--"));
    let flags = flags.map(|w| w.split('=').next().unwrap_or(w));
    flags.filter(|f| !has_word(&text, f)).map(|f| format!("no flag {f} of {}", command.join(" "))).collect()
}

/// Whether a document has a heading that a link leads to.
fn has_heading(file: &str, anchor: &str) -> bool {
    let slug = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        title
            .chars()
            .filter(|c| c.is_alphanumeric() || " -".contains(*c))
            .collect::<String>()
            .replace(' ', "-")
    };
    read(&format!("docs/{file}")).lines().any(|l| l.starts_with('#') && slug(l) == anchor)
}

/// All that a text names and that does not exist.
fn unknown(text: &str) -> Vec<String> {
    let (exposition, benches, serve) =
        (read("server/src/cli/exposition.rs"), read("xtask/src/bench.rs"), help(&["serve"]).unwrap());
    let alerts = alerts();
    let mut wrong = Vec::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|s| word.strip_suffix(s)).unwrap_or(word);
        let is_alert = word.strip_prefix("Domainscope").is_some_and(|rest| !rest.is_empty());
        let is_known = match word {
            _ if word.starts_with("domainscope_") => exposition.contains(&format!("\"{base}\"")),
            _ if word.starts_with("DOMAINSCOPE_") => has_word(&serve, word),
            _ if is_alert => alerts.contains(word),
            _ => true,
        };
        if !is_known {
            wrong.push(format!("no metric, variable or alert {word}"));
        }
    }
    // Text between backticks stands at the odd places.
    for span in text.split('`').skip(1).step_by(2) {
        if span.split("::").next().is_some_and(|path| path.ends_with(".rs")) {
            wrong.extend(wrong_test(span));
        } else if let Some(line) = span.strip_prefix("domainscope ") {
            wrong.extend(wrong_command(line));
        } else if span.starts_with("serve ") {
            wrong.extend(wrong_command(span));
        } else if span.starts_with("--") {
            wrong.extend(wrong_command(&format!("serve {span}")));
        } else if let Some(bench) = span.strip_prefix("cargo xtask bench ") {
            let name = bench.split_whitespace().next().unwrap_or_default();
            if !benches.contains(&format!("\"{name}\"")) {
                wrong.push(format!("no benchmark {name}"));
            }
        }
    }
    for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let file = if file.is_empty() { "production-readiness.md" } else { file };
        if !(anchor.is_empty() && PathBuf::from(ROOT).join("docs").join(file).exists()
            || has_heading(file, anchor))
        {
            wrong.push(format!("no place {link}"));
        }
    }
    wrong
}

#[test]
fn what_the_document_names_exists() {
    let wrong = unknown(&read("docs/production-readiness.md"));
    assert!(wrong.is_empty(), "docs/production-readiness.md: {wrong:#?}");
}

#[test]
fn a_document_that_names_what_does_not_exist_is_refused() {
    for (text, expected) in [
        ("`sum(domainscope_scan_total)`", "no metric, variable or alert domainscope_scan_total"),
        ("`DomainscopeScanLate`", "no metric, variable or alert DomainscopeScanLate"),
        ("`DOMAINSCOPE_SMTP`", "no metric, variable or alert DOMAINSCOPE_SMTP"),
        ("`--keep-day`", "no flag --keep-day of serve"),
        ("`serve --features a=off`", "no flag --features of serve"),
        ("`domainscope features of NAME`", "no command features of"),
        ("`domainscope features off NAME --waits 60`", "no flag --waits of features off"),
        ("`cargo xtask bench stores`", "no benchmark stores"),
        ("`binary/tests/ready.rs`", "no file binary/tests/ready.rs"),
        ("`binary/tests/readiness.rs::gone`", "no test gone in binary/tests/readiness.rs"),
        ("[runbook](operations.md#runbooks)", "no place operations.md#runbooks"),
    ] {
        assert_eq!(unknown(text), [expected], "{text}");
    }
    let good = "`serve --feature NAME=off`, `--keep-days`, `cargo xtask bench store -- --items 1000`, [a](operations.md#runbook)";
    assert_eq!(unknown(good), [""; 0]);
}

#[test]
fn each_feature_has_its_row() {
    let text = read("docs/production-readiness.md");
    let rows = rows(&text, "Features");
    let first = |row: &Vec<&str>| row[0].split('`').skip(1).step_by(2).map(String::from).collect::<Vec<_>>();
    let named: Vec<String> = rows.iter().flat_map(first).collect();
    let named_once: BTreeSet<&str> = named.iter().map(String::as_str).collect();
    let features: BTreeSet<&str> = features::FEATURES.iter().map(|s| s.name).collect();
    assert_eq!(named_once, features);
    assert_eq!(named.len(), features.len(), "one row for each feature: {named:?}");
    for row in rows {
        let default = features::spec(&first(&row)[0]).unwrap().default;
        assert_eq!(row[1].starts_with("on"), default, "{}", row[0]);
        let tests = row.last().unwrap();
        assert!(tests.contains(".rs::"), "{}: {tests} names no test", row[0]);
    }
}

#[test]
fn each_alert_detects_a_failure_and_each_failure_has_its_test() {
    let text = read("docs/production-readiness.md");
    let rows = rows(&text, "Failure modes");
    let detected: String = rows.iter().map(|row| row[1]).collect();
    let missing: Vec<_> = alerts().into_iter().filter(|a| !has_word(&detected, a)).collect();
    assert!(missing.is_empty(), "alerts of no failure mode: {missing:?}");
    for row in rows {
        let [failure, detection, mitigation, diagnostics, test] = row[..] else { panic!("{row:?}") };
        assert!(![detection, mitigation, diagnostics].contains(&""), "{failure}: an empty cell");
        assert!(test.contains(".rs::"), "{failure}: {test} names no test");
    }
}
