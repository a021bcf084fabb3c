//! What one registry or registrar knows about a name, before it is put into a format.
//! In: the world and a name. Out: its standing and the facts both RDAP and WHOIS state.

use hickory_proto::{dnssec::rdata::DS, rr::Name};
use jiff::Timestamp;

use crate::{
    names,
    scenario::{Registrar, Standing, Tld, WhoisStyle},
    world::{Domain, World},
};

/// What a registry answers about a name.
pub(crate) enum Known<'w> {
    Registered(Box<Facts<'w>>),
    Reserved,
    Available,
    /// The name is under no TLD of this registry.
    NotOurs,
}

/// The facts of a registration.
pub(crate) struct Facts<'w> {
    pub domain: &'w Domain,
    pub tld: &'w Tld,
    pub registrar: Option<&'w Registrar>,
    pub expires: Option<Timestamp>,
    pub ds: Option<DS>,
    pub now: Timestamp,
}

impl Facts<'_> {
    /// The statuses, with `ok` where there is no other (RFC 5731 2.3).
    pub(crate) fn statuses(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.domain.statuses.iter().map(String::as_str).collect();
        if all.is_empty() {
            all.push(if self.domain.nameservers.is_empty() { "inactive" } else { "ok" });
        }
        all
    }

    /// A registry object id: stable, of the registry's form.
    pub(crate) fn handle(&self) -> String {
        let hash = self
            .domain
            .name
            .bytes()
            .fold(0x811c_9dc5_u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
        format!("D{hash:010}-{}", self.tld.name.to_uppercase().chars().take(8).collect::<String>())
    }

    pub(crate) fn unicode(&self) -> String {
        names::wire(&self.domain.name).to_utf8().trim_end_matches('.').to_owned()
    }

    pub(crate) fn is_thin(&self) -> bool {
        self.tld.whois == WhoisStyle::Thin
    }
}

impl World {
    /// What is known of `name` by the registry of `tld`.
    pub(crate) fn known(&self, tld: &str, name: &str) -> Known<'_> {
        let Some(tld) = self.tlds.get(tld).filter(|t| names::tld_of(name) == t.name && name.contains('.'))
        else {
            return Known::NotOurs;
        };
        if tld.reserved.iter().any(|r| r == name) {
            return Known::Reserved;
        }
        let Some(domain) = self.domains.get(name).filter(|d| d.parent.is_none()) else {
            return Known::Available;
        };
        match domain.standing {
            Standing::Available => Known::Available,
            Standing::Reserved => Known::Reserved,
            Standing::Registered => {
                let origin: Name = names::wire(name);
                let ds = domain.has_ds().then(|| self.keys.get(name)?.ds(&origin).ok()).flatten();
                Known::Registered(Box::new(Facts {
                    domain,
                    tld,
                    registrar: domain.registrar.as_ref().and_then(|id| self.registrars.get(id)),
                    expires: domain.expires.filter(|_| tld.expirations),
                    ds,
                    now: self.clock.second(),
                }))
            }
        }
    }
}
