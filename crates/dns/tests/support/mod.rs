//! Set-up that tests in front of the lab share.

use dns::{AddressMap, RootHints, Settings, TrustAnchors};
use lab::Lab;
use std::path::Path;
use std::time::Duration;

/// Settings of an engine for which the lab is the Internet, with a timeout of 1.5 s.
pub fn settings(lab: &Lab) -> Settings {
    let at = lab.endpoints();
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    Settings {
        root_hints: RootHints::parse(&read(&at.root_hints)).unwrap(),
        trust_anchors: TrustAnchors::parse(&read(&at.trust_anchor)).unwrap(),
        port: at.dns_port,
        allow_private: true,
        address_map: at.address_map.as_ref().map(|p| AddressMap::read(p).unwrap()).unwrap_or_default(),
        timeout: Duration::from_millis(1500),
        ..Settings::default()
    }
}
