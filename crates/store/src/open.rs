//! Opening a database: pools, their settings and time limits, migrations. In: a path or URL; out: the store.

use crate::api::{Error, Result, Store};
use crate::db::Db;
use crate::index::Indexes;
use crate::jobs::Completer;
use crate::migrate;
use crate::record::Recorder;
use crate::resources::SpaceCache;
use crate::seal::SecretKey;
use crate::store::Database;
use sqlx::Connection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for a connection, and on SQLite for the writer's turn.
const ACQUIRE: Duration = Duration::from_secs(30);
/// Longest wait for another process's lock on a SQLite file.
const BUSY: Duration = Duration::from_secs(10);
/// Between two attempts to open a SQLite file that is locked.
const PAUSE: Duration = Duration::from_millis(20);
/// Connections that read a SQLite file at the same time.
const SQLITE_READERS: u32 = 4;
/// Pages that each connection to a SQLite file keeps, as negative kilobytes: what it does not keep, the system's cache of
/// the file does, once for all of them.
const CACHE: &str = "-8192";
/// Statements that each connection keeps prepared. Those of scans that are recorded together exist once for each number
/// of scans.
const STATEMENTS: usize = 256;
/// Connections to PostgreSQL.
const POSTGRES_CONNECTIONS: u32 = 16;
/// A connection to PostgreSQL that was idle for longer is tested before it is used.
const IDLE: Duration = Duration::from_secs(1);
/// Name of the database file in a data folder.
const FILE: &str = "domainscope.db";

/// Opens a SQLite file, creating it and its folder when missing, and brings it to the newest schema.
pub async fn open_sqlite(path: &Path) -> Result<Arc<dyn Store>> {
    sqlite_with(path, None).await
}

/// Opens a PostgreSQL database by URL and brings it to the newest schema. Without a key, channels can't be saved.
pub async fn open_postgres(url: &str, key: Option<SecretKey>) -> Result<Arc<dyn Store>> {
    store(postgres(url).await?, key).await
}

/// Opens what is named: a `postgres://` or `postgresql://` URL, `sqlite:` and a file, or a data folder, in which
/// the file is `domainscope.db`.
pub async fn open(url_or_dir: &str) -> Result<Arc<dyn Store>> {
    open_with(url_or_dir, None).await
}

/// The same with a key for the secrets in it. Without one, the key of an embedded database is in a file beside it
/// (`domainscope.key`), which is made when it is missing.
pub async fn open_with(url_or_dir: &str, key: Option<SecretKey>) -> Result<Arc<dyn Store>> {
    if url_or_dir.starts_with("postgres://") || url_or_dir.starts_with("postgresql://") {
        open_postgres(url_or_dir, key).await
    } else if let Some(file) = url_or_dir.strip_prefix("sqlite:") {
        sqlite_with(Path::new(file.strip_prefix("//").unwrap_or(file)), key).await
    } else {
        sqlite_with(&Path::new(url_or_dir).join(FILE), key).await
    }
}

async fn sqlite_with(path: &Path, key: Option<SecretKey>) -> Result<Arc<dyn Store>> {
    let db = sqlite(path).await?;
    let key = match key {
        Some(key) => key,
        None => {
            let file = path.with_extension("key");
            let made = tokio::task::spawn_blocking(move || SecretKey::of_file(&file)).await;
            made.map_err(|e| Error::Broken(format!("the key file: {e}")))??
        }
    };
    store(db, Some(key)).await
}

async fn store(db: Db, key: Option<SecretKey>) -> Result<Arc<dyn Store>> {
    if let Some(key) = &key {
        crate::alerts::seal_all(&db, key).await?;
    }
    Ok(Arc::new(Database {
        indexes: Indexes::default(),
        space: SpaceCache::default(),
        recorder: Recorder::new(db.clone()),
        completer: Completer::new(db.clone()),
        db,
        key,
    }))
}

pub(crate) async fn sqlite(path: &Path) -> Result<Db> {
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
        let made = tokio::fs::create_dir_all(folder).await;
        made.map_err(|e| Error::Unavailable(format!("{}: {e}", folder.display())))?;
    }
    // WAL with NORMAL: a killed process loses nothing; a power cut may lose the last commits, never the file.
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .foreign_keys(true)
        .busy_timeout(BUSY)
        .statement_cache_capacity(STATEMENTS)
        .pragma("cache_size", CACHE)
        .pragma("temp_store", "MEMORY");
    let pool = || {
        SqlitePoolOptions::new()
            .acquire_timeout(ACQUIRE)
            .idle_timeout(None)
            .max_lifetime(None)
            // A file does not hang up.
            .test_before_acquire(false)
            // SQLite ends a transaction by itself when the disk is full or fails; the driver then takes it for open
            // and would refuse every later one on this connection. Such a connection is replaced.
            .before_acquire(|connection, _| Box::pin(async move { Ok(!connection.is_in_transaction()) }))
    };
    let writer = patient(|| pool().max_connections(1).connect_with(options.clone())).await?;
    let reading = options.clone().create_if_missing(false).pragma("query_only", "ON");
    let readers = patient(|| pool().max_connections(SQLITE_READERS).connect_with(reading.clone())).await?;
    let db = Db::Sqlite { readers, writer };
    migrate::run(&db, migrate::MIGRATIONS).await?;
    Ok(db)
}

