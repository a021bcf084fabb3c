//! Tab-separated files: `#` comments, one header row, then rows of as many cells. In: a path and the columns wanted.
//! Out: their cells, row by row.

use anyhow::{Context, Result, bail};
use std::path::Path;

/// Reads the named columns of a file.
///
/// # Errors
/// The file cannot be read, lacks a column, or has a row of another length; the message names file and line.
pub fn read<const N: usize>(path: &Path, columns: [&str; N]) -> Result<Vec<[String; N]>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    parse(&text, columns).with_context(|| path.display().to_string())
}

fn parse<const N: usize>(text: &str, columns: [&str; N]) -> Result<Vec<[String; N]>> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
    let Some((_, header)) = lines.next() else { bail!("it has no header row") };
    let header: Vec<&str> = header.split('\t').collect();
    let mut at = [0; N];
    for (slot, column) in at.iter_mut().zip(columns) {
        *slot = header.iter().position(|h| *h == column).with_context(|| format!("no column `{column}`"))?;
    }
    let mut rows = Vec::new();
    for (number, line) in lines {
        let cells: Vec<&str> = line.split('\t').collect();
        if cells.len() != header.len() {
            bail!("line {}: {} cells under {} columns", number + 1, cells.len(), header.len());
        }
        rows.push(at.map(|i| cells[i].trim().to_owned()));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name_and_short_rows_are_refused() {
        let text = "# note\na\tb\tc\n1\t2\t3\n\n4\t\t6\n";
        let rows = parse(text, ["c", "a"]).expect("reads");
        assert_eq!(rows, [["3", "1"].map(String::from), ["6", "4"].map(String::from)]);
        assert!(parse(text, ["d"]).is_err());
        assert!(parse("a\tb\n1\n", ["a"]).is_err_and(|e| e.to_string().contains("line 2")));
        assert!(parse("# only\n", ["a"]).is_err());
    }
}
