//! Pasted lists: which names a text means, and what a CSV file states about them. Lines, commas, URLs, a CSV file
//! with a header; a line that is not understood is refused by itself and the rest is added.

use crate::judgement::item::{ItemPatch, NOTE_MAX, Ownership, TAG_MAX, normal_tag};
use std::borrow::Cow;

/// A pasted text as read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paste {
    /// One for each name, in order.
    pub entries: Vec<Entry>,
    /// Headings of CSV columns that are not read.
    pub ignored_columns: Vec<String>,
}

/// An entry of a pasted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// 1-based line on which it begins.
    pub line: u32,
    /// The text of the entry.
    pub text: String,
    /// What its CSV line states; nothing for a plain list. The error names the value and the rule it breaks.
    pub patch: Result<ItemPatch, String>,
}

/// Most entries one text may hold.
pub const MAX_ENTRIES: usize = 100_000;

/// The columns that are read, as an export writes them.
pub mod column {
    /// The name.
    pub const NAME: &str = "Domain Name";
    /// `owned` or `watched`.
    pub const OWNERSHIP: &str = "Ownership";
    /// Tags, separated by commas.
    pub const TAGS: &str = "Tags";
    /// The note.
    pub const NOTE: &str = "Note";
    /// The expiration entered by the owner, `2027-03-01`.
    pub const MANUAL_EXPIRATION: &str = "Manual Expiration";
    /// `yes` or `no`.
    pub const AUTO_RENEW: &str = "Auto-Renew";
}

/// A column that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Name,
    Ownership,
    Tags,
    Note,
    ManualExpiration,
    AutoRenew,
}

impl Column {
    fn of(heading: &str) -> Option<Self> {
        Some(match heading.trim().to_lowercase().as_str() {
            "domain" | "name" | "domain name" | "domain_name" | "fqdn" => Column::Name,
            "ownership" => Column::Ownership,
            "tags" | "tag" | "labels" => Column::Tags,
            "note" | "notes" | "comment" | "comments" => Column::Note,
            "manual expiration" | "manual_expires" => Column::ManualExpiration,
            "auto-renew" | "auto renew" | "auto_renew" => Column::AutoRenew,
            _ => return None,
        })
    }
}

/// Reads a pasted text. A first line with a cell `domain`, `name` or `domain name` makes it CSV, whose columns for
/// ownership, tags, note, manual expiration and auto-renew are read too. Otherwise a line is split at commas,
/// semicolons and white space where every piece looks like a name, and is one entry where not. Blank lines and lines
/// that begin with `#` are passed over.
pub fn read(text: &str) -> Paste {
    let text = text.trim_start_matches('\u{feff}');
    let first = text.lines().enumerate().find(|(_, l)| !is_skipped(l));
    if let Some((at, line)) = first {
        let separator = [',', ';', '\t'].into_iter().find(|s| line.contains(*s)).unwrap_or(',');
        let header = records(line, separator).into_iter().next();
        if header.is_some_and(|h| h.cells.iter().any(|c| Column::of(c) == Some(Column::Name))) {
            let mut records = records(text, separator);
            records.retain(|r| r.line as usize > at && !r.cells[0].trim_start().starts_with('#'));
            return csv(&records);
        }
    }
    let mut out = Paste::default();
    for (i, line) in text.lines().enumerate().filter(|(_, l)| !is_skipped(l)) {
        let number = u32::try_from(i + 1).unwrap_or(u32::MAX);
        let line = line.trim();
        let pieces: Vec<&str> = line
            .split(|c: char| c.is_whitespace() || c == ',' || c == ';')
            .filter(|p| !p.is_empty())
            .collect();
        let several = pieces.len() > 1 && pieces.iter().all(|p| p.contains('.'));
        for text in if several { pieces } else { vec![line] } {
            out.entries.push(Entry { line: number, text: text.into(), patch: Ok(ItemPatch::default()) });
        }
        if out.entries.len() >= MAX_ENTRIES {
            out.entries.truncate(MAX_ENTRIES);
            break;
        }
    }
    out
}

