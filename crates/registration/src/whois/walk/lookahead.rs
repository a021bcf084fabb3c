//! What the walk looks around for: whether deeper lines or host names follow, whether a paragraph describes a contact or the
//! registrar rather than the domain, whose record was read so far. In: lines and facts; out: a kind of block or a yes.

use super::state::{Walk, first};
use crate::whois::layout::lines::{Form, Key, Line, by_words};
use crate::whois::text::fold;
use crate::whois::values::fields;
use crate::whois::vocabulary::tables::{Field, Kind, Scope};

impl<'a> Walk<'a, '_> {
    pub(super) fn next(&self, i: usize) -> Option<&Line<'a>> {
        self.lines[i + 1..]
            .iter()
            .take(3)
            .find(|l| !matches!(l.form, Form::Blank | Form::Rule | Form::Comment(_)))
    }

    /// True when every name that was stated so far is another one, and something was said about it.
    pub(super) fn only_of_others(&self) -> bool {
        let zone = |n: &str| self.asked.tlds.iter().any(|t| t.eq_ignore_ascii_case(n)) && !self.asked.is(n);
        let other = |n: &&str| {
            let n = first(n);
            zone(n) || fields::host(n).is_some() && !self.asked.is(n)
        };
        let names = &self.facts.names;
        !names.is_empty() && names.iter().all(other) && self.facts.has_content()
    }

    /// True for the asked name, and for the name the answer says it is about.
    pub(super) fn is_the_name(&self, value: &str) -> bool {
        self.asked.is(value) || self.facts.names.iter().any(|n| first(n).eq_ignore_ascii_case(value))
    }

    /// True when the label without a value at `i` is a field that is empty rather than a heading: it stands in a list
    /// of fields, none deeper than it.
    pub(super) fn empty_field(&self, i: usize, indent: usize, k: &Key<'_>, begins: bool) -> bool {
        let beside = |at: Option<usize>| match at.and_then(|at| self.lines.get(at)) {
            Some(Line { form: Form::Key(other), indent: at, .. }) if *at == indent => Some(other.is_own()),
            _ => None,
        };
        let Some(own_below) = beside(Some(i + 1)) else { return false };
        if begins {
            // RIPE style names objects by a field of their own; one that is empty is a field all the same.
            let object = is_one_word(k.label) && k.object.is_some();
            return object || own_below && k.heading != Some(Kind::Ns);
        }
        // A person's details may follow a heading without a gap; single small words are names of fields.
        let person = matches!(k.heading, Some(Kind::Contact | Kind::Registrant)) && !is_one_word(k.label);
        own_below || beside(i.checked_sub(1)).is_some() && !person
    }

    /// True when a word that no table knows as a state is one all the same: the label is `State`, the domain was named, and
    /// no address stands near of which it could be the province.
    pub(super) fn is_bare_state(&self, value: &str) -> bool {
        let word = value.split(['(', '[']).next().unwrap_or_default().trim();
        let plain = (3..=24).contains(&word.len()) && word.split(' ').nth(2).is_none();
        if !plain || !word.chars().all(|c| c.is_alphabetic() || " -_".contains(c)) {
            return false;
        }
        let near = |l: &&Line<'a>| !matches!(l.form, Form::Blank | Form::Rule);
        let of_address = |l: &Line<'a>| matches!(&l.form, Form::Key(k) if is_address_label(k.label));
        let above = self.lines[..self.at].iter().rev().take_while(near).take(6).any(of_address);
        let below = self.lines[self.at + 1..].iter().take_while(near).take(6).any(of_address);
        !self.facts.names.is_empty() && !above && !below
    }

    /// True when the line right after `i` is deeper than `indent`.
    pub(super) fn deeper_follows(&self, i: usize, indent: usize) -> bool {
        self.next(i).is_some_and(|n| n.indent > indent)
    }

    /// A heading of name servers by its words, where host names stand under it.
    pub(super) fn hosts_follow(&mut self, i: usize, label: &str) -> Option<Kind> {
        let host = self.next(i).is_some_and(|n| match &n.form {
            Form::Text(_) => fields::host(first(n.text)).is_some(),
            // `Name....: ns1.example.net`, read as a server's name only under its heading.
            Form::Key(k) => {
                k.meanings.iter().any(|m| m.scope == Scope::Ns) && fields::host(first(k.value)).is_some()
            }
            _ => false,
        });
        if !host {
            return None;
        }
        let kind = by_words(label, &mut self.scratch);
        let server = ["server", "host", "dns"].iter().any(|w| self.scratch.contains(w));
        let servers = kind == Some(Kind::Ns) || kind.is_none() && (server || self.scratch == "ns");
        servers.then_some(Kind::Ns)
    }

    /// What a line of a few words begins that no one listed as a heading: name servers or someone's details.
    pub(super) fn heads(&mut self, i: usize, text: &str) -> Option<Kind> {
        let short = text.len() <= 60 && text.split_whitespace().nth(5).is_none() && !text.ends_with('.');
        if !short || fields::host(first(text)).is_some() {
            return None;
        }
        self.hosts_follow(i, text).or_else(|| {
            let has_domain_data = self.facts.has(Field::Created) || !self.facts.hosts.is_empty();
            let kind = self.named_below(i).then(|| by_words(text, &mut self.scratch)).flatten();
            kind.filter(|k| has_domain_data && matches!(k, Kind::Contact | Kind::Registrant))
        })
    }

    /// A heading that no one listed, over a block that begins with someone's name: a trustee, an owner in another language.
    pub(super) fn person_follows(&self, i: usize, k: &Key<'_>) -> Option<Kind> {
        let fits = k.meanings.is_empty() && !self.facts.names.is_empty();
        (fits && self.named_below(i)).then_some(Kind::Contact)
    }

    /// True when the line below `i` states someone's name.
    fn named_below(&self, i: usize) -> bool {
        let Some(Line { form: Form::Key(below), .. }) = self.next(i) else { return false };
        let label = below.label.trim_matches(|c: char| !c.is_alphanumeric());
        NAMES.iter().any(|w| label.eq_ignore_ascii_case(w)) && fields::host(first(below.value)).is_none()
    }

    /// True when the paragraph that begins at `i` describes a person or company after the domain's own was read: it has
    /// an address and nothing that only a domain has.
    pub(super) fn contact_paragraph(&self, i: usize) -> bool {
        let mut details = 0;
        for l in self.lines[i..].iter().take(30) {
            match &l.form {
                Form::Key(k) => {
                    // A contact may have a registrar of its own, and a state and dates in the words of a domain's.
                    let own = k.meanings.iter().any(|m| match m.scope {
                        Scope::Any => m.field != Field::Registrar,
                        Scope::Domain => matches!(
                            m.field,
                            Field::Nameserver | Field::Expires | Field::Dnssec | Field::Domain
                        ),
                        _ => false,
                    });
                    if own || k.heading.is_some() && k.value.is_empty() {
                        return false;
                    }
                    details += usize::from(is_address_label(k.label));
                }
                Form::Blank | Form::Rule => break,
                _ => {}
            }
        }
        details >= 2
    }

    /// True when the paragraph that begins at `i` describes the registrar as an object (address, phone) rather than
    /// going on about the domain.
    pub(super) fn registrar_paragraph(&self, i: usize) -> bool {
        let mut details = false;
        for l in self.lines[i + 1..].iter().take(30) {
            match &l.form {
                Form::Key(k) => {
                    // A state after the domain's own is the registrar's.
                    let stated = self.facts.has(Field::Status);
                    let domain_field = k.meanings.iter().any(|m| {
                        m.scope != Scope::Ns
                            && (matches!(
                                m.field,
                                Field::Nameserver | Field::Expires | Field::RegistrarExpires
                            ) || m.field == Field::Status && !stated)
                    });
                    if domain_field {
                        return false;
                    }
                    details |= k.meanings.iter().any(|m| m.scope == Scope::Registrar)
                        || is_address_label(k.label)
                        || fold::word(k.label) == "type";
                }
                Form::Blank | Form::Rule => break,
                _ => {}
            }
        }
        details
    }
}

/// Labels that a person's or company's details begin with.
const NAMES: &[&str] = &[
    "name",
    "full name",
    "first name",
    "organization",
    "organisation",
    "company",
    "person",
    "naam",
    "nom",
    "nombre",
    "nome",
    "contact name",
];

/// `admin-c`, `personname`: a label as RIPE style writes them.
fn is_one_word(label: &str) -> bool {
    label.bytes().all(|b| b.is_ascii_lowercase() || b == b'-' || b == b'_')
}

/// Labels of postal and electronic addresses, which a domain itself does not have.
fn is_address_label(label: &str) -> bool {
    let label = label.trim_matches(|c: char| !c.is_alphanumeric());
    [
        "address",
        "phone",
        "street",
        "city",
        "country",
        "email",
        "e-mail",
        "fax",
        "fax-no",
        "postal code",
        "zip",
        "telephone",
        "tel",
    ]
    .iter()
    .any(|w| label.eq_ignore_ascii_case(w))
}
