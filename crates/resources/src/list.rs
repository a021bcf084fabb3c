//! Lists: selected, in chunks, at one position of the change log.

use crate::failure::Failure;
use crate::kind::Kind;
use crate::request::Options;
use crate::schema::Violation;
use crate::selector::Selector;
use crate::store::{Objects, name_of};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::ids::LogPosition;
use serde_json::{Value, json};
use std::time::Duration;

/// Objects of a chunk at most.
pub(crate) const CHUNK: u32 = 500;
/// Objects of a list that are read at once while it is sent: those, as trees and as text, are all that a list of any
/// length holds in memory, because the next ones are read when the client has taken these.
const SENT_AT_ONCE: u32 = 100;
/// Objects of a list that is needed as a whole.
const WHOLE_MAX: usize = 100_000;

/// A list that is read in order.
pub(crate) struct List {
    pub(crate) objects: Objects,
    selector: Selector,
    rv: LogPosition,
    /// Objects up to this name were read.
    after: String,
    /// The name of the last object that was returned.
    last: String,
    /// Objects to return.
    left: usize,
    at_once: u32,
    is_begun: bool,
    is_ended: bool,
    /// The token with which the client goes on.
    token: Option<String>,
}

impl List {
    /// The list of objects that the options select.
    pub(crate) async fn begin(
        objects: Objects,
        selector: Selector,
        options: &Options,
    ) -> Result<Self, Failure> {
        check_options(options)?;
        let head = head(&objects, options).await?;
        let limit = usize::try_from(options.number("limit")?.unwrap_or(0)).unwrap_or(usize::MAX);
        let (rv, after) = match options.get("continue") {
            "" if options.get("resourceVersionMatch") == "Exact" => (
                unchanged_since(&objects, options.number("resourceVersion")?.unwrap_or(0), head).await?,
                String::new(),
            ),
            "" => (head, String::new()),
            token => resume(&objects, token, head).await?,
        };
        let left = if limit == 0 { usize::MAX } else { limit };
        // A chunk that the client asked for is one answer, made at once.
        let at_once = if left <= CHUNK as usize { CHUNK } else { SENT_AT_ONCE };
        let last = String::new();
        let (is_begun, is_ended, token) = (false, false, None);
        Ok(List { objects, selector, rv, after, last, left, at_once, is_begun, is_ended, token })
    }

    /// The next objects; none only at the end of the list.
    pub(crate) async fn next(&mut self) -> Result<Vec<Value>, Failure> {
        let mut items = Vec::new();
        if let Some(name) = self.selector.name().filter(|_| !self.is_ended) {
            self.is_ended = true;
            items.extend(self.objects.get(name).await?.filter(|o| self.selector.matches(o)));
            return Ok(items);
        }
        while items.is_empty() && !self.is_ended {
            // One more than is returned tells whether there are more. What is read after that is for a selector that few
            // objects match: never one by one.
            let wanted = if self.is_begun { usize::MAX } else { self.left.saturating_add(1) };
            let ask = u32::try_from(wanted).unwrap_or(u32::MAX).min(self.at_once + 1);
            self.is_begun = true;
            let read = self.objects.after(&self.after, ask).await?;
            self.is_ended = read.len() < ask as usize;
            if let Some(last) = read.last() {
                self.after = name_of(last).to_string();
            }
            items.extend(read.into_iter().filter(|o| self.selector.matches(o)));
            let is_surplus = items.len() > self.left;
            items.truncate(self.left);
            self.left -= items.len();
            if let Some(last) = items.last() {
                self.last = name_of(last).to_string();
            }
            if is_surplus {
                self.token = Some(token(self.rv.0, &self.last));
                self.is_ended = true;
            }
        }
        Ok(items)
    }

    /// The objects as a list, without those to come.
    pub(crate) fn of(&self, items: Vec<Value>) -> Value {
        answer(self.objects.kind, items, self.rv, self.token.as_deref())
    }

    /// The list as one value, if it ends within the objects that are read at once; else its first objects.
    pub(crate) async fn short(&mut self) -> Result<Result<Value, Vec<Value>>, Failure> {
        let mut items = self.next().await?;
        while !self.is_ended && items.len() <= self.at_once as usize {
            items.extend(self.next().await?);
        }
        Ok(if self.is_ended { Ok(self.of(items)) } else { Err(items) })
    }
}

/// The list of objects that the options select, as one value; at most [`WHOLE_MAX`].
pub(crate) async fn whole(
    objects: &Objects,
    selector: Selector,
    options: &Options,
) -> Result<Value, Failure> {
    let mut list = List::begin(objects.clone(), selector, options).await?;
    list.left = list.left.min(WHOLE_MAX);
    let mut items = Vec::new();
    while !list.is_ended {
        items.extend(list.next().await?);
    }
    Ok(list.of(items))
}

