//! Pages of domains of which there is little to say: unknown here, never scanned, not registered, withheld; and
//! parts that failed.

use crate::components::banner::{Tone, banner, failure};
use crate::components::icon;
use leptos::prelude::*;
use model::detail::Detail;
use model::inventory::percent;
use model::observation::{Observation, Part, PartError, PartKind};
use model::registration::RegistrationState;
use model::time::{human_clock, relative};
use service::{ApiError, ErrorKind};

/// The domain is not in the inventory, or could not be read.
pub(crate) fn not_here(name: &str, f: &ApiError) -> AnyView {
    if f.kind != ErrorKind::NotFound {
        return failure("This domain could not be read", f);
    }
    let n = percent(name);
    view! {
        <section class="card empty">
            {icon::icon_in("scope", "i i-lg")}
            <h1 class="mono wrap">{name.to_string()}</h1>
            <p>"Not found in this organisation."</p>
            <div class="flex items-center gap-2 flex-wrap">
                <a class="btn btn-primary" href=format!("/domains/add?text={n}")>{icon("plus")}"Add it"</a>
                <a class="btn" href=format!("/tools/scan?name={n}")>{icon("scan")}"Scan without adding"</a>
            </div>
        </section>
    }
    .into_any()
}

/// What the outcome of the look-up means, where it is not "registered".
pub(crate) fn outcome(d: &Detail) -> Option<AnyView> {
    let Some(o) = &d.observation else {
        let next =
            d.item.next_scan_at.map(|t| format!(" It is due {}.", relative(t, d.now))).unwrap_or_default();
        let words = format!("The first scan fills this page in a few seconds.{next}");
        return Some(banner(Tone::Info, "Not scanned yet", words));
    };
    registration_outcome(o, true)
}

/// The same for an observation alone; `watched` when the name is in the inventory.
pub(crate) fn registration_outcome(o: &Observation, watched: bool) -> Option<AnyView> {
    match o.registration.value.as_ref()? {
        RegistrationState::Registered(_) => None,
        RegistrationState::Available => Some(banner(
            Tone::Info,
            "Not registered",
            if watched {
                "The registry says the name does not exist. An event is recorded when it is registered."
            } else {
                "The registry says the name does not exist."
            },
        )),
        RegistrationState::Reserved => Some(banner(
            Tone::Info,
            "Reserved",
            "The registry reserves this name; it can’t be registered now.",
        )),
    }
}

/// A banner for each part whose last attempt failed: what failed, what was kept, when it is tried again.
pub(crate) fn failed_parts(o: &Observation, now: model::Timestamp) -> Vec<AnyView> {
    let kept = |kind| match kind {
        PartKind::Registration => seen(&o.registration),
        PartKind::Delegation => seen(&o.delegation),
        PartKind::Zone => seen(&o.zone),
        PartKind::Dnssec => seen(&o.dnssec),
        PartKind::Certificates => seen(&o.certificates),
    };
    PartKind::ALL
        .into_iter()
        .filter_map(|kind| Some((kind, o.error_of(kind)?)))
        .map(|(kind, e)| part_banner(kind, e, kept(kind), now))
        .collect()
}

fn seen<T>(p: &Part<T>) -> Option<model::Timestamp> {
    p.value.as_ref().and(p.observed_at)
}

fn part_banner(
    kind: PartKind,
    e: &PartError,
    kept: Option<model::Timestamp>,
    now: model::Timestamp,
) -> AnyView {
    let title = match e.label.as_str() {
        "throttled" => format!("{}: rate limited by the server", kind.label()),
        _ => format!("{} could not be read", kind.label()),
    };
    let kept = match kept {
        Some(at) => format!("Showing the data read {}, at {} UTC.", relative(at, now), human_clock(at)),
        None => "No earlier data.".to_string(),
    };
    let retry =
        e.retry_at.map(|t| format!(" Next attempt after {} UTC.", human_clock(t))).unwrap_or_default();
    banner(Tone::Warn, title, format!("{}. {kept}{retry}", e.sentence.trim_end_matches('.')))
}

/// The shape of the page while it is read.
pub(crate) fn skeleton() -> impl IntoView {
    view! {
        <div class="card [animation:appear_.01s_linear_.15s_both]" role="status" aria-label="Loading the domain">
            <div class="flex gap-8 items-center h-[var(--row)] px-4 border-b last:border-b-0"><span class="skel" style="--w:16rem"></span></div>
            <div class="flex gap-8 items-center h-[var(--row)] px-4 border-b last:border-b-0"><span class="skel" style="--w:22rem"></span></div>
            <div class="flex gap-8 items-center h-[var(--row)] px-4 border-b last:border-b-0"><span class="skel" style="--w:30rem"></span></div>
        </div>
    }
    .into_any()
}
