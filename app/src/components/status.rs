//! Status pills: always an icon and a word; the reasons in words on hover and for screen readers.

use crate::components::icon;
use leptos::prelude::*;
use model::dns::ServerHealth;
use model::event::Severity;
use model::ownership::Standing;
use model::status::{Status, StatusKind};

pub(crate) fn status_class(kind: StatusKind) -> &'static str {
    match kind {
        StatusKind::Critical => "pill pill-critical",
        StatusKind::Unknown => "pill pill-unknown",
        StatusKind::Warning => "pill pill-warning",
        StatusKind::Unlocked => "pill pill-unlocked",
        StatusKind::Secure => "pill pill-secure",
        StatusKind::Normal => "pill pill-normal",
    }
}

/// The icon of a status.
pub(crate) fn status_icon(kind: StatusKind) -> &'static str {
    match kind {
        StatusKind::Critical => "critical",
        StatusKind::Unknown => "unknown",
        StatusKind::Warning => "warning",
        StatusKind::Unlocked => "unlock",
        StatusKind::Secure => "shield",
        StatusKind::Normal => "ok",
    }
}

/// The icon's colour where it is shown without a pill.
pub(crate) fn status_icon_class(kind: StatusKind) -> &'static str {
    match kind {
        StatusKind::Critical => "i text-critical",
        StatusKind::Unknown => "i text-muted",
        StatusKind::Warning => "i text-warn",
        StatusKind::Unlocked => "i text-info",
        StatusKind::Secure | StatusKind::Normal => "i text-ok",
    }
}

/// The word, its explanation of registry lock set lighter.
fn word(kind: StatusKind) -> AnyView {
    match kind.label().split_once(" · ") {
        Some((main, sub)) => {
            let sub = format!("· {sub}");
            view! { <span>{main.to_string()}" "<span class="sub">{sub}</span></span> }.into_any()
        }
        None => view! { <span>{kind.label()}</span> }.into_any(),
    }
}

/// The pill of a judged status.
pub(crate) fn status_pill(status: &Status) -> AnyView {
    let why = status.why();
    let spoken = (!why.is_empty()).then(|| view! { <span class="sr-only">{format!(": {why}")}</span> });
    view! {
        <span class=status_class(status.kind) title=why>{icon(status_icon(status.kind))}{word(status.kind)}{spoken}</span>
    }
    .into_any()
}

/// How a nameserver behaves.
pub(crate) fn health_pill(health: ServerHealth) -> AnyView {
    let (class, picture) = match health {
        ServerHealth::Authoritative => ("pill pill-normal", "ok"),
        ServerHealth::Slow => ("pill pill-warning", "slow"),
        ServerHealth::Lame => ("pill pill-critical", "unlink"),
        ServerHealth::Dead | ServerHealth::Unresolvable => ("pill pill-critical", "critical"),
        ServerHealth::NotAsked => ("pill pill-plain", "unknown"),
    };
    view! { <span class=class>{icon(picture)}<span>{health.label()}</span></span> }.into_any()
}

/// The picture of an ownership claim and its pill.
fn claim_look(standing: Standing) -> (&'static str, &'static str) {
    match standing {
        Standing::Verified => ("pill pill-secure", "shield"),
        Standing::Pending => ("pill pill-unknown", "clock"),
        Standing::Waiting => ("pill pill-unlocked", "clock"),
        Standing::Lapsing | Standing::Contested => ("pill pill-warning", "warning"),
        Standing::Lapsed => ("pill pill-critical", "critical"),
        Standing::Expired | Standing::Refused => ("pill pill-plain", "info"),
    }
}

/// Where an ownership claim stands.
pub(crate) fn claim_pill(standing: Standing) -> AnyView {
    let (class, picture) = claim_look(standing);
    view! { <span class=class>{icon(picture)}<span>{standing.label()}</span></span> }.into_any()
}

/// The same as a tag beside a domain's name.
pub(crate) fn claim_tag(standing: Standing) -> AnyView {
    let (_, picture) = claim_look(standing);
    let title = format!("Ownership: {}", standing.label());
    let words = if standing == Standing::Pending { "Claim pending" } else { standing.label() };
    view! { <span class="tag" title=title>{icon(picture)}{words}</span> }.into_any()
}

/// A nameserver that answers with authority from an older copy of the zone.
pub(crate) fn older_pill() -> AnyView {
    view! { <span class="pill pill-warning">{icon("clock")}<span>"Older data"</span></span> }.into_any()
}

/// How much an event asks for attention.
pub(crate) fn severity_pill(severity: Severity) -> AnyView {
    let (class, picture) = match severity {
        Severity::Info => ("pill pill-plain", "info"),
        Severity::Notice => ("pill pill-unlocked", "info"),
        Severity::Warning => ("pill pill-warning", "warning"),
        Severity::Critical => ("pill pill-critical", "critical"),
    };
    view! { <span class=class>{icon(picture)}<span>{severity.label()}</span></span> }.into_any()
}

/// The picture of a severity and its classes, for a line that has no room for the pill.
pub(crate) fn severity_icon(severity: Severity) -> (&'static str, &'static str) {
    match severity {
        Severity::Info | Severity::Notice => ("info", "i text-info"),
        Severity::Warning => ("warning", "i text-warn"),
        Severity::Critical => ("critical", "i text-critical"),
    }
}

/// The letter mark of a provider, and its name.
pub(crate) fn provider(p: &model::dns::Provider) -> AnyView {
    use model::dns::ProviderKind;
    let mark = match p.kind {
        ProviderKind::SelfHosted => crate::components::icon::icon("server").into_any(),
        ProviderKind::Mixed => crate::components::icon::icon("split").into_any(),
        ProviderKind::Known | ProviderKind::OperatorDomain => {
            let letter = p.name.chars().find(|c| c.is_alphanumeric()).unwrap_or('?');
            letter.to_uppercase().to_string().into_any()
        }
    };
    view! {
        <span class="inline-flex items-center gap-2 max-w-full min-w-0"><span class="mark" aria-hidden="true">{mark}</span><span class="min-w-0 truncate">{p.name.clone()}</span></span>
    }
    .into_any()
}