fn answer(kind: &Kind, items: Vec<Value>, rv: LogPosition, token: Option<&str>) -> Value {
    let mut metadata = json!({ "resourceVersion": rv.0.to_string() });
    if let Some(token) = token {
        metadata["continue"] = token.into();
    }
    let mut list = json!({
        "apiVersion": Kind::api_version(), "kind": format!("{}List", kind.name), "metadata": metadata,
    });
    list["items"] = items.into();
    list
}

/// The end of the change log, which the position that a client names can't be beyond.
async fn head(objects: &Objects, options: &Options) -> Result<LogPosition, Failure> {
    let head = objects.backend.log_head(&objects.caller).await?;
    match options.number("resourceVersion")? {
        Some(asked) if asked > head.0 => Err(Failure::too_large(asked, head.0)),
        _ => Ok(head),
    }
}

/// One object, not older than the position that the client names, if it names one.
pub(crate) async fn one(objects: &Objects, name: &str, options: &Options) -> Result<Value, Failure> {
    if !["", "0"].contains(&options.get("resourceVersion")) {
        head(objects, options).await?;
    }
    objects.get(name).await?.ok_or_else(|| Failure::not_found(objects.kind, name))
}

/// Refuses options that do not go together, by the rules of Kubernetes:
/// <https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions>
fn check_options(options: &Options) -> Result<(), Failure> {
    let (version, how) = (options.get("resourceVersion"), options.get("resourceVersionMatch"));
    let (goes_on, field) = (!options.get("continue").is_empty(), "resourceVersionMatch");
    let mut broken = Vec::new();
    if !how.is_empty() {
        if version.is_empty() {
            broken.push(Violation::forbidden(field, "is forbidden unless resourceVersion is provided"));
        }
        if goes_on {
            broken.push(Violation::forbidden(field, "is forbidden when continue is provided"));
        }
        if !["Exact", "NotOlderThan"].contains(&how) {
            broken.push(Violation::not_supported(field, how, &["Exact", "NotOlderThan"]));
        }
        if how == "Exact" && version == "0" {
            broken.push(Violation::forbidden(field, "Exact is forbidden for resourceVersion 0"));
        }
    }
    if !options.get("sendInitialEvents").is_empty() {
        broken.push(Violation::forbidden("sendInitialEvents", "is forbidden for a list"));
    }
    if !broken.is_empty() {
        return Err(Failure::list_options(&broken));
    }
    if goes_on && !["", "0"].contains(&version) {
        return Err(Failure::bad_request("specifying resource version is not allowed when using continue"));
    }
    Ok(())
}

/// The position that a client asks for exactly, if the objects are still as they were then: earlier states are not kept.
async fn unchanged_since(objects: &Objects, asked: i64, head: LogPosition) -> Result<LogPosition, Failure> {
    let asked = LogPosition(asked);
    if asked == head {
        return Ok(asked);
    }
    let changes = objects.backend.changes(&objects.caller, asked, Duration::ZERO).await?;
    let entries = changes.entries.filter(|_| changes.upto >= head).ok_or_else(Failure::expired)?;
    match entries.iter().any(|(entry, _)| entry.kind == objects.kind.log_kind) {
        true => Err(Failure::expired()),
        false => Ok(asked),
    }
}

/// The token with which a client goes on after this name, at this position.
fn token(rv: i64, after: &str) -> String {
    URL_SAFE_NO_PAD.encode(json!({ "rv": rv, "after": after }).to_string())
}

/// The position of a token that goes on with what is there now.
const NOW: i64 = -1;

/// The position and the name behind which a list goes on. The position stays that of the first chunk, so that a watch from there misses nothing; once
/// that was pruned the client has to begin again.
async fn resume(objects: &Objects, sent: &str, head: LogPosition) -> Result<(LogPosition, String), Failure> {
    let wrong = || Failure::bad_request("continue key is not valid");
    let bytes = URL_SAFE_NO_PAD.decode(sent).map_err(|_| wrong())?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| wrong())?;
    let (rv, after) = value["rv"].as_i64().zip(value["after"].as_str()).ok_or_else(wrong)?;
    if rv == NOW {
        return Ok((head, after.to_string()));
    }
    let rv = LogPosition(rv);
    if rv != head && objects.backend.changes(&objects.caller, rv, Duration::ZERO).await?.entries.is_none() {
        return Err(Failure::expired_list(token(NOW, after)));
    }
    Ok((rv, after.to_string()))
}
