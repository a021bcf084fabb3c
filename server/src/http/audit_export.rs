//! `/settings/audit.csv` and `/settings/audit.json`: the audit log with its filters, sent as it is read.

use super::AppState;
use super::api::v1_access::AuditEntryV1;
use super::export::{cell, download, lines};
use super::response::problem;
use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use futures::stream::{self, Stream, StreamExt};
use model::account::{AuditEntry, AuditQuery};
use model::ids::Caller;
use service::{AccountBackend, ApiResult};

/// Entries read at once.
const PART: u32 = 1000;

/// The pages of the log one after the other. The first is read here, so that a refusal is an error and not half a file.
async fn pages(
    state: AppState,
    caller: Caller,
    raw: Option<String>,
) -> ApiResult<impl Stream<Item = ApiResult<Vec<AuditEntry>>>> {
    let query = AuditQuery { limit: PART, ..app::audit_query(raw.as_deref().unwrap_or_default())? };
    let first = state.services.audit_log(&caller, &query).await?;
    let later =
        stream::try_unfold((state, caller, query, first.next), |(state, caller, query, next)| async move {
            let Some(before) = next else { return Ok(None) };
            let query = AuditQuery { before: Some(before), ..query };
            let page = state.services.audit_log(&caller, &query).await?;
            Ok(Some((page.entries, (state, caller, query, page.next))))
        });
    Ok(stream::once(async { Ok(first.entries) }).chain(later))
}

const HEAD: [&str; 8] = ["Time", "Who", "Email", "From", "Action", "Object", "Old", "New"];

/// `/settings/audit.csv`
pub async fn csv(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    RawQuery(raw): RawQuery,
) -> Response {
    let pages = match pages(state, caller, raw).await {
        Ok(pages) => pages,
        Err(e) => return problem(&e),
    };
    let body = pages.map(|entries| {
        let entries = entries?;
        Ok(lines(|out| {
            entries.iter().try_for_each(|e| {
                let text = |v: &Option<String>| cell(v.as_deref().unwrap_or_default());
                out.write_record([
                    e.at.to_string(),
                    cell(&e.who),
                    text(&e.email),
                    e.address.clone(),
                    e.action.clone(),
                    cell(&e.object),
                    text(&e.old),
                    text(&e.new),
                ])
            })
        })?)
    });
    let head = stream::once(async { Ok(lines(|out| out.write_record(HEAD))?) });
    download("text/csv; charset=utf-8", "attachment; filename=\"audit.csv\"", head.chain(body))
}

/// `/settings/audit.json`: one JSON array.
pub async fn json(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    RawQuery(raw): RawQuery,
) -> Response {
    let pages = match pages(state, caller, raw).await {
        Ok(pages) => pages,
        Err(e) => return problem(&e),
    };
    let mut is_first = true;
    let body = pages.map(move |entries| {
        let mut out = Vec::new();
        for entry in entries? {
            out.extend_from_slice(if std::mem::take(&mut is_first) { b"\n" } else { b",\n" });
            serde_json::to_writer(&mut out, &AuditEntryV1::from(entry))?;
        }
        Ok(out)
    });
    let (open, close) =
        (stream::once(async { Ok(b"[".to_vec()) }), stream::once(async { Ok(b"\n]\n".to_vec()) }));
    download("application/json", "attachment; filename=\"audit.json\"", open.chain(body).chain(close))
}
