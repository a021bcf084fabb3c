//! `cargo xtask tables`: rebuilds the shipped tables of facts from files of public facts (`--from`, by default
//! `../shared/reference`) and the manual rows in `xtask/tables/`. The output is sorted and depends on the input
//! alone, so an update is a diff that can be read. `--check` writes nothing and fails where a table differs.

mod addresses;
mod block_pages;
mod provider_forms;
mod providers;
mod rdap;
mod registrars;
mod resolvers;
mod sheet;
mod sources;
mod whois;

use crate::paths;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// One rebuilt table.
struct Table {
    /// Path below the repository's root.
    path: &'static str,
    text: String,
    /// What the rows rest on, for the report.
    counts: Counts,
}

/// How many sources the rows of a table rest on.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    /// Two sources or more.
    confirmed: usize,
    /// One source.
    single: usize,
    /// A manual row, with a source named in the row.
    by_hand: usize,
}

impl Counts {
    fn add(&mut self, sources: usize) {
        if sources >= 2 { self.confirmed += 1 } else { self.single += 1 }
    }

    fn total(self) -> usize {
        self.confirmed + self.single + self.by_hand
    }
}

/// The folders an import reads.
struct Input {
    /// Files of public facts.
    facts: PathBuf,
    /// Manual rows.
    by_hand: PathBuf,
}

impl Input {
    fn facts<const N: usize>(&self, file: &str, columns: [&str; N]) -> Result<Vec<[String; N]>> {
        sheet::read(&self.facts.join(file), columns)
    }

    fn by_hand<const N: usize>(&self, file: &str, columns: [&str; N]) -> Result<Vec<[String; N]>> {
        sheet::read(&self.by_hand.join(file), columns)
    }
}

/// The head of a generated file.
fn head(what: &str) -> String {
    format!(
        "# {what}\n# Written by `cargo xtask tables`: manually maintained rows are in xtask/tables/, the others come from the sources.\n"
    )
}

fn build(input: &Input) -> Result<Vec<Table>> {
    Ok(vec![
        whois::servers(input)?,
        whois::charsets(input)?,
        rdap::servers(input)?,
        registrars::registrars(input)?,
        providers::providers(input)?,
        provider_forms::provider_forms(input)?,
        resolvers::resolvers(input)?,
        addresses::special_addresses(input)?,
        addresses::local_zones(input)?,
        block_pages::block_pages(input)?,
    ])
}

/// Runs the command. Without the folder of facts, `--check` has nothing to compare with and says so.
///
/// # Errors
/// A file that cannot be read or has a row that breaks a rule; with `check`, a table that differs.
pub fn run(from: Option<&str>, check: bool) -> Result<()> {
    let facts = from.map_or_else(|| paths::root().join("../shared/reference"), PathBuf::from);
    if !facts.join("README.md").exists() && !facts.join("tlds.tsv").exists() {
        if check && from.is_none() {
            println!("no folder {}: the tables are not compared with their sources", facts.display());
            return Ok(());
        }
        bail!("{} holds no tables of facts: name their folder with --from DIR", facts.display());
    }
    let tables = build(&Input { facts, by_hand: paths::root().join("xtask/tables") })?;
    let mut stale = Vec::new();
    println!("{:<52} {:>6} {:>11} {:>7} {:>8}", "table", "rows", "2+ sources", "1", "manually");
    for table in &tables {
        let Counts { confirmed, single, by_hand } = table.counts;
        println!("{:<52} {:>6} {confirmed:>11} {single:>7} {by_hand:>8}", table.path, table.counts.total());
        let path = paths::root().join(table.path);
        if std::fs::read_to_string(&path).ok().as_deref() == Some(&table.text) {
            continue;
        }
        if check { stale.push(table.path) } else { write(&path, &table.text)? }
    }
    if !stale.is_empty() {
        bail!("{} differ from their sources: run `cargo xtask tables` and read the diff", stale.join(", "));
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables in the repository are what their sources say.
    #[test]
    fn the_tables_are_those_of_a_fresh_import() {
        run(None, true).unwrap_or_else(|e| panic!("{e:#}"));
    }

    #[test]
    fn a_folder_that_was_named_must_exist() {
        assert!(run(Some("/nonexistent/facts"), true).is_err());
    }
}
