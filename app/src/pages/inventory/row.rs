//! A row: the columns of the specification, its tint and badge, its scan as it runs.

use super::state::InventoryState;
use crate::components::icon;
use crate::components::scan::busy_pill;
use crate::components::status::{claim_tag, provider, status_pill};
use crate::components::time::day;
use leptos::prelude::*;
use model::Timestamp;
use model::inventory::Row;
use model::item::Ownership;
use model::row::Urgency;
use model::time::human_date;

fn note_class(urgency: Urgency) -> &'static str {
    match urgency {
        Urgency::Low => "text-muted",
        Urgency::Soon => "text-warn",
        Urgency::Immediate => "text-critical",
    }
}

/// The row of a domain.
pub(crate) fn row(inv: InventoryState, r: &Row, now: Timestamp) -> AnyView {
    let name = r.name.as_str().to_string();
    let url = format!("/domains/{name}");
    let changed = r.changed_recently(now);
    let key = StoredValue::new(name.clone());
    let selected = move || key.with_value(|k| inv.selected.with(|s| s.contains(k)));
    let toggle = move |e: leptos::ev::MouseEvent| key.with_value(|k| inv.toggle(k, e.shift_key()));
    let judged = r.status.clone();
    let status = move || {
        let running = key.with_value(|k| inv.scans.with(|s| s.get(k).filter(|p| !p.finished()).cloned()));
        running.map_or_else(|| status_pill(&judged), |p| busy_pill(&p))
    };
    let registrar = r
        .registrar
        .clone()
        .map_or_else(unknown, |n| view! { <span class="block min-w-0 truncate">{n}</span> }.into_any());
    let dns = r.provider.as_ref().map_or_else(unknown, provider);
    view! {
        <tr
            class=row_class(changed) class:selected=selected role="row" data-name=name.clone()
            aria-selected=move || selected().then_some("true")
        >
            <td class="c-check" role="cell">
                <input
                    class="check" type="checkbox" name="names[]" value=name.clone() form="bulk"
                    aria-label=format!("Select {}", r.unicode) prop:checked=selected on:click=toggle
                />
            </td>
            <th class="c-name" scope="row" role="rowheader">
                <span class="name"><a class="min-w-0 truncate" href=url.clone() title=title(r)>{r.unicode.clone()}</a>{badges(r, now)}</span>
            </th>
            <td class="c-exp num" role="cell">{expiration(r, now)}</td>
            <td class="c-reg" role="cell">{registrar}</td>
            <td class="c-prov" role="cell">{dns}</td>
            <td class="c-status" role="cell">{status}</td>
            <td class=certificate_class(r, now) role="cell">{certificate(r, now)}</td>
            <td class="c-change num" role="cell">{change(r)}</td>
            <td class="c-act num" role="cell">
                <a class="act" href=url aria-label=format!("Details of {}", r.unicode) tabindex="-1">"Details"</a>
            </td>
        </tr>
    }
    .into_any()
}

fn row_class(changed: bool) -> &'static str {
    if changed { "changed bg-yellow-50" } else { "" }
}

/// The A-label beside a U-label.
fn title(r: &Row) -> Option<String> {
    (r.unicode != r.name.as_str()).then(|| r.name.as_str().to_string())
}

fn unknown() -> AnyView {
    view! { <span class="text-muted">"–"<span class="sr-only">"not known"</span></span> }.into_any()
}

/// Tags, "Watched", "New change", "DNS changed" and "Confirming".
fn badges(r: &Row, now: Timestamp) -> impl IntoView + use<> {
    let watched = (r.ownership == Ownership::Watched)
        .then(|| view! { <span class="tag">{icon("eye")}"Watched"</span> });
    let more = r.tags.len().saturating_sub(2);
    let rest = r.tags.iter().skip(2).cloned().collect::<Vec<_>>().join(", ");
    let tags: Vec<_> = r
        .tags
        .iter()
        .take(2)
        .map(|t| view! { <span class="tag" title=t.clone()><span class="min-w-0 truncate">{t.clone()}</span></span> })
        .collect();
    let more = (more > 0).then(|| view! { <span class="tag" title=rest>{format!("+{more}")}</span> });
    let badge = r.changed_recently(now).then(|| view! { <span class="tag badge-new">"New change"</span> });
    let dns = dns_badge(r, now);
    let claim = r.claim.map(claim_tag);
    view! { {badge}{dns}{confirming_badge(r)}{watched}{claim}{tags}{more} }.into_any()
}

