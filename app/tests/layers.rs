//! Modules of the crate are layers: none uses one below itself in the order of `lib.rs`, so the crate reads from top to
//! bottom.

use std::fs;
use std::path::{Path, PathBuf};

/// The layers, lowest first. Modules of one layer do not use each other.
const LAYERS: [&[&str]; 7] = [
    &["clock", "query", "resource", "stream", "browser"],
    &["browser_dns", "live", "rule_draft", "check_draft", "mute_draft"],
    &["navigate"],
    &["server_fns"],
    &["components"],
    &["pages"],
    &["shell"],
];

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|modules| modules.contains(&module))
}

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn no_module_uses_a_higher_layer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 50, "the sources were found");
    let mut upward = Vec::new();
    for file in files {
        let relative = file.strip_prefix(&root).unwrap();
        let module = relative.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains("Resource::new("), "{}: json_resource instead", relative.display());
        let other_decoder =
            text.lines().find(|line| line.starts_with("#[server(") && !line.contains("output = Json"));
        assert_eq!(other_decoder, None, "{}: output = Json (service::json)", relative.display());
        let own = layer(module).unwrap_or_else(|| panic!("{module} has no layer"));
        for used in text.split("crate::").skip(1) {
            let used = used.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            if used != module && layer(used).is_some_and(|l| l >= own) {
                upward.push(format!("{} uses {used}", relative.display()));
            }
        }
    }
    assert!(upward.is_empty(), "{upward:#?}");
}
