//! Changes of objects: in an editor, applied by the client and by the server in turn, under generated names.

use super::{Cluster, claim, reference};
use serde_json::json;
use std::process::Stdio;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_object_is_edited_in_an_editor() {
    let Some(c) = Cluster::start(false).await else { return };
    let web =
        claim("web", &json!([{ "prefix": "10.0.0.0/24", "reference": reference(), "description": "Web" }]));
    c.kubectl(&["create", "-f", &c.file("web.json", &web)]).await;
    let edit = async |script: &str| {
        let editor = format!("sed -i -e {script}");
        let mut kubectl = c.command(&["edit", "networkclaim", "web"]);
        kubectl.env("KUBE_EDITOR", editor).env("TMPDIR", c.home.path()).stdin(Stdio::null());
        let run = tokio::time::timeout(Duration::from_secs(120), kubectl.output()).await;
        let out = run.expect("kubectl ends").unwrap();
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        (out.status.success(), said + &String::from_utf8_lossy(&out.stderr))
    };
    let (is_done, said) = edit("'s/description: Web/description: Edge/'").await;
    assert!(is_done && said.contains("networkclaim.datumapis.com/web edited"), "{said}");
    let path = "jsonpath={.spec.addressSpace[0].description} {.metadata.generation} {.metadata.managedFields[*].manager}";
    let shown = c.kubectl(&["get", "networkclaim", "web", "-o", path]).await;
    assert!(shown.starts_with("Edge 2 ") && shown.contains("kubectl-edit"), "{shown}");
    let (is_done, said) = edit("'s/no such text//'").await;
    assert!(is_done && said.contains("no changes made"), "{said}");
    // What is refused comes back in the editor with its field; left so, it is kept in a file and the object stays.
    let (is_done, said) = edit("'s#prefix: 10.0.0.0/24#prefix: 10.0.0.1/24#'").await;
    assert!(
        !is_done && said.contains("is invalid") && said.contains("no valid changes were saved"),
        "{said}"
    );
    let files = std::fs::read_dir(c.home.path()).unwrap().map(|f| f.unwrap().path());
    let kept: String = files.filter_map(|f| std::fs::read_to_string(f).ok()).collect();
    assert!(kept.contains("# * spec.addressSpace[0].prefix: ") && kept.contains("host bits"), "{kept}");
    let path = "jsonpath={.spec.addressSpace[0].prefix}";
    assert_eq!(c.kubectl(&["get", "networkclaim", "web", "-o", path]).await, "10.0.0.0/24");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn client_side_and_server_side_apply_take_over_from_each_other() {
    let Some(c) = Cluster::start(false).await else { return };
    let web = claim("web", &json!([{ "prefix": "10.0.0.0/24", "reference": reference() }]));
    let labelled = |team: &str| {
        let mut web = web.clone();
        web["metadata"]["labels"] = json!({ "team": team });
        c.file("web.json", &web)
    };
    let labels =
        async || c.kubectl(&["get", "networkclaim", "web", "-o", "jsonpath={.metadata.labels}"]).await;
    c.kubectl(&["apply", "-f", &labelled("edge")]).await;
    c.kubectl(&["apply", "--server-side", "-f", &labelled("core")]).await;
    assert_eq!(labels().await, r#"{"team":"core"}"#);
    // The client compares with what the server applied: the label is no longer named, so it goes.
    c.kubectl(&["apply", "-f", &c.file("web.json", &web)]).await;
    assert_eq!(labels().await, "");
    // Another manager still conflicts.
    c.kubectl(&["apply", "-f", &labelled("edge")]).await;
    let said = c.refused(&["apply", "--server-side", "--field-manager=ops", "-f", &labelled("ops")]).await;
    assert!(said.contains("conflict with \"kubectl") && said.contains(".metadata.labels.team"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn names_are_generated() {
    let Some(c) = Cluster::start(false).await else { return };
    for block in 0..2 {
        let mut web =
            claim("", &json!([{ "prefix": format!("10.0.{block}.0/24"), "reference": reference() }]));
        web["metadata"] = json!({ "generateName": "web-" });
        let said = c.kubectl(&["create", "-f", &c.file("web.json", &web)]).await;
        assert!(
            said.starts_with("networkclaim.datumapis.com/web-") && said.ends_with(" created\n"),
            "{said}"
        );
    }
    let names =
        c.kubectl(&["get", "networkclaims", "-o", "jsonpath={.items[*].metadata.generateName}"]).await;
    assert_eq!(names, "web- web-");
}
