//! Templates of an organisation: checked, kept, named in services, read by URL through the guard.

use crate::services;
use model::account::AuditQuery;
use model::configure::{ServiceKind, ServiceSpec};
use model::ids::{Caller, OrgId, Role};
use model::item::Ownership;
use service::{Backend, ErrorKind, TemplateDraft};

#[tokio::test]
async fn a_template_is_checked_kept_for_its_organisation_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let s = services(&folder).await;
    let member = Caller::new(OrgId::BUILT_IN, "Mel", Role::Member);
    let text = |json: &str| TemplateDraft { json: json.into(), url: String::new() };
    let good = r#"{"providerId":"post.example","providerName":"Post","serviceId":"web","serviceName":"Web shop","version":2,
        "records":[{"type":"A","host":"@","pointsTo":"%ip%","ttl":300,"groupId":"web"}]}"#;
    let kept = s.save_template(&member, &text(good)).await.unwrap();
    assert_eq!(
        (kept.key().as_str(), kept.version, kept.saved_by.as_str()),
        ("post.example/web", Some(2), "Mel")
    );
    assert_eq!((kept.variables, kept.groups), (vec!["ip".to_string()], vec!["web".to_string()]));
    // Saved once more it is replaced.
    s.save_template(&member, &text(&good.replace("Web shop", "Shop"))).await.unwrap();
    let all = s.templates(&member).await.unwrap();
    assert_eq!(all.iter().map(|t| t.service_name.as_str()).collect::<Vec<_>>(), ["Shop"]);
    let stranger = Caller::new(OrgId(77), "Eve", Role::Owner);
    assert!(s.templates(&stranger).await.unwrap().is_empty());
    for (draft, word) in [
        (text(""), "one of the two"),
        (text("{"), "not JSON"),
        (text("[]"), "JSON object"),
        (text(&good.replace("post.example", "a b")), "\"a b\" must be"),
        (text(&good.replace("\"A\"", "\"WHAT\"")), "ecord 1"),
        (text(&good.replace("\"version\":2", "\"version\":\"two\"")), "ersion must be"),
        (TemplateDraft { url: "ftp://x.example/t".into(), json: String::new() }, "ftp://x.example/t"),
        (TemplateDraft { url: "https://x.example/t".into(), json: "{}".into() }, "one of the two"),
    ] {
        let e = s.save_template(&member, &draft).await.unwrap_err();
        assert!(e.kind == ErrorKind::Invalid && e.detail.contains(word), "{word}: {e}");
    }
    // Its name stands for its text in a service; what is kept is the text.
    let spec = |template: &str| {
        let values = [("template", template), ("values", "ip=192.0.2.1")];
        ServiceSpec::new(ServiceKind::Template, "", values).unwrap()
    };
    s.add(&member, "alder.example.com", Ownership::Owned, &[]).await.unwrap();
    let service = s.add_service(&member, "example.com", &spec("post.example/web")).await.unwrap();
    assert!(service.spec.value("template").contains("\"providerId\":\"post.example\""));
    let e = s.add_service(&member, "example.com", &spec("post.example/none")).await.unwrap_err();
    assert!(e.detail.contains("post.example/none"), "{e}");
    // White space before a text does not make it a name; what is no name is not repeated whole.
    let mut spaced = spec("x");
    spaced.values.insert("template".into(), format!("\n {good}"));
    s.add_service(&member, "example.com", &spaced).await.unwrap();
    let e = s.add_service(&member, "example.com", &spec(&"x".repeat(5_000))).await.unwrap_err();
    assert!(e.detail.len() < 300, "{}", e.detail.len());
    let e = s.remove_template(&stranger, "post.example/web").await.unwrap_err();
    assert_eq!(e.kind, ErrorKind::NotFound);
    s.remove_template(&member, "post.example/web").await.unwrap();
    assert!(s.templates(&member).await.unwrap().is_empty());
    let query = AuditQuery { limit: 50, ..AuditQuery::default() };
    let log = s.store().audit_log(OrgId::BUILT_IN, &query).await.unwrap();
    let actions: Vec<String> = log.entries.into_iter().map(|e| e.action).collect();
    let of_templates: Vec<&str> =
        actions.iter().map(String::as_str).filter(|a| a.starts_with("template")).collect();
    assert_eq!(of_templates, ["template.remove", "template.save", "template.save"]);
}

#[tokio::test]
async fn a_template_is_read_by_url_through_the_guard() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let folder = tempfile::tempdir().unwrap();
    let mut s = services(&folder).await;
    let member = Caller::new(OrgId::BUILT_IN, "Mel", Role::Member);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/post.example.web.json", listener.local_addr().unwrap());
    let body = r#"
        {"providerId":"post.example","providerName":"Post","serviceId":"web","serviceName":"Web",
        "records":[{"type":"TXT","host":"@","data":"x","ttl":300}]}"#;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 1024];
            let read = stream.read(&mut request).await.unwrap_or(0);
            let found = String::from_utf8_lossy(&request[..read]).contains("/post.example.web.json");
            let (status, body) = if found { ("200 OK", body) } else { ("404 Not Found", "") };
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    let with = |allow_private: bool| {
        let settings = net::Settings { allow_private, ..net::Settings::default() };
        net::Dialer::new(settings).unwrap()
    };
    let draft = |url: &str| TemplateDraft { url: url.into(), json: String::new() };
    // A private address is refused before anything is sent.
    s.tools.inspector = s.tools.inspector.clone().with_domain_connect(with(false), None);
    let e = s.save_template(&member, &draft(&url)).await.unwrap_err();
    assert!(e.kind == ErrorKind::Invalid && e.detail.contains("127.0.0.1"), "{e}");
    s.tools.inspector = s.tools.inspector.clone().with_domain_connect(with(true), None);
    let kept = s.save_template(&member, &draft(&url)).await.unwrap();
    assert_eq!((kept.key().as_str(), kept.url.as_str()), ("post.example/web", url.as_str()));
    assert!(kept.json.starts_with('{'), "{}", kept.json);
    let e = s.save_template(&member, &draft(&url.replace("web.json", "none.json"))).await.unwrap_err();
    assert!(e.detail.contains("404"), "{e}");
}
