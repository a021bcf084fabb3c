//! Streams of server-sent events. In: an address. Out: calls for the events that are listened to, until the
//! [`EventStream`] is dropped.

use futures::StreamExt;
use gloo_net::eventsource::futures::EventSource;
use leptos::task::spawn_local;
use std::cell::Cell;
use std::rc::Rc;
use web_sys::MessageEvent;

/// A stream. Dropped, it is closed and calls nothing any more.
pub(crate) struct EventStream {
    source: EventSource,
    alive: Rc<Cell<bool>>,
}

impl EventStream {
    /// Begins to connect; `None` when the address is none.
    pub(crate) fn open(url: &str) -> Option<Self> {
        let source = EventSource::new(url).ok()?;
        Some(Self { source, alive: Rc::new(Cell::new(true)) })
    }

    /// Calls `then` for each event of this kind: `open` when the connection stands, `message` for events without a name.
    pub(crate) fn on(&mut self, event: &str, then: impl FnMut(MessageEvent) + 'static) {
        self.listen(event, Box::new(then));
    }

    /// Boxed, so that the bundle has the task once.
    fn listen(&mut self, event: &str, mut then: Box<dyn FnMut(MessageEvent)>) {
        let Ok(mut events) = self.source.subscribe(event) else { return };
        let alive = self.alive.clone();
        spawn_local(async move {
            while let Some(Ok((_, event))) = events.next().await {
                if !alive.get() {
                    return;
                }
                then(event);
            }
        });
    }

    /// Calls `then(false)` for each interruption, after which the browser connects again by itself, and `then(true)`
    /// when the stream was refused and stays closed.
    pub(crate) fn on_interruption(&mut self, mut then: impl FnMut(bool) + 'static) {
        let Ok(mut errors) = self.source.subscribe("error") else { return };
        let alive = self.alive.clone();
        spawn_local(async move {
            while let Some(error) = errors.next().await {
                if !alive.get() {
                    return;
                }
                then(error.is_err());
                if error.is_err() {
                    return;
                }
            }
        });
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.alive.set(false);
    }
}
