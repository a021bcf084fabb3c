//! `/domains.csv` and `/domains.json`: the current list with its filters, all pages of it.

use super::Web;
use crate::backend::unavailable;
use app::answer::Failure;
use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use model::ids::Caller;
use model::inventory::{ListQuery, Row};

/// The list query in the query part of a URL.
pub fn list_query(raw: Option<&str>) -> ListQuery {
    let pairs: Vec<(String, String)> =
        url::form_urlencoded::parse(raw.unwrap_or("").as_bytes()).into_owned().collect();
    ListQuery::from_pairs(pairs.iter().map(|(k, v)| (k.as_str(), v.as_str())))
}

async fn all_rows(web: &Web, caller: &Caller, raw: Option<&str>) -> Result<Vec<Row>, Failure> {
    let mut query = ListQuery { page: 1, per_page: ListQuery::MAX_PER_PAGE, ..list_query(raw) };
    let mut rows = Vec::new();
    loop {
        let page = web
            .product
            .store()
            .list(caller.org, &query, web.product.scanner.clock.now())
            .await
            .map_err(unavailable)?;
        let done = page.rows.len() < query.per_page as usize;
        rows.extend(page.rows);
        if done {
            return Ok(rows);
        }
        query.page += 1;
    }
}

fn failed(failure: &Failure) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, format!("{failure}\n")).into_response()
}

/// A cell a spreadsheet would take for a formula is kept as text.
fn cell(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_string() }
}

/// `/domains.csv`
pub async fn csv(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    RawQuery(raw): RawQuery,
) -> Response {
    let rows = match all_rows(&web, &caller, raw.as_deref()).await {
        Ok(rows) => rows,
        Err(e) => return failed(&e),
    };
    match to_csv(&rows) {
        Ok(body) => (
            [
                (CONTENT_TYPE, "text/csv; charset=utf-8"),
                (CONTENT_DISPOSITION, "attachment; filename=\"domains.csv\""),
            ],
            body,
        )
            .into_response(),
        Err(e) => {
            tracing::error!(error = %e, "the inventory could not be written as CSV");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn to_csv(rows: &[Row]) -> Result<Vec<u8>, csv::Error> {
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record([
        "Domain Name",
        "Expiration",
        "Registrar",
        "DNS Provider",
        "Status",
        "Reason",
        "Last Change Detected",
        "Ownership",
        "Tags",
        "Last Scan",
    ])?;
    for r in rows {
        let time = |t: Option<model::Timestamp>| t.map(|t| t.to_string()).unwrap_or_default();
        out.write_record([
            r.name.to_string(),
            r.expires.map(|e| e.to_string()).unwrap_or_default(),
            cell(r.registrar.as_deref().unwrap_or("")),
            cell(r.provider.as_ref().map_or("", |p| p.name.as_str())),
            r.status.kind.as_str().to_string(),
            cell(&r.status.why()),
            time(r.last_change_at),
            r.ownership.as_str().to_string(),
            cell(&r.tags.join(" ")),
            time(r.last_scan_at),
        ])?;
    }
    out.into_inner().map_err(|e| e.into_error().into())
}

/// `/domains.json`
pub async fn json(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    RawQuery(raw): RawQuery,
) -> Response {
    match all_rows(&web, &caller, raw.as_deref()).await {
        Ok(rows) => (
            [(CONTENT_DISPOSITION, "attachment; filename=\"domains.json\"")],
            axum::Json(serde_json::json!({ "domains": rows })),
        )
            .into_response(),
        Err(e) => failed(&e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_stay_text() {
        assert_eq!(cell("=HYPERLINK(1)"), "'=HYPERLINK(1)");
        assert_eq!(cell("NAMECHEAP INC"), "NAMECHEAP INC");
    }

    #[test]
    fn the_query_of_a_url_is_read_whole() {
        let q = list_query(Some("q=b%C3%BCcher&registrar=Harbor+Names+Ltd&status=critical&page=4"));
        assert_eq!((q.search.as_str(), q.registrar[0].as_str(), q.page), ("bücher", "Harbor Names Ltd", 4));
    }
}
