//! What a short sentence says when no pattern of `phrases.toml` fits: read by its words, and only when every word is
//! known, so that no line of terms of use can count. In: a prepared line; out: an outcome or nothing. Data:
//! `grammar.toml`.

use crate::whois::text::fold::plain;
use crate::whois::vocabulary::probe::open;
use model::registration::Outcome;
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::LazyLock;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Part {
    Neutral,
    Target,
    Negation,
    Found,
    Nothing,
    Free,
    Reserved,
    Registering,
    Limit,
    Exceeded,
    Other,
    Place,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    part: Part,
    words: Vec<String>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    word: Vec<Row>,
}

/// The bit of a part; a word may be several (`per`, `such`).
const fn bit(p: Part) -> u16 {
    1 << p as u16
}

static WORDS: LazyLock<HashMap<String, u16>> = LazyLock::new(|| {
    load().unwrap_or_else(|e| panic!("the shipped WHOIS tables are checked by a test: {e}"))
});

fn load() -> Result<HashMap<String, u16>, Box<dyn std::error::Error>> {
    let file: File = toml::from_str(include_str!("../../../data/grammar.toml"))?;
    let mut words: HashMap<String, u16> = HashMap::new();
    for row in file.word {
        if row.source.is_empty() {
            return Err("a row of grammar.toml names no source".into());
        }
        for w in row.words {
            *words.entry(w).or_default() |= bit(row.part);
        }
    }
    Ok(words)
}

/// What a line says, prepared as the patterns of `phrases.toml` want it.
pub(crate) fn says(line: &str) -> Option<Outcome> {
    if line.len() > 120 {
        return None;
    }
    let mut seen = 0u16;
    let mut count = 0;
    let mut word = String::with_capacity(24);
    for raw in line.split(|c: char| c.is_whitespace() || ",;:()[]/".contains(c)) {
        let raw = raw.trim_matches(|c: char| ".\"'!?-".contains(c));
        if raw.is_empty() {
            continue;
        }
        word.clear();
        word.extend(raw.chars().take(40).flat_map(plain).map(|c| if c == '’' { '\'' } else { c }));
        count += 1;
        // Numbers and addresses say nothing by themselves; a lone zero is a negation of the table.
        if word != "0" && word.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            continue;
        }
        seen |= WORDS.get(&word).filter(|_| open("grammar", &word))?;
    }
    let has = |p: Part| seen & bit(p) != 0;
    let named = has(Part::Target) || count <= 3 && !has(Part::Place) && !is_code(line);
    // "Name server not found", "registrar of record not found" are about another thing.
    let named = named && (!has(Part::Other) || line.contains('@'));
    if count == 0 || count > 14 {
        return None;
    }
    if has(Part::Exceeded) {
        return has(Part::Limit).then_some(Outcome::Throttled);
    }
    if has(Part::Reserved) {
        return (named && !has(Part::Negation) && !has(Part::Free)).then_some(Outcome::Reserved);
    }
    if has(Part::Free) {
        let doubted = has(Part::Negation) || has(Part::Nothing) || has(Part::Limit);
        return (named && !doubted).then_some(Outcome::Available);
    }
    let absent = has(Part::Nothing) || has(Part::Negation) && has(Part::Found);
    (absent && named && !has(Part::Limit)).then_some(Outcome::Available)
}

/// `404 Not Found`: a web server's word for a page.
fn is_code(line: &str) -> bool {
    let code = line.split(' ').next().unwrap_or_default();
    code.len() == 3 && code.starts_with(['4', '5']) && code.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_read_by_their_words() {
        let (free, withheld, throttled) =
            (Some(Outcome::Available), Some(Outcome::Reserved), Some(Outcome::Throttled));
        for (line, want) in [
            ("the object @ was not found in this registry", free),
            ("no se encontro el dominio @ en la base de datos", free),
            ("domena @ nie istnieje", free),
            ("le domaine @ n'est pas enregistré", free),
            ("domein @ is vrij", free),
            ("0 records found", free),
            ("@ neexistuje", free),
            ("el dominio @ esta reservado", withheld),
            ("daily limit of queries exceeded for your ip address", throttled),
            ("too many requests", throttled),
            // Terms of use, and sentences about something else.
            ("data is available for information purposes only", None),
            ("this domain is not available", None),
            ("all rights reserved", None),
            ("your address is not registered", None),
            ("the records are not guaranteed to be accurate", None),
            ("queries are limited", None),
            ("404 not found", None),
            ("whois server not found", None),
            ("", None),
        ] {
            assert_eq!(says(line), want, "{line}");
        }
    }
}
