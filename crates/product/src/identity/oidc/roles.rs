//! Which role a person gets here, from what the provider says of them. Pure.

use model::ids::Role;
use serde_json::{Map, Value};

/// How values of a claim become roles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleMapping {
    /// The claim with the groups or roles of a person: its name, or a path to it (`realm_access.roles`). With a claim, the
    /// provider decides at every sign-in; without one the default role is given to new accounts only.
    pub claim: Option<String>,
    /// Values with their roles. Of several that fit the highest role counts.
    pub values: Vec<(String, Role)>,
    /// The role when no value fits; without one such a person is refused.
    pub default: Option<Role>,
}

impl RoleMapping {
    /// The role of a person with these claims; `None` refuses.
    pub fn role(&self, claims: &Map<String, Value>) -> Option<Role> {
        let found = self.claim.as_deref().and_then(|claim| at(claims, claim));
        let has = |wanted: &str| match found {
            Some(Value::String(one)) => one == wanted,
            Some(Value::Array(all)) => all.iter().any(|one| one.as_str() == Some(wanted)),
            _ => false,
        };
        let mapped = self.values.iter().filter(|(value, _)| has(value)).map(|(_, role)| *role);
        mapped.max().or(self.default)
    }
}

/// A claim by its name, which may hold dots (`https://example.com/roles`), else by its path.
pub(super) fn at<'a>(claims: &'a Map<String, Value>, claim: &str) -> Option<&'a Value> {
    claims.get(claim).or_else(|| {
        let (first, rest) = claim.split_once('.')?;
        at(claims.get(first)?.as_object()?, rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn mapping(claim: &str) -> RoleMapping {
        RoleMapping {
            claim: Some(claim.into()),
            values: vec![
                ("staff".into(), Role::Viewer),
                ("dns-admins".into(), Role::Admin),
                ("dns".into(), Role::Member),
            ],
            default: None,
        }
    }

    fn role(mapping: &RoleMapping, claims: &Value) -> Option<Role> {
        mapping.role(claims.as_object().unwrap())
    }

    #[test]
    fn the_highest_role_of_all_values_counts() {
        let m = mapping("groups");
        assert_eq!(role(&m, &json!({"groups": ["staff", "dns-admins", "dns"]})), Some(Role::Admin));
        assert_eq!(role(&m, &json!({"groups": ["dns"]})), Some(Role::Member));
        assert_eq!(role(&m, &json!({"groups": "staff"})), Some(Role::Viewer));
    }

    #[test]
    fn values_are_compared_whole_and_what_is_unknown_is_refused() {
        let m = mapping("groups");
        for claims in [
            json!({}),
            json!({"groups": []}),
            json!({"groups": ["STAFF", "dns-admin", "staff "]}),
            json!({"groups": "staff,dns"}),
            json!({"groups": {"staff": true}}),
            json!({"groups": [["staff"], 7, null]}),
            json!({"other": ["staff"]}),
        ] {
            assert_eq!(role(&m, &claims), None, "{claims}");
        }
        let open = RoleMapping { default: Some(Role::Viewer), ..m };
        assert_eq!(role(&open, &json!({"groups": ["other"]})), Some(Role::Viewer));
        assert_eq!(role(&open, &json!({"groups": ["dns"]})), Some(Role::Member), "the default is no maximum");
    }

    #[test]
    fn a_claim_is_a_name_or_a_path() {
        let nested = json!({"realm_access": {"roles": ["dns"]}});
        assert_eq!(role(&mapping("realm_access.roles"), &nested), Some(Role::Member));
        let namespaced = json!({"https://alder.example/roles": ["dns"]});
        assert_eq!(role(&mapping("https://alder.example/roles"), &namespaced), Some(Role::Member));
        assert_eq!(role(&mapping("realm_access.other"), &nested), None);
        assert_eq!(role(&mapping("realm_access.roles.0"), &nested), None);
    }

    #[test]
    fn without_a_claim_everyone_has_the_default_role() {
        let m = RoleMapping { default: Some(Role::Member), ..RoleMapping::default() };
        assert_eq!(role(&m, &json!({"groups": ["staff"]})), Some(Role::Member));
        assert_eq!(role(&RoleMapping::default(), &json!({})), None);
    }
}
