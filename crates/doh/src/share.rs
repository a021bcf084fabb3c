//! Admission of lookups: a bounded number in flight, shared fairly among clients and registrable domains.

use dns::wire::Name;
use model::names::Fqdn;
use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Slots for lookups in flight. Clones share them.
///
/// A client, or a domain, that already holds some slots gets another only while it holds less than half of the number
/// that is free ("dynamic thresholds", Choudhury and Hahne 1998). A single heavy user stays below a third of the slots,
/// k of them together leave 1/(1 + k/2) free, and one that holds none gets one as long as any is free. Each map has at
/// most one entry for each slot.
#[derive(Clone)]
pub(crate) struct LookupSlots(Arc<Shared>);

struct Shared {
    capacity: usize,
    in_flight: Mutex<InFlight>,
}

#[derive(Default)]
struct InFlight {
    total: usize,
    by_client: HashMap<IpAddr, usize>,
    by_domain: HashMap<Arc<str>, usize>,
}

/// Permission for one lookup; dropping it frees the slot.
pub(crate) struct LookupPermit {
    slots: LookupSlots,
    client: Option<IpAddr>,
    domain: Arc<str>,
}

/// The limit that a lookup would exceed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Overload {
    /// Every slot is taken.
    Total,
    /// The client has its share of lookups in flight.
    Client,
    /// This registrable domain has its share of lookups in flight.
    Domain(Arc<str>),
}

impl Overload {
    fn label(&self) -> &'static str {
        match self {
            Overload::Total => "total",
            Overload::Client => "client",
            Overload::Domain(_) => "domain",
        }
    }
}

impl LookupSlots {
    /// `capacity` lookups at a time.
    pub(crate) fn new(capacity: usize) -> Self {
        LookupSlots(Arc::new(Shared { capacity, in_flight: Mutex::default() }))
    }

    /// Takes a slot for a lookup of `name`. `client` is the prefix it is counted for; `None` where clients are not
    /// told from each other.
    ///
    /// # Errors
    /// The limit that was reached; it is also counted in `domainscope_doh_lookups_refused_total`.
    pub(crate) fn try_acquire(&self, client: Option<IpAddr>, name: &Name) -> Result<LookupPermit, Overload> {
        let domain = registrable(name);
        let mut guard = self.0.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        let in_flight = &mut *guard;
        let free = self.0.capacity.saturating_sub(in_flight.total);
        let may_take = |held: Option<&usize>| held.is_none_or(|held| *held < free / 2);
        let overload = if free == 0 {
            Some(Overload::Total)
        } else if !may_take(client.and_then(|client| in_flight.by_client.get(&client))) {
            Some(Overload::Client)
        } else if !may_take(in_flight.by_domain.get(&domain)) {
            Some(Overload::Domain(domain.clone()))
        } else {
            None
        };
        if let Some(overload) = overload {
            drop(guard);
            metrics::counter!("domainscope_doh_lookups_refused_total", "limit" => overload.label())
                .increment(1);
            return Err(overload);
        }
        in_flight.total += 1;
        if let Some(client) = client {
            *in_flight.by_client.entry(client).or_insert(0) += 1;
        }
        *in_flight.by_domain.entry(domain.clone()).or_insert(0) += 1;
        Ok(LookupPermit { slots: self.clone(), client, domain })
    }
}

impl Drop for LookupPermit {
    fn drop(&mut self) {
        let mut in_flight = self.slots.0.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        in_flight.total -= 1;
        if let Some(client) = self.client {
            release(&mut in_flight.by_client, &client);
        }
        release(&mut in_flight.by_domain, &self.domain);
    }
}

fn release<K: Hash + Eq>(held: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = held.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            held.remove(key);
        }
    }
}

/// The registrable domain of a name, by the Public Suffix List; the name itself where it has none.
fn registrable(name: &Name) -> Arc<str> {
    let text = name.to_string();
    match Fqdn::trusted(&text).registrable() {
        Some(domain) => domain.as_str().into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::from_text(text).unwrap()
    }

    fn client(n: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, n]))
    }

    /// Takes slots for distinct names until one is refused.
    fn fill(
        slots: &LookupSlots,
        client: impl Fn(usize) -> Option<IpAddr>,
        of: impl Fn(usize) -> String,
    ) -> (Vec<LookupPermit>, Overload) {
        let mut permits = Vec::new();
        loop {
            let n = permits.len();
            match slots.try_acquire(client(n), &name(&of(n))) {
                Ok(permit) => permits.push(permit),
                Err(overload) => return (permits, overload),
            }
        }
    }

    #[test]
    fn a_client_leaves_two_thirds_to_the_others() {
        let slots = LookupSlots::new(256);
        let (first, why) = fill(&slots, |_| client(1), |n| format!("www.n{n}.com"));
        assert_eq!((first.len(), why), (85, Overload::Client));
        let (second, why) = fill(&slots, |_| client(2), |n| format!("www.m{n}.com"));
        assert_eq!((second.len(), why), (57, Overload::Client));
        assert!(slots.try_acquire(client(3), &name("www.example.com")).is_ok());
        drop(first);
        assert!(slots.try_acquire(client(1), &name("www.example.com")).is_ok());
        drop(second);
        let in_flight = slots.0.in_flight.lock().unwrap();
        assert_eq!((in_flight.total, in_flight.by_client.len(), in_flight.by_domain.len()), (0, 0, 0));
    }

    #[test]
    fn a_domain_is_limited_for_all_clients_together() {
        let slots = LookupSlots::new(256);
        for who in [|n: usize| client(n as u8), |_: usize| None] {
            let (permits, why) = fill(&slots, who, |n| format!("n{n}.a.void.co.uk"));
            assert_eq!((permits.len(), why), (85, Overload::Domain("void.co.uk".into())));
            assert!(slots.try_acquire(client(1), &name("example.co.uk")).is_ok());
        }
    }

    #[test]
    fn the_last_slot_is_for_a_client_that_holds_none() {
        let slots = LookupSlots::new(2);
        let _first = slots.try_acquire(client(1), &name("a.com")).ok().unwrap();
        assert_eq!(slots.try_acquire(client(1), &name("b.com")).err(), Some(Overload::Client));
        let _second = slots.try_acquire(client(2), &name("b.com")).ok().unwrap();
        assert_eq!(slots.try_acquire(client(3), &name("c.com")).err(), Some(Overload::Total));
        assert_eq!(LookupSlots::new(0).try_acquire(None, &name("a.com")).err(), Some(Overload::Total));
    }
}
