//! What is left of the data of a feature.

use ::features::Left;
use model::ids::OrgId;
use std::collections::BTreeMap;

/// Names of leftovers that are listed.
const NAMES_MAX: usize = 10;

/// Leftovers by name; those of other organisations by organisation only, since their names are their own.
#[derive(Default)]
pub(super) struct Tally {
    count: u64,
    names: Vec<String>,
    others: BTreeMap<i64, u64>,
}

impl Tally {
    pub(super) fn add(&mut self, org: OrgId, name: String) {
        self.count += 1;
        if org != OrgId::BUILT_IN {
            *self.others.entry(org.0).or_default() += 1;
        } else if self.names.len() < NAMES_MAX {
            self.names.push(name);
        }
    }

    pub(super) fn done(mut self) -> Left {
        let others = self.others.iter().map(|(org, n)| format!("{n} of org-{org}"));
        self.names.extend(others.take(NAMES_MAX));
        Left { count: self.count, names: self.names }
    }
}
