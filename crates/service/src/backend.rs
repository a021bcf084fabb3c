//! The one trait through which pages, REST and tests reach the product.

use crate::{AccountBackend, ApiResult, CheckOutcome, ScanReport, Session};
use async_trait::async_trait;
use model::compare::Comparison;
use model::detail::{Detail, RawAnswer, Snapshot, SnapshotMeta};
use model::dns::Trace;
use model::event::{EventPage, EventQuery};
use model::fqdn::FqdnReport;
use model::ids::{Caller, EventId, SnapshotId};
use model::inventory::{AddedLine, ListQuery, Page, Row, Summary};
use model::item::{Item, ItemPatch, Ownership};
use model::names::DomainName;
use model::resolvers::PublicResolver;
use model::scan::ScanProgress;
use std::sync::Arc;

/// Everything the product can do for a caller. Each method is an [`Action`](crate::policy::Action) of the same name and
/// is refused when the policy does not allow it to the caller.
#[async_trait]
pub trait Backend: AccountBackend {
    /// Who looks, at what.
    async fn session(&self, caller: &Caller) -> ApiResult<Session>;
    /// A page of the inventory.
    async fn list(&self, caller: &Caller, query: &ListQuery) -> ApiResult<Page>;
    /// The strip above it.
    async fn summary(&self, caller: &Caller) -> ApiResult<Summary>;
    /// Up to 8 rows whose names contain the text: for the command palette.
    async fn suggest(&self, caller: &Caller, text: &str) -> ApiResult<Vec<Row>>;
    /// Adds the names of a pasted text (lines, commas, spaces between URLs; CSV with a header is understood).
    async fn add(
        &self,
        caller: &Caller,
        text: &str,
        ownership: Ownership,
        tags: &[String],
    ) -> ApiResult<Vec<AddedLine>>;
    /// Removes holdings; hands them over as they were, for [`Backend::restore`].
    async fn remove(&self, caller: &Caller, names: &[DomainName]) -> ApiResult<Vec<Item>>;
    /// Puts removed holdings back with all that was said of them; how many. One that is held again stays as it is.
    async fn restore(&self, caller: &Caller, items: &[Item]) -> ApiResult<u64>;
    /// Changes what is said about one holding.
    async fn patch(&self, caller: &Caller, name: &DomainName, patch: &ItemPatch) -> ApiResult<()>;
    /// Adds a tag to (or takes it from) many.
    async fn tag(&self, caller: &Caller, names: &[DomainName], tag: &str, add: bool) -> ApiResult<u64>;
    /// Queues scans that go before scheduled ones; how many.
    async fn rescan(&self, caller: &Caller, names: &[DomainName]) -> ApiResult<u64>;
    /// Queues scans of all rows a query matches; how many.
    async fn rescan_matching(&self, caller: &Caller, query: &ListQuery) -> ApiResult<u64>;
    /// Scans that wait or run now among these names (all when empty, at most 200).
    async fn scans(&self, caller: &Caller, names: &[DomainName]) -> ApiResult<Vec<ScanProgress>>;
    /// One domain with all that is known.
    async fn detail(&self, caller: &Caller, name: &DomainName) -> ApiResult<Detail>;
    /// Kept states, newest first.
    async fn snapshots(&self, caller: &Caller, name: &DomainName) -> ApiResult<Vec<SnapshotMeta>>;
    /// One kept state.
    async fn snapshot(&self, caller: &Caller, name: &DomainName, id: SnapshotId) -> ApiResult<Snapshot>;
    /// Raw answers of a kept state.
    async fn raw(&self, caller: &Caller, name: &DomainName, id: SnapshotId) -> ApiResult<Vec<RawAnswer>>;
    /// A page of the event log.
    async fn events(&self, caller: &Caller, query: &EventQuery) -> ApiResult<EventPage>;
    /// Marks events as seen.
    async fn acknowledge(&self, caller: &Caller, ids: &[EventId]) -> ApiResult<u64>;
    /// Looks a domain up afresh, in the inventory or not; nothing is recorded.
    async fn look_up(&self, caller: &Caller, input: &str) -> ApiResult<ScanReport>;
    /// Traces a name from the root, nothing from a cache.
    async fn trace(&self, caller: &Caller, name: &str, rtype: &str) -> ApiResult<Trace>;
    /// Runs the health checks on a zone, or on name servers (`name[/address]`) and DS records
    /// (`keytag,algorithm,type,digest`) as if the parent published them already.
    async fn check(
        &self,
        caller: &Caller,
        zone: &str,
        ns: &[String],
        ds: &[String],
    ) -> ApiResult<CheckOutcome>;
    /// What the authoritative servers say, with every resolver still to be asked (or why none will be): the first
    /// paint of a page that is then filled by `/live/compare`.
    async fn authority(&self, caller: &Caller, name: &str, rtype: &str) -> ApiResult<Comparison>;
    /// The whole comparison of authoritative servers and public resolvers. `force` asks the resolvers even about what
    /// the authoritative servers deny.
    async fn compare(&self, caller: &Caller, name: &str, rtype: &str, force: bool) -> ApiResult<Comparison>;
    /// Public resolvers that the visitor's browser may ask itself, a few.
    async fn browser_resolvers(&self, caller: &Caller) -> ApiResult<Vec<PublicResolver>>;
    /// A host name from every vantage point there is, uncached; its chain, problems and TTL plan.
    async fn fqdn(&self, caller: &Caller, name: &str) -> ApiResult<FqdnReport>;
}

/// The backend as pages and handlers share it.
pub type SharedBackend = Arc<dyn Backend>;
