//! What agents and strangers may ask in a second. A request whose signature is not verified is a stranger's: it counts
//! against the network it came from, never against the agent that it names. Of requests to join only those that fail
//! count.

use std::collections::HashMap;
use std::net::Ipv6Addr;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::AGENTS_MAX;

/// Requests of one agent in a second; an agent that works well sends fewer than ten.
const AGENT_RATE: u32 = 50;
/// Requests in a second that come from one network and are not verified to be an agent's: each reads one row.
const STRANGER_RATE: u32 = 20;
/// The same from all networks together.
const STRANGERS_RATE: u32 = 500;
/// Requests to join that fail in a second, from one network and from all.
const JOIN_RATE: u32 = 20;
const JOINS_RATE: u32 = 200;
/// Most agents and networks that are counted in one second; others are refused until the next.
const COUNTED_MAX: usize = 5_000;
/// Most public keys kept in memory: all members have room.
const KEYS_MAX: usize = AGENTS_MAX as usize;
/// The keys are read again after that time at the earliest.
const RELOAD_EVERY: Duration = Duration::from_secs(1);

/// Requests of the present second.
#[derive(Debug, Default)]
struct Window {
    since: Option<Instant>,
    counts: HashMap<String, u32>,
}

impl Window {
    /// Counts a request; false when there are more than `rate`.
    fn count(&mut self, key: &str, rate: u32) -> bool {
        if self.since.is_none_or(|s| s.elapsed() >= Duration::from_secs(1)) {
            *self = Window { since: Some(Instant::now()), counts: HashMap::new() };
        }
        if self.counts.len() >= COUNTED_MAX && !self.counts.contains_key(key) {
            return false;
        }
        let n = self.counts.entry(key.to_string()).or_insert(0);
        *n = n.saturating_add(1);
        *n <= rate
    }
}

static AGENTS: LazyLock<Mutex<Window>> = LazyLock::new(Mutex::default);
static STRANGERS: LazyLock<Mutex<Window>> = LazyLock::new(Mutex::default);
static JOINS: LazyLock<Mutex<Window>> = LazyLock::new(Mutex::default);
/// Public keys of members: with them agents differ from strangers without the store.
static KEYS: LazyLock<Mutex<HashMap<String, String>>> = LazyLock::new(Mutex::default);

/// The turn to read the keys of all members; requests wait for the one that reads them.
pub(super) static RELOAD: tokio::sync::Mutex<Reload> = tokio::sync::Mutex::const_new(Reload(None));

/// When the keys were read last.
#[derive(Debug)]
pub(super) struct Reload(Option<Instant>);

impl Reload {
    /// Takes the turn; false while the last one is less than a second ago.
    pub(super) fn begin(&mut self) -> bool {
        let may = self.0.is_none_or(|last| last.elapsed() >= RELOAD_EVERY);
        if may {
            self.0 = Some(Instant::now());
        }
        may
    }
}

fn locked<T>(what: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The network that requests of a network count for: of IPv6 the /48, the most that a site usually gets.
fn counted(network: &str) -> String {
    let address = network.split('/').next().unwrap_or_default();
    let Ok(v6) = address.parse::<Ipv6Addr>() else { return network.to_string() };
    let [a, b, c, ..] = v6.segments();
    format!("{}/48", Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0))
}

/// Counts against a network first, so that one alone does not use up what all have together.
fn within(window: &Mutex<Window>, network: &str, (one, all): (u32, u32)) -> bool {
    let mut window = locked(window);
    window.count(&format!("from {}", counted(network)), one) && window.count("all", all)
}

/// Counts a verified request of an agent.
pub(super) fn agent_may_ask(id: &str) -> bool {
    locked(&AGENTS).count(id, AGENT_RATE)
}

/// Counts a request that is not verified to be an agent's.
pub(super) fn stranger_may_ask(network: &str) -> bool {
    within(&STRANGERS, network, (STRANGER_RATE, STRANGERS_RATE))
}

/// Counts a request to join that fails.
pub(super) fn may_fail_to_join(network: &str) -> bool {
    within(&JOINS, network, (JOIN_RATE, JOINS_RATE))
}

/// The public key of a member.
pub(super) fn known_key(id: &str) -> Option<String> {
    locked(&KEYS).get(id).cloned()
}

/// Keeps the public key of a member, where there is room.
pub(super) fn remember(id: &str, key: &str) {
    let mut keys = locked(&KEYS);
    if keys.len() < KEYS_MAX || keys.contains_key(id) {
        keys.insert(id.to_string(), key.to_string());
    }
}

/// Keeps the public keys of these members, and no others.
pub(super) fn know(members: impl Iterator<Item = (String, String)>) {
    *locked(&KEYS) = members.take(KEYS_MAX).collect();
}

/// Drops the public key of an agent that is no member.
pub(super) fn forget(id: &str) {
    locked(&KEYS).remove(id);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_network_is_stopped_before_all_are_and_keys_are_bounded() {
        let window = Mutex::new(Window::default());
        let of = |network: &str| (0..4).filter(|_| within(&window, network, (2, 5))).count();
        assert_eq!((of("a"), of("b"), of("c"), of("d")), (2, 2, 1, 0));
        let mut window = Window::default();
        for n in 0..COUNTED_MAX {
            assert!(window.count(&n.to_string(), 1));
        }
        assert!(!window.count("another", 1), "no memory for more");
        window.since = Instant::now().checked_sub(Duration::from_secs(2));
        assert!(window.count("another", 1));
        let kept = || locked(&KEYS).len();
        for n in 0..=KEYS_MAX {
            remember(&n.to_string(), "key");
        }
        assert_eq!((kept(), known_key(&KEYS_MAX.to_string())), (KEYS_MAX, None));
        know((1..=KEYS_MAX * 2).map(|n| (n.to_string(), "key".into())));
        assert_eq!((kept(), known_key("0")), (KEYS_MAX, None));
        forget("1");
        assert_eq!(known_key("1"), None);
        let mut reload = Reload(None);
        assert!(reload.begin() && !reload.begin(), "once a second");
        reload.0 = Instant::now().checked_sub(RELOAD_EVERY);
        assert!(reload.begin());
    }

    #[test]
    fn networks_of_one_site_count_together() {
        let window = Mutex::new(Window::default());
        let from = |network: &str| within(&window, network, (2, 100));
        assert!(from("2001:db8:1:100::/56") && from("2001:db8:1:200::/56"));
        assert!(!from("2001:db8:1:300::/56") && from("2001:db8:2:100::/56"));
        assert_eq!(counted("192.0.2.0/24"), "192.0.2.0/24");
        assert_eq!(counted(""), "");
    }
}
