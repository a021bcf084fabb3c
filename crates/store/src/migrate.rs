//! Brings a database to the newest schema at start. In: a database; out: the same with every migration applied
//! once, in order, each in a transaction with its row in `schema_versions`. Safe when several replicas start at
//! once: SQLite's write lock or a PostgreSQL advisory lock lets one through at a time.

use crate::api::{Error, Result};
use crate::db::{Db, Tx, args};
use jiff::Timestamp;

/// A step of the schema in the words of both databases.
pub(crate) struct Migration {
    pub(crate) version: i64,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

/// Every step there ever was. Released steps are never edited; a new one is appended.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        sqlite: include_str!("../migrations/sqlite/0001_first.sql"),
        postgres: include_str!("../migrations/postgres/0001_first.sql"),
    },
    Migration {
        version: 2,
        sqlite: include_str!("../migrations/sqlite/0002_budgets.sql"),
        postgres: include_str!("../migrations/postgres/0002_budgets.sql"),
    },
    Migration {
        version: 3,
        sqlite: include_str!("../migrations/sqlite/0003_accounts.sql"),
        postgres: include_str!("../migrations/postgres/0003_accounts.sql"),
    },
    Migration {
        version: 4,
        sqlite: include_str!("../migrations/sqlite/0004_retries_outbox.sql"),
        postgres: include_str!("../migrations/postgres/0004_retries_outbox.sql"),
    },
    Migration {
        version: 5,
        sqlite: include_str!("../migrations/sqlite/0005_members.sql"),
        postgres: include_str!("../migrations/postgres/0005_members.sql"),
    },
    Migration {
        version: 6,
        sqlite: include_str!("../migrations/sqlite/0006_claims.sql"),
        postgres: include_str!("../migrations/postgres/0006_claims.sql"),
    },
    Migration {
        version: 7,
        sqlite: include_str!("../migrations/sqlite/0007_notifications.sql"),
        postgres: include_str!("../migrations/postgres/0007_notifications.sql"),
    },
    Migration {
        version: 8,
        sqlite: include_str!("../migrations/sqlite/0008_services.sql"),
        postgres: include_str!("../migrations/postgres/0008_services.sql"),
    },
    Migration {
        version: 9,
        sqlite: include_str!("../migrations/sqlite/0009_resources.sql"),
        postgres: include_str!("../migrations/postgres/0009_resources.sql"),
    },
    Migration {
        version: 10,
        sqlite: include_str!("../migrations/sqlite/0010_dns_changes.sql"),
        postgres: include_str!("../migrations/postgres/0010_dns_changes.sql"),
    },
    Migration {
        version: 11,
        sqlite: include_str!("../migrations/sqlite/0011_passkeys.sql"),
        postgres: include_str!("../migrations/postgres/0011_passkeys.sql"),
    },
    Migration {
        version: 12,
        sqlite: include_str!("../migrations/sqlite/0012_alerts.sql"),
        postgres: include_str!("../migrations/postgres/0012_alerts.sql"),
    },
    Migration {
        version: 13,
        sqlite: include_str!("../migrations/sqlite/0013_fleet.sql"),
        postgres: include_str!("../migrations/postgres/0013_fleet.sql"),
    },
    Migration {
        version: 14,
        sqlite: include_str!("../migrations/sqlite/0014_identities.sql"),
        postgres: include_str!("../migrations/postgres/0014_identities.sql"),
    },
    Migration {
        version: 15,
        sqlite: include_str!("../migrations/sqlite/0015_certificates.sql"),
        postgres: include_str!("../migrations/postgres/0015_certificates.sql"),
    },
    Migration {
        version: 16,
        sqlite: include_str!("../migrations/sqlite/0016_addresses.sql"),
        postgres: include_str!("../migrations/postgres/0016_addresses.sql"),
    },
    Migration {
        version: 17,
        sqlite: include_str!("../migrations/sqlite/0017_packed.sql"),
        postgres: include_str!("../migrations/postgres/0017_packed.sql"),
    },
    Migration {
        version: 18,
        sqlite: include_str!("../migrations/sqlite/0018_schedules.sql"),
        postgres: include_str!("../migrations/postgres/0018_schedules.sql"),
    },
    Migration {
        version: 20,
        sqlite: include_str!("../migrations/sqlite/0020_linked_objects.sql"),
        postgres: include_str!("../migrations/postgres/0020_linked_objects.sql"),
    },
    Migration {
        version: 26,
        sqlite: include_str!("../migrations/sqlite/0026_network_blocks.sql"),
        postgres: include_str!("../migrations/postgres/0026_network_blocks.sql"),
    },
    Migration {
        version: 27,
        sqlite: include_str!("../migrations/sqlite/0027_place_samples.sql"),
        postgres: include_str!("../migrations/postgres/0027_place_samples.sql"),
    },
];

/// Releases before this one, oldest first, each with the newest schema that it opens. Add a row when the version of the
/// program changes: whether one can go back is read here.
const EARLIER_RELEASES: &[(&str, i64)] = &[];

/// The release before this one and the newest schema that it opens; `None` for the first release.
pub fn earlier_release() -> Option<(&'static str, i64)> {
    EARLIER_RELEASES.last().copied()
}

/// The schema of databases that this program has opened.
pub fn schema_version() -> i64 {
    MIGRATIONS.last().map_or(0, |m| m.version)
}

/// Any number that no other program's advisory lock is likely to have.
const LOCK: i64 = 0x646f_6d73_636f_7065;

