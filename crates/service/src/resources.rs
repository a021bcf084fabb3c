//! What the resource API, the Networks page and the command line need: claims of address space, and holdings and events
//! as objects with positions in the change log.

use crate::ApiResult;
use crate::addresses::{AddressReview, PlacedAddress, PointerCursor, Pointers};
use crate::space::{ListedBlock, PrefixSpace};
use async_trait::async_trait;
use model::event::Event;
use model::ids::{Caller, EventId, LogPosition};
use model::inventory::Row;
use model::item::Item;
use model::names::DomainName;
use model::observation::Observation;
use model::scan::LogEntry;
use numbers::{ClaimSpec, ClaimStatus, IpNet, Reference, SpaceView};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A claim of address space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Unique in the organisation: a DNS label or several (RFC 1123).
    pub name: String,
    /// Position of the newest change.
    pub rv: LogPosition,
    /// Metadata as JSON text: labels, annotations and the like.
    pub metadata: String,
    /// What is asked for.
    pub spec: ClaimSpec,
    /// What is allocated.
    pub status: ClaimStatus,
    /// When it was created.
    pub created_at: model::Timestamp,
}

/// A claim to create or change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimDraft {
    /// Its name.
    pub name: String,
    /// The position it must have; `None`: it must not exist yet.
    pub expected: Option<LogPosition>,
    /// Metadata as JSON text.
    pub metadata: String,
    /// What is asked for.
    pub spec: ClaimSpec,
    /// True to preview the decision and store nothing.
    pub dry_run: bool,
}

/// What of a claim tells whether it is still the one that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimHead {
    /// Its name.
    pub name: String,
    /// Position of the newest change.
    pub rv: LogPosition,
    /// How many prefixes it holds.
    pub prefixes: usize,
}

/// Refused claims, oldest first.
#[derive(Debug, Clone, Default)]
pub struct RefusedClaims {
    /// The claims.
    pub claims: Vec<Claim>,
    /// True when there are more than were read.
    pub is_partial: bool,
}

/// The registry of address space as an organisation may know it, at one moment.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// Who holds what.
    pub view: SpaceView,
    /// How many claims the organisation has.
    pub claims: u64,
    /// The distinct blocks that they take prefixes out of or that the organisation lists.
    pub blocks: Vec<IpNet>,
}

/// What covers an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cover {
    /// The prefix.
    pub prefix: IpNet,
    /// The claim that holds it, or held it last.
    pub claim: String,
    /// The component that uses it.
    pub reference: Reference,
    /// When it was allocated.
    pub since: model::Timestamp,
    /// When it was released; `None` while it is allocated.
    pub released_at: Option<model::Timestamp>,
    /// Who released it, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_by: Option<String>,
}

/// A holding with all that is known of it.
#[derive(Debug, Clone)]
pub struct DomainObject {
    /// The holding.
    pub item: Item,
    /// The table row that shows it.
    pub row: Row,
    /// Position of the newest change.
    pub rv: LogPosition,
    /// What was observed; `None` before the first scan.
    pub observation: Option<Observation>,
    /// Metadata as JSON text, if any was written.
    pub metadata: Option<String>,
}

/// What was recorded after a position of the change log.
#[derive(Debug, Clone)]
pub struct Changes {
    /// The entries of the organisation in order, each with what was kept of the object if it was deleted; `None` when some
    /// were pruned or the position is of another log: the reader reads the state again.
    pub entries: Option<Vec<(LogEntry, Option<String>)>>,
    /// Everything up to this position is in `entries`.
    pub upto: LogPosition,
}

