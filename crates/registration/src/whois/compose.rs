//! What a label means that no table lists, from the words it is made of (`Date of last record change`). In: the label and
//! its value; out: one meaning, of the weakest rank and in the domain's own block only, where every word is known, the
//! words agree and the value has the form of the field. Data: `compose.toml`.

use super::date::{self, NoDate};
use super::fold;
use super::tables::{Field, Meaning, Order, Scope, open};
use super::values;
use serde::Deserialize;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::LazyLock;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Part {
    Neutral,
    /// Neutral words that may stand beside "registrar" and "status": `name`, `of`, not `date`, `number`.
    Naming,
    /// The domain or its record: what the label speaks of.
    Subject,
    Created,
    Updated,
    Last,
    Expires,
    Server,
    Nameserver,
    Ordinal,
    Status,
    Registrar,
    Company,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    field: Part,
    #[serde(default)]
    weak: bool,
    words: Vec<String>,
    #[serde(default)]
    stems: Vec<String>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    part: Vec<Row>,
}

/// What each word can be.
type Words = HashMap<String, u16, BuildHasherDefault<fold::Fnv>>;

struct Parts {
    words: Words,
    stems: Vec<(String, u16)>,
}

/// The bit of a part; a word may be several (`current`).
const fn bit(p: Part) -> u16 {
    1 << p as u16
}
/// A word that says "created" only where nothing else is said.
const WEAK: u16 = 1 << 15;

/// Words that labels of a registrar and of a state are made of.
const NAMING: u16 =
    bit(Part::Naming) | bit(Part::Subject) | bit(Part::Registrar) | bit(Part::Company) | bit(Part::Status);

static PARTS: LazyLock<Parts> = LazyLock::new(|| {
    load().unwrap_or_else(|e| panic!("the shipped WHOIS tables are checked by a test: {e}"))
});

fn load() -> Result<Parts, Box<dyn std::error::Error>> {
    let file: File = toml::from_str(include_str!("../../data/compose.toml"))?;
    let mut words = Words::default();
    let mut stems = Vec::new();
    for row in file.part {
        if row.source.is_empty() {
            return Err("a row of compose.toml names no source".into());
        }
        let b = if row.weak { WEAK } else { bit(row.field) };
        for w in row.words {
            *words.entry(w).or_default() |= b;
        }
        stems.extend(row.stems.into_iter().map(|s| (s, b)));
    }
    Ok(Parts { words, stems })
}

/// The meanings by field: those that name the domain as their subject count wherever they stand, the others in the
/// domain's own block.
static MEANINGS: [[Meaning; 1]; 13] = {
    use Field::{Created, Expires, Nameserver, Registrar, Status, Updated};
    const fn of(field: Field, scope: Scope) -> [Meaning; 1] {
        [Meaning { field, scope, rank: 6 }]
    }
    [
        of(Created, Scope::Domain),
        of(Created, Scope::Any),
        of(Updated, Scope::Domain),
        of(Updated, Scope::Any),
        of(Expires, Scope::Domain),
        of(Expires, Scope::Any),
        of(Nameserver, Scope::Domain),
        of(Nameserver, Scope::Any),
        of(Nameserver, Scope::Ns),
        of(Status, Scope::Domain),
        of(Status, Scope::Any),
        of(Registrar, Scope::Domain),
        of(Registrar, Scope::Any),
    ]
};

fn meaning(field: Field, scope: Scope) -> Option<&'static [Meaning]> {
    MEANINGS.iter().find(|m| m[0].field == field && m[0].scope == scope).map(<[Meaning; 1]>::as_slice)
}

/// What a label says by its words; nothing when the value has not the form of the field.
pub(crate) fn meanings(label: &str, value: &str) -> &'static [Meaning] {
    if label.len() > 96 || value.len() > 120 {
        return &[];
    }
    // `Última modificación (last updated on)`: what is in brackets says the same again, or the form of the value.
    let found = match label.split_once('(') {
        Some((head, _)) if !head.trim().is_empty() => field(head).or_else(|| field(label)),
        _ => field(label),
    };
    let Some(found) = found else { return &[] };
    let field = found[0].field;
    let fits = match field {
        Field::Created | Field::Updated | Field::Expires => {
            value.is_empty() || date::parse(value, Some(Order::Dmy)) != Err(NoDate::Not)
        }
        Field::Nameserver => {
            value.is_empty() || value.split_whitespace().next().is_some_and(|w| values::host(w).is_some())
        }
        _ => value.split_whitespace().count() <= 8 && !value.is_empty(),
    };
    if fits { found } else { &[] }
}

