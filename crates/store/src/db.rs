//! The two databases behind one interface, so that every statement of the store is written once.
//!
//! Columns are BIGINT or TEXT, or bytes where a text is packed; placeholders are `$1`, `$2`, ... (both databases read them), and what differs
//! is here: how a transaction begins, how a list of texts is bound, how rows are locked.

use crate::api::{Error, Result};
use futures::TryStreamExt as _;
use sqlx::postgres::{PgPool, PgRow, Postgres};
use sqlx::sqlite::{Sqlite, SqlitePool, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _, Transaction};
use std::borrow::Cow;

/// A statement. Built of literals and numbered placeholders only; values are always bound.
pub(crate) type Sql = Cow<'static, str>;

/// A value to bind.
#[derive(Debug, Clone)]
pub(crate) enum Arg {
    Int(Option<i64>),
    Text(Option<String>),
    Bytes(Vec<u8>),
    /// A list for [`Db::any`].
    Texts(Vec<String>),
}

/// PostgreSQL refuses NUL in texts; what the store is given from outside may hold one.
fn clean(s: String) -> String {
    if s.contains('\0') { s.replace('\0', "\u{fffd}") } else { s }
}

impl From<i64> for Arg {
    fn from(v: i64) -> Self {
        Arg::Int(Some(v))
    }
}
impl From<Option<i64>> for Arg {
    fn from(v: Option<i64>) -> Self {
        Arg::Int(v)
    }
}
impl From<bool> for Arg {
    fn from(v: bool) -> Self {
        Arg::Int(Some(i64::from(v)))
    }
}
impl From<&str> for Arg {
    fn from(v: &str) -> Self {
        Arg::Text(Some(clean(v.to_string())))
    }
}
impl From<String> for Arg {
    fn from(v: String) -> Self {
        Arg::Text(Some(clean(v)))
    }
}
impl From<Option<String>> for Arg {
    fn from(v: Option<String>) -> Self {
        Arg::Text(v.map(clean))
    }
}
impl From<Vec<u8>> for Arg {
    fn from(v: Vec<u8>) -> Self {
        Arg::Bytes(v)
    }
}
impl From<Vec<String>> for Arg {
    fn from(v: Vec<String>) -> Self {
        Arg::Texts(v.into_iter().map(clean).collect())
    }
}

/// `args![a, b]`: the values of `$1`, `$2`.
macro_rules! args {
    ($($v:expr),* $(,)?) => { vec![$($crate::db::Arg::from($v)),*] };
}
pub(crate) use args;

/// A row of an answer.
pub(crate) enum Cells {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

macro_rules! cell {
    ($self:ident, $i:ident, $t:ty) => {
        match $self {
            Cells::Sqlite(r) => r.try_get::<$t, _>($i),
            Cells::Postgres(r) => r.try_get::<$t, _>($i),
        }
        .map_err(Error::from)
    };
}

impl Cells {
    pub(crate) fn int(&self, i: usize) -> Result<i64> {
        cell!(self, i, i64)
    }
    pub(crate) fn int_or_null(&self, i: usize) -> Result<Option<i64>> {
        cell!(self, i, Option<i64>)
    }
    pub(crate) fn text(&self, i: usize) -> Result<String> {
        cell!(self, i, String)
    }
    pub(crate) fn bytes_or_null(&self, i: usize) -> Result<Option<Vec<u8>>> {
        cell!(self, i, Option<Vec<u8>>)
    }
    pub(crate) fn text_or_null(&self, i: usize) -> Result<Option<String>> {
        cell!(self, i, Option<String>)
    }
}

/// Binds values to a statement of one database; `$list` says how a list of texts is bound there.
macro_rules! bound {
    ($db:ty, $sql:expr, $args:expr, $list:expr) => {{
        let mut query = sqlx::query::<$db>(AssertSqlSafe($sql));
        for arg in $args {
            query = match arg {
                Arg::Int(v) => query.bind(v),
                Arg::Text(v) => query.bind(v),
                Arg::Bytes(v) => query.bind(v),
                Arg::Texts(v) => query.bind($list(v)),
            };
        }
        query
    }};
}

fn json_list(v: Vec<String>) -> String {
    serde_json::Value::from(v).to_string()
}

/// Runs a statement on something of either database and gives its rows or the number of rows touched.
macro_rules! run {
    ($sqlite:expr, $sql:expr, $args:expr, $method:ident, Sqlite) => {
        bound!(Sqlite, $sql, $args, json_list).$method($sqlite).await
    };
    ($pg:expr, $sql:expr, $args:expr, $method:ident, Postgres) => {
        bound!(Postgres, $sql, $args, std::convert::identity).$method($pg).await
    };
}

/// An open database. Clones are one.
#[derive(Clone)]
pub(crate) enum Db {
    /// Readers never wait for the one writer (WAL).
    Sqlite {
        readers: SqlitePool,
        writer: SqlitePool,
    },
    Postgres(PgPool),
}

impl Db {
    /// Rows of a reading statement.
    pub(crate) async fn rows(&self, sql: impl Into<Sql>, args: Vec<Arg>) -> Result<Vec<Cells>> {
        let sql = sql.into();
        Ok(match self {
            Db::Sqlite { readers, .. } => {
                run!(readers, sql, args, fetch_all, Sqlite)?.into_iter().map(Cells::Sqlite).collect()
            }
            Db::Postgres(p) => {
                run!(p, sql, args, fetch_all, Postgres)?.into_iter().map(Cells::Postgres).collect()
            }
        })
    }

