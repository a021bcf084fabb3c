//! What one tenant may know of the space at one moment.

use crate::prefix::outermost;
use crate::ranges::RangeSet;
use crate::space::{Holding, Policy, Space, Survey, Tenant};
use ipnet::IpNet;

/// A copy of the space as one tenant sees it: its own allocations, what it can't claim and what it could. Of other tenants it
/// tells which addresses they hold, and nothing else.
#[derive(Debug, Clone, Default)]
pub struct SpaceView {
    space: Space,
    tenant: Tenant,
    policy: Policy,
}

impl SpaceView {
    /// The view of a tenant.
    pub fn new(space: Space, tenant: Tenant, policy: Policy) -> Self {
        SpaceView { space, tenant, policy }
    }

    /// Its allocations: IPv4 before IPv6, by address.
    pub fn held(&self) -> impl Iterator<Item = &Holding> {
        self.space.held(self.tenant)
    }

    /// Those inside a block, the block itself included.
    pub fn within(&self, block: &IpNet) -> impl Iterator<Item = &Holding> {
        self.space.within(self.tenant, block)
    }

    /// The one that contains a prefix.
    pub fn containing(&self, prefix: &IpNet) -> Option<&Holding> {
        self.space.containing(self.tenant, prefix)
    }

    /// True when it holds an address of a prefix.
    pub fn is_held(&self, prefix: &IpNet) -> bool {
        self.space.is_held(self.tenant, prefix)
    }

    /// The addresses of a block that it can't claim.
    pub fn used(&self, block: &IpNet) -> RangeSet {
        self.space.used(self.tenant, block, &self.policy)
    }

    /// Those of them that others hold.
    pub fn foreign(&self, block: &IpNet) -> RangeSet {
        self.space.foreign(self.tenant, block, &self.policy)
    }

    /// Who holds what of a prefix; lists have at most `limit` entries.
    pub fn survey(&self, prefix: &IpNet, limit: usize) -> Survey {
        self.space.survey(self.tenant, prefix, &self.policy, limit)
    }

    /// The prefixes that it allocates out of: these blocks, and what it holds outside of them.
    pub fn blocks(&self, blocks: &[IpNet]) -> Vec<IpNet> {
        let all = blocks.iter().chain(self.held().map(|h| &h.prefix));
        outermost(all.copied().collect())
    }
}
