//! Why a name does not work, as one cause: what pages, the command line and the API put into a tool's headline.
//! In: what was observed. Out: the worst [`Cause`] and its headline.

use crate::registration::RegistrationState;
use serde::{Deserialize, Serialize};

/// A cause, worst first: each hides those after it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Cause {
    /// The registrable domain is not registered.
    NotRegistered {
        /// The registrable domain.
        domain: String,
    },
    /// The registry withholds the domain from registration.
    Reserved {
        /// The registrable domain.
        domain: String,
    },
    /// The domain was deleted, and stays in the registry until it is restored or released.
    Deleting {
        /// The registrable domain.
        domain: String,
        /// The EPP status code that says so.
        flag: String,
    },
    /// Registry or registrar took the domain out of the DNS.
    OnHold {
        /// The registrable domain.
        domain: String,
        /// The EPP status code that says so.
        flag: String,
    },
    /// The domain is registered without name servers.
    NoNameservers {
        /// The registrable domain.
        domain: String,
    },
    /// The aliases lead back to a name before.
    AliasLoop {
        /// The names in order; the last is one of those before.
        names: Vec<String>,
    },
    /// None of a zone's name servers has an address.
    NoServerAddress {
        /// The zone.
        zone: String,
        /// Its name servers.
        servers: Vec<String>,
    },
    /// Resolvers that validate DNSSEC refuse the answers of a zone.
    Bogus {
        /// The zone.
        zone: String,
        /// Why, as a clause.
        reason: String,
    },
}

impl Cause {
    /// The cause that the registration of `domain` gives for a name that does not resolve.
    pub fn of_registration(domain: &str, state: &RegistrationState) -> Option<Cause> {
        let domain = domain.to_string();
        let r = match state {
            RegistrationState::Available => return Some(Cause::NotRegistered { domain }),
            RegistrationState::Reserved => return Some(Cause::Reserved { domain }),
            RegistrationState::Registered(r) => r,
        };
        let set = |flags: &[&str]| flags.iter().find(|f| r.has(f)).map(|f| (*f).to_string());
        if let Some(flag) = set(&["redemptionPeriod", "pendingRestore", "pendingDelete"]) {
            return Some(Cause::Deleting { domain, flag });
        }
        if let Some(flag) = set(&["serverHold", "clientHold"]) {
            return Some(Cause::OnHold { domain, flag });
        }
        r.nameservers
            .as_ref()
            .is_some_and(Vec::is_empty)
            .then_some(())
            .or_else(|| r.has("inactive").then_some(()))
            .map(|()| Cause::NoNameservers { domain })
    }

    /// The cause in a sentence.
    pub fn headline(&self) -> String {
        match self {
            Cause::NotRegistered { domain } => format!("{domain} is not registered."),
            Cause::Reserved { domain } => {
                format!("The registry withholds {domain} from registration.")
            }
            Cause::Deleting { domain, flag } if flag == "pendingDelete" => {
                format!("{domain} was deleted (pendingDelete) and can't be restored.")
            }
            Cause::Deleting { domain, flag } => {
                format!("{domain} was deleted ({flag}) and can still be restored through its registrar.")
            }
            Cause::OnHold { domain, flag } => {
                let who = if flag == "serverHold" { "registry" } else { "registrar" };
                format!("{domain} is on hold ({flag}): the {who} has taken it out of the DNS.")
            }
            Cause::NoNameservers { domain } => {
                format!("{domain} is registered without name servers, so nothing below it resolves.")
            }
            Cause::AliasLoop { names } => format!("Circular aliases: {}.", names.join(" → ")),
            Cause::NoServerAddress { zone, servers } => format!("{}.", no_server_address(zone, servers)),
            Cause::Bogus { zone, reason } => {
                format!("Resolvers that validate DNSSEC refuse {zone}: {}.", reason.trim_end_matches('.'))
            }
        }
    }
}

/// Why none of a zone's name servers can be asked, as a clause: names inside the zone need glue (RFC 9499, section 7).
pub(crate) fn no_server_address(zone: &str, servers: &[String]) -> String {
    let below = |name: &&String| **name == zone || name.ends_with(&format!(".{zone}"));
    let inside: Vec<&str> = servers.iter().filter(below).map(String::as_str).collect();
    match inside.as_slice() {
        [] => format!("No name server of {zone} has an address: {}", servers.join(", ")),
        inside => format!(
            "No name server of {zone} can be found: the parent gives no glue (address) for {}, inside the zone",
            inside.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registration::Registration;
    use crate::registration::epp::EppStatus;

    fn with(flags: &[&str]) -> RegistrationState {
        let statuses = Some(flags.iter().map(|f| EppStatus::new(f)).collect());
        RegistrationState::Registered(Box::new(Registration { statuses, ..Registration::default() }))
    }

    #[test]
    fn the_registration_names_the_cause() {
        let said =
            |state: &RegistrationState| Cause::of_registration("a.example", state).map(|c| c.headline());
        assert_eq!(said(&RegistrationState::Available).as_deref(), Some("a.example is not registered."));
        let hold = said(&with(&["clientHold", "clientTransferProhibited"])).unwrap();
        assert!(hold.contains("on hold (clientHold): the registrar"), "{hold}");
        let both = said(&with(&["pendingDelete", "redemptionPeriod"])).unwrap();
        assert!(both.contains("can still be restored"), "{both}");
        assert!(said(&with(&["pendingDelete"])).unwrap().contains("can't be restored"));
        assert_eq!(said(&with(&["ok"])), None);
    }
}
