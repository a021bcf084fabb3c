//! Lists: selected, in chunks, at one position of the change log.

use crate::failure::Failure;
use crate::kind::Kind;
use crate::request::Options;
use crate::schema::Violation;
use crate::selector::Selector;
use crate::store::Objects;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::ids::LogPosition;
use serde_json::{Value, json};
use std::time::Duration;

/// Objects of a chunk at most, and of a list without a limit that are read at once.
pub(crate) const CHUNK: u32 = 500;
/// Objects of one answer at most: beyond, the client gets a token to continue with.
const LIST_MAX: usize = 100_000;

/// The list of objects that the options select.
pub(crate) async fn list(
    objects: &Objects,
    selector: &Selector,
    options: &Options,
) -> Result<Value, Failure> {
    check_options(options)?;
    let head = head(objects, options).await?;
    let limit = options.number("limit")?.unwrap_or(0);
    let limit = usize::try_from(limit).unwrap_or(0);
    let wanted = if limit == 0 { LIST_MAX } else { limit.min(LIST_MAX) };
    let (rv, mut after) = match options.get("continue") {
        "" if options.get("resourceVersionMatch") == "Exact" => (
            unchanged_since(objects, options.number("resourceVersion")?.unwrap_or(0), head).await?,
            String::new(),
        ),
        "" => (head, String::new()),
        token => resume(objects, token, head).await?,
    };
    if let Some(name) = selector.name() {
        let found = objects.get(name).await?.filter(|o| selector.matches(o));
        return Ok(answer(objects.kind, found.into_iter().collect(), rv, None));
    }
    let mut items = Vec::new();
    let mut more = true;
    while more && items.len() <= wanted {
        let ask = u32::try_from(wanted + 1 - items.len()).unwrap_or(CHUNK).min(CHUNK + 1);
        let read = objects.after(&after, ask).await?;
        more = read.len() == ask as usize;
        if let Some(last) = read.last() {
            after = last["metadata"]["name"].as_str().unwrap_or_default().to_string();
        }
        items.extend(read.into_iter().filter(|o| selector.matches(o)));
    }
    let surplus = items.len() > wanted;
    items.truncate(wanted);
    let next = items.last().filter(|_| surplus).and_then(|o| o["metadata"]["name"].as_str());
    let token = next.map(|name| token(rv.0, name));
    Ok(answer(objects.kind, items, rv, token))
}

fn answer(kind: &Kind, items: Vec<Value>, rv: LogPosition, token: Option<String>) -> Value {
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

/// What a client goes on with: after this name, at this position.
fn token(rv: i64, after: &str) -> String {
    URL_SAFE_NO_PAD.encode(json!({ "rv": rv, "after": after }).to_string())
}

/// The position of a token that goes on with what is there now.
const NOW: i64 = -1;

/// Where a list goes on. Its position stays that of the first chunk, so that a watch from there misses nothing; once
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
