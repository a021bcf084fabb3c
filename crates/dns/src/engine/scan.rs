//! What a scan asks of one zone, in operations that follow each other: the delegation with the checks, then the records
//! and the chain of trust. Each has bounds of its own on questions and time; what one asked, the others need not ask again.

use super::{Engine, within_memory};
use crate::checks;
use crate::delegation::{self, snapshot};
use crate::dnssec;
use crate::dnssec::verifier::Verifier;
use crate::error::Error;
use crate::input::wire_name;
use crate::session::Session;
use crate::settings::Settings;
use crate::wire::Name;
use jiff::Timestamp;
use model::dns::{Delegation, Dnssec, ZoneSnapshot};
use model::finding::Finding;
use std::sync::Arc;

/// One scan of a zone.
pub struct ZoneScan {
    settings: Arc<Settings>,
    zone: Name,
    session: Session,
}

impl Engine {
    /// A scan of a zone; nothing is asked yet.
    ///
    /// # Errors
    /// [`Error`] when it is no name of a zone.
    pub fn zone_scan(&self, zone: &str) -> Result<ZoneScan, Error> {
        // The checks ask as much again as the delegation.
        let mut settings = (*self.settings).clone();
        settings.max_queries = settings.max_queries.saturating_mul(2);
        let (settings, session) = (self.settings.clone(), self.session_with(Arc::new(settings)));
        Ok(ZoneScan { settings, zone: wire_name(zone)?, session })
    }
}

impl ZoneScan {
    /// The delegation and what the checks of a scan find; `now` judges what ends by itself. Where the operation reached a
    /// bound no check is made, because what was not asked would look like faults of the zone; a note of the delegation
    /// says so.
    ///
    /// # Errors
    /// As [`Engine::delegation`].
    pub async fn delegation(&self, now: Timestamp) -> Result<(Delegation, Vec<Finding>), Error> {
        let (session, zone) = (&self.session, &self.zone);
        let delegation = delegation::delegation(session, zone).await;
        within_memory(session, zone)?;
        let mut delegation = delegation?;
        let mut findings = checks::scan(session, &delegation, now).await;
        if session.exhausted() {
            findings.clear();
            delegation.notes.push(format!(
                "the checks were not made to their end: the scan stopped at its bound after {} questions in {:.1} s",
                session.queries(),
                session.elapsed_ms() / 1000.0
            ));
        }
        Ok((delegation, findings))
    }

    /// The watched records, from the servers the delegation shows to be authoritative.
    ///
    /// # Errors
    /// [`Error::TooMuchData`].
    pub async fn zone_snapshot(&self, delegation: &Delegation) -> Result<ZoneSnapshot, Error> {
        let session = self.session.further(self.settings.clone());
        let snapshot = snapshot::snapshot(&session, &self.zone, delegation).await;
        within_memory(&session, &self.zone)?;
        Ok(snapshot)
    }

    /// The DNSSEC chain from the closest trust anchor; `now` is what signatures are judged by.
    ///
    /// # Errors
    /// [`Error::TooMuchData`].
    pub async fn dnssec(&self, now: Timestamp) -> Result<Dnssec, Error> {
        let session = self.session.further(self.settings.clone());
        let dnssec = dnssec::dnssec(&session, &self.zone, &Verifier::new(now)).await;
        within_memory(&session, &self.zone)?;
        Ok(dnssec)
    }
}
