//! Domain Info: what the registry and the registrar state, each fact with its source and age on hover.

use crate::components::copy::copy_button;
use crate::components::icon_sm;
use crate::components::time::Ago;
use leptos::prelude::*;
use model::Timestamp;
use model::dns::{Dnssec, DnssecStatus};
use model::fields::{ds_line, stated};
use model::inventory::Row;
use model::observation::Part;
use model::registration::{Provenance, Registration, RegistrationState};
use model::row::Urgency;
use model::time::{StatedTime, human_day};

/// The card.
pub(crate) fn facts(
    r: &Registration,
    part: &Part<RegistrationState>,
    dnssec: Option<&Dnssec>,
    row: Option<&Row>,
    now: Timestamp,
) -> AnyView {
    let read = part.observed_at.map(|at| {
        let source = part.source.clone().unwrap_or_default();
        let short = source.split_whitespace().next().unwrap_or("Read").to_string();
        view! { <span class="border-b border-dotted border-b-unknown-line cursor-help" title=format!("{source}, {at}")>{short}", "<Ago at=at now=now/></span> }
    });
    let hover = |field: &str| r.provenance.get(field).map(source_words).or_else(|| part.source.clone());
    let text = |label: &'static str, field: &str, value: Option<String>| {
        let title = hover(field);
        match value {
            Some(v) => view! { <div><dt>{label}</dt><dd class="wrap" title=title>{v}</dd></div> }.into_any(),
            None => {
                view! { <div><dt>{label}</dt><dd class="text-muted">"Not published"</dd></div> }.into_any()
            }
        }
    };
    let optional =
        |label: &'static str, field: &str, value: Option<String>| value.map(|v| text(label, field, Some(v)));
    let date = |label: &'static str, field: &str, value: Option<&StatedTime>| match value {
        Some(t) => {
            let title = format!("{t}. {}", hover(field).unwrap_or_default());
            view! { <div><dt>{label}</dt><dd title=title>{stated(t)}</dd></div> }.into_any()
        }
        None => text(label, field, None),
    };
    let registrar_date = r
        .differing_registrar_expires()
        .map(|e| date("Expiration (registrar)", "registrar_expires", Some(&e)));
    let others: Vec<_> = r
        .disagreements
        .iter()
        .map(|x| {
            let words = format!("{} states {}: {}", source_words(&x.by), field_label(&x.field), x.value);
            view! { <div class="wide"><dd class="hint wrap">{words}</dd></div> }
        })
        .collect();
    let warnings: Vec<_> = r
        .warnings
        .iter()
        .map(|w| view! { <div class="wide"><dd class="hint wrap">{w.clone()}</dd></div> })
        .collect();
    let abuse = [r.registrar.abuse_email.clone(), r.registrar.abuse_phone.clone()];
    let abuse: Vec<String> = abuse.into_iter().flatten().collect();
    let abuse = (!abuse.is_empty()).then(|| abuse.join(", "));
    let redacted = (r.redacted == Some(true)).then(|| "Contact data is redacted".to_string());
    view! {
        <section class="card">
            <div class="card-head"><h2>"Domain Info"</h2><div class="aside">{read}</div></div>
            <dl class="facts">
                {date("Created", "created", r.created.as_ref())}
                {date("Modified", "updated", r.updated.as_ref())}
                {expiration(r, row, now, hover("expires"))}
                {registrar_date}
                {row.map(auto_renew)}
                {text("Registrar", "registrar", r.registrar.name.clone())}
                {text("Registrar IANA ID", "registrar", r.registrar.iana_id.clone())}
                {optional("Registrar web site", "registrar", r.registrar.url.clone())}
                {optional("Abuse contact", "registrar", abuse)}
                {optional("Registry ID", "registry_id", r.registry_id.clone())}
                {optional("Registrant", "registrant_organization", r.registrant_organization.clone())}
                {optional("Contacts", "redacted", redacted)}
                {dnssec_line(r, dnssec)}
                {others}{warnings}
            </dl>
            {sources(r, part, now)}
        </section>
    }
    .into_any()
}

/// Where each fact comes from and how old it is, in the open: hovering is not for every hand.
fn sources(r: &Registration, part: &Part<RegistrationState>, now: Timestamp) -> Option<AnyView> {
    let mut by: Vec<(String, Vec<&str>)> = Vec::new();
    for (field, provenance) in &r.provenance {
        let (words, label) = (source_words(provenance), field_label(field));
        match by.iter_mut().find(|(w, _)| *w == words) {
            Some((_, labels)) => labels.push(label),
            None => by.push((words, vec![label])),
        }
    }
    if by.is_empty() {
        return None;
    }
    let age = part.observed_at.map(|at| view! { <Ago at=at now=now/> });
    let rows: Vec<_> = by
        .into_iter()
        .map(|(words, labels)| view! { <div class="wide"><dt class="wrap">{words}</dt><dd>{labels.join(", ")}</dd></div> })
        .collect();
    Some(
        view! {
            <details class="more">
                <summary>"Where each fact comes from, read "{age}</summary>
                <dl class="facts">{rows}</dl>
            </details>
        }
        .into_any(),
    )
}

