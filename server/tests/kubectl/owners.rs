//! What `kubectl delete --cascade` does to dependents.

use super::{Cluster, claim, reference};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn dependents_are_deleted_or_orphaned_with_their_owner() {
    let Some(c) = Cluster::start(false).await else { return };
    let cases =
        [("foreground", ""), ("background", ""), ("orphan", "networkclaim.datumapis.com/dependent\n")];
    for (policy, left) in cases {
        let owner = claim("owner", &json!([{ "prefix": "10.0.0.0/24", "reference": reference() }]));
        c.kubectl(&["create", "-f", &c.file("owner.json", &owner)]).await;
        let uid = c.kubectl(&["get", "networkclaim", "owner", "-o", "jsonpath={.metadata.uid}"]).await;
        let mut dependent =
            claim("dependent", &json!([{ "prefix": "10.0.1.0/24", "reference": reference() }]));
        dependent["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "datumapis.com/v1alpha", "kind": "NetworkClaim", "name": "owner", "uid": uid,
            "blockOwnerDeletion": true,
        }]);
        c.kubectl(&["create", "-f", &c.file("dependent.json", &dependent)]).await;
        // Ends when the owner is gone.
        c.kubectl(&["delete", "networkclaim", "owner", &format!("--cascade={policy}")]).await;
        if policy == "background" {
            c.kubectl(&["wait", "--for=delete", "networkclaim/dependent", "--timeout=60s"]).await;
        }
        assert_eq!(c.kubectl(&["get", "networkclaims", "-o", "name"]).await, left, "{policy}");
    }
}
