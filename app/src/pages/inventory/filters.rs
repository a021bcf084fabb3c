//! Filter menus and the chips of active filters. Menus are `<details>` with links: they need no script.

use crate::components::icon;
use crate::components::pager::grouped;
use crate::server_fns::Inventory;
use leptos::prelude::*;
use model::inventory::{CertificateFilter, ExpiryFilter, Facet, ListQuery};
use model::item::Ownership;
use model::time::human_date;

/// Active filters first, then the menus.
pub(crate) fn filters(q: &ListQuery, d: &Inventory) -> AnyView {
    let f = &d.page.facets;
    let registrar = values(&f.registrar, &q.registrar, |list| ListQuery { registrar: list, ..q.clone() });
    let provider = values(&f.provider, &q.provider, |list| ListQuery { provider: list, ..q.clone() });
    let tag = values(&f.tag, &q.tag, |list| ListQuery { tag: list, ..q.clone() });
    view! {
        {active(q)}
        {menu("Registrar", registrar)}
        {menu("DNS provider", provider)}
        {expiration(q)}
        {menu("Certificate", certificates(q))}
        {menu("Changed", changes(q))}
        {menu("Ownership", owner(q, &f.ownership))}
        {menu("Tag", tag)}
    }
    .into_any()
}

fn first_page(q: ListQuery) -> String {
    ListQuery { page: 1, ..q }.to_url()
}

/// A line of a menu.
struct Line {
    label: String,
    count: Option<u64>,
    on: bool,
    url: String,
}

fn line(l: Line) -> AnyView {
    let count = l.count.map(|n| view! { <span class="n">{grouped(n)}</span> });
    let mark = l.on.then(|| icon("check"));
    view! {
        <a class="menu-item" class:on=l.on href=l.url aria-current=l.on.then_some("true") data-noscroll="true">
            <span class="w-3.5 flex-none">{mark}</span><span class="min-w-0 truncate">{l.label}</span>{count}
        </a>
    }
    .into_any()
}

fn menu(label: &'static str, lines: Vec<Line>) -> Option<AnyView> {
    if lines.is_empty() {
        return None;
    }
    let lines: Vec<_> = lines.into_iter().map(line).collect();
    Some(
        view! {
            <details class="menu">
                <summary class="chip">{label}{icon("down")}</summary>
                <div class="menu-list" role="group" aria-label=label>{lines}</div>
            </details>
        }
        .into_any(),
    )
}

fn shown(value: &str) -> String {
    if value.is_empty() { "Unknown".into() } else { value.into() }
}

fn toggled(list: &[String], value: &str) -> Vec<String> {
    let mut out: Vec<String> = list.iter().filter(|v| *v != value).cloned().collect();
    if out.len() == list.len() {
        out.push(value.to_string());
    }
    out
}

fn values(facets: &[Facet], on: &[String], with: impl Fn(Vec<String>) -> ListQuery) -> Vec<Line> {
    facets
        .iter()
        .map(|f| Line {
            label: shown(&f.value),
            count: Some(f.count),
            on: on.contains(&f.value),
            url: first_page(with(toggled(on, &f.value))),
        })
        .collect()
}

fn owner(q: &ListQuery, facets: &[Facet]) -> Vec<Line> {
    [(Ownership::Owned, "Owned"), (Ownership::Watched, "Watched")]
        .into_iter()
        .map(|(o, label)| {
            let on = q.ownership == Some(o);
            let ownership = (!on).then_some(o);
            Line {
                label: label.into(),
                count: facets.iter().find(|f| f.value == o.as_str()).map(|f| f.count),
                on,
                url: first_page(ListQuery { ownership, ..q.clone() }),
            }
        })
        .collect()
}

fn changes(q: &ListQuery) -> Vec<Line> {
    let days = Some(u32::try_from(model::inventory::RECENT_DAYS).unwrap_or(7));
    let line = |label: &str, on: bool, to: ListQuery| Line {
        label: label.into(),
        count: None,
        on,
        url: first_page(to),
    };
    let (registration, dns) = (q.changed_days.is_some(), q.dns_changed_days.is_some());
    vec![
        line(
            "Registration, last 7 days",
            registration,
            ListQuery { changed_days: days.filter(|_| !registration), ..q.clone() },
        ),
        line("DNS, last 7 days", dns, ListQuery { dns_changed_days: days.filter(|_| !dns), ..q.clone() }),
    ]
}

fn certificates(q: &ListQuery) -> Vec<Line> {
    let choices = [
        ("Ends within 14 days, or ended", CertificateFilter::SOON),
        ("Ends within 30 days, or ended", CertificateFilter::Within(30)),
        ("Ended", CertificateFilter::Ended),
        ("None seen", CertificateFilter::Unseen),
    ];
    let line = |(label, filter): (&str, CertificateFilter)| {
        let on = q.certificate == Some(filter);
        let certificate = (!on).then_some(filter);
        let url = first_page(ListQuery { certificate, ..q.clone() });
        Line { label: label.into(), count: None, on, url }
    };
    choices.into_iter().map(line).collect()
}

