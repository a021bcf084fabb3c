//! `/live`: server-sent events. A page gives the place in the change log it was rendered at and misses nothing.

use super::Web;
use axum::Extension;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::stream::{self, Stream, StreamExt};
use model::ids::{Caller, Rv};
use model::names::DomainName;
use model::scan::{Live, LogEntry};
use serde::Deserialize;
use std::collections::HashMap;
use std::convert::Infallible;
use store::Store;
use tokio::sync::broadcast::error::RecvError;

/// Where the page stands.
#[derive(Debug, Deserialize)]
pub struct Since {
    since: Option<i64>,
}

/// Log entries read at once for a page that was away.
const CATCH_UP: u32 = 500;
/// Most names a page that was away is told of; one further behind reads its list anew after any of them.
const MISSED: usize = 5_000;

/// The stream of one page.
pub async fn live(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    Query(since): Query<Since>,
    headers: HeaderMap,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    // Subscribed before the log is read, so that nothing falls between.
    let receiver = web.product.scanner.hub.subscribe();
    let store = web.product.store().clone();
    // A browser that reconnects by itself says what it heard last.
    let heard = headers.get("last-event-id").and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok());
    let from = match heard.or(since.since) {
        Some(rv) => Rv(rv),
        None => store.head().await.unwrap_or_default(),
    };
    let (missed, last) = missed(&*store, &caller, from).await;
    let missed = stream::iter(missed.into_iter().map(|e| event(&Live::Changed(e))));
    let running = web.product.scanner.hub.running(200).into_iter().map(Live::Scan);
    let running: Vec<_> = futures::future::join_all(running.map(|l| visible(&web, &caller, l))).await;
    let running = stream::iter(running.into_iter().flatten().map(|l| event(&l)));

    let follow =
        stream::unfold((receiver, web, caller, last), |(mut receiver, web, caller, last)| async move {
            loop {
                match receiver.recv().await {
                    Ok(Live::Changed(e)) if e.rv <= last => {}
                    Ok(l) => {
                        if let Some(l) = visible(&web, &caller, l).await {
                            return Some((event(&l), (receiver, web, caller, last)));
                        }
                    }
                    // Behind by more than is kept: the browser connects again and catches up from the log.
                    Err(RecvError::Lagged(_) | RecvError::Closed) => return None,
                }
            }
        });
    Sse::new(missed.chain(running).chain(follow)).keep_alive(KeepAlive::default())
}

/// What happened after `from`, and how far that goes. Of many changes to one thing only the last is told.
async fn missed(store: &dyn Store, caller: &Caller, from: Rv) -> (Vec<LogEntry>, Rv) {
    let mut newest: HashMap<(String, String), LogEntry> = HashMap::new();
    let mut last = from;
    while let Ok(entries) = store.log_since(Some(caller.org), last, CATCH_UP).await {
        let more = entries.len() == CATCH_UP as usize;
        for e in entries {
            last = e.rv;
            if newest.len() < MISSED || newest.contains_key(&(e.kind.clone(), e.name.clone())) {
                newest.insert((e.kind.clone(), e.name.clone()), e);
            }
        }
        if !more {
            break;
        }
    }
    let mut told: Vec<_> = newest.into_values().collect();
    told.sort_by_key(|e| e.rv);
    (told, last)
}

/// Only what the caller's organisation holds is told.
async fn visible(web: &Web, caller: &Caller, live: Live) -> Option<Live> {
    let own = match &live {
        Live::Changed(e) => e.org == caller.org,
        Live::Scan(p) => holds(web, caller, &p.name).await,
    };
    own.then_some(live)
}

async fn holds(web: &Web, caller: &Caller, name: &DomainName) -> bool {
    matches!(web.product.store().item(caller.org, name).await, Ok(Some(_)))
}

#[expect(clippy::unnecessary_wraps, reason = "the stream's item type is a Result")]
fn event(live: &Live) -> Result<Event, Infallible> {
    let mut event = Event::default().data(serde_json::to_string(live).unwrap_or_default());
    if let Live::Changed(e) = live {
        event = event.id(e.rv.0.to_string());
    }
    Ok(event)
}
