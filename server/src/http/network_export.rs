//! `/networks.csv` and `/networks.json`: the records of claims that the page Networks lists, with its block, search and
//! state, sent as they are read: claims by name, then what was released.

use super::AppState;
use super::export::{download, lines};
use super::response::problem;
use app::server_fns::rows::{self, ClaimFilter};
use app::server_fns::{ClaimRow, PrefixState};
use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use futures::stream::{self, Stream, StreamExt};
use model::ids::Caller;
use model::paste::escaped;
use serde::Serialize;
use service::ApiResult;
use service::numbers::RangeSet;
use service::resources::{Claim, ResourceBackend};

/// Claims read at once.
const PART: u32 = 1000;

/// A record as JSON; a row of the CSV has the same values.
#[derive(Debug, Serialize)]
struct NetworkRecordV1 {
    /// The prefix, or what was asked for.
    prefix: String,
    claim: String,
    reference: String,
    state: &'static str,
    /// When it was allocated, refused or released.
    since: String,
    description: String,
    /// Why it is unavailable.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl From<ClaimRow> for NetworkRecordV1 {
    fn from(r: ClaimRow) -> Self {
        let ClaimRow { claim, prefix, reference, state, description, message, date, .. } = r;
        let state = state.as_str();
        NetworkRecordV1 { prefix, claim, reference, state, since: date.to_string(), description, message }
    }
}

/// Where an export is.
struct Reading {
    state: AppState,
    caller: Caller,
    filter: ClaimFilter,
    /// What the claims that were read hold, so that a released prefix that is allocated again is left out.
    used: RangeSet,
    next: Next,
}

enum Next {
    /// This page of claims, which has been read.
    Page(Vec<Claim>),
    /// The page of claims after this name.
    After(String),
    /// Released prefixes.
    Released,
    Done,
}

impl Reading {
    async fn step(mut self) -> ApiResult<Option<(Vec<ClaimRow>, Self)>> {
        let services = &self.state.services;
        let claims = match std::mem::replace(&mut self.next, Next::Done) {
            Next::Page(claims) => claims,
            Next::After(name) => services.network_claims(&self.caller, &name, PART).await?,
            Next::Released => {
                let mut released = Vec::new();
                if self.filter.state.is_none_or(|state| state == PrefixState::Released) {
                    released = services.address_review(&self.caller).await?.released;
                }
                let mut rows = rows::of_released(&released, |p| self.used.intersects(p));
                rows.retain(|r| self.filter.holds(r));
                return Ok(Some((rows, self)));
            }
            Next::Done => return Ok(None),
        };
        for (prefix, _) in claims.iter().flat_map(|c| c.status.allocated()) {
            self.used.insert(&prefix);
        }
        self.next = match claims.last().filter(|_| claims.len() == PART as usize) {
            Some(last) => Next::After(last.name.clone()),
            None => Next::Released,
        };
        let mut rows = rows::of_claims(&claims);
        rows.retain(|r| self.filter.holds(r));
        Ok(Some((rows, self)))
    }
}

/// The records in parts. The first claims are read here, so that a refusal is an error and not half a file.
async fn parts(
    state: AppState,
    caller: Caller,
    raw: Option<String>,
) -> ApiResult<impl Stream<Item = ApiResult<Vec<NetworkRecordV1>>>> {
    let filter = ClaimFilter::read(raw.as_deref().unwrap_or_default())?;
    let next = Next::Page(state.services.network_claims(&caller, "", PART).await?);
    let reading = Reading { state, caller, filter, used: RangeSet::default(), next };
    let all = stream::try_unfold(reading, Reading::step);
    Ok(all.map(|rows| Ok(rows?.into_iter().map(NetworkRecordV1::from).collect())))
}

const HEAD: [&str; 7] = ["Prefix", "Claim", "Reference", "State", "Since", "Description", "Message"];

/// `/networks.csv`
pub async fn csv(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    RawQuery(raw): RawQuery,
) -> Response {
    let parts = match parts(state, caller, raw).await {
        Ok(parts) => parts,
        Err(e) => return problem(&e),
    };
    let body = parts.map(|records| {
        let records = records?;
        Ok(lines(|out| {
            records.iter().try_for_each(|r| {
                let text = |v: &str| escaped(v).into_owned();
                out.write_record([
                    text(&r.prefix),
                    text(&r.claim),
                    text(&r.reference),
                    r.state.to_string(),
                    r.since.clone(),
                    text(&r.description),
                    text(r.message.as_deref().unwrap_or_default()),
                ])
            })
        })?)
    });
    let head = stream::once(async { Ok(lines(|out| out.write_record(HEAD))?) });
    download("text/csv; charset=utf-8", "attachment; filename=\"networks.csv\"", head.chain(body))
}

/// `/networks.json`: one JSON array.
pub async fn json(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    RawQuery(raw): RawQuery,
) -> Response {
    let parts = match parts(state, caller, raw).await {
        Ok(parts) => parts,
        Err(e) => return problem(&e),
    };
    let mut is_first = true;
    let body = parts.map(move |records| {
        let mut out = Vec::new();
        for record in records? {
            out.extend_from_slice(if std::mem::take(&mut is_first) { b"\n" } else { b",\n" });
            serde_json::to_writer(&mut out, &record)?;
        }
        Ok(out)
    });
    let (open, close) =
        (stream::once(async { Ok(b"[".to_vec()) }), stream::once(async { Ok(b"\n]\n".to_vec()) }));
    download("application/json", "attachment; filename=\"networks.json\"", open.chain(body).chain(close))
}
