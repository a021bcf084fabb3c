//! The layout of a WHOIS answer: every line as a label with a value, a text, a comment, a rule or a blank. In: the
//! decoded text; out: one [`Line`] per line, labels already looked up. Linear; overlong lines are cut.

use crate::whois::text::fold;
use crate::whois::vocabulary::tables::{Field, Kind, Meaning, Scope, TABLES};

/// Longer lines carry no registration data; what is beyond is dropped.
const MAX_LINE: usize = 2000;
/// More lines than this are not read.
const MAX_LINES: usize = 20_000;

/// A line.
pub(crate) struct Line<'a> {
    /// Columns of white space before the text; a tab counts eight.
    pub indent: usize,
    /// The text without white space around it.
    pub text: &'a str,
    pub form: Form<'a>,
}

/// What a line is by its form.
pub(crate) enum Form<'a> {
    Blank,
    /// `-----`, `=====`.
    Rule,
    /// `% ...`, `# ...`, `>>> ... <<<`; the text after the marks.
    Comment(&'a str),
    Key(Key<'a>),
    /// Anything else; what heading it is, when it is one.
    Text(Option<Kind>),
}

/// A label and its value.
pub(crate) struct Key<'a> {
    pub label: &'a str,
    /// Empty when the label stands alone.
    pub value: &'a str,
    pub meanings: &'static [Meaning],
    pub heading: Option<Kind>,
    pub object: Option<Kind>,
}

impl Key<'_> {
    /// True when the label states a field wherever it stands.
    pub fn is_own(&self) -> bool {
        self.meanings.iter().any(|m| m.scope == Scope::Any)
    }

    pub fn states(&self, field: Field) -> bool {
        self.meanings.iter().any(|m| m.field == field)
    }
}

/// Splits a text into lines, whatever ends them (CRLF, LF, CR).
pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut scratch = String::with_capacity(128);
    let mut out = Vec::with_capacity(128);
    for chunk in text.split('\n').take(MAX_LINES) {
        let chunk = chunk.trim_end_matches('\r');
        if chunk.len() < 200 && !chunk.bytes().any(|b| b == b'\r') {
            out.push(line(chunk, &mut scratch));
        } else {
            out.extend(chunk.split('\r').map(|raw| line(cut(raw), &mut scratch)));
        }
        if out.len() > MAX_LINES {
            break;
        }
    }
    if is_double_spaced(&out) { single_spaced(out) } else { out }
}

/// True when no two lines stand right below each other: line ends were doubled on the way.
fn is_double_spaced(lines: &[Line<'_>]) -> bool {
    let blank = |l: &Line<'_>| matches!(l.form, Form::Blank);
    let full = lines.iter().filter(|l| !blank(l)).count();
    full > 7 && lines.windows(2).all(|w| blank(&w[0]) || blank(&w[1]))
}

/// The lines without the blanks that doubled line ends made: every second line end.
fn single_spaced(lines: Vec<Line<'_>>) -> Vec<Line<'_>> {
    let mut blanks = 0;
    let mut kept = |l: &Line<'_>| {
        blanks = if matches!(l.form, Form::Blank) { blanks + 1 } else { 0 };
        blanks % 2 == 0
    };
    lines.into_iter().filter(|l| kept(l)).collect()
}

fn cut(s: &str) -> &str {
    if s.len() <= MAX_LINE {
        return s;
    }
    let mut end = MAX_LINE;
    while !s.is_char_boundary(end) {
        end -= 1;
    }
    &s[..end]
}

fn line<'a>(raw: &'a str, scratch: &mut String) -> Line<'a> {
    let start = raw.trim_start();
    let indent = raw[..raw.len() - start.len()].chars().map(|c| if c == '\t' { 8 } else { 1 }).sum();
    let mut text = start.trim_end();
    if text.is_empty() {
        return Line { indent, text, form: Form::Blank };
    }
    if text.len() >= 3 && text.bytes().all(|b| b"-=*_~#%.+".contains(&b)) {
        return Line { indent, text, form: Form::Rule };
    }
    if let Some(rest) = text.strip_prefix("** ") {
        text = rest.trim();
    }
    if let Some(rest) = text.strip_prefix("- ") {
        text = rest.trim();
    }
    if let Some(rest) =
        text.strip_prefix("* ").filter(|rest| crate::whois::values::fields::host(rest.trim()).is_some())
    {
        text = rest.trim();
    }
    if text.starts_with(['%', '#', ';', '*']) || text.starts_with(">>") || text.starts_with("//") {
        let inner = text.trim_matches(|c: char| "%#;*></ \t".contains(c));
        return Line { indent, text, form: Form::Comment(inner) };
    }
    if let Some(body) = unnumbered(text) {
        // `1c. Registrar : ...`, `2) ns2.example.net`: a number counts only before a known label or a host name.
        let known = colon(body, scratch).filter(|f| matches!(f, Form::Key(k) if !k.meanings.is_empty()));
        if let Some(form) = known {
            return Line { indent, text: body, form };
        }
        if body.split_whitespace().next().is_some_and(|w| crate::whois::values::fields::host(w).is_some()) {
            return Line { indent, text: body, form: Form::Text(None) };
        }
    }
    let form = bracketed(text, scratch)
        .or_else(|| colon(text, scratch))
        .or_else(|| parted(text, scratch))
        .or_else(|| leader(text, scratch))
        .or_else(|| sentence(text, scratch))
        .unwrap_or_else(|| Form::Text(heading(text, scratch)));
    Line { indent, text, form }
}