fn expiration(q: &ListQuery) -> AnyView {
    let choices = [
        ("Expired", ExpiryFilter::Expired),
        ("In the next 7 days", ExpiryFilter::Next(7)),
        ("In the next 30 days", ExpiryFilter::Next(30)),
        ("In the next 90 days", ExpiryFilter::Next(90)),
        ("In the next year", ExpiryFilter::Next(365)),
        ("Unknown", ExpiryFilter::Unknown),
    ];
    let lines: Vec<_> = choices
        .into_iter()
        .map(|(label, e)| {
            let on = q.expires == Some(e);
            let expires = (!on).then_some(e);
            line(Line {
                label: label.into(),
                count: None,
                on,
                url: first_page(ListQuery { expires, ..q.clone() }),
            })
        })
        .collect();
    let rest = ListQuery { expires: None, page: 1, ..q.clone() }.to_pairs();
    let hidden: Vec<_> =
        rest.into_iter().map(|(k, v)| view! { <input type="hidden" name=k value=v/> }).collect();
    let (from, to) = match q.expires {
        Some(ExpiryFilter::Between(a, b)) => (a, b),
        _ => (None, None),
    };
    let text = |d: Option<jiff::civil::Date>| d.map(|d| d.to_string()).unwrap_or_default();
    view! {
        <details class="menu">
            <summary class="chip">"Expiration"{icon("down")}</summary>
            <div class="menu-list" role="group" aria-label="Expiration">
                {lines}
                <form method="get" action="/domains" class="menu-form">
                    {hidden}
                    <label class="field"><span class="hint">"From"</span>
                        <input class="input" type="date" name="expires_from" value=text(from)/></label>
                    <label class="field"><span class="hint">"To"</span>
                        <input class="input" type="date" name="expires_to" value=text(to)/></label>
                    <button class="btn btn-sm" type="submit">"Show this range"</button>
                </form>
            </div>
        </details>
    }
    .into_any()
}

/// Chips of active filters; each removes its own.
fn active(q: &ListQuery) -> Vec<AnyView> {
    let mut out = Vec::new();
    let mut chip = |label: String, without: ListQuery| {
        let aria = format!("{label}. Remove filter");
        out.push(
            view! {
                <a class="chip on" href=first_page(without) aria-label=aria data-noscroll="true">
                    <span class="min-w-0 max-w-56 truncate">{label}</span>{icon("x")}
                </a>
            }
            .into_any(),
        );
    };
    for r in &q.registrar {
        chip(
            format!("Registrar: {}", shown(r)),
            ListQuery { registrar: toggled(&q.registrar, r), ..q.clone() },
        );
    }
    for p in &q.provider {
        chip(format!("DNS: {}", shown(p)), ListQuery { provider: toggled(&q.provider, p), ..q.clone() });
    }
    for t in &q.tag {
        chip(format!("Tag: {t}"), ListQuery { tag: toggled(&q.tag, t), ..q.clone() });
    }
    if let Some(e) = q.expires {
        let date = |d: Option<jiff::civil::Date>| d.map_or_else(|| "…".to_string(), human_date);
        let words = match e {
            ExpiryFilter::Within(n) => format!("expired or within {n} days"),
            ExpiryFilter::Next(n) => format!("in the next {n} days"),
            ExpiryFilter::Expired => "expired".into(),
            ExpiryFilter::Unknown => "unknown".into(),
            ExpiryFilter::Between(a, b) => format!("{} to {}", date(a), date(b)),
        };
        chip(format!("Expiration: {words}"), ListQuery { expires: None, ..q.clone() });
    }
    if let Some(o) = q.ownership {
        let word = if o == Ownership::Owned { "Owned" } else { "Watched" };
        chip(word.into(), ListQuery { ownership: None, ..q.clone() });
    }
    if let Some(d) = q.changed_days {
        chip(
            format!("Registration change detected, {d} days"),
            ListQuery { changed_days: None, ..q.clone() },
        );
    }
    if let Some(d) = q.dns_changed_days {
        chip(format!("DNS change detected, {d} days"), ListQuery { dns_changed_days: None, ..q.clone() });
    }
    if let Some(c) = q.certificate {
        let words = match c {
            CertificateFilter::Within(n) => format!("ends within {n} days, or ended"),
            CertificateFilter::Ended => "ended".into(),
            CertificateFilter::Unseen => "none seen".into(),
        };
        chip(format!("Certificate: {words}"), ListQuery { certificate: None, ..q.clone() });
    }
    if out.len() > 1 {
        let plain = ListQuery {
            sort: q.sort,
            descending: q.descending,
            per_page: q.per_page,
            ..ListQuery::default()
        };
        out.push(
            view! { <a class="chip" href=plain.to_url() data-noscroll="true">"Clear all"</a> }.into_any(),
        );
    }
    out
}
