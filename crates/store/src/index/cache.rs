//! The list indexes of a process: built when an organisation is first listed, brought up to the head of the change log
//! before every answer; the least recently used ones are dropped when all together grow too large.

use super::entry::{Entries, Raw};
use crate::api::{Error, LogRead, Result};
use crate::codec::read_json;
use crate::db::{Cells, Db, args};
use crate::log;
use model::ids::{LogPosition, OrgId};
use model::item::Ownership;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Holdings a process keeps indexed, all organisations together: about 200 bytes each.
const MOST: usize = 4_000_000;
/// Log entries and rows read at once while catching up.
const BATCH: u32 = 5000;
/// An index further behind than this many entries is rebuilt.
const FAR_BEHIND: i64 = 200_000;

const COLUMNS: &str = "name, unicode, ownership, tags, status_rank, expires_at, registrar, provider, \
                       last_change_at, modified_at, last_dns_change_at, certificate_ends";

/// The index of one organisation.
struct Index {
    /// Place in the log the entries stand for; `None` until they were read. Held while reading the database, so
    /// that many askers read it once.
    at: tokio::sync::Mutex<Option<LogPosition>>,
    entries: RwLock<Entries>,
}

/// All indexes of a process.
pub(crate) struct Indexes {
    known: Mutex<Known>,
    most: usize,
}

#[derive(Default)]
struct Known {
    clock: u64,
    orgs: HashMap<OrgId, (u64, Arc<Index>)>,
}

impl Default for Indexes {
    fn default() -> Self {
        Indexes { known: Mutex::default(), most: MOST }
    }
}

impl Indexes {
    fn index(&self, org: OrgId) -> Arc<Index> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.clock += 1;
        let clock = known.clock;
        let (used, index) = known.orgs.entry(org).or_insert_with(|| {
            let entries = RwLock::new(Entries::new());
            (0, Arc::new(Index { at: tokio::sync::Mutex::new(None), entries }))
        });
        *used = clock;
        index.clone()
    }

    /// Drops an organisation's index; the next query rebuilds it.
    fn forget(&self, org: OrgId) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).orgs.remove(&org);
    }

    /// Drops the least used indexes until the rest is small enough. The newest one always stays.
    fn shrink(&self) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let size = |i: &Index| i.entries.read().map_or(0, |e| e.len());
        let mut total: usize = known.orgs.values().map(|(_, i)| size(i)).sum();
        while total > self.most && known.orgs.len() > 1 {
            let Some(oldest) = known.orgs.iter().min_by_key(|(_, (used, _))| *used).map(|(org, _)| *org)
            else {
                break;
            };
            if let Some((_, i)) = known.orgs.remove(&oldest) {
                total -= size(&i).min(total);
            }
        }
    }

    /// Asks the organisation's index, brought up to date first. The answer's [`LogPosition`] is the place it stands for.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        db: &Db,
        org: OrgId,
        question: impl FnOnce(&Entries) -> T + Send + 'static,
    ) -> Result<(T, LogPosition)> {
        let index = self.index(org);
        let mut at = index.at.lock().await;
        let (head, _) = log::ends(db).await?;
        // A place after the head means that the database was replaced by an older copy.
        let known = at.filter(|rv| *rv <= head && head.0 - rv.0 <= FAR_BEHIND);
        let reached = match known {
            Some(rv) if rv == head => Some(rv),
            Some(rv) => catch_up(db, org, &index, rv, head).await?,
            None => None,
        };
        let rv = match reached {
            Some(rv) => rv,
            None => {
                load(db, org, &index).await?;
                self.shrink();
                head
            }
        };
        *at = Some(rv);
        drop(at);
        // Some milliseconds of pure computing: not on a thread that serves connections.
        let shared = index.clone();
        let answer =
            tokio::task::spawn_blocking(move || shared.entries.read().ok().map(|e| question(&e))).await;
        match answer {
            Ok(Some(answer)) => Ok((answer, rv)),
            _ => {
                self.forget(org);
                Err(Error::Broken("the list index was lost; the next list rebuilds it".into()))
            }
        }
    }
}