    /// The first row of a reading statement.
    pub(crate) async fn row(&self, sql: impl Into<Sql>, args: Vec<Arg>) -> Result<Option<Cells>> {
        Ok(self.rows(sql, args).await?.into_iter().next())
    }

    /// Hands every row of a long answer to `take` as it comes.
    pub(crate) async fn each(
        &self,
        sql: impl Into<Sql>,
        args: Vec<Arg>,
        mut take: impl FnMut(&Cells) -> Result<()> + Send,
    ) -> Result<()> {
        let sql = sql.into();
        match self {
            Db::Sqlite { readers, .. } => {
                let mut rows = bound!(Sqlite, sql, args, json_list).fetch(readers);
                while let Some(row) = rows.try_next().await? {
                    take(&Cells::Sqlite(row))?;
                }
            }
            Db::Postgres(p) => {
                let mut rows = bound!(Postgres, sql, args, std::convert::identity).fetch(p);
                while let Some(row) = rows.try_next().await? {
                    take(&Cells::Postgres(row))?;
                }
            }
        }
        Ok(())
    }

    /// Runs one writing statement by itself, in one exchange with the database; how many rows it touched.
    pub(crate) async fn write(&self, sql: impl Into<Sql>, args: Vec<Arg>) -> Result<u64> {
        let sql = sql.into();
        Ok(match self {
            Db::Sqlite { writer, .. } => run!(writer, sql, args, execute, Sqlite)?.rows_affected(),
            Db::Postgres(p) => run!(p, sql, args, execute, Postgres)?.rows_affected(),
        })
    }

    /// Overwrites what was replaced or deleted in an embedded database: SQLite keeps it in free pages and in its log.
    pub(crate) async fn erase_deleted(&self) -> Result<()> {
        if matches!(self, Db::Sqlite { .. }) {
            self.write("VACUUM", args![]).await?;
            self.write("PRAGMA wal_checkpoint(TRUNCATE)", args![]).await?;
        }
        Ok(())
    }

    /// A writing transaction. On SQLite it waits here for the only writer's turn, never later.
    pub(crate) async fn begin(&self) -> Result<Tx> {
        Ok(match self {
            Db::Sqlite { writer, .. } => Tx::Sqlite(writer.begin_with("BEGIN IMMEDIATE").await?),
            Db::Postgres(p) => Tx::Postgres(p.begin().await?),
        })
    }

    /// `column` is one of the texts bound at `$n`.
    pub(crate) fn any(&self, column: &str, n: usize) -> String {
        match self {
            Db::Sqlite { .. } => format!("{column} IN (SELECT value FROM json_each(${n}))"),
            Db::Postgres(_) => format!("{column} = ANY(${n})"),
        }
    }

    /// `column` contains the text of this placeholder, letter by letter.
    pub(crate) fn contains(&self, column: &str, text: &str) -> String {
        let function = match self {
            Db::Sqlite { .. } => "instr",
            Db::Postgres(_) => "strpos",
        };
        format!("{function}({column}, {text}) > 0")
    }

    /// The text of a key of the JSON object in `column`, or NULL.
    pub(crate) fn json_text(&self, column: &str, key: &str) -> String {
        match self {
            Db::Sqlite { .. } => format!("{column} ->> '{key}'"),
            Db::Postgres(_) => format!("{column}::json ->> '{key}'"),
        }
    }

    /// Appended to the conditions of a statement that is a transaction of its own: it is committed without waiting for the
    /// disk. On SQLite none waits.
    pub(crate) fn without_waiting_for_the_disk(&self) -> &'static str {
        match self {
            Db::Sqlite { .. } => "",
            Db::Postgres(_) => " AND set_config('synchronous_commit', 'off', true) = 'off'",
        }
    }

