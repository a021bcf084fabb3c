//! What `/metrics` exports, and alert rules, judged by Prometheus' own `promtool`, and compared with dashboard and manual.

mod support;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use support::{Running, program};

const LIMIT: Duration = Duration::from_secs(120);

fn docs(file: &str) -> String {
    format!("{}/../docs/{file}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs promtool with a text as its input; `None`, with a printed message, when it is not installed.
fn promtool(args: &[&str], input: &str) -> Option<Output> {
    let mut command = Command::new("promtool");
    let command = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) => {
            let words = format!("promtool ({e}): cargo xtask setup, or apt-get install prometheus");
            assert!(std::env::var_os("CI").is_none(), "{words}");
            println!("SKIPPED: {words}");
            return None;
        }
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Some(child.wait_with_output().unwrap())
}

/// The names of metrics in PromQL, without the suffixes that belong to a histogram.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let ours = words.filter(|w| w.starts_with("domainscope_"));
    ours.map(|w| {
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|s| w.strip_suffix(s));
        base.unwrap_or(w).to_string()
    })
    .collect()
}

/// Every query of the dashboard.
fn queries(json: &serde_json::Value, out: &mut Vec<String>) {
    match json {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                if let (true, Some(text)) = (key == "expr" || key == "query", value.as_str()) {
                    out.push(text.to_string());
                }
                queries(value, out);
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|v| queries(v, out)),
        _ => {}
    }
}

fn get(at: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    text.split_once("\r\n\r\n").map(|(_, body)| body.to_string()).unwrap_or_default()
}

/// The address in a line of the announcement.
fn address(line: &str) -> String {
    line.split("http://").nth(1).unwrap().split('/').next().unwrap().trim().to_string()
}

#[test]
fn alert_rules_are_well_formed_and_in_the_runbook() {
    let rules = docs("alerts.rules.yml");
    if let Some(checked) = promtool(&["check", "rules", &rules], "") {
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
    let manual = std::fs::read_to_string(docs("operations.md")).unwrap();
    let text = std::fs::read_to_string(rules).unwrap();
    let alerts: Vec<&str> = text.lines().filter_map(|l| l.trim().strip_prefix("- alert: ")).collect();
    assert!(alerts.len() > 5);
    for alert in alerts {
        assert!(manual.contains(&format!("`{alert}`")), "{alert} is not in the runbook");
    }
}

#[test]
fn each_alert_fires_when_what_it_watches_lasts_and_not_while_all_is_well() {
    let rules = std::fs::read_to_string(docs("alerts.rules.yml")).unwrap();
    let tests = std::fs::read_to_string(docs("alerts.tests.yml")).unwrap();
    for alert in rules.lines().filter_map(|l| l.trim().strip_prefix("- alert: ")) {
        let silent = tests.matches(&format!("alertname: {alert}, exp_alerts: []")).count();
        let fires = tests.matches(&format!("alertname: {alert}\n")).count();
        assert!(silent >= 2 && fires == 1, "{alert}: silent {silent} times, fires {fires} times");
    }
    // promtool looks for the rules beside their tests.
    let judged = |rules: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("alerts.rules.yml"), rules).unwrap();
        std::fs::write(folder.path().join("alerts.tests.yml"), &tests).unwrap();
        promtool(&["test", "rules", folder.path().join("alerts.tests.yml").to_str().unwrap()], "")
    };
    let Some(out) = judged(&rules) else { return };
    assert!(
        out.status.success(),
        "{}{}",
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
    assert!(!judged(&rules.replace("> 300", "> 3000")).unwrap().status.success(), "another threshold passes");
}

/// Whether promtool accepts these queries, and its words; `None` when it is not installed.
fn parses(queries: &[String]) -> Option<(bool, String)> {
    let rule =
        |(n, expr): (usize, &String)| serde_json::json!({ "record": format!("query:{n}"), "expr": expr });
    let rules: Vec<_> = queries.iter().enumerate().map(rule).collect();
    // JSON is YAML.
    let text = serde_json::json!({ "groups": [{ "name": "queries", "rules": rules }] }).to_string();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let checked = promtool(&["check", "rules", file.path().to_str().unwrap()], "")?;
    Some((checked.status.success(), String::from_utf8_lossy(&checked.stderr).into_owned()))
}

#[test]
fn promtool_parses_every_query_of_the_dashboard_and_of_the_service_levels() {
    let mut all = Vec::new();
    let dashboard = std::fs::read_to_string(docs("grafana/domainscope.json")).unwrap();
    queries(&serde_json::from_str(&dashboard).unwrap(), &mut all);
    // Those of variables are no PromQL.
    all.retain(|q| names(q).len() + q.matches("up{").count() > 0);
    let panels = all.len();
    let levels = std::fs::read_to_string(docs("production-readiness.md")).unwrap();
    let section = levels.split("\n## Service levels").nth(1).unwrap().split("\n### ").next().unwrap();
    // A bar in a table is escaped.
    let spans = section.split('`').skip(1).step_by(2).filter(|s| !names(s).is_empty());
    all.extend(spans.map(|s| s.replace("\\|", "|")));
    assert!(panels >= 30 && all.len() >= panels + 6, "{all:#?}");
    let Some((is_good, words)) = parses(&all) else { return };
    assert!(is_good, "{words}");
    for n in 0..all.len() {
        let mut broken = all.clone();
        broken[n].push(')');
        assert!(!parses(&broken).unwrap().0, "{} is accepted", broken[n]);
    }
}

#[test]
fn every_metric_of_rules_and_dashboard_is_exported_and_promtool_accepts_all() {
    let mut command = program();
    command.args(["serve", "--demo", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running(command.spawn().unwrap());
    let mut out = BufReader::new(running.0.stdout.take().unwrap());
    let (mut pages, mut health) = (String::new(), String::new());
    while health.is_empty() {
        let mut line = String::new();
        assert_ne!(out.read_line(&mut line).unwrap(), 0, "it ended");
        match line.trim_start() {
            l if l.starts_with("Open") => pages = address(l),
            l if l.starts_with("Metrics") => health = address(l),
            _ => {}
        }
    }

    let dashboard = std::fs::read_to_string(docs("grafana/domainscope.json")).unwrap();
    let mut wanted = Vec::new();
    queries(&serde_json::from_str(&dashboard).unwrap(), &mut wanted);
    assert!(wanted.len() > 10);
    wanted.push(std::fs::read_to_string(docs("alerts.rules.yml")).unwrap());
    let levels = std::fs::read_to_string(docs("production-readiness.md")).unwrap();
    wanted.push(levels);
    let wanted = names(&wanted.join("\n"));

    // Requests are counted from the first on.
    get(&pages, "/domains");
    assert!(wanted.contains("domainscope_http_seconds") && wanted.contains("domainscope_agents"));
    let begin = Instant::now();
    let text = loop {
        get(&pages, "/resolve?name=example&type=SOA");
        let text = get(&health, "/metrics");
        let exported = names(&text);
        let missing: Vec<_> = wanted.difference(&exported).collect();
        if missing.is_empty() {
            break text;
        }
        assert!(begin.elapsed() < LIMIT, "not exported: {missing:?}");
        std::thread::sleep(Duration::from_millis(500));
    };

    if let Some(checked) = promtool(&["check", "metrics"], &text) {
        let words = format!(
            "{}{}",
            String::from_utf8_lossy(&checked.stdout),
            String::from_utf8_lossy(&checked.stderr)
        );
        assert!(checked.status.success(), "{words}");
    }
    for name in names(&text) {
        assert!(text.contains(&format!("# HELP {name} ")), "{name} has no help text: cli/exposition.rs");
    }
}
