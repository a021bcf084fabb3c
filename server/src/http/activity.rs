//! Tracks the requests of a connection, so that a connection without any is closed after a while.

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// Counts the requests of a connection: started, then finished.
#[derive(Debug, Clone, Default)]
pub(super) struct Activity(Arc<(AtomicU64, AtomicU64)>);

/// A request in progress; dropping it marks the request as finished.
#[derive(Debug)]
pub(super) struct ActiveRequest(Activity);

impl Activity {
    /// Counts a request as started.
    pub(super) fn begin(&self) -> ActiveRequest {
        self.0.0.fetch_add(1, Ordering::Relaxed);
        ActiveRequest(self.clone())
    }

    /// Completes when the connection should be closed: no request came within `first`, or none has been in progress for
    /// `idle` (up to twice as long, because it is checked at that interval).
    pub(super) async fn idle(&self, first: Duration, idle: Duration) {
        let counts = || (self.0.0.load(Ordering::Relaxed), self.0.1.load(Ordering::Relaxed));
        let never_used = async {
            tokio::time::sleep(first).await;
            if counts().0 > 0 {
                std::future::pending::<()>().await;
            }
        };
        let no_longer_used = async {
            let mut before = (0, 0);
            loop {
                tokio::time::sleep(idle).await;
                let (started, finished) = counts();
                if started > 0 && started == finished && before == (started, finished) {
                    return;
                }
                before = (started, finished);
            }
        };
        tokio::select! { () = never_used => {} () = no_longer_used => {} }
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.0.1.fetch_add(1, Ordering::Relaxed);
    }
}

impl ActiveRequest {
    /// Keeps the request in progress until `body` is dropped: event streams continue after their headers.
    pub(super) fn until_sent(self, body: Body) -> TrackedBody {
        TrackedBody { body, _request: self }
    }
}

/// A response body whose request counts as in progress.
#[derive(Debug)]
pub(super) struct TrackedBody {
    body: Body,
    _request: ActiveRequest,
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
