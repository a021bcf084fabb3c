//! Server functions of the notification settings. Plain forms post to them and are led back with a message.

#[cfg(feature = "ssr")]
use super::context;
use super::payload::Notifications;
use leptos::prelude::*;
use model::notify::{Rule, RulePreview};
use service::ApiError;
use service::json::Json;
#[cfg(feature = "ssr")]
use service::{ChannelDraft, MaintenanceDraft};

/// The settings, with the rule that the address edits (`rule=ID` or `rule=new`) and its preview.
#[server(name = ReadNotifications, prefix = "/api/fn", endpoint = "notifications", output = Json)]
pub async fn notifications(query: String) -> Result<Notifications, ApiError> {
    let (backend, caller) = context::backend()?;
    let settings = backend.notifications(&caller).await?;
    let editing = match crate::rule_draft::edited(&query, &settings) {
        Some(rule) => {
            let preview = backend.preview_rule(&caller, &rule).await?;
            Some((rule, preview))
        }
        None => None,
    };
    let may_see_feeds = service::policy::authorize(&caller, service::policy::Action::Feeds).is_ok();
    let feeds = if may_see_feeds { Some(backend.feeds(&caller).await?) } else { None };
    let outcome = use_context::<crate::server_fns::FormOutcome>();
    Ok(Notifications { settings, editing, feeds, outcome })
}

/// The rule that the fields of the editor make, encoded as the query of an address, and its preview. Reads nothing else of the
/// settings: the editor asks for it at each change of a field.
#[server(name = PreviewRule, prefix = "/api/fn", endpoint = "preview_rule", output = Json)]
pub async fn preview_rule(query: String) -> Result<(Rule, RulePreview), ApiError> {
    let (backend, caller) = context::backend()?;
    let rule = crate::rule_draft::rule(&crate::query::pairs(&query));
    let preview = backend.preview_rule(&caller, &rule).await?;
    Ok((rule, preview))
}

/// Adds or changes a channel.
#[server(prefix = "/api/fn", endpoint = "save_channel", output = Json)]
#[allow(clippy::too_many_arguments, reason = "they are the fields of a form")]
pub async fn save_channel(
    #[server(default)] id: String,
    name: String,
    kind: String,
    #[server(default)] to: String,
    #[server(default)] url: String,
    #[server(default)] token: String,
    #[server(default)] chat: String,
    #[server(default)] key: String,
    #[server(default)] with_rule: String,
) -> Result<(), ApiError> {
    let (backend, caller) = context::backend()?;
    let with_rule = with_rule == "yes";
    let draft = ChannelDraft { id, name, kind, to, url, token, chat, key, with_rule };
    backend.save_channel(&caller, &draft).await?;
    context::done("saved", 1);
    Ok(())
}

/// Removes a channel.
#[server(prefix = "/api/fn", endpoint = "remove_channel", output = Json)]
pub async fn remove_channel(id: String) -> Result<(), ApiError> {
    let (backend, caller) = context::backend()?;
    backend.remove_channel(&caller, &id).await?;
    context::done("deleted", 1);
    Ok(())
}

/// Sends a test message.
#[server(prefix = "/api/fn", endpoint = "test_channel", output = Json)]
pub async fn test_channel(id: String) -> Result<(), ApiError> {
    let (backend, caller) = context::backend()?;
    backend.test_channel(&caller, &id).await?;
    context::done("tested", 1);
    Ok(())
}

