//! Which CSS classes the interface's source uses. In: tokens of a file. Out: every class with its place.
//!
//! Looked at: `class="…"`, `class=("…", …)`, `class={…}`, `class=move || …`, `class:name=…`, `.class("…")`,
//! functions whose name ends in `_class` or `_classes`, and comments `// classes: a b`. A class must be
//! written out: `format!("pill-{x}")` can neither be checked nor generated, and is reported as unknown.

use crate::source::{Kind, Token};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// A class and where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The class.
    pub class: String,
    /// The file, relative to the repository.
    pub file: PathBuf,
    /// Its line, from 1.
    pub line: usize,
}

impl fmt::Display for Use {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.file.display(), self.line, self.class)
    }
}

/// Every word of every string literal: what utilities are generated from, so that a class which reaches
/// its element by a detour has its rule too.
pub fn words(tokens: &[Token]) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for token in tokens {
        if let Kind::Text(text) | Kind::Listed(text) = &token.kind {
            words.extend(text.split_whitespace().map(str::to_owned));
        }
    }
    for (class, _) in directives(tokens) {
        words.insert(class);
    }
    words
}

/// Every class that is certainly used as one.
pub fn uses(file: &Path, tokens: &[Token]) -> Vec<Use> {
    let mut found: Vec<(String, usize)> = directives(tokens);
    for (at, token) in tokens.iter().enumerate() {
        match &token.kind {
            Kind::Listed(list) => add(list, token.line, &mut found),
            Kind::Word(word) if word == "class" => {
                if let Some(value) = value_after(tokens, at) {
                    collect(value, &mut found);
                }
            }
            Kind::Word(word) if word == "fn" => {
                if let Some(body) = class_function(tokens, at) {
                    collect(body, &mut found);
                }
            }
            _ => {}
        }
    }
    found.into_iter().map(|(class, line)| Use { class, file: file.to_owned(), line }).collect()
}

/// `class:name-of-class=`
fn directives(tokens: &[Token]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let starts = token.word() == Some("class")
            && tokens.get(at + 1).is_some_and(|next| next.is(':'))
            && !tokens.get(at + 2).is_some_and(|next| next.is(':'));
        if !starts {
            continue;
        }
        let mut name = String::new();
        for next in &tokens[at + 2..] {
            match &next.kind {
                Kind::Word(word) => name.push_str(word),
                Kind::Mark(mark @ ('-' | ':' | '/' | '.')) => name.push(*mark),
                _ => {
                    // A struct field or parameter `class: Type` ends otherwise.
                    if next.is('=') && !name.is_empty() {
                        found.push((name, token.line));
                    }
                    break;
                }
            }
        }
    }
    found
}

/// The tokens of the value in `class=VALUE` or `.class(VALUE)`.
fn value_after(tokens: &[Token], at: usize) -> Option<&[Token]> {
    let rest = &tokens[at + 1..];
    if rest.first()?.is('(') && at > 0 && tokens[at - 1].is('.') {
        return Some(balanced(rest));
    }
    if !rest.first()?.is('=') || rest.get(1)?.is('=') {
        return None;
    }
    let value = &rest[1..];
    match &value.first()?.kind {
        Kind::Text(_) => Some(&value[..1]),
        Kind::Mark('(') => {
            // class=("a b", condition): what follows the comma is no class.
            let inside = balanced(value);
            let comma = depth_zero(&inside[1..], |token, _| token.is(','));
            Some(&inside[..=comma])
        }
        Kind::Mark('{') => Some(balanced(value)),
        _ => Some(&value[..depth_zero(value, ends_attribute)]),
    }
}

/// From an opening bracket to the one that closes it.
fn balanced(tokens: &[Token]) -> &[Token] {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Mark('(' | '[' | '{') => depth += 1,
            Kind::Mark(')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return &tokens[..=at];
        }
    }
    tokens
}

/// The index of the first token outside all brackets for which `ends` holds, or of the bracket that closes
/// the surroundings, or the length.
fn depth_zero(tokens: &[Token], ends: impl Fn(&Token, &[Token]) -> bool) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Mark('(' | '[' | '{') => depth += 1,
            Kind::Mark(')' | ']' | '}') if depth == 0 => return at,
            Kind::Mark(')' | ']' | '}') => depth -= 1,
            _ if depth == 0 && ends(token, &tokens[at..]) => return at,
            _ => {}
        }
    }
    tokens.len()
}

