//! Lines no wider than the terminal: broken at spaces, continued below the column in which they were broken.

use std::io::IsTerminal;

/// Narrowest width that is honoured; below it every other word would stand alone.
const LEAST: usize = 30;

/// Columns that results may use: those of the terminal, or `COLUMNS` where it is set; `None` for a pipe or file.
pub(super) fn width() -> Option<usize> {
    let set = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let terminal = || {
        let size = std::io::stdout().is_terminal().then(terminal_size::terminal_size).flatten()?;
        Some(usize::from(size.0.0))
    };
    set.or_else(terminal).filter(|w| *w >= LEAST)
}

/// The text with long lines broken. A word that is wider than a line is kept whole, so that it can be copied.
pub(super) fn wrapped(text: &str, width: usize) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| wrapped_line(line, width)).collect();
    lines.join("\n")
}

/// Columns that a text takes: its characters without escape sequences.
fn columns(text: &str) -> usize {
    let mut escape = false;
    text.chars()
        .filter(|c| {
            let begins = *c == '\u{1b}';
            let hidden = escape || begins;
            escape = begins || escape && !c.is_ascii_alphabetic();
            !hidden
        })
        .count()
}

fn wrapped_line(line: &str, width: usize) -> String {
    if columns(line) <= width {
        return line.to_string();
    }
    let indent = " ".repeat(hanging(line, width));
    let start = line.len() - line.trim_start().len();
    let (mut out, mut at) = (line[..start].to_string(), start);
    let mut rest = &line[start..];
    while !rest.is_empty() {
        // A word with the spaces before it.
        let spaces = rest.len() - rest.trim_start().len();
        let end = rest[spaces..].find(' ').map_or(rest.len(), |i| spaces + i);
        let (word, next) = rest.split_at(end);
        if at + columns(word) > width && at > indent.len() {
            out.push('\n');
            out.push_str(&indent);
            out.push_str(word.trim_start());
            at = indent.len() + columns(word.trim_start());
        } else {
            out.push_str(word);
            at += columns(word);
        }
        rest = next;
    }
    out
}

/// Where a broken line continues: below its last column that begins in the left half, or as far in as it begins.
fn hanging(line: &str, width: usize) -> usize {
    let mut last = line.len() - line.trim_start().len();
    let from = last;
    for (i, _) in line[from..].match_indices("  ").map(|(i, s)| (from + i, s)) {
        let column = columns(&line[..i]) + line[i..].len() - line[i..].trim_start().len();
        if column <= width / 2 {
            last = last.max(column);
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_continues_below_its_column() {
        let line =
            "  Status flags     clientDeleteProhibited, clientTransferProhibited, clientUpdateProhibited";
        let out = wrapped(line, 60);
        assert_eq!(
            out,
            "  Status flags     clientDeleteProhibited,\n                   clientTransferProhibited,\n                   clientUpdateProhibited"
        );
        assert_eq!(wrapped(line, 200), line);
        assert_eq!(wrapped("short\n\nlines", 30), "short\n\nlines");
    }

    #[test]
    fn escapes_take_no_room_and_a_long_word_stays_whole() {
        let line = "\u{1b}[31m  red\u{1b}[0m word word";
        assert_eq!(wrapped(line, 15), line);
        let name = "a-very-long-label.".repeat(5);
        assert_eq!(wrapped(&format!("  see {name} now"), 40), format!("  see\n  {name}\n  now"));
    }
}
