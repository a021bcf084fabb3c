//! What is not an event yet: changes that wait for a second look, what changes to and fro, and what answers elsewhere.

use crate::components::banner::{Tone, banner};
use leptos::prelude::*;
use model::confirm::Pending;
use model::detail::Detail;
use model::event::{Change, EventKind};

/// Changes that wait for a second look, and values that change too often to be reported one by one.
pub(super) fn confirming(d: &Detail) -> Option<AnyView> {
    let pending = &d.observation.as_ref()?.pending;
    let (records, stated): (Vec<&Pending>, Vec<&Pending>) =
        pending.iter().partition(|p| p.kind == EventKind::RecordChanged);
    let rotating: Vec<_> = records
        .iter()
        .filter_map(|p| Some(format!("{} rotates between {} sets", p.field, p.rotation.sets()?)))
        .collect();
    let rotating = (!rotating.is_empty()).then(|| {
        let title = "Rotating records; a change is reported when the record stays the same for a week";
        banner(Tone::Info, title, format!("{}.", rotating.join(". ")))
    });
    let in_turn: Vec<_> = stated
        .iter()
        .filter(|p| p.rotation.sets().is_some() && p.takes_long())
        .filter_map(|p| p.change.as_ref().map(Change::headline))
        .collect();
    let in_turn = (!in_turn.is_empty()).then(|| {
        let title = "The registry alternates between answers; reported when they stay the same for a day";
        banner(Tone::Info, title, format!("{}.", in_turn.join(". ")))
    });
    let waiting: Vec<_> = pending
        .iter()
        .filter(|p| p.rotation.sets().is_none() || !p.takes_long())
        .filter_map(|p| p.change.as_ref().map(|c| (c.headline(), p.is_flapping())))
        .collect();
    let (flapping, fresh): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(_, flapping)| *flapping);
    let list =
        |all: Vec<(String, bool)>| all.into_iter().map(|(words, _)| words).collect::<Vec<_>>().join(". ");
    let fresh = (!fresh.is_empty())
        .then(|| banner(Tone::Info, "Being confirmed by a second scan", format!("{}.", list(fresh))));
    let flapping = (!flapping.is_empty()).then(|| {
        let title = "Changes often; reported when it stays the same for a day";
        banner(Tone::Info, title, format!("{}.", list(flapping)))
    });
    let elsewhere = &d.observation.as_ref()?.elsewhere;
    let elsewhere = (!elsewhere.is_empty()).then(|| {
        let words: Vec<_> =
            elsewhere.iter().map(|e| format!("{} answers at {}", e.server, e.place)).collect();
        let words =
            format!("{}. No event is recorded: check the network between here and there.", words.join(". "));
        banner(Tone::Info, "No answer here, but at another place", words)
    });
    Some(view! { {fresh}{flapping}{in_turn}{rotating}{elsewhere} }.into_any())
}
