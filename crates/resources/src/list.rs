//! Lists: selected, in chunks, at one position of the change log.

use crate::failure::Failure;
use crate::kind::Kind;
use crate::request::Options;
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
    let head = objects.backend.log_head(&objects.caller).await?;
    if let Some(asked) = options.number("resourceVersion")?.filter(|asked| *asked > head.0) {
        return Err(Failure::too_large(asked, head.0));
    }
    let limit = options.number("limit")?.unwrap_or(0);
    let limit = usize::try_from(limit).unwrap_or(0);
    let wanted = if limit == 0 { LIST_MAX } else { limit.min(LIST_MAX) };
    let (rv, mut after) = match options.get("continue") {
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
    let token = next.map(|name| URL_SAFE_NO_PAD.encode(json!({ "rv": rv.0, "after": name }).to_string()));
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

/// Where a list goes on. Its position stays that of the first chunk, so that a watch from there misses nothing; once
/// that was pruned the client has to begin again.
async fn resume(objects: &Objects, token: &str, head: LogPosition) -> Result<(LogPosition, String), Failure> {
    let wrong = || Failure::bad_request("continue key is not valid");
    let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| wrong())?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| wrong())?;
    let (rv, after) = value["rv"].as_i64().zip(value["after"].as_str()).ok_or_else(wrong)?;
    let rv = LogPosition(rv);
    if rv != head && objects.backend.changes(&objects.caller, rv, Duration::ZERO).await?.entries.is_none() {
        return Err(Failure::expired());
    }
    Ok((rv, after.to_string()))
}
