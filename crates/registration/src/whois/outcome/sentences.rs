//! What the sentences of an answer say about the name: free, withheld, throttled, refused. In: lines; out: an
//! [`Outcome`] or nothing. A sentence counts only in the form of its row in `phrases.toml`, or when every word of it is
//! known to `grammar.toml`; terms of use, which speak of the same things, have neither.

mod rest;

use super::grammar;
use crate::whois::layout::lines::{Form, Line};
use crate::whois::question::Question;
use crate::whois::values::fields;
use crate::whois::vocabulary::tables::{Field, Kind, TABLES};
use model::registration::Outcome;

/// How strongly an outcome said in a sentence counts against others said in the same answer.
fn order(o: Outcome) -> u8 {
    match o {
        Outcome::Throttled => 0,
        Outcome::Refused => 1,
        Outcome::Registered => 2,
        Outcome::Reserved => 3,
        Outcome::Available => 4,
        Outcome::Unknown => 5,
    }
}

/// What the sentences of an answer say; the most careful outcome of those found.
pub(crate) fn sentence(lines: &[Line<'_>], asked: &Question, web_page: bool) -> Option<Outcome> {
    let mut best: Option<Outcome> = None;
    let mut by_words: Option<Outcome> = None;
    let mut overruled = false;
    let mut read = 0;
    let mut above = "";
    for (n, l) in lines.iter().enumerate() {
        let Some(text) = sentence_text(l) else {
            above = "";
            continue;
        };
        let first = above.is_empty();
        let prose = wrapped(std::mem::replace(&mut above, text), text);
        // A question says nothing, not even of a free name.
        if prose || text.is_empty() || text.ends_with('?') {
            continue;
        }
        read += 1;
        if read > 2000 {
            break;
        }
        let elsewhere = is_block_of_another(&lines[..n]);
        let below = lines.get(n + 1).and_then(sentence_text).filter(|t| !t.is_empty());
        let mut takes = |prepared: &str, open: bool, alone: bool| {
            let verdict = patterns(prepared, open, alone, asked);
            overruled |= verdict.overruled;
            // A web server that stands in for the WHOIS server knows nothing of names unless it names this one.
            // What is missing below `Name servers:` is name servers.
            let unrelated = (web_page || elsewhere) && !prepared.contains('@');
            if let Some(o) = verdict.outcome.filter(|o| !unrelated || *o != Outcome::Available)
                && best.is_none_or(|b| order(o) < order(b))
            {
                best = Some(o);
            }
            if best.is_none() && by_words.is_none() && !unrelated && !is_field(l) && !is_open(prepared) {
                let counts = |o: &Outcome| !verdict.doubted || *o != Outcome::Available;
                by_words = grammar::says(prepared).filter(counts);
            }
            (verdict.outcome == Some(Outcome::Available), verdict.doubted)
        };
        let mut free = false;
        if text.len() <= 240 {
            let open = below.is_some_and(|below| wrapped(text, below));
            (free, _) = takes(&prepare(text, asked), open, first && below.is_none());
        }
        if first && let Some(whole) = paragraph(&lines[n..]) {
            let (_, doubted) = takes(&prepare(&whole, asked), false, true);
            // A sentence over several lines is more than the first of them.
            overruled |= free && doubted;
        }
    }
    match best.or(by_words) {
        Some(Outcome::Available) if overruled => Some(Outcome::Unknown),
        other => other,
    }
}

/// What the patterns find in a line.
#[derive(Default)]
struct SentenceVerdict {
    outcome: Option<Outcome>,
    /// The server says that it is not in charge of the name, so that no other sentence of it makes the name free.
    overruled: bool,
    /// What it misses is another thing than the name, or not surely missing.
    doubted: bool,
    /// The same, and no other line is believed either.
    denied: bool,
}

impl SentenceVerdict {
    /// Adds what a part of the line says; the more careful counts.
    fn and(&mut self, other: &SentenceVerdict) {
        self.overruled |= other.overruled;
        self.doubted |= other.doubted;
        self.denied |= other.denied;
        if let Some(o) = other.outcome
            && self.outcome.is_none_or(|kept| order(o) < order(kept))
        {
            self.outcome = Some(o);
        }
    }
}

/// What a prepared line says: as a whole, else its first sentence (`alone`: any of its sentences). `open`: the sentence
/// goes on below.
fn patterns(line: &str, open: bool, alone: bool, asked: &Question) -> SentenceVerdict {
    let mut verdict = matched(line, open, asked);
    if verdict.outcome.is_none() {
        let mut sentences = line.split(". ");
        let first = sentences.next().filter(|s| s.len() < line.len() && s.contains(' '));
        if let Some(first) = first {
            verdict.and(&matched(first, false, asked));
            if alone && line.len() <= 200 {
                sentences.take(3).for_each(|s| verdict.and(&matched(s, false, asked)));
            }
        }
    }
    // `-1: still in grace period`; a number of three digits is a code that says something itself.
    let coded = line.split_once(": ").filter(|(code, _)| code.len() <= 2 && is_number(code));
    if let (None, Some((_, rest))) = (verdict.outcome, coded) {
        verdict.and(&matched(rest, open, asked));
    }
    // `The queried object does not exist: This name is reserved`: the reason counts more.
    if let Some((_, reason)) = line.rsplit_once(": ")
        && (verdict.outcome == Some(Outcome::Available) || verdict.outcome.is_none() && reason.contains('@'))
    {
        verdict.and(&matched(reason, open, asked));
    }
    if verdict.outcome == Some(Outcome::Available) {
        for part in rest::rest(line) {
            let part = matched(&part, open, asked);
            // `Not found (internal error)`
            verdict.overruled |= part.outcome == Some(Outcome::Unknown);
            verdict.and(&part);
        }
        if verdict.doubted && verdict.outcome == Some(Outcome::Available) {
            verdict.overruled |= verdict.denied;
            verdict.outcome = verdict.overruled.then_some(Outcome::Unknown);
        }
    }
    verdict
}

fn matched(line: &str, open: bool, asked: &Question) -> SentenceVerdict {
    let mut verdict = SentenceVerdict::default();
    let (mut withheld, mut barred) = (false, false);
    for p in TABLES.phrases.matches(line, asked) {
        if p.doubts {
            (verdict.doubted, verdict.denied) = (true, verdict.denied || p.overrules);
            continue;
        }
        if p.loose && open {
            continue;
        }
        withheld |= p.outcome == Outcome::Reserved;
        barred |= matches!(p.outcome, Outcome::Throttled | Outcome::Refused);
        verdict.and(&SentenceVerdict {
            outcome: Some(p.outcome),
            overruled: p.overrules,
            ..SentenceVerdict::default()
        });
    }
    // "This name has been blocked by ..." is about the name, "your address has been blocked by ..." about us.
    if withheld && barred && is_about_the_name(line) {
        verdict.outcome = Some(Outcome::Reserved);
    }
    verdict
}

fn is_about_the_name(line: &str) -> bool {
    let subject = line.strip_prefix("this ").or_else(|| line.strip_prefix("the ")).unwrap_or(line);
    ["@", "domain", "name", "\"@", "requested"].iter().any(|w| subject.starts_with(w))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// True when a web server answered for itself: an HTTP status line, or a page with a title or heading of its own. Some
/// registries put tags around what they would send without them.
pub(crate) fn is_web_page(raw: &[u8]) -> bool {
    let text = raw.trim_ascii_start();
    let text = &text[..text.len().min(2000)];
    let starts = |w: &str| text.get(..w.len()).is_some_and(|h| h.eq_ignore_ascii_case(w.as_bytes()));
    let has = |w: &str| text.windows(w.len()).any(|h| h.eq_ignore_ascii_case(w.as_bytes()));
    let tags = ["<!doctype", "<html", "<head"].into_iter().any(starts);
    starts("HTTP/1.") || starts("HTTP/2") || tags && (has("<title") || has("<h1"))
}

/// A sentence or two that stand for themselves over a few lines, as one text. Terms of use are longer.
fn paragraph(lines: &[Line<'_>]) -> Option<String> {
    let of_a_record = |l: &Line<'_>| matches!(&l.form, Form::Key(k) if !k.meanings.is_empty());
    let texts: Vec<&str> =
        lines.iter().map_while(sentence_text).take_while(|t| !t.is_empty()).take(7).collect();
    let goes_on = texts.windows(2).all(|w| wrapped(w[0], w[1]));
    if !(2..=6).contains(&texts.len()) || !goes_on || lines[..texts.len()].iter().any(of_a_record) {
        return None;
    }
    let mut whole = texts.join(" ");
    // Of one that ends in a long address the beginning says what there is to say.
    if whole.len() > 300 && texts.len() > 2 {
        return None;
    }
    let end = (0..=300.min(whole.len())).rev().find(|i| whole.is_char_boundary(*i));
    whole.truncate(end.unwrap_or_default());
    Some(whole)
}

/// True for a field of a record: `Registrar: not found`, `Status: unknown` say nothing about the name itself.
fn is_field(line: &Line<'_>) -> bool {
    let Form::Key(k) = &line.form else { return false };
    let of_the_name = [Field::Domain, Field::Status, Field::Created, Field::WhoisServer];
    match k.meanings.first() {
        Some(m) => fields::stated(k.value).is_none() || !of_the_name.contains(&m.field),
        None => false,
    }
}

/// True where the last line is the heading of a block that is not about the name itself. One of several labels whose
/// values say nothing is no heading, but an empty field.
fn is_block_of_another(above: &[Line<'_>]) -> bool {
    let Some((line, before)) = above.split_last() else { return false };
    let empty = |l: &Line<'_>| matches!(&l.form, Form::Key(k) if fields::stated(k.value).is_none());
    if before.last().is_some_and(empty) {
        return false;
    }
    let another =
        |k: Kind| matches!(k, Kind::Registrar | Kind::Registrant | Kind::Contact | Kind::Ns | Kind::Dnssec);
    match &line.form {
        Form::Key(k) if k.value.is_empty() => {
            let field = k.meanings.first().is_some_and(|m| {
                matches!(
                    m.field,
                    Field::Nameserver
                        | Field::Dnssec
                        | Field::Ds
                        | Field::Registrar
                        | Field::RegistrantOrganization
                )
            });
            field || k.heading.is_some_and(another)
        }
        Form::Text(Some(kind)) => another(*kind),
        _ => false,
    }
}

/// The words of a line, where it has any.
fn sentence_text<'a>(line: &Line<'a>) -> Option<&'a str> {
    match &line.form {
        Form::Blank | Form::Rule => None,
        Form::Comment(text) => Some(text),
        _ => Some(line.text),
    }
}

/// True when a line goes on with a sentence of the line above it (`All rights` / `reserved.`).
fn wrapped(above: &str, text: &str) -> bool {
    let open = !above.is_empty() && !above.ends_with(['.', '!', ':', '?', '>', ';', ')', '"']);
    let goes_on = text.starts_with(char::is_lowercase) || !text.contains(' ');
    if open && hangs(above) {
        return true;
    }
    let sentence = above.len() > 34 && above.split_whitespace().nth(4).is_some();
    open && goes_on && (sentence || !text.contains(' ')) && above.contains(' ')
}

/// Words that no sentence ends with.
const HANGING: &[&str] = &[
    "a", "all", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "for", "from", "has",
    "have", "if", "in", "into", "is", "its", "may", "not", "of", "on", "or", "our", "such", "than", "that",
    "the", "their", "these", "this", "those", "to", "under", "was", "were", "which", "will", "with",
    "without", "you", "your",
];

/// True when a line ends in the middle of a sentence, whatever the next begins with.
fn hangs(line: &str) -> bool {
    line.len() > 24 && (line.ends_with(',') || ends_within(line))
}

/// The same of a few words, which are no sentence when something is to follow: `available to:`.
fn is_open(line: &str) -> bool {
    line.ends_with([',', ':']) || ends_within(line.trim_end_matches(':'))
}

fn ends_within(line: &str) -> bool {
    let last = line.rsplit(' ').next().unwrap_or_default();
    last.len() <= 7 && HANGING.contains(&last.to_ascii_lowercase().as_str())
}

/// True for another name under the same suffix: some servers echo the name in a form of their own.
fn like(word: &str, asked: &Question) -> bool {
    let Some(tld) = asked.tlds.last() else { return false };
    let Some((rest, last)) = word.rsplit_once('.') else { return false };
    last.eq_ignore_ascii_case(tld)
        && !["whois", "www", "rdap"]
            .iter()
            .any(|h| rest.split('.').next().is_some_and(|l| l.eq_ignore_ascii_case(h)))
        && fields::host(word).is_some()
}

/// What follows the name's first label where that stands for the name: `example not found`, `exampleNOT FOUND`.
fn without_label<'a>(line: &'a str, asked: &Question) -> Option<&'a str> {
    let label = asked.ascii.split('.').next().filter(|l| !l.is_empty())?;
    let rest = line.strip_prefix(label)?.trim_start_matches([' ', ':', '-', '"']);
    let absent =
        ["not found", "no match", "no entries", "no data", "not registered", "does not exist", "no such"];
    absent.iter().any(|a| rest.starts_with(a)).then_some(rest)
}

