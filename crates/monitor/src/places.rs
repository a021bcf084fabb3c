//! How fast a domain's servers answer at the points of presence, about once a day. In: a name whose scan is over. Out: its
//! newest observation with the looks of the places; the next scan judges them. It is no part of a scan: it neither delays
//! one nor makes it fail. While too many are under way it is left out; when it is tried again is
//! [`schedule::places_are_due`](crate::schedule).

use crate::Scanner;
use crate::observer::PlaceAnswers;
use model::ids::Vantage;
use model::names::DomainName;
use std::time::Duration;

/// Names that places are asked about at the same time, in each process.
pub(crate) const AT_ONCE: usize = 4;
/// Longest time for one name.
const LONGEST: Duration = Duration::from_secs(60);
/// Attempts to write while scans write the same name.
const CONFLICTS: usize = 5;

impl Scanner {
    /// Asks the points of presence about a name and keeps what they say; true when there was something to keep.
    ///
    /// # Errors
    /// The store failed; nothing is kept.
    pub async fn sample_places(&self, name: &DomainName) -> Result<bool, store::Error> {
        let asked = tokio::time::timeout(LONGEST, self.observer.place_latencies(name)).await;
        let Some(PlaceAnswers { looks, held: _held }) = asked.ok().flatten() else { return Ok(false) };
        for _ in 0..CONFLICTS {
            let Some(mut stored) = self.store.observation(name, &Vantage::local()).await? else {
                return Ok(false);
            };
            let Some(d) = &mut stored.observation.delegation.value else { return Ok(false) };
            let before = d.latency.places.clone();
            d.latency.add_places(&d.zone, &looks);
            if d.latency.places == before {
                return Ok(false);
            }
            if self.store.amend_observation(&stored).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The same for a worker: what fails is written to the log.
    pub(crate) async fn sample_places_quietly(&self, name: &DomainName) {
        let outcome = match self.sample_places(name).await {
            Ok(true) => "kept",
            Ok(false) => "nothing",
            Err(e) => {
                tracing::warn!(domain = %name, error = %e, "what points of presence say of a domain could not be kept");
                "failed"
            }
        };
        metrics::counter!("domainscope_place_samples_total", "outcome" => outcome).increment(1);
    }
}
