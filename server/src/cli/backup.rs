//! `admin backup` and `admin restore`: an embedded database as one file. PostgreSQL has `pg_dump` and `pg_restore`.

use super::place;
use crate::settings::Wrong;
use anyhow::{Context, Result};
use std::io::Read;
use std::path::{Path, PathBuf};
use store::Store;

/// Copies the database into a new file, and the key of its secrets, where it is a file, into one beside it, which is returned.
pub(super) async fn backup(store: &dyn Store, file: &Path, folder: &Path) -> Result<Option<PathBuf>> {
    if file.exists() {
        return Err(Wrong(format!("{} exists: name a new file", file.display())).into());
    }
    store.backup(file).await.with_context(|| format!("copying into {}", file.display()))?;
    let (key, copy) = (folder.join(KEY), key_of(file));
    if !key.exists() {
        return Ok(None);
    }
    // Copying keeps the permissions: only the owner reads it.
    std::fs::copy(&key, &copy).with_context(|| format!("copying {}", key.display()))?;
    Ok(Some(copy))
}

/// The key file in a data folder.
const KEY: &str = "domainscope.key";

/// The key file beside a copy.
fn key_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".key");
    name.into()
}

/// Puts a copy into a folder that holds no database, and opens it once: a file of a newer version is refused here.
pub(super) async fn restore(file: &Path, folder: &Path, postgres: bool) -> Result<()> {
    if postgres {
        return Err(Wrong("a PostgreSQL database is restored with pg_restore or psql".into()).into());
    }
    let target = folder.join("domainscope.db");
    if target.exists() {
        let words =
            format!("{} exists: move it away first, or restore into another --data", target.display());
        return Err(Wrong(words).into());
    }
    let mut head = [0; 16];
    std::fs::File::open(file)
        .and_then(|mut f| f.read_exact(&mut head))
        .with_context(|| format!("{} can't be read", file.display()))?;
    if &head != b"SQLite format 3\0" {
        return Err(Wrong(format!("{} is no database that “admin backup” wrote", file.display())).into());
    }
    let _alone = place::alone(folder)?;
    let part = folder.join("domainscope.db.part");
    std::fs::copy(file, &part).with_context(|| format!("copying {}", file.display()))?;
    let (key, there) = (key_of(file), folder.join(KEY));
    if key.exists() && !there.exists() {
        std::fs::copy(&key, &there).with_context(|| format!("copying {}", key.display()))?;
    }
    std::fs::rename(&part, &target)?;
    if let Err(e) = place::open(folder, None, None).await {
        let _ = std::fs::remove_file(&target);
        return Err(e);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::OrgId;
    use model::names::DomainName;

    #[tokio::test]
    async fn a_copy_made_while_open_is_restored_and_nothing_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("a"), dir.path().join("b"));
        std::fs::create_dir_all(&from).unwrap();
        let store = place::open(&from, None, None).await.unwrap();
        let name = DomainName::trusted("alder.example");
        let item = store::NewItem {
            unicode: name.unicode(),
            name: name.clone(),
            ownership: model::item::Ownership::Owned,
            tags: vec!["core".into()],
            note: String::new(),
        };
        store.add(OrgId::BUILT_IN, &[item], jiff::Timestamp::now()).await.unwrap();
        let file = dir.path().join("copy.db");
        let key = backup(&*store, &file, &from).await.unwrap().unwrap();
        assert_eq!(std::fs::read(&key).unwrap(), std::fs::read(from.join(KEY)).unwrap());
        assert!(backup(&*store, &file, &from).await.unwrap_err().to_string().contains("exists"));
        restore(&file, &to, false).await.unwrap();
        assert_eq!(std::fs::read(&key).unwrap(), std::fs::read(to.join(KEY)).unwrap());
        let again = place::open(&to, None, None).await.unwrap();
        assert_eq!(again.item(OrgId::BUILT_IN, &name).await.unwrap().unwrap().0.tags, ["core"]);
        assert!(restore(&file, &to, false).await.unwrap_err().to_string().contains("exists"));
        let other = dir.path().join("other.txt");
        std::fs::write(&other, "no database, but long enough").unwrap();
        assert!(
            restore(&other, &dir.path().join("c"), false)
                .await
                .unwrap_err()
                .to_string()
                .contains("no database")
        );
        assert!(restore(&file, &to, true).await.unwrap_err().to_string().contains("PostgreSQL"));
    }

    /// Another process writes all the while: the copy is one state of it, whole.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_copy_made_while_another_process_writes_is_whole() {
        const TOGETHER: usize = 20;
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("a"), dir.path().join("b"));
        std::fs::create_dir_all(&from).unwrap();
        let serving = place::open(&from, None, None).await.unwrap();
        let written = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let writer = tokio::spawn({
            let (serving, written) = (serving.clone(), written.clone());
            async move {
                for round in 0.. {
                    let items: Vec<_> = (0..TOGETHER)
                        .map(|n| {
                            let name = DomainName::trusted(&format!("d{round}-{n}.example"));
                            store::NewItem {
                                unicode: name.unicode(),
                                name,
                                ownership: model::item::Ownership::Owned,
                                tags: vec![],
                                note: "x".repeat(1000),
                            }
                        })
                        .collect();
                    serving.add(OrgId::BUILT_IN, &items, jiff::Timestamp::now()).await.unwrap();
                    written.fetch_add(TOGETHER, std::sync::atomic::Ordering::SeqCst);
                }
            }
        });
        let count = || written.load(std::sync::atomic::Ordering::SeqCst);
        // The command opens the database by itself.
        let command = place::existing(&from, None, None).await.unwrap();
        let all = model::inventory::ListQuery::default();
        for round in 0..3 {
            while count() < (round + 1) * 5 * TOGETHER {
                tokio::task::yield_now().await;
            }
            let before = count();
            let file = dir.path().join(format!("copy-{round}.db"));
            backup(&*command, &file, &from).await.unwrap();
            let after = count() + TOGETHER;
            let to = to.join(round.to_string());
            restore(&file, &to, false).await.unwrap();
            let again = place::open(&to, None, None).await.unwrap();
            let names = again.names(OrgId::BUILT_IN, &all, 100_000, jiff::Timestamp::now()).await.unwrap();
            let found = names.len();
            assert!((before..=after).contains(&found), "{found} of {before} to {after}");
            assert_eq!(found % TOGETHER, 0, "no transaction is there in part");
            // Each has its scan in the queue and its entry in the log.
            let queued = again.queue_stats(store::JobKind::Scan, jiff::Timestamp::now()).await.unwrap().due;
            assert_eq!(usize::try_from(queued).unwrap(), found);
            assert!(usize::try_from(again.head().await.unwrap().0).unwrap() >= found);
            // It can be written to.
            again.set_setting(OrgId::BUILT_IN, "x", "1", jiff::Timestamp::now()).await.unwrap();
        }
        writer.abort();
    }
}