/// Reads all holdings. What changes meanwhile is in the log after the place that was read before.
async fn load(db: &Db, org: OrgId, index: &Index) -> Result<()> {
    let mut all: Vec<Raw> = Vec::new();
    let sql = format!("SELECT {COLUMNS} FROM items WHERE org = $1");
    db.each(sql, args![org.0], |r| {
        all.push(read(r)?);
        Ok(())
    })
    .await?;
    // In order before they are taken over, so that neighbours in the list are neighbours in memory.
    all.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let mut fresh = Entries::new();
    fresh.apply(&all, &[]);
    *index.entries.write().map_err(|_| lost())? = fresh;
    Ok(())
}

/// Applies the log after a place; the place reached, or `None` when the log no longer reaches back that far.
async fn catch_up(
    db: &Db,
    org: OrgId,
    index: &Index,
    from: LogPosition,
    head: LogPosition,
) -> Result<Option<LogPosition>> {
    let mut reached = from;
    let mut names = BTreeSet::new();
    loop {
        let LogRead::Entries(entries) = log::since(db, Some(org), reached, BATCH).await? else {
            return Ok(None);
        };
        reached = entries.last().map_or(reached, |e| e.rv);
        let more = entries.len() == BATCH as usize;
        names.extend(entries.into_iter().filter(|e| e.kind == log::ITEM).map(|e| e.name));
        if !more {
            break;
        }
    }
    let names: Vec<String> = names.into_iter().collect();
    for chunk in names.chunks(BATCH as usize) {
        let sql = format!("SELECT {COLUMNS} FROM items WHERE org = $1 AND {}", db.any("name", 2));
        let rows = db.rows(sql, args![org.0, chunk.to_vec()]).await?;
        let present = rows.iter().map(read).collect::<Result<Vec<_>>>()?;
        let there: BTreeSet<&str> = present.iter().map(|r| r.name.as_str()).collect();
        let gone: Vec<String> = chunk.iter().filter(|n| !there.contains(n.as_str())).cloned().collect();
        index.entries.write().map_err(|_| lost())?.apply(&present, &gone);
    }
    Ok(Some(reached.max(head)))
}

fn lost() -> Error {
    Error::Broken("the list index was lost".into())
}

fn read(r: &Cells) -> Result<Raw> {
    let tags = r.text(3)?;
    Ok(Raw {
        name: r.text(0)?,
        unicode: r.text(1)?,
        owned: r.text(2)? == Ownership::Owned.as_str(),
        tags: if tags == "[]" { Vec::new() } else { read_json(&tags)? },
        status_rank: r.int(4)?,
        expires_at: r.int_or_null(5)?,
        registrar: r.text_or_null(6)?,
        provider: r.text_or_null(7)?,
        last_change_at: r.int_or_null(8)?,
        modified_at: r.int_or_null(9)?,
        last_dns_change_at: r.int_or_null(10)?,
        certificate_ends: r.int_or_null(11)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::NewItem;
    use crate::items::By;
    use model::account::Actor;
    use model::names::DomainName;

    #[tokio::test]
    async fn the_least_used_index_is_dropped_and_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let db = crate::open::sqlite(&folder.path().join("x.db")).await.unwrap();
        let orgs = [OrgId(1), OrgId(2), OrgId(3)];
        for org in orgs {
            let new = |n: i32| NewItem {
                name: DomainName::trusted(&format!("n{n}.example")),
                unicode: format!("n{n}.example"),
                ownership: Ownership::Owned,
                tags: vec![],
                note: String::new(),
            };
            let now = jiff::Timestamp::UNIX_EPOCH;
            crate::items::add(&db, &By { actor: &Actor::system(), org, now }, &[new(1), new(2)])
                .await
                .unwrap();
        }
        let indexes = Indexes { known: Mutex::default(), most: 5 };
        let known = || {
            let mut orgs: Vec<_> = indexes.known.lock().unwrap().orgs.keys().copied().collect();
            orgs.sort();
            orgs
        };
        let count = async |org| indexes.ask(&db, org, Entries::len).await.unwrap().0;
        for org in [orgs[0], orgs[1], orgs[0]] {
            assert_eq!(count(org).await, 2);
        }
        assert_eq!(known(), [orgs[0], orgs[1]]);
        assert_eq!(count(orgs[2]).await, 2);
        assert_eq!(known(), [orgs[0], orgs[2]], "the one not asked for longest went");
        assert_eq!(count(orgs[1]).await, 2, "and is made again when asked for");
    }
}