fn field(label: &str) -> Option<&'static [Meaning]> {
    let mut seen = 0u16;
    let mut word = String::with_capacity(24);
    let mut count = 0;
    let mut naming = true;
    let mut lower = false;
    for c in label.chars().chain([' ']) {
        // `creationDate` is two words.
        let hump = lower && c.is_uppercase();
        lower = c.is_lowercase();
        if c.is_alphanumeric() && !hump {
            word.extend(plain(c));
            continue;
        }
        if !word.is_empty() {
            let mut take = |of_word: u16| {
                count += 1;
                naming &= of_word & NAMING != 0;
                seen |= of_word;
            };
            match part(&word) {
                Some(of_word) => take(of_word),
                None => glued(&word)?.into_iter().for_each(take),
            }
            word.clear();
        }
        if hump {
            word.extend(plain(c));
        }
    }
    if count == 0 || count > 8 {
        return None;
    }
    let has = |p: Part| seen & bit(p) != 0;
    let plain = bit(Part::Neutral) | bit(Part::Naming) | bit(Part::Ordinal);
    if seen & !(bit(Part::Neutral) | bit(Part::Naming)) == bit(Part::Server) || seen & !plain == 0 {
        // `Host`, `Server`, `Name`, `First`: only under a heading of name servers.
        return meaning(Field::Nameserver, Scope::Ns);
    }
    let scope = if has(Part::Subject) { Scope::Any } else { Scope::Domain };
    let bare_update = label.get(..11).is_some_and(|l| l.eq_ignore_ascii_case("last update"));
    let field = agreed(has, seen & WEAK != 0, bare_update)?;
    if matches!(field, Field::Registrar | Field::Status) && !naming {
        return None;
    }
    meaning(field, scope)
}

/// The field on which the words agree.
fn agreed(has: impl Fn(Part) -> bool, weak: bool, bare_update: bool) -> Option<Field> {
    let (created, updated, expires) = (has(Part::Created), has(Part::Updated), has(Part::Expires));
    let dated = usize::from(created) + usize::from(updated) + usize::from(expires);
    let other = has(Part::Registrar) || has(Part::Company) || has(Part::Status);
    let servers = has(Part::Nameserver) || has(Part::Server);
    if dated == 1 && !other && !servers {
        return match () {
            // "Last renewed", "last registered": when something was done again, which is no field of ours. "Last
            // update" without a subject may be the database's.
            () if has(Part::Last) && (!updated || bare_update && !has(Part::Subject)) => None,
            () if created => Some(Field::Created),
            () if updated => Some(Field::Updated),
            () => Some(Field::Expires),
        };
    }
    if dated > 0 {
        return None;
    }
    if servers {
        let named = has(Part::Nameserver) || has(Part::Ordinal) || has(Part::Neutral) || has(Part::Subject);
        return (named && !other && !weak).then_some(Field::Nameserver);
    }
    if has(Part::Registrar) {
        return (!has(Part::Status) && !has(Part::Last) && !weak).then_some(Field::Registrar);
    }
    if has(Part::Status) {
        return (!has(Part::Company) && !has(Part::Last)).then_some(Field::Status);
    }
    (weak && !has(Part::Last) && !has(Part::Company)).then_some(Field::Created)
}

/// What a word can be; `None` for a word that is not known.
fn part(word: &str) -> Option<u16> {
    let digits = word.bytes().all(|b| b.is_ascii_digit());
    if digits {
        return (word.len() <= 2).then_some(bit(Part::Ordinal));
    }
    let bare = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let known = PARTS
        .words
        .get(word)
        .or_else(|| (bare.len() < word.len()).then(|| PARTS.words.get(bare)).flatten())
        .copied()
        .or_else(|| PARTS.stems.iter().find(|(s, _)| word.starts_with(s.as_str())).map(|(_, b)| *b))?;
    open("part", word).then_some(known)
}

/// The words of `datelastmodified`, two or three known ones written as one.
fn glued(word: &str) -> Option<Vec<u16>> {
    if !word.is_ascii() || !(8..=32).contains(&word.len()) {
        return None;
    }
    let pair = |w: &str| firsts(w).find_map(|(first, i)| Some(vec![first, whole(&w[i..])?]));
    pair(word).or_else(|| {
        firsts(word).find_map(|(first, i)| {
            let mut all = pair(&word[i..])?;
            all.insert(0, first);
            Some(all)
        })
    })
}

/// What a word may begin with, each with where it ends.
fn firsts(word: &str) -> impl Iterator<Item = (u16, usize)> {
    (3..word.len().saturating_sub(2)).filter_map(|end| Some((whole(&word[..end])?, end)))
}

/// What a word of the table can be, without its stems.
fn whole(word: &str) -> Option<u16> {
    PARTS.words.get(word).copied().filter(|_| open("part", word))
}

