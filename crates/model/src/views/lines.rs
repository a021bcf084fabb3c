//! Two texts line by line: what the raw answers of two snapshots differ in. Bounded in time and size, whatever the texts.

use serde::{Deserialize, Serialize};

/// Lines of the two texts beside each other that are looked through for equal ones, at most (the product of both).
const CELLS_MAX: usize = 1_000_000;
/// Lines that are shown at most.
const SHOWN_MAX: usize = 1000;
/// Equal lines that are shown around a difference.
const CONTEXT: usize = 3;

/// A line of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "text", rename_all = "snake_case")]
pub enum DiffLine {
    /// In both.
    Same(String),
    /// In the older text only.
    Removed(String),
    /// In the newer text only.
    Added(String),
    /// So many lines that are in both are left out here.
    Equal(usize),
}

/// Two texts compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineDiff {
    /// In order.
    pub lines: Vec<DiffLine>,
    /// True when there were more lines than are shown.
    pub is_cut: bool,
}

impl LineDiff {
    /// True when a line is in one of the texts only.
    pub fn differs(&self) -> bool {
        self.lines.iter().any(|l| matches!(l, DiffLine::Removed(_) | DiffLine::Added(_)))
    }
}

/// Compares two texts line by line. Long runs of equal lines are left out.
pub fn compare_lines(old: &str, new: &str) -> LineDiff {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let start = equal(old.iter().zip(&new));
    let rest = old.len().min(new.len()) - start;
    let end = equal(old.iter().rev().zip(new.iter().rev())).min(rest);
    let (middle_old, middle_new) = (&old[start..old.len() - end], &new[start..new.len() - end]);

    let line = |text: &&str| (*text).to_string();
    let mut lines: Vec<DiffLine> = old[..start].iter().map(|l| DiffLine::Same(line(l))).collect();
    if middle_old.len() * middle_new.len() <= CELLS_MAX {
        middle(middle_old, middle_new, &mut lines);
    } else {
        lines.extend(middle_old.iter().map(|l| DiffLine::Removed(line(l))));
        lines.extend(middle_new.iter().map(|l| DiffLine::Added(line(l))));
    }
    lines.extend(old[old.len() - end..].iter().map(|l| DiffLine::Same(line(l))));
    let mut lines = shortened(lines);
    let is_cut = lines.len() > SHOWN_MAX;
    lines.truncate(SHOWN_MAX);
    LineDiff { lines, is_cut }
}

/// How many pairs are equal from the first on.
fn equal<'a>(pairs: impl Iterator<Item = (&'a &'a str, &'a &'a str)>) -> usize {
    pairs.take_while(|(a, b)| a == b).count()
}

/// The lines by a longest common subsequence.
fn middle(old: &[&str], new: &[&str], out: &mut Vec<DiffLine>) {
    let width = new.len() + 1;
    // Length of the longest common subsequence of what follows in both.
    let mut left = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            left[i * width + j] = if old[i] == new[j] {
                left[(i + 1) * width + j + 1] + 1
            } else {
                left[(i + 1) * width + j].max(left[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            out.push(DiffLine::Same(old[i].to_string()));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && left[(i + 1) * width + j] >= left[i * width + j + 1]) {
            out.push(DiffLine::Removed(old[i].to_string()));
            i += 1;
        } else {
            out.push(DiffLine::Added(new[j].to_string()));
            j += 1;
        }
    }
}

/// The lines without those equal ones that are far from a difference.
fn shortened(lines: Vec<DiffLine>) -> Vec<DiffLine> {
    let mut out = Vec::new();
    let mut run = Vec::new();
    let mut is_first = true;
    let mut flush = |run: &mut Vec<DiffLine>, out: &mut Vec<DiffLine>, is_last: bool| {
        let (before, after) = (if is_first { 0 } else { CONTEXT }, if is_last { 0 } else { CONTEXT });
        is_first = false;
        let n = run.len();
        if n > before + after + 1 {
            out.extend(run.drain(..before));
            out.push(DiffLine::Equal(n - before - after));
            out.extend(run.drain(n - before - after..));
            run.clear();
        }
        out.append(run);
    };
    for line in lines {
        if matches!(line, DiffLine::Same(_)) {
            run.push(line);
        } else {
            flush(&mut run, &mut out, false);
            out.push(line);
        }
    }
    flush(&mut run, &mut out, true);
    out
}

/// JSON set out in lines; anything else as it came.
pub fn laid_out(body: &str) -> String {
    serde_json::from_slice::<serde_json::Value>(body.as_bytes())
        .ok()
        .and_then(|v| serde_json::to_string_pretty(&v).ok())
        .unwrap_or_else(|| body.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(old: &str, new: &str) -> String {
        let line = |l: &DiffLine| match l {
            DiffLine::Same(t) => format!(" {t}"),
            DiffLine::Removed(t) => format!("-{t}"),
            DiffLine::Added(t) => format!("+{t}"),
            DiffLine::Equal(n) => format!("({n})"),
        };
        compare_lines(old, new).lines.iter().map(line).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn lines_that_differ_are_beside_those_that_do_not() {
        assert_eq!(words("a\nb\nc", "a\nx\nc\nd"), " a|-b|+x| c|+d");
        assert_eq!(words("", "a"), "+a");
        assert_eq!(words("a\nb", "b\na"), "-a| b|+a");
        assert_eq!(words("a\na\na", "a\na"), " a| a|-a");
        assert!(!compare_lines("a\r\nb", "a\nb").differs(), "line ends are not the answer");
    }

    #[test]
    fn equal_lines_far_from_a_difference_are_left_out() {
        let old: Vec<String> = (0..30).map(|n| n.to_string()).collect();
        let mut new = old.clone();
        new[15] = "x".into();
        assert_eq!(words(&old.join("\n"), &new.join("\n")), "(12)| 12| 13| 14|-15|+x| 16| 17| 18|(11)");
        assert_eq!(words(&old.join("\n"), &old.join("\n")), "(30)");
    }

    #[test]
    fn long_texts_cost_a_bounded_amount() {
        let text = |salt: &str| (0..50_000).map(|n| format!("{salt}{n}")).collect::<Vec<_>>().join("\n");
        let diff = compare_lines(&text("a"), &text("b"));
        assert!(diff.is_cut && diff.lines.len() == SHOWN_MAX);
    }
}
