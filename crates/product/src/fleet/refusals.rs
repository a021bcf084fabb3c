//! Agents that asked for an identity which a member has. Kept in the store for a day, for all processes, and shown on the page
//! of the fleet; only requests with a valid token get here, so strangers can't fill it.

use crate::unavailable;
use model::Timestamp;
use model::ids::OrgId;
use service::{ApiResult, RefusedJoin};
use store::Store;

/// The setting that holds them.
const SETTING: &str = "fleet-refused";
/// Most that are kept.
const KEPT: usize = 8;
const DAY_SECONDS: i64 = 86_400;
/// An agent that tries again and again is written once in that time, in seconds.
const EVERY_SECONDS: i64 = 5;

/// The requests of the last day, newest first.
pub(super) async fn of_last_day(store: &dyn Store, now: Timestamp) -> ApiResult<Vec<RefusedJoin>> {
    let text = store.setting(OrgId::BUILT_IN, SETTING).await.map_err(unavailable)?;
    let mut kept: Vec<RefusedJoin> = text.and_then(|t| serde_json::from_str(&t).ok()).unwrap_or_default();
    kept.retain(|r| now.duration_since(r.at).as_secs() < DAY_SECONDS);
    Ok(kept)
}

/// Of two processes that write at once one wins: the other's entry is written again by the agent's next attempt.
async fn write(store: &dyn Store, kept: &[RefusedJoin], now: Timestamp) -> ApiResult<()> {
    let Ok(text) = serde_json::to_string(kept) else { return Ok(()) };
    store.set_setting(OrgId::BUILT_IN, SETTING, &text, now).await.map_err(unavailable)
}

/// Keeps a request in place of an earlier one for the same identity from the same network.
pub(super) async fn keep(store: &dyn Store, join: RefusedJoin) -> ApiResult<()> {
    let now = join.at;
    let mut kept = of_last_day(store, now).await?;
    let is_same = |r: &RefusedJoin| (&r.id, &r.network) == (&join.id, &join.network);
    let is_fresh = |r: &RefusedJoin| now.duration_since(r.at).as_secs() < EVERY_SECONDS;
    if kept.iter().any(|r| is_same(r) && is_fresh(r)) {
        return Ok(());
    }
    kept.retain(|r| !is_same(r));
    kept.insert(0, join);
    kept.truncate(KEPT);
    write(store, &kept, now).await
}

/// Drops what was refused to a network from which an agent has joined since, and to an identity that was revoked.
pub(super) async fn settle(
    store: &dyn Store,
    network: Option<&str>,
    id: &str,
    now: Timestamp,
) -> ApiResult<()> {
    let mut kept = of_last_day(store, now).await?;
    let before = kept.len();
    kept.retain(|r| network != Some(r.network.as_str()) && r.id != id);
    if kept.len() < before { write(store, &kept, now).await } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;

    fn refused(id: &str, network: &str, at: Timestamp) -> RefusedJoin {
        RefusedJoin {
            id: id.into(),
            suggested: format!("{id}-2"),
            network: network.into(),
            region: "eu-central".into(),
            version: "0.1.0".into(),
            at,
        }
    }

    #[tokio::test]
    async fn every_process_sees_the_newest_of_the_last_day() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("domainscope.db");
        let (one, other) =
            (store::open_sqlite(&path).await.unwrap(), store::open_sqlite(&path).await.unwrap());
        let (one, other): (&dyn Store, &dyn Store) = (&*one, &*other);
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let at = |s: i64| now + SignedDuration::from_secs(s);
        let ids = async |now| {
            let kept = of_last_day(other, now).await.unwrap();
            kept.into_iter().map(|r| r.id).collect::<Vec<_>>()
        };
        for n in 0..10 {
            keep(one, refused(&format!("a-{n}"), "192.0.2.0/24", at(n))).await.unwrap();
        }
        assert_eq!(ids(at(10)).await, ["a-9", "a-8", "a-7", "a-6", "a-5", "a-4", "a-3", "a-2"]);
        // The same again: not written within seconds, then in its place.
        keep(other, refused("a-9", "192.0.2.0/24", at(10))).await.unwrap();
        assert_eq!(of_last_day(one, at(10)).await.unwrap()[0].at, at(9));
        keep(other, refused("a-8", "192.0.2.0/24", at(20))).await.unwrap();
        assert_eq!(ids(at(20)).await[..2], ["a-8", "a-9"]);
        keep(one, refused("b-1", "198.51.100.0/24", at(20))).await.unwrap();
        settle(other, None, "a-8", at(20)).await.unwrap();
        assert!(!ids(at(20)).await.contains(&"a-8".to_string()));
        settle(other, Some("192.0.2.0/24"), "c-1", at(20)).await.unwrap();
        assert_eq!(ids(at(20)).await, ["b-1"]);
        assert!(ids(at(20 + DAY_SECONDS)).await.is_empty());
    }
}
