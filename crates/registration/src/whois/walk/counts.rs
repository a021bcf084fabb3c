//! Whose a field is that a block of somebody else states. In: a label and where it stands; out: whether it is the
//! domain's.

use super::super::compose;
use super::super::tables::{Field, Kind};
use super::Walk;

impl Walk<'_, '_> {
    /// Whether a label that is clear by itself counts in the block it stands in.
    pub(super) fn counts_anywhere(&self, field: Field, label: &str, indent: usize) -> bool {
        let deeper = indent > self.section_indent;
        let dated = matches!(field, Field::Created | Field::Updated | Field::Expires);
        match self.section {
            Kind::Other => false,
            // A contact's or registrar's own days; registrars print the domain's below contacts, not inside.
            Kind::Registrar | Kind::Contact | Kind::Registrant if dated && deeper => {
                compose::names_the_domain(label)
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
