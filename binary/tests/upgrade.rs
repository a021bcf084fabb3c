//! Upgrade, downgrade and upgrade again, as operators do it: from each schema that earlier versions wrote to today's, back with
//! the copy that was made before, and on again; on SQLite and PostgreSQL, with the program itself and PostgreSQL's own tools.

#[path = "../../crates/store/tests/story/cluster.rs"]
mod cluster;

use flate2::read::GzDecoder;
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/// Schemas of which a database is saved, with the number of domains of its first organisation.
const SAVED: [(i64, usize); 3] = [(2, 12), (13, 66), (16, 66)];

fn saved(schema: i64, kind: &str) -> Vec<u8> {
    let file = format!("../crates/store/tests/saved/schema-{schema}.{kind}.gz");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let mut bytes = Vec::new();
    GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// A key that is written after an upgrade.
const WRITTEN: &str = "after-the-upgrade";

/// An installation that no server runs on.
enum Place {
    Folder(PathBuf),
    Postgres(String),
}

impl Place {
    /// Rows of text.
    async fn texts(&self, sql: &str) -> Vec<String> {
        let sql = AssertSqlSafe(sql.to_string());
        match self {
            Place::Folder(folder) => {
                let url = format!("sqlite:{}", folder.join("domainscope.db").display());
                let mut c = SqliteConnection::connect(&url).await.unwrap();
                let texts = sqlx::query_scalar(sql).fetch_all(&mut c).await.unwrap();
                c.close().await.unwrap();
                texts
            }
            Place::Postgres(url) => {
                let mut c = PgConnection::connect(url).await.unwrap();
                let texts = sqlx::query_scalar(sql).fetch_all(&mut c).await.unwrap();
                c.close().await.unwrap();
                texts
            }
        }
    }

    async fn schema(&self) -> i64 {
        let newest = self.texts("SELECT CAST(MAX(version) AS TEXT) FROM schema_versions").await;
        newest[0].parse().unwrap()
    }

    /// The inventory and the changes that were found.
    async fn content(&self) -> (Vec<String>, Vec<String>) {
        let items = "SELECT name || ' ' || note FROM items WHERE org = 1 ORDER BY name";
        let events = "SELECT id || ' ' || name || ' ' || json FROM events ORDER BY id";
        (self.texts(items).await, self.texts(events).await)
    }

    /// This version of the program on the installation.
    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_domainscope"));
        match self {
            Place::Folder(folder) => command.args(words).arg("--data").arg(folder),
            Place::Postgres(url) => command.args(words).args(["--database", url]),
        };
        command.env("DOMAINSCOPE_SECRET_KEY", KEY).output().unwrap()
    }

    /// Brings the database forward, as a first start does, and writes to it.
    async fn upgrade(&self) {
        let out = self.run(&["admin", "claims"]);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let key = store::SecretKey::parse(KEY).unwrap();
        let store = match self {
            Place::Folder(folder) => store::open_with(&folder.to_string_lossy(), Some(key)).await,
            Place::Postgres(url) => store::open_postgres(url, Some(key)).await,
        };
        let org = model::ids::OrgId::BUILT_IN;
        store.unwrap().set_setting(org, WRITTEN, "{}", jiff::Timestamp::now()).await.unwrap();
    }

    /// What is there of [`WRITTEN`].
    async fn written(&self) -> usize {
        self.texts(&format!("SELECT key FROM settings WHERE key = '{WRITTEN}'")).await.len()
    }
}

/// Upgraded, refused to the older program, put back, upgraded again. `restore` puts the copy in place that was made at the
/// beginning, and names the installation that it is now in.
async fn walk(place: Place, schema: i64, domains: usize, restore: impl AsyncFn() -> Place) {
    let before = place.content().await;
    assert_eq!((before.0.len(), place.schema().await), (domains, schema));

    place.upgrade().await;
    let newest = place.schema().await;
    assert!(newest > schema, "{newest}");
    assert_eq!(place.content().await, before, "from schema {schema}: what was stored is as it was");
    assert_eq!(place.written().await, 1);

    // A program that does not know the schema of the database refuses it and changes nothing: this one, with a database that
    // a later one has brought forward.
    let later = newest + 1;
    let insert =
        format!("INSERT INTO schema_versions (version, applied_at) VALUES ({later}, 0) RETURNING ''");
    place.texts(&insert).await;
    for words in [["admin", "claims"], ["features", "list"]] {
        let out = place.run(&words);
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(!out.status.success(), "{words:?}: {said}");
        for part in [&format!("schema version {later}"), &format!("knows {newest}"), "restore a backup"] {
            assert!(said.contains(part), "{words:?}: {said}");
        }
    }
    assert_eq!((place.content().await, place.schema().await), (before.clone(), later));

    // Back: the copy is what the older program wrote, whole and without anything newer.
    let place = restore().await;
    assert_eq!((place.content().await, place.schema().await), (before.clone(), schema));

    // And on again.
    place.upgrade().await;
    assert_eq!((place.content().await, place.schema().await), (before, newest));
    assert_eq!(place.written().await, 1);
}

#[tokio::test]
async fn sqlite_goes_forward_back_and_forward_from_each_saved_schema() {
    for (schema, domains) in SAVED {
        let dir = tempfile::tempdir().unwrap();
        let (folder, copy) = (dir.path().join("data"), dir.path().join("copy"));
        for folder in [&folder, &copy] {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join("domainscope.key"), KEY).unwrap();
        }
        // The copy is made while no server runs: the file is whole.
        std::fs::write(folder.join("domainscope.db"), saved(schema, "sqlite3")).unwrap();
        std::fs::copy(folder.join("domainscope.db"), copy.join("domainscope.db")).unwrap();
        let restore = async || {
            std::fs::remove_dir_all(&folder).unwrap();
            std::fs::rename(&copy, &folder).unwrap();
            Place::Folder(folder.clone())
        };
        walk(Place::Folder(folder.clone()), schema, domains, restore).await;
    }
}

fn tool(words: &[&str]) {
    let out = Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
}

#[tokio::test]
async fn postgresql_goes_forward_back_and_forward_from_each_saved_schema() {
    let Some(cluster) = cluster::Cluster::start("-c fsync=off") else { return };
    for (schema, domains) in SAVED {
        let dir = tempfile::tempdir().unwrap();
        let url = cluster.database(&format!("from_{schema}")).await;
        let mut c = PgConnection::connect(&url).await.unwrap();
        let dump = String::from_utf8(saved(schema, "postgres.sql")).unwrap();
        sqlx::raw_sql(AssertSqlSafe(dump)).execute(&mut c).await.unwrap();
        c.close().await.unwrap();
        let copy = dir.path().join("copy.dump");
        let copy = copy.to_str().unwrap();
        tool(&["pg_dump", "--format=custom", "--no-owner", "--file", copy, &url]);
        let restore = async || {
            let url = cluster.database(&format!("back_to_{schema}")).await;
            tool(&["pg_restore", "--exit-on-error", "--no-owner", "--dbname", &url, copy]);
            Place::Postgres(url)
        };
        walk(Place::Postgres(url), schema, domains, restore).await;
    }
}