/// True for a word that begins a sentence behind a name: the point between them is not the name's.
fn begins_sentence(word: &str) -> bool {
    let titled = word.starts_with(char::is_uppercase) && word.chars().any(char::is_lowercase);
    let lower = word.to_ascii_lowercase();
    titled || ["this", "it", "the", "you", "your", "please", "registry"].contains(&lower.as_str())
}

/// The form in which a line is compared with the patterns: see `phrases.toml`.
fn prepare(text: &str, asked: &Question) -> String {
    let trimmed = text
        .trim_matches(|c: char| c.is_whitespace() || "%#;*><|=_-~".contains(c))
        .trim_end_matches(['.', '!', ' ', '。', '！'])
        .trim_start_matches(['"', '\'', '.', ' ']);
    let mut out = String::with_capacity(trimmed.len());
    let mut words = trimmed.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if !out.is_empty() {
            out.push(' ');
        }
        // `Not found:example.org`
        let glued = word.split_once([':', '：']).filter(|(_, tail)| asked.is(tail));
        let word = glued.map_or(word, |(head, tail)| {
            out.extend(head.chars().flat_map(char::to_lowercase));
            out.push_str(": ");
            tail
        });
        let marks = |c: char| "\"'[]()<>,:;!?“”«»".contains(c);
        let bare = word.trim_end_matches('.').trim_matches(marks).trim_end_matches('.');
        if !bare.is_empty() && (asked.is(bare) || like(bare, asked)) {
            let at = word.find(bare).unwrap_or(0);
            let (head, tail) = (&word[..at], &word[at + bare.len()..]);
            let quoted = |s: &str| s.replace(['\'', '“', '”', '«', '»', '`'], "\"");
            out.push_str(&quoted(head));
            out.push('@');
            let ended = tail.ends_with('.') && words.peek().is_some_and(|next| begins_sentence(next));
            out.push_str(&quoted(tail.trim_matches('.')));
            out.push_str(if ended { "." } else { "" });
        } else {
            out.extend(word.chars().map(|c| if c == '：' { ':' } else { c }).flat_map(char::to_lowercase));
        }
    }
    if let Some(rest) = without_label(&out, asked) {
        out = format!("@ {rest}");
    }
    for lead in [
        "error: ",
        "error - ",
        "info: ",
        "notice: ",
        "warning: ",
        "warning- ",
        "%",
        "message: ",
        "result: ",
        "sorry, ",
        "congratulations, ",
        "whois error: ",
        "blacklisted: ",
        "info - ",
    ] {
        if let Some(rest) = out.strip_prefix(lead) {
            out = rest.to_string();
        }
    }
    out
}
