//! Merging of SPF records (draft section 9.4; syntax of RFC 7208 section 4.6).

use std::fmt;

/// Most mechanisms and modifiers that cause a DNS query (RFC 7208 section 4.6.4).
pub const MAX_LOOKUPS: usize = 10;

/// An SPF record taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spf {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    qualifier: Option<char>,
    /// Mechanism or modifier without the qualifier.
    body: String,
}

impl Spf {
    /// Reads the text of a TXT record (without quotes); `None` when it is not an SPF record.
    pub fn parse(text: &str) -> Option<Self> {
        let version = text.get(..6)?;
        let rest = &text[6..];
        let is_spf = version.eq_ignore_ascii_case("v=spf1") && (rest.is_empty() || rest.starts_with(' '));
        is_spf.then(|| Self { terms: rest.split_ascii_whitespace().map(Term::parse).collect() })
    }

    /// A record of rules alone. `~all` comes last: receivers are advised to doubt other senders, not to refuse them.
    pub fn of_rules(rules: &str) -> Self {
        let mut terms = own_terms(rules);
        terms.push(Term::parse("~all"));
        Self { terms }
    }

    /// Puts the rules that are missing before the others. Where both name a mechanism with different qualifiers, the
    /// less restrictive one stays. The existing `all` is kept, as is its absence (which means neutral).
    pub fn merge(&mut self, rules: &str) {
        let mut front = Vec::new();
        for rule in own_terms(rules) {
            match self.terms.iter_mut().chain(front.iter_mut()).find(|term| term.is_about(&rule)) {
                Some(known) if rule.leniency() > known.leniency() => known.qualifier = rule.qualifier,
                Some(_) => {}
                None => front.push(rule),
            }
        }
        front.append(&mut self.terms);
        self.terms = front;
    }

    /// Takes rules out again.
    pub fn remove(&mut self, rules: &str) {
        let gone = own_terms(rules);
        self.terms.retain(|term| !gone.iter().any(|rule| rule.is_about(term)));
    }

    /// Adds the terms of another record of the same host: two are an error for every receiver.
    pub fn absorb(&mut self, other: &Self) {
        let missing: Vec<Term> = other
            .terms
            .iter()
            .filter(|o| !o.is_all() && !self.terms.iter().any(|t| t.is_about(o)))
            .cloned()
            .collect();
        let before_all = self.terms.iter().position(Term::is_all).unwrap_or(self.terms.len());
        self.terms.splice(before_all..before_all, missing);
    }

    /// Whether this record allows what the other does: it has all terms of the other except its `all`.
    pub fn contains(&self, other: &Self) -> bool {
        let has = |wanted: &Term| {
            self.terms.iter().any(|t| t.is_about(wanted) && t.leniency() >= wanted.leniency())
        };
        other.terms.iter().filter(|term| !term.is_all()).all(has)
    }

    /// Whether nothing but `all` is left.
    pub fn is_empty(&self) -> bool {
        self.terms.iter().all(Term::is_all)
    }

    /// Terms that make a receiver ask the DNS, not counting those inside included records.
    pub fn lookups(&self) -> usize {
        self.terms.iter().filter(|term| term.asks()).count()
    }

    /// Terms that RFC 7208 does not know: `all:x`, `foo`, a mechanism without the argument it needs.
    pub fn unknown_terms(&self) -> Vec<String> {
        self.terms.iter().filter(|term| !term.is_known()).map(ToString::to_string).collect()
    }
}

/// The rules without `v=spf1` and `all`, which authors of templates leave in by mistake.
fn own_terms(rules: &str) -> Vec<Term> {
    let terms = rules.split_ascii_whitespace().map(Term::parse);
    terms.filter(|term| !term.is_all() && !term.body.eq_ignore_ascii_case("v=spf1")).collect()
}

/// Whether the rules hold at least one term, and only characters an SPF record may have.
pub(crate) fn are_rules(rules: &str) -> bool {
    let printable = rules.bytes().all(|b| (0x20..0x7f).contains(&b) && b != b'"' && b != b'\\');
    printable && !own_terms(rules).is_empty()
}

impl Term {
    fn parse(text: &str) -> Self {
        match text.chars().next() {
            Some(q @ ('+' | '-' | '~' | '?')) => Self { qualifier: Some(q), body: text[1..].to_string() },
            _ => Self { qualifier: None, body: text.to_string() },
        }
    }

