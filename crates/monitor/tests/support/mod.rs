//! Set-up that tests of scans share: a scanner over a database of its own, and the domains that it scans.

use model::ids::OrgId;
use model::item::Ownership;
use model::names::DomainName;
use monitor::{Clock, Hub, Observer, Policy, Scanner};
use std::sync::Arc;
use store::NewItem;

/// A scanner over a new SQLite database in a folder.
pub async fn scanner(
    folder: &tempfile::TempDir,
    observer: Arc<dyn Observer>,
    clock: Arc<dyn Clock>,
    policy: Policy,
) -> Scanner {
    let store = store::open(&folder.path().to_string_lossy()).await.unwrap();
    Scanner { store, observer, clock, hub: Hub::default(), policy }
}

/// Adds domains that an organisation owns.
pub async fn own(scanner: &Scanner, org: OrgId, names: &[DomainName]) {
    let item = |name: &DomainName| NewItem {
        name: name.clone(),
        unicode: name.unicode(),
        ownership: Ownership::Owned,
        tags: vec![],
        note: String::new(),
    };
    let items: Vec<_> = names.iter().map(item).collect();
    scanner.store.add(org, &items, scanner.clock.now()).await.unwrap();
}
