//! Who holds what of a prefix and what of it is free.

use model::ids::OrgId;
use numbers::prefix::size;
use numbers::{Holding, IpNet, Policy};
use service::space::{ClaimedPrefix, PrefixSpace, PrefixState};
use store::{RefusedPrefix, Store, StoredCover, StoredSurvey};

/// Entries of each list of one answer.
const LISTED_MAX: usize = 200;

/// Who holds what of a prefix and what of it an organisation could claim.
///
/// # Errors
/// Those of the store.
pub async fn prefix_space(
    store: &dyn Store,
    org: OrgId,
    prefix: IpNet,
    policy: &Policy,
) -> Result<PrefixSpace, store::Error> {
    let StoredSurvey { survey, refused, released, is_partial } =
        store.survey(org, &prefix, policy, LISTED_MAX).await?;
    let allocated = survey.held.len() + survey.more_held;
    let all: Vec<ClaimedPrefix> = survey
        .covering
        .into_iter()
        .chain(survey.held)
        .map(held)
        .chain(refused.into_iter().map(unavailable))
        .chain(released.into_iter().map(gone))
        .collect();
    let (mut covering, mut claims): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|c| c.prefix != prefix && c.prefix.contains(&prefix));
    let is_open = |c: &ClaimedPrefix| c.state != PrefixState::Allocated;
    covering.sort_by(|a, b| (is_open(a), a.prefix, &a.claim).cmp(&(is_open(b), b.prefix, &b.claim)));
    claims.sort_by(|a, b| (a.prefix, is_open(a), &a.claim).cmp(&(b.prefix, is_open(b), &b.claim)));
    let is_refused = |c: &&ClaimedPrefix| c.state == PrefixState::Unavailable;
    let refused = covering.iter().chain(&claims).filter(is_refused).count();
    // Allocated prefixes beyond the limit lie behind all that are listed.
    let (more_covering, more_claims) = (cut(&mut covering), cut(&mut claims) + survey.more_held);
    #[allow(clippy::cast_precision_loss)]
    let used = survey.used as f64 / size(&prefix) as f64 * 100.0;
    Ok(PrefixSpace {
        prefix,
        covering,
        more_covering,
        claims,
        more_claims,
        refused,
        allocated,
        free: survey.free,
        more_free: survey.more_free,
        largest_free: survey.largest_free,
        used,
        has_foreign: survey.has_foreign,
        is_partial,
    })
}

/// Cuts a list to what is listed; how many more there were.
fn cut(all: &mut Vec<ClaimedPrefix>) -> usize {
    let more = all.len().saturating_sub(LISTED_MAX);
    all.truncate(LISTED_MAX);
    more
}

fn held(h: Holding) -> ClaimedPrefix {
    ClaimedPrefix {
        prefix: h.prefix,
        claim: h.holder.claim,
        reference: h.holder.reference,
        state: PrefixState::Allocated,
        since: h.holder.since,
        released_at: None,
        message: None,
    }
}

fn gone(c: StoredCover) -> ClaimedPrefix {
    ClaimedPrefix {
        prefix: c.prefix,
        claim: c.claim,
        reference: c.reference,
        state: PrefixState::Released,
        since: c.since,
        released_at: c.released_at,
        message: None,
    }
}

fn unavailable(r: RefusedPrefix) -> ClaimedPrefix {
    ClaimedPrefix {
        prefix: r.prefix,
        claim: r.claim,
        reference: r.record.reference,
        state: PrefixState::Unavailable,
        since: r.record.date,
        released_at: None,
        message: r.record.message,
    }
}
