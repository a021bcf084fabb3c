//! Databases as earlier versions wrote them (`tests/saved`): each opens, migrates, and reads back with every value
//! that was stored.
//!
//! `schema-2.*` were written by version 0.1.0 with schema version 2: twelve domains of the demo lab with renewals,
//! transfers, failures, tags, notes and acknowledged events. A saved database is never changed; a release that
//! changes the schema or a stored type adds one.

use crate::world::{ONE, Place, add, item, later, name, now, scan};
use flate2::read::GzDecoder;
use model::dns::{DnssecStatus, ServerHealth};
use model::event::{EventKind, EventQuery, Severity};
use model::finding::Level;
use model::ids::Vantage;
use model::inventory::ListQuery;
use model::item::Ownership;
use model::observation::Observation;
use model::registration::{Protocol, RegistrationState};
use model::status::StatusKind;
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, Row};
use std::collections::BTreeMap;
use std::io::Read;
use store::Store;

const SQLITE: &[u8] = include_bytes!("../saved/schema-2.sqlite3.gz");
const POSTGRES: &[u8] = include_bytes!("../saved/schema-2.postgres.sql.gz");

/// Puts the saved database where the store will be opened.
async fn restore(place: &Place) {
    let mut bytes = Vec::new();
    match place {
        Place::Sqlite(path) => {
            GzDecoder::new(SQLITE).read_to_end(&mut bytes).expect("unpacks");
            std::fs::write(path, bytes).expect("writes");
        }
        Place::Postgres(url) => {
            GzDecoder::new(POSTGRES).read_to_end(&mut bytes).expect("unpacks");
            let dump = String::from_utf8(bytes).expect("a dump is text");
            let mut c = sqlx::PgConnection::connect(url).await.expect("connects");
            sqlx::raw_sql(AssertSqlSafe(dump)).execute(&mut c).await.expect("restores");
            c.close().await.expect("closes");
        }
    }
}

/// The one column of text that a statement answers.
pub async fn texts(place: &Place, sql: &'static str) -> Vec<String> {
    match place {
        Place::Sqlite(p) => {
            let mut c = sqlx::SqliteConnection::connect(&format!("sqlite:{}", p.display())).await.unwrap();
            sqlx::query(sql).fetch_all(&mut c).await.unwrap().iter().map(|r| r.get(0)).collect()
        }
        Place::Postgres(url) => {
            let mut c = sqlx::PgConnection::connect(url).await.unwrap();
            sqlx::query(sql).fetch_all(&mut c).await.unwrap().iter().map(|r| r.get(0)).collect()
        }
    }
}

/// Runs a statement that this suite composed.
pub async fn execute(place: &Place, sql: &str) {
    let sql = AssertSqlSafe(sql.to_string());
    match place {
        Place::Sqlite(p) => {
            let mut c = sqlx::SqliteConnection::connect(&format!("sqlite:{}", p.display())).await.unwrap();
            sqlx::query(sql).execute(&mut c).await.unwrap();
            c.close().await.unwrap();
        }
        Place::Postgres(url) => {
            let mut c = sqlx::PgConnection::connect(url).await.unwrap();
            sqlx::query(sql).execute(&mut c).await.unwrap();
            c.close().await.unwrap();
        }
    }
}

/// How often each scalar stands in some JSON texts, whatever the keys above it are called. `null` and `false` may be
/// what a type says by leaving a field out.
fn scalars<'a>(texts: impl IntoIterator<Item = &'a String>) -> BTreeMap<String, usize> {
    fn collect(v: &Value, out: &mut BTreeMap<String, usize>) {
        match v {
            Value::Null | Value::Bool(false) => {}
            Value::Array(a) => a.iter().for_each(|v| collect(v, out)),
            Value::Object(o) => o.values().for_each(|v| collect(v, out)),
            scalar => *out.entry(scalar.to_string()).or_default() += 1,
        }
    }
    let mut out = BTreeMap::new();
    for text in texts {
        collect(&serde_json::from_str(text).expect("stored JSON"), &mut out);
    }
    out
}

/// Every scalar that was stored was read, so no field was renamed or dropped without a way to read the old one.
fn assert_nothing_is_lost(what: &str, stored: &[String], read: &[String]) {
    let read = scalars(read);
    for (scalar, n) in scalars(stored) {
        let found = read.get(&scalar).copied().unwrap_or(0);
        assert!(found >= n, "{what}: {scalar} was stored {n} times and read {found} times");
    }
}

fn text<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("serialises")
}

async fn observation(s: &dyn Store, n: &str) -> Observation {
    s.observation(&name(n), &Vantage::local()).await.unwrap().unwrap().observation
}

