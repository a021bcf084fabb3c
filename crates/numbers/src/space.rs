//! Who holds which prefixes: an index over the allocations of all tenants.

use crate::claim::Reference;
use crate::prefix::{bounds, is_v4, overlaps};
use crate::ranges::RangeSet;
use ipnet::IpNet;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// A party whose claims may not see those of other parties.
pub type Tenant = i64;

/// Who an allocated prefix belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The party.
    pub tenant: Tenant,
    /// Name of the claim.
    pub claim: String,
    /// The component that uses it.
    pub reference: Reference,
    /// What it is for.
    pub description: String,
    /// When it was allocated.
    pub since: jiff::Timestamp,
}

/// An allocated prefix with its holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// The prefix.
    pub prefix: IpNet,
    /// Whose it is.
    pub holder: Holder,
}

/// Why a prefix can't be allocated: what is in its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Overlap {
    /// Another claim of the same tenant.
    Own(Holding),
    /// A claim of another tenant, of which nothing is shown.
    Foreign,
}

/// Where tenants may hold the same addresses at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Prefixes inside which each tenant has an address space of its own. Empty: an address has one holder.
    pub shared: Vec<IpNet>,
}

impl Policy {
    /// True when two tenants may both hold the addresses that these overlapping prefixes share.
    fn allows(&self, a: &IpNet, b: &IpNet) -> bool {
        let inner = if a.prefix_len() >= b.prefix_len() { a } else { b };
        self.shared.iter().any(|s| s.contains(inner))
    }
}

/// What a tenant can know of a prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The tenant's allocation that contains the prefix and more.
    pub covering: Option<Holding>,
    /// Its allocations inside, the prefix itself included, by address; the first of them.
    pub held: Vec<Holding>,
    /// How many more.
    pub more_held: usize,
    /// The fewest prefixes that hold what it could claim, by address; the first of them.
    pub free: Vec<IpNet>,
    /// How many more.
    pub more_free: u64,
    /// The shortest of them.
    pub largest_free: Option<IpNet>,
    /// Addresses that it can't claim.
    pub used: u128,
    /// True when other tenants hold some of those, of which nothing else is shown.
    pub has_foreign: bool,
}

/// IPv4 before IPv6, then by first address, then the shorter prefix first.
type Key = (bool, u128, u8);

fn key(prefix: &IpNet) -> Key {
    (!is_v4(prefix), bounds(prefix).0, prefix.prefix_len())
}

/// All allocated prefixes of all tenants.
#[derive(Debug, Clone, Default)]
pub struct Space {
    by_prefix: BTreeMap<Key, Vec<Holding>>,
    by_tenant: HashMap<Tenant, RangeSet>,
}

impl Space {
    /// Records an allocation.
    pub fn insert(&mut self, holding: Holding) {
        self.by_tenant.entry(holding.holder.tenant).or_default().insert(&holding.prefix);
        self.by_prefix.entry(key(&holding.prefix)).or_default().push(holding);
    }

    /// Takes an allocation back; false when it was not there.
    pub fn remove(&mut self, prefix: &IpNet, tenant: Tenant, claim: &str) -> bool {
        let Some(here) = self.by_prefix.get_mut(&key(prefix)) else { return false };
        let Some(i) = here.iter().position(|h| h.holder.tenant == tenant && h.holder.claim == claim) else {
            return false;
        };
        here.swap_remove(i);
        if here.is_empty() {
            self.by_prefix.remove(&key(prefix));
        }
        // Allocations of one tenant are disjoint, so that no other one needs these addresses.
        if let Some(set) = self.by_tenant.get_mut(&tenant) {
            set.remove(prefix);
        }
        true
    }

    /// How many prefixes are allocated.
    pub fn len(&self) -> usize {
        self.by_prefix.values().map(Vec::len).sum()
    }

    /// True when nothing is allocated.
    pub fn is_empty(&self) -> bool {
        self.by_prefix.is_empty()
    }

    /// Allocations that contain a prefix, the shortest first.
    fn containing<'a>(&'a self, prefix: &'a IpNet) -> impl Iterator<Item = &'a Holding> {
        (0..=prefix.prefix_len())
            .filter_map(move |len| {
                let wider = IpNet::new(prefix.addr(), len).ok()?.trunc();
                self.by_prefix.get(&key(&wider))
            })
            .flatten()
    }

    /// Allocations inside a block, the block itself included, by address.
    pub fn within(&self, block: &IpNet) -> impl Iterator<Item = &Holding> {
        let (first, last) = bounds(block);
        let family = !is_v4(block);
        let range = (family, first, block.prefix_len())..=(family, last, u8::MAX);
        self.by_prefix.range(range).flat_map(|(_, h)| h)
    }

