//! Server functions that read. In: parts of an address. Out: model types with the server's clock.

#[cfg(feature = "ssr")]
use super::context;
use super::payload::{EventLog, Frame, History, Inventory};
#[cfg(feature = "ssr")]
use super::payload::{RawDiff, raw_title};
use leptos::prelude::*;
use model::detail::Detail;
#[cfg(feature = "ssr")]
use model::detail::RawAnswer;
use model::dns::Trace;
use model::inventory::{AddedLine, Row};
use model::ownership::ClaimView;
use service::json::Json;
use service::{ApiError, CheckOutcome, ScanReport};

/// What the frame around every page shows.
#[server(name = ReadFrame, prefix = "/api/fn", endpoint = "frame", output = Json)]
pub async fn frame() -> Result<Frame, ApiError> {
    let (backend, caller) = context::backend()?;
    let now = context::now();
    let session = backend.session(&caller).await?;
    let summary = backend.summary(&caller).await?;
    let health = backend.health(&caller).await?;
    Ok(Frame { session, summary, health, now })
}

/// A page of the inventory; `query` is that of the address.
#[server(name = ReadInventory, prefix = "/api/fn", endpoint = "inventory", output = Json)]
pub async fn inventory(query: String) -> Result<Inventory, ApiError> {
    let (backend, caller) = context::backend()?;
    let now = context::now();
    let page = backend.list(&caller, &crate::query::list_query(&query)).await?;
    let names: Vec<_> = page.rows.iter().map(|r| r.name.clone()).take(200).collect();
    let scans = if names.is_empty() { Vec::new() } else { backend.scans(&caller, &names).await? };
    Ok(Inventory { page, scans, now })
}

/// Names of everything a list matches; `query` is that of the address.
#[server(name = ReadNames, prefix = "/api/fn", endpoint = "names", output = Json)]
pub async fn names(query: String) -> Result<Vec<String>, ApiError> {
    let (backend, caller) = context::backend()?;
    let names = backend.names(&caller, &crate::query::list_query(&query)).await?;
    Ok(names.into_iter().map(|n| n.as_str().to_string()).collect())
}

/// Up to 8 rows whose names contain the text.
#[server(name = Suggest, prefix = "/api/fn", endpoint = "suggest", output = Json)]
pub async fn suggest(text: String) -> Result<Vec<Row>, ApiError> {
    let (backend, caller) = context::backend()?;
    backend.suggest(&caller, &text).await
}

/// One domain with all that is known.
#[server(name = ReadDetail, prefix = "/api/fn", endpoint = "detail", output = Json)]
pub async fn detail(name: String) -> Result<Detail, ApiError> {
    let (backend, caller) = context::backend()?;
    backend.detail(&caller, &context::name(&name)?).await
}

/// Snapshots drawn in the timeline at most.
#[cfg(feature = "ssr")]
const TIMELINE_STATES: usize = 40;

/// Kept states of a domain, two of them side by side. Without numbers: the newest and the one before it.
#[server(name = ReadHistory, prefix = "/api/fn", endpoint = "history", output = Json)]
pub async fn history(
    name: String,
    from: Option<i64>,
    to: Option<i64>,
    raw: Option<bool>,
) -> Result<History, ApiError> {
    let (backend, caller) = context::backend()?;
    let now = context::now();
    let name = context::name(&name)?;
    let snapshots = backend.snapshots(&caller, &name).await?;
    let find = |id: Option<i64>| id.and_then(|id| snapshots.iter().find(|s| s.id.0 == id).cloned());
    let mut to = find(to).or_else(|| snapshots.first().cloned());
    let before = |t: &model::detail::SnapshotMeta| {
        let at = snapshots.iter().position(|s| s.id == t.id)?;
        snapshots.get(at + 1).cloned()
    };
    let mut from = find(from).or_else(|| to.as_ref().and_then(before));
    if let (Some(f), Some(t)) = (&from, &to)
        && (f.at, f.id) > (t.at, t.id)
    {
        std::mem::swap(&mut from, &mut to);
    }
    let mut states = Vec::new();
    for meta in snapshots.iter().take(TIMELINE_STATES) {
        states.push(backend.snapshot(&caller, &name, meta.id).await?);
    }
    let mut fields = Vec::new();
    if let (Some(f), Some(t)) = (&from, &to) {
        let older = backend.snapshot(&caller, &name, f.id).await?;
        let newer = backend.snapshot(&caller, &name, t.id).await?;
        fields = model::fields::compare_fields(&older.observation, &newer.observation);
    }
    let wants_raw = raw == Some(true);
    let raw = match &to {
        Some(t) => backend.raw(&caller, &name, t.id).await?,
        None => Vec::new(),
    };
    let raw_diffs = match &from {
        Some(f) if wants_raw => raw_diffs(&backend.raw(&caller, &name, f.id).await?, &raw),
        _ => Vec::new(),
    };
    let keep_days = backend.session(&caller).await?.keep_days;
    let oldest_first: Vec<_> = states.iter().rev().map(|s| (s.meta.at, &s.observation)).collect();
    let lanes = model::timeline::lanes(&oldest_first, now);
    Ok(History { snapshots, from, to, fields, lanes, raw, raw_diffs, keep_days, now })
}

