//! What browsers download, and how much of it is allowed. In: dist/, `parts.txt` and the profile's stamp among it.

use crate::bundle::{self, Profile};
use crate::paths;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::Path;

/// The part of the page that most visits begin with.
const FIRST_PART: &str = "list";

/// Bytes allowed, as brotli.
struct Budget {
    /// For the first load of that page.
    first_load: u64,
    /// For the pages of any other part, besides.
    other_part: u64,
}

/// What people download.
const RELEASE: Budget = Budget { first_load: 400_000, other_part: 250_000 };
/// The quick bundle of the browser tests, which is not optimised for size and packed lightly: 4 % more than it took when
/// the release bundle was within its budget (1,234 and 838 KB). It tells a part that has drawn in another one, or a
/// library that came in; about 3 KB here are 1 KB there.
const DEV: Budget = Budget { first_load: 1_280_000, other_part: 875_000 };

/// What one part of the program costs, in bytes as brotli, script included and stylesheet not.
#[derive(Debug, PartialEq, Eq)]
struct Cost {
    part: String,
    /// When a page of it is opened first.
    alone: u64,
    /// When the inventory has been loaded before.
    more: u64,
}

/// Prints the costs of all parts and fails when one is past its budget.
pub fn check() -> Result<()> {
    let costs = costs(&paths::dist())?;
    let Budget { first_load, other_part } = match bundle::built()? {
        Profile::Release => RELEASE,
        Profile::Dev => DEV,
    };
    let mut over = Vec::new();
    println!("{:<10} {:>14} {:>22}", "part", "opened first", "after the inventory");
    for Cost { part, alone, more } in &costs {
        println!("{part:<10} {:>11} KB {:>19} KB", alone.div_ceil(1000), more.div_ceil(1000));
        if part == FIRST_PART && *alone > first_load {
            over.push(format!("{part} takes {alone} bytes, {first_load} are allowed"));
        }
        if *more > other_part {
            over.push(format!("{part} takes {more} bytes more than {FIRST_PART}, {other_part} are allowed"));
        }
    }
    if !over.is_empty() {
        bail!("the browser bundle is past its budget (xtask/src/budget.rs): {}", over.join("; "));
    }
    Ok(())
}

/// The same where a bundle past its budget is no reason to stop: says so in a way that is not overlooked.
pub fn warn() {
    if let Err(error) = check() {
        eprintln!("\n\x1b[1;31mWARNING: {error:#}\x1b[0m\n");
    }
}

fn costs(dist: &Path) -> Result<Vec<Cost>> {
    let list = std::fs::read_to_string(dist.join("parts.txt")).context("reading dist/parts.txt")?;
    let (script, lines) = list.split_once('\n').context("dist/parts.txt is empty")?;
    let parts: BTreeMap<&str, Vec<&str>> = lines
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(part, files)| (part, files.split(' ').collect()))
        .collect();
    let first = parts.get(FIRST_PART).with_context(|| format!("dist/parts.txt has no part {FIRST_PART}"))?;
    let mut everyone = size(dist, script)?;
    for entry in std::fs::read_dir(dist)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_program = name.starts_with("domainscope-browser-")
            && [".js", ".wasm"].iter().any(|end| name.ends_with(end));
        if is_program {
            everyone += size(dist, &name)?;
        }
    }
    let sum = |files: &[&str]| files.iter().map(|file| size(dist, file)).sum::<Result<u64>>();
    let mut costs = Vec::new();
    for (part, files) in &parts {
        let new: Vec<&str> = files.iter().copied().filter(|file| !first.contains(file)).collect();
        costs.push(Cost { part: (*part).to_owned(), alone: everyone + sum(files)?, more: sum(&new)? });
    }
    Ok(costs)
}

/// The size of a file as it is sent: as brotli, where that is smaller.
fn size(dist: &Path, name: &str) -> Result<u64> {
    let plain = dist.join(name);
    let file = Some(dist.join(format!("{name}.br"))).filter(|packed| packed.exists()).unwrap_or(plain);
    Ok(std::fs::metadata(&file).with_context(|| format!("reading {}", file.display()))?.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_files_count_once() {
        let dist = std::env::temp_dir().join(format!("xtask-budget-{}", std::process::id()));
        std::fs::create_dir_all(&dist).unwrap();
        let files = [
            ("domainscope-browser-1.js", 1),
            ("domainscope-browser-1_bg.wasm", 10),
            ("parts-1.js", 2),
            ("a", 100),
            ("b", 1000),
        ];
        for (name, length) in files {
            std::fs::write(dist.join(name), "").unwrap();
            std::fs::write(dist.join(format!("{name}.br")), vec![0; length]).unwrap();
        }
        std::fs::write(dist.join("parts.txt"), "parts-1.js\nlist: a\ntools: a b\n").unwrap();
        let cost = |part: &str, alone, more| Cost { part: part.to_owned(), alone, more };
        assert_eq!(costs(&dist).unwrap(), [cost("list", 113, 0), cost("tools", 1113, 1000)]);
        std::fs::remove_dir_all(&dist).unwrap();
    }
}