/// Whether an unbracketed attribute value ends here: at the tag's end, at a statement's end, or where the
/// next attribute begins (`name=`, `on:click=`, `aria-label=`).
fn ends_attribute(token: &Token, rest: &[Token]) -> bool {
    match &token.kind {
        Kind::Mark(';' | ',') => true,
        Kind::Mark('>') => !rest.get(1).is_some_and(|next| next.is('=')),
        Kind::Mark('/') => rest.get(1).is_some_and(|next| next.is('>')),
        Kind::Word(_) => {
            let mut at = 1;
            while rest.get(at).is_some_and(|next| next.is('-') || next.is(':'))
                && rest.get(at + 1).is_some_and(|next| next.word().is_some())
            {
                at += 2;
            }
            let equals = |at: usize| rest.get(at).is_some_and(|next| next.is('='));
            equals(at) && !equals(at + 1) && !rest.get(at + 1).is_some_and(|next| next.is('>'))
        }
        _ => false,
    }
}

/// The body of `fn …_class(…) … { … }`.
fn class_function(tokens: &[Token], at: usize) -> Option<&[Token]> {
    let name = tokens.get(at + 1)?.word()?;
    if !name.ends_with("_class") && !name.ends_with("_classes") {
        return None;
    }
    let open = tokens[at..].iter().position(|token| token.is('{') || token.is(';'))?;
    tokens[at + open].is('{').then(|| balanced(&tokens[at + open..]))
}

fn collect(tokens: &[Token], found: &mut Vec<(String, usize)>) {
    for (at, token) in tokens.iter().enumerate() {
        let Kind::Text(text) = &token.kind else { continue };
        // What a value is compared with or matched against is no class.
        let compared =
            at >= 2 && tokens[at - 1].is('=') && (tokens[at - 2].is('=') || tokens[at - 2].is('!'));
        let pattern = tokens.get(at + 1).is_some_and(|next| next.is('|'))
            || tokens.get(at + 1).is_some_and(|next| next.is('='))
                && tokens.get(at + 2).is_some_and(|next| next.is('>'));
        if !compared && !pattern {
            add(text, token.line, found);
        }
    }
}

fn add(text: &str, line: usize, found: &mut Vec<(String, usize)>) {
    for word in text.split_whitespace() {
        // A word that is filled in whole comes from a place of its own.
        let filled_in = word.starts_with('{') && word.ends_with('}') && word.matches('{').count() == 1;
        if !filled_in {
            found.push((word.to_owned(), line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tokens;

    fn found(source: &str) -> Vec<String> {
        uses(Path::new("x.rs"), &tokens(source)).into_iter().map(|one| one.class).collect()
    }

    #[test]
    fn every_way_of_writing_a_class_is_seen() {
        for (source, classes) in [
            (r#"<p class="a b-2">"#, vec!["a", "b-2"]),
            (r#"<p class=("a b", move || x == "no")>"no"</p>"#, vec!["a", "b"]),
            (r#"<p class={if x { "a" } else { "b" }} title="no">"#, vec!["a", "b"]),
            (r#"<p class=move || if n >= 2 { "a" } else { "b" } title="no">"no""#, vec!["a", "b"]),
            (r#"<p class=move || tone() aria-label="no">"#, vec![]),
            (r#"<p class:is-on=move || true title="no">"#, vec!["is-on"]),
            (r#"div().class("a b").child("no")"#, vec!["a", "b"]),
            (
                r#"fn tone_class(t: T) -> &'static str { match t { T::A => "a", _ => "b" } } fn f() { "no" }"#,
                vec!["a", "b"],
            ),
            (
                r#"fn tone_class(t: &str) -> &str { match t { "no" | "neither" => "a", "nor" => "b" } }"#,
                vec!["a", "b"],
            ),
            ("// classes: a b\n", vec!["a", "b"]),
            (r#"<p class=format!("a {extra}")>"#, vec!["a"]),
            (r#"<Pill class="a"/>"#, vec!["a"]),
        ] {
            assert_eq!(found(source), classes, "{source}");
        }
    }

    #[test]
    fn what_only_looks_like_a_class_is_not_one() {
        for source in [
            "struct P { class: String }",
            "fn f(class: &str) {}",
            "model::class::Thing",
            r#"if class == "no" {}"#,
            r#"title="class""#,
        ] {
            assert_eq!(found(source), Vec::<String>::new(), "{source}");
        }
    }

    #[test]
    fn a_class_put_together_at_run_time_is_reported() {
        assert_eq!(found(r#"<p class=format!("pill pill-{tone}")>"#), ["pill", "pill-{tone}"]);
    }
}
