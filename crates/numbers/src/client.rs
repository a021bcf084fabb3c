//! How a component claims, waits and validates, over any client of the resource API: what to do next, from what the registry
//! answered. It sends nothing itself.
//!
//! [`Claiming::next`] says what to do, [`Claiming::reply`] takes what came of it, until it is [`Next::Use`].
//! `examples/claim.rs` does so with the `kube` crate.

use crate::claim::{ClaimSpec, ClaimStatus, SpecError, granted, validate};
use crate::well_known;
use ipnet::IpNet;
use serde::Serialize;

/// `apiVersion` of a claim.
pub const API_VERSION: &str = "datumapis.com/v1alpha";
/// Its `kind`.
pub const KIND: &str = "NetworkClaim";
/// Its kind as the address of a list names it.
pub const PLURAL: &str = "networkclaims";

/// What the component does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Create the object ([`Claiming::object`]).
    Create,
    /// Read the claim of this name.
    Read,
    /// Wait until the claim changes: watch it, or read it again later. With the reason of the registry, if it gave one.
    Wait(Option<String>),
    /// Use these prefixes, in the order of the requests: all are allocated, and are what was asked for.
    Use(Vec<IpNet>),
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The claim as it is, after it was created, read, or changed.
    Object {
        /// What it asks for.
        spec: ClaimSpec,
        /// What the registry decided; `None` before it did.
        status: Option<ClaimStatus>,
    },
    /// It was not created: there is one of this name (409, `AlreadyExists`).
    Exists,
    /// There is no claim of this name (404, or a watch that saw its deletion).
    Missing,
}

/// Why a component does not get its prefixes, however long it waits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimingError {
    /// What it asks for breaks a rule.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A claim of this name asks for something else.
    #[error("the claim {0} exists and asks for something else")]
    Different(String),
    /// Someone deleted the claim while it was waited for.
    #[error("the claim {0} was deleted")]
    Deleted(String),
}

/// A claim as an object of the resource API, to create it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimObject<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata<'a>,
    spec: &'a ClaimSpec,
}

#[derive(Debug, Clone, Serialize)]
struct Metadata<'a> {
    name: &'a str,
}

/// A claim on its way: created, or taken up from an earlier run, then waited for until all of it is allocated.
#[derive(Debug, Clone)]
pub struct Claiming {
    name: String,
    spec: ClaimSpec,
    next: Next,
}

impl Claiming {
    /// Begins with a claim that keeps the registry's rules.
    ///
    /// # Errors
    /// The first rule that it breaks, with the names of fields that the registry uses.
    pub fn new(name: impl Into<String>, spec: ClaimSpec) -> Result<Self, ClaimingError> {
        let name = name.into();
        let mut errors = validate(&spec).into_iter().chain(well_known::validate(&name, &spec));
        match errors.next() {
            Some(error) => Err(error.into()),
            None => Ok(Claiming { name, spec, next: Next::Create }),
        }
    }

