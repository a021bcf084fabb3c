//! Whose a field is that a block of someone else states. In: a label and where it stands; out: whether it is the
//! domain's.

use super::state::Walk;
use crate::whois::layout::infer_label;
use crate::whois::vocabulary::tables::{Field, Kind, Meaning};

/// Added to the rank of a day that stands in another party's block: any day of the domain's own is believed more.
const OF_ANOTHER: u8 = 20;

impl Walk<'_, '_> {
    /// How much a label is believed in the block it stands in.
    pub(super) fn rank_here(&self, m: &Meaning, label: &str) -> u8 {
        let party = matches!(self.section, Kind::Registrar | Kind::Contact | Kind::Registrant);
        let doubted = party && is_day(m.field) && !infer_label::names_the_domain(label);
        if doubted { m.rank + OF_ANOTHER } else { m.rank }
    }

    /// Whether a label that is clear by itself counts in the block it stands in.
    pub(super) fn counts_anywhere(&self, field: Field, label: &str, indent: usize) -> bool {
        let deeper = indent > self.section_indent;
        match self.section {
            Kind::Other => false,
            // A contact's or registrar's own days; registrars print the domain's below contacts, not inside; a person's
            // object (RIPE style) is never the domain's.
            Kind::Registrar | Kind::Contact | Kind::Registrant
                if is_day(field) && (deeper || self.section_object && self.section == Kind::Contact) =>
            {
                infer_label::names_the_domain(label)
            }
            // .it: whether the registrar can do DNSSEC says nothing about the domain.
            Kind::Registrar => field != Field::Dnssec || !deeper,
            // Contacts have registrars too (FRED, AFNIC); a registrar's old layouts name it inside the registrant's block.
            Kind::Contact | Kind::Registrant if field == Field::Registrar => {
                let inside = deeper && self.section == Kind::Contact;
                !self.section_object && !inside && !self.facts.has(field)
            }
            _ => true,
        }
    }
}

fn is_day(field: Field) -> bool {
    matches!(field, Field::Created | Field::Updated | Field::Expires)
}
