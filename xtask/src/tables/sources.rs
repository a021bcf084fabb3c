//! Sources by the short words under which the generated tables name them. In: the source column of a file of facts.
//! Out: short words, in the order of the legend, and the legend for the table's head.

use anyhow::{Result, bail};
use std::fmt::Write;

/// A source: its name in the facts, its short word in our tables, and what it is.
pub type Source = (&'static str, &'static str, &'static str);

/// The short words of a `;`-separated list.
///
/// # Errors
/// A source without a row in the legend: add one, with its licence.
pub fn short(list: &str, legend: &[Source]) -> Result<Vec<&'static str>> {
    let names: Vec<&str> = list.split(';').map(str::trim).filter(|s| !s.is_empty()).collect();
    if let Some(unknown) = names.iter().find(|n| !legend.iter().any(|(name, ..)| name == *n)) {
        bail!("no legend for the source `{unknown}`");
    }
    Ok(legend.iter().filter(|(name, ..)| names.contains(name)).map(|(_, short, _)| *short).collect())
}

/// The legend as comment lines.
pub fn legend(sources: &[Source]) -> String {
    let mut out = String::from("# Sources:\n");
    for (_, short, what) in sources {
        let _ = writeln!(out, "#   {short:<10} {what}");
    }
    out
}
