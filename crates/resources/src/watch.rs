//! Watches: what changes after a position of the change log, one JSON object a line.
//!
//! A watch begins with the state in chunks, or with what the change log has after its position, and goes on with the
//! shared tail of its kind and namespace. Selectors, form and authorisation are its own.

use crate::body::Form;
use crate::failure::Failure;
use crate::kind::{Kind, Verb};
use crate::list::CHUNK;
use crate::request::Options;
use crate::selector::Selector;
use crate::store::{Objects, position};
use crate::tail::{Change, EventType, Found, Tail, Tails, WatchLine, line};
use crate::watch_lines::{self, BOOKMARK, Lines, initial_events};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use model::ids::LogPosition;
use model::scan::Op;
use serde_json::Value;
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

/// Objects of the state that wait for the client at most.
const STATE_CHUNK: u32 = 100;
/// Changes taken from the tail at once.
const TAKEN: usize = 64;

/// The source of the next events of a watch.
enum Source {
    /// The state, after this name.
    State(String),
    /// The change log, until the tail reaches back to where the watch is.
    Log,
    /// The shared tail.
    Tail,
}

struct Watch {
    objects: Objects,
    tail: Tail,
    source: Source,
    selector: Selector,
    lines: Lines,
    bookmarks: bool,
    /// Send a bookmark at the end of the state.
    marks_state: bool,
    until: Instant,
    /// Everything up to here was looked at.
    at: LogPosition,
    /// Lines that are ready.
    ready: VecDeque<WatchLine>,
    /// Positions of objects that were sent newer than the entry that led to it.
    ahead: HashMap<String, LogPosition>,
    /// Names that match a selector which objects can stop to match; `None` when it can't happen.
    matching: Option<HashSet<String>>,
    /// Entries up to here may be about objects that matched before the watch began.
    began_at: LogPosition,
    ended: bool,
}

/// Begins a watch.
pub(crate) async fn watch(
    objects: Objects,
    tails: &Tails,
    selector: Selector,
    options: &Options,
    form: Form,
) -> Result<BoxStream<'static, WatchLine>, Failure> {
    // The tail reads for all its watches, so each is authorised by itself.
    for action in [Verb::Get, Verb::Watch].into_iter().filter_map(objects.kind.action) {
        service::policy::authorize(&objects.caller, action)?;
    }
    let head = objects.backend.log_head(&objects.caller).await?;
    let from = options.number("resourceVersion")?.unwrap_or(0);
    if from > head.0 {
        return Err(Failure::too_large(from, head.0));
    }
    let initial = initial_events(options)?;
    let with_state = initial.unwrap_or(from == 0);
    let bookmarks = options.is_set("allowWatchBookmarks");
    let names = (Kind::api_version(), objects.kind.name);
    let mut watch = Watch {
        lines: Lines::new(form, options, names, objects.kind.columns),
        bookmarks,
        marks_state: initial.is_some() && bookmarks,
        until: watch_lines::end(options)?,
        at: if with_state || from == 0 { head } else { LogPosition(from) },
        ready: VecDeque::new(),
        ahead: HashMap::new(),
        matching: selector.follows_changes().then(HashSet::new),
        began_at: head,
        ended: false,
        tail: tails.join(&objects, head),
        source: if with_state { Source::State(String::new()) } else { Source::Log },
        objects,
        selector,
    };
    if !with_state {
        watch.note_matching().await?;
        let changes = watch.objects.backend.changes(&watch.objects.caller, watch.at, Duration::ZERO).await?;
        if changes.entries.is_none() {
            // As API servers do: clients begin again at an event of the stream, and repeat a request that failed.
            watch.fail(&Failure::expired());
        }
    }
    Ok(stream::unfold(watch, |mut w| async move { w.next().await.map(|line| (line, w)) }).boxed())
}

