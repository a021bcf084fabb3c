//! Who waits for a look-up, and therefore how long it may wait for its turn at a host.

use super::settings::Settings;
use model::Timestamp;
use net::Patience;
use std::time::Duration;

/// Who waits for a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Pace {
    /// The schedule: where a host has no room now, the look-up ends at once with the time to come back.
    Scheduled,
    /// A person: the look-up waits a while for its turn, and goes on with WHOIS where RDAP has none.
    #[default]
    Asked,
}

/// One question's turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// When it is.
    pub now: Timestamp,
    /// How long it may wait for its host.
    pub patience: Patience,
    /// How long for a host that the first one sent it on to: turning back would waste the first one's answer.
    pub later: Patience,
}

/// Of one process, so many scheduled look-ups wait for one host at once; more would keep others from other hosts.
const MAX_WAITERS: usize = 4;
/// The same for hosts that are asked after the registry answered: turning back would waste that answer.
const LATER_MAX_WAITERS: usize = 8;
/// The registry's other protocol is not asked instead when its turn comes within so long.
const WORTH_WAITING: Duration = Duration::from_secs(15 * 60);

impl Pace {
    /// How long the first host of a look-up is waited for, and how long those that are asked after a first answer.
    pub(super) fn patience(self, settings: &Settings) -> (Patience, Patience) {
        let Settings { patience, patience_scheduled: scheduled, max_waiters, .. } = *settings;
        match self {
            Pace::Scheduled => (
                Patience { wait: scheduled, max_waiters: max_waiters.min(MAX_WAITERS), queues: true },
                Patience {
                    wait: patience.min(6 * scheduled),
                    max_waiters: max_waiters.min(LATER_MAX_WAITERS),
                    queues: true,
                },
            ),
            // A person who is told when to come back may do so or not.
            Pace::Asked => [Patience { wait: patience, max_waiters, queues: false }; 2].into(),
        }
    }

    /// Whether to come back rather than ask elsewhere when a host has no room for so long.
    pub(super) fn comes_back(self, wait: Duration) -> bool {
        self == Pace::Scheduled && wait <= WORTH_WAITING
    }
}
