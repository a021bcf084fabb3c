//! Recognises faults of the installation itself from what scans of different domains have in common. In: the observation of
//! each scan; out: faults that last, and a gauge for each kind. A fault ends with the first scan that succeeds.

use jiff::Timestamp;
use model::health::{FaultKind, OwnFault};
use model::observation::{Observation, Part};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// Different domains that must fail one after the other before the cause is looked for here: one domain alone may be
/// broken.
const DOMAINS: usize = 3;

/// Label of a part that was not judged because the root does not validate.
pub(crate) const ROOT_INVALID: &str = "root_invalid";

/// What failed since the last success.
struct Streak {
    since: Timestamp,
    /// Up to [`DOMAINS`].
    domains: BTreeSet<String>,
    sentence: String,
}

/// The faults of this process.
#[derive(Default)]
pub(crate) struct Faults {
    /// By kind, and for registries by TLD.
    streaks: Mutex<BTreeMap<(FaultKind, String), Streak>>,
}

impl Faults {
    /// Takes the observation of a scan into account.
    pub(crate) fn note(&self, o: &Observation, now: Timestamp) {
        let domain = o.name.as_str();
        let tld = domain.rsplit('.').next().unwrap_or_default();
        self.part(FaultKind::NetworkDown, "", domain, &o.delegation, now);
        // Our own rate limit, or the registry's, is no failure of it.
        let registration = &o.registration;
        if registration.error.as_ref().is_none_or(|e| e.retry_at.is_none()) {
            self.part(FaultKind::RegistryDown, tld, domain, registration, now);
        }
        let root = o.dnssec.error.as_ref().is_none_or(|e| e.label == ROOT_INVALID);
        if root {
            self.part(FaultKind::RootInvalid, "", domain, &o.dnssec, now);
        }
        for kind in FaultKind::ALL {
            let n = u32::try_from(self.list().iter().filter(|f| f.kind == kind).count()).unwrap_or(0);
            metrics::gauge!("domainscope_own_faults", "kind" => kind.as_str()).set(f64::from(n));
        }
    }

    fn part<T>(&self, kind: FaultKind, scope: &str, domain: &str, part: &Part<T>, now: Timestamp) {
        // Not tried: it says nothing.
        if part.attempted_at.is_none() {
            return;
        }
        let mut streaks = self.streaks.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (kind, scope.to_string());
        let Some(error) = &part.error else {
            streaks.remove(&key);
            return;
        };
        let streak = streaks.entry(key).or_insert_with(|| Streak {
            since: now,
            domains: BTreeSet::new(),
            sentence: String::new(),
        });
        streak.sentence.clone_from(&error.sentence);
        if streak.domains.len() < DOMAINS {
            streak.domains.insert(domain.to_string());
        }
    }

    /// The faults that last. A root that does not validate is one at once.
    pub(crate) fn list(&self) -> Vec<OwnFault> {
        let streaks = self.streaks.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fault =
            |kind: FaultKind, s: &Streak| kind == FaultKind::RootInvalid || s.domains.len() >= DOMAINS;
        let found = streaks.iter().filter(|((kind, _), s)| is_fault(*kind, s));
        found
            .map(|((kind, scope), s)| {
                let stop = if s.sentence.ends_with('.') { "" } else { "." };
                let sentence = match kind {
                    FaultKind::RootInvalid => s.sentence.clone(),
                    FaultKind::NetworkDown => format!(
                        "{}{stop} Several domains in a row failed in this way: check the network of this machine and \
                         that UDP and TCP port 53 are open. What was known of domains is kept.",
                        s.sentence
                    ),
                    FaultKind::RegistryDown => format!(
                        "The registration of several .{scope} domains in a row could not be read: {}{stop} What was \
                         known of them is kept.",
                        s.sentence
                    ),
                };
                OwnFault { kind: *kind, since: s.since, sentence }
            })
            .collect()
    }
}
