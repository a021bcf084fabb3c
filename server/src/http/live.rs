//! `/live`: server-sent events. A page gives the place in the change log it was rendered at and misses nothing.

use super::Web;
use axum::Extension;
use axum::extract::{Query, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::stream::{self, Stream, StreamExt};
use model::ids::{Caller, Rv};
use model::names::DomainName;
use model::scan::Live;
use serde::Deserialize;
use std::convert::Infallible;
use tokio::sync::broadcast::error::RecvError;

/// Where the page stands.
#[derive(Debug, Deserialize)]
pub struct Since {
    since: Option<i64>,
}

/// Most log entries sent at once to a page that was away; one further behind is told to read its list anew.
const CATCH_UP: u32 = 500;

/// The stream of one page.
pub async fn live(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    Query(since): Query<Since>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    // Subscribed before the log is read, so that nothing falls between.
    let receiver = web.product.scanner.hub.subscribe();
    let store = web.product.store().clone();
    let from = match since.since {
        Some(rv) => Rv(rv),
        None => store.head().await.unwrap_or_default(),
    };
    let missed = store.log_since(Some(caller.org), from, CATCH_UP).await.unwrap_or_default();
    let last = missed.last().map_or(from, |e| e.rv);
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
                    Err(RecvError::Lagged(_)) => {
                        let reread = Ok(Event::default().event("reread").data("{}"));
                        return Some((reread, (receiver, web, caller, last)));
                    }
                    Err(RecvError::Closed) => return None,
                }
            }
        });
    Sse::new(missed.chain(running).chain(follow)).keep_alive(KeepAlive::default())
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
