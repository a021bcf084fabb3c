//! What keeps the transition of a feature where it is: a process that reports the old value, and deletions that do not end.

use crate::world::{Place, World};
use jiff::Timestamp;
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use store::Store;

/// Processes that report the old value of features, for as long as they live: transitions wait for them.
pub struct Holder {
    task: tokio::task::JoinHandle<()>,
    store: Arc<dyn Store>,
    ids: Vec<String>,
}

impl Holder {
    /// Of these names, each with what it reports.
    pub async fn start(store: &Arc<dyn Store>, uses: Vec<(String, BTreeMap<String, bool>)>) -> Holder {
        let ids = uses.iter().map(|(id, _)| id.clone()).collect();
        let process = |(id, uses)| ::features::Process {
            id,
            version: env!("CARGO_PKG_VERSION").into(),
            started_at: Timestamp::now(),
            seen_at: Timestamp::now(),
            uses,
            lacks: BTreeSet::new(),
            fixed: BTreeMap::new(),
            unable: BTreeSet::new(),
        };
        let mut processes: Vec<_> = uses.into_iter().map(process).collect();
        for process in &processes {
            store.announce(process).await.unwrap();
        }
        let to = store.clone();
        let task = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                for process in &mut processes {
                    process.seen_at = Timestamp::now();
                    to.announce(process).await.unwrap();
                }
            }
        });
        Holder { task, store: store.clone(), ids }
    }

    pub async fn end(self) {
        self.task.abort();
        // An announcement that has begun would bring it back.
        let _ = self.task.await;
        for id in &self.ids {
            self.store.retire(Some(id), Timestamp::UNIX_EPOCH).await.unwrap();
        }
    }
}

/// Tables in which deletions are held up.
pub enum Hold {
    /// A lock: the statement of the killed process is under way.
    Postgres(PgConnection),
    /// Triggers that refuse the deletion: the process repeats it every second. SQLite has one lock for all tables.
    /// The log up to the triggers says nothing about them.
    Sqlite(SqliteConnection, BTreeSet<&'static str>, usize),
}

impl Hold {
    pub async fn start(place: &Place, world: &World, tables: BTreeSet<&'static str>) -> Hold {
        match place {
            Place::Postgres(url) => {
                let mut c = PgConnection::connect(url).await.unwrap();
                let list = tables.into_iter().collect::<Vec<_>>().join(", ");
                let sql = format!("BEGIN; LOCK TABLE {list} IN EXCLUSIVE MODE");
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut c).await.unwrap();
                Hold::Postgres(c)
            }
            Place::Folder(folder) => {
                let url = format!("sqlite:{folder}/domainscope.db");
                let mut c = SqliteConnection::connect(&url).await.unwrap();
                for table in &tables {
                    let sql = format!(
                        "CREATE TRIGGER hold_{table} BEFORE DELETE ON {table} BEGIN SELECT RAISE(ABORT, 'hold-of-the-test'); END"
                    );
                    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut c).await.unwrap();
                }
                Hold::Sqlite(c, tables, world.log_text().len())
            }
        }
    }

    /// Whether a server is at the deletion.
    pub async fn is_reached(&self, place: &Place, world: &World) -> bool {
        match self {
            Hold::Postgres(_) => {
                let Place::Postgres(url) = place else { return false };
                let mut c = PgConnection::connect(url).await.unwrap();
                let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'domainscope' \
                           AND wait_event_type = 'Lock' AND wait_event = 'relation'";
                sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut c).await.unwrap() > 0
            }
            Hold::Sqlite(_, _, from) => world.log_text()[*from..].contains("hold-of-the-test"),
        }
    }

    pub async fn end(self) {
        match self {
            Hold::Postgres(mut c) => {
                sqlx::raw_sql("ROLLBACK").execute(&mut c).await.unwrap();
            }
            Hold::Sqlite(mut c, tables, _) => {
                for table in tables {
                    let sql = format!("DROP TRIGGER hold_{table}");
                    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut c).await.unwrap();
                }
            }
        }
    }
}