/// What follows the number of a list's item: `1.`, `1a.`, `2)`.
fn unnumbered(text: &str) -> Option<&str> {
    let (mark, rest) = text.split_once(' ')?;
    let number = mark.strip_suffix(['.', ')'])?;
    let digits = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let fine = !digits.is_empty() && number.len() <= 3 && digits.bytes().all(|b| b.is_ascii_digit());
    fine.then(|| rest.trim_start())
}

/// `[Key] value`, `a. [Key] value`; `[ text` is a comment (JPRS).
fn bracketed<'a>(text: &'a str, scratch: &mut String) -> Option<Form<'a>> {
    let open = text.bytes().take(5).position(|b| b == b'[')?;
    let before = text[..open].trim_end();
    let listed = before.len() <= 2 && before.chars().all(|c| c.is_ascii_alphabetic() || c == '.');
    if !listed {
        return None;
    }
    let inside = &text[open + 1..];
    if before.is_empty() && inside.starts_with(' ') {
        return Some(Form::Comment(inside.trim_matches(|c: char| c == ']' || c.is_whitespace())));
    }
    let close = inside.find(']')?;
    Some(Form::Key(key(&inside[..close], inside[close + 1..].trim_start_matches([':', ' ', '\t']), scratch)))
}

/// `key: value`, `key.....: value`, `key:value` (known labels only).
fn colon<'a>(text: &'a str, scratch: &mut String) -> Option<Form<'a>> {
    let ascii = text.bytes().position(|b| b == b':');
    let wide = if text.is_ascii() { None } else { text.find('：') };
    let at = ascii.into_iter().chain(wide).min()?;
    let width = if Some(at) == ascii { 1 } else { '：'.len_utf8() };
    let (label, after) = (text[..at].trim_end(), &text[at + width..]);
    if label.is_empty() || label.len() > 200 || after.starts_with("//") {
        return None;
    }
    if !label.chars().any(char::is_alphabetic) {
        return None;
    }
    // `Record created on 2000-08-29 10:22:50`: the colon of a time ends no label.
    let clock =
        after.starts_with(|c: char| c.is_ascii_digit()) && label.ends_with(|c: char| c.is_ascii_digit());
    if clock {
        return None;
    }
    let k = key(label, value_of(after), scratch);
    if !k.meanings.is_empty() || k.heading.is_some() || k.object.is_some() {
        return Some(Form::Key(k));
    }
    let spaced = after.is_empty() || after.starts_with([' ', '\t', '.', '\u{a0}']) || width > 1;
    let short = label.split_whitespace().count() <= 12;
    let is_host = label.contains('.') && crate::whois::values::fields::host(label).is_some();
    // `Type:Legal person`; not `fe80::1`, not `10:11am`.
    let word = |c: char| c.is_alphabetic() || c == '-' || c == '_' || c == ' ';
    let glued = !spaced && label.len() <= 24 && label.chars().all(word) && !after.starts_with(':');
    ((spaced || glued) && short && !is_host).then_some(Form::Key(k))
}

