//! The comparison as it fills. In: the first paint's comparison, the events of `/live/compare`. Out: signals for the
//! parts of the page. The stream is closed when the page goes away, the query changes or the result is complete.

use super::form::CompareForm;
use crate::stream::EventStream;
use leptos::prelude::*;
use model::compare::{Comparison, Ended, Judged, Summary, VerdictKind, WatchProgress, summarise};
use serde::de::DeserializeOwned;
use service::json;

/// How far the stream is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// As the server rendered it; nothing is being asked from here.
    Still,
    /// The stream is open.
    Running,
    /// The result is complete.
    Ended(Ended),
    /// The user stopped the watch.
    Halted,
    /// The stream broke, or was refused.
    Lost,
}

/// The comparison and its stream.
#[derive(Clone, Copy)]
pub(super) struct Live {
    pub seen: RwSignal<Comparison>,
    pub state: RwSignal<State>,
    pub watch: RwSignal<Option<WatchProgress>>,
    again: RwSignal<u32>,
}

/// Where the stream that is open is kept.
type Slot = StoredValue<Option<EventStream>, LocalStorage>;

/// What ran last: the question, and which turn of "ask again".
type Ran = (CompareForm, u32);

impl Live {
    /// Shows `first`, and fills it once the page is alive.
    pub fn start(first: Comparison, asked: Memo<CompareForm>) -> Live {
        let free = first.stopped.is_none();
        let live = Live {
            seen: RwSignal::new(first),
            state: RwSignal::new(State::Still),
            watch: RwSignal::new(None),
            again: RwSignal::new(0),
        };
        let about = asked.get_untracked();
        Effect::new(move |before: Option<Ran>| {
            let (a, turn) = (asked.get(), live.again.get());
            let halted = before.is_some_and(|(b, t)| b.watch && !a.watch && !a.force && t == turn);
            if halted {
                // Asking everybody once more is not what “Stop” means.
                live.state.set(State::Halted);
                live.watch.set(None);
            } else if a.is_about(&about) && !a.whole && (free || a.force || a.watch) {
                live.open(&a);
            }
            (a, turn)
        });
        live
    }

    /// Asks everything once more.
    pub fn ask_again(self) {
        self.again.update(|n| *n += 1);
    }

    fn open(self, a: &CompareForm) {
        self.watch.set(None);
        let Some(mut stream) = EventStream::open(&a.stream_url()) else {
            self.state.set(State::Lost);
            return;
        };
        // Disposed of with the effect that called.
        let open = Slot::new_local(None);
        self.state.set(State::Running);
        self.hear(&mut stream, open, "authority", move |c: Comparison| self.seen_authority(c));
        self.hear(&mut stream, open, "answer", move |j: Judged| self.seen_answer(j));
        self.hear(&mut stream, open, "summary", move |s: Summary| {
            self.seen.try_update(|c| c.summary = s);
        });
        self.hear(&mut stream, open, "watch", move |w: WatchProgress| {
            self.watch.try_set(Some(w));
        });
        self.hear(&mut stream, open, "end", move |e: Ended| {
            // Left open, the browser would connect once more and everything would be asked again.
            open.try_set_value(None);
            self.state.try_set(State::Ended(e));
        });
        let watching = a.watch;
        stream.on_interruption(move |refused| {
            // A watch goes on by itself when the browser has connected again.
            if !watching || refused {
                self.lose(open);
            }
        });
        open.set_value(Some(stream));
    }

    /// Closes the stream, which broke.
    fn lose(self, open: Slot) {
        open.try_set_value(None);
        self.state.try_set(State::Lost);
    }

    /// Calls `then` with what an event of the stream carries.
    fn hear<T: DeserializeOwned + 'static>(
        self,
        stream: &mut EventStream,
        open: Slot,
        event: &str,
        then: impl Fn(T) + 'static,
    ) {
        stream.on(event, move |e| {
            let data = e.data().as_string().unwrap_or_default();
            match json::from_slice(data.as_bytes()) {
                Ok(value) => then(value),
                // Server and page are of one build; an event that can't be read ends what can't be trusted.
                Err(_) => self.lose(open),
            }
        });
    }

    /// A round begins: what is known of a resolver stays until its new answer comes.
    fn seen_authority(self, mut new: Comparison) {
        self.seen.try_update(|c| {
            let same = c.authority.name == new.authority.name && c.authority.rtype == new.authority.rtype;
            for j in new.answers.iter_mut().filter(|j| same && j.verdict.kind() == VerdictKind::Pending) {
                if let Some(old) = c.answers.iter().find(|o| o.resolver.id == j.resolver.id) {
                    *j = old.clone();
                }
            }
            new.summary = summarise(&new.authority, new.stopped.as_ref(), &new.answers, new.now);
            *c = new;
        });
    }

    fn seen_answer(self, new: Judged) {
        self.seen.try_update(|c| {
            if let Some(old) = c.answers.iter_mut().find(|j| j.resolver.id == new.resolver.id) {
                *old = new;
            }
            c.summary = summarise(&c.authority, c.stopped.as_ref(), &c.answers, c.now);
        });
    }
}
