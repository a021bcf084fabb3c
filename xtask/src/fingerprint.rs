//! One number for the content of many files: whether the browser bundle must be built again. Content, not
//! times, so that a checkout of another branch and back costs nothing.

use anyhow::{Context, Result};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// Hashes files and whole folders (names and contents, in a stable order); what does not exist is skipped.
pub fn of(root: &Path, inputs: &[&str], skip: &[&str]) -> Result<u64> {
    let mut files = Vec::new();
    for input in inputs {
        collect(&root.join(input), &mut files)?;
    }
    files.retain(|file| !skip.iter().any(|folder| file.starts_with(root.join(folder))));
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.strip_prefix(root).unwrap_or(&file).hash(&mut hasher);
        std::fs::read(&file).with_context(|| format!("reading {}", file.display()))?.hash(&mut hasher);
    }
    Ok(hasher.finish())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_file() {
        files.push(path.to_owned());
    } else if path.is_dir() {
        for entry in std::fs::read_dir(path).with_context(|| format!("listing {}", path.display()))? {
            collect(&entry?.path(), files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("in/deep")).expect("scratch folder");
        fs::create_dir_all(folder.join("in/out")).expect("scratch folder");
        fs::write(folder.join("in/deep/a"), "one").expect("scratch file");
        folder
    }

    #[test]
    fn content_and_names_count_and_skipped_folders_do_not() {
        let root = scratch("fingerprint");
        let hash = || of(&root, &["in", "missing"], &["in/out"]).expect("hashes");
        let first = hash();
        fs::write(root.join("in/out/generated"), "x").expect("scratch file");
        assert_eq!(first, hash(), "a skipped folder changed the hash");
        fs::write(root.join("in/deep/a"), "one").expect("scratch file");
        assert_eq!(first, hash(), "a new modification time changed the hash");
        fs::write(root.join("in/deep/a"), "two").expect("scratch file");
        let second = hash();
        assert_ne!(first, second, "new content did not change the hash");
        fs::rename(root.join("in/deep/a"), root.join("in/deep/b")).expect("rename");
        assert_ne!(second, hash(), "a new name did not change the hash");
        fs::remove_dir_all(&root).expect("cleanup");
    }
}
