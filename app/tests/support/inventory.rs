//! The list of the sample and its totals.

use super::world::Domain;
use jiff::ToSpan;
use model::ids::LogPosition;
use model::inventory::{CalendarDay, Facet, Facets, ListQuery, Page, Row, Summary};
use model::item::Ownership;
use model::judge::Thresholds;
use model::status::StatusKind;
use std::collections::BTreeMap;

fn facet(values: impl Iterator<Item = String>) -> Vec<Facet> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for v in values {
        *counts.entry(v).or_default() += 1;
    }
    let mut out: Vec<_> = counts.into_iter().map(|(value, count)| Facet { value, count }).collect();
    out.sort_by_key(|f| std::cmp::Reverse(f.count));
    out
}

/// The page that a query selects.
pub fn page(domains: &[Domain], q: &ListQuery) -> Page {
    let mut rows: Vec<Row> = domains.iter().map(Domain::row).collect();
    let facets = Facets {
        status: facet(rows.iter().map(|r| r.status.kind.as_str().to_string())),
        registrar: facet(rows.iter().map(|r| r.registrar.clone().unwrap_or_default())),
        provider: facet(rows.iter().map(|r| r.provider.as_ref().map(|p| p.name.clone()).unwrap_or_default())),
        tag: facet(rows.iter().flat_map(|r| r.tags.clone())),
        ownership: facet(rows.iter().map(|r| r.ownership.as_str().to_string())),
    };
    rows.retain(|r| {
        r.unicode.contains(&q.search)
            && (q.status.is_empty() || q.status.contains(&r.status.kind))
            && (q.tag.is_empty() || q.tag.iter().any(|t| r.tags.contains(t)))
    });
    let total = rows.len() as u64;
    let skip = (q.page.saturating_sub(1) * q.per_page) as usize;
    let rows = rows.into_iter().skip(skip).take(q.per_page as usize).collect();
    Page { rows, total, page: q.page, per_page: q.per_page, facets, rv: LogPosition(7) }
}

/// Totals, without what is not of the list: events and thresholds.
pub fn summary(domains: &[Domain]) -> Summary {
    let rows: Vec<Row> = domains.iter().map(Domain::row).collect();
    let owned = rows.iter().filter(|r| r.ownership == Ownership::Owned).count() as u64;
    let of = |k| rows.iter().filter(|r| r.ownership == Ownership::Owned && r.status.kind == k).count() as u64;
    let today: jiff::civil::Date = "2026-11-20".parse().unwrap();
    let day = |d: i32, count| CalendarDay { day: today.checked_add(d.days()).unwrap(), count };
    Summary {
        total: rows.len() as u64,
        owned,
        watched: rows.len() as u64 - owned,
        critical: of(StatusKind::Critical),
        warning: of(StatusKind::Warning),
        expired: 1,
        expiring: 3,
        changed: 2,
        dns_changed: 1,
        calendar: vec![day(3, 1), day(14, 1), day(23, 2), day(48, 1), day(62, 4), day(85, 2)],
        open_events: 0,
        thresholds: Thresholds::default(),
    }
}
