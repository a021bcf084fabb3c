//! The deletion of old rows when there are many: in statements that stay short, and in a way that can be cut off and
//! goes on where it ended. CI prunes 50,000 rows, `cargo xtask bench prune` ten million, with the same code.

use crate::cluster::Cluster;
use crate::saved::{execute, texts};
use crate::world::{ONE, Place, later, now};
use sqlx::Connection;
use std::time::{Duration, Instant};

/// The longest that a statement may take: a sixth of the time limit on PostgreSQL (`open.rs`), and half as long as another
/// process waits for the lock of a SQLite file.
const LONGEST: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 5 });

/// Names with a long history, every second of which is held.
const NAMES: u64 = 1000;

pub async fn many_old_rows_go_in_short_statements_and_after_an_interruption(place: &Place) {
    prune(place, 50_000).await;
}

/// Half of the rows are log entries, a quarter each events and states; every second state is the only one of its name.
async fn fill(place: &Place, rows: u64) {
    let series = |n: u64| match place {
        Place::Sqlite(_) => {
            format!("WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < {n})")
        }
        Place::Postgres(_) => format!("WITH g(i) AS (SELECT generate_series(1::bigint, {n}::bigint))"),
    };
    // Two years ago, a hundred microseconds from one row to the next.
    let from = later(-2 * 365 * 24 * 60).as_microsecond();
    let (half, quarter) = (rows / 2, rows / 4);
    let held = NAMES / 2;
    for sql in [
        format!(
            "{} INSERT INTO items (org, name, unicode, ownership, tags, note, was_delegated, added_at, status, \
             status_rank, row_json) SELECT 1, 'n' || (i * 2), '', 'owned', '[]', '', 0, 0, '{{}}', 0, '{{}}' FROM g",
            series(held)
        ),
        format!(
            "{} INSERT INTO change_log (rv, org, kind, name, op, at) \
             SELECT i, 1, 'item', 'n' || (i % {NAMES}), 'update', {from} + i * 100 FROM g",
            series(half)
        ),
        format!("UPDATE log_head SET head = {half} WHERE id = 1"),
        format!(
            "{} INSERT INTO events (id, org, name, at, kind, severity, json) \
             SELECT i * 2, 1, 'n' || (i % {NAMES} + 1), {from} + i * 100, 'registrar_changed', 1, '{{}}' FROM g",
            series(quarter)
        ),
        format!(
            "{} INSERT INTO snapshots (name, vantage, at, summary, json) \
             SELECT CASE WHEN i % 2 = 0 THEN 'u' || i ELSE 'n' || (i % {NAMES}) END, 'local', {from} + i * 100, '[]', \
             '{{}}' FROM g",
            series(quarter)
        ),
    ] {
        execute(place, &sql).await;
    }
}

async fn count(place: &Place, sql: &'static str) -> u64 {
    texts(place, sql).await.first().and_then(|t| t.parse().ok()).unwrap_or(0)
}

/// The longest that a statement of the store took, as another connection sees it, until the future ends.
async fn longest<T>(place: &Place, work: impl Future<Output = T>) -> (T, Duration) {
    let mut longest = Duration::ZERO;
    let mut work = std::pin::pin!(work);
    match place {
        // A writer waits for the other's statement.
        Place::Sqlite(_) => {
            let beside = place.open().await;
            loop {
                let began = Instant::now();
                tokio::select! {
                    done = &mut work => return (done, longest),
                    written = beside.set_setting(ONE, "probe", "1", now()) => written.expect("gets its turn"),
                }
                longest = longest.max(began.elapsed());
                tokio::task::yield_now().await;
            }
        }
        Place::Postgres(url) => {
            let mut c = sqlx::PgConnection::connect(url).await.expect("connects");
            let ask = "SELECT CAST(COALESCE(MAX(EXTRACT(EPOCH FROM clock_timestamp() - query_start)), 0) AS FLOAT8) \
                       FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'domainscope' \
                       AND state = 'active'";
            loop {
                let seconds: f64 = tokio::select! {
                    done = &mut work => return (done, longest),
                    seconds = sqlx::query_scalar(ask).fetch_one(&mut c) => seconds.expect("answers"),
                };
                longest = longest.max(Duration::from_secs_f64(seconds.max(0.0)));
            }
        }
    }
}

/// Returns when the first entries of the log are gone.
async fn begun(place: &Place) {
    while count(place, "SELECT CAST(MIN(rv) AS TEXT) FROM change_log").await <= 1 {
        tokio::task::yield_now().await;
    }
}

async fn prune(place: &Place, rows: u64) {
    let s = place.open().await;
    let began = Instant::now();
    fill(place, rows).await;
    println!("{rows} rows written in {:.1?}", began.elapsed());
    let left = || async {
        let mut left = 0;
        for sql in [
            "SELECT CAST(COUNT(*) AS TEXT) FROM change_log",
            "SELECT CAST(COUNT(*) AS TEXT) FROM events",
            "SELECT CAST(COUNT(*) AS TEXT) FROM snapshots",
        ] {
            left += count(place, sql).await;
        }
        left
    };
    assert_eq!(left().await, rows);

    let began = Instant::now();
    // Cut off in the midst, as by the end of the process.
    let cut = async {
        tokio::select! {
            biased;
            () = begun(place) => {}
            done = s.prune(now(), 400) => panic!("it ended before it was cut off: {done:?}"),
        }
    };
    let ((), first) = longest(place, cut).await;
    let after = left().await;
    assert!(after > 0 && after < rows, "{after} of {rows} are left");

    let (gone, second) = longest(place, s.prune(now(), 400)).await;
    let took = began.elapsed();
    let longest = first.max(second);
    println!("{rows} rows pruned in {took:.1?}; the longest statement took {longest:.1?}");
    // Probes of SQLite write log entries of today, which stay.
    let fresh = count(place, "SELECT CAST(COUNT(*) AS TEXT) FROM change_log WHERE kind = 'setting'").await;
    // The only state of a name, the newest two of each other, and the newest event of each held name.
    let states = rows / 8 + 2 * (NAMES / 2);
    let events = NAMES / 2;
    assert_eq!(left().await - fresh, states + events);
    assert!(gone.expect("prunes") > 0);
    assert!(longest < LONGEST, "a statement took {longest:?}");
    assert_eq!(s.prune(now(), 400).await.expect("prunes"), 0, "nothing is left");
}

/// `cargo xtask bench prune` runs it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "ten million rows take many minutes"]
async fn ten_million_rows() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    println!("on SQLite");
    prune(&Place::Sqlite(folder.path().join("story.db")), 10_000_000).await;
    let Some(cluster) = Cluster::start("-c fsync=off -c max_wal_size=4GB") else { return };
    println!("on PostgreSQL");
    prune(&Place::Postgres(cluster.database("prune").await), 10_000_000).await;
}
