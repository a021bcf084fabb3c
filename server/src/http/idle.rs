//! Whether anything is under way on a connection: one that is only kept open is closed after a while. In: requests as
//! they begin and end. Out: the moment when none has been there for long.

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// Requests begun and requests ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Activity(Arc<(AtomicU64, AtomicU64)>);

/// A request that is under way while this lives.
#[derive(Debug)]
pub(super) struct Busy(Activity);

impl Activity {
    /// A request begins.
    pub(super) fn begin(&self) -> Busy {
        self.0.0.fetch_add(1, Ordering::Relaxed);
        Busy(self.clone())
    }

    /// Waits until the connection is of no use: no request came at first, or later nothing was under way for so long (or
    /// for up to twice that).
    pub(super) async fn unused(&self, at_first: Duration, later: Duration) {
        let now = || (self.0.0.load(Ordering::Relaxed), self.0.1.load(Ordering::Relaxed));
        let never_used = async {
            tokio::time::sleep(at_first).await;
            if now().0 > 0 {
                std::future::pending::<()>().await;
            }
        };
        let not_used_any_more = async {
            let mut before = (0, 0);
            loop {
                tokio::time::sleep(later).await;
                let (begun, ended) = now();
                if begun > 0 && begun == ended && before == (begun, ended) {
                    return;
                }
                before = (begun, ended);
            }
        };
        tokio::select! { () = never_used => {} () = not_used_any_more => {} }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.0.1.fetch_add(1, Ordering::Relaxed);
    }
}

impl Busy {
    /// A body that is part of the request.
    pub(super) fn until_read(self, body: Body) -> Watched {
        Watched { body, _busy: self }
    }
}

/// The body of an answer, whose request is under way until it is sent.
#[derive(Debug)]
pub(super) struct Watched {
    body: Body,
    _busy: Busy,
}

impl HttpBody for Watched {
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