    fn is_all(&self) -> bool {
        self.body.eq_ignore_ascii_case("all")
    }

    /// Whether both are the same mechanism, or the same modifier, which a record may hold once.
    fn is_about(&self, other: &Self) -> bool {
        let modifier = |term: &Self| term.body.split_once('=').map(|(name, _)| name.to_ascii_lowercase());
        match (modifier(self), modifier(other)) {
            (Some(a), Some(b)) => a == b && matches!(a.as_str(), "redirect" | "exp") || self.same_body(other),
            _ => self.same_body(other),
        }
    }

    fn same_body(&self, other: &Self) -> bool {
        self.body.eq_ignore_ascii_case(&other.body)
    }

    fn leniency(&self) -> u8 {
        match self.qualifier {
            Some('-') => 0,
            Some('~') => 1,
            Some('?') => 2,
            _ => 3,
        }
    }

    fn name(&self) -> String {
        self.body.split([':', '/', '=']).next().unwrap_or_default().to_ascii_lowercase()
    }

    fn asks(&self) -> bool {
        matches!(self.name().as_str(), "include" | "a" | "mx" | "ptr" | "exists" | "redirect")
    }

    fn is_known(&self) -> bool {
        if let Some((name, _)) = self.body.split_once('=').filter(|(name, _)| !name.contains([':', '/'])) {
            return self.qualifier.is_none() && name.starts_with(|c: char| c.is_ascii_alphabetic());
        }
        let argument = self.body.split_once(':').is_some_and(|(_, argument)| !argument.is_empty());
        match self.name().as_str() {
            "all" => self.is_all(),
            "a" | "mx" | "ptr" => !self.body.ends_with(':'),
            "include" | "exists" | "ip4" | "ip6" => argument,
            _ => false,
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.qualifier.map_or(Ok(()), |q| write!(f, "{q}"))?;
        f.write_str(&self.body)
    }
}

impl fmt::Display for Spf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("v=spf1")?;
        self.terms.iter().try_for_each(|term| write!(f, " {term}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(existing: &str, rules: &str) -> String {
        let mut spf = Spf::parse(existing).unwrap();
        spf.merge(rules);
        spf.to_string()
    }

    #[test]
    fn rules_are_merged_term_by_term() {
        let existing = "v=spf1 a include:spf.example.org ~all";
        assert_eq!(
            merged(existing, "a include:spf.hoster.example"),
            "v=spf1 include:spf.hoster.example a include:spf.example.org ~all"
        );
        assert_eq!(merged(existing, "INCLUDE:spf.example.org a"), existing);
        assert_eq!(merged("v=spf1 -all", "v=spf1 mx ~all"), "v=spf1 mx -all");
        assert_eq!(merged("v=spf1", "mx mx"), "v=spf1 mx");
    }

    #[test]
    fn the_less_restrictive_qualifier_stays() {
        assert_eq!(merged("v=spf1 -a ~mx -all", "?a -mx"), "v=spf1 ?a ~mx -all");
        assert_eq!(merged("v=spf1 a -all", "~a"), "v=spf1 a -all");
    }

    #[test]
    fn a_redirect_keeps_its_place_and_gets_no_all() {
        assert_eq!(merged("v=spf1 redirect=_spf.example", "mx"), "v=spf1 mx redirect=_spf.example");
    }

    #[test]
    fn only_spf_records_are_read() {
        for text in ["v=spf10 a", "v=spf2.0/mfrom a", "spf1", "", "v=spf1a", "ü=spf1"] {
            assert_eq!(Spf::parse(text), None, "{text}");
        }
        assert!(Spf::parse("V=SPF1").unwrap().is_empty());
    }

    #[test]
    fn two_records_become_one() {
        let mut spf = Spf::parse("v=spf1 a -all").unwrap();
        spf.absorb(&Spf::parse("v=spf1 mx a ~all").unwrap());
        assert_eq!(spf.to_string(), "v=spf1 a mx -all");
    }

    #[test]
    fn lookups_and_unknown_terms_are_counted() {
        let spf = Spf::parse("v=spf1 a mx include:x ip4:1.2.3.4 exists:%{i}.x redirect=y foo include: ~all")
            .unwrap();
        assert_eq!(spf.lookups(), 6);
        assert_eq!(spf.unknown_terms(), ["foo", "include:"]);
    }
}
