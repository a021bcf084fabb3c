//! The one trait through which pages, REST and tests reach the product.

use crate::{
    AccountBackend, ApiResult, CheckOutcome, ConnectRequest, CreatedLink, ScanReport, Session, TemplateDraft,
};
use async_trait::async_trait;
use model::compare::Comparison;
use model::configure::{ServiceReport, ServiceSpec, StoredService, StoredTemplate};
use model::detail::{Detail, RawAnswer, Snapshot, SnapshotMeta};
use model::dns::Trace;
use model::event::{EventPage, EventQuery};
use model::fqdn::FqdnReport;
use model::ids::{Caller, EventId, SnapshotId};
use model::inventory::{AddPreview, AddedLine, ListQuery, Page, Row, Summary};
use model::item::{Item, ItemPatch, Ownership};
use model::names::DomainName;
use model::ownership::{ClaimBadge, ClaimView, Method};
use model::resolvers::PublicResolver;
use model::scan::ScanProgress;
use std::sync::Arc;

/// Everything the product can do for a caller. Each method is an [`Action`](crate::policy::Action) of the same name and
/// is refused when the policy does not allow it to the caller.
#[async_trait]
pub trait Backend:
    AccountBackend
    + crate::resources::ResourceBackend
    + crate::AlertBackend
    + crate::FeatureBackend
    + crate::FleetBackend
{
    /// Who looks, at what.
    async fn session(&self, caller: &Caller) -> ApiResult<Session>;
    /// A page of the inventory.
    async fn list(&self, caller: &Caller, query: &ListQuery) -> ApiResult<Page>;
    /// The strip above it.
    async fn summary(&self, caller: &Caller) -> ApiResult<Summary>;
    /// Up to 8 rows whose names contain the text: for the command palette.
    async fn suggest(&self, caller: &Caller, text: &str) -> ApiResult<Vec<Row>>;
    /// Adds the names of a pasted text (lines, commas, spaces between URLs). Of CSV with a header the columns for
    /// ownership, tags, note, manual expiration and auto-renew are read too; `tags` are added to those of a line, and
    /// `ownership` holds where a line states none.
    async fn add(
        &self,
        caller: &Caller,
        text: &str,
        ownership: Ownership,
        tags: &[String],
    ) -> ApiResult<Vec<AddedLine>>;
    /// What [`Backend::add`] would do with a text; nothing is changed.
    async fn preview_add(
        &self,
        caller: &Caller,
        text: &str,
        ownership: Ownership,
        tags: &[String],
    ) -> ApiResult<AddPreview>;
    /// Names of everything a query matches, sorted by name: for bulk work. Paging is ignored.
    async fn names(&self, caller: &Caller, query: &ListQuery) -> ApiResult<Vec<DomainName>>;
    /// Holdings with their rows, in the order of the names; those not held are left out. For exports.
    async fn holdings(&self, caller: &Caller, names: &[DomainName]) -> ApiResult<Vec<(Item, Row)>>;
    /// Removes holdings; hands them over as they were, for [`Backend::restore`].
    async fn remove(&self, caller: &Caller, names: &[DomainName]) -> ApiResult<Vec<Item>>;
    /// Puts removed holdings back with all that was said of them; how many. One that is held again stays as it is.
    async fn restore(&self, caller: &Caller, items: &[Item]) -> ApiResult<u64>;
    /// Changes what the owner states about one holding.
    async fn patch(&self, caller: &Caller, name: &DomainName, patch: &ItemPatch) -> ApiResult<()>;
    /// Adds a tag to (or takes it from) many.
    async fn tag(
        &self,
        caller: &Caller,
        names: &[DomainName],
        tag: &str,
        add: bool,
    ) -> ApiResult<Vec<DomainName>>;
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
    /// Acknowledges the events that match a query, none newer than the given one, at most 10,000; how many.
    async fn acknowledge_matching(
        &self,
        caller: &Caller,
        query: &EventQuery,
        up_to: Option<EventId>,
    ) -> ApiResult<u64>;
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
    /// The organisation's ownership claims by name, at most 1000.
    async fn claims(&self, caller: &Caller) -> ApiResult<Vec<ClaimBadge>>;
    /// Where the claim to a name stands and what to publish; the registered domain must be in the inventory.
    async fn claim(&self, caller: &Caller, name: &str) -> ApiResult<ClaimView>;
    /// Starts a claim, starts one again that is over, or changes the method of an open one.
    async fn start_claim(&self, caller: &Caller, name: &str, method: Method) -> ApiResult<ClaimView>;
    /// Asks the authoritative servers for the record now, whatever the schedule says.
    async fn check_claim(&self, caller: &Caller, name: &str) -> ApiResult<ClaimView>;
    /// Withdraws a claim; a verified one stops to count at once.
    async fn withdraw_claim(&self, caller: &Caller, name: &str) -> ApiResult<()>;
    /// What a service needs on a domain, what every authoritative server has, and what to change.
    async fn configure(&self, caller: &Caller, domain: &str, spec: &ServiceSpec) -> ApiResult<ServiceReport>;
    /// Services kept for a domain, oldest first.
    async fn services(&self, caller: &Caller, name: &DomainName) -> ApiResult<Vec<StoredService>>;
    /// Keeps a service, to be checked again on schedule. One that is kept already stays as it is.
    async fn add_service(
        &self,
        caller: &Caller,
        domain: &str,
        spec: &ServiceSpec,
    ) -> ApiResult<StoredService>;
    /// Ends the checks of a service.
    async fn remove_service(&self, caller: &Caller, name: &DomainName, id: &str) -> ApiResult<()>;
    /// Checks a kept service now.
    async fn check_service(&self, caller: &Caller, name: &DomainName, id: &str) -> ApiResult<ServiceReport>;
    /// Makes a link to the page on which a person without an account sets the service up.
    async fn connect_link(
        &self,
        caller: &Caller,
        name: &DomainName,
        request: &ConnectRequest,
    ) -> ApiResult<CreatedLink>;
    /// Domain Connect templates that the organisation keeps, by name.
    async fn templates(&self, caller: &Caller) -> ApiResult<Vec<StoredTemplate>>;
    /// Checks a template and saves it in place of that of the same provider and service.
    async fn save_template(&self, caller: &Caller, draft: &TemplateDraft) -> ApiResult<StoredTemplate>;
    /// Removes the template of a name, `PROVIDER/SERVICE`. Services that were set up with it stay.
    async fn remove_template(&self, caller: &Caller, key: &str) -> ApiResult<()>;
}

/// The backend as pages and handlers share it.
pub type SharedBackend = Arc<dyn Backend>;
