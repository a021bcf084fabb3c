//! Databases as earlier versions wrote them (`tests/saved`): each opens, migrates, and reads back with every value
//! that was stored.
//!
//! `schema-2.*` were written by version 0.1.0 with schema version 2: twelve domains of the demo lab with renewals,
//! transfers, failures, tags, notes and acknowledged events. `schema-13.*` are the whole demo with schema version 13:
//! organisations, ownership claims, services, channels, rules, messages, feeds, address claims, features and an agent.
//! `schema-16.*` are the demo again, the last in which observations and states were plain JSON; its words are those of
//! form 1 (`stored/mod.rs`). A saved database is never changed; a release that changes the schema or a stored type adds one.

use crate::world::{KEY, ONE, Place, add, item, later, name, now, scan};
use flate2::read::GzDecoder;
use model::dns::{DnssecStatus, ServerHealth};
use model::event::{Event, EventKind, EventQuery, Severity};
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

/// A saved database, in both forms.
struct Saved {
    sqlite: &'static [u8],
    postgres: &'static [u8],
}

const SCHEMA_2: Saved = Saved {
    sqlite: include_bytes!("../saved/schema-2.sqlite3.gz"),
    postgres: include_bytes!("../saved/schema-2.postgres.sql.gz"),
};
const SCHEMA_13: Saved = Saved {
    sqlite: include_bytes!("../saved/schema-13.sqlite3.gz"),
    postgres: include_bytes!("../saved/schema-13.postgres.sql.gz"),
};
const SCHEMA_16: Saved = Saved {
    sqlite: include_bytes!("../saved/schema-16.sqlite3.gz"),
    postgres: include_bytes!("../saved/schema-16.postgres.sql.gz"),
};