/// Adds or changes a rule; the fields are those of the editor, encoded as the query of an address.
#[server(prefix = "/api/fn", endpoint = "save_rule", output = Json)]
#[allow(clippy::too_many_arguments, reason = "they are the fields of a form")]
pub async fn save_rule(
    #[server(default)] rule: String,
    #[server(default)] name: String,
    #[server(default)] enabled: String,
    #[server(default)] kinds: Vec<String>,
    #[server(default)] at_least: String,
    #[server(default)] ownership: String,
    #[server(default)] tags: String,
    #[server(default)] channels: Vec<String>,
    #[server(default)] delivery: String,
    #[server(default)] hour: String,
    #[server(default)] quiet_from: String,
    #[server(default)] quiet_to: String,
    #[server(default)] critical: Vec<String>,
    #[server(default)] muted_until: String,
    #[server(default)] muted_before: String,
    #[server(default)] repeat_hours: String,
) -> Result<Rule, ApiError> {
    let (backend, caller) = context::backend()?;
    let single = [
        ("rule", rule),
        ("name", name),
        ("enabled", enabled),
        ("at_least", at_least),
        ("ownership", ownership),
        ("tags", tags),
        ("delivery", delivery),
        ("hour", hour),
        ("quiet_from", quiet_from),
        ("quiet_to", quiet_to),
        ("muted_until", muted_until),
        ("muted_before", muted_before),
        ("repeat_hours", repeat_hours),
    ];
    let mut pairs: Vec<(String, String)> = single.into_iter().map(|(k, v)| (k.to_string(), v)).collect();
    pairs.extend(kinds.into_iter().map(|k| ("kinds[]".to_string(), k)));
    pairs.extend(critical.into_iter().map(|word| ("critical[]".to_string(), word)));
    pairs.extend(channels.into_iter().map(|c| ("channels[]".to_string(), c)));
    let rule = crate::rule_draft::rule(&pairs);
    let saved = backend.save_rule(&caller, &rule).await?;
    context::done("saved", 1);
    Ok(saved)
}

/// Removes a rule.
#[server(prefix = "/api/fn", endpoint = "remove_rule", output = Json)]
pub async fn remove_rule(id: String) -> Result<(), ApiError> {
    let (backend, caller) = context::backend()?;
    backend.remove_rule(&caller, &id).await?;
    context::done("deleted", 1);
    Ok(())
}

/// Adds a maintenance window.
#[server(prefix = "/api/fn", endpoint = "save_maintenance", output = Json)]
pub async fn save_maintenance(
    from: String,
    to: String,
    #[server(default)] tag: String,
    #[server(default)] domain: String,
    note: String,
) -> Result<(), ApiError> {
    let (backend, caller) = context::backend()?;
    backend.save_maintenance(&caller, &MaintenanceDraft { from, to, tag, domain, note }).await?;
    context::done("saved", 1);
    Ok(())
}

/// Ends a maintenance window, or removes one that has not begun.
#[server(prefix = "/api/fn", endpoint = "end_maintenance", output = Json)]
pub async fn end_maintenance(id: String) -> Result<(), ApiError> {
    let (backend, caller) = context::backend()?;
    backend.end_maintenance(&caller, &id).await?;
    context::done("maintenance_ended", 1);
    Ok(())
}

/// One failed message by its id and channel; all where the id is absent and the channel is `all`. Half a name is refused: it
/// would mean all.
#[cfg(feature = "ssr")]
fn one_or_all(
    id: i64,
    channel: String,
    all: &str,
) -> Result<Option<(model::ids::EventId, String)>, ApiError> {
    match (id, channel == all) {
        (0, true) => Ok(None),
        (0, false) | (_, true) => Err(ApiError::invalid("Name one message by its id and its channel.")),
        (id, false) if channel.is_empty() || channel == "*" => {
            Err(ApiError::invalid(format!("Message {id} needs the name of its channel.")))
        }
        (id, false) => Ok(Some((model::ids::EventId(id), channel))),
    }
}

/// Sends one failed message again, or all when `channel` is empty.
#[server(prefix = "/api/fn", endpoint = "resend", output = Json)]
pub async fn resend(#[server(default)] id: i64, #[server(default)] channel: String) -> Result<u64, ApiError> {
    let (backend, caller) = context::backend()?;
    let which = one_or_all(id, channel, "")?;
    let n = backend.resend(&caller, which).await?;
    context::done("resent", n);
    Ok(n)
}

/// Drops one failed message, or all with `channel` “*”.
#[server(prefix = "/api/fn", endpoint = "drop_failed", output = Json)]
pub async fn drop_failed(#[server(default)] id: i64, channel: String) -> Result<u64, ApiError> {
    let (backend, caller) = context::backend()?;
    let which = one_or_all(id, channel, "*")?;
    let n = backend.drop_failed(&caller, which).await?;
    context::done("dropped", n);
    Ok(n)
}
