//! Watches: what changes after a position of the change log, one JSON object a line.

use crate::body::{Form, partial};
use crate::failure::Failure;
use crate::list;
use crate::request::Options;
use crate::selector::Selector;
use crate::store::{Objects, position};
use crate::table::{Include, table};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use jiff::Timestamp;
use model::ids::LogPosition;
use model::scan::{LogEntry, Op};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

/// Silence after which a bookmark is sent to those that want them.
const BOOKMARK: Duration = Duration::from_secs(30);
/// A watch ends after so long; the client begins another one where it ended.
const LONGEST: Duration = Duration::from_secs(3600);

struct Watch {
    objects: Objects,
    selector: Selector,
    form: Form,
    include: Include,
    bookmarks: bool,
    until: Instant,
    /// Everything up to here was looked at.
    at: LogPosition,
    /// Lines that are ready.
    ready: VecDeque<Vec<u8>>,
    /// Positions of objects that were sent newer than the entry that led to it.
    ahead: HashMap<String, LogPosition>,
    /// Names that match a selector which objects can stop to match; `None` when it can't happen.
    matching: Option<HashSet<String>>,
    /// Entries up to here may be about objects that matched before the watch began.
    began_at: LogPosition,
    first_columns: bool,
    ended: bool,
}

/// Begins a watch.
pub(crate) async fn watch(
    objects: Objects,
    selector: Selector,
    options: &Options,
    form: Form,
) -> Result<BoxStream<'static, Vec<u8>>, Failure> {
    let head = objects.backend.log_head(&objects.caller).await?;
    let from = options.number("resourceVersion")?.unwrap_or(0);
    if from > head.0 {
        return Err(Failure::too_large(from, head.0));
    }
    let initial = initial_events(options)?;
    let with_state = initial.unwrap_or(from == 0);
    let seconds = options.number("timeoutSeconds")?.and_then(|s| u64::try_from(s).ok()).filter(|s| *s > 0);
    let mut watch = Watch {
        form,
        include: Include::read(options.get("includeObject")),
        bookmarks: options.is_set("allowWatchBookmarks"),
        until: Instant::now() + seconds.map_or(LONGEST, Duration::from_secs).min(LONGEST),
        at: LogPosition(from),
        ready: VecDeque::new(),
        ahead: HashMap::new(),
        matching: selector.follows_changes().then(HashSet::new),
        began_at: head,
        first_columns: true,
        ended: false,
        objects,
        selector,
    };
    if with_state || watch.matching.is_some() {
        let all = list::list(&watch.objects, &watch.selector, &Options::default()).await?;
        let items = all["items"].as_array().cloned().unwrap_or_default();
        if let Some(matching) = &mut watch.matching {
            matching.extend(items.iter().filter_map(|o| o["metadata"]["name"].as_str().map(str::to_owned)));
        }
        if with_state {
            watch.at = position(&all);
            items.iter().for_each(|o| watch.send("ADDED", o));
        }
    }
    if with_state {
        if initial.is_some() && watch.bookmarks {
            watch.bookmark(true);
        }
    } else if from == 0 {
        watch.at = head;
    } else {
        let changes = watch.objects.backend.changes(&watch.objects.caller, watch.at, Duration::ZERO).await?;
        if changes.entries.is_none() {
            // As API servers do: clients begin again at an event of the stream, and repeat a request that failed.
            watch.fail(&Failure::expired());
        }
    }
    Ok(stream::unfold(watch, |mut w| async move { w.next().await.map(|line| (line, w)) }).boxed())
}

/// Whether the watch begins with the state; `None` when the client leaves that to the position it names.
fn initial_events(options: &Options) -> Result<Option<bool>, Failure> {
    let asked = options.get("sendInitialEvents");
    match (asked, options.get("resourceVersionMatch")) {
        ("", "") => Ok(None),
        ("", _) => Err(invalid("resourceVersionMatch", "is forbidden for a watch without sendInitialEvents")),
        (_, "NotOlderThan") => Ok(Some(options.is_set("sendInitialEvents"))),
        _ => Err(invalid("resourceVersionMatch", "must be NotOlderThan with sendInitialEvents")),
    }
}

fn invalid(option: &str, rule: &str) -> Failure {
    Failure::new(422, "Invalid", format!("ListOptions is invalid: {option}: {rule}"))
}

