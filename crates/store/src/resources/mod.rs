//! What the resource API needs of the store: claims with their allocation, holdings as objects, tombstones.

mod addresses;
mod audited;
mod blocks;
mod claims;
mod domains;
mod linked;
mod listed;
mod retry;
mod space;
mod types;

pub(crate) use addresses::{keep as keep_addresses, of as addresses_of};
pub(crate) use audited::{differences, metadata_parts};
pub(crate) use claims::tombstone_rows;
pub(crate) use domains::{check_finalizers, forget, tombstones_of_items};
pub(crate) use space::SpaceCache;
pub use types::{
    ClaimHead, ListedBlock, NetworkClaimWrite, Pointing, PointingKey, RefusedPrefix, StoredCover,
    StoredDomain, StoredNetworkClaim, StoredRegistry, StoredSurvey,
};

use crate::accounts::Audit;
use crate::api::{Error, NewItem, Result};
use crate::items::{self, By};
use crate::store::Database;
use async_trait::async_trait;
use jiff::Timestamp;
use model::account::Actor;
use model::event::Event;
use model::ids::{EventId, LogPosition, OrgId};
use model::names::DomainName;
use numbers::{AddressRecord, ClaimStatus, IpNet, Policy};
use std::net::IpAddr;

/// The part of the store that serves resources.
#[async_trait]
pub trait ResourceStore: Send + Sync + 'static {
    /// Claims of an organisation after a name, by name, at most `limit`.
    async fn network_claims(&self, org: OrgId, after: &str, limit: u32) -> Result<Vec<StoredNetworkClaim>>;
    /// One claim.
    async fn network_claim(&self, org: OrgId, name: &str) -> Result<Option<StoredNetworkClaim>>;
    /// Writes a claim, decides about it and notes what changed in the audit log, in one transaction; one at a time,
    /// whatever process. `Conflict` when it is not at the expected position.
    async fn write_network_claim(
        &self,
        by: &Actor,
        write: &NetworkClaimWrite,
        now: Timestamp,
    ) -> Result<StoredNetworkClaim>;
    /// Deletes a claim that has no finalizer ([`Error::Held`](crate::Error::Held)) with an entry of the audit log, releases its
    /// prefixes, and decides again about refused claims, oldest first. Returns it as it was with the position of its deletion.
    async fn delete_network_claim(
        &self,
        by: &Actor,
        org: OrgId,
        name: &str,
        expected: Option<LogPosition>,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<StoredNetworkClaim>;
    /// What covers each of these addresses in the organisation: the claim that holds it, else the one that released it
    /// last.
    async fn covering(&self, org: OrgId, addresses: &[IpAddr]) -> Result<Vec<Option<StoredCover>>>;
    /// Refused claims, oldest first, at most `limit` with a bounded number of records; and whether those are all.
    async fn refused_claims(&self, org: OrgId, limit: u32) -> Result<(Vec<StoredNetworkClaim>, bool)>;
    /// Those of these claims that exist.
    async fn claim_heads(&self, org: OrgId, names: &[String]) -> Result<Vec<ClaimHead>>;
    /// The whole registry as the organisation may know it, as a copy that holds no lock; at most `blocks_max` blocks.
    async fn registry(&self, org: OrgId, policy: &Policy, blocks_max: u32) -> Result<StoredRegistry>;
    /// Who holds what of a prefix and what is free of it; at most `limit` of each.
    async fn survey(&self, org: OrgId, prefix: &IpNet, policy: &Policy, limit: usize)
    -> Result<StoredSurvey>;
    /// Names of an organisation's domains that point into a prefix, by address, domain and owner, at most `limit`.
    async fn pointing_into(
        &self,
        org: OrgId,
        prefix: &IpNet,
        after: Option<PointingKey<'_>>,
        limit: u32,
    ) -> Result<Vec<Pointing>>;
    /// The blocks that an organisation lists by itself, by address.
    async fn listed_blocks(&self, org: OrgId) -> Result<Vec<ListedBlock>>;
    /// Lists one, or changes its description; [`Error::Full`](crate::Error::Full) beyond `limit`.
    async fn save_block(&self, block: &ListedBlock, limit: u64, log: &Audit) -> Result<()>;
    /// Takes one off the list.
    async fn remove_block(&self, prefix: &IpNet, log: &Audit) -> Result<()>;
    /// The distinct blocks that an organisation lists or its claims take prefixes out of, at most `limit`.
    async fn network_blocks(&self, org: OrgId, limit: u32) -> Result<Vec<IpNet>>;
    /// Prefixes that an organisation released inside a block, newest first, at most `limit`.
    async fn released(&self, org: OrgId, limit: u32) -> Result<Vec<StoredCover>>;
    /// Holdings of an organisation after a name, by name, at most `limit`.
    async fn domain_objects(&self, org: OrgId, after: &str, limit: u32) -> Result<Vec<StoredDomain>>;
    /// One holding.
    async fn domain_object(&self, org: OrgId, name: &DomainName) -> Result<Option<StoredDomain>>;
    /// Adds a holding with its metadata in one transaction and queues its first scan; false when it is held already.
    async fn create_domain(
        &self,
        by: &Actor,
        org: OrgId,
        item: &NewItem,
        metadata: &str,
        now: Timestamp,
    ) -> Result<bool>;
    /// Writes the metadata of a holding that is still at the expected position, with an entry of the audit log.
    async fn set_domain_metadata(
        &self,
        by: &Actor,
        org: OrgId,
        name: &DomainName,
        expected: LogPosition,
        json: &str,
        now: Timestamp,
    ) -> Result<()>;
    /// Removes a holding that is still at the expected position, with an entry of the audit log.
    async fn delete_domain(
        &self,
        by: &Actor,
        org: OrgId,
        name: &DomainName,
        expected: LogPosition,
        now: Timestamp,
    ) -> Result<()>;
    /// Events after an identifier, oldest first, at most `limit`; each with the position of the newest log entry about it.
    async fn event_objects(
        &self,
        org: OrgId,
        after: EventId,
        limit: u32,
    ) -> Result<Vec<(Event, LogPosition)>>;
    /// What was kept of objects deleted at these positions, as JSON texts.
    async fn tombstones(&self, positions: &[LogPosition]) -> Result<Vec<(LogPosition, String)>>;
    /// Organisations with objects that [`linked_objects`](ResourceStore::linked_objects) returns.
    async fn linked_orgs(&self) -> Result<Vec<OrgId>>;
    /// Objects of a kind (as in the change log) whose metadata may name owners or a finalizer of the garbage collector,
    /// after a name, by name, at most `limit`: name and metadata as JSON text.
    async fn linked_objects(
        &self,
        org: OrgId,
        kind: &str,
        after: &str,
        limit: u32,
    ) -> Result<Vec<(String, String)>>;
}

