//! The sentences of `phrases.toml`, compiled. In: a prepared line; out: what the patterns that match it mean. Patterns
//! that begin with words give up after a few letters of most lines; those that may match within a sentence do not, so
//! they are a set of their own.

use super::probe::open_nth;
use crate::whois::question::Question;
use model::registration::Outcome;
use regex::{RegexSet, RegexSetBuilder};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    outcome: Outcome,
    #[serde(default)]
    overrules: bool,
    #[serde(default)]
    doubts: bool,
    #[serde(default)]
    tld: Vec<String>,
    patterns: Vec<String>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    phrase: Vec<Row>,
}

/// What a pattern means.
pub(crate) struct Phrase {
    pub outcome: Outcome,
    /// Where it stands, no sentence of the answer says that the name is free.
    pub overrules: bool,
    /// It says nothing itself, but a line that it matches says of no name that it is free.
    pub doubts: bool,
    /// It may match within a sentence, so it counts only where the sentence ends with the line.
    pub loose: bool,
    /// The TLDs it is limited to.
    tld: Vec<String>,
}

/// Patterns and what each means.
struct Set {
    patterns: RegexSet,
    meaning: Vec<Phrase>,
}

/// All patterns, the loose ones last.
pub(crate) struct Phrases([Set; 2]);

impl Phrases {
    pub fn load() -> Result<Self, Box<dyn std::error::Error>> {
        let file: File = toml::from_str(include_str!("../../../data/phrases.toml"))?;
        if file.phrase.iter().any(|r| r.source.is_empty()) {
            return Err("a row of phrases.toml names no source".into());
        }
        let set = |loose: bool| -> Result<Set, regex::Error> {
            let (mut patterns, mut meaning) = (Vec::new(), Vec::new());
            for r in &file.phrase {
                for p in r.patterns.iter().filter(|p| (r.doubts || p.starts_with("^.{0,")) == loose) {
                    meaning.push(Phrase {
                        outcome: r.outcome,
                        overrules: r.overrules,
                        doubts: r.doubts,
                        loose,
                        tld: r.tld.clone(),
                    });
                    // ASCII word boundaries keep the automaton fast on other scripts.
                    patterns.push(p.replace("\\b", "(?-u:\\b)"));
                }
            }
            let patterns =
                RegexSetBuilder::new(&patterns).size_limit(64 << 20).dfa_size_limit(16 << 20).build()?;
            Ok(Set { patterns, meaning })
        };
        Ok(Phrases([set(false)?, set(true)?]))
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.iter().map(|s| s.meaning.len()).sum()
    }

    /// What the patterns that match a line mean, as far as they count for this question.
    pub fn matches(&self, line: &str, asked: &Question) -> impl Iterator<Item = &Phrase> {
        let fixed = self.0[0].meaning.len();
        self.0.iter().zip([0, fixed]).flat_map(move |(set, base)| {
            let found = set.patterns.matches(line);
            let counts = |(n, p): &(usize, &Phrase)| {
                found.matched(*n) && (p.tld.is_empty() || asked.under(&p.tld)) && open_nth("phrase", base + n)
            };
            let all = if found.matched_any() { set.meaning.as_slice() } else { &[] };
            all.iter().enumerate().filter(counts).map(|(_, p)| p).collect::<Vec<_>>()
        })
    }
}