/// Applies what is missing and answers how many steps that were.
pub(crate) async fn run(db: &Db, steps: &[Migration]) -> Result<usize> {
    let mut tx = db.begin().await?;
    if matches!(tx, Tx::Postgres(_)) {
        tx.rows("SELECT 1 FROM (SELECT pg_advisory_xact_lock($1)) AS held", args![LOCK]).await?;
    }
    tx.script(
        "CREATE TABLE IF NOT EXISTS schema_versions (version BIGINT PRIMARY KEY, applied_at BIGINT NOT NULL)",
    )
    .await?;
    let present = tx.rows("SELECT version FROM schema_versions", args![]).await?;
    let present = present.iter().map(|r| r.int(0)).collect::<Result<Vec<_>>>()?;
    let newest = present.iter().copied().max().unwrap_or(0);
    if let Some(last) = steps.last()
        && newest > last.version
    {
        return Err(Error::Broken(format!(
            "the database has schema version {newest}, this program knows {}: start the newer program, or restore \
             a backup made before it ran",
            last.version
        )));
    }
    let mut applied = 0;
    for step in steps.iter().filter(|s| !present.contains(&s.version)) {
        let text = if matches!(tx, Tx::Sqlite(_)) { step.sqlite } else { step.postgres };
        tx.script(text).await?;
        tx.execute(
            "INSERT INTO schema_versions (version, applied_at) VALUES ($1, $2)",
            args![step.version, Timestamp::now().as_microsecond()],
        )
        .await?;
        applied += 1;
    }
    tx.commit().await?;
    Ok(applied)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT: Migration = Migration {
        version: 1001,
        sqlite: "ALTER TABLE settings ADD COLUMN extra TEXT; UPDATE settings SET extra = value;",
        postgres: "",
    };
    const FAULTY: Migration = Migration {
        version: 1002,
        sqlite: "CREATE TABLE half (x INTEGER); SELECT no_such_thing;",
        postgres: "",
    };

    /// All released steps and these.
    fn with(further: &[&Migration]) -> Vec<Migration> {
        let copy = |m: &Migration| Migration { version: m.version, sqlite: m.sqlite, postgres: m.postgres };
        MIGRATIONS.iter().chain(further.iter().copied()).map(copy).collect()
    }

    #[test]
    fn every_release_before_this_one_is_listed() {
        let read = |v: &str| -> (u64, u64) {
            let mut parts = v.split('.').map(|p| p.parse().unwrap());
            (parts.next().unwrap(), parts.next().unwrap())
        };
        let this = read(env!("CARGO_PKG_VERSION"));
        let all: Vec<_> = EARLIER_RELEASES.iter().map(|(v, _)| read(v)).collect();
        assert!(all.windows(2).all(|w| w[0] < w[1]) && all.last().is_none_or(|v| *v < this));
        assert_eq!(all.is_empty(), this == (0, 1), "the release before this one has a row");
        let skips = |a: (u64, u64), b: (u64, u64)| a.0 == b.0 && a.1 + 1 != b.1;
        assert!(all.last().is_none_or(|last| !skips(*last, this)), "the release before this one has a row");
        assert!(EARLIER_RELEASES.iter().all(|(_, schema)| *schema <= schema_version()));
    }

    #[test]
    fn versions_follow_each_other() {
        assert!(MIGRATIONS.windows(2).all(|w| w[0].version < w[1].version));
    }

    #[tokio::test]
    async fn a_database_of_the_first_release_is_brought_forward() {
        use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
        let folder = tempfile::tempdir().unwrap();
        let options =
            SqliteConnectOptions::new().filename(folder.path().join("old.db")).create_if_missing(true);
        let pool = || SqlitePoolOptions::new().max_connections(1).connect_with(options.clone());
        let db = Db::Sqlite { readers: pool().await.unwrap(), writer: pool().await.unwrap() };
        assert_eq!(run(&db, &MIGRATIONS[..1]).await.unwrap(), 1);
        db.write("INSERT INTO settings (org, key, value, at) VALUES (1, 'k', 'v', 0)", args![])
            .await
            .unwrap();
        assert_eq!(run(&db, MIGRATIONS).await.unwrap(), MIGRATIONS.len() - 1);
        let kept = db.row("SELECT value FROM settings", args![]).await.unwrap().unwrap();
        assert_eq!(kept.text(0).unwrap(), "v");
        assert!(db.rows("SELECT host FROM host_budgets", args![]).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn steps_run_once_in_order_and_keep_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let db = crate::open::sqlite(&folder.path().join("x.db")).await.unwrap();
        assert_eq!(run(&db, &with(&[])).await.unwrap(), 0, "opening did it");
        let mut tx = db.begin().await.unwrap();
        tx.execute("INSERT INTO settings (org, key, value, at) VALUES (1, 'k', 'v', 0)", args![])
            .await
            .unwrap();
        tx.commit().await.unwrap();
        assert_eq!(run(&db, &with(&[&NEXT])).await.unwrap(), 1);
        assert_eq!(run(&db, &with(&[&NEXT])).await.unwrap(), 0);
        let kept = db.row("SELECT extra FROM settings", args![]).await.unwrap().unwrap();
        assert_eq!(kept.text(0).unwrap(), "v");

        // A step that fails leaves nothing of itself behind.
        assert!(run(&db, &with(&[&NEXT, &FAULTY])).await.is_err());
        let versions = db.row("SELECT MAX(version) FROM schema_versions", args![]).await.unwrap().unwrap();
        assert_eq!(versions.int(0).unwrap(), NEXT.version);
        let half = db.rows("SELECT name FROM sqlite_master WHERE name = 'half'", args![]).await.unwrap();
        assert!(half.is_empty());
    }
}
