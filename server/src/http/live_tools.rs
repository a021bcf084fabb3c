//! `/live/compare`: a comparison told as it happens, as server-sent events (`authority`, `answer`, `summary`, `watch`,
//! `end`), and the tools in the REST API. What runs for a page ends when the page goes away.

use super::Web;
use super::answer::answer;
use crate::backend::Work;
use app::backend::Backend;
use axum::extract::{Query, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use dns::compare::Watch;
use futures::stream::{self, Stream};
use model::compare::{CompareEvent, EndKind, Ended};
use model::ids::Caller;
use serde::Deserialize;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

/// Seconds after which a watch on a page gives up.
const WATCH_S: i64 = 1800;

/// What is compared.
#[derive(Debug, Deserialize)]
pub struct Question {
    name: String,
    #[serde(default, rename = "type")]
    rtype: String,
    #[serde(default)]
    force: Flag,
    #[serde(default)]
    watch: Flag,
    /// Values that the record must have, separated by `|`.
    #[serde(default)]
    expect: String,
}

/// `1`, `true`, `on` and `yes`, as addresses and forms have them.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(from = "String")]
struct Flag(bool);

impl From<String> for Flag {
    fn from(text: String) -> Self {
        Flag(matches!(text.as_str(), "1" | "true" | "on" | "yes"))
    }
}

/// The stream of one comparison or watch.
pub async fn compare(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    Query(question): Query<Question>,
) -> Response {
    let asking = match web.product.asking(&caller, &question.name, &question.rtype, question.force.0).await {
        Ok(asking) => asking,
        Err(failure) => return answer::<()>(Err(failure)),
    };
    let work = if question.watch.0 { Work::Watch } else { Work::Compare };
    let leave = match web.product.tools.limits.enter(&caller, work).await {
        Ok(leave) => leave,
        Err(failure) => return answer::<()>(Err(failure)),
    };
    let watch = question.watch.0.then(|| Watch {
        expect: question
            .expect
            .split('|')
            .map(str::trim)
            .filter(|e| !e.is_empty())
            .map(str::to_string)
            .collect(),
        patience_s: WATCH_S,
    });
    // Events are few and small; a reader that is slow is waited for by nobody.
    let (sender, receiver) = mpsc::unbounded_channel();
    let comparer = web.product.tools.comparer.clone();
    let task = tokio::spawn(async move {
        let _leave = leave;
        let mut tell = |event: CompareEvent| {
            let _ = sender.send(event);
        };
        let failed = match &watch {
            Some(watch) => comparer.watch(&asking, watch, &mut tell).await.err(),
            None => match comparer.run(&asking, &mut tell).await {
                Ok(done) => {
                    let sentence = done.summary.sentence;
                    tell(CompareEvent::End(Ended { kind: EndKind::Done, sentence }));
                    None
                }
                Err(e) => Some(e),
            },
        };
        if let Some(e) = failed {
            tell(CompareEvent::End(Ended { kind: EndKind::Failed, sentence: e.to_string() }));
        }
    });
    let events = Box::pin(stream::unfold(receiver, |mut receiver| async move {
        let event = receiver.recv().await?;
        Some((told(&event), receiver))
    }));
    Sse::new(Running { events, _task: AbortOnDropHandle::new(task) })
        .keep_alive(KeepAlive::default())
        .into_response()
}

/// A stream with the work that feeds it: when the reader is gone, so is the work.
struct Running<S> {
    events: Pin<Box<S>>,
    _task: AbortOnDropHandle<()>,
}

impl<S: Stream> Stream for Running<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.events.as_mut().poll_next(context)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the stream's item type is a Result")]
fn told(event: &CompareEvent) -> Result<Event, Infallible> {
    let data = match event {
        CompareEvent::Authority(c) => serde_json::to_string(c),
        CompareEvent::Answer(j) => serde_json::to_string(j),
        CompareEvent::Summary(s) => serde_json::to_string(s),
        CompareEvent::Watch(w) => serde_json::to_string(w),
        CompareEvent::End(e) => serde_json::to_string(e),
    };
    Ok(Event::default().event(event.name()).data(data.unwrap_or_default()))
}

/// The tools below `/api/v1`.
pub fn api() -> Router<Web> {
    Router::new().route("/compare", get(api_compare)).route("/fqdn", get(api_fqdn))
}

async fn api_compare(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    Query(q): Query<Question>,
) -> Response {
    answer(web.product.compare(&caller, &q.name, &q.rtype, q.force.0).await)
}

/// What is analyzed.
#[derive(Debug, Deserialize)]
struct Host {
    name: String,
}

async fn api_fqdn(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    Query(q): Query<Host>,
) -> Response {
    answer(web.product.fqdn(&caller, &q.name).await)
}
