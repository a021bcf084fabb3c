//! Live pages: one stream of server-sent events (`/live`) and its listeners. In: messages, each a JSON array of
//! `model::scan::Live`. Out: calls to the listeners of the pages that are open.

use crate::browser;
use crate::stream::EventStream;
use leptos::prelude::*;
use model::Timestamp;
use model::ids::LogPosition;
use model::scan::Live;
use service::json;
use std::sync::Arc;
use std::time::Duration;

/// What a page does with each.
type Listener = Arc<dyn Fn(&Live) + Send + Sync>;

/// The listeners, and how far the change log was read.
#[derive(Clone, Copy)]
pub(crate) struct LiveBus {
    listeners: StoredValue<Vec<(u64, Listener)>>,
    next: StoredValue<u64>,
    rv: StoredValue<Option<LogPosition>>,
    /// Set while the stream is broken.
    pub(crate) lost: RwSignal<bool>,
    /// How often it was opened.
    opened: RwSignal<u32>,
}

/// Where the stream that is open is kept.
type Slot = StoredValue<Option<EventStream>, LocalStorage>;

/// Provides the bus in the context and, in the browser, opens the stream.
pub(crate) fn provide() {
    let bus = LiveBus {
        listeners: StoredValue::new(Vec::new()),
        next: StoredValue::new(0),
        rv: StoredValue::new(None),
        lost: RwSignal::new(false),
        opened: RwSignal::new(0),
    };
    provide_context(bus);
    Effect::new(move |_| {
        let slot = Slot::new_local(None);
        bus.open_when_shown(slot);
        // A browser that is online again may still wait half a minute before it reconnects.
        let online = window_event_listener_untyped("online", move |_| {
            bus.reopen(slot);
        });
        on_cleanup(move || online.remove());
    });
}

/// Calls `listener` for everything that comes, as long as the current owner lives.
pub(crate) fn listen(listener: impl Fn(&Live) + Send + Sync + 'static) {
    let Some(bus) = use_context::<LiveBus>() else { return };
    let id = bus.next.get_value();
    bus.next.set_value(id + 1);
    bus.listeners.update_value(|l| l.push((id, Arc::new(listener))));
    on_cleanup(move || bus.listeners.try_update_value(|l| l.retain(|(i, _)| *i != id)).unwrap_or_default());
}

/// Calls `run` when the stream is there, at first or again. What changed in the log meanwhile follows, and so do scans
/// that run; one that ended meanwhile does not.
pub(crate) fn on_open(run: impl Fn() + 'static) {
    let Some(bus) = use_context::<LiveBus>() else { return };
    Effect::new(move |_| {
        if bus.opened.get() > 0 {
            untrack(&run);
        }
    });
}

impl LiveBus {
    /// The page shows the state at this position of the log.
    pub(crate) fn seen(self, rv: LogPosition) {
        self.rv.update_value(|r| *r = Some(r.map_or(rv, |old| old.max(rv))));
    }

    /// Opens the stream once the page's own effects, which may come with a later part of the program, have said what it
    /// shows: what changed since then follows, and its listeners are there.
    fn open_when_shown(self, slot: Slot) {
        set_timeout(
            move || if browser::is_hydrated() { self.open(slot) } else { self.open_when_shown(slot) },
            Duration::from_millis(50),
        );
    }

    fn open(self, slot: Slot) {
        let url = match self.rv.get_value() {
            Some(rv) => format!("/live?since={}", rv.0),
            None => "/live".to_string(),
        };
        let Some(mut stream) = EventStream::open(&url) else { return };
        stream.on("open", move |_| {
            self.lost.set(false);
            self.opened.update(|n| *n += 1);
        });
        stream.on("message", move |e| {
            let Some(data) = e.data().as_string() else { return };
            for live in json::from_slice::<Vec<Live>>(data.as_bytes()).unwrap_or_default() {
                self.notify(&live);
            }
        });
        stream.on_interruption(move |refused| {
            self.lost.set(true);
            // The browser reconnects by itself after an interruption; a refused stream is opened again here.
            if refused {
                set_timeout(move || self.reopen(slot), Duration::from_secs(3));
            }
        });
        // The one before is closed.
        slot.set_value(Some(stream));
    }

    fn reopen(self, slot: Slot) {
        if self.lost.get_untracked() {
            self.open(slot);
        }
    }

    fn notify(self, live: &Live) {
        match live {
            Live::Changed(entry) => self.seen(entry.rv),
            Live::Reset { rv } => self.seen(*rv),
            Live::Scan(_) => {}
        }
        for (_, listener) in self.listeners.get_value() {
            listener(live);
        }
    }
}

/// Calls `run` once, `wait` after the last of a burst of calls; a burst without end is cut after [`BURST`].
#[derive(Clone, Copy)]
pub(crate) struct Debounce {
    turn: StoredValue<u64>,
    /// When the first call of the burst came.
    began: StoredValue<Option<Timestamp>>,
    wait: Duration,
}

/// How long a burst may postpone a call.
const BURST: Duration = Duration::from_secs(2);

impl Debounce {
    /// A debounce that waits this many milliseconds.
    pub(crate) fn new(ms: u64) -> Self {
        Debounce { turn: StoredValue::new(0), began: StoredValue::new(None), wait: Duration::from_millis(ms) }
    }

    /// Calls `run` unless another call comes before the wait is over, or the page is gone by then.
    pub(crate) fn call(self, run: impl FnOnce() + 'static) {
        let now = browser::now();
        let began = self.began.get_value().unwrap_or(now);
        self.began.set_value(Some(began));
        let left = BURST.saturating_sub(now.duration_since(began).unsigned_abs());
        let turn = self.turn.get_value() + 1;
        self.turn.set_value(turn);
        set_timeout(
            move || {
                if self.turn.try_get_value() == Some(turn) {
                    self.began.set_value(None);
                    run();
                }
            },
            self.wait.min(left),
        );
    }
}

/// The browser's clock, ticking every half minute once the page is alive; `None` while it is as the server rendered
/// it, so that both render the same.
pub(crate) fn ticking() -> RwSignal<Option<Timestamp>> {
    let now = RwSignal::new(None);
    Effect::new(move |_| {
        if let Ok(handle) =
            set_interval_with_handle(move || now.set(Some(browser::now())), Duration::from_secs(30))
        {
            on_cleanup(move || handle.clear());
        }
    });
    now
}
