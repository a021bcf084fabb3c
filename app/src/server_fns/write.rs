//! Server functions that change something. Forms without JavaScript post to them and are led back with a message;
//! the browser part calls them and shows the answer.

#[cfg(feature = "ssr")]
use super::context;
use leptos::prelude::*;
use model::inventory::{AddPreview, AddedLine};
use model::item::Item;
use service::ApiError;
use service::json::Json;

/// Adds the names of a pasted text.
#[server(prefix = "/api/fn", endpoint = "add", output = Json)]
pub async fn add(
    text: String,
    #[server(default)] ownership: String,
    #[server(default)] tags: String,
) -> Result<Vec<AddedLine>, ApiError> {
    use model::inventory::AddResult;
    let (backend, caller) = context::backend()?;
    let ownership = ownership_or_owned(&ownership)?;
    let lines = backend.add(&caller, &text, ownership, &split_tags(&tags)?).await?;
    let added = lines.iter().filter(|l| matches!(l.result, AddResult::Added { .. })).count();
    let refused = lines.iter().filter(|l| matches!(l.result, AddResult::Refused { .. }));
    let mut back = vec![("done", format!("added.{added}"))];
    // An address has to stay short enough for every proxy: only the first refusals are explained.
    back.extend(refused.take(12).map(|l| {
        let input: String = l.input.chars().take(80).collect();
        ("refused", format!("{}:{input}", l.line))
    }));
    context::go_back(&back);
    Ok(lines)
}

/// What [`add`] would do with a text.
#[server(prefix = "/api/fn", endpoint = "preview_add", output = Json)]
pub async fn preview_add(
    text: String,
    #[server(default)] ownership: String,
    #[server(default)] tags: String,
) -> Result<AddPreview, ApiError> {
    let (backend, caller) = context::backend()?;
    backend.preview_add(&caller, &text, ownership_or_owned(&ownership)?, &split_tags(&tags)?).await
}

/// Removes domains from the inventory; returns them with tags and notes, for [`restore`].
#[server(prefix = "/api/fn", endpoint = "remove", output = Json)]
pub async fn remove(#[server(default)] names: Vec<String>) -> Result<Vec<Item>, ApiError> {
    let (backend, caller) = context::backend()?;
    let removed = backend.remove(&caller, &context::names(&names)?).await?;
    context::done("removed", removed.len() as u64);
    Ok(removed)
}

/// Puts back what [`remove`] took.
#[server(prefix = "/api/fn", endpoint = "restore", output = Json, input = Json)]
pub async fn restore(items: Vec<Item>) -> Result<u64, ApiError> {
    let (backend, caller) = context::backend()?;
    backend.restore(&caller, &items).await
}

/// Queues scans that go before scheduled ones.
#[server(prefix = "/api/fn", endpoint = "rescan", output = Json)]
pub async fn rescan(#[server(default)] names: Vec<String>) -> Result<u64, ApiError> {
    let (backend, caller) = context::backend()?;
    let n = backend.rescan(&caller, &context::names(&names)?).await?;
    context::done("rescan", n);
    Ok(n)
}

/// Queues scans of everything a list matches.
#[server(prefix = "/api/fn", endpoint = "rescan_matching", output = Json)]
pub async fn rescan_matching(#[server(default)] query: String) -> Result<u64, ApiError> {
    let (backend, caller) = context::backend()?;
    let n = backend.rescan_matching(&caller, &crate::query::list_query(&query)).await?;
    context::done("rescan", n);
    Ok(n)
}

/// Adds a tag to many, or takes it from them (`add` = `no`). Answers the names it changed.
#[server(prefix = "/api/fn", endpoint = "tag", output = Json)]
pub async fn tag(
    #[server(default)] names: Vec<String>,
    #[server(default)] tag: String,
    #[server(default)] add: String,
) -> Result<Vec<String>, ApiError> {
    let (backend, caller) = context::backend()?;
    let tag = model::item::normal_tag(&tag).ok_or_else(bad_tag)?;
    let changed = backend.tag(&caller, &context::names(&names)?, &tag, add != "no").await?;
    context::done("tagged", changed.len() as u64);
    Ok(changed.iter().map(|n| n.as_str().to_string()).collect())
}