/// A field of a registration as this card calls it.
fn field_label(field: &str) -> &str {
    match field {
        "created" => "created",
        "updated" => "modified",
        "expires" => "expiration",
        "registrar_expires" => "expiration (registrar)",
        "outcome" => "registration",
        "statuses" => "status flags",
        "dnssec" => "DNSSEC",
        "registry_id" => "registry ID",
        "registrant_organization" => "registrant",
        "redacted" => "contacts",
        "registrar.iana_id" => "registrar IANA ID",
        "registrar.url" => "registrar web site",
        "registrar.abuse_email" => "abuse email",
        "registrar.abuse_phone" => "abuse phone",
        "registrar_rdap" => "registrar’s RDAP address",
        "registrar_whois_server" => "registrar’s WHOIS server",
        other => other,
    }
}

/// `RDAP of the registry, https://…`.
fn source_words(p: &Provenance) -> String {
    let party = match p.party {
        model::registration::Party::Registry => "registry",
        model::registration::Party::Registrar => "registrar",
    };
    format!("{} of the {party}, {}", p.protocol.label(), p.server)
}

fn days_class(urgency: Urgency) -> &'static str {
    match urgency {
        Urgency::Low => "text-muted",
        Urgency::Soon => "text-warn",
        Urgency::Immediate => "text-critical",
    }
}

fn expiration(r: &Registration, row: Option<&Row>, now: Timestamp, source: Option<String>) -> AnyView {
    let by_hand = row.filter(|row| row.expires_by_hand).and_then(|row| row.expires);
    let Some(t) = r.expires.or(by_hand) else {
        return view! { <div><dt>"Expiration"</dt><dd class="text-muted">"Not published"</dd></div> }
            .into_any();
    };
    let days = t.days_from(now);
    let words = match days {
        0 => "· today".to_string(),
        1 => "· 1 day left".to_string(),
        -1 => "· 1 day ago".to_string(),
        n if n < 0 => format!("· {} days ago", -n),
        n => format!("· {n} days left"),
    };
    let loud = row.and_then(|r| r.expiry_note(now)).map_or(Urgency::Low, |n| n.urgency);
    let hand = by_hand.filter(|_| r.expires.is_none()).map(|_| view! { <small>" set manually"</small> });
    let title = format!("{t}. {}", source.unwrap_or_default());
    view! { <div><dt>"Expiration"</dt><dd title=title>{stated(&t)}" "<span class=days_class(loud)>{words}</span>{hand}</dd></div> }
        .into_any()
}

fn auto_renew(row: &Row) -> impl IntoView + use<> {
    let (class, words) = match row.auto_renew {
        Some(true) => ("text-inherit", "On, set manually"),
        Some(false) => ("text-inherit", "Off, set manually"),
        None => ("text-muted", "Unknown"),
    };
    view! { <div><dt>"Auto-renew"</dt><dd class=class>{words}</dd></div> }.into_any()
}

fn dnssec_class(status: DnssecStatus) -> &'static str {
    match status {
        DnssecStatus::Secure => "text-ok",
        DnssecStatus::Bogus => "text-critical",
        DnssecStatus::Insecure | DnssecStatus::Indeterminate => "text-muted",
    }
}

fn dnssec_line(r: &Registration, dnssec: Option<&Dnssec>) -> AnyView {
    let Some(s) = dnssec else {
        let words = match &r.dnssec {
            Some(d) if d.signed => "Signed, according to the registry",
            Some(_) => "Unsigned, according to the registry",
            None => "Not published",
        };
        return view! { <div><dt>"DNSSEC"</dt><dd>{words}</dd></div> }.into_any();
    };
    let ends = s
        .signatures_expire
        .map(|t| view! { <small title=t.to_string()>{format!("· signatures end {}", human_day(t))}</small> });
    view! {
        <div><dt>"DNSSEC"</dt><dd title=s.reason.clone()>
            <span class="flex items-center gap-2"><span class=dnssec_class(s.status)>{icon_sm("shield")}</span>{s.status.label()}" "{ends}</span>
        </dd></div>
    }
    .into_any()
}

/// The DNSSEC card: the state, why, and the DS set.
pub(crate) fn dnssec(part: &Part<Dnssec>, now: Timestamp) -> Option<AnyView> {
    let s = part.value.as_ref()?;
    let read = part.observed_at.map(|at| view! { <span>"validated "<Ago at=at now=now/></span> });
    let ds: Vec<_> = s.ds.iter().map(|d| view! { <div class="mono text-xs rline"><span class="flex-initial wrap">{ds_line(d)}</span>{copy_button("the whole DS record", format!("{} {} {} {}", d.key_tag, d.algorithm, d.digest_type, d.digest))}</div> }).collect();
    let ds = (!ds.is_empty()).then(|| view! { <div><dt>"DS at the parent"</dt><dd>{ds}</dd></div> });
    let tags: Vec<_> = s.key_tags.iter().map(ToString::to_string).collect();
    let tags = (!tags.is_empty())
        .then(|| view! { <div><dt>"Key tags"</dt><dd class="mono text-xs">{tags.join(", ")}</dd></div> });
    let ends = s.signatures_expire.map(|t| {
        view! { <div><dt>"Signatures end"</dt><dd title=t.to_string()>{model::time::human_instant(t)}</dd></div> }
    });
    Some(
        view! {
            <section class="card">
                <div class="card-head"><h2>"DNSSEC"</h2><div class="aside">{read}</div></div>
                <dl class="facts">
                    <div><dt>"State"</dt><dd><span class="flex items-center gap-2"><span class=dnssec_class(s.status)>{icon_sm("shield")}</span>{s.status.label()}</span></dd></div>
                    <div><dt>"Why"</dt><dd class="wrap">{s.reason.clone()}</dd></div>
                    {ds}{tags}{ends}
                </dl>
            </section>
        }
        .into_any(),
    )
}
