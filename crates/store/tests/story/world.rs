//! What the stories are told with: places a store can be opened at, names, scans and their meaning.

use jiff::{Timestamp, ToSpan};
use model::detail::RawAnswer;
use model::event::{Change, EventKind, Severity};
use model::ids::{LogPosition, OrgId, Vantage};
use model::inventory::Row;
use model::item::{Item, Ownership};
use model::names::DomainName;
use model::observation::Observation;
use model::registration::{Party, Protocol};
use model::scan::LogEntry;
use std::path::PathBuf;
use std::sync::Arc;
use store::{ItemOutcome, LogRead, NewItem, Record, SecretKey, Store};

/// Where a store is kept; opening it twice gives two replicas.
pub enum Place {
    Sqlite(PathBuf),
    Postgres(String),
}

impl Place {
    pub async fn open(&self) -> Arc<dyn Store> {
        match self {
            Place::Sqlite(p) => store::open_sqlite(p).await,
            Place::Postgres(url) => store::open_postgres(url, Some(key())).await,
        }
        .expect("the store opens")
    }
}

/// The key of all databases on PostgreSQL, and of saved ones.
pub const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// [`KEY`] as the store takes it.
pub fn key() -> SecretKey {
    SecretKey::parse(KEY).expect("a key")
}

pub const ONE: OrgId = OrgId(1);
pub const TWO: OrgId = OrgId(2);

pub fn now() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().expect("an instant")
}

pub fn later(minutes: i64) -> Timestamp {
    now() + minutes.minutes()
}

pub fn name(s: &str) -> DomainName {
    DomainName::trusted(s)
}

pub fn new(s: &str) -> NewItem {
    let name = name(s);
    NewItem {
        unicode: name.unicode(),
        name,
        ownership: Ownership::Owned,
        tags: Vec::new(),
        note: String::new(),
    }
}

pub async fn add(store: &dyn Store, org: OrgId, names: &[&str]) {
    let items: Vec<_> = names.iter().map(|n| new(n)).collect();
    let added = store.add(org, &items, now()).await.expect("adds");
    assert!(added.iter().all(|a| *a), "{names:?} are new");
}

pub async fn item(store: &dyn Store, org: OrgId, n: &str) -> (Item, Row) {
    store.item(org, &name(n)).await.expect("reads").unwrap_or_else(|| panic!("{n} is held"))
}

/// The change log after a position, none of which was pruned.
pub async fn log(store: &dyn Store, org: Option<OrgId>, after: LogPosition, limit: u32) -> Vec<LogEntry> {
    match store.log_since(org, after, limit).await.expect("reads") {
        LogRead::Entries(entries) => entries,
        LogRead::ReadAnew => panic!("the log was pruned after {after:?}"),
    }
}

pub fn change(new: &str) -> Change {
    Change {
        kind: EventKind::RegistrarChanged,
        severity: Severity::Warning,
        field: "registrar".into(),
        old: None,
        new: Some(new.into()),
        source: "RDAP".into(),
        note: String::new(),
        first_seen_at: None,
        status_before: None,
    }
}

pub fn raw(body: &str) -> RawAnswer {
    RawAnswer {
        protocol: Protocol::Whois,
        party: Party::Registry,
        server: "whois.example".into(),
        at: now(),
        body: body.into(),
    }
}

/// A scan of a name that found `changes` for every organisation that holds it.
pub async fn scan(store: &dyn Store, n: &str, changes: &[Change], at: Timestamp) -> Record {
    let known = store.observation(&name(n), &Vantage::local()).await.expect("reads");
    let version = known.map_or(0, |k| k.version);
    let mut observation = Observation::empty(name(n), Vantage::local());
    observation.zone.attempted_at = Some(at);
    let mut outcomes = Vec::new();
    for (held, _) in store.scan_grounds(&name(n)).await.expect("reads").holdings {
        let (mut item, mut row) = item(store, held.org, n).await;
        if !changes.is_empty() {
            item.last_change_at = Some(at);
            row.last_change_at = Some(at);
        }
        row.last_scan_at = Some(at);
        outcomes.push(ItemOutcome { item, row, changes: changes.to_vec() });
    }
    Record { expected_version: version, observation, snapshot: None, raw: Vec::new(), outcomes, at }
}
