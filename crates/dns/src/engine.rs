//! The door: what the rest of the program calls. Each call is one operation with its own bounds and its own memory.

use crate::delegation;
use crate::error::Error;
use crate::session::Session;
use crate::settings::Settings;
use crate::trace;
use crate::wire::{Name, Rtype};
use model::dns::{Delegation, Trace};
use model::names::Fqdn;
use std::sync::Arc;

/// The DNS engine. Clones share everything.
#[derive(Clone)]
pub struct Engine {
    pub(crate) settings: Arc<Settings>,
}

impl Engine {
    /// An engine with these settings.
    pub fn new(settings: Settings) -> Self {
        Engine { settings: Arc::new(settings) }
    }

    /// The settings it was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn session(&self) -> Session {
        Session::new(self.settings.clone())
    }

    /// From the root to the servers that answer for `name`, every server of every set asked, nothing cached.
    pub async fn trace(&self, name: &Fqdn, rtype: &str) -> Result<Trace, Error> {
        let (name, rtype) = (wire_name(name.as_str())?, wire_type(rtype)?);
        Ok(trace::trace(&self.session(), &name, rtype).await)
    }

    /// The delegation of `zone` from both sides, each server × address asked over UDP and TCP. Where `zone` is not
    /// delegated the SOA is that of the zone that denies it.
    pub async fn delegation(&self, zone: &str) -> Result<Delegation, Error> {
        delegation::delegation(&self.session(), &wire_name(zone)?).await
    }
}

pub(crate) fn wire_name(name: &str) -> Result<Name, Error> {
    Name::from_text(name).map_err(|e| Error::Name(name.to_string(), e.to_string()))
}

pub(crate) fn wire_type(rtype: &str) -> Result<Rtype, Error> {
    Rtype::from_text(rtype).ok_or_else(|| Error::Type(rtype.to_string()))
}
