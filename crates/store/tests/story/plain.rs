//! What a list answers, written down the plain way: the model that lists are held against.

use crate::world::now;
use jiff::ToSpan;
use jiff::civil::Date;
use model::inventory::{CertificateFilter, ExpiryFilter, Facet, Facets, ListQuery, Row, SortKey};
use model::time::StatedTime;
use std::cmp::Ordering;

/// The filters a row fails, by the name of their facet; `other` for those without one.
pub fn fails(q: &ListQuery, r: &Row) -> Vec<&'static str> {
    let mut out = Vec::new();
    let needle = q.search.to_lowercase();
    let text = |v: Option<&str>| v.unwrap_or_default().to_string();
    let provider = text(r.provider.as_ref().map(|p| p.name.as_str()));
    if !q.status.is_empty() && !q.status.contains(&r.status.kind) {
        out.push("status");
    }
    if !q.registrar.is_empty() && !q.registrar.contains(&text(r.registrar.as_deref())) {
        out.push("registrar");
    }
    if !q.provider.is_empty() && !q.provider.contains(&provider) {
        out.push("provider");
    }
    if !q.tag.is_empty() && !r.tags.iter().any(|t| q.tag.contains(t)) {
        out.push("tag");
    }
    if q.ownership.is_some_and(|o| o != r.ownership) {
        out.push("ownership");
    }
    let day = |t: StatedTime| -> Date { t.nominal().to_string()[..10].parse().unwrap() };
    let expires_ok = match (q.expires, r.expires) {
        (None, _) => true,
        (Some(ExpiryFilter::Unknown), e) => e.is_none(),
        (Some(_), None) => false,
        (Some(ExpiryFilter::Within(d)), Some(e)) => e.days_from(now()) <= i64::from(d),
        (Some(ExpiryFilter::Next(d)), Some(e)) => (0..=i64::from(d)).contains(&e.days_from(now())),
        (Some(ExpiryFilter::Expired), Some(e)) => e.days_from(now()) < 0,
        (Some(ExpiryFilter::Between(a, b)), Some(e)) => {
            a.is_none_or(|a| day(e) >= a) && b.is_none_or(|b| day(e) <= b)
        }
    };
    let within = |at: Option<jiff::Timestamp>, days: Option<u32>| {
        let near = |d| at.is_some_and(|at| now().as_second() - at.as_second() <= i64::from(d) * 86_400);
        days.is_none_or(near)
    };
    let changed_ok =
        within(r.last_change_at, q.changed_days) && within(r.last_dns_change_at, q.dns_changed_days);
    let certificate_ok = match (q.certificate, r.certificate_ends) {
        (None, _) => true,
        (Some(CertificateFilter::Unseen), at) => at.is_none(),
        (Some(_), None) => false,
        (Some(CertificateFilter::Ended), Some(at)) => at <= now(),
        (Some(CertificateFilter::Within(d)), Some(at)) => at < now() + (24 * i64::from(d)).hours(),
    };
    let named = r.name.as_str().contains(&needle) || r.unicode.to_lowercase().contains(&needle);
    if !(expires_ok && changed_ok && certificate_ok && named) {
        out.push("other");
    }
    out
}

pub fn order(q: &ListQuery, a: &Row, b: &Row) -> Ordering {
    /// What is unknown comes last in both directions.
    fn known<T: Ord>(down: bool, a: Option<T>, b: Option<T>) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) if down => b.cmp(&a),
            (Some(a), Some(b)) => a.cmp(&b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }
    let down = q.descending;
    let word = |w: Option<&str>| w.map(|w| (w.to_lowercase(), w.to_string()));
    let when = |t: Option<StatedTime>| t.map(|t| t.nominal());
    let first = match q.sort {
        SortKey::Name => known(down, Some(a.name.as_str()), Some(b.name.as_str())),
        SortKey::Expiration => known(down, when(a.expires), when(b.expires)),
        SortKey::Registrar => known(down, word(a.registrar.as_deref()), word(b.registrar.as_deref())),
        SortKey::Provider => known(
            down,
            word(a.provider.as_ref().map(|p| p.name.as_str())),
            word(b.provider.as_ref().map(|p| p.name.as_str())),
        ),
        SortKey::Status => known(down, Some(a.status.kind), Some(b.status.kind)),
        SortKey::Certificate => known(down, a.certificate_ends, b.certificate_ends),
        SortKey::Change => {
            known(down, a.last_change_at.or(when(a.modified)), b.last_change_at.or(when(b.modified)))
        }
    };
    first.then_with(|| a.name.as_str().cmp(b.name.as_str()))
}

/// Counts of one facet: rows that fail no filter but its own.
fn count(rows: &[Row], q: &ListQuery, facet: &str, values: impl Fn(&Row) -> Vec<String>) -> Vec<Facet> {
    let mut counts = std::collections::BTreeMap::<String, u64>::new();
    for r in rows.iter().filter(|r| fails(q, r).iter().all(|f| *f == facet)) {
        for v in values(r) {
            *counts.entry(v).or_default() += 1;
        }
    }
    counts.into_iter().map(|(value, count)| Facet { value, count }).collect()
}

pub fn facets(rows: &[Row], q: &ListQuery) -> Facets {
    let text = |v: Option<&str>| vec![v.unwrap_or_default().to_string()];
    Facets {
        status: count(rows, q, "status", |r| vec![r.status.kind.as_str().to_string()]),
        registrar: count(rows, q, "registrar", |r| text(r.registrar.as_deref())),
        provider: count(rows, q, "provider", |r| text(r.provider.as_ref().map(|p| p.name.as_str()))),
        tag: count(rows, q, "tag", |r| r.tags.clone()),
        ownership: count(rows, q, "ownership", |r| vec![r.ownership.as_str().to_string()]),
    }
}

/// Facets without zero counts, by value: the order of display is looked at on its own.
pub fn plain(mut f: Facets) -> Facets {
    for list in [&mut f.status, &mut f.registrar, &mut f.provider, &mut f.tag, &mut f.ownership] {
        list.retain(|v| v.count > 0);
        list.sort_by(|a, b| a.value.cmp(&b.value));
    }
    f
}