fn is_skipped(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// Reads the lines below a header.
fn csv(records: &[Record]) -> Paste {
    let Some((header, lines)) = records.split_first() else { return Paste::default() };
    let mut columns = Vec::new();
    let mut ignored_columns = Vec::new();
    for heading in &header.cells {
        // Of two columns of one meaning the first is read.
        let column = Column::of(heading).filter(|c| !columns.contains(&Some(*c)));
        if column.is_none() && !heading.trim().is_empty() {
            ignored_columns.push(heading.trim().to_string());
        }
        columns.push(column);
    }
    let entry = |r: &Record| {
        let name = columns.iter().position(|c| *c == Some(Column::Name));
        let text = name.and_then(|i| r.cells.get(i)).map(|c| unescaped(c.trim()).to_string());
        Entry { line: r.line, text: text.unwrap_or_default(), patch: patch(&columns, r) }
    };
    let lines = lines.iter().filter(|r| r.cells.iter().any(|c| !c.trim().is_empty()));
    Paste { entries: lines.take(MAX_ENTRIES).map(entry).collect(), ignored_columns }
}

/// What the cells of a line state; an empty cell states nothing.
fn patch(columns: &[Option<Column>], r: &Record) -> Result<ItemPatch, String> {
    if r.unclosed {
        return Err("a quotation mark is not closed; the lines after it were not read".into());
    }
    if let Some(extra) = r.cells.iter().skip(columns.len()).find(|c| !c.trim().is_empty()) {
        let extra: String = extra.trim().chars().take(40).collect();
        return Err(format!(
            "“{extra}” is beyond the last column: put cells that contain the separator in quotation marks"
        ));
    }
    let mut patch = ItemPatch::default();
    for (column, cell) in columns.iter().zip(&r.cells) {
        let cell = unescaped(cell.trim());
        if cell.is_empty() {
            continue;
        }
        let lower = cell.to_lowercase();
        match column {
            Some(Column::Ownership) => {
                let word = Ownership::from_word(&lower);
                let refused = || format!("“{cell}” is not an ownership: write owned or watched");
                patch.ownership = Some(word.ok_or_else(refused)?);
            }
            Some(Column::Tags) => {
                let mut tags = Vec::new();
                for tag in cell.split(',').filter(|t| !t.trim().is_empty()) {
                    let refused = || format!("the tag “{}” is longer than {TAG_MAX} characters", tag.trim());
                    tags.push(normal_tag(tag).ok_or_else(refused)?);
                }
                patch.tags = Some(tags);
            }
            Some(Column::Note) => {
                if cell.chars().count() > NOTE_MAX {
                    return Err(format!("the note is longer than {NOTE_MAX} characters"));
                }
                patch.note = Some(cell.replace('\r', ""));
            }
            Some(Column::ManualExpiration) => {
                let refused = |_| format!("“{cell}” is not a date: write it as 2027-03-01");
                patch.manual_expires = Some(Some(cell.parse().map_err(refused)?));
            }
            Some(Column::AutoRenew) => {
                patch.auto_renew = Some(Some(match lower.as_str() {
                    "yes" | "on" | "true" => true,
                    "no" | "off" | "false" => false,
                    _ => return Err(format!("“{cell}” is not an auto-renew setting: write yes or no")),
                }));
            }
            Some(Column::Name) | None => {}
        }
    }
    Ok(patch)
}

/// A line of a CSV file; a quoted cell may continue it over several lines of the text.
struct Record {
    line: u32,
    cells: Vec<String>,
    /// The text ended inside a quoted cell.
    unclosed: bool,
}

/// The records of a CSV text (RFC 4180: a quoted cell may hold the separator, line breaks and doubled quotes).
fn records(text: &str, separator: char) -> Vec<Record> {
    let mut out = Vec::new();
    let fresh = |line| Record { line, cells: vec![String::new()], unclosed: false };
    let (mut line, mut record, mut quoted) = (1, fresh(1), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let Some(cell) = record.cells.last_mut() else { break };
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                cell.push('"');
                chars.next();
            }
            '"' if quoted => quoted = false,
            '"' if cell.trim().is_empty() => {
                cell.clear();
                quoted = true;
            }
            '\n' => {
                line += 1;
                if quoted {
                    cell.push('\n');
                } else {
                    out.push(std::mem::replace(&mut record, fresh(line)));
                    if out.len() > MAX_ENTRIES {
                        return out;
                    }
                }
            }
            c if c == separator && !quoted => record.cells.push(String::new()),
            c => cell.push(c),
        }
    }
    record.unclosed = quoted;
    out.push(record);
    out
}

