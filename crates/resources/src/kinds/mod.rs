//! The kinds there are, each declared in its file with how it is stored.

mod cluster_claim;
mod domain;
mod domain_event;
mod feature;
mod network_claim;

use crate::kind::Kind;

pub use cluster_claim::CLUSTER_CLAIM;
pub use domain::DOMAIN;
pub use domain_event::DOMAIN_EVENT;
pub use feature::FEATURE;
pub use network_claim::NETWORK_CLAIM;

/// All kinds, by plural.
pub static ALL: [&Kind; 5] = [&CLUSTER_CLAIM, &DOMAIN_EVENT, &DOMAIN, &FEATURE, &NETWORK_CLAIM];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Verb;

    #[test]
    fn every_kind_is_declared_whole() {
        for kind in ALL {
            let schema = (kind.schema)();
            assert!(schema["properties"]["spec"]["description"].is_string(), "{}", kind.name);
            assert!((kind.action)(Verb::Get).is_some() && (kind.action)(Verb::List).is_some());
            assert!(kind.columns.iter().any(|c| c.priority == 0), "{}", kind.name);
            described(&schema, kind.name);
        }
        assert!(ALL.windows(2).all(|w| w[0].plural < w[1].plural));
    }

    /// Every property says what it is: `kubectl explain` shows it.
    fn described(schema: &serde_json::Value, path: &str) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            assert!(
                property["description"].is_string()
                    || path.ends_with(".apiVersion")
                    || path.ends_with(".kind"),
                "{path}"
            );
            described(property, &path);
            described(&property["items"], &path);
        }
    }
}
