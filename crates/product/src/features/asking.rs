//! What people ask of features: on, off, the default, or a clean-up. Pages, REST, the resource API and the command line all
//! end here.

use super::{live, registered, row_view, stored_view, unknown};
use crate::unavailable;
use ::features::{Feature, State, spec};
use model::Timestamp;
use model::account::Actor;
use model::ids::{LogPosition, OrgId};
use service::{ApiError, ApiResult, FeatureDraft, FeatureView};
use std::collections::BTreeSet;
use store::{FeatureWrite, Store, StoredFeature};

/// Refuses to turn a feature on that a live process could not serve for want of a setting. While none is live, the
/// settings of the process that asks count.
async fn check_settings(
    store: &dyn Store,
    (name, lacks): (&str, &BTreeSet<String>),
    now: Timestamp,
) -> ApiResult<()> {
    let Some(spec) = spec(name).filter(|s| !s.needs.is_empty()) else { return Ok(()) };
    let live = live(store, now).await?;
    let lacking = live.iter().find_map(|p| {
        let missing = spec.missing(&p.lacks)?;
        // One that was killed counts as live for a while.
        let age = now.duration_since(p.seen_at).as_secs().max(0);
        let whose = format!(
            ", which the process {} does not have. It was last seen {age} s ago: if it has ended, try again in a minute",
            p.id
        );
        Some((whose, missing))
    });
    let lacking = match lacking {
        None if live.is_empty() => {
            spec.missing(lacks).map(|s| (", and no server runs that has it".into(), s))
        }
        found => found,
    };
    let Some((whose, setting)) = lacking else { return Ok(()) };
    Err(ApiError::invalid(format!("{name} can't be turned on without the setting {setting}{whose}.")))
}

/// Whether a feature may be turned on and off while processes run.
fn is_dynamic(stored: &Feature) -> bool {
    match &stored.registered {
        Some(registered) => !registered.by_flag_only,
        None => spec(&stored.name).is_none_or(|s| s.dynamic),
    }
}

/// The refusal to turn a feature on or off that only flags set.
pub(super) fn by_flag_only(stored: &Feature) -> ApiError {
    let name = &stored.name;
    ApiError::invalid(match stored.registered {
        Some(_) => format!(
            "{name} is set by flags of its own program and can't be turned on or off while that runs."
        ),
        None => format!(
            "{name} can't be turned on or off while the server runs: start each process with --feature {name}=on or --feature {name}=off."
        ),
    })
}

/// Asks for a feature to be on or off and returns where it stands. `lacks` are the settings that the process that asks does not have.
///
/// # Errors
/// `NotFound` for a feature that is not there, `Conflict` when it is at another position, `Invalid` with the name of a
/// setting that it needs.
pub async fn ask_feature(
    store: &dyn Store,
    (by, lacks): (&Actor, &BTreeSet<String>),
    org: OrgId,
    draft: &FeatureDraft,
    now: Timestamp,
) -> ApiResult<FeatureView> {
    let FeatureDraft { name, desired, expected, metadata, declared, dry_run } = draft.clone();
    declared.as_ref().map_or(Ok(()), registered::check_declared)?;
    let mut row = one(store, org, &name).await?;
    let stored = &row.feature;
    let mut asked = Feature { desired, ..stored.clone() };
    if let Some(declared) = declared.as_ref().filter(|_| asked.registered.is_some()) {
        asked.declare(declared);
    }
    if stored.desired != desired && !is_dynamic(&asked) {
        return Err(by_flag_only(stored));
    }
    if asked.is_wanted() && (!stored.is_wanted() || stored.desired != desired && desired.is_some()) {
        check_settings(store, (&name, lacks), now).await?;
    }
    if !dry_run {
        let write = FeatureWrite { name: name.clone(), desired, expected, metadata, declared };
        let set = store.set_feature(by, org, &write, now).await.map_err(|e| failed(&name, e))?;
        return Ok(stored_view(store, org, set, now).await);
    }
    if expected.is_some_and(|rv| rv != row.rv) {
        return Err(changed(&name));
    }
    row.feature.set_desired(desired, &by.who, now);
    if let Some(declared) = declared.as_ref().filter(|_| row.feature.registered.is_some()) {
        row.feature.declare(declared);
    }
    row.feature.settle(now);
    if let Some(metadata) = metadata {
        row.metadata = metadata;
    }
    row_view(store, org, row, now).await
}

/// Begins to delete what is left of a feature that is off, without turning it on, and returns where it stands. Nothing is
/// changed while that is under way already, or when nothing is left.
///
/// # Errors
/// `NotFound` for a feature that is not there, `Conflict` when it is at another position, `Invalid` when it is not off or
/// its leftovers are not ours to delete.
pub async fn clean_feature(
    store: &dyn Store,
    by: &Actor,
    org: OrgId,
    (name, expected): (&str, Option<LogPosition>),
    now: Timestamp,
) -> ApiResult<FeatureView> {
    let row = one(store, org, name).await?;
    let found = row_view(store, org, row, now).await?;
    if expected.is_some_and(|rv| rv != found.rv) {
        return Err(changed(name));
    }
    if found.feature.registered.is_some() {
        return Err(ApiError::invalid(format!(
            "{name} belongs to another program: its own processes delete what it stored and report that."
        )));
    }
    let Some(spec) = spec(name) else {
        return Err(ApiError::invalid(format!(
            "{name} is not known to this version, which can't delete its data."
        )));
    };
    if found.feature.state.is_used() || found.feature.is_wanted() {
        let state = found.feature.state.as_str();
        return Err(ApiError::invalid(format!(
            "{name} is {state}: turn it off, which deletes what it stored."
        )));
    }
    if found.feature.state != State::Off || (found.leftovers.is_empty() && found.uncounted.is_none()) {
        return Ok(found);
    }
    let begun = store.clean_feature(by, org, (name, expected), &spec.tasks(), now).await;
    Ok(stored_view(store, org, begun.map_err(|e| failed(name, e))?, now).await)
}

/// The row of a feature.
async fn one(store: &dyn Store, org: OrgId, name: &str) -> ApiResult<StoredFeature> {
    store.feature_row(org, name).await.map_err(unavailable)?.ok_or_else(|| unknown(name))
}

fn changed(name: &str) -> ApiError {
    ApiError::conflict(format!("{name} was changed meanwhile. Read it again."))
}

fn failed(name: &str, e: store::Error) -> ApiError {
    match e {
        store::Error::Conflict => changed(name),
        store::Error::NotFound => unknown(name),
        e => unavailable(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::features::{Declared, FEATURES, Stage};

    #[test]
    fn what_flags_alone_set_names_the_flag() {
        let now = Timestamp::UNIX_EPOCH;
        for spec in FEATURES {
            let ours = Feature::new(spec, "0.1.0", now);
            assert_eq!(is_dynamic(&ours), spec.dynamic, "{}", spec.name);
            let words = by_flag_only(&ours).detail;
            assert!(words.contains(&format!("--feature {}=on", spec.name)), "{words}");
        }
        for dynamic in [true, false] {
            let (version, title) = ("1".to_string(), String::new());
            let declared = Declared { default: false, stage: Stage::Beta, version, title, dynamic };
            let theirs = Feature::registered("invoices.billing.example", &declared, "0.1.0", now);
            assert_eq!(is_dynamic(&theirs), dynamic);
            assert!(by_flag_only(&theirs).detail.contains("its own program"));
        }
    }
}