/// A letter in lower case without its accent; a combining accent is nothing.
pub(crate) fn plain(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase().filter(|l| !matches!(l, '\u{300}'..='\u{36f}')).map(|l| match l {
        'á' | 'à' | 'â' | 'ä' | 'ã' | 'å' | 'ă' | 'ą' | 'ā' | 'æ' | 'ạ'..='ặ' => 'a',
        'é' | 'è' | 'ê' | 'ë' | 'ě' | 'ę' | 'ē' | 'ė' | 'ẹ'..='ệ' => 'e',
        'í' | 'ì' | 'î' | 'ï' | 'ı' | 'ī' | 'į' | 'ĩ' | 'ỉ'..='ị' => 'i',
        'ó' | 'ò' | 'ô' | 'ö' | 'õ' | 'ø' | 'ő' | 'ơ' | 'ọ'..='ợ' => 'o',
        'ú' | 'ù' | 'û' | 'ü' | 'ů' | 'ū' | 'ų' | 'ű' | 'ũ' | 'ư' | 'ụ'..='ự' => 'u',
        'ç' | 'ć' | 'č' => 'c',
        'ñ' | 'ń' | 'ň' | 'ņ' => 'n',
        'š' | 'ş' | 'ś' | 'ș' => 's',
        'ž' | 'ź' | 'ż' => 'z',
        'ț' | 'ţ' | 'ť' => 't',
        'ý' | 'ỳ'..='ỹ' => 'y',
        'ğ' => 'g',
        'ř' => 'r',
        'ł' | 'ļ' | 'ľ' => 'l',
        'đ' | 'ď' => 'd',
        'ё' => 'е',
        'ά' => 'α',
        'έ' => 'ε',
        'ή' => 'η',
        'ί' => 'ι',
        'ό' => 'ο',
        'ύ' => 'υ',
        'ώ' => 'ω',
        l => l,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_mean_what_their_words_say() {
        for (label, value, want) in [
            ("Date of first registration", "2001-02-03", Some(Field::Created)),
            ("Registration is valid until", "2031-02-03", Some(Field::Expires)),
            ("Record date of last change", "2001-02-03", Some(Field::Updated)),
            ("domainCreationDate", "2001-02-03", Some(Field::Created)),
            ("Fecha de la última actualización", "2001-02-03", Some(Field::Updated)),
            ("registrationdate", "2001-02-03", Some(Field::Created)),
            ("domain_datelastmodified", "2001-02-03", Some(Field::Updated)),
            ("domaindateexpires", "2031-02-03", Some(Field::Expires)),
            ("domainstatus", "active", Some(Field::Status)),
            ("EPP status", "ok", Some(Field::Status)),
            ("registrantname", "Some Body", None),
            ("contactcreated", "2001-02-03", None),
            ("Domain will expire at", "2031-02-03 10:00:00", Some(Field::Expires)),
            ("Third DNS server", "ns3.example.net", Some(Field::Nameserver)),
            ("Registrar company full name", "Sample Registrar", Some(Field::Registrar)),
            ("Status of the record", "active", Some(Field::Status)),
            ("Platnost do", "2031-02-03", Some(Field::Expires)),
            ("Ngày cập nhật", "2001-02-03", Some(Field::Updated)),
            ("Дата на регистрация", "2001-02-03", Some(Field::Created)),
            // Not about the domain, not dates, or unclear.
            ("Platnost od", "2001-02-03", None),
            ("Valid from", "2001-02-03", None),
            ("Valido dal", "2001-02-03", None),
            ("Gültig ab", "2001-02-03", None),
            ("Valid since", "2001-02-03", None),
            ("Registered by", "Sample Registrar", None),
            ("Registered for", "Some Body", None),
            ("Created by", "Sample Registrar", None),
            ("Changed by", "Sample Registrar", None),
            ("Name of the registrant", "Some Body", None),
            ("Renewal status", "auto", None),
            ("Renewal price", "2001", None),
            ("Registration fee", "2001-02-03", None),
            ("Expiry notice", "2001-02-03", None),
            ("Server status", "ok", None),
            ("Name", "Some Body", None),
            ("First name", "Some", None),
            ("Primary contact", "ns1.example.net", None),
            ("Last renewed", "2001-02-03", None),
            ("Registrar created", "2001-02-03", None),
            ("Contact created", "2001-02-03", None),
            ("Whois server", "whois.example.net", None),
            ("Registration is valid until", "further notice", None),
            ("Last transferred date", "2001-02-03", None),
            ("Created and changed", "2001-02-03", None),
            ("Domain renewed", "2001-02-03", None),
            ("Paid on", "2001-02-03", None),
            ("Paid until", "2031-02-03", Some(Field::Expires)),
            ("Registrar number", "123", None),
            ("Registrar info", "http://registrar.example", None),
            ("Status date", "2001-02-03", None),
            ("Whois server name", "whois.example.net", None),
            ("Registration service", "Sample Registrar", None),
            ("Status changed", "2001-02-03", None),
            ("Last Update Time", "2001-02-03T00:00:00Z", None),
        ] {
            let got = meanings(label, value).first().map(|m| m.field);
            assert_eq!(got, want, "{label}: {value}");
        }
    }
}