    /// The allocation of a tenant that covers an address.
    pub fn covering(&self, tenant: Tenant, address: IpAddr) -> Option<&Holding> {
        let host = crate::prefix::host(address);
        // At most one: allocations of one tenant are disjoint.
        (0..=host.max_prefix_len()).find_map(|len| {
            let prefix = IpNet::new(address, len).ok()?.trunc();
            self.by_prefix.get(&key(&prefix))?.iter().find(|h| h.holder.tenant == tenant)
        })
    }

    /// What is in the way of allocating a prefix to a tenant.
    pub fn overlap(&self, tenant: Tenant, prefix: &IpNet, policy: &Policy) -> Option<Overlap> {
        let own = self.by_tenant.get(&tenant).is_some_and(|set| set.intersects(prefix));
        let mut all = self.containing(prefix).chain(self.within(prefix));
        if own {
            return all.find(|h| h.holder.tenant == tenant).cloned().map(Overlap::Own);
        }
        let foreign = self.by_tenant.iter().any(|(other, set)| *other != tenant && set.intersects(prefix));
        (foreign && all.any(|h| h.holder.tenant != tenant && !policy.allows(&h.prefix, prefix)))
            .then_some(Overlap::Foreign)
    }

    /// The addresses of a block that a tenant can't claim.
    pub fn used(&self, tenant: Tenant, block: &IpNet, policy: &Policy) -> RangeSet {
        let mut used = RangeSet::default();
        for (other, set) in &self.by_tenant {
            if *other == tenant {
                used.insert_within(set, block);
                continue;
            }
            let mut theirs = RangeSet::default();
            theirs.insert_within(set, block);
            for shared in &policy.shared {
                theirs.remove(shared);
            }
            used.insert_within(&theirs, block);
        }
        used
    }

    /// Calls `f` with the addresses of a block that a tenant can't claim; of addresses outside of it, the set says nothing.
    fn with_used<R>(
        &self,
        tenant: Tenant,
        block: &IpNet,
        policy: &Policy,
        f: impl FnOnce(&RangeSet) -> R,
    ) -> R {
        // One tenant alone needs no copy of its ranges.
        let alone = self.by_tenant.iter().all(|(t, set)| *t == tenant || !set.intersects(block));
        if !alone {
            return f(&self.used(tenant, block, policy));
        }
        match self.by_tenant.get(&tenant) {
            Some(own) => f(own),
            None => f(&RangeSet::default()),
        }
    }

    /// A free prefix of a length in a block for a tenant ([`RangeSet::smallest_fit`]).
    pub fn smallest_fit(&self, tenant: Tenant, block: &IpNet, len: u8, policy: &Policy) -> Option<IpNet> {
        self.with_used(tenant, block, policy, |used| used.smallest_fit(block, len))
    }

    /// True when a tenant holds an address of a prefix.
    pub fn is_held(&self, tenant: Tenant, prefix: &IpNet) -> bool {
        self.by_tenant.get(&tenant).is_some_and(|own| own.intersects(prefix))
    }

    /// Who holds what of a prefix and what is free, as far as a tenant may know; lists have at most `limit` entries.
    pub fn survey(&self, tenant: Tenant, prefix: &IpNet, policy: &Policy, limit: usize) -> Survey {
        let is_own = |h: &&Holding| h.holder.tenant == tenant;
        let covering = self.containing(prefix).filter(is_own).find(|h| h.prefix != *prefix).cloned();
        let mut inside = self.within(prefix).filter(is_own);
        let held: Vec<Holding> = inside.by_ref().take(limit).cloned().collect();
        let more_held = inside.count();
        let own = self.by_tenant.get(&tenant).map_or(0, |own| own.count_within(prefix));
        self.with_used(tenant, prefix, policy, |set| {
            let (free, more_free) = set.first_free(prefix, limit);
            let largest_free = if more_free == 0 {
                free.iter().min_by_key(|p| (p.prefix_len(), **p)).copied()
            } else {
                set.largest_free(prefix)
            };
            let used = set.count_within(prefix);
            Survey { covering, held, more_held, free, more_free, largest_free, used, has_foreign: used > own }
        })
    }

    /// Checks what [`Space::remove`] relies on: the allocations of a tenant are disjoint.
    #[doc(hidden)]
    pub fn first_double(&self, tenant: Tenant) -> Option<(IpNet, IpNet)> {
        let mut own = self.by_prefix.values().flatten().filter(|h| h.holder.tenant == tenant);
        let mut before = own.next()?.prefix;
        for h in own {
            if overlaps(&before, &h.prefix) {
                return Some((before, h.prefix));
            }
            before = h.prefix;
        }
        None
    }
}
