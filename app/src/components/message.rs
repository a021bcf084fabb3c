//! The message a form without JavaScript leads back with (`?done=rescan.3`, or an error), in words of ours: an
//! address can choose among them but not write its own.

use crate::components::banner::{Tone, banner};
use crate::query;
use leptos::prelude::*;
use leptos_router::hooks::use_location;
use service::ApiError;

/// What was done, in words.
pub(crate) fn done_words(what: &str, count: u64) -> Option<String> {
    let domains = if count == 1 { "1 domain".to_string() } else { format!("{count} domains") };
    Some(match what {
        "added" if count == 0 => "Nothing was added".into(),
        "added" => format!("{domains} added; the first scan starts now"),
        "removed" => format!("{domains} removed from the inventory"),
        "rescan" => format!("Rescan of {domains} queued"),
        "tagged" => format!("{domains} tagged"),
        "owned" => format!("{domains} marked as owned"),
        "watched" => format!("{domains} marked as watched"),
        "saved" => "Saved".into(),
        "role" => "Role changed".into(),
        "member_removed" => "Member removed; their sessions here ended".into(),
        "left" => "You left the organisation".into(),
        "uninvited" => "Invitation revoked; its link no longer works".into(),
        "revoked" => "Token revoked; requests with it are refused".into(),
        "agent_revoked" => "Point of presence revoked".into(),
        "feature" => "Requested; progress is shown here".into(),
        "feature_clean" => "Clean-up started; progress is shown here".into(),
        "feed_revoked" => "Feed revoked; its address no longer works".into(),
        "renamed" => "Organisation renamed".into(),
        "password" => "Password changed; your other sessions ended".into(),
        "second_factor_off" => "Two-factor sign-in is off".into(),
        "passkey_added" => "Passkey added; you can now sign in with it".into(),
        "passkey_removed" => "Passkey removed: it no longer signs in".into(),
        "provider_linked" => "Single sign-on linked; you can now sign in with it".into(),
        "provider_unlinked" => "Single sign-on unlinked: it no longer signs in".into(),
        "ended" if count == 1 => "1 session ended".into(),
        "ended" => format!("{count} sessions ended"),
        "claimed" => "Claim saved; its state is in the list".into(),
        "released" => "Claim released".into(),
        "block" => "Block listed".into(),
        "unblock" => "Block removed from the list; its claims stay".into(),
        "deleted" => "Removed".into(),
        "maintenance_ended" => "Maintenance ended; messages are sent again".into(),
        "tested" => "The test has ended; its result is in the channel's row".into(),
        "resent" if count == 0 => "There was nothing to send again".into(),
        "resent" if count == 1 => "1 message is sent again".into(),
        "resent" => format!("{count} messages are sent again"),
        "dropped" if count == 0 => "There was nothing to drop".into(),
        "dropped" if count == 1 => "1 message dropped; it is not sent any more".into(),
        "dropped" => format!("{count} messages dropped; they are not sent any more"),
        "acknowledged" if count == 1 => "1 event acknowledged".into(),
        "acknowledged" => format!("{count} events acknowledged"),
        _ => return None,
    })
}

/// Why an account at the sign-in provider was not linked, in words.
fn link_problem(word: &str) -> Option<&'static str> {
    Some(match word {
        "denied" => "The provider reports that it was cancelled or denied.",
        "state" => "This was started in another session, already used, or took too long. Start again.",
        "taken" => "This account at the provider, or your account here, is already linked to another one.",
        "no-role" => "Your account at the provider has no role here. Ask an administrator for access.",
        "off" => "Single sign-on is not set up on this server.",
        "provider" => "The provider can't be reached. Try again in a moment.",
        "rejected" => {
            "The provider's answer could not be verified. Start again; if it happens again, tell an administrator."
        }
        "throttled" => "Too many failed attempts from your network. Try again in a few minutes.",
        "unavailable" => "The database did not respond. Try again in a moment.",
        _ => return None,
    })
}

/// The message of the current address, if it carries one.
#[component]
pub(crate) fn Message() -> impl IntoView {
    let search = use_location().search;
    move || {
        let s = search.get();
        if let Some(err) = query::value(&s, "__err") {
            let f: ApiError = server_fn::error::ServerFnUrlError::<ApiError>::decode_err(&err);
            // The sentence came by the address: shown as the server's answer to the form, nothing more.
            return Some(banner(Tone::Critical, "Request failed", f.to_string()));
        }
        if let Some(words) = query::value(&s, "link_problem").and_then(|word| link_problem(&word)) {
            return Some(
                view! { <div role="alert">{banner(Tone::Critical, "Nothing was linked", words)}</div> }
                    .into_any(),
            );
        }
        let done = query::value(&s, "done")?;
        let (what, count) = done.split_once('.')?;
        let words = done_words(what, count.parse().ok()?)?;
        Some(banner(Tone::Ok, words, ""))
    }
}
