//! Refused claims are decided about again when what they ask for becomes free.

use super::claims::{Changes, apply, decide, holding, store};
use super::listed::{CLAIM, read};
use super::space::Cached;
use super::{NetworkClaimWrite, StoredNetworkClaim, held};
use crate::api::Result;
use crate::codec::micros;
use crate::db::{Tx, args};
use jiff::Timestamp;
use model::scan::Op;
use numbers::prefix::{overlaps, parse};
use numbers::{IpNet, Policy};
use std::collections::BTreeSet;

/// Refused claims that are read at once.
const PAGE: i64 = 100;
/// Pages that one release reads, and claims it decides about: other writers wait meanwhile. The oldest come first.
const PAGES_MAX: usize = 200;
const DECIDED_MAX: usize = 1000;

/// True when a claim asks for addresses out of one of these prefixes.
fn asks_for(claim: &StoredNetworkClaim, released: &[IpNet]) -> bool {
    let wanted = claim.spec.address_space.iter().flat_map(|r| [&r.prefix, &r.from]);
    let mut wanted = wanted.flatten().filter_map(|text| parse(text).ok());
    wanted.any(|w| released.iter().any(|r| overlaps(&w, r)))
}

/// Prefixes became free: refused claims of all organisations that ask for them and can be allocated now are, oldest first.
pub(super) async fn retry_refused(
    tx: &mut Tx,
    cached: &mut Cached,
    policy: &Policy,
    version: i64,
    changes: &mut Changes,
    now: Timestamp,
) -> Result<()> {
    let sql = format!(
        "SELECT {CLAIM} FROM network_claims \
         WHERE refused = 1 AND (created_at, org, name) > ($1, $2, $3) ORDER BY created_at, org, name LIMIT $4"
    );
    if changes.released.is_empty() {
        return Ok(());
    }
    let written: BTreeSet<_> = changes.claims.iter().flatten().cloned().collect();
    let released: Vec<IpNet> = changes.released.iter().map(|(prefix, ..)| *prefix).collect();
    // Decided against the space as it will be, in a copy: what is not committed must not be in the index.
    let mut draft: Option<Cached> = None;
    let mut after = (i64::MIN, i64::MIN, String::new());
    let mut left = DECIDED_MAX;
    for _ in 0..PAGES_MAX {
        let (created, org, name) = &after;
        let rows = tx.rows(sql.clone(), args![*created, *org, name.as_str(), PAGE]).await?;
        let page = rows.iter().map(read).collect::<Result<Vec<_>>>()?;
        let Some(last) = page.last() else { return Ok(()) };
        after = (micros(last.created_at), last.org.0, last.name.clone());
        let is_last = page.len() < usize::try_from(PAGE).unwrap_or(0);
        let waiting = page
            .into_iter()
            .filter(|c| !written.contains(&(c.org, c.name.clone())) && asks_for(c, &released))
            .take(left)
            .collect::<Vec<_>>();
        left -= waiting.len();
        for claim in waiting {
            let draft = draft.get_or_insert_with(|| {
                let mut copy = Cached { version, space: cached.space.clone(), ..Cached::default() };
                apply(&mut copy, changes);
                copy
            });
            retry(tx, draft, policy, claim, changes, now).await?;
        }
        if is_last || left == 0 {
            break;
        }
    }
    Ok(())
}

/// Decides again about a refused claim and stores it when it is allocated now.
async fn retry(
    tx: &mut Tx,
    draft: &mut Cached,
    policy: &Policy,
    mut claim: StoredNetworkClaim,
    changes: &mut Changes,
    now: Timestamp,
) -> Result<()> {
    let write = NetworkClaimWrite {
        org: claim.org,
        name: claim.name.clone(),
        expected: Some(claim.rv),
        metadata: claim.metadata.clone(),
        spec: claim.spec.clone(),
        policy: policy.clone(),
        limit: u64::MAX,
        dry_run: false,
    };
    let status = decide(draft, policy, &write, &claim.status, now);
    if !status.is_allocated() {
        return Ok(());
    }
    let old = std::mem::replace(&mut claim.status, status);
    store(tx, &claim, &old, Op::Update, draft.version, changes, now).await?;
    for (prefix, record) in held(&claim.status) {
        draft.space.remove(&prefix, claim.org.0, &claim.name);
        draft.space.insert(holding(&claim, prefix, &record));
    }
    Ok(())
}