const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// A CSV cell that no spreadsheet takes for a formula: an apostrophe goes before its first sign, and before the
/// apostrophes of a text that looks like one made so. [`read`] removes it again.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if text.trim_start_matches('\'').starts_with(FORMULA) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn unescaped(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(rest) if rest.trim_start_matches('\'').starts_with(FORMULA) => rest,
        _ => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(s: &str) -> Vec<String> {
        read(s).entries.into_iter().map(|e| format!("{}:{}", e.line, e.text)).collect()
    }

    #[test]
    fn lists_as_people_paste_them() {
        assert_eq!(
            texts("q7.io, alder.example; http://x.example/ y.de"),
            ["1:q7.io", "1:alder.example", "1:http://x.example/", "1:y.de"]
        );
        assert_eq!(
            texts("# mine\nq7.io\n\n  exa mple.com \r\nalder.example"),
            ["2:q7.io", "4:exa mple.com", "5:alder.example"]
        );
        assert_eq!(
            texts("# from the registrar\nid;Domain Name\n1;\"q7.io\"\n2;alder.example\n3"),
            ["3:q7.io", "4:alder.example", "5:"]
        );
        assert_eq!(texts("domain\nq7.io"), ["2:q7.io"]);
        assert_eq!(texts("\u{feff}"), Vec::<String>::new());
    }

    #[test]
    fn the_columns_of_a_file_are_honoured() {
        let text = "Domain Name,Registrar,Ownership,Tags,Notes,Manual Expiration,Auto-Renew\r\n\
                    q7.io,X Inc,Watched,\"core, prod\",\"paid by card,\nask Mira\",2031-05-06,no\r\n\
                    alder.example,,,,,,\r\n";
        let paste = read(text);
        assert_eq!(paste.ignored_columns, ["Registrar"]);
        let [first, second] = paste.entries.as_slice() else { panic!("{paste:?}") };
        assert_eq!((first.line, second.line), (2, 4), "a cell may hold a line break");
        let patch = first.patch.clone().unwrap();
        assert_eq!(patch.ownership, Some(Ownership::Watched));
        assert_eq!(patch.tags, Some(vec!["core".into(), "prod".into()]));
        assert_eq!(patch.note.as_deref(), Some("paid by card,\nask Mira"));
        assert_eq!(patch.manual_expires, Some(Some("2031-05-06".parse().unwrap())));
        assert_eq!(patch.auto_renew, Some(Some(false)));
        assert_eq!(second.patch, Ok(ItemPatch::default()), "an empty cell states nothing");
    }

    #[test]
    fn a_value_that_breaks_a_rule_is_refused_with_its_line() {
        let text = "domain,ownership,tags,note,manual expiration,auto-renew\n\
                    a.example,mine\nb.example,,core, prod\nc.example,,,,soon\nd.example,,,,,perhaps\n\
                    e.example,,core,,,,extra\nf.example,,,\"open";
        let why: Vec<_> = read(text).entries.into_iter().map(|e| e.patch.err().unwrap_or_default()).collect();
        assert_eq!(why[0], "“mine” is not an ownership: write owned or watched");
        assert_eq!(why[1], "", "the note of an unquoted comma is no error of its own");
        assert!(why[2].contains("“soon” is not a date") && why[3].contains("“perhaps”"), "{why:?}");
        assert!(why[4].contains("“extra” is beyond the last column"), "{why:?}");
        assert!(why[5].contains("quotation mark is not closed"), "{why:?}");
    }

    proptest! {
        #[test]
        fn a_cell_survives_the_spreadsheet(text in "['=+@-]{0,3}[a-z ]{0,4}") {
            let cell = escaped(&text);
            prop_assert_eq!(unescaped(&cell), text.as_str());
            prop_assert!(!cell.starts_with(FORMULA));
        }

        #[test]
        fn no_text_brings_it_down(text in "([a-z.,;\"'\n\r\t#=]|domain|tags){0,60}") {
            let _ = read(&text);
        }
    }
}