/// `key....... value` and `key<TAB>value`, known labels only; two blanks where the value has the form of its field.
fn leader<'a>(text: &'a str, scratch: &mut String) -> Option<Form<'a>> {
    let bytes = text.as_bytes();
    let gap = bytes
        .iter()
        .enumerate()
        .find(|(i, b)| **b == b'\t' || (matches!(**b, b'.' | b' ') && bytes.get(i + 1) == Some(*b)));
    let (i, mark) = gap.map(|(i, b)| (i, *b))?;
    let narrow = mark != b'\t' && bytes.get(i + 2) != Some(&mark);
    let (label, value) = (&text[..i], text[i..].trim_start_matches(char::from(mark)));
    let k = key(label.trim(), value.trim(), scratch);
    let fits = !k.value.is_empty() && (!narrow || is_plain(&k));
    (!k.meanings.is_empty() && fits).then_some(Form::Key(k))
}

/// True when a value is nothing but what its label announces: host names under a name server's, a date under a date's.
fn is_plain(k: &Key<'_>) -> bool {
    let dated = [Field::Created, Field::Updated, Field::Expires].iter().any(|f| k.states(*f));
    match () {
        () if !k.is_own() => false,
        () if k.states(Field::Nameserver) => k.value.split_whitespace().all(|w| {
            crate::whois::values::fields::host(w).is_some() || crate::whois::values::fields::is_address(w)
        }),
        () => {
            dated
                && crate::whois::values::date::parse(
                    k.value,
                    Some(crate::whois::vocabulary::tables::Order::Dmy),
                )
                .is_ok()
        }
    }
}

/// `key = value`, `key - value` and the cells of a drawn table, known labels only.
fn parted<'a>(text: &'a str, scratch: &mut String) -> Option<Form<'a>> {
    let (label, value) = match text.strip_prefix('|') {
        Some(row) => row.trim_end_matches('|').split_once('|')?,
        None => around(text, b'=').or_else(|| around(text, b'-'))?,
    };
    let k = key(label.trim(), value.trim(), scratch);
    // A dash parts many things.
    let clear = k.is_own() || text.starts_with('|') || !text.contains(" - ");
    (clear && !k.meanings.is_empty() && !k.value.is_empty()).then_some(Form::Key(k))
}

/// What stands around a mark between blanks.
fn around(text: &str, mark: u8) -> Option<(&str, &str)> {
    let at = text.as_bytes().windows(3).position(|w| w == [b' ', mark, b' '])?;
    Some((&text[..at], &text[at + 3..]))
}

/// `Record created on 2018-02-05`: a known label of a date, then the date.
fn sentence<'a>(text: &'a str, scratch: &mut String) -> Option<Form<'a>> {
    if text.len() > 120 {
        return None;
    }
    let at = text.bytes().take(60).position(|b| b.is_ascii_digit()).filter(|i| *i > 6)?;
    let head = text[..at].trim_end();
    let dated = |k: &Key<'_>| {
        // Without a colon, "Last updated on ..." closes an answer and speaks of the database.
        let record = !k.states(Field::Updated) || is_of_record(k.label);
        record && k.is_own() && [Field::Created, Field::Updated, Field::Expires].iter().any(|f| k.states(*f))
    };
    let k = key(head, text[at..].trim(), scratch);
    if dated(&k) {
        return Some(Form::Key(k));
    }
    // `Record created: on Tue Feb 10 ...`: the month may come before the digits.
    let mut words = head.rsplitn(3, ' ');
    let (last, _, first) = (words.next()?, words.next()?, words.next()?);
    for label in [&head[..head.len() - last.len()], first] {
        let k = key(label.trim(), text[label.len()..].trim(), scratch);
        if dated(&k) {
            return Some(Form::Key(k));
        }
    }
    None
}

