//! Banners: what failed, what was kept, what to try.

use crate::components::icon;
use leptos::prelude::*;
use service::{ApiError, ErrorKind};

/// How a banner is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Well.
    Ok,
    /// To know.
    Info,
    /// To look at.
    Warn,
    /// Broken.
    Critical,
}

impl From<model::fqdn::Tone> for Tone {
    fn from(judged: model::fqdn::Tone) -> Self {
        match judged {
            model::fqdn::Tone::Ok => Tone::Ok,
            model::fqdn::Tone::Notice => Tone::Info,
            model::fqdn::Tone::Warning => Tone::Warn,
            model::fqdn::Tone::Critical => Tone::Critical,
        }
    }
}

/// Its classes in the style sheet.
pub(crate) fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Ok => "banner banner-ok",
        Tone::Info => "banner banner-info",
        Tone::Warn => "banner banner-warn",
        Tone::Critical => "banner banner-critical",
    }
}

/// Its icon.
pub(crate) fn tone_icon(tone: Tone) -> &'static str {
    match tone {
        Tone::Ok => "ok",
        Tone::Info => "info",
        Tone::Warn => "warning",
        Tone::Critical => "critical",
    }
}

/// A banner with a title and a sentence (which may be empty).
pub(crate) fn banner(tone: Tone, title: impl Into<String>, text: impl Into<String>) -> AnyView {
    let (title, text): (String, String) = (title.into(), text.into());
    let text = (!text.is_empty()).then(|| view! { <p>{text}</p> });
    view! {
        <div class=tone_class(tone) role="status">
            {icon(tone_icon(tone))}
            <div class="flex-1 min-w-0 max-sm:basis-[70%]"><strong>{title}</strong>{text}</div>
        </div>
    }
    .into_any()
}

/// The banner of a page whose main request failed; sets the status code of the response too.
pub(crate) fn page_failure(what: &str, f: &ApiError) -> AnyView {
    set_status(f);
    failure(what, f)
}

/// What a page shows where a part of it could not be read. Retry loads the page once more, where that may help.
pub(crate) fn failure(what: &str, f: &ApiError) -> AnyView {
    // An empty reference is the address of the page (RFC 3986 section 4.4).
    let retry = is_passing(f)
        .then(|| view! { <a class="btn btn-sm end" href="" rel="external">{icon("refresh")}"Retry"</a> });
    failure_with(what, f, retry)
}

/// True when the same request may succeed later.
pub(crate) fn is_passing(f: &ApiError) -> bool {
    matches!(f.kind, ErrorKind::Unavailable | ErrorKind::Internal)
}

/// A failure with what can be done about it at its end.
pub(crate) fn failure_with(what: &str, f: &ApiError, action: impl IntoView + 'static) -> AnyView {
    let said = f.to_string();
    let advice = match f.kind {
        // The detail contains the advice.
        ErrorKind::Unavailable if said.to_lowercase().contains("try again") => "",
        ErrorKind::NotFound
        | ErrorKind::SignInRequired
        | ErrorKind::TooManyRequests
        | ErrorKind::Internal => "",
        ErrorKind::Forbidden => "Ask an administrator of the organisation for access.",
        ErrorKind::Conflict | ErrorKind::Changed => "Reload the page and try again.",
        ErrorKind::Invalid => "Check the name and try again.",
        ErrorKind::Unavailable => "Nothing was lost.",
    };
    let what = what.to_string();
    let text = sentences(&said, advice);
    view! {
        <div class=tone_class(Tone::Critical) role="status">
            {icon(tone_icon(Tone::Critical))}
            <div class="flex-1 min-w-0"><strong>{what}</strong><p>{text}</p></div>
            {action.into_any()}
        </div>
    }
    .into_any()
}

/// Two sentences one after the other; not every reason ends like one.
fn sentences(first: &str, second: &str) -> String {
    let first = first.trim_end();
    if second.is_empty() || first.is_empty() {
        return format!("{first}{second}");
    }
    let stop = if first.ends_with(['.', '!', '?', '…', ':']) { "" } else { "." };
    format!("{first}{stop} {second}")
}

/// Gives the response the status code of a failure; only the first render on the server can.
pub(crate) fn set_status(f: &ApiError) {
    #[cfg(feature = "ssr")]
    if let Some(response) = use_context::<leptos_axum::ResponseOptions>() {
        use axum::http::StatusCode;
        response.set_status(StatusCode::from_u16(f.status()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE));
    }
    #[cfg(not(feature = "ssr"))]
    let _ = f;
}

#[cfg(test)]
mod tests {
    use super::sentences;

    #[test]
    fn a_reason_and_what_to_do_are_two_sentences() {
        assert_eq!(
            sentences("“a..b” has an empty label", "Correct it."),
            "“a..b” has an empty label. Correct it."
        );
        assert_eq!(sentences("It is gone.", "Reload."), "It is gone. Reload.");
        assert_eq!(sentences("It is gone", ""), "It is gone");
    }
}
