//! Between model types and columns: instants as microseconds since 1970, words as words, the rest as JSON text.

use crate::api::{Error, Result};
use crate::checks::{self, DaysOf};
use crate::db::{Arg, Cells, args};
use jiff::Timestamp;
use model::ids::OrgId;
use model::inventory::{Row, Transitions};
use model::item::{Item, Ownership};
use model::names::DomainName;
use model::status::Status;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// Microseconds of a column.
pub(crate) fn micros(at: Timestamp) -> i64 {
    at.as_microsecond()
}

/// The instant of a column.
pub(crate) fn instant(micros: i64) -> Result<Timestamp> {
    Timestamp::from_microsecond(micros).map_err(|e| Error::Broken(format!("stored instant: {e}")))
}

/// A span in microseconds; the longest there is when it does not fit.
pub(crate) fn span(d: Duration) -> i64 {
    i64::try_from(d.as_micros()).unwrap_or(i64::MAX)
}

/// JSON text of a value.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<String> {
    Ok(serde_json::to_string(value)?)
}

/// The value of a JSON text.
pub(crate) fn read_json<T: DeserializeOwned>(text: &str) -> Result<T> {
    Ok(serde_json::from_str(text)?)
}

/// Columns of [`read_item`], in order.
pub(crate) const ITEM: &str = "org, name, ownership, tags, note, manual_expires, auto_renew, was_delegated, \
                               added_at, status, last_change_at, next_scan_at, last_dns_change_at, muted_until, \
                               reminded, scan_interval_s, expiry_days";
/// How many these are; further columns of a SELECT follow them.
pub(crate) const ITEM_LEN: usize = 17;

/// An item from the columns [`ITEM`].
pub(crate) fn read_item(r: &Cells) -> Result<Item> {
    let word = r.text(2)?;
    let manual_expires = r
        .text_or_null(5)?
        .map(|d| d.parse().map_err(|e| Error::Broken(format!("stored date {d}: {e}"))))
        .transpose()?;
    Ok(Item {
        org: OrgId(r.int(0)?),
        name: DomainName::trusted(&r.text(1)?),
        ownership: Ownership::from_word(&word)
            .ok_or_else(|| Error::Broken(format!("stored ownership “{word}”")))?,
        tags: read_json(&r.text(3)?)?,
        note: r.text(4)?,
        manual_expires,
        auto_renew: r.int_or_null(6)?.map(|v| v != 0),
        muted_until: r.int_or_null(13)?.map(instant).transpose()?,
        checks: checks::read(r, 15)?,
        org_days: None,
        reminded: r.text_or_null(14)?.map(|t| read_json(&t)).transpose()?.unwrap_or_default(),
        was_delegated: r.int(7)? != 0,
        added_at: instant(r.int(8)?)?,
        status: read_json(&r.text(9)?)?,
        last_change_at: r.int_or_null(10)?.map(instant).transpose()?,
        next_scan_at: r.int_or_null(11)?.map(instant).transpose()?,
        last_dns_change_at: r.int_or_null(12)?.map(instant).transpose()?,
    })
}

/// The row of a holding that was never scanned.
pub(crate) fn first_row(name: &DomainName, unicode: &str, ownership: Ownership, tags: &[String]) -> Row {
    Row {
        name: name.clone(),
        unicode: unicode.to_string(),
        ownership,
        tags: tags.to_vec(),
        expires: None,
        expires_by_hand: false,
        auto_renew: None,
        registrar: None,
        provider: None,
        status: Status::never_scanned(),
        outcome: None,
        last_change_at: None,
        last_dns_change_at: None,
        modified: None,
        certificate_ends: None,
        last_scan_at: None,
        registered_read_at: None,
        error: None,
        confirming: 0,
        claim: None,
        transitions: Transitions::default(),
    }
}

/// Puts what the organisation says about a holding into the row that shows it: a row computed from an older
/// reading never undoes a tag set meanwhile.
pub(crate) fn overlay(row: &mut Row, item: &Item) {
    row.ownership = item.ownership;
    row.tags.clone_from(&item.tags);
    row.auto_renew = item.auto_renew;
    row.last_dns_change_at = row.last_dns_change_at.max(item.last_dns_change_at);
}

/// True when a judgement made for `judged` still holds for `stored`: what the organisation said since, of the domain or of
/// all its domains, would have changed it otherwise.
pub(crate) fn same_grounds(judged: &Item, stored: &Item, org_days: &DaysOf) -> bool {
    let grounds = |i: &Item| (i.ownership, i.manual_expires, i.auto_renew, i.checks.expiry_days.clone());
    let days = org_days.get(&stored.org).and_then(Option::as_ref);
    grounds(judged) == grounds(stored) && judged.org_days.as_ref() == days
}

/// Columns a judged row fills, in the order of [`judged_args`]: status, its sort and due columns, the row's own.
pub(crate) const JUDGED: [&str; 9] = [
    "status",
    "status_rank",
    "judge_again_at",
    "expires_at",
    "registrar",
    "provider",
    "modified_at",
    "certificate_ends",
    "row_json",
];

/// Values of [`JUDGED`].
pub(crate) fn judged_args(status: &Status, row: &Row) -> Result<Vec<Arg>> {
    Ok(args![
        json(status)?,
        status.kind.rank(),
        status.judge_again_at.map(micros),
        row.expires.map(|t| micros(t.nominal())),
        row.registrar.clone(),
        row.provider.as_ref().map(|p| p.name.clone()),
        row.modified.map(|t| micros(t.nominal())),
        row.certificate_ends.map(micros),
        json(row)?,
    ])
}

/// `column = $n` for every column of [`JUDGED`], beginning with `$first`.
pub(crate) fn judged_assignments(first: usize) -> String {
    let each: Vec<_> = JUDGED.iter().enumerate().map(|(i, c)| format!("{c} = ${}", first + i)).collect();
    each.join(", ")
}

/// Tags as they are kept: sorted, each once.
pub(crate) fn tidy(tags: &[String]) -> Vec<String> {
    let mut tags = tags.to_vec();
    tags.sort();
    tags.dedup();
    tags
}