/// Says that something waits for a second look: a quiet badge, because it may pass.
pub(crate) fn confirming_badge(r: &Row) -> Option<impl IntoView + use<>> {
    let title = match r.confirming {
        0 => return None,
        1 => "1 change is being confirmed by a second scan".to_string(),
        n => format!("{n} changes are being confirmed by a second scan"),
    };
    let url = format!("/domains/{}", r.name.as_str());
    Some(view! { <a class="tag badge-dns" href=url title=title>"Confirming"</a> })
}

/// Says that DNS changed in the last days: a quiet badge, and no tint, which is for the registration.
pub(crate) fn dns_badge(r: &Row, now: Timestamp) -> Option<impl IntoView + use<>> {
    let at = r.last_dns_change_at.filter(|_| r.dns_changed_recently(now))?;
    let title = format!("DNS change detected {}", model::time::human_instant(at));
    let url = format!("/domains/{}/events", r.name.as_str());
    Some(view! { <a class="tag badge-dns" href=url title=title>"DNS changed"</a> })
}

/// The expiration date; a second line only where it adds something.
fn expiration(r: &Row, now: Timestamp) -> AnyView {
    let note = r.expiry_note(now);
    let doubt = note.as_ref().is_some_and(|n| n.doubt);
    let second = note.map(|n| view! { <small class=note_class(n.urgency)>{n.words}</small> });
    let first = match &r.expires {
        Some(e) => {
            let exact = e.to_string();
            view! { <time class:text-muted=doubt datetime=exact.clone() title=exact.clone()>{human_date(e.date())}</time> }
                .into_any()
        }
        None => unknown(),
    };
    view! { <span class="two">{first}{second}</span> }.into_any()
}

/// A phone shows the cell only when the certificate ends soon.
fn certificate_class(r: &Row, now: Timestamp) -> &'static str {
    match r.certificate_note(now) {
        Some(note) if note.urgency != Urgency::Low => "c-cert num soon",
        _ => "c-cert num",
    }
}

/// How long the certificate that ends first is valid; exact on hover.
fn certificate(r: &Row, now: Timestamp) -> AnyView {
    let (Some(ends), Some(note)) = (r.certificate_ends, r.certificate_note(now)) else {
        return view! { <span class="text-muted" title="No certificate was seen">"–"<span class="sr-only">"none seen"</span></span> }
            .into_any();
    };
    let mark = (note.urgency != Urgency::Low).then(|| icon::icon_sm("warning"));
    let class = match note.urgency {
        Urgency::Low => "",
        urgency => note_class(urgency),
    };
    let title = format!("The certificate that ends first: {}", model::time::human_instant(ends));
    view! {
        <time class=class datetime=ends.to_string() title=title>
            <span class="inline-flex items-center gap-1.5">{mark}{note.words}</span></time>
    }
    .into_any()
}

/// The newest detected change, or the registry's own date, muted.
fn change(r: &Row) -> AnyView {
    match (&r.last_change_at, &r.modified) {
        (Some(at), _) => day(*at).into_any(),
        (None, Some(m)) => {
            let title = format!("{m}: the registry's “modified” date; no change was detected here yet");
            view! {
                <span class="two"><time class="text-muted" datetime=m.to_string() title=title>{human_date(m.date())}</time>
                    <small class="text-muted">"registry date"</small></span>
            }
            .into_any()
        }
        (None, None) => unknown(),
    }
}
