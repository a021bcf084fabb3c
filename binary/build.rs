//! Puts the browser bundle into the binary: every file of `dist/` becomes a row of a table. Without a bundle the
//! table is empty and pages are served without script.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    let dist = Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    collect(&dist, &mut files);
    files.sort();
    let mut table = String::from("static FILES: &[(&str, &[u8])] = &[\n");
    for file in files {
        let name = file.strip_prefix(&dist).expect("below dist").to_string_lossy().replace('\\', "/");
        let path = file.canonicalize().unwrap_or(file);
        writeln!(table, "({name:?}, include_bytes!({:?})),", path.display().to_string()).expect("a string");
    }
    table.push_str("];\n");
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("set by cargo")).join("bundle.rs");
    std::fs::write(out, table).expect("OUT_DIR is writable");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if path.is_dir() && !hidden {
            collect(&path, files);
        } else if !hidden {
            files.push(path);
        }
    }
}