/// Puts the saved database where the store will be opened.
async fn restore(saved: &Saved, place: &Place) {
    let mut bytes = Vec::new();
    match place {
        Place::Sqlite(path) => {
            GzDecoder::new(saved.sqlite).read_to_end(&mut bytes).expect("unpacks");
            std::fs::write(path, bytes).expect("writes");
            std::fs::write(path.with_extension("key"), KEY).expect("writes");
        }
        Place::Postgres(url) => {
            GzDecoder::new(saved.postgres).read_to_end(&mut bytes).expect("unpacks");
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

/// How often each scalar stands in some JSON texts, with the keys above it if `keys`. `null` and `false` may be what a
/// type says by leaving a field out.
fn scalars<'a>(texts: impl IntoIterator<Item = &'a String>, keys: bool) -> BTreeMap<String, usize> {
    fn collect(path: &str, v: &Value, keys: bool, out: &mut BTreeMap<String, usize>) {
        match v {
            Value::Null | Value::Bool(false) => {}
            Value::Array(a) => a.iter().for_each(|v| collect(path, v, keys, out)),
            Value::Object(o) if keys => {
                o.iter().for_each(|(k, v)| collect(&format!("{path}{k}/"), v, keys, out));
            }
            Value::Object(o) => o.values().for_each(|v| collect(path, v, keys, out)),
            scalar => *out.entry(format!("{path}{scalar}")).or_default() += 1,
        }
    }
    let mut out = BTreeMap::new();
    for text in texts {
        collect("", &serde_json::from_str(text).expect("stored JSON"), keys, &mut out);
    }
    out
}

/// How what was stored is compared with what is read and written again.
type Compare = fn(&str, &[String], &[String]);

/// Every scalar that was stored was read, so no field was renamed or dropped without a way to read the old one.
fn assert_nothing_is_lost(what: &str, stored: &[String], read: &[String]) {
    assert_found(what, scalars(stored, false), &scalars(read, false));
}

/// Every scalar is written again under the same keys.
fn assert_same_words(what: &str, stored: &[String], read: &[String]) {
    assert_found(what, scalars(stored, true), &scalars(read, true));
}

fn assert_found(what: &str, stored: BTreeMap<String, usize>, read: &BTreeMap<String, usize>) {
    for (scalar, n) in stored {
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

/// Reads all that is kept of the domains of the first organisation, compares it with what is stored, and returns the
/// events.
async fn domains_read_whole(place: &Place, s: &dyn Store, domains: usize, compare: Compare) -> Vec<Event> {
    let page = s.list(ONE, &ListQuery { per_page: 100, ..ListQuery::default() }, now()).await.unwrap();
    assert_eq!((page.total as usize, page.rows.len()), (domains, domains));

    let mut read: [Vec<String>; 6] = Default::default();
    for row in &page.rows {
        let n = row.name.as_str();
        let (item, row) = item(s, ONE, n).await;
        read[0].push(text(&row));
        read[1].push(text(&item.status));
        read[2].push(text(&observation(s, n).await));
        for meta in s.snapshots(ONE, &row.name, 100).await.unwrap() {
            read[3].push(text(&meta.summary));
            read[4].push(text(&s.snapshot(ONE, &row.name, meta.id).await.unwrap().observation));
            read[5].push(text(&s.raw(ONE, &row.name, meta.id).await.unwrap()));
        }
    }
    let events = s.events(ONE, &EventQuery { per_page: 100, ..EventQuery::default() }).await.unwrap().events;
    let changes: Vec<_> = events.iter().map(|e| text(&e.change)).collect();
    let columns = [
        "SELECT row_json FROM items WHERE org = 1",
        "SELECT status FROM items WHERE org = 1",
        "SELECT json FROM observations",
        "SELECT summary FROM snapshots",
        "SELECT json FROM snapshots",
        "SELECT json FROM raw_answers",
    ];
    for (sql, read) in columns.into_iter().zip(&read) {
        compare(sql, &texts(place, sql).await, read);
    }
    let sql = "SELECT json FROM events WHERE org = 1";
    compare(sql, &texts(place, sql).await, &changes);
    events
}

pub async fn a_database_of_schema_2_reads_as_it_did(place: &Place) {
    restore(&SCHEMA_2, place).await;
    let s = place.open().await;
    let events = domains_read_whole(place, &*s, 12, assert_nothing_is_lost).await;
    assert_eq!(events.len(), 18);
    let newest = &events[0];
    assert_eq!((newest.change.kind, newest.change.severity), (EventKind::StatusRemoved, Severity::Info));
    assert_eq!(newest.domain.as_str(), "tidewater.example");
    assert_eq!(newest.acknowledged.as_ref().map(|a| a.by.as_str()), Some("Demo visitor"));
    assert_eq!(events.iter().filter(|e| e.acknowledged.is_some()).count(), 2);
    values(&*s).await;
    let due = s.queue_stats(store::JobKind::Scan, later(24 * 60 * 400)).await.unwrap().due;
    assert_eq!(due, 12, "every domain keeps its place in the schedule");
    work_goes_on(&*s).await;
}

pub async fn a_database_of_schema_13_reads_as_it_did(place: &Place) {
    restore(&SCHEMA_13, place).await;
    let s = place.open().await;
    let events = domains_read_whole(place, &*s, 66, assert_nothing_is_lost).await;
    assert_eq!(events.len(), 17);
    assert!(events.iter().any(|e| e.domain.as_str() == "q7.io" && e.change.kind == EventKind::Renewed));

    further_objects(place, &*s, (6, 6), assert_nothing_is_lost).await;

    // Encrypted with the key beside the database, or given for PostgreSQL.
    s.check_channels().await.unwrap();
    let channels = s.channels(ONE).await.unwrap();
    let names: Vec<_> = channels.iter().map(|c| c.name.as_str()).collect();
    assert!(names.contains(&"Chat bridge"), "{names:?}");
    assert!(s.rules(ONE).await.unwrap().iter().any(|r| r.name == "Expired domains"));
    assert!(!s.failed_notifications(Some(ONE), 10).await.unwrap().is_empty());

    let numbers = s.network_claim(ONE, "saved").await.unwrap().expect("the address claim");
    assert_eq!(numbers.spec.address_space.len(), 1);
    let cover = s.covering(ONE, &["198.18.0.77".parse().unwrap()]).await.unwrap();
    assert_eq!(cover[0].as_ref().map(|c| c.claim.as_str()), Some("saved"));

    let tokens = s.tokens(ONE).await.unwrap();
    assert!(tokens.iter().any(|t| t.name == "saved"), "{tokens:?}");
    let members = s.members(ONE).await.unwrap();
    assert!(members.iter().any(|m| m.user.email == "mira@alder.example"), "{members:?}");
    assert!(s.agents().await.unwrap().iter().any(|a| a.id == "lab-2"));
    work_goes_on(&*s).await;
}

/// The last database of plain JSON. What today's types write has its words: a change that renames a field or a variant that is
/// stored raises `stored::FORM` and writes the step from the form before, then saves a database and compares with that.
pub async fn todays_words_are_the_stored_words(place: &Place) {
    restore(&SCHEMA_16, place).await;
    let s = place.open().await;
    let events = domains_read_whole(place, &*s, 66, assert_same_words).await;
    assert_eq!(events.len(), 15);
    further_objects(place, &*s, (5, 5), assert_same_words).await;
    work_goes_on(&*s).await;
    // States that were plain and became differences read as they did.
    let before = observation(&*s, "alder.example").await;
    for at in 1..4 {
        let mut r = scan(&*s, "alder.example", &[], later(at)).await;
        (r.observation, r.snapshot) = (before.clone(), Some(vec![]));
        s.record(&r).await.unwrap();
    }
    let kept = s.snapshots(ONE, &name("alder.example"), 10).await.unwrap();
    assert_eq!(kept.len(), 4);
    for meta in kept {
        let state = s.snapshot(ONE, &name("alder.example"), meta.id).await.unwrap().observation;
        assert_eq!(state.registration.value, before.registration.value);
    }
}

/// Services and ownership claims, of which there are so many.
async fn further_objects(place: &Place, s: &dyn Store, n: (usize, usize), compare: Compare) {
    let mut services = Vec::new();
    for name in texts(place, "SELECT DISTINCT name FROM services WHERE org = 1").await {
        services.extend(s.services(ONE, &crate::world::name(&name)).await.unwrap());
    }
    let services: Vec<_> = services.iter().map(|v| text(&v.service)).collect();
    assert_eq!(services.len(), n.0);
    compare("services", &texts(place, "SELECT json FROM services").await, &services);

    let claims = s.all_claims("", 100).await.unwrap();
    assert_eq!(claims.len(), n.1);
    let read: Vec<_> = claims.iter().map(|c| text(&c.claim)).collect();
    compare("claims", &texts(place, "SELECT json FROM claims").await, &read);
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
    add(s, ONE, &["new.example"]).await;
    for n in ["q7.io", "new.example"] {
        let r = scan(s, n, &[crate::world::change("A new one")], now()).await;
        s.record(&r).await.unwrap();
        assert_eq!(s.remove(ONE, &[name(n)], now()).await.unwrap(), 1);
    }
}
