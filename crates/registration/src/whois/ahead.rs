//! What the walk looks ahead for: whether deeper lines or host names follow, and whether a paragraph describes a contact or
//! the registrar rather than the domain. In: the lines from here on; out: a kind of block or a yes.

use super::fold;
use super::lines::{Form, Key, Line, by_words};
use super::tables::{Field, Kind, Scope};
use super::values;
use super::walk::{Walk, first};

impl<'a> Walk<'a, '_> {
    pub(super) fn next(&self, i: usize) -> Option<&Line<'a>> {
        self.lines[i + 1..]
            .iter()
            .take(3)
            .find(|l| !matches!(l.form, Form::Blank | Form::Rule | Form::Comment(_)))
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

    /// True when the line right after `i` is deeper than `indent`.
    pub(super) fn deeper_follows(&self, i: usize, indent: usize) -> bool {
        self.next(i).is_some_and(|n| n.indent > indent)
    }

    /// A heading of name servers by its words, where host names stand under it.
    pub(super) fn hosts_follow(&mut self, i: usize, label: &str) -> Option<Kind> {
        let host = self
            .next(i)
            .is_some_and(|n| matches!(n.form, Form::Text(_)) && values::host(first(n.text)).is_some());
        if !host {
            return None;
        }
        let kind = by_words(label, &mut self.scratch);
        let servers = kind == Some(Kind::Ns) || kind.is_none() && self.scratch.contains("server");
        servers.then_some(Kind::Ns)
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
