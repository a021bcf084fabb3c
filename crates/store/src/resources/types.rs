//! Claims, blocks and holdings as the store reads and writes them.

use jiff::Timestamp;
use model::ids::{LogPosition, OrgId};
use model::inventory::Row;
use model::item::Item;
use model::names::DomainName;
use model::observation::Observation;
use numbers::{AddressRecord, ClaimSpec, ClaimStatus, IpNet, Policy, SpaceView, Survey};
use std::net::IpAddr;

/// A claim as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredNetworkClaim {
    /// Whose.
    pub org: OrgId,
    /// Its name, unique in the organisation.
    pub name: String,
    /// Position of the newest log entry about it.
    pub rv: LogPosition,
    /// Metadata as JSON text.
    pub metadata: String,
    /// What is asked for.
    pub spec: ClaimSpec,
    /// What is allocated.
    pub status: ClaimStatus,
    /// When it was created.
    pub created_at: Timestamp,
}

/// A claim to write.
#[derive(Debug, Clone)]
pub struct NetworkClaimWrite {
    /// Whose.
    pub org: OrgId,
    /// Its name.
    pub name: String,
    /// The position it must have; `None`: it must not exist yet.
    pub expected: Option<LogPosition>,
    /// Metadata as JSON text.
    pub metadata: String,
    /// What is asked for; it has passed [`numbers::claim::validate`].
    pub spec: ClaimSpec,
    /// Where organisations may overlap.
    pub policy: Policy,
    /// Most claims that the organisation may have when this one is new ([`Error::Full`](crate::Error::Full)).
    pub limit: u64,
    /// True to decide and write nothing.
    pub dry_run: bool,
}

/// What of a claim tells whether it is still the one that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimHead {
    /// Its name.
    pub name: String,
    /// Position of the newest log entry about it.
    pub rv: LogPosition,
    /// How many prefixes it holds.
    pub prefixes: usize,
}

/// A block that an organisation lists by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedBlock {
    /// The prefix.
    pub prefix: IpNet,
    /// What it is for.
    pub description: String,
    /// When it was listed.
    pub created_at: Timestamp,
}

/// The registry of address space as an organisation may know it.
#[derive(Debug, Clone)]
pub struct StoredRegistry {
    /// Who holds what.
    pub view: SpaceView,
    /// How many claims the organisation has.
    pub claims: u64,
    /// The distinct blocks that they take prefixes out of or that the organisation lists.
    pub blocks: Vec<IpNet>,
}

/// What covers an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCover {
    /// The prefix.
    pub prefix: IpNet,
    /// The claim that holds it, or held it last.
    pub claim: String,
    /// The component that uses it.
    pub reference: numbers::Reference,
    /// When it was allocated.
    pub since: Timestamp,
    /// When it was released; `None` while it is allocated.
    pub released_at: Option<Timestamp>,
    /// Who released it; unknown of what an earlier version released.
    pub released_by: Option<String>,
}

/// A name whose record holds an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointing {
    /// The address.
    pub address: IpAddr,
    /// The domain that was scanned.
    pub domain: DomainName,
    /// Owner name of the record.
    pub owner: String,
}

/// Where a list of [`Pointing`] goes on: behind this address, domain and owner.
pub type PointingKey<'a> = (IpAddr, &'a str, &'a str);

/// What an organisation can know of a prefix.
#[derive(Debug, Clone)]
pub struct StoredSurvey {
    /// Its allocations and what is free.
    pub survey: Survey,
    /// Prefixes that overlap this one and were refused.
    pub refused: Vec<RefusedPrefix>,
    /// Prefixes that overlap this one, were released, and of which no address is held again; the newest release first.
    pub released: Vec<StoredCover>,
    /// True when not all refused claims or released prefixes were read.
    pub is_partial: bool,
}

/// An exact prefix that a claim was refused.
#[derive(Debug, Clone)]
pub struct RefusedPrefix {
    /// The prefix.
    pub prefix: IpNet,
    /// The claim that asks for it.
    pub claim: String,
    /// Its record, with the reason.
    pub record: AddressRecord,
}

/// A holding with all that is known of it.
#[derive(Debug, Clone)]
pub struct StoredDomain {
    /// The holding.
    pub item: Item,
    /// The table row that shows it.
    pub row: Row,
    /// Position of the newest log entry about it.
    pub rv: LogPosition,
    /// What was observed.
    pub observation: Option<Observation>,
    /// Metadata as JSON text, if any was written.
    pub metadata: Option<String>,
}
