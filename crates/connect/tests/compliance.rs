//! The development half of the compliance cases that the Domain Connect project publishes, where it is at hand.

use serde_json::Value;
use std::path::{Path, PathBuf};

fn corpus() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/domain-connect");
    let folder =
        std::env::var_os("DOMAINSCOPE_CORPUS").map_or(folder, |root| Path::new(&root).join("domain-connect"));
    folder.is_dir().then_some(folder)
}

fn find(folder: &Path, provider: &str, service: &str) -> connect::Result<Option<connect::Template>> {
    let name = format!("{provider}.{service}.json").to_lowercase();
    let text = std::fs::read_to_string(folder.join("templates").join(name)).ok();
    text.map(|text| connect::Template::from_json(&serde_json::from_str(&text).unwrap())).transpose()
}

/// Sorted as the cases ask, so that order does not matter.
fn sorted(records: &Value) -> Vec<Value> {
    let mut records = records.as_array().cloned().unwrap_or_default();
    let key = |r: &Value| ["type", "name", "ttl", "data"].map(|field| r[field].to_string());
    records.sort_by_key(key);
    records
}

fn fault(expect: &Value, output: &Value) -> Option<String> {
    if let Some(kind) = expect["exception"].as_str() {
        return (output["error"]["kind"] != kind).then(|| format!("wanted {kind}, got {output}"));
    }
    if !output["error"].is_null() {
        return Some(format!("failed: {output}"));
    }
    for (count, list) in [("new_count", "new"), ("delete_count", "delete")] {
        let got = output[list].as_array().map_or(0, Vec::len);
        if expect[count].as_u64().is_some_and(|wanted| wanted != got as u64) {
            return Some(format!("{count}: wanted {}, got {got}: {output}", expect[count]));
        }
    }
    let (wanted, got) = (sorted(&expect["records"]), sorted(&output["records"]));
    (!expect["records"].is_null() && wanted != got)
        .then(|| format!("records:\n  want {wanted:?}\n  got  {got:?}"))
}

#[test]
fn all_development_cases_pass() {
    let Some(folder) = corpus() else {
        eprintln!("skipped: the compliance cases are not at ../shared/corpus/domain-connect");
        return;
    };
    let (mut passed, mut faults) = (0, Vec::new());
    for file in ["process_records", "process_records_apexcname", "process_records_redir", "apply_template"] {
        let text = std::fs::read_to_string(folder.join(format!("{file}_tests.yaml"))).unwrap();
        let suite: Value = serde_saphyr::from_str(&text).unwrap();
        for case in suite["tests"].as_array().unwrap() {
            let result = connect::case::plan(&case["input"], &|p, s| find(&folder, p, s), &|| "new".into());
            match fault(&case["expect"], &connect::case::output(&result)) {
                None => passed += 1,
                Some(fault) => faults.push(format!("{}: {fault}", case["id"])),
            }
        }
    }
    assert!(faults.is_empty(), "{passed} passed, {} failed:\n{}", faults.len(), faults.join("\n"));
    assert_eq!(passed, 136);
}
