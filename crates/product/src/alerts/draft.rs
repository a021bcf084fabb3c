//! From a draft of a channel to its target.

use model::notify::{RECIPIENTS_MAX, TARGET_KINDS, Target};
use service::{ApiError, ApiResult, ChannelDraft};

/// A field that a kind of channel needs.
fn needed(value: &str, old: Option<&str>, what: &str) -> ApiResult<String> {
    let value = value.trim();
    let value = if value.is_empty() { old.unwrap_or_default() } else { value };
    if value.is_empty() {
        return Err(ApiError::invalid(format!("Enter {what}.")));
    }
    if value.chars().count() > 2000 || value.chars().any(char::is_control) {
        return Err(ApiError::invalid(format!("{what} is too long, or has control characters.")));
    }
    Ok(value.to_string())
}

/// The target a draft describes; secrets that are left empty are those of `old`.
pub(super) fn target(d: &ChannelDraft, old: Option<&Target>) -> ApiResult<Target> {
    let address = |old: Option<&str>| {
        let url = needed(&d.url, old, "the address")?;
        let secure = url.starts_with("https://") || url.starts_with("http://");
        if secure { Ok(url) } else { Err(ApiError::invalid("An address begins with https://.")) }
    };
    Ok(match d.kind.as_str() {
        "email" => {
            let to: Vec<String> =
                d.to.split([',', ';', '\n'])
                    .map(|a| a.trim().to_string())
                    .filter(|a| !a.is_empty())
                    .collect();
            let to = match (to.is_empty(), old) {
                (true, Some(Target::Email { to })) => to.clone(),
                _ => to,
            };
            if to.is_empty() || to.len() > RECIPIENTS_MAX {
                let words = format!("Enter 1 to {RECIPIENTS_MAX} addresses, separated by commas.");
                return Err(ApiError::invalid(words));
            }
            Target::Email { to }
        }
        "webhook" => match old {
            Some(Target::Webhook { url, secret }) => {
                Target::Webhook { url: address(Some(url))?, secret: secret.clone() }
            }
            _ => Target::Webhook { url: address(None)?, secret: notify::new_secret(rand::random()) },
        },
        "slack" => match old {
            Some(Target::Slack { url }) => Target::Slack { url: address(Some(url))? },
            _ => Target::Slack { url: address(None)? },
        },
        "discord" => match old {
            Some(Target::Discord { url }) => Target::Discord { url: address(Some(url))? },
            _ => Target::Discord { url: address(None)? },
        },
        "teams" => match old {
            Some(Target::Teams { url }) => Target::Teams { url: address(Some(url))? },
            _ => Target::Teams { url: address(None)? },
        },
        "ntfy" => match old {
            Some(Target::Ntfy { url, token }) => Target::Ntfy {
                url: address(Some(url))?,
                token: if d.token.trim().is_empty() { token.clone() } else { d.token.trim().into() },
            },
            _ => Target::Ntfy { url: address(None)?, token: d.token.trim().into() },
        },
        "telegram" => {
            let (token, chat) = match old {
                Some(Target::Telegram { token, chat }) => (Some(token.as_str()), Some(chat.as_str())),
                _ => (None, None),
            };
            Target::Telegram {
                token: needed(&d.token, token, "the token of the bot")?,
                chat: needed(&d.chat, chat, "the chat")?,
            }
        }
        "pagerduty" => {
            let old = if let Some(Target::Pagerduty { key }) = old { Some(key.as_str()) } else { None };
            Target::Pagerduty { key: needed(&d.key, old, "the integration key")? }
        }
        other => {
            let kinds: Vec<_> = TARGET_KINDS.iter().map(|(word, _)| *word).collect();
            let words = format!("“{other}” is no kind of channel; use one of {}.", kinds.join(", "));
            return Err(ApiError::invalid(words));
        }
    })
}
