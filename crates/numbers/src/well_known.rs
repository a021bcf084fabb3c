//! Names of claims that mean the same in every installation, so that a component finds the ranges of another one without
//! a setting.

use crate::claim::{ClaimSpec, Reference, SpecError};

/// A name of a claim and the component whose address space it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WellKnown {
    /// The claim's name.
    pub name: &'static str,
    /// Group of the component.
    pub group: &'static str,
    /// Resource of the component.
    pub resource: &'static str,
}

/// The service addresses of a cluster (`--service-cluster-ip-range` of kube-apiserver).
pub const KUBE_APISERVER_SERVICES: WellKnown =
    WellKnown { name: "kube-apiserver-services", group: "kube-apiserver", resource: "services" };
/// The pod addresses of a cluster (`--cluster-cidr` of kube-controller-manager).
pub const KUBE_CONTROLLER_MANAGER_PODS: WellKnown =
    WellKnown { name: "kube-controller-manager-pods", group: "kube-controller-manager", resource: "pods" };

/// All of them.
pub const ALL: [WellKnown; 2] = [KUBE_APISERVER_SERVICES, KUBE_CONTROLLER_MANAGER_PODS];

impl WellKnown {
    /// The reference that all entries of the claim carry.
    pub fn reference(&self) -> Reference {
        Reference { group: self.group.into(), resource: self.resource.into() }
    }
}

/// The reference that a name stands for; `None` for a name that anyone may use.
pub fn reference(name: &str) -> Option<Reference> {
    ALL.iter().find(|w| w.name == name).map(WellKnown::reference)
}

/// The entries of a claim of this name that carry another reference than the name stands for.
pub fn validate(name: &str, spec: &ClaimSpec) -> Vec<SpecError> {
    let Some(expected) = reference(name) else { return Vec::new() };
    let entries = spec.address_space.iter().enumerate().filter(|(_, r)| r.reference != expected);
    let error = |(at, request): (usize, &crate::AddressRequest)| SpecError {
        field: format!("spec.addressSpace[{at}].reference"),
        value: format!("{}/{}", request.reference.group, request.reference.resource)
            .chars()
            .take(80)
            .collect(),
        rule: format!(
            "the name {name} stands for {}/{}: use this reference, or another name",
            expected.group, expected.resource
        ),
    };
    entries.map(error).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AddressRequest;

    #[test]
    fn a_well_known_name_carries_its_reference() {
        let services = KUBE_APISERVER_SERVICES.reference();
        let other = Reference { group: String::new(), resource: "services".into() };
        let request = |reference: &Reference| AddressRequest {
            prefix: Some("10.96.0.0/16".into()),
            reference: reference.clone(),
            ..AddressRequest::default()
        };
        let spec = ClaimSpec { address_space: vec![request(&services), request(&other)] };
        let errors = validate("kube-apiserver-services", &spec);
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].field, "spec.addressSpace[1].reference");
        assert!(errors[0].rule.contains("kube-apiserver/services"), "{}", errors[0]);
        assert_eq!(validate("kube-controller-manager-pods", &spec).len(), 2);
        assert!(validate("web", &spec).is_empty());
    }
}