    /// Appended to a SELECT inside a transaction that will write the rows: no one else changes them meanwhile.
    /// SQLite needs nothing, its writer is alone.
    pub(crate) fn for_update(&self) -> &'static str {
        match self {
            Db::Sqlite { .. } => "",
            Db::Postgres(_) => " FOR UPDATE",
        }
    }

    /// The same, passing over rows another worker holds.
    pub(crate) fn skip_locked(&self) -> &'static str {
        match self {
            Db::Sqlite { .. } => "",
            Db::Postgres(_) => " FOR UPDATE SKIP LOCKED",
        }
    }

    /// The lock of a row that must stay as it is until the commit; others may read it so, too.
    pub(crate) fn for_share(&self) -> &'static str {
        match self {
            Db::Sqlite { .. } => "",
            Db::Postgres(_) => " FOR SHARE",
        }
    }
}

/// A writing transaction; dropped without [`Tx::commit`] it leaves nothing behind.
pub(crate) enum Tx {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

impl Tx {
    /// Rows of a statement.
    pub(crate) async fn rows(&mut self, sql: impl Into<Sql>, args: Vec<Arg>) -> Result<Vec<Cells>> {
        let sql = sql.into();
        Ok(match self {
            Tx::Sqlite(t) => {
                run!(&mut **t, sql, args, fetch_all, Sqlite)?.into_iter().map(Cells::Sqlite).collect()
            }
            Tx::Postgres(t) => {
                run!(&mut **t, sql, args, fetch_all, Postgres)?.into_iter().map(Cells::Postgres).collect()
            }
        })
    }

    /// The first row of a statement.
    pub(crate) async fn row(&mut self, sql: impl Into<Sql>, args: Vec<Arg>) -> Result<Option<Cells>> {
        Ok(self.rows(sql, args).await?.into_iter().next())
    }

    /// Runs a statement; how many rows it touched.
    pub(crate) async fn execute(&mut self, sql: impl Into<Sql>, args: Vec<Arg>) -> Result<u64> {
        let sql = sql.into();
        Ok(match self {
            Tx::Sqlite(t) => run!(&mut **t, sql, args, execute, Sqlite)?.rows_affected(),
            Tx::Postgres(t) => run!(&mut **t, sql, args, execute, Postgres)?.rows_affected(),
        })
    }

    /// Runs several statements without values: migrations.
    pub(crate) async fn script(&mut self, sql: &'static str) -> Result<()> {
        match self {
            Tx::Sqlite(t) => {
                sqlx::raw_sql(sql).execute(&mut **t).await?;
            }
            Tx::Postgres(t) => {
                sqlx::raw_sql(sql).execute(&mut **t).await?;
            }
        }
        Ok(())
    }

    /// `{head} VALUES (...), (...) {tail}` in as many statements as needed; the rows they return.
    pub(crate) async fn insert(&mut self, head: &str, rows: Vec<Vec<Arg>>, tail: &str) -> Result<Vec<Cells>> {
        const ROWS: usize = 100;
        let mut out = Vec::new();
        let mut rows = rows.into_iter().peekable();
        while rows.peek().is_some() {
            let chunk: Vec<_> = rows.by_ref().take(ROWS).collect();
            let mut n = 0;
            let places: Vec<String> = chunk
                .iter()
                .map(|row| {
                    let cells: Vec<_> = (n + 1..=n + row.len()).map(|i| format!("${i}")).collect();
                    n += row.len();
                    format!("({})", cells.join(","))
                })
                .collect();
            let sql = format!("{head} VALUES {} {tail}", places.join(","));
            out.extend(self.rows(sql, chunk.into_iter().flatten().collect()).await?);
        }
        Ok(out)
    }

    /// Makes the transaction visible.
    pub(crate) async fn commit(self) -> Result<()> {
        match self {
            Tx::Sqlite(t) => t.commit().await?,
            Tx::Postgres(t) => t.commit().await?,
        }
        Ok(())
    }
}

impl From<sqlx::Error> for Error {
    fn from(e: sqlx::Error) -> Self {
        let busy = match &e {
            sqlx::Error::Database(d) => {
                let code = d.code().unwrap_or_default();
                if d.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
                    // The low byte of an extended code is the code: BUSY, LOCKED, IOERR, FULL, CANTOPEN. A full
                    // disk is something an operator can mend while the process lives.
                    code.parse::<i32>().is_ok_and(|c| matches!(c & 0xff, 5 | 6 | 10 | 13 | 14))
                } else {
                    // Connection, resources, shutdown, rollback to be repeated, lock not available.
                    ["08", "53", "57", "40", "55P03"].iter().any(|class| code.starts_with(class))
                }
            }
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => true,
            _ => false,
        };
        if busy { Error::Unavailable(e.to_string()) } else { Error::Broken(e.to_string()) }
    }
}

impl From<serde_json::Error> for Error {
    fn from(e: serde_json::Error) -> Self {
        Error::Broken(format!("stored JSON: {e}"))
    }
}
