//! `/live`: server-sent events for open pages. In: the position in the change log a page was rendered at. Out:
//! messages, each a JSON array of [`Live`]: what was recorded since, scans as they move on, and [`Live::Reset`] when the
//! page has to read its state again (it was away too long, the log was pruned after its position, or it can't keep up).
//!
//! What happens within a tenth of a second goes out as one message of bounded size; of several changes to one thing
//! only the last is sent.

use super::AppState;
use super::response::respond;
use axum::Extension;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use model::ids::{Caller, LogPosition};
use model::names::DomainName;
use model::scan::{Live, LogEntry, ScanProgress};
use serde::Deserialize;
use service::policy::{Action, authorize};
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::time::Duration;
use store::{LogRead, Store};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// Time over which a message is gathered.
const GATHER: Duration = Duration::from_millis(100);
/// Things one message tells of, and log entries read for a page that was away; after more the page reads its state again.
const MESSAGE_MAX: usize = 500;
/// Scans under way that a new page is sent.
const RUNNING: usize = 200;
/// Streams of one process.
const STREAMS_MAX: usize = 4_000;

static STREAMS: Semaphore = Semaphore::const_new(STREAMS_MAX);

/// Where the page stands.
#[derive(Debug, Deserialize)]
pub struct Since {
    since: Option<i64>,
}

/// The stream of one page.
pub async fn live(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(since): Query<Since>,
    headers: HeaderMap,
) -> Response {
    if let Err(e) = authorize(&caller, Action::Changes) {
        return respond::<()>(Err(e));
    }
    let Ok(permit) = STREAMS.try_acquire() else { return busy("too many live pages are open") };
    // Subscribed before the log is read, so that nothing falls between.
    let receiver = state.services.scanner.hub.subscribe();
    // A browser that reconnects by itself says which message it received last.
    let last = headers.get("last-event-id").and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok());
    let Ok(head) = state.services.store().head().await else { return busy("the database does not answer") };
    let from = last.or(since.since).map_or(head, LogPosition);
    let mut page = Page { receiver, state, caller, last: from, _permit: permit };
    let Ok(first) = page.missed(head).await else { return busy("the database does not answer") };
    let messages = stream::unfold((page, Some(first)), |(mut page, first)| async move {
        if let Some(event) = first.as_deref().and_then(message) {
            return Some((Ok::<_, Infallible>(event), (page, None)));
        }
        let event = page.next().await?;
        Some((Ok(event), (page, None)))
    });
    Sse::new(messages).keep_alive(KeepAlive::default()).into_response()
}

/// The browser tries again a few seconds later.
fn busy(why: &'static str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "5")], format!("{why}\n")).into_response()
}

/// One open page.
struct Page {
    receiver: Receiver<Live>,
    state: AppState,
    caller: Caller,
    /// Everything up to this position of the log was sent.
    last: LogPosition,
    _permit: SemaphorePermit<'static>,
}

/// What is gathered for one message.
#[derive(Default)]
struct Batch {
    changes: HashMap<(String, String), LogEntry>,
    scans: HashMap<DomainName, ScanProgress>,
    /// Something was missed.
    reset: bool,
}

impl Batch {
    fn is_full(&self) -> bool {
        self.reset || self.changes.len() + self.scans.len() > MESSAGE_MAX
    }
}

impl Page {
    fn store(&self) -> &dyn Store {
        &**self.state.services.store()
    }

    /// What the page missed since its position, and the scans that wait or run.
    async fn missed(&mut self, head: LogPosition) -> Result<Vec<Live>, store::Error> {
        let limit = u32::try_from(MESSAGE_MAX).unwrap_or(u32::MAX);
        let mut batch = Batch::default();
        match self.store().log_since(Some(self.caller.org), self.last, limit).await? {
            LogRead::Entries(entries) if entries.len() < MESSAGE_MAX => {
                for e in entries {
                    self.gather(&mut batch, Live::Changed(e));
                }
            }
            _ => {
                self.last = head;
                return Ok(vec![Live::Reset { rv: head }]);
            }
        }
        for p in self.state.services.scanner.hub.running(RUNNING) {
            batch.scans.insert(p.name.clone(), p);
        }
        Ok(self.finish(batch).await)
    }

    /// Puts what happened into the batch, unless it is another organisation's or was sent already.
    fn gather(&mut self, batch: &mut Batch, live: Live) {
        match live {
            Live::Changed(e) => {
                if e.org == self.caller.org && e.rv > self.last {
                    self.last = e.rv;
                    batch.changes.insert((e.kind.clone(), e.name.clone()), e);
                }
            }
            Live::Scan(p) => {
                batch.scans.insert(p.name.clone(), p);
            }
            Live::Reset { rv } => batch.reset |= rv > self.last,
        }
    }

    /// The next message; `None` when the server ends.
    async fn next(&mut self) -> Option<Event> {
        loop {
            let mut batch = Batch::default();
            match self.receiver.recv().await {
                Ok(live) => self.gather(&mut batch, live),
                Err(RecvError::Lagged(_)) => batch.reset = true,
                Err(RecvError::Closed) => return None,
            }
            let until = Instant::now() + GATHER;
            while !batch.is_full() {
                match tokio::time::timeout_at(until, self.receiver.recv()).await {
                    Ok(Ok(live)) => self.gather(&mut batch, live),
                    Ok(Err(RecvError::Lagged(_))) => batch.reset = true,
                    Ok(Err(RecvError::Closed)) => return None,
                    Err(_) => break,
                }
            }
            let lives = if batch.is_full() { vec![self.reset().await?] } else { self.finish(batch).await };
            if let Some(event) = message(&lives) {
                return Some(event);
            }
        }
    }

    /// Everything up to the head is read again by the page, so nothing of it is sent. `None` when the database does not
    /// answer: the browser connects again.
    async fn reset(&mut self) -> Option<Live> {
        while !matches!(self.receiver.try_recv(), Err(TryRecvError::Empty | TryRecvError::Closed)) {}
        self.last = self.store().head().await.ok()?;
        Some(Live::Reset { rv: self.last })
    }

    /// The message of a batch: changes in order, then scans of names that the caller's organisation holds.
    async fn finish(&self, batch: Batch) -> Vec<Live> {
        let mut changes: Vec<_> = batch.changes.into_values().collect();
        changes.sort_by_key(|e| e.rv);
        let mut out: Vec<_> = changes.into_iter().map(Live::Changed).collect();
        if batch.scans.is_empty() {
            return out;
        }
        let names: Vec<_> = batch.scans.keys().cloned().collect();
        let held = self.store().held(self.caller.org, &names).await.unwrap_or_default();
        let held: HashSet<_> = held.into_iter().collect();
        out.extend(batch.scans.into_values().filter(|p| held.contains(&p.name)).map(Live::Scan));
        out
    }
}

/// A message, with the position the browser reports when it reconnects; `None` when there is nothing to say.
fn message(lives: &[Live]) -> Option<Event> {
    if lives.is_empty() {
        return None;
    }
    let event = Event::default().data(serde_json::to_string(lives).ok()?);
    let position = lives.iter().filter_map(|l| match l {
        Live::Changed(e) => Some(e.rv),
        Live::Reset { rv } => Some(*rv),
        Live::Scan(_) => None,
    });
    Some(match position.max() {
        Some(rv) => event.id(rv.0.to_string()),
        None => event,
    })
}