/// Marks domains as owned or watched.
#[server(prefix = "/api/fn", endpoint = "ownership", output = Json)]
pub async fn ownership(#[server(default)] names: Vec<String>, ownership: String) -> Result<u64, ApiError> {
    use model::item::ItemPatch;
    let (backend, caller) = context::backend()?;
    let ownership = read_ownership(&ownership)?;
    let patch = ItemPatch { ownership: Some(ownership), ..ItemPatch::default() };
    let mut n = 0;
    for name in context::names(&names)? {
        backend.patch(&caller, &name, &patch).await?;
        n += 1;
    }
    context::done(ownership.as_str(), n);
    Ok(n)
}

/// Replaces the tags of one domain (separated by commas).
#[server(prefix = "/api/fn", endpoint = "set_tags", output = Json)]
pub async fn set_tags(name: String, #[server(default)] tags: String) -> Result<(), ApiError> {
    use model::item::ItemPatch;
    let (backend, caller) = context::backend()?;
    let patch = ItemPatch { tags: Some(split_tags(&tags)?), ..ItemPatch::default() };
    backend.patch(&caller, &context::name(&name)?, &patch).await?;
    context::done("saved", 1);
    Ok(())
}

/// Replaces the note of one domain.
#[server(prefix = "/api/fn", endpoint = "set_note", output = Json)]
pub async fn set_note(name: String, #[server(default)] note: String) -> Result<(), ApiError> {
    use model::item::ItemPatch;
    let (backend, caller) = context::backend()?;
    let patch = ItemPatch { note: Some(note.trim().replace('\r', "")), ..ItemPatch::default() };
    backend.patch(&caller, &context::name(&name)?, &patch).await?;
    context::done("saved", 1);
    Ok(())
}

/// Sets manual expiration and auto-renew; an empty date clears it, `auto_renew` is `yes`, `no` or empty.
#[server(prefix = "/api/fn", endpoint = "set_renewal", output = Json)]
pub async fn set_renewal(
    name: String,
    #[server(default)] expires: String,
    #[server(default)] auto_renew: String,
) -> Result<(), ApiError> {
    use model::item::ItemPatch;
    let (backend, caller) = context::backend()?;
    let expires = expires.trim();
    let date = if expires.is_empty() {
        None
    } else {
        let refuse = || ApiError::invalid(format!("“{expires}” is not a date; write it as 2027-03-01."));
        Some(expires.parse().map_err(|_| refuse())?)
    };
    let auto = match auto_renew.as_str() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    };
    let patch = ItemPatch { manual_expires: Some(date), auto_renew: Some(auto), ..ItemPatch::default() };
    backend.patch(&caller, &context::name(&name)?, &patch).await?;
    context::done("saved", 1);
    Ok(())
}

/// Starts an ownership claim, or changes the method of an open one (`txt`, `txt_apex`, `cname`, `http`).
#[server(prefix = "/api/fn", endpoint = "start_claim", output = Json)]
pub async fn start_claim(name: String, #[server(default)] method: String) -> Result<(), ApiError> {
    use model::ownership::Method;
    let (backend, caller) = context::backend()?;
    let word = if method.is_empty() { "txt" } else { &method };
    let method = Method::from_word(word).ok_or_else(|| {
        ApiError::invalid(format!("“{word}” is not a method: use txt, txt_apex, cname or http."))
    })?;
    backend.start_claim(&caller, &name, method).await?;
    context::go_back(&[]);
    Ok(())
}

/// Asks the authoritative servers for the record of an ownership claim now.
#[server(prefix = "/api/fn", endpoint = "check_claim", output = Json)]
pub async fn check_claim(name: String) -> Result<(), ApiError> {
    let (backend, caller) = context::backend()?;
    backend.check_claim(&caller, &name).await?;
    context::go_back(&[]);
    Ok(())
}

/// Withdraws an ownership claim.
#[server(prefix = "/api/fn", endpoint = "withdraw_claim", output = Json)]
pub async fn withdraw_claim(name: String) -> Result<(), ApiError> {
    let (backend, caller) = context::backend()?;
    backend.withdraw_claim(&caller, &name).await?;
    context::go_back(&[]);
    Ok(())
}

