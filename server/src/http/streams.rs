//! The requests of an HTTP/2 connection. Most answers of DNS over HTTPS are ready at the first look: those are given
//! right there, all that came together at once, so that they leave together too. What has to wait gets a task of its own.

use hyper::rt::Executor;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

type Stream = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Requests that nobody has looked at yet.
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

    /// Drives a connection and what is asked on it.
    pub(super) async fn drive<C: Future>(&self, mut connection: Pin<&mut C>) -> C::Output {
        poll_fn(|cx| {
            loop {
                let polled = connection.as_mut().poll(cx);
                let fresh = self.take();
                let none = fresh.is_empty();
                for mut stream in fresh {
                    // Whatever wakes it now finds it polled again, by its own task.
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

/// Waits until the request has a task of its own.
pub(super) async fn own_task() {
    let mut there = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut there, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