#[async_trait]
impl ResourceStore for Database {
    async fn network_claims(&self, org: OrgId, after: &str, limit: u32) -> Result<Vec<StoredNetworkClaim>> {
        listed::list(&self.db, org, after, limit).await
    }
    async fn network_claim(&self, org: OrgId, name: &str) -> Result<Option<StoredNetworkClaim>> {
        listed::read_one(&self.db, org, name).await
    }
    async fn write_network_claim(
        &self,
        by: &Actor,
        write: &NetworkClaimWrite,
        now: Timestamp,
    ) -> Result<StoredNetworkClaim> {
        claims::write(&self.db, &self.space, by, write, now).await
    }
    async fn delete_network_claim(
        &self,
        by: &Actor,
        org: OrgId,
        name: &str,
        expected: Option<LogPosition>,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<StoredNetworkClaim> {
        claims::delete(&self.db, &self.space, &By { actor: by, org, now }, (name, expected), policy).await
    }
    async fn covering(&self, org: OrgId, addresses: &[IpAddr]) -> Result<Vec<Option<StoredCover>>> {
        space::covering(&self.db, &self.space, org, addresses).await
    }
    async fn refused_claims(&self, org: OrgId, limit: u32) -> Result<(Vec<StoredNetworkClaim>, bool)> {
        listed::refused(&self.db, org, limit).await
    }
    async fn claim_heads(&self, org: OrgId, names: &[String]) -> Result<Vec<ClaimHead>> {
        listed::heads(&self.db, org, names).await
    }
    async fn registry(&self, org: OrgId, policy: &Policy, blocks_max: u32) -> Result<StoredRegistry> {
        space::registry(&self.db, &self.space, org, policy, blocks_max).await
    }
    async fn survey(
        &self,
        org: OrgId,
        prefix: &IpNet,
        policy: &Policy,
        limit: usize,
    ) -> Result<StoredSurvey> {
        space::survey(&self.db, &self.space, org, prefix, policy, limit).await
    }
    async fn pointing_into(
        &self,
        org: OrgId,
        prefix: &IpNet,
        after: Option<PointingKey<'_>>,
        limit: u32,
    ) -> Result<Vec<Pointing>> {
        addresses::pointing_into(&self.db, org, prefix, after, limit).await
    }
    async fn listed_blocks(&self, org: OrgId) -> Result<Vec<ListedBlock>> {
        blocks::list(&self.db, org).await
    }
    async fn save_block(&self, block: &ListedBlock, limit: u64, log: &Audit) -> Result<()> {
        blocks::save(&self.db, &self.space, block, limit, log).await
    }
    async fn remove_block(&self, prefix: &IpNet, log: &Audit) -> Result<()> {
        blocks::remove(&self.db, &self.space, prefix, log).await
    }
    async fn network_blocks(&self, org: OrgId, limit: u32) -> Result<Vec<IpNet>> {
        space::blocks(&self.db, &self.space, org, limit).await
    }
    async fn released(&self, org: OrgId, limit: u32) -> Result<Vec<StoredCover>> {
        space::released(&self.db, org, limit).await
    }
    async fn domain_objects(&self, org: OrgId, after: &str, limit: u32) -> Result<Vec<StoredDomain>> {
        domains::list(&self.db, org, after, limit).await
    }
    async fn domain_object(&self, org: OrgId, name: &DomainName) -> Result<Option<StoredDomain>> {
        domains::read_one(&self.db, org, name).await
    }
    async fn create_domain(
        &self,
        by: &Actor,
        org: OrgId,
        item: &NewItem,
        metadata: &str,
        now: Timestamp,
    ) -> Result<bool> {
        items::create(&self.db, &By { actor: by, org, now }, item, metadata).await
    }
    async fn set_domain_metadata(
        &self,
        by: &Actor,
        org: OrgId,
        name: &DomainName,
        expected: LogPosition,
        json: &str,
        now: Timestamp,
    ) -> Result<()> {
        domains::set_metadata(&self.db, &By { actor: by, org, now }, name, expected, json).await
    }
    async fn delete_domain(
        &self,
        by: &Actor,
        org: OrgId,
        name: &DomainName,
        expected: LogPosition,
        now: Timestamp,
    ) -> Result<()> {
        let by = By { actor: by, org, now };
        let gone = items::delete_returning(&self.db, &by, std::slice::from_ref(name), Some(expected)).await?;
        if gone.is_empty() { Err(Error::NotFound) } else { Ok(()) }
    }
    async fn event_objects(
        &self,
        org: OrgId,
        after: EventId,
        limit: u32,
    ) -> Result<Vec<(Event, LogPosition)>> {
        crate::events::after(&self.db, org, after, limit).await
    }
    async fn tombstones(&self, positions: &[LogPosition]) -> Result<Vec<(LogPosition, String)>> {
        listed::tombstones(&self.db, positions).await
    }
    async fn linked_orgs(&self) -> Result<Vec<OrgId>> {
        linked::orgs(&self.db).await
    }
    async fn linked_objects(
        &self,
        org: OrgId,
        kind: &str,
        after: &str,
        limit: u32,
    ) -> Result<Vec<(String, String)>> {
        linked::list(&self.db, org, kind, after, limit).await
    }
}

/// Records of a claim that hold a prefix, with the prefix.
fn held(status: &ClaimStatus) -> Vec<(IpNet, AddressRecord)> {
    status.allocated().map(|(p, r)| (p, r.clone())).collect()
}