impl Watch {
    async fn next(&mut self) -> Option<WatchLine> {
        let mut quiet_since = Instant::now();
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(line);
            }
            let left = self.until.saturating_duration_since(Instant::now());
            if self.ended || left.is_zero() {
                return None;
            }
            let until_bookmark = BOOKMARK.saturating_sub(quiet_since.elapsed());
            let read = match &self.source {
                Source::State(after) => {
                    let after = after.clone();
                    self.read_state(&after).await
                }
                Source::Log => self.read_log().await,
                Source::Tail => {
                    self.read_tail(if self.bookmarks { left.min(until_bookmark) } else { left }).await
                }
            };
            if let Err(failure) = read {
                self.fail(&failure);
            } else if self.ready.is_empty()
                && self.bookmarks
                // Before the state is complete, a bookmark would let a client go on without the rest of it.
                && !matches!(self.source, Source::State(_))
                && quiet_since.elapsed() >= BOOKMARK
            {
                self.bookmark(false);
                quiet_since = Instant::now();
            }
        }
    }

    /// Ends the stream with an error.
    fn fail(&mut self, failure: &Failure) {
        self.ended = true;
        self.ready.push_back(line("ERROR", &failure.status()));
    }

    /// Objects after a name that match, of the next `limit`; and the name to go on after.
    async fn chunk(&self, after: &str, limit: u32) -> Result<(Vec<Value>, Option<String>), Failure> {
        if let Some(name) = self.selector.name() {
            let found = self.objects.get(name).await?.filter(|o| self.selector.matches(o));
            return Ok((found.into_iter().collect(), None));
        }
        let mut found = self.objects.after(after, limit).await?;
        let last = found.last().filter(|_| found.len() == limit as usize);
        let next = last.and_then(|o| o["metadata"]["name"].as_str()).map(str::to_owned);
        found.retain(|o| self.selector.matches(o));
        Ok((found, next))
    }

    /// Sends one chunk of the state as it is now. What changed since the watch began is in the log, too.
    async fn read_state(&mut self, after: &str) -> Result<(), Failure> {
        let (objects, next) = self.chunk(after, STATE_CHUNK).await?;
        for object in objects {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            if let Some(matching) = &mut self.matching {
                matching.insert(name.to_owned());
            }
            let rv = position(&object);
            if rv > self.at {
                self.ahead.insert(name.to_owned(), rv);
            }
            self.send(EventType::Added, &object);
        }
        self.source = match next {
            Some(next) => Source::State(next),
            None => Source::Log,
        };
        if self.marks_state && matches!(self.source, Source::Log) {
            self.bookmark(true);
        }
        Ok(())
    }

    /// Notes which objects match now, where they can stop to.
    async fn note_matching(&mut self) -> Result<(), Failure> {
        let mut after = self.matching.is_some().then(String::new);
        while let Some(name) = after {
            let (objects, next) = self.chunk(&name, CHUNK).await?;
            let names = objects.iter().filter_map(|o| o["metadata"]["name"].as_str().map(str::to_owned));
            self.matching.as_mut().into_iter().for_each(|m| m.extend(names.clone()));
            after = next;
        }
        Ok(())
    }

    /// Reads the log after the position, for a watch that begins before the tail does.
    async fn read_log(&mut self) -> Result<(), Failure> {
        if self.tail.reaches_back_to(self.at) {
            self.source = Source::Tail;
            return Ok(());
        }
        let changes = self.objects.backend.changes(&self.objects.caller, self.at, Duration::ZERO).await?;
        let entries = changes.entries.ok_or_else(Failure::expired)?;
        for (entry, kept) in entries.iter().filter(|(e, _)| e.kind == self.objects.kind.log_kind) {
            if let Some(change) = Change::read(&self.objects, entry, kept.as_deref()).await? {
                self.take(&change);
            }
        }
        self.at = changes.upto;
        Ok(())
    }

    /// Reads the tail after the position; waits up to `wait` for something.
    async fn read_tail(&mut self, wait: Duration) -> Result<(), Failure> {
        match self.tail.after(self.at, TAKEN) {
            Found::Changes(changes) => {
                for change in changes {
                    self.at = change.rv;
                    self.take(&change);
                }
                Ok(())
            }
            Found::Nothing(read_to) => {
                self.at = read_to;
                // Without an end that is a time to send a bookmark, or the watch is over.
                let _ = tokio::time::timeout(wait, self.tail.changed()).await;
                Ok(())
            }
            // The client reads more slowly than changes come; the log keeps them for longer than the tail.
            Found::Gone => {
                self.source = Source::Log;
                Ok(())
            }
            Found::Ended(failure) => Err(failure),
        }
    }

    fn take(&mut self, change: &Change) {
        let name = change.name.as_str();
        if self.selector.name().is_some_and(|only| only != name) {
            return;
        }
        if let Some(sent) = self.ahead.get(name).copied().filter(|sent| *sent >= change.rv) {
            if sent == change.rv {
                self.ahead.remove(name);
            }
            return;
        }
        if change.op == Op::Delete {
            let gone = &change.object;
            let matched =
                self.matching.as_mut().map_or_else(|| self.selector.matches(gone), |m| m.remove(name));
            if matched {
                self.send_change(EventType::Deleted, change);
            }
            return;
        }
        if change.object_rv() > change.rv {
            self.ahead.insert(name.to_owned(), change.object_rv());
        }
        self.changed(change);
    }

    fn changed(&mut self, change: &Change) {
        let matches = self.selector.matches(&change.object);
        let created = change.op == Op::Create;
        let Some(matching) = &mut self.matching else {
            if matches {
                self.send_change(if created { EventType::Added } else { EventType::Modified }, change);
            }
            return;
        };
        let name = change.name.as_str();
        let (before, early) = (matching.contains(name), change.rv <= self.began_at);
        if matches {
            let new = matching.insert(name.to_owned());
            // What matched when the watch began may be new to a client that lists from an earlier position.
            self.send_change(if new || created { EventType::Added } else { EventType::Modified }, change);
        } else if before || (early && !created) {
            matching.remove(name);
            self.send_change(EventType::Deleted, change);
        }
    }

    fn send_change(&mut self, event: EventType, change: &Change) {
        if self.lines.is_plain() {
            self.ready.push_back(change.line(event));
        } else {
            self.send(event, &change.object);
        }
    }

    fn send(&mut self, event: EventType, object: &Value) {
        self.ready.push_back(self.lines.event(event.as_str(), object));
    }

    /// The position reached; `ends_state`: the state that the watch began with is complete.
    fn bookmark(&mut self, ends_state: bool) {
        self.ready.push_back(self.lines.bookmark(&self.at.0.to_string(), ends_state));
    }
}
