//! Where an installation keeps its data: a folder, or a PostgreSQL database by URL. In: what flags say. Out: the store,
//! or a sentence that names the place and never a password.

use super::output::note;
use crate::settings::Wrong;
use anyhow::{Context, Result};
use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::{SecretKey, Store};

/// How long opening a database may take before a message says so.
const PATIENCE: Duration = Duration::from_secs(2);

/// The store in a folder, or at a URL when one is given.
pub(super) async fn open(folder: &Path, database: Option<&str>, key: Option<&str>) -> Result<Arc<dyn Store>> {
    let key =
        key.map(SecretKey::parse).transpose().map_err(|e| Wrong(format!("DOMAINSCOPE_SECRET_KEY: {e}")))?;
    let Some(url) = database else {
        return store::open_with(&folder.to_string_lossy(), key)
            .await
            .with_context(|| format!("the database in {}", folder.display()));
    };
    let at = address(url)?;
    let mut opening = std::pin::pin!(store::open_postgres(url, key));
    let opened = match tokio::time::timeout(PATIENCE, opening.as_mut()).await {
        Ok(opened) => opened,
        Err(_) => {
            note(&format!("domainscope: waiting for the database at {at}\n"));
            opening.await
        }
    };
    opened.with_context(|| {
        format!("the database at {at} (is PostgreSQL listening there, and may this user connect?)")
    })
}

/// The store of the installation that a flag names; `None` when none does.
pub(super) async fn given(data: Option<&Path>, database: Option<&str>) -> Result<Option<Arc<dyn Store>>> {
    match (data, database) {
        (None, None) => Ok(None),
        (data, url) => existing(data.unwrap_or(Path::new("")), url, None).await.map(Some),
    }
}

/// The store of an installation that exists: opening would create the database.
pub(super) async fn existing(
    folder: &Path,
    database: Option<&str>,
    key: Option<&str>,
) -> Result<Arc<dyn Store>> {
    if database.is_none() && !folder.join("domainscope.db").exists() {
        anyhow::bail!(
            "no installation is in {}: pass the same --data DIR (or --database URL) as to serve",
            folder.display()
        );
    }
    open(folder, database, key).await
}

/// The folder of an embedded database for one server alone, as long as the file is open; a killed process releases it.
pub(super) fn alone(folder: &Path) -> Result<File> {
    let path = folder.join("domainscope.lock");
    let open = || {
        std::fs::create_dir_all(folder)?;
        File::options().create(true).truncate(false).write(true).open(&path)
    };
    let file = open().with_context(|| format!("the database in {}", folder.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => anyhow::bail!(
            "another domainscope serves from {}: stop it, or give this one a folder of its own (--data DIR); several \
             processes share a PostgreSQL database (--database URL)",
            folder.display()
        ),
        // A file system without locks: SQLite itself keeps the data sound.
        Err(TryLockError::Error(e)) => tracing::warn!("{} can't be locked: {e}", path.display()),
    }
    Ok(file)
}

/// Host, port and name of a database URL: all of it that may be shown.
fn address(url: &str) -> Result<String> {
    let wrong =
        || Wrong("--database is not a PostgreSQL URL: write postgres://USER:PASSWORD@HOST:PORT/NAME".into());
    let read = url::Url::parse(url).map_err(|_| wrong())?;
    if !matches!(read.scheme(), "postgres" | "postgresql") {
        return Err(wrong().into());
    }
    // What follows an unescaped `/`, `?` or `#` of a password is no part of what may be shown.
    let at = |part: &str| part.contains('@');
    let cut_off = read.username().is_empty() && read.query().is_some_and(at);
    if at(read.path()) || read.fragment().is_some_and(at) || cut_off {
        return Err(Wrong(
            "--database: write /, @, ?, # and : in a user's name or password as %2F, %40, %3F, %23 and %3A"
                .into(),
        )
        .into());
    }
    // The folder of a socket is in the query: ?host=/run/postgresql.
    let socket = read.query_pairs().find(|(k, _)| k == "host").map(|(_, v)| v.into_owned());
    let host = socket.or(read.host_str().map(str::to_string)).unwrap_or_else(|| "this machine".into());
    let port = read.port().map(|p| format!(":{p}")).unwrap_or_default();
    Ok(format!("{host}{port}{}", read.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_installation_is_read_only_where_a_flag_names_one() {
        assert!(given(None, None).await.unwrap().is_none());
        let none = given(Some(Path::new("/nowhere")), None).await.err().unwrap().to_string();
        assert!(none.contains("no installation is in /nowhere"), "{none}");
        let wrong = given(None, Some("mysql://bob:hunter2@h/x")).await.err().unwrap().to_string();
        assert!(!wrong.contains("hunter2") && !wrong.contains("no installation"), "{wrong}");
    }

    #[test]
    fn a_place_is_named_without_its_password() {
        let shown = |url: &str| address(url).unwrap();
        assert_eq!(shown("postgres://bob:hunter2@db.example:5433/scope"), "db.example:5433/scope");
        assert_eq!(
            shown("postgresql:///scope?host=/run/postgresql&password=hunter2"),
            "/run/postgresql/scope"
        );
        for bad in ["mysql://bob:hunter2@h/x", "bob:hunter2@h/x", "hunter2", ""] {
            let e = address(bad).unwrap_err();
            assert!(e.is::<Wrong>() && !format!("{e:#}").contains("hunter2"), "{bad}: {e:#}");
        }
        // Passwords with letters that end the host's part of a URL: what follows is not taken for the database's name.
        for odd in ["/hunter2", "12/hunter2", "a@b/hunter2", "12?hunter2", "12#hunter2"] {
            let e = format!("{:#}", address(&format!("postgres://bob:{odd}@db.example/scope")).unwrap_err());
            assert!(!e.contains("hunter2") && !e.contains("12"), "{odd}: {e}");
        }
    }

    #[test]
    fn one_server_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let first = alone(folder.path()).unwrap();
        let e = alone(folder.path()).unwrap_err().to_string();
        assert!(e.contains("another domainscope") && e.contains("--data"), "{e}");
        drop(first);
        assert!(alone(&folder.path().join("new")).is_ok(), "made when it is not there");
        assert!(alone(folder.path()).is_ok());
    }

    #[tokio::test]
    async fn a_folder_that_can_not_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        let e = open(&folder.path().join("file"), None, None).await.err().unwrap();
        assert!(format!("{e:#}").contains("file"), "{e:#}");
    }
}
