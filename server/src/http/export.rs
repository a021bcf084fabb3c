//! `/domains.csv` and `/domains.json`: the current list with its filters, all pages of it, sent as they are read.
//! A CSV file can be imported again without loss of what the owner entered.

use super::AppState;
use super::api::v1::DomainRow;
use super::response::problem;
use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::{BoxError, Extension};
use futures::stream::{self, Stream, StreamExt, TryStreamExt};
use model::ids::Caller;
use model::inventory::{ListQuery, Page, Row};
use model::item::Item;
use model::paste::{column, escaped};
use product::read_name;
use service::{ApiError, ApiResult, Backend};
use std::collections::HashSet;

/// The list query in the query part of a URL.
pub fn list_query(raw: Option<&str>) -> ListQuery {
    let pairs: Vec<(String, String)> =
        url::form_urlencoded::parse(raw.unwrap_or("").as_bytes()).into_owned().collect();
    ListQuery::from_pairs(pairs.iter().map(|(k, v)| (k.as_str(), v.as_str())))
}

/// The pages of a list one after the other, each read when the one before it was sent. A row that moved to a later
/// page meanwhile is sent once. The first page is read here, so that a failing database is an error and not half
/// a file; a later failure aborts the response, which every client reports.
async fn pages(
    state: &AppState,
    caller: &Caller,
    raw: Option<&str>,
) -> Result<impl Stream<Item = ApiResult<Vec<Row>>> + use<>, ApiError> {
    let query = ListQuery { page: 1, per_page: ListQuery::MAX_PER_PAGE, ..list_query(raw) };
    let first = page(state, caller, &query).await?;
    let later = stream::try_unfold(
        (state.clone(), caller.clone(), after(&query, &first)),
        |(state, caller, next)| async move {
            let Some(query) = next else { return Ok(None) };
            let found = page(&state, &caller, &query).await?;
            let next = after(&query, &found);
            // The list became shorter: the answer is its last page once more.
            let rows = if found.page == query.page { found.rows } else { Vec::new() };
            Ok(Some((rows, (state, caller, next))))
        },
    );
    let mut sent = HashSet::new();
    Ok(stream::once(async { Ok(first.rows) }).chain(later).map_ok(move |mut rows: Vec<Row>| {
        rows.retain(|r| sent.insert(r.name.clone()));
        rows
    }))
}

async fn page(state: &AppState, caller: &Caller, query: &ListQuery) -> ApiResult<Page> {
    state.services.list(caller, query).await
}

/// The query for the next page, unless this was the last.
fn after(query: &ListQuery, found: &Page) -> Option<ListQuery> {
    let read = u64::from(query.page) * u64::from(query.per_page);
    let more = found.page == query.page && found.total > read;
    more.then(|| ListQuery { page: query.page + 1, ..query.clone() })
}

/// A file that is made while it is sent.
pub(super) fn download(
    media: &'static str,
    file: &'static str,
    parts: impl Stream<Item = Part> + Send + 'static,
) -> Response {
    let headers = [(CONTENT_TYPE, media), (CONTENT_DISPOSITION, file)];
    (headers, Body::from_stream(parts)).into_response()
}

pub(super) type Part = Result<Vec<u8>, BoxError>;

fn part(text: &str) -> Part {
    Ok(text.as_bytes().to_vec())
}

/// `/domains.csv`
pub async fn csv(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    RawQuery(raw): RawQuery,
) -> Response {
    let pages = match pages(&state, &caller, raw.as_deref()).await {
        Ok(pages) => pages,
        Err(e) => return problem(&e),
    };
    let body = pages.then(move |rows| {
        let (state, caller) = (state.clone(), caller.clone());
        async move {
            let names: Vec<_> = rows?.into_iter().map(|r| r.name).collect();
            Ok(to_csv(&state.services.holdings(&caller, &names).await?)?)
        }
    });
    csv_file(body)
}

