//! Pasted lists: which names a text means. Lines, commas, URLs, a CSV file with a header; every line that is not
//! understood is refused by itself and the rest goes in.

/// An entry of a pasted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// 1-based line it stands in.
    pub line: u32,
    /// The text of the entry.
    pub text: String,
}

/// Most entries one text may hold.
pub const MAX_ENTRIES: usize = 100_000;

/// Splits a pasted text into entries. A first line with a cell `domain`, `name` or `domain name` makes it CSV: only
/// that column counts. Otherwise a line is split at commas, semicolons and white space where every piece looks like
/// a name, and is one entry where not. Blank lines and lines that begin with `#` are passed over.
pub fn entries(text: &str) -> Vec<Entry> {
    let mut out = Vec::new();
    let mut column = None;
    for (i, raw) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = u32::try_from(i + 1).unwrap_or(u32::MAX);
        let trimmed = raw.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if out.is_empty() && column.is_none() {
            column = header_column(trimmed);
            if column.is_some() {
                continue;
            }
        }
        let push = |out: &mut Vec<Entry>, text: &str| out.push(Entry { line, text: text.to_string() });
        if let Some((column, separator)) = column {
            let cell = cells(trimmed, separator).into_iter().nth(column).unwrap_or_default();
            push(&mut out, &cell);
        } else {
            let pieces: Vec<&str> = trimmed
                .split(|c: char| c.is_whitespace() || c == ',' || c == ';')
                .filter(|p| !p.is_empty())
                .collect();
            if pieces.len() > 1 && pieces.iter().all(|p| p.contains('.')) {
                pieces.into_iter().for_each(|p| push(&mut out, p));
            } else {
                push(&mut out, trimmed);
            }
        }
        if out.len() >= MAX_ENTRIES {
            out.truncate(MAX_ENTRIES);
            break;
        }
    }
    out
}

fn header_column(line: &str) -> Option<(usize, char)> {
    let separator = [',', ';', '\t'].into_iter().find(|s| line.contains(*s)).unwrap_or(',');
    let is_name = |cell: &String| {
        matches!(
            cell.trim().to_lowercase().as_str(),
            "domain" | "name" | "domain name" | "domain_name" | "fqdn"
        )
    };
    cells(line, separator).iter().position(is_name).map(|i| (i, separator))
}

/// The cells of one CSV line (RFC 4180; a quoted cell may hold the separator and doubled quotes).
fn cells(line: &str, separator: char) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let Some(cell) = out.last_mut() else { break };
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                cell.push('"');
                chars.next();
            }
            '"' => quoted = !quoted,
            c if c == separator && !quoted => out.push(String::new()),
            c => cell.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(s: &str) -> Vec<String> {
        entries(s).into_iter().map(|e| format!("{}:{}", e.line, e.text)).collect()
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
            texts("id;Domain Name\n1;\"q7.io\"\n2;alder.example\n3"),
            ["2:q7.io", "3:alder.example", "4:"]
        );
        assert_eq!(texts("domain\nq7.io"), ["2:q7.io"]);
        assert_eq!(texts("\u{feff}"), Vec::<String>::new());
    }
}
