//! The change log under many writers, and the schema.

use crate::world::{ONE, Place, TWO, add, change, later, log, name, new, now, scan};
use model::ids::LogPosition;
use model::item::ItemPatch;
use sqlx::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::{Error, LogRead};

pub async fn a_reader_of_the_log_misses_nothing(place: &Place) {
    const WRITERS: usize = 8;
    let s = place.open().await;
    add(&*s, ONE, &["shared.example"]).await;
    let working = Arc::new(AtomicUsize::new(WRITERS));
    let mut writers = tokio::task::JoinSet::new();
    for w in 0..WRITERS {
        let (s, working) = (place.open().await, working.clone());
        writers.spawn(async move {
            let org = if w % 2 == 0 { ONE } else { TWO };
            for i in 0..12 {
                let n = format!("w{w}-{i}.example");
                // Transactions of different lengths, so that they would overtake each other.
                s.add(org, &(0..=i).map(|k| new(&format!("k{k}-{n}"))).collect::<Vec<_>>(), now())
                    .await
                    .unwrap();
                let patch = ItemPatch { note: Some(n.clone()), ..ItemPatch::default() };
                s.patch(org, &name(&format!("k0-{n}")), &patch, now()).await.unwrap();
                // All scan one name: some lose the race and try again.
                loop {
                    let r = scan(&*s, "shared.example", &[change(&n)], now()).await;
                    match s.record(&r).await {
                        Ok(_) => break,
                        Err(Error::Conflict) => {}
                        Err(e) => panic!("{e}"),
                    }
                }
                s.remove(org, &[name(&format!("k0-{n}"))], now()).await.unwrap();
            }
            working.fetch_sub(1, Ordering::SeqCst);
        });
    }
    // A reader that goes on from the last place it saw, as live pages do.
    let (mut seen, mut cursor) = (Vec::new(), LogPosition(0));
    loop {
        let done = working.load(Ordering::SeqCst) == 0;
        let some = log(&*s, None, cursor, 50).await;
        if some.is_empty() && done {
            break;
        }
        cursor = some.last().map_or(cursor, |e| e.rv);
        seen.extend(some);
    }
    writers.join_all().await;
    let all = log(&*s, None, LogPosition(0), 100_000).await;
    assert_eq!(seen, all);
    assert_eq!(cursor, s.head().await.unwrap());
    assert!(all.windows(2).all(|w| w[1].rv.0 == w[0].rv.0 + 1), "no number is lost either");
    let events = all.iter().filter(|e| e.kind == "event").count();
    assert_eq!(events, WRITERS * 12, "every scan that was recorded said so once");
    let of_two = log(&*s, Some(TWO), LogPosition(0), 100_000).await;
    assert_eq!(of_two, all.iter().filter(|e| e.org == TWO).cloned().collect::<Vec<_>>());
}

pub async fn a_reader_below_the_pruned_part_is_told_to_read_anew(place: &Place) {
    let s = place.open().await;
    // More than one step of the pruning.
    let names: Vec<String> = (0..2500).map(|i| format!("n{i}.example")).collect();
    add(&*s, ONE, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let middle = LogPosition(1200);
    assert_eq!(log(&*s, Some(ONE), middle, 9999).await.len(), 1300);
    assert_eq!(s.prune_log(later(60), 400).await.unwrap(), 0, "nothing is a day old");
    assert_eq!(s.prune_log(later(25 * 60), 400).await.unwrap(), 2500);
    let head = s.head().await.unwrap();
    for org in [None, Some(ONE), Some(TWO)] {
        assert_eq!(s.log_since(org, middle, 9999).await.unwrap(), LogRead::ReadAnew);
        assert_eq!(s.log_since(org, head, 9999).await.unwrap(), LogRead::Entries(vec![]));
        // A position of another copy of the database.
        assert_eq!(s.log_since(org, LogPosition(head.0 + 1), 9).await.unwrap(), LogRead::ReadAnew);
    }
    add(&*s, ONE, &["next.example"]).await;
    assert_eq!(log(&*s, None, head, 9999).await.len(), 1);
}

/// Runs a statement behind the store's back.
async fn run(place: &Place, sql: &'static str) {
    match place {
        Place::Sqlite(p) => {
            let mut c = sqlx::SqliteConnection::connect(&format!("sqlite:{}", p.display())).await.unwrap();
            sqlx::raw_sql(sql).execute(&mut c).await.unwrap();
        }
        Place::Postgres(url) => {
            let mut c = sqlx::PgConnection::connect(url).await.unwrap();
            sqlx::raw_sql(sql).execute(&mut c).await.unwrap();
        }
    }
}

pub async fn migrations_run_once_and_forward(place: &Place) {
    // Several replicas start at once on an empty database.
    let (a, b, c) = tokio::join!(place.open(), place.open(), place.open());
    for s in [&a, &b, &c] {
        s.ping().await.unwrap();
    }
    add(&*a, ONE, &["a.example"]).await;
    drop((a, b, c));
    // The next start finds everything in its place.
    let s = place.open().await;
    assert!(s.item(ONE, &name("a.example")).await.unwrap().is_some());
    assert_eq!(s.head().await.unwrap(), LogPosition(1));
    // An older program refuses what a newer one wrote, and says what to do.
    run(place, "INSERT INTO schema_versions (version, applied_at) VALUES (999, 0)").await;
    let refused = match place {
        Place::Sqlite(p) => store::open_sqlite(p).await.err(),
        Place::Postgres(url) => store::open_postgres(url, None).await.err(),
    };
    assert!(matches!(&refused, Some(Error::Broken(why)) if why.contains("999")), "{refused:?}");
}
