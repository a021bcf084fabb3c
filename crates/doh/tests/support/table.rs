//! A backend that answers from a table and counts how often it is asked.

use super::{Hand, name};
use async_trait::async_trait;
use axum::Router;
use dns::wire::{Data, Name, Rr, Rtype, SoaData};
use doh::{Backend, Bounds, Entry, Exposure, Resolver, Security};
use jiff::Timestamp;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub fn a(owner: &str, ttl: u32, last: u8) -> Rr {
    let raw = vec![192, 0, 2, last];
    Rr { name: name(owner), rtype: Rtype::A, class: 1, ttl, raw, data: Data::A([192, 0, 2, last].into()) }
}

fn cname(owner: &str, ttl: u32, to: &str) -> Rr {
    let (raw, data) = (name(to).to_wire(), Data::Cname(name(to)));
    Rr { name: name(owner), rtype: Rtype::CNAME, class: 1, ttl, raw, data }
}

pub fn soa(owner: &str, ttl: u32, minimum: u32) -> Rr {
    let (mname, rname) = (name("ns.example"), name("host.example"));
    let mut raw = [mname.to_wire(), rname.to_wire()].concat();
    for number in [1, 2, 3, 4, minimum] {
        raw.extend(u32::to_be_bytes(number));
    }
    let data = Data::Soa(SoaData { mname, rname, serial: 1, refresh: 2, retry: 3, expire: 4, minimum });
    Rr { name: name(owner), rtype: Rtype::SOA, class: 1, ttl, raw, data }
}

/// A table of answers that counts how often it is asked.
#[derive(Default)]
struct Table {
    asked: AtomicUsize,
    rows: Mutex<HashMap<(Name, Rtype), Entry>>,
    /// How long each answer takes, in the runtime's (paused) time.
    delay: Mutex<Duration>,
}

#[async_trait]
impl Backend for Table {
    async fn look_up(&self, name: &Name, rtype: Rtype, _: bool, now: Timestamp) -> Entry {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let delay = *self.delay.lock().unwrap();
        tokio::time::sleep(delay).await;
        let rows = self.rows.lock().unwrap();
        match rows.get(&(name.clone(), rtype)) {
            Some(entry) => Entry { since: now, ..entry.clone() },
            None => Entry::failure(now, 22, "no one answers"),
        }
    }
}

pub fn entry(rcode: u16, answers: Vec<Rr>, authority: Vec<Rr>, ttl: u32) -> Entry {
    let failure = Entry::failure(Timestamp::UNIX_EPOCH, 0, "");
    Entry { rcode, answers, authority, ttl, explained: None, ..failure }
}

fn rows() -> HashMap<(Name, Rtype), Entry> {
    let mut rows = HashMap::new();
    let mut put = |owner: &str, rtype, entry| rows.insert((name(owner), rtype), entry);
    put(
        "www.example",
        Rtype::A,
        entry(0, vec![a("www.example", 300, 1), a("www.example", 300, 2)], vec![], 300),
    );
    put(
        "safe.example",
        Rtype::A,
        Entry { security: Security::Secure, ..entry(0, vec![a("safe.example", 60, 9)], vec![], 60) },
    );
    let bogus = Security::Bogus("the signature is false".into());
    put(
        "bogus.example",
        Rtype::A,
        Entry { security: bogus, ..entry(0, vec![a("bogus.example", 30, 6)], vec![], 30) },
    );
    let alias = |owner: &str, to: &str, ttl| Entry {
        next: Some(name(to)),
        ..entry(0, vec![cname(owner, ttl, to)], vec![], ttl)
    };
    put("alias.example", Rtype::A, alias("alias.example", "www.example", 40));
    put("one.example", Rtype::A, alias("one.example", "two.example", 40));
    put("two.example", Rtype::A, alias("two.example", "one.example", 40));
    put("none.example", Rtype::A, entry(3, vec![], vec![soa("example", 120, 120)], 120));
    put("www.example", Rtype::AAAA, entry(0, vec![], vec![soa("example", 120, 120)], 120));
    put("dangling.example", Rtype::A, alias("dangling.example", "none.example", 500));
    rows
}

pub struct Site {
    pub router: Router,
    table: Arc<Table>,
    pub hand: Hand,
    pub resolver: Resolver,
}

pub fn site_with(bounds: &Bounds, delay: Duration, exposure: Exposure, encrypted: bool) -> Site {
    let table = Arc::new(Table { rows: Mutex::new(rows()), delay: Mutex::new(delay), ..Table::default() });
    let hand = Hand::at("2026-11-20T12:00:00Z");
    let resolver = Resolver::new(table.clone(), bounds, hand.clock());
    Site { router: doh::router(resolver.clone(), exposure, encrypted), table, hand, resolver }
}

pub fn site() -> Site {
    site_with(&Bounds { rate: 0, ..Bounds::default() }, Duration::ZERO, Exposure::All, false)
}

impl Site {
    /// From now on the backend says this; nothing of it when `None`.
    pub fn now_says(&self, owner: &str, rtype: Rtype, entry: Option<Entry>) {
        let key = (name(owner), rtype);
        let mut rows = self.table.rows.lock().unwrap();
        match entry {
            Some(entry) => rows.insert(key, entry),
            None => rows.remove(&key),
        };
    }

    /// No one answers any more, until [`Site::recover`].
    pub fn fall_silent(&self) {
        self.table.rows.lock().unwrap().clear();
    }

    pub fn recover(&self) {
        *self.table.rows.lock().unwrap() = rows();
    }

    /// From now on each answer takes so long.
    pub fn slow(&self, delay: Duration) {
        *self.table.delay.lock().unwrap() = delay;
    }

    pub fn asked(&self) -> usize {
        self.table.asked.load(Ordering::SeqCst)
    }
}
