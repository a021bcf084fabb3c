//! Who holds which prefixes: an index over the allocations of all tenants.

use crate::claim::Reference;
use crate::prefix::{bounds, is_v4, overlaps};
use crate::ranges::RangeSet;
use ipnet::IpNet;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

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

/// What one tenant holds.
#[derive(Debug, Clone, Default)]
struct Owned {
    /// Its allocations are disjoint, so that a prefix has one.
    by_prefix: BTreeMap<Key, Arc<Holding>>,
    ranges: RangeSet,
}

impl Owned {
    /// The allocation that contains a prefix.
    fn covering(&self, prefix: &IpNet) -> Option<&Holding> {
        (0..=prefix.prefix_len()).find_map(|len| {
            let wider = IpNet::new(prefix.addr(), len).ok()?.trunc();
            self.by_prefix.get(&key(&wider)).map(|h| &**h)
        })
    }

    /// Allocations inside a block, the block itself included, by address.
    fn within(&self, block: &IpNet) -> impl Iterator<Item = &Holding> {
        let (first, last) = bounds(block);
        let family = !is_v4(block);
        let range = (family, first, block.prefix_len())..=(family, last, u8::MAX);
        self.by_prefix.range(range).map(|(_, h)| &**h)
    }
}

/// All allocated prefixes of all tenants. A copy shares what neither changes: it costs a step for each tenant, and the copy of
/// a tenant's own index when that tenant's is written next.
#[derive(Debug, Clone, Default)]
pub struct Space {
    by_tenant: HashMap<Tenant, Arc<Owned>>,
}

impl Space {
    /// Records an allocation.
    pub fn insert(&mut self, holding: Holding) {
        let owned = Arc::make_mut(self.by_tenant.entry(holding.holder.tenant).or_default());
        owned.ranges.insert(&holding.prefix);
        owned.by_prefix.insert(key(&holding.prefix), Arc::new(holding));
    }

    /// Takes an allocation back; false when it was not there.
    pub fn remove(&mut self, prefix: &IpNet, tenant: Tenant, claim: &str) -> bool {
        let is_held = self.holding(tenant, prefix).is_some_and(|h| h.holder.claim == claim);
        let Some(owned) = self.by_tenant.get_mut(&tenant).filter(|_| is_held) else { return false };
        let owned = Arc::make_mut(owned);
        owned.by_prefix.remove(&key(prefix));
        // Allocations of one tenant are disjoint, so that no other one needs these addresses.
        owned.ranges.remove(prefix);
        if owned.by_prefix.is_empty() {
            self.by_tenant.remove(&tenant);
        }
        true
    }

    /// How many prefixes are allocated.
    pub fn len(&self) -> usize {
        self.by_tenant.values().map(|owned| owned.by_prefix.len()).sum()
    }

    /// True when nothing is allocated.
    pub fn is_empty(&self) -> bool {
        self.by_tenant.is_empty()
    }

    /// A tenant's allocation of exactly this prefix.
    pub fn holding(&self, tenant: Tenant, prefix: &IpNet) -> Option<&Holding> {
        self.by_tenant.get(&tenant)?.by_prefix.get(&key(prefix)).map(|h| &**h)
    }

    /// A tenant's allocations inside a block, the block itself included, by address.
    pub fn within(&self, tenant: Tenant, block: &IpNet) -> impl Iterator<Item = &Holding> {
        self.by_tenant.get(&tenant).into_iter().flat_map(|owned| owned.within(block))
    }

    /// All allocations of a tenant: IPv4 before IPv6, by address.
    pub fn held(&self, tenant: Tenant) -> impl Iterator<Item = &Holding> {
        self.by_tenant.get(&tenant).into_iter().flat_map(|owned| owned.by_prefix.values().map(|h| &**h))
    }

    /// The allocation of a tenant that covers an address.
    pub fn covering(&self, tenant: Tenant, address: IpAddr) -> Option<&Holding> {
        self.containing(tenant, &crate::prefix::host(address))
    }

