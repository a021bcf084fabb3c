//! Maintenance windows: those that last, come and ended lately, and the form of a new one.

use crate::components::icon;
use crate::components::time::instant;
use leptos::prelude::*;
use model::Timestamp;
use model::maintenance::Maintenance;
use service::NotificationSettings;

/// The card.
pub(super) fn maintenance(s: &NotificationSettings) -> AnyView {
    let rows: Vec<_> = s.maintenance.iter().map(|w| window(w, s.may_maintain, s.now)).collect();
    let none = rows.is_empty().then(|| {
        view! { <p class="card-body text-muted">"During a maintenance window events are recorded. Messages about what still holds at its end are sent then."</p> }
    });
    view! {
        <section class="card tbl-wrap" id="maintenance">
            <div class="card-head"><h2>"Maintenance"</h2><span class="text-muted">{(!rows.is_empty()).then_some(rows.len())}</span></div>
            {none}
            <ol>{rows}</ol>
            {s.may_maintain.then(form)}
        </section>
    }
    .into_any()
}

fn window(w: &Maintenance, may_end: bool, now: Timestamp) -> AnyView {
    let (class, picture, words, action) = if w.is_active(now) {
        ("text-warn", "clock", "Now", Some("End now"))
    } else if now < w.from {
        ("text-muted", "clock", "Planned", Some("Remove"))
    } else {
        ("text-muted", "check", "Ended", None)
    };
    let end = action.filter(|_| may_end).map(|action| {
        view! {
            <form method="post" action="/api/fn/end_maintenance"><input type="hidden" name="id" value=w.id.clone()/>
                <button class="btn btn-sm" type="submit" aria-label=format!("{action}: {}", w.note)>{action}</button></form>
        }
    });
    view! {
        <li class="event">
            <div class="event-when"><span class="font-semibold">{w.scope.label()}</span>
                <small class=format!("flex items-center gap-2 text-xs {class}")>{icon::icon_sm(picture)}{words}</small></div>
            <div class="event-what"><div class="wrap">{w.note.clone()}</div>
                <div class="text-muted text-xs">{instant(w.from)}" to "{instant(w.to)}{format!(" · {}", w.by)}</div></div>
            <div class="event-side">{end}</div>
        </li>
    }
    .into_any()
}

fn form() -> AnyView {
    view! {
        <details class="more">
            <summary>"Plan maintenance"</summary>
            <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action="/api/fn/save_maintenance">
                <label class="field"><span class="label">"What is done"</span>
                    <input class="input" name="note" required maxlength="200" autocomplete="off" placeholder="Move to the new name servers"/></label>
                <div class="grid grid-cols-2 gap-3 max-sm:grid-cols-1">
                    <label class="field"><span class="label">"From (UTC)"</span><input class="input" type="datetime-local" name="from" required/></label>
                    <label class="field"><span class="label">"Until (UTC)"</span><input class="input" type="datetime-local" name="to" required/></label>
                </div>
                <div class="grid grid-cols-2 gap-3 max-sm:grid-cols-1">
                    <label class="field"><span class="label">"Only domains with the tag"</span><input class="input" name="tag" autocomplete="off" placeholder="all domains"/></label>
                    <label class="field"><span class="label">"Only the domain"</span><input class="input" name="domain" autocomplete="off" placeholder="all domains"/></label>
                </div>
                <p class="hint">"A change is noticed with the next check: end the window one check interval after the work. Reminders of expirations are sent all the same."</p>
                <div><button class="btn btn-primary" type="submit">"Plan maintenance"</button></div>
            </form>
        </details>
    }
    .into_any()
}
