//! What a label means that no table lists, from the words it is made of (`Date of last record change`). In: the label and
//! its value; out: one meaning, of the weakest rank and in the domain's own block only, where every word is known, the
//! words agree and the value has the form of the field. Data: `infer_label.toml`.

use crate::whois::text::fold::{self, plain};
use crate::whois::values::date::{self, NoDate};
use crate::whois::values::fields;
use crate::whois::vocabulary::probe::open;
use crate::whois::vocabulary::tables::{Field, Meaning, Order, Scope};
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
    /// "To", "bis": what follows is an end. A word that is also neutral (`do`: "until" and "of the") says so only at
    /// the end of a label.
    Until,
    /// "Valid", "paid": of a span of time, which has an end and a beginning.
    Span,
    /// The database, not the domain: "registry", "data" (where `data` is not "date").
    Database,
    /// "Date", "day": may follow "until".
    Moment,
    /// English words for "last".
    Latest,
    /// English "update": what databases say of themselves.
    Refreshed,
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
type Words = HashMap<String, u32, BuildHasherDefault<fold::Fnv>>;

struct Parts {
    words: Words,
    stems: Vec<(String, u32)>,
}

/// The bit of a part; a word may be several (`current`).
const fn bit(p: Part) -> u32 {
    1 << p as u16
}
/// A word that says "created" only where nothing else is said.
const WEAK: u32 = 1 << 31;

/// Words that labels of a registrar and of a state are made of.
const NAMING: u32 =
    bit(Part::Naming) | bit(Part::Subject) | bit(Part::Registrar) | bit(Part::Company) | bit(Part::Status);

static PARTS: LazyLock<Parts> = LazyLock::new(|| {
    load().unwrap_or_else(|e| panic!("the shipped WHOIS tables are checked by a test: {e}"))
});

fn load() -> Result<Parts, Box<dyn std::error::Error>> {
    let file: File = toml::from_str(include_str!("../../../data/infer_label.toml"))?;
    let mut words = Words::default();
    let mut stems = Vec::new();
    for row in file.part {
        if row.source.is_empty() {
            return Err("a row of infer_label.toml names no source".into());
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
            value.is_empty() || value.split_whitespace().next().is_some_and(|w| fields::host(w).is_some())
        }
        _ => value.split_whitespace().count() <= 8 && !value.is_empty(),
    };
    if fits { found } else { &[] }
}

/// What the words of a label are, taken together.
#[derive(Default)]
struct LabelSenses {
    parts: u32,
    words: usize,
    /// Every word is one that labels of a registrar and of a state are made of.
    naming: bool,
    /// The last word may say "until"; it does where nothing but a day is spoken of behind it.
    maybe_until: bool,
    /// `data`, which is "date" in some languages.
    data: bool,
}

impl LabelSenses {
    fn take(&mut self, word: u32) {
        const MAYBE: u32 = bit(Part::Until) | bit(Part::Neutral);
        self.words += 1;
        self.naming &= word & NAMING != 0;
        let mut word = word;
        if word & MAYBE == MAYBE {
            self.maybe_until = true;
            word &= !bit(Part::Until);
        } else if word & bit(Part::Moment) == 0 {
            self.maybe_until = false;
        }
        if word & bit(Part::Database) != 0 && word & bit(Part::Moment) != 0 {
            self.data = true;
            word &= !bit(Part::Database);
        }
        self.parts |= word;
    }

    fn has(&self, p: Part) -> bool {
        self.parts & bit(p) != 0
    }

    fn until(&self) -> bool {
        self.maybe_until || self.has(Part::Until)
    }

    /// The last update of the database, or perhaps of it: "Last update", "Data last updated", "Last registry change".
    fn of_the_database(&self) -> bool {
        let english = self.has(Part::Latest);
        let own = self.has(Part::Subject);
        let database = self.has(Part::Database) || self.data && english;
        !own && (database || english && self.has(Part::Refreshed) && self.parts & WEAK == 0)
    }
}