impl Watch {
    async fn next(&mut self) -> Option<Vec<u8>> {
        let mut quiet_since = Instant::now();
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(line);
            }
            let left = self.until.saturating_duration_since(Instant::now());
            if self.ended || left.is_zero() {
                return None;
            }
            let wait =
                left.min(BOOKMARK.saturating_sub(quiet_since.elapsed()).max(Duration::from_millis(10)));
            let changes = self.objects.backend.changes(&self.objects.caller, self.at, wait).await;
            let read = match changes {
                Ok(changes) => match changes.entries {
                    Some(entries) => self.take(entries).await.map(|()| self.at = changes.upto),
                    None => Err(Failure::expired()),
                },
                Err(e) => Err(e.into()),
            };
            if let Err(failure) = read {
                self.fail(&failure);
            } else if self.ready.is_empty() && self.bookmarks && quiet_since.elapsed() >= BOOKMARK {
                self.bookmark(false);
                quiet_since = Instant::now();
            }
        }
    }

    /// Ends the stream with an error.
    fn fail(&mut self, failure: &Failure) {
        self.ended = true;
        self.line("ERROR", &failure.status());
    }

    async fn take(&mut self, entries: Vec<(LogEntry, Option<String>)>) -> Result<(), Failure> {
        for (entry, kept) in entries {
            if entry.kind != self.objects.kind.log_kind {
                continue;
            }
            let name = self.objects.name_of(&entry);
            if self.selector.name().is_some_and(|only| only != name) {
                continue;
            }
            if self.ahead.get(&name).is_some_and(|sent| *sent >= entry.rv) {
                if self.ahead.get(&name) == Some(&entry.rv) {
                    self.ahead.remove(&name);
                }
                continue;
            }
            if entry.op == Op::Delete {
                let gone = self.objects.deleted(&name, entry.rv, kept.as_deref());
                let matched =
                    self.matching.as_mut().map_or_else(|| self.selector.matches(&gone), |m| m.remove(&name));
                if matched {
                    self.send("DELETED", &gone);
                }
                continue;
            }
            // Deleted meanwhile: that entry follows.
            let Some(mut object) = self.objects.get(&name).await? else { continue };
            if self.objects.kind.log_kind == "event" {
                object["metadata"]["resourceVersion"] = entry.rv.0.to_string().into();
            }
            let rv = position(&object);
            if rv > entry.rv {
                self.ahead.insert(name.clone(), rv);
            }
            self.changed(&entry, &name, &object);
        }
        Ok(())
    }

    fn changed(&mut self, entry: &LogEntry, name: &str, object: &Value) {
        let matches = self.selector.matches(object);
        let created = entry.op == Op::Create;
        let Some(matching) = &mut self.matching else {
            if matches {
                self.send(if created { "ADDED" } else { "MODIFIED" }, object);
            }
            return;
        };
        let (before, early) = (matching.contains(name), entry.rv <= self.began_at);
        if matches {
            let new = matching.insert(name.to_string());
            // What matched when the watch began may be new to a client that lists from an earlier position.
            self.send(if new || created { "ADDED" } else { "MODIFIED" }, object);
        } else if before || (early && !created) {
            matching.remove(name);
            self.send("DELETED", object);
        }
    }

    fn send(&mut self, kind: &str, object: &Value) {
        match self.form {
            Form::Table(version) => {
                let mut rows = table(self.objects.kind, object, version, self.include, Timestamp::now());
                // As API servers do: the columns once.
                if !std::mem::take(&mut self.first_columns) {
                    rows["columnDefinitions"] = Value::Null;
                }
                self.line(kind, &rows);
            }
            Form::Partial => self.line(kind, &partial(object)),
            Form::Json | Form::Yaml | Form::Text => self.line(kind, object),
        }
    }

    /// The position reached; `ends_state`: the state that the watch began with is complete.
    fn bookmark(&mut self, ends_state: bool) {
        let kind = self.objects.kind;
        let mut object = json!({
            "apiVersion": crate::kind::Kind::api_version(), "kind": kind.name,
            "metadata": { "resourceVersion": self.at.0.to_string(), "creationTimestamp": null },
        });
        if ends_state {
            object["metadata"]["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        if let Form::Partial | Form::Table(_) = self.form {
            object = partial(&object);
        }
        self.line("BOOKMARK", &object);
    }

    fn line(&mut self, kind: &str, object: &Value) {
        let mut line = json!({ "type": kind, "object": object }).to_string().into_bytes();
        line.push(b'\n');
        self.ready.push_back(line);
    }
}
