//! How to make a machine or browser forget DNS answers: a table of systems and the one step each needs. A cached "no"
//! on one's own side is what everyone forgets.

use serde::Deserialize;
use std::sync::LazyLock;

/// How one system is made to forget.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guide {
    /// The system or browser.
    pub system: String,
    /// A command, or where to click.
    pub step: String,
    /// True when `step` is a command for a terminal.
    pub command: bool,
    /// Where this row comes from.
    pub source: String,
}

#[derive(Deserialize)]
struct Guides {
    guide: Vec<Guide>,
}

static GUIDES: LazyLock<Vec<Guide>> = LazyLock::new(|| {
    serde_json::from_slice::<Guides>(include_bytes!(concat!(env!("OUT_DIR"), "/flush.json")))
        .expect("data/flush.toml is checked by a test")
        .guide
});

/// The table.
pub fn guides() -> &'static [Guide] {
    &GUIDES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_covers_the_common_systems_with_sources() {
        assert!(guides().iter().all(|g| !g.step.is_empty() && !g.source.is_empty()));
        for system in ["systemd-resolved", "macOS", "Windows", "Chrome", "Firefox"] {
            assert!(guides().iter().any(|g| g.system.contains(system)), "{system}");
        }
    }
}
