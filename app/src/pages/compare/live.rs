//! The comparison as it fills. In: the first paint's comparison, the events of `/live/compare`. Out: signals for the
//! parts of the page. The stream is closed when the page goes away, the query changes or the result is complete.

use super::form::CompareForm;
use leptos::prelude::*;
use leptos::wasm_bindgen::JsCast;
use leptos::wasm_bindgen::closure::Closure;
use model::compare::{Comparison, Ended, Judged, Summary, VerdictKind, WatchProgress, summarise};
use serde::de::DeserializeOwned;
use web_sys::{EventSource, MessageEvent};

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
        let Ok(source) = EventSource::new(&a.stream_url()) else {
            self.state.set(State::Lost);
            return;
        };
        self.state.set(State::Running);
        self.hear(&source, "authority", move |_, c: Comparison| self.seen_authority(c));
        self.hear(&source, "answer", move |_, j: Judged| self.seen_answer(j));
        self.hear(&source, "summary", move |_, s: Summary| {
            self.seen.try_update(|c| c.summary = s);
        });
        self.hear(&source, "watch", move |_, w: WatchProgress| {
            self.watch.try_set(Some(w));
        });
        self.hear(&source, "end", move |source: &EventSource, e: Ended| {
            // Left open, the browser would connect once more and everything would be asked again.
            source.close();
            self.state.try_set(State::Ended(e));
        });
        let (broken, watching) = (source.clone(), a.watch);
        let on_error = Closure::<dyn Fn()>::new(move || {
            // A watch goes on by itself when the browser has connected again.
            if !watching || broken.ready_state() == EventSource::CLOSED {
                broken.close();
                self.state.try_set(State::Lost);
            }
        });
        source.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        on_error.forget();
        let open = StoredValue::new_local(source);
        on_cleanup(move || {
            let _ = open.try_with_value(EventSource::close);
        });
    }

    /// Calls `then` with what an event of the stream carries.
    fn hear<T: DeserializeOwned + 'static>(
        self,
        source: &EventSource,
        event: &str,
        then: impl Fn(&EventSource, T) + 'static,
    ) {
        let from = source.clone();
        let heard = Closure::<dyn Fn(MessageEvent)>::new(move |e: MessageEvent| {
            let data = e.data().as_string().unwrap_or_default();
            match serde_json::from_slice(data.as_bytes()) {
                Ok(value) => then(&from, value),
                // Server and page are of one build; an event that can't be read ends what can't be trusted.
                Err(_) => {
                    from.close();
                    self.state.try_set(State::Lost);
                }
            }
        });
        let _ = source.add_event_listener_with_callback(event, heard.as_ref().unchecked_ref());
        heard.forget();
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
