//! What a token may do, over TLS.

use super::Cluster;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_token_says_what_it_may_over_tls() {
    let Some(c) = Cluster::start(true).await else { return };
    assert_eq!(c.kubectl(&["auth", "can-i", "create", "networkclaims.datumapis.com"]).await.trim(), "yes");
    assert!(c.refused(&["auth", "can-i", "create", "domainevents.datumapis.com"]).await.contains("no"));
    assert!(
        c.refused(&["auth", "can-i", "get", "domains.datumapis.com", "-n", "org-999"]).await.contains("no")
    );
    // All of it at once, and a subresource that there is none of.
    let table = c.kubectl(&["auth", "can-i", "--list"]).await;
    let line = table.lines().find(|l| l.starts_with("domainevents.datumapis.com ")).expect("a line");
    assert!(line.contains("[get list watch]"), "{table}");
    assert!(
        table.contains("selfsubjectrulesreviews.authorization.k8s.io") && table.contains("/openapi/v2"),
        "{table}"
    );
    let domains = "domains.datumapis.com";
    assert_eq!(c.kubectl(&["auth", "can-i", "get", domains, "--subresource=status"]).await.trim(), "yes");
    assert!(c.refused(&["auth", "can-i", "get", domains, "--subresource=scale"]).await.contains("no"));
    assert!(c.kubectl(&["get", "domains", "-A"]).await.is_empty());
    let forbidden = c.refused(&["get", "domains", "-n", "elsewhere"]).await;
    assert!(forbidden.contains("Forbidden") && forbidden.contains("org-"), "{forbidden}");
    let out = c.command(&["get", "domains", "--token=dst_wrong"]).output().await.unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(!out.status.success() && (said.contains("Unauthorized") || said.contains("logged in")), "{said}");
}