pub async fn a_database_of_schema_2_reads_as_it_did(place: &Place) {
    restore(place).await;
    let s = place.open().await;
    let page = s.list(ONE, &ListQuery { per_page: 100, ..ListQuery::default() }, now()).await.unwrap();
    assert_eq!((page.total, page.rows.len()), (12, 12));

    let mut read: [Vec<String>; 6] = Default::default();
    for row in &page.rows {
        let n = row.name.as_str();
        let (item, row) = item(&*s, ONE, n).await;
        read[0].push(text(&row));
        read[1].push(text(&item.status));
        read[2].push(text(&observation(&*s, n).await));
        for meta in s.snapshots(ONE, &row.name, 100).await.unwrap() {
            read[3].push(text(&meta.summary));
            read[4].push(text(&s.snapshot(ONE, &row.name, meta.id).await.unwrap().observation));
            read[5].push(text(&s.raw(ONE, &row.name, meta.id).await.unwrap()));
        }
    }
    let events = s.events(ONE, &EventQuery { per_page: 100, ..EventQuery::default() }).await.unwrap();
    let changes: Vec<_> = events.events.iter().map(|e| text(&e.change)).collect();
    let columns = [
        "SELECT row_json FROM items",
        "SELECT status FROM items",
        "SELECT json FROM observations",
        "SELECT summary FROM snapshots",
        "SELECT json FROM snapshots",
        "SELECT json FROM raw_answers",
    ];
    for (sql, read) in columns.into_iter().zip(&read) {
        assert_nothing_is_lost(sql, &texts(place, sql).await, read);
    }
    let sql = "SELECT json FROM events";
    assert_nothing_is_lost(sql, &texts(place, sql).await, &changes);

    assert_eq!(events.events.len(), 18);
    let newest = &events.events[0];
    assert_eq!((newest.change.kind, newest.change.severity), (EventKind::StatusRemoved, Severity::Info));
    assert_eq!(newest.domain.as_str(), "tidewater.example");
    assert_eq!(newest.acknowledged.as_ref().map(|a| a.by.as_str()), Some("Demo visitor"));
    assert_eq!(events.events.iter().filter(|e| e.acknowledged.is_some()).count(), 2);
    values(&*s).await;
    work_goes_on(&*s).await;
}

/// What pages showed of these domains when the database was saved.
async fn values(s: &dyn Store) {
    let (alder, row) = item(s, ONE, "alder.example").await;
    assert_eq!(alder.tags, ["prod", "shop"]);
    assert_eq!(alder.note, "Ours since 2019; “renewed” by hand");
    assert_eq!((alder.auto_renew, alder.ownership), (Some(true), Ownership::Owned));
    assert_eq!(alder.status.kind, StatusKind::Warning);
    assert_eq!(row.registrar.as_deref(), Some("Lantern Registrar"));
    assert_eq!(row.expires.map(|e| e.to_string()[..10].to_string()).as_deref(), Some("2026-12-15"));
    // Filled from the event log.
    let recorded =
        EventQuery { kinds: vec![EventKind::RecordChanged], page: 1, per_page: 200, ..EventQuery::default() };
    for event in s.events(ONE, &recorded).await.unwrap().events {
        let (item, row) = item(s, ONE, event.domain.as_str()).await;
        assert!(item.last_dns_change_at >= Some(event.at), "{event:?}");
        assert_eq!(row.last_dns_change_at, item.last_dns_change_at);
    }
    let o = observation(s, "alder.example").await;
    let registration = o.registration.value.as_ref().and_then(RegistrationState::registration).unwrap();
    assert_eq!(registration.registrar.iana_id.as_deref(), Some("9994"));
    assert_eq!(registration.registrant_organization.as_deref(), Some("Alder Labs"));
    assert_eq!(registration.provenance["expires"].protocol, Protocol::Rdap);
    assert_eq!(registration.nameservers.as_ref().map(Vec::len), Some(4));
    let levels: Vec<_> = o.findings.iter().map(|f| f.level).collect();
    assert_eq!(levels, [Level::Warning, Level::Error, Level::Notice]);
    let delegation = o.delegation.value.unwrap();
    let health: Vec<_> = delegation.servers.iter().map(|s| s.health).collect();
    let good = ServerHealth::Authoritative;
    assert_eq!(health, [good, good, ServerHealth::Slow, ServerHealth::Lame]);
    assert_eq!(delegation.soa.map(|s| s.refresh), Some(7200));
    let dnssec = o.dnssec.value.unwrap();
    assert_eq!((dnssec.status, dnssec.key_tags.len()), (DnssecStatus::Secure, 2));
    assert_eq!(o.zone.value.unwrap().rrsets.len(), 8);

    let (watched, _) = item(s, ONE, "copperworks-demo.de").await;
    assert_eq!(watched.manual_expires, Some("2027-03-01".parse().unwrap()));
    assert_eq!(watched.ownership, Ownership::Watched);
    let refused = observation(s, "meadow.example").await.registration;
    assert_eq!(refused.error.as_ref().map(|e| e.label.as_str()), Some("refused"));
    let vacant = observation(s, "vacant-demo.com").await.registration.value;
    assert_eq!(vacant, Some(RegistrationState::Available));
    assert_eq!(item(s, ONE, "xn--bcherei-demo-dlb.de").await.1.unicode, "bücherei-demo.de");

    let kept = s.snapshots(ONE, &name("q7.io"), 10).await.unwrap();
    assert_eq!(kept.len(), 3);
    assert!(kept[0].summary[0].contains("clientDeleteProhibited"), "{:?}", kept[0].summary);
    let raw = s.raw(ONE, &name("q7.io"), kept[0].id).await.unwrap();
    assert!(raw.iter().any(|r| r.protocol == Protocol::Whois && r.body.contains("NAMECHEAP")), "{raw:?}");
}

/// What is stored goes on being scanned, recorded and removed.
async fn work_goes_on(s: &dyn Store) {
    let due = s.queue_stats(store::JobKind::Scan, later(24 * 60 * 400)).await.unwrap().due;
    assert_eq!(due, 12, "every domain keeps its place in the schedule");
    add(s, ONE, &["new.example"]).await;
    for n in ["q7.io", "new.example"] {
        let r = scan(s, n, &[crate::world::change("A new one")], now()).await;
        s.record(&r).await.unwrap();
        assert_eq!(s.remove(ONE, &[name(n)], now()).await.unwrap(), 1);
    }
}