/// True for labels that name what was changed: `Record last updated on`.
fn is_of_record(label: &str) -> bool {
    ["record", "domain"].iter().any(|w| label.get(..w.len()).is_some_and(|h| h.eq_ignore_ascii_case(w)))
}

fn heading(text: &str, scratch: &mut String) -> Option<Kind> {
    if text.len() > 60 || text.ends_with('.') || text.split_whitespace().count() > 6 {
        return None;
    }
    fold::label(text, scratch);
    TABLES.word(scratch).and_then(|w| w.heading)
}

/// The value after a colon: leading dots and white space go.
fn value_of(after: &str) -> &str {
    after.trim().trim_start_matches("..").trim_start_matches(|c: char| c == '.' || c.is_whitespace())
}

fn key<'a>(label: &'a str, value: &'a str, scratch: &mut String) -> Key<'a> {
    let label = label.trim();
    fold::label(label, scratch);
    let mut word = TABLES.word(scratch);
    if word.is_none() && label.contains(" / ") {
        // Bilingual labels: `Data de registo / Creation Date`.
        word = label.split(" / ").find_map(|part| {
            fold::label(part, scratch);
            TABLES.word(scratch)
        });
    }
    if word.is_none() && !label.is_ascii() {
        // `등록일(Registered Date)`: the same in a second language.
        let inside = label.split_once(['(', '（']).map(|(_, tail)| tail.trim_end_matches([')', '）']));
        word = inside.and_then(|inside| {
            fold::label(inside, scratch);
            TABLES.word(scratch)
        });
    }
    Key {
        label,
        value,
        meanings: word.map_or_else(
            || crate::whois::layout::infer_label::meanings(label, value),
            |w| w.meanings.as_slice(),
        ),
        heading: word.and_then(|w| w.heading),
        object: word.and_then(|w| w.object),
    }
}

/// What an indented block is about, by the words in its heading.
pub(crate) fn by_words(label: &str, scratch: &mut String) -> Option<Kind> {
    fold::label(label, scratch);
    TABLES
        .contains
        .iter()
        .find(|(_, words)| words.iter().any(|w| scratch.contains(w.as_str())))
        .map(|(kind, _)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(text: &str) -> Option<(String, String)> {
        match line(text, &mut String::new()).form {
            Form::Key(k) => Some((k.label.to_string(), k.value.to_string())),
            _ => None,
        }
    }

    #[test]
    fn styles_of_labels() {
        for (text, label, value) in [
            ("Domain: git.de", "Domain", "git.de"),
            ("   domain.............: git.fi", "domain.............", "git.fi"),
            ("Domain:.............google.tg", "Domain", "google.tg"),
            ("Created On:23-Jun-2003 14:02:33 UTC", "Created On", "23-Jun-2003 14:02:33 UTC"),
            ("[Created on]                    2001/05/14", "Created on", "2001/05/14"),
            ("p. [Name Server]                ns1.goo.ne.jp", "Name Server", "ns1.goo.ne.jp"),
            ("First registration date\t31 May 1999", "First registration date", "31 May 1999"),
            ("Record created on 2018-02-05 22:59:12", "Record created on", "2018-02-05 22:59:12"),
            ("Registered on 30th April 2003 at 00:00", "Registered on", "30th April 2003 at 00:00"),
            ("Record created: Tue Feb 10 18:01:05 2004", "Record created", "Tue Feb 10 18:01:05 2004"),
            (
                "Record last updated on  Thu Jan 21 18:01:05 2004",
                "Record last updated on",
                "Thu Jan 21 18:01:05 2004",
            ),
            ("등록일                      : 2012. 05. 19.", "등록일", "2012. 05. 19."),
            ("created = 2012-05-19", "created", "2012-05-19"),
            ("| Creation Date   | 2012-05-19   |", "Creation Date", "2012-05-19"),
        ] {
            assert_eq!(key_of(text), Some((label.into(), value.into())), "{text}");
        }
        for text in
            ["http://example.org/a", "ns2.switch.ch\t2001:620:0:ff::2f", "1:2", "ns1.example.net: 192.0.2.1"]
        {
            assert_eq!(key_of(text), None, "{text}");
        }
    }
}
