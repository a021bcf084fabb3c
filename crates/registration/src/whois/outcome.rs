//! What an answer comes to: registered, free, withheld, throttled, refused or none of these. In: lines and facts; out:
//! an [`Outcome`]. Facts beat sentences; a sentence counts only in the form of its row in `phrases.toml`.

use super::Asked;
use super::facts::Facts;
use super::grammar;
use super::lines::{Form, Line};
use super::states;
use super::tables::{Field, TABLES};
use super::values;
use model::registration::Outcome;

pub(crate) fn outcome(lines: &[Line<'_>], facts: &Facts<'_>, asked: &Asked) -> Outcome {
    let mut listed = Vec::new();
    for v in facts.all(Field::Status) {
        states::statuses(v.text, &mut listed);
    }
    let dated = [Field::Created, Field::Expires, Field::RegistrarExpires, Field::Updated]
        .iter()
        .filter(|f| facts.all(**f).any(|v| values::stated(v.text).is_some_and(has_digit)))
        .count();
    let registrar = facts.all(Field::Registrar).any(|v| values::registrar(v.text).is_some());
    let weight = dated + usize::from(registrar) + 2 * usize::from(!facts.hosts.is_empty());
    let by_status = facts
        .all(Field::Status)
        .find_map(|v| states::outcome(v.text))
        .or_else(|| listed.iter().find_map(|s| states::outcome(s)));
    if of_its_zone(facts, asked) {
        return sentence(lines, asked).unwrap_or(Outcome::Unknown);
    }
    match by_status {
        Some(Outcome::Available) if weight <= 2 => return Outcome::Available,
        Some(Outcome::Reserved) if weight == 0 => return Outcome::Reserved,
        _ => {}
    }
    if weight >= 2 {
        return Outcome::Registered;
    }
    // DNC: `query_status: 404 Domain is not managed by this register`.
    let failed = facts.all(Field::Status).any(|v| {
        let code = v.text.split(' ').next().unwrap_or_default();
        code.len() == 3 && code.starts_with(['4', '5']) && code.bytes().all(|b| b.is_ascii_digit())
    });
    if failed {
        return sentence(lines, asked).filter(|o| *o != Outcome::Available).unwrap_or(Outcome::Unknown);
    }
    if let Some(o) = sentence(lines, asked) {
        // One lonely fact beside a sentence: boilerplate rarely states a fact, so only "free" needs care.
        return o;
    }
    let real_status = listed.iter().any(|s| !s.is_empty());
    let named = facts.names.iter().any(|n| n.split_whitespace().next().is_some_and(|n| asked.is(n)));
    if weight > 0 || (named && (real_status || facts.labelled > 1)) {
        return Outcome::Registered;
    }
    Outcome::Unknown
}

/// True when the record is the top-level domain's own, as IANA answers about names below it.
fn of_its_zone(facts: &Facts<'_>, asked: &Asked) -> bool {
    let zone = |n: &str| !asked.is(n) && asked.tlds.last().is_some_and(|t| t.eq_ignore_ascii_case(n));
    let mut names = facts.names.iter().filter_map(|n| n.split_whitespace().next()).peekable();
    names.peek().is_some() && asked.ascii.contains('.') && names.all(zone)
}

fn has_digit(s: &str) -> bool {
    s.bytes().any(|b| b.is_ascii_digit())
}

/// How strongly an outcome said in a sentence counts against others said in the same answer.
fn order(o: Outcome) -> u8 {
    match o {
        Outcome::Throttled => 0,
        Outcome::Refused => 1,
        Outcome::Reserved => 2,
        Outcome::Available => 3,
        _ => 4,
    }
}

/// What the sentences of an answer say; the most careful outcome of those found.
pub(crate) fn sentence(lines: &[Line<'_>], asked: &Asked) -> Option<Outcome> {
    let mut best: Option<Outcome> = None;
    let mut by_words: Option<Outcome> = None;
    let mut read = 0;
    let mut above = "";
    for (n, l) in lines.iter().enumerate() {
        let Some(text) = said(l) else {
            above = "";
            continue;
        };
        let prose = wrapped(std::mem::replace(&mut above, text), text);
        if prose {
            continue;
        }
        if text.len() > 240 || text.is_empty() {
            continue;
        }
        read += 1;
        if read > 2000 {
            break;
        }
        let prepared = prepare(text, asked);
        for i in TABLES.phrases.set.matches(&prepared) {
            let Some((o, loose)) = TABLES.phrase(i, asked) else { continue };
            if loose && lines.get(n + 1).and_then(said).is_some_and(|below| wrapped(text, below)) {
                continue;
            }
            if best.is_none_or(|b| order(o) < order(b)) {
                best = Some(o);
            }
        }
        if best.is_none() && by_words.is_none() && !is_field(l) && !hangs(text) {
            by_words = grammar::says(&prepared);
        }
    }
    best.or(by_words)
}

/// True for a field of a record: `Registrar: not found`, `Status: unknown` say nothing about the name itself.
fn is_field(line: &Line<'_>) -> bool {
    let Form::Key(k) = &line.form else { return false };
    let of_the_name = [Field::Domain, Field::Status, Field::Created, Field::WhoisServer];
    match k.meanings.first() {
        Some(m) => values::stated(k.value).is_none() || !of_the_name.contains(&m.field),
        None => false,
    }
}

/// The words of a line, where it has any.
fn said<'a>(line: &Line<'a>) -> Option<&'a str> {
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
    let last = line.rsplit(' ').next().unwrap_or_default();
    line.len() > 24
        && (line.ends_with(',') || (last.len() <= 7 && HANGING.contains(&last.to_ascii_lowercase().as_str())))
}

/// True for another name under the same suffix: some servers echo the name in a form of their own.
fn like(word: &str, asked: &Asked) -> bool {
    let Some(tld) = asked.tlds.last() else { return false };
    let Some((rest, last)) = word.rsplit_once('.') else { return false };
    last.eq_ignore_ascii_case(tld)
        && !["whois", "www", "rdap"]
            .iter()
            .any(|h| rest.split('.').next().is_some_and(|l| l.eq_ignore_ascii_case(h)))
        && values::host(word).is_some()
}

/// The form in which a line is compared with the patterns: see `phrases.toml`.
fn prepare(text: &str, asked: &Asked) -> String {
    let trimmed = text
        .trim_matches(|c: char| c.is_whitespace() || "%#;*><|=_-~".contains(c))
        .trim_end_matches(['.', '!', ' '])
        .trim_start_matches(['"', '\'', '.', ' ']);
    let mut out = String::with_capacity(trimmed.len());
    for word in trimmed.split_whitespace() {
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
        let bare = word.trim_matches(|c: char| "\"'[]()<>,:;!?“”«»".contains(c));
        if !bare.is_empty() && (asked.is(bare) || like(bare, asked)) {
            let at = word.find(bare).unwrap_or(0);
            let (head, tail) = (&word[..at], &word[at + bare.len()..]);
            let quoted = |s: &str| s.replace(['\'', '“', '”', '«', '»', '`'], "\"");
            out.push_str(&quoted(head));
            out.push('@');
            out.push_str(&quoted(tail.trim_start_matches('.')));
        } else {
            out.extend(word.chars().map(|c| if c == '：' { ':' } else { c }).flat_map(char::to_lowercase));
        }
    }
    for lead in [
        "error: ",
        "error - ",
        "info: ",
        "notice: ",
        "warning: ",
        "%",
        "message: ",
        "result: ",
        "sorry, ",
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
