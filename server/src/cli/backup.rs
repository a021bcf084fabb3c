//! `admin backup` and `admin restore`: an embedded database as one file. PostgreSQL has `pg_dump` and `pg_restore`.

use super::place;
use crate::settings::Wrong;
use anyhow::{Context, Result};
use std::io::Read;
use std::path::Path;
use store::Store;

/// Copies the database into a new file.
pub(super) async fn backup(store: &dyn Store, file: &Path) -> Result<()> {
    if file.exists() {
        return Err(Wrong(format!("{} exists: name a new file", file.display())).into());
    }
    store.backup(file).await.with_context(|| format!("copying into {}", file.display()))
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
    std::fs::rename(&part, &target)?;
    if let Err(e) = place::open(folder, None).await {
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
        let store = place::open(&from, None).await.unwrap();
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
        backup(&*store, &file).await.unwrap();
        assert!(backup(&*store, &file).await.unwrap_err().to_string().contains("exists"));
        restore(&file, &to, false).await.unwrap();
        let again = place::open(&to, None).await.unwrap();
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
}
