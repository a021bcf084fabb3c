//! The tables of `data/` as JSON: what reads them runs in browsers too, where a reader of TOML would be one more to load.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=data");
    let out = std::env::var("OUT_DIR").expect("set by cargo");
    for entry in std::fs::read_dir("data").expect("the folder of tables") {
        let file = entry.expect("an entry of data/").path();
        let text = std::fs::read_to_string(&file).expect("a table");
        let table: toml::Table = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let name = file.file_stem().expect("a name");
        let json = serde_json::to_string(&table).expect("tables hold what JSON can say");
        std::fs::write(Path::new(&out).join(name).with_extension("json"), json).expect("OUT_DIR is writable");
    }
}