    /// The object to create.
    pub fn object(&self) -> ClaimObject<'_> {
        let metadata = Metadata { name: &self.name };
        ClaimObject { api_version: API_VERSION, kind: KIND, metadata, spec: &self.spec }
    }

    /// What to do next.
    pub fn next(&self) -> &Next {
        &self.next
    }

    /// True when a status grants all that the claim asks for: what a wait waits for.
    pub fn is_granted(&self, status: &ClaimStatus) -> bool {
        granted(&self.spec, status).is_ok()
    }

    /// Takes what came of the step before; what to do next.
    ///
    /// # Errors
    /// When waiting longer is of no use.
    pub fn reply(&mut self, reply: Reply) -> Result<&Next, ClaimingError> {
        self.next = match (reply, &self.next) {
            (Reply::Object { spec, .. }, _) if spec != self.spec => {
                return Err(ClaimingError::Different(self.name.clone()));
            }
            (Reply::Object { status, .. }, _) => match granted(&self.spec, &status.unwrap_or_default()) {
                Ok(prefixes) => Next::Use(prefixes),
                Err(error) => Next::Wait(Some(error.rule)),
            },
            (Reply::Exists, _) => Next::Read,
            // Deleted between the two: its name is free.
            (Reply::Missing, Next::Create | Next::Read) => Next::Create,
            (Reply::Missing, _) => return Err(ClaimingError::Deleted(self.name.clone())),
        };
        Ok(&self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AddressRequest, Policy, Reference, Space, allocate};

    fn spec(prefix: &str) -> ClaimSpec {
        let reference = Reference { group: "apps".into(), resource: "shop".into() };
        let prefix = Some(prefix.to_string());
        ClaimSpec { address_space: vec![AddressRequest { prefix, reference, ..AddressRequest::default() }] }
    }

    fn decided(spec: &ClaimSpec, space: &Space) -> Option<ClaimStatus> {
        let now = jiff::Timestamp::UNIX_EPOCH;
        Some(allocate(space, &Policy::default(), (1, "shop"), spec, &ClaimStatus::default(), now))
    }

    #[test]
    fn a_claim_is_created_waited_for_and_validated() {
        let asked = spec("10.0.0.0/24");
        let mut c = Claiming::new("shop", asked.clone()).unwrap();
        assert_eq!(c.next(), &Next::Create);
        let object = serde_json::to_value(c.object()).unwrap();
        assert_eq!(object["apiVersion"], API_VERSION);
        assert_eq!(object["metadata"]["name"], "shop");
        assert_eq!(object["spec"]["addressSpace"][0]["prefix"], "10.0.0.0/24");
        let undecided = Reply::Object { spec: asked.clone(), status: None };
        assert!(matches!(c.reply(undecided).unwrap(), Next::Wait(Some(_))));
        // Held by another organisation, then free.
        let mut space = Space::default();
        let holder = crate::Holder {
            tenant: 2,
            claim: "theirs".into(),
            reference: Reference::default(),
            description: String::new(),
            since: jiff::Timestamp::UNIX_EPOCH,
        };
        space.insert(crate::Holding { prefix: "10.0.0.0/25".parse().unwrap(), holder });
        let refused = Reply::Object { spec: asked.clone(), status: decided(&asked, &space) };
        let Next::Wait(Some(reason)) = c.reply(refused).unwrap() else { panic!("it waits") };
        assert!(reason.contains("another organisation"), "{reason}");
        let allocated = Reply::Object { spec: asked.clone(), status: decided(&asked, &Space::default()) };
        assert_eq!(c.reply(allocated).unwrap(), &Next::Use(vec!["10.0.0.0/24".parse().unwrap()]));
    }

    #[test]
    fn a_claim_of_an_earlier_run_is_taken_up_unless_it_asks_for_something_else() {
        let asked = spec("10.0.0.0/24");
        let mut c = Claiming::new("shop", asked.clone()).unwrap();
        assert_eq!(c.reply(Reply::Exists).unwrap(), &Next::Read);
        assert_eq!(c.reply(Reply::Missing).unwrap(), &Next::Create);
        c.reply(Reply::Exists).unwrap();
        let other = Reply::Object { spec: spec("10.0.1.0/24"), status: None };
        assert_eq!(c.clone().reply(other).unwrap_err(), ClaimingError::Different("shop".into()));
        c.reply(Reply::Object { spec: asked, status: None }).unwrap();
        assert_eq!(c.reply(Reply::Missing).unwrap_err(), ClaimingError::Deleted("shop".into()));
    }

    #[test]
    fn what_the_registry_would_refuse_is_not_even_asked_for() {
        let wrong = Claiming::new("shop", spec("10.0.0.1/24")).unwrap_err().to_string();
        assert!(wrong.contains("spec.addressSpace[0].prefix") && wrong.contains("host bits"), "{wrong}");
        let name = Claiming::new("kube-apiserver-services", spec("10.0.0.0/24")).unwrap_err().to_string();
        assert!(name.contains("stands for kube-apiserver/services"), "{name}");
    }
}
