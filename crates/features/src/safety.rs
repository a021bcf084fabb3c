//! Whether the program may be exchanged for a newer or an older one. Pure.

use crate::machine::{Feature, State};
use crate::runner::{Process, minor};

/// Why it is not safe to upgrade now; `None` when it is. A transition that one version began is ended by it.
pub fn upgrade_blocker(features: &[Feature], live: &[Process]) -> Option<String> {
    // Those of third parties are carried on by their own processes.
    let mut own = features.iter().filter(|f| f.registered.is_none());
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

/// Why it is not safe to start the version before this one; `None` when it is. `leftovers` are the features that are off
/// and have something stored.
pub fn downgrade_blocker(features: &[Feature], leftovers: &[&str], version: &str) -> Option<String> {
    let is_new = |f: &&Feature| {
        f.registered.is_none() && minor(&f.since) >= minor(version) && minor(version) % 1000 > 1
    };
    let stays = |f: &&Feature| f.state != State::Off || leftovers.contains(&f.name.as_str());
    let f = features.iter().filter(is_new).find(stays)?;
    Some(format!(
        "{} came with {} and its data mean nothing to the version before it: turn it off first",
        f.name, f.since
    ))
}
