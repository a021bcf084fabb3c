//! Faults of the installation that one process finds, for the pages of the others and for its successor: each process writes
//! what it found into the store and reads what others did.

use crate::Scanner;
use jiff::{SignedDuration, Timestamp};
use model::health::{FaultKind, OwnFault};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often processes tell each other.
const EVERY: Duration = Duration::from_secs(30);
/// How long after a process said so its fault is shown elsewhere: it may have ended without a word.
const SHOWN: SignedDuration = SignedDuration::from_mins(15);
/// How long after a process said so the silence of servers is held back elsewhere: until a process that starts anew has looked
/// at all domains itself.
const HELD: SignedDuration = SignedDuration::from_mins(90);

/// What other processes found.
#[derive(Debug, Default)]
pub(crate) struct RemoteFaults {
    /// Those that are shown.
    pub faults: Vec<OwnFault>,
    /// What this process reported last.
    reported: Vec<OwnFault>,
}

impl RemoteFaults {
    /// The faults of this process and of the others: of several that are the same the one that lasts longest.
    pub fn merged(&self, own: Vec<OwnFault>) -> Vec<OwnFault> {
        let mut all = own;
        for fault in &self.faults {
            // Registries differ in their sentence.
            let is_same = |f: &&mut OwnFault| {
                f.kind == fault.kind && (f.kind != FaultKind::RegistryDown || f.sentence == fault.sentence)
            };
            match all.iter_mut().find(is_same) {
                Some(known) => known.since = known.since.min(fault.since),
                None => all.push(fault.clone()),
            }
        }
        all
    }
}

impl Scanner {
    /// Writes what this process found, and reads what others did.
    ///
    /// # Errors
    /// What the store says.
    pub async fn share_faults(&self) -> Result<(), store::Error> {
        let now = self.clock.now();
        let before = |span: SignedDuration| now.checked_sub(span).unwrap_or(Timestamp::MIN);
        let (hub, process) = (&self.hub, self.hub.process());
        let own = hub.own_faults().list();
        // Without a fault there is nothing to repeat.
        if !own.is_empty() || !hub.remote_faults(|remote| remote.reported.is_empty()) {
            self.store.report_own_faults(process, &own, now, before(HELD)).await?;
        }
        let all = self.store.own_faults(before(HELD)).await?;
        let others: Vec<_> = all.into_iter().filter(|t| t.process != process && t.at <= now).collect();
        let part = others.iter().filter(|t| t.fault.kind == FaultKind::PartOfNetworkDown);
        let part = part.map(|t| (t.fault.since, t.at.checked_add(HELD).unwrap_or(t.at)));
        hub.own_faults().set_remote_part(part.min_by_key(|(since, _)| *since));
        let shown = others.into_iter().filter(|t| t.at >= before(SHOWN)).map(|t| t.fault).collect();
        hub.remote_faults(|remote| (remote.faults, remote.reported) = (shown, own));
        Ok(())
    }

    /// The same again and again until cancelled.
    pub async fn keep_sharing_faults(self, stop: CancellationToken) {
        loop {
            if let Err(e) = self.share_faults().await {
                tracing::debug!(error = %e, "faults of the installation could not be shared");
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    }
}