    /// The allocation of a tenant that contains a prefix.
    pub fn containing(&self, tenant: Tenant, prefix: &IpNet) -> Option<&Holding> {
        self.by_tenant.get(&tenant)?.covering(prefix)
    }

    /// What is in the way of allocating a prefix to a tenant.
    pub fn overlap(&self, tenant: Tenant, prefix: &IpNet, policy: &Policy) -> Option<Overlap> {
        if self.is_held(tenant, prefix) {
            let own = self.containing(tenant, prefix).or_else(|| self.within(tenant, prefix).next());
            return own.cloned().map(Overlap::Own);
        }
        let others = self
            .by_tenant
            .iter()
            .filter(|(other, owned)| **other != tenant && owned.ranges.intersects(prefix));
        let is_in_the_way = |owned: &Owned| {
            owned
                .covering(prefix)
                .into_iter()
                .chain(owned.within(prefix))
                .any(|h| !policy.allows(&h.prefix, prefix))
        };
        others.into_iter().any(|(_, owned)| is_in_the_way(owned)).then_some(Overlap::Foreign)
    }

    /// The addresses of a block that a tenant can't claim.
    pub fn used(&self, tenant: Tenant, block: &IpNet, policy: &Policy) -> RangeSet {
        let mut used = self.held_by_others(tenant, block, policy);
        if let Some(own) = self.by_tenant.get(&tenant) {
            used.insert_within(&own.ranges, block);
        }
        used
    }

    /// Those of them that other tenants hold, and not this one too.
    pub fn foreign(&self, tenant: Tenant, block: &IpNet, policy: &Policy) -> RangeSet {
        let mut foreign = self.held_by_others(tenant, block, policy);
        if let Some(own) = self.by_tenant.get(&tenant).filter(|_| !foreign.is_empty()) {
            foreign.remove_within(&own.ranges, block);
        }
        foreign
    }

    fn held_by_others(&self, tenant: Tenant, block: &IpNet, policy: &Policy) -> RangeSet {
        let mut all = RangeSet::default();
        for (_, owned) in self.by_tenant.iter().filter(|(other, _)| **other != tenant) {
            all.insert_within(&owned.ranges, block);
        }
        policy.shared.iter().for_each(|shared| all.remove(shared));
        all
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
        let alone = self.by_tenant.iter().all(|(t, owned)| *t == tenant || !owned.ranges.intersects(block));
        if !alone {
            return f(&self.used(tenant, block, policy));
        }
        match self.by_tenant.get(&tenant) {
            Some(own) => f(&own.ranges),
            None => f(&RangeSet::default()),
        }
    }

    /// A free prefix of a length in a block for a tenant ([`RangeSet::smallest_fit`]).
    pub fn smallest_fit(&self, tenant: Tenant, block: &IpNet, len: u8, policy: &Policy) -> Option<IpNet> {
        self.with_used(tenant, block, policy, |used| used.smallest_fit(block, len))
    }

    /// True when a tenant holds an address of a prefix.
    pub fn is_held(&self, tenant: Tenant, prefix: &IpNet) -> bool {
        self.by_tenant.get(&tenant).is_some_and(|own| own.ranges.intersects(prefix))
    }

    /// Who holds what of a prefix and what is free, as far as a tenant may know; lists have at most `limit` entries.
    pub fn survey(&self, tenant: Tenant, prefix: &IpNet, policy: &Policy, limit: usize) -> Survey {
        let covering = self.containing(tenant, prefix).filter(|h| h.prefix != *prefix).cloned();
        let mut inside = self.within(tenant, prefix);
        let held: Vec<Holding> = inside.by_ref().take(limit).cloned().collect();
        let more_held = inside.count();
        let own = self.by_tenant.get(&tenant).map_or(0, |own| own.ranges.count_within(prefix));
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
        let mut own = self.held(tenant);
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
