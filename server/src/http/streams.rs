//! Executor for the requests of one HTTP/2 connection. Most DoH responses come from the cache and are ready at the first
//! poll: they are polled in the connection's own task, so that those of one read leave in one write. A request that has
//! to wait is spawned.

use hyper::rt::Executor;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

type Stream = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Requests that have not been polled yet. Clones share the list.
#[derive(Clone, Default)]
pub(super) struct Streams(Arc<Mutex<Vec<Stream>>>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::pin(stream));
    }
}

impl Streams {
    fn take(&self) -> Vec<Stream> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Drives a connection and the first poll of each of its requests.
    pub(super) async fn drive<C: Future>(&self, mut connection: Pin<&mut C>) -> C::Output {
        poll_fn(|cx| {
            loop {
                let polled = connection.as_mut().poll(cx);
                let new = self.take();
                let none = new.is_empty();
                for mut stream in new {
                    // No waker is needed here: the spawned task polls it again with its own.
                    if stream.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
                        tokio::spawn(stream);
                    }
                }
                if none || polled.is_ready() {
                    return polled;
                }
            }
        })
        .await
    }
}

/// Yields once, so that the rest of the request runs in a task of its own.
pub(super) async fn own_task() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
