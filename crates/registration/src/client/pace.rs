//! Who waits for a look-up, and therefore how long it may wait for its turn at a host.

use super::settings::Settings;
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

/// Of one process, so many scheduled look-ups wait for one host at once; more would keep others from other hosts.
const CROWD: usize = 4;
/// The same for hosts that are asked after the registry answered: turning back would waste that answer.
const LATER_CROWD: usize = 8;
/// The registry's other protocol is not asked instead when its turn comes within so long.
const WORTH_WAITING: Duration = Duration::from_secs(15 * 60);

impl Pace {
    /// How long the first host of a look-up is waited for.
    pub(super) fn first(self, settings: &Settings) -> Patience {
        match self {
            Pace::Scheduled => {
                Patience { wait: settings.patience_scheduled, crowd: settings.crowd.min(CROWD) }
            }
            Pace::Asked => Patience { wait: settings.patience, crowd: settings.crowd },
        }
    }

    /// How long those asked after a first answer are waited for.
    pub(super) fn later(self, settings: &Settings) -> Patience {
        match self {
            Pace::Scheduled => Patience {
                wait: settings.patience.min(6 * settings.patience_scheduled),
                crowd: settings.crowd.min(LATER_CROWD),
            },
            Pace::Asked => Patience { wait: settings.patience, crowd: settings.crowd },
        }
    }

    /// Whether to come back rather than ask elsewhere when a host has no room for so long.
    pub(super) fn comes_back(self, wait: Duration) -> bool {
        self == Pace::Scheduled && wait <= WORTH_WAITING
    }
}