/// The calls. Each method is an [`Action`](crate::policy::Action) of the same name.
#[async_trait]
pub trait ResourceBackend: Send + Sync + 'static {
    /// The newest position of the change log.
    async fn log_head(&self, caller: &Caller) -> ApiResult<LogPosition>;
    /// What was recorded in the organisation after a position; waits up to `wait` for something.
    async fn changes(&self, caller: &Caller, after: LogPosition, wait: Duration) -> ApiResult<Changes>;
    /// Holdings after a name, by name, at most `limit`.
    async fn domain_objects(&self, caller: &Caller, after: &str, limit: u32) -> ApiResult<Vec<DomainObject>>;
    /// One holding.
    async fn domain_object(&self, caller: &Caller, name: &DomainName) -> ApiResult<DomainObject>;
    /// Adds a holding with its metadata, and queues its first scan. `Conflict` when it is held already, `Forbidden` beyond the
    /// quota.
    async fn create_domain(&self, caller: &Caller, name: &DomainName, metadata: &str) -> ApiResult<()>;
    /// Writes the metadata of a holding that is still at the expected position.
    async fn set_domain_metadata(
        &self,
        caller: &Caller,
        name: &DomainName,
        expected: LogPosition,
        metadata: &str,
    ) -> ApiResult<()>;
    /// Removes a holding that is still at the expected position.
    async fn delete_domain(&self, caller: &Caller, name: &DomainName, expected: LogPosition)
    -> ApiResult<()>;
    /// Events after an identifier, oldest first, at most `limit`; each with the position of the newest log entry about it.
    async fn event_objects(
        &self,
        caller: &Caller,
        after: EventId,
        limit: u32,
    ) -> ApiResult<Vec<(Event, LogPosition)>>;
    /// Claims after a name, by name, at most `limit`.
    async fn network_claims(&self, caller: &Caller, after: &str, limit: u32) -> ApiResult<Vec<Claim>>;
    /// One claim.
    async fn network_claim(&self, caller: &Caller, name: &str) -> ApiResult<Claim>;
    /// Refused claims, the first of many.
    async fn refused_claims(&self, caller: &Caller) -> ApiResult<RefusedClaims>;
    /// Those of these claims that exist; at most 1,000 names.
    async fn claim_heads(&self, caller: &Caller, names: &[String]) -> ApiResult<Vec<ClaimHead>>;
    /// The whole registry, as far as the organisation may know it.
    async fn registry(&self, caller: &Caller) -> ApiResult<Registry>;
    /// The blocks that the organisation lists by itself.
    async fn listed_blocks(&self, caller: &Caller) -> ApiResult<Vec<ListedBlock>>;
    /// Lists a block, or changes its description.
    async fn save_block(&self, caller: &Caller, prefix: &str, description: &str) -> ApiResult<ListedBlock>;
    /// Takes a block off the list. Claims out of it stay.
    async fn remove_block(&self, caller: &Caller, prefix: &IpNet) -> ApiResult<()>;
    /// Creates or changes a claim and decides about it, or previews that.
    async fn save_network_claim(&self, caller: &Caller, draft: &ClaimDraft) -> ApiResult<Claim>;
    /// Deletes a claim and releases its prefixes; returns it as it was, at the position of its deletion.
    async fn delete_network_claim(
        &self,
        caller: &Caller,
        name: &str,
        expected: Option<LogPosition>,
    ) -> ApiResult<Claim>;
    /// Where the addresses of a domain lie; empty while the organisation claims no address space.
    async fn addresses(&self, caller: &Caller, name: &DomainName) -> ApiResult<Vec<PlacedAddress>>;
    /// Released prefixes, and the addresses in DNS that no claim covers although they lie in registered space.
    async fn address_review(&self, caller: &Caller) -> ApiResult<AddressReview>;
    /// Who holds what of a prefix, and what of it is free.
    async fn prefix_space(&self, caller: &Caller, prefix: &IpNet) -> ApiResult<PrefixSpace>;
    /// The names that point into a prefix behind one of them, with their PTR records where the caller may query servers.
    async fn pointing(
        &self,
        caller: &Caller,
        prefix: &IpNet,
        after: Option<&PointerCursor>,
    ) -> ApiResult<Pointers>;
}