/// Sets the interval of a domain's checks in seconds, and the days of its reminders; empty ones follow the organisation.
#[server(prefix = "/api/fn", endpoint = "set_checks", output = Json)]
pub async fn set_checks(
    name: String,
    #[server(default)] interval: String,
    #[server(default)] expiry_days: String,
) -> Result<(), ApiError> {
    use model::item::ItemPatch;
    let (backend, caller) = context::backend()?;
    let checks = crate::check_draft::read_checks(&interval, &expiry_days)?;
    let patch = ItemPatch {
        scan_interval: Some(checks.interval_s),
        expiry_days: Some(checks.expiry_days),
        ..ItemPatch::default()
    };
    backend.patch(&caller, &context::name(&name)?, &patch).await?;
    context::done("saved", 1);
    Ok(())
}

/// Sends no message about a domain for so many days, or until the end of a day (`2027-03-01`, UTC); 0 days send them again.
#[server(prefix = "/api/fn", endpoint = "mute", output = Json)]
pub async fn mute(
    name: String,
    #[server(default)] days: String,
    #[server(default)] until: String,
) -> Result<(), ApiError> {
    use model::item::ItemPatch;
    let (backend, caller) = context::backend()?;
    let until = crate::mute_draft::read_mute(&days, &until, context::now())?;
    let patch = ItemPatch { muted_until: Some(until), ..ItemPatch::default() };
    backend.patch(&caller, &context::name(&name)?, &patch).await?;
    context::done("saved", 1);
    Ok(())
}

/// Marks events as seen.
#[server(prefix = "/api/fn", endpoint = "acknowledge", output = Json)]
pub async fn acknowledge(#[server(default)] ids: Vec<i64>) -> Result<u64, ApiError> {
    let (backend, caller) = context::backend()?;
    let ids: Vec<_> = ids.into_iter().map(model::ids::EventId).collect();
    let n = backend.acknowledge(&caller, &ids).await?;
    context::done("acknowledged", n);
    Ok(n)
}

/// Acknowledges all events that a query of the page matches, none newer than the newest one it counted.
#[server(prefix = "/api/fn", endpoint = "acknowledge_matching", output = Json)]
pub async fn acknowledge_matching(
    #[server(default)] query: String,
    #[server(default)] domain: String,
    up_to: i64,
) -> Result<u64, ApiError> {
    let (backend, caller) = context::backend()?;
    // What is not understood would acknowledge more than was meant.
    let pairs = crate::query::pairs(&query);
    let read =
        model::event::EventQuery::from_pairs_exactly(pairs.iter().map(|(k, v)| (k.as_str(), v.as_str())));
    let mut q = read.map_err(ApiError::invalid)?;
    if !domain.is_empty() {
        q.domain = Some(context::name(&domain)?);
    }
    let n = backend.acknowledge_matching(&caller, &q, Some(model::ids::EventId(up_to))).await?;
    context::done("acknowledged", n);
    Ok(n)
}

/// The choice of a form; owned where it has none.
#[cfg(feature = "ssr")]
fn ownership_or_owned(word: &str) -> Result<model::item::Ownership, ApiError> {
    if word.is_empty() { Ok(model::item::Ownership::default()) } else { read_ownership(word) }
}

#[cfg(feature = "ssr")]
fn read_ownership(word: &str) -> Result<model::item::Ownership, ApiError> {
    use model::item::Ownership;
    let refused = || ApiError::invalid(format!("“{word}” is not an ownership: use owned or watched."));
    Ownership::from_word(word).ok_or_else(refused)
}

#[cfg(feature = "ssr")]
fn split_tags(text: &str) -> Result<Vec<String>, ApiError> {
    let mut tags = Vec::new();
    for part in text.split(',').filter(|t| !t.trim().is_empty()) {
        tags.push(model::item::normal_tag(part).ok_or_else(bad_tag)?);
    }
    tags.sort();
    tags.dedup();
    Ok(tags)
}

#[cfg(feature = "ssr")]
fn bad_tag() -> ApiError {
    ApiError::invalid(format!("A tag has 1 to {} characters and no comma.", model::item::TAG_MAX))
}
