//! Whether the program may be exchanged for a newer or an older one. Pure.

use crate::machine::{Feature, State};
use crate::store::Process;
use crate::table::spec;
use crate::version::minor;

/// Why it is not safe to upgrade now; `None` when it is. A transition that one version began is ended by it.
pub fn upgrade_blocker(features: &[Feature], live: &[Process]) -> Option<String> {
    // Those of third parties are carried on by their own processes, and one that only a newer version knows is ended by
    // that version: waiting with the upgrade would not help.
    let mut own = features.iter().filter(|f| f.registered.is_none() && spec(&f.name).is_some());
    if let Some(f) = own.find(|f| f.state.is_transition()) {
        return Some(format!("{} is {}: wait until that ends, or set it back", f.name, f.state.as_str()));
    }
    let newest = live.iter().max_by_key(|p| minor(&p.version))?;
    let older = live.iter().find(|p| minor(&p.version) < minor(&newest.version))?;
    Some(format!(
        "{} still runs {} while {} runs {}: finish the roll-out first",
        older.id, older.version, newest.id, newest.version
    ))
}

/// The release before this one, and what it knows of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Earlier<'a> {
    /// Its version.
    pub version: &'a str,
    /// The newest schema that it opens.
    pub schema: i64,
    /// The schema of this program.
    pub schema_now: i64,
}

/// Why it is not safe to start the release before this one; `None` when it is. `leftovers` are the features that are off
/// and have something stored.
pub fn downgrade_blocker(
    features: &[Feature],
    leftovers: &[&str],
    version: &str,
    earlier: Earlier<'_>,
) -> Option<String> {
    if earlier.schema < earlier.schema_now {
        return Some(format!(
            "{} opens databases up to schema {}, this one has {}: to go back, restore a backup made before the upgrade",
            earlier.version, earlier.schema, earlier.schema_now
        ));
    }
    let is_new = |f: &&Feature| f.registered.is_none() && minor(&f.since) >= minor(version);
    let stays = |f: &&Feature| f.state != State::Off || leftovers.contains(&f.name.as_str());
    let f = features.iter().filter(is_new).find(stays)?;
    Some(format!(
        "{} came with {} and its data mean nothing to the version before it: turn it off first",
        f.name, f.since
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use std::collections::{BTreeMap, BTreeSet};

    fn feature(name: &str, since: &str, state: State) -> Feature {
        let spec = spec("doh-server").unwrap();
        let made = Feature::new(spec, "0.1.0", Timestamp::UNIX_EPOCH);
        Feature { name: name.into(), since: since.into(), state, ..made }
    }

    fn process(id: &str, version: &str) -> Process {
        let at = Timestamp::UNIX_EPOCH;
        let (uses, lacks) = (BTreeMap::new(), BTreeSet::new());
        let (fixed, unable) = (BTreeMap::new(), BTreeSet::new());
        let (id, version) = (id.into(), version.into());
        Process { id, version, started_at: at, seen_at: at, uses, lacks, fixed, unable }
    }

    #[test]
    fn a_transition_and_a_roll_out_block_an_upgrade() {
        let on = feature("network-claim", "0.1", State::On);
        let turning = feature("doh-server", "0.1", State::TurningOff);
        let live = [process("one", "0.9.1"), process("two", "0.9.4")];
        assert_eq!(upgrade_blocker(std::slice::from_ref(&on), &live), None, "patches are the same release");
        let why = upgrade_blocker(&[on.clone(), turning.clone()], &live).unwrap();
        assert!(why.starts_with("doh-server is TurningOff"), "{why}");
        let newer = feature("of-a-newer-version", "1.3", State::TurningOff);
        assert_eq!(upgrade_blocker(&[newer], &live), None, "only an upgrade ends it");
        let mut theirs = turning;
        let declared = crate::Declared {
            default: false,
            stage: crate::Stage::Alpha,
            version: "1".into(),
            title: String::new(),
            dynamic: true,
        };
        theirs.registered = Feature::registered("b", &declared, "0.1.0", Timestamp::UNIX_EPOCH).registered;
        assert_eq!(upgrade_blocker(&[theirs], &live), None, "their own processes carry it on");
        let mixed = [process("one", "1.0.0"), process("two", "0.9.4")];
        let why = upgrade_blocker(&[on], &mixed).unwrap();
        assert!(why.starts_with("two still runs 0.9.4 while one runs 1.0.0"), "{why}");
    }

    #[test]
    fn a_newer_schema_and_what_came_with_this_release_block_a_downgrade() {
        let same = Earlier { version: "0.9", schema: 20, schema_now: 20 };
        let old = feature("a", "0.9", State::On);
        let blocker = |features: &[Feature], left: &[&str], earlier| {
            downgrade_blocker(features, left, "1.0.0", earlier)
        };
        assert_eq!(blocker(std::slice::from_ref(&old), &[], same), None);
        let newer = Earlier { schema_now: 21, ..same };
        let why = blocker(&[old], &[], newer).unwrap();
        assert!(why.contains("0.9 opens databases up to schema 20, this one has 21"), "{why}");
        // Also at a major step.
        let new = |state| feature("b", "1.0", state);
        let why = blocker(&[new(State::On)], &[], same).unwrap();
        assert!(why.starts_with("b came with 1.0"), "{why}");
        assert!(blocker(&[new(State::TurningOff)], &[], same).is_some());
        assert!(blocker(&[new(State::Off)], &["b"], same).is_some(), "something is left");
        assert_eq!(blocker(&[new(State::Off)], &["a"], same), None);
    }
}
