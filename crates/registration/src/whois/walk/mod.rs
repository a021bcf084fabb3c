//! Walks the lines of an answer and collects what the labels state, minding the blocks they stand in: a contact's
//! `created` is not the domain's. In: lines; out: [`Facts`], values still as text.

mod counts;
pub(in crate::whois) mod facts;
mod lookahead;
mod state;
#[cfg(test)]
mod tests;

use crate::whois::layout::lines::{Form, Key, Line, by_words};
use crate::whois::question::Question;
use crate::whois::text::fold;
use crate::whois::values::date;
use crate::whois::values::fields;
use crate::whois::values::states;
use crate::whois::vocabulary::tables::{Field, Kind, Scope, TABLES};
use facts::Facts;
use state::{Open, Walk, first};

pub(crate) fn walk<'a>(lines: &[Line<'a>], asked: &Question) -> Facts<'a> {
    let mut w = Walk {
        lines,
        asked,
        facts: Facts::default(),
        at: 0,
        section: Kind::Domain,
        section_indent: 0,
        section_full: false,
        section_object: false,
        section_deep: false,
        section_ending: false,
        paragraph: true,
        open: None,
        scratch: String::with_capacity(96),
    };
    for (i, l) in lines.iter().enumerate() {
        w.at = i;
        match &l.form {
            Form::Blank => w.blank(),
            Form::Rule => w.rule(),
            Form::Comment(text) => w.comment(text),
            Form::Key(k) => w.key(i, l, k),
            Form::Text(heading) => w.text(i, l, *heading),
        }
    }
    w.facts
}