/// `POST /domains.csv`: the domains of a form's `names[]` fields, which is what the bulk bar sends.
pub async fn csv_of_selected(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Response {
    let fields = url::form_urlencoded::parse(&body);
    let names = fields.filter(|(key, _)| key == "names[]").map(|(_, name)| read_name(&name));
    let found = async { state.services.holdings(&caller, &names.collect::<ApiResult<Vec<_>>>()?).await };
    match found.await {
        Ok(found) => csv_file(stream::once(async move { Ok(to_csv(&found)?) })),
        Err(e) => problem(&e),
    }
}

/// The lines of a file below the header.
fn csv_file(body: impl Stream<Item = Part> + Send + 'static) -> Response {
    let head = stream::once(async { Ok(lines(|out| out.write_record(HEAD))?) });
    download("text/csv; charset=utf-8", "attachment; filename=\"domains.csv\"", head.chain(body))
}

/// The columns of [`column`] are read again by an import; the others are observed.
const HEAD: [&str; 14] = [
    column::NAME,
    "Expiration",
    "Registrar",
    "DNS Provider",
    "Status",
    "Reason",
    "Last Change Detected",
    column::OWNERSHIP,
    column::TAGS,
    "Last Scan",
    column::NOTE,
    column::MANUAL_EXPIRATION,
    column::AUTO_RENEW,
    "Certificate Ends",
];

pub(super) fn lines(
    write: impl FnOnce(&mut csv::Writer<Vec<u8>>) -> Result<(), csv::Error>,
) -> Result<Vec<u8>, csv::Error> {
    let mut out = csv::Writer::from_writer(Vec::new());
    write(&mut out)?;
    out.into_inner().map_err(|e| e.into_error().into())
}

fn to_csv(holdings: &[(Item, Row)]) -> Result<Vec<u8>, csv::Error> {
    let time = |t: Option<model::Timestamp>| t.map(|t| t.to_string()).unwrap_or_default();
    let yes_or_no = |set: bool| if set { "yes" } else { "no" };
    lines(|out| {
        holdings.iter().try_for_each(|(item, r)| {
            out.write_record([
                r.name.as_str(),
                &r.expires.map(|e| e.to_string()).unwrap_or_default(),
                &escaped(r.registrar.as_deref().unwrap_or("")),
                &escaped(r.provider.as_ref().map_or("", |p| p.name.as_str())),
                r.status.kind.as_str(),
                &escaped(&r.status.why()),
                &time(r.last_change_at),
                r.ownership.as_str(),
                &escaped(&r.tags.join(", ")),
                &time(r.last_scan_at),
                &escaped(&item.note),
                &item.manual_expires.map(|d| d.to_string()).unwrap_or_default(),
                item.auto_renew.map_or("", yes_or_no),
                &time(r.certificate_ends),
            ])
        })
    })
}

/// `/domains.json`
pub async fn json(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    RawQuery(raw): RawQuery,
) -> Response {
    let pages = match pages(&state, &caller, raw.as_deref()).await {
        Ok(pages) => pages,
        Err(e) => return problem(&e),
    };
    let mut begun = false;
    let body = pages.map(move |rows| {
        let mut out = Vec::new();
        for row in rows? {
            if std::mem::replace(&mut begun, true) {
                out.push(b',');
            }
            serde_json::to_writer(&mut out, &DomainRow::from(row))?;
        }
        Ok(out)
    });
    let head = stream::once(async { part("{\"domains\":[") });
    let tail = stream::once(async { part("]}") });
    let file = "attachment; filename=\"domains.json\"";
    // After a failure nothing follows: the file must not read as a whole one.
    download("application/json", file, head.chain(body).chain(tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_a_url_is_read_whole() {
        let q = list_query(Some("q=b%C3%BCcher&registrar=Harbor+Names+Ltd&status=critical&page=4"));
        assert_eq!((q.search.as_str(), q.registrar[0].as_str(), q.page), ("bücher", "Harbor Names Ltd", 4));
    }
}