/// The answers of each source in two snapshots, the sources of the newer one first.
#[cfg(feature = "ssr")]
fn raw_diffs(old: &[RawAnswer], new: &[RawAnswer]) -> Vec<RawDiff> {
    let source = |r: &RawAnswer| (r.protocol, r.party);
    let body = |all: &[RawAnswer], of: &RawAnswer| {
        let found = all.iter().find(|r| source(r) == source(of));
        found.map(|r| model::lines::laid_out(&r.body)).unwrap_or_default()
    };
    let gone = old.iter().filter(|o| new.iter().all(|n| source(n) != source(o)));
    new.iter()
        .chain(gone)
        .map(|r| RawDiff {
            title: raw_title(r),
            diff: model::lines::compare_lines(&body(old, r), &body(new, r)),
        })
        .collect()
}

/// A page of the event log; `query` is that of the address, `domain` narrows it to one.
#[server(name = ReadEvents, prefix = "/api/fn", endpoint = "events", output = Json)]
pub async fn events(query: String, domain: Option<String>) -> Result<EventLog, ApiError> {
    let (backend, caller) = context::backend()?;
    let mut q = crate::query::event_query(&query);
    let mut tags = Vec::new();
    if let Some(d) = domain {
        q.domain = Some(context::name(&d)?);
    } else {
        let one = model::inventory::ListQuery { per_page: 1, ..Default::default() };
        tags = backend.list(&caller, &one).await?.facets.tag;
    }
    let page = backend.events(&caller, &q).await?;
    let ids: Vec<_> = page.events.iter().map(|e| e.id).collect();
    let deliveries = if ids.is_empty() { Vec::new() } else { backend.deliveries(&caller, &ids).await? };
    Ok(EventLog { page, deliveries, tags, now: context::now() })
}

/// Looks a domain up afresh; nothing is recorded.
#[server(name = LookUp, prefix = "/api/fn", endpoint = "look_up", output = Json)]
pub async fn look_up(name: String) -> Result<ScanReport, ApiError> {
    let (backend, caller) = context::backend()?;
    backend.look_up(&caller, &name).await
}

/// Traces a name from the root, nothing from a cache.
#[server(name = RunTrace, prefix = "/api/fn", endpoint = "trace", output = Json)]
pub async fn trace(name: String, rtype: String) -> Result<Trace, ApiError> {
    let (backend, caller) = context::backend()?;
    backend.trace(&caller, &name, &rtype).await
}

/// Runs the health checks on a zone, or on servers and DS records as if the parent published them already.
#[server(name = RunCheck, prefix = "/api/fn", endpoint = "check", output = Json)]
pub async fn check(
    zone: String,
    #[server(default)] ns: Vec<String>,
    #[server(default)] ds: Vec<String>,
) -> Result<CheckOutcome, ApiError> {
    let (backend, caller) = context::backend()?;
    backend.check(&caller, &zone, &ns, &ds).await
}

/// Why lines of a list were invalid, for the page that a form without JavaScript redirects to (`line:input`).
#[server(name = Explain, prefix = "/api/fn", endpoint = "explain", output = Json)]
pub async fn explain(lines: Vec<String>) -> Result<Vec<AddedLine>, ApiError> {
    use model::inventory::AddResult;
    context::backend()?;
    let explained = lines.iter().take(100).filter_map(|l| {
        let (line, input) = l.split_once(':')?;
        // Of a line of CSV the name may be fine; the address does not carry its other columns.
        let reason = model::names::DomainName::read(input).err();
        let reason =
            reason.map_or_else(|| "a column of this line has an invalid value".into(), |e| e.to_string());
        Some(AddedLine {
            line: line.parse().ok()?,
            input: input.into(),
            result: AddResult::Refused { reason },
            set: model::item::ItemPatch::default(),
        })
    });
    Ok(explained.collect())
}

/// Where the organisation's ownership claim to a name stands, and what to publish.
#[server(name = ReadClaim, prefix = "/api/fn", endpoint = "claim", output = Json)]
pub async fn claim(name: String) -> Result<ClaimView, ApiError> {
    let (backend, caller) = context::backend()?;
    backend.claim(&caller, &name).await
}