/// Calls with every word of a label, lower case and without accents, until one is not wanted.
fn each_word(label: &str, mut take: impl FnMut(&str) -> Option<()>) -> Option<()> {
    let mut word = String::with_capacity(24);
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
            take(&word)?;
            word.clear();
        }
        if hump {
            word.extend(plain(c));
        }
    }
    Some(())
}

/// True when a label says that it speaks of the domain or its record: `Domain created`.
pub(crate) fn names_the_domain(label: &str) -> bool {
    let is =
        |word: &str| PARTS.words.get(word).is_some_and(|w| w & bit(Part::Subject) != 0) && open("part", word);
    let begins = |word: &str| {
        let mut ends = (3..word.len()).filter_map(|end| word.split_at_checked(end));
        ends.any(|(first, rest)| PARTS.words.contains_key(rest) && is(first))
    };
    let subject = |word: &str| is(word) || begins(word);
    each_word(label, |word| if subject(word) { None } else { Some(()) }).is_none()
}

fn field(label: &str) -> Option<&'static [Meaning]> {
    let mut senses = LabelSenses { naming: true, ..LabelSenses::default() };
    each_word(label, |word| {
        match part(word) {
            Some(of_word) => senses.take(of_word),
            None => glued(word)?.into_iter().for_each(|w| senses.take(w)),
        }
        Some(())
    })?;
    if senses.words == 0 || senses.words > 8 {
        return None;
    }
    const EMPTY: u32 = bit(Part::Neutral) | bit(Part::Naming) | bit(Part::Moment) | bit(Part::Database);
    let plain = EMPTY | bit(Part::Ordinal);
    if senses.parts & !EMPTY == bit(Part::Server) || senses.parts & !plain == 0 {
        // `Host`, `Server`, `Name`, `First`: only under a heading of name servers.
        return meaning(Field::Nameserver, Scope::Ns);
    }
    let scope = if senses.has(Part::Subject) { Scope::Any } else { Scope::Domain };
    let field = agreed(&senses)?;
    if matches!(field, Field::Registrar | Field::Status) && !senses.naming {
        return None;
    }
    meaning(field, scope)
}

/// The field on which the words agree.
fn agreed(senses: &LabelSenses) -> Option<Field> {
    let (has, weak) = (|p| senses.has(p), senses.parts & WEAK != 0);
    let (created, updated, expires) = (has(Part::Created), has(Part::Updated), has(Part::Expires));
    let dated = usize::from(created) + usize::from(updated) + usize::from(expires);
    let other = has(Part::Registrar) || has(Part::Company) || has(Part::Status);
    let servers = has(Part::Nameserver) || has(Part::Server);
    if dated == 1 && !other && !servers {
        return match () {
            // "Last renewed", "last registered": when something was done again, which is no field of ours.
            () if has(Part::Last) && (!updated || senses.of_the_database()) => None,
            // "Created to": neither a beginning nor an end.
            () if !expires && (senses.until() || has(Part::Span)) => None,
            () if created => Some(Field::Created),
            () if updated => Some(Field::Updated),
            () => Some(Field::Expires),
        };
    }
    if dated > 0 {
        return None;
    }
    if senses.until() && (weak || has(Part::Span)) && !other && !servers {
        // "Registered until", "paid to".
        return (!has(Part::Last)).then_some(Field::Expires);
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
    // A registration that is valid or paid at a date may begin or end there.
    (weak && !has(Part::Last) && !has(Part::Company) && !has(Part::Span)).then_some(Field::Created)
}

/// What a word can be; `None` for a word that is not known.
fn part(word: &str) -> Option<u32> {
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
fn glued(word: &str) -> Option<Vec<u32>> {
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
fn firsts(word: &str) -> impl Iterator<Item = (u32, usize)> {
    (3..word.len().saturating_sub(2)).filter_map(|end| Some((whole(&word[..end])?, end)))
}

/// What a word of the table can be, without its stems.
fn whole(word: &str) -> Option<u32> {
    PARTS.words.get(word).copied().filter(|_| open("part", word))
}

#[cfg(test)]
mod tests;