impl<'a> Walk<'a, '_> {
    fn blank(&mut self) {
        self.paragraph = true;
        if self.section_full {
            self.section_ending = true;
        }
        match &mut self.open {
            Some(o) if o.empty && !o.taken => o.gap = true,
            open => *open = None,
        }
    }

    fn rule(&mut self) {
        // A rule right under a heading underlines it; elsewhere it parts records.
        if self.section_full || self.section == Kind::Domain {
            self.enter(Kind::Domain, 0);
            self.open = None;
        }
        self.paragraph = true;
    }

    fn comment(&mut self, text: &str) {
        if text.is_empty() {
            self.paragraph = true;
            return;
        }
        if text.len() < 60 {
            fold::label(text, &mut self.scratch);
            if TABLES.restart.contains(self.scratch.as_str()) {
                self.facts = Facts::default();
                self.enter(Kind::Domain, 0);
                self.open = None;
            }
            if self.facts.order.is_none() && text.to_ascii_lowercase().contains("date") {
                self.facts.order = date::order_in(text);
            }
        }
    }

    fn enter(&mut self, kind: Kind, indent: usize) {
        self.section = kind;
        self.section_indent = indent;
        self.section_full = false;
        self.section_object = false;
        self.section_deep = false;
        self.section_ending = false;
    }

    /// Leaves the block when a line stands where its heading stood, after a blank or after deeper lines.
    fn maybe_leave(&mut self, indent: usize) {
        let out = if self.section_ending || self.section_deep {
            indent <= self.section_indent
        } else {
            indent < self.section_indent
        };
        if out {
            self.enter(Kind::Domain, 0);
        } else {
            self.section_ending = false;
            self.section_deep |= !self.section_full && indent > self.section_indent;
        }
    }

    fn key(&mut self, i: usize, l: &Line<'a>, k: &Key<'a>) {
        self.maybe_leave(l.indent);
        let detail = !k.value.is_empty() && k.value.len() <= 120 && k.heading != Some(Kind::Other);
        self.facts.labelled += usize::from(detail && self.section != Kind::Other);
        if k.value.is_empty() {
            return self.key_alone(i, l, k);
        }
        if std::mem::take(&mut self.paragraph) {
            self.object(i, l, k);
        }
        let contact = matches!(self.section, Kind::Contact | Kind::Registrant);
        if contact && k.is_own() && k.states(Field::Domain) && self.asked.is(first(k.value)) {
            // The record goes on after a contact's block without a gap.
            self.enter(Kind::Domain, l.indent);
        }
        self.section_full = true;
        self.open = None;
        self.record(l, k, k.value);
        if k.states(Field::Nameserver) && fields::host(first(k.value)).is_none() && !k.value.contains('.') {
            // `Domain servers in listed order: Manage DNS`: the servers stand below.
            if let Some(kind) = self.hosts_follow(i, k.label) {
                self.enter(kind, l.indent);
            }
        }
        // RIPE style ends every object with its source, whether a blank line follows or not.
        self.paragraph = k.label == "source";
    }

    /// A label without a value: a heading, a list, or an empty field.
    fn key_alone(&mut self, i: usize, l: &Line<'a>, k: &Key<'a>) {
        let begins = std::mem::take(&mut self.paragraph);
        self.open = None;
        let flat = self.empty_field(i, l.indent, k, begins);
        if flat && begins {
            self.object(i, l, k);
        }
        let kind = if flat {
            None
        } else if self.deeper_follows(i, l.indent) {
            k.heading
                .or_else(|| by_words(k.label, &mut self.scratch))
                .or_else(|| self.hosts_follow(i, k.label))
                .or_else(|| self.person_follows(i, k))
        } else {
            k.heading.or_else(|| self.hosts_follow(i, k.label))
        };
        match kind {
            Some(kind) => self.enter(kind, l.indent),
            None => self.section_full = true,
        }
        if !flat {
            self.record(l, k, "");
            if let Some(o) = &mut self.open {
                o.begins = begins;
            }
            if kind == Some(Kind::Registrant) && self.open.is_none() {
                self.open_list(Field::RegistrantOrganization, 4, k.label, l.indent, true);
            }
        }
    }

    /// The first label of a paragraph may say that an object of another kind begins.
    fn object(&mut self, i: usize, l: &Line<'a>, k: &Key<'a>) {
        // Hosts named after the domain may be described before it (Verisign before 2016).
        let first_record = self.section == Kind::Other && self.facts.names.is_empty();
        if first_record && k.states(Field::Domain) && self.asked.is(first(k.value)) {
            self.enter(Kind::Domain, 0);
        }
        if k.states(Field::Domain) && self.asked.is(first(k.value)) && self.only_of_others() {
            // What was read is another name's record, or the zone's (IANA): the asked one begins here.
            self.facts = Facts { order: self.facts.order, ..Facts::default() };
            self.enter(Kind::Domain, 0);
            return;
        }
        if k.states(Field::Domain) && !self.facts.names.is_empty() {
            let name = k.value.split_whitespace().next().unwrap_or_default();
            let seen = self.facts.names.iter().any(|n| self.asked.is(first(n)));
            let repeated = self.facts.names.iter().any(|n| first(n).eq_ignore_ascii_case(name));
            if seen && (!self.asked.is(name) || repeated) && self.facts.has_content() {
                // Another name's record, or the same record again.
                self.enter(Kind::Other, l.indent);
            } else {
                self.enter(Kind::Domain, 0);
            }
            return;
        }
        let Some(kind) = k.object else {
            let has_domain_data = self.facts.has(Field::Created) || !self.facts.hosts.is_empty();
            if self.section == Kind::Domain && has_domain_data && self.contact_paragraph(i) {
                self.enter(Kind::Contact, l.indent);
                self.section_object = true;
            }
            return;
        };
        let wanted = match kind {
            Kind::Registrar => self.registrar_paragraph(i),
            Kind::Other => self.facts.names.is_empty(),
            // Some records do not name the domain by a label of its own (.ee).
            Kind::Contact => {
                !self.facts.names.is_empty() || self.facts.has(Field::Created) || self.contact_paragraph(i)
            }
            _ => !self.facts.names.is_empty() || self.facts.has(Field::Created),
        };
        let own_field = k.is_own() && kind != Kind::Registrar && kind != Kind::Ns;
        if wanted && !own_field {
            self.enter(kind, l.indent);
            self.section_object = true;
        }
    }

    fn record(&mut self, l: &Line<'a>, k: &Key<'a>, value: &'a str) {
        if self.section == Kind::Dnssec && k.label.eq_ignore_ascii_case("flags") {
            // EURid: `flags:KSK protocol:3 algorithm:RSA_SHA256 pubKey:...` is a key, not a status.
            self.facts.push(Field::Ds, 1, k.label, value);
            return;
        }
        for m in k.meanings {
            let here = match m.scope {
                Scope::Any => self.counts_anywhere(m.field, k.label, l.indent),
                Scope::Domain => matches!(self.section, Kind::Domain | Kind::Status | Kind::Dnssec),
                Scope::Registrar => self.section == Kind::Registrar,
                Scope::Ns => self.section == Kind::Ns,
                Scope::Registrant => self.section == Kind::Registrant,
            };
            if !here || (states::is_label(k.label) && !states::is_state(value) && !self.is_bare_state(value))
            {
                continue;
            }
            if m.field == Field::Nameserver && m.rank > 1 && self.is_the_name(value) {
                // Punktum dk: `DNS: example.dk` is the name itself, in its DNS form.
                self.facts.name(value);
                return;
            }
            let rank = self.rank_here(m, k.label);
            if !value.is_empty() {
                self.facts.push(m.field, rank, k.label, value);
            } else if m.field == Field::Registrar && m.rank >= 7 {
                // `Registration Service Provider:` heads a reseller's lines.
                return;
            }
            self.open_list(m.field, rank, k.label, l.indent, value.is_empty());
            return;
        }
    }

    fn open_list(&mut self, field: Field, rank: u8, label: &'a str, indent: usize, empty: bool) {
        self.open = Some(Open { field, rank, label, indent, empty, begins: false, taken: false, gap: false });
    }

    fn text(&mut self, i: usize, l: &Line<'a>, heading: Option<Kind>) {
        let starts_paragraph = std::mem::take(&mut self.paragraph);
        let heading = heading.or_else(|| starts_paragraph.then(|| self.heads(i, l.text)).flatten());
        if let Some(kind) = heading {
            let followed = self.next(i).is_some_and(|n| {
                n.indent > l.indent
                    || matches!(n.form, Form::Key(_))
                    || kind == Kind::Ns
                    || kind == Kind::Registrar
            });
            if followed && (starts_paragraph || l.indent <= self.section_indent) {
                self.enter(kind, l.indent);
                self.section_full = kind == Kind::Other;
                self.open = None;
                match kind {
                    Kind::Ns => self.open_list(Field::Nameserver, 1, l.text, l.indent, true),
                    Kind::Registrar => self.open_list(Field::Registrar, 2, l.text, l.indent, true),
                    _ => {}
                }
                return;
            }
        }
        self.maybe_leave(l.indent);
        self.section_full = true;
        let listing =
            self.section == Kind::Ns || self.open.as_ref().is_some_and(|o| o.field == Field::Nameserver);
        // `(whois.registrar.example)` is a remark.
        if listing && !l.text.starts_with('(') {
            let before = self.facts.hosts.len();
            self.facts.push(Field::Nameserver, 1, "", l.text);
            if self.facts.hosts.len() > before {
                if let Some(o) = &mut self.open {
                    o.taken = true;
                }
                return;
            }
        }
        if self.continued(l) {
            return;
        }
        self.bare(l);
    }

    /// A line that goes on with the value of the label above it.
    fn continued(&mut self, l: &Line<'a>) -> bool {
        let Some(o) = &mut self.open else { return false };
        let deeper = l.indent > o.indent;
        if o.gap && !deeper {
            return false;
        }
        let (field, rank, label) = (o.field, o.rank, o.label);
        // `Registration status:` alone in a line, the state in the next.
        let heads = o.begins && o.empty && !o.taken && !o.gap && l.text.split_whitespace().nth(6).is_none();
        let code = l.text.trim_end_matches([' ', '-', ',', '.']);
        let wanted = match field {
            Field::Status => {
                let below =
                    !o.gap && (heads || o.empty && states::is_state(first(l.text)) || states::is_code(code));
                deeper || below
            }
            Field::Nameserver => false,
            Field::Ds | Field::Dnssec => deeper && o.empty || heads,
            Field::Domain | Field::Registrar => o.empty && !o.taken,
            Field::Created | Field::Updated | Field::Expires => {
                o.empty && !o.taken && l.text.len() < 48 && l.text.bytes().any(|b| b.is_ascii_digit())
            }
            _ => o.empty && !o.taken && deeper,
        };
        if wanted {
            o.taken = true;
            self.facts.push(field, rank, label, l.text);
        }
        wanted
    }

    /// `Domain EXAMPLE.KG (ACTIVE)`; Tonic's `example ns1.example.net`.
    fn bare(&mut self, l: &Line<'a>) {
        if l.text.len() > 160 || self.section != Kind::Domain {
            return;
        }
        let mut words = l.text.split_whitespace();
        let (Some(a), Some(b)) = (words.next(), words.next()) else { return };
        if a.eq_ignore_ascii_case("domain") && self.asked.is(b) {
            self.facts.name(b);
            if let Some(status) = l.text.find('(').and_then(|i| l.text[i + 1..].strip_suffix(')')) {
                self.facts.push(Field::Status, 2, "domain", status);
            }
            return;
        }
        let own =
            self.asked.is(a) || self.asked.ascii.split('.').next().is_some_and(|s| s.eq_ignore_ascii_case(a));
        if own && words.next().is_none() && fields::host(b).is_some() && !self.asked.is(b) {
            self.facts.name(a);
            self.facts.push(Field::Nameserver, 2, "", b);
        }
    }
}
