//! Verdicts as icon, word and colour.

use crate::components::icon;
use leptos::prelude::*;
use model::compare::VerdictKind;

/// Icon, colour and tint of a verdict; always shown with its word.
pub(super) struct VerdictStyle {
    pub(super) icon: Option<&'static str>,
    pub(super) text: &'static str,
    pub(super) tile: &'static str,
    pub(super) meter: &'static str,
}

/// The style of a verdict.
pub(super) fn style(kind: VerdictKind) -> VerdictStyle {
    let (icon, text, tile, meter) = match kind {
        VerdictKind::Same => (Some("ok"), "verdict text-ok", "res", "bg-ok"),
        VerdictKind::Stale => (Some("clock"), "verdict text-warn", "res warn", "bg-warn"),
        VerdictKind::NegativeCached => (Some("unknown"), "verdict text-warn", "res warn", "bg-warn"),
        VerdictKind::Different => (Some("split"), "verdict text-info", "res", "bg-info"),
        VerdictKind::Filtered => (Some("filter"), "verdict", "res", "bg-faint"),
        VerdictKind::Failing => (Some("critical"), "verdict text-critical", "res critical", "bg-critical"),
        VerdictKind::Pending => (None, "verdict", "res wait", "bg-line-strong"),
    };
    VerdictStyle { icon, text, tile, meter }
}

/// The icon of a verdict; a spinner while it is pending.
pub(super) fn picture(kind: VerdictKind) -> AnyView {
    match style(kind).icon {
        Some(name) => icon(name).into_any(),
        None => view! { <span class="spin" aria-hidden="true"></span> }.into_any(),
    }
}

/// The verdict as icon and word.
pub(super) fn verdict(kind: VerdictKind) -> AnyView {
    view! { <span class=style(kind).text>{picture(kind)}{kind.label()}</span> }.into_any()
}