/// Connects, and again while the file is locked, for as long as `BUSY`: of two that convert a new file to WAL at the same
/// time SQLite refuses one at once, without the wait that was set.
async fn patient<T, F>(connect: impl Fn() -> F) -> Result<T>
where
    F: Future<Output = sqlx::Result<T>>,
{
    let start = tokio::time::Instant::now();
    loop {
        match connect().await {
            Err(sqlx::Error::Database(e)) if is_busy(&*e) && start.elapsed() < BUSY => {
                tokio::time::sleep(PAUSE).await;
            }
            connected => return Ok(connected?),
        }
    }
}

/// Whether SQLite says `SQLITE_BUSY`, the low octet of its extended result codes.
fn is_busy(e: &dyn sqlx::error::DatabaseError) -> bool {
    e.code().and_then(|c| c.parse::<i32>().ok()).is_some_and(|c| c & 0xff == 5)
}

pub(crate) async fn postgres(url: &str) -> Result<Db> {
    let options: PgConnectOptions =
        url.parse().map_err(|e: sqlx::Error| Error::Unavailable(format!("the database URL: {e}")))?;
    let options = options.application_name("domainscope").statement_cache_capacity(STATEMENTS).options([
        ("statement_timeout", "60s"),
        ("lock_timeout", "20s"),
        ("idle_in_transaction_session_timeout", "60s"),
        // No statement here is long enough to be worth compiling.
        ("jit", "off"),
    ]);
    let pool = PgPoolOptions::new()
        .acquire_timeout(ACQUIRE)
        .max_connections(POSTGRES_CONNECTIONS)
        // One that was used a moment ago is taken for alive: asking would be one exchange more for every statement.
        .test_before_acquire(false)
        .before_acquire(|connection, it| {
            Box::pin(async move {
                if it.idle_for > IDLE {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
        .connect_with(options)
        .await?;
    let db = Db::Postgres(pool);
    migrate::run(&db, migrate::MIGRATIONS).await?;
    Ok(db)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_cannot_be_opened_says_whether_trying_again_helps() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("not-a-database");
        std::fs::write(&file, "this is a letter, and a long one, to the editor\n".repeat(100)).unwrap();
        assert!(matches!(open_sqlite(&file).await.err(), Some(Error::Broken(_))));
        assert!(matches!(open_sqlite(&file.join("below/x.db")).await.err(), Some(Error::Unavailable(_))));
        let no_server = format!("postgres://x@localhost/x?host={}", folder.path().display());
        assert!(matches!(open_postgres(&no_server, None).await.err(), Some(Error::Unavailable(_))));
        assert!(matches!(open("postgres://[").await.err(), Some(Error::Unavailable(_))));
    }

    #[tokio::test]
    async fn a_disk_that_was_full_is_written_to_again_once_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let db = sqlite(&folder.path().join("x.db")).await.unwrap();
        db.write("CREATE TABLE heap (t TEXT)", vec![]).await.unwrap();
        // The writer's connection may grow its file no further.
        db.write("PRAGMA max_page_count = 1", vec![]).await.unwrap();
        let mut tx = db.begin().await.unwrap();
        let fill = "INSERT INTO heap VALUES (hex(zeroblob(400000)))";
        assert!(matches!(tx.execute(fill, vec![]).await, Err(Error::Unavailable(_))));
        drop(tx);
        // A new connection knows no such bound: there is room again.
        let mut tx = db.begin().await.unwrap();
        tx.execute("INSERT INTO heap VALUES ('after')", vec![]).await.unwrap();
        tx.commit().await.unwrap();
        let rows = db.rows("SELECT t FROM heap", vec![]).await.unwrap();
        assert_eq!(rows.len(), 1);
    }

    /// A new file is converted to WAL by whoever opens it; the others wait until it is.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_new_file_can_be_opened_by_many_at_once() {
        for _ in 0..4 {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("new.db");
            let opened = futures::future::join_all((0..16).map(|_| {
                let file = file.clone();
                tokio::spawn(async move { sqlite(&file).await.map(drop) })
            }));
            for one in opened.await {
                one.unwrap().unwrap();
            }
        }
    }

    #[tokio::test]
    async fn a_folder_or_a_file_can_be_named() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("data/deeper");
        open(deep.to_str().unwrap()).await.unwrap().ping().await.unwrap();
        assert!(deep.join(FILE).is_file());
        let file = folder.path().join("other.db");
        open(&format!("sqlite:{}", file.display())).await.unwrap().ping().await.unwrap();
        open(&format!("sqlite://{}", file.display())).await.unwrap().ping().await.unwrap();
        assert!(file.is_file());
    }
}
