//! A name that the registry's RDAP server denies although the parent zone delegates it: one of the registry's own systems is out
//! of date. In: the registration as RDAP states it. Out: what WHOIS states, with the denial kept beside it; the denial as it
//! was where WHOIS confirms it or can't be asked. A denial by WHOIS needs no such check: RDAP was asked before it.

use crate::Scanner;
use jiff::Timestamp;
use model::detail::RawAnswer;
use model::names::DomainName;
use model::observation::Part;
use model::registration::{Protocol, Provenance, RegistrationState};

/// Who denies the name by RDAP, if that is what the last answer says.
fn denied_by(part: &Part<RegistrationState>, raw: &[RawAnswer]) -> Option<Provenance> {
    let is_denied = part.error.is_none() && part.value.as_ref()?.registration().is_none();
    // After a 404 without a body WHOIS was asked already, and gave the last answer.
    let last = raw.last().filter(|r| is_denied && r.protocol == Protocol::Rdap)?;
    Some(Provenance { protocol: last.protocol, party: last.party, server: last.server.clone() })
}

impl Scanner {
    /// Asks WHOIS about a delegated name that RDAP denies. `asked`: a person waits for it.
    pub(crate) async fn check_denial(
        &self,
        name: &DomainName,
        part: &mut Part<RegistrationState>,
        raw: &mut Vec<RawAnswer>,
        asked: bool,
        now: Timestamp,
    ) {
        let Some(by) = denied_by(part, raw) else { return };
        let Some((mut second, answers)) = self.observer.registration_by_whois(name, now, asked).await else {
            return;
        };
        raw.extend(answers);
        if let Some(RegistrationState::Registered(r)) = &mut second.value {
            r.note_denial(by);
            *part = second;
        }
    }
}
