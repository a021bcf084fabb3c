//! Writes rendered pages and their stylesheet to a folder, to be looked at without a server:
//! `cargo run -p domainscope-app --features ssr --example preview -- FOLDER`; with `serve` as FOLDER it serves them
//! with the browser bundle of dist/ instead, at the address it prints.

#[path = "../tests/support/mod.rs"]
mod support;

use app::{AccessField, AccessPage, access_document};
use std::path::PathBuf;
use support::backend::Sample;
use support::world;

#[tokio::main]
async fn main() {
    let folder: PathBuf = std::env::args().nth(1).unwrap_or_else(|| "preview".into()).into();
    if folder.as_os_str() == "serve" {
        return serve().await;
    }
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let head = r#"<link rel="stylesheet" href="app.css">"#;
    let story = support::router(Sample::story(), head);
    let empty = support::router(Sample::of(vec![]), head);
    let wide = support::router(extremes(), head);
    let broken = support::router(Sample { broken: true, ..Sample::of(vec![world::alder()]) }, head);
    let legion = format!("/domains/{}", support::legion::NAME);
    let legion_dns = format!("{legion}/dns");
    let pages = [
        ("inventory", &story, "/domains"),
        ("filtered", &story, "/domains?tag=core&status=warning&sort=-change"),
        ("nomatch", &story, "/domains?q=nothing.example"),
        ("empty", &empty, "/domains"),
        ("broken", &broken, "/domains"),
        ("add", &story, "/domains/add?done=added.1&refused=2:exa%20mple.com&text=new.example"),
        ("overview", &story, "/domains/alder.example"),
        ("stale", &story, "/domains/meadow.example"),
        ("idn", &story, "/domains/xn--bcherei-n2a.example"),
        ("new", &story, "/domains/brandnew.example"),
        ("available", &story, "/domains/nobody.example"),
        ("scanning", &story, "/domains/halcyon.example"),
        ("q7", &story, "/domains/q7.io"),
        ("missing", &story, "/domains/missing.example"),
        ("history", &story, "/domains/alder.example/history?from=1&to=3"),
        ("events-one", &story, "/domains/alder.example/events"),
        ("dns", &story, "/domains/alder.example/dns"),
        ("events", &story, "/events"),
        ("scan", &story, "/tools/scan?name=alder.example"),
        ("scan-available", &story, "/tools/scan?name=nobody.example"),
        ("trace", &story, "/tools/trace?name=new.alder.example"),
        ("check", &story, "/tools/check?zone=alder.example"),
        ("check-all", &story, "/tools/check?zone=alder.example&level=all"),
        ("check-well", &story, "/tools/check?zone=q7.io"),
        ("check-move", &story, "/tools/check?zone=alder.example&move=1"),
        (
            "check-moved",
            &story,
            "/tools/check?zone=alder.example&ns=ns1.new.example/192.0.2.1%0D%0Ans2.new.example",
        ),
        ("check-empty", &story, "/tools/check"),
        ("settings-members", &story, "/settings/members"),
        ("settings-tokens", &story, "/settings/tokens"),
        ("settings-audit", &story, "/settings/audit"),
        ("settings-organisation", &story, "/settings/organisation"),
        ("settings-account", &story, "/settings/account"),
        ("scan-empty", &story, "/tools/scan"),
        ("trace-empty", &story, "/tools/trace"),
        ("fqdn-empty", &story, "/tools/fqdn"),
        ("fqdn", &story, "/tools/fqdn?name=www.alder.example"),
        ("fqdn-missing", &story, "/tools/fqdn?name=new.alder.example"),
        ("fqdn-wildcard", &story, "/tools/fqdn?name=any.apps.example"),
        ("fqdn-dead", &story, "/tools/fqdn?name=dead.example"),
        ("fqdn-invalid", &story, "/tools/fqdn?name=a%20b"),
        ("compare-empty", &story, "/tools/compare"),
        ("compare", &story, "/tools/compare?name=www.alder.example&type=A"),
        ("compare-whole", &story, "/tools/compare?name=www.alder.example&type=A&whole=1"),
        ("compare-denied", &story, "/tools/compare?name=new.alder.example&type=A"),
        ("compare-forced", &story, "/tools/compare?name=new.alder.example&type=A&force=1&whole=1"),
        ("legion", &wide, &legion),
        ("legion-dns", &wide, &legion_dns),
        ("history-all", &story, "/domains/alder.example/history?from=1&to=3&show=all"),
        ("dns-trace", &story, "/domains/alder.example/dns?trace=alder.example"),
        ("events-filtered", &story, "/events?kind=nameservers&open=1"),
        ("notfound", &story, "/nowhere"),
    ];
    for (file, router, url) in pages {
        let (status, html) = support::page(router, url).await;
        println!("{status} {url} {} KB", html.len() / 1000);
        let html = html.replace("href=\"/", "data-href=\"/");
        std::fs::write(folder.join(format!("{file}.html")), html).expect("the page can be written");
    }
    std::fs::write(folder.join("sign-in.html"), sign_in(head)).expect("the page can be written");
}

fn sign_in(head: &str) -> String {
    let field = |name, label, kind, hint| AccessField { name, label, kind, hint, ..AccessField::default() };
    let page = AccessPage {
        title: "Sign in".into(),
        text: "To Domainscope".into(),
        action: "/sign-in".into(),
        fields: vec![
            field("email", "Email address", "email", ""),
            field("password", "Password", "password", "At least 12 characters."),
        ],
        error: Some("Email address or password is wrong.".into()),
        button: "Sign in",
        footer: "Ask an administrator for a link when you have lost your password.",
        ..AccessPage::default()
    };
    access_document(head, &page)
}

/// The story, and a domain of extremes beside it.
fn extremes() -> Sample {
    let mut story = Sample::story();
    story.domains.push(support::legion::legion());
    story
}

/// Serves the story with the bundle, until it is stopped.
async fn serve() {
    let index = std::fs::read_to_string("dist/index.html").expect("the bundle is built");
    let head = index.rsplit("<head>").next().and_then(|h| h.split("</head>").next()).unwrap_or_default();
    let file = |axum::extract::Path(name): axum::extract::Path<String>| async move {
        let kind = match name.rsplit('.').next() {
            Some("js") => "text/javascript",
            Some("css") => "text/css",
            Some("wasm") => "application/wasm",
            Some("svg") => "image/svg+xml",
            _ => "application/octet-stream",
        };
        let bytes = tokio::fs::read(std::path::Path::new("dist").join(name.replace("..", ""))).await;
        ([("content-type", kind)], bytes.unwrap_or_default())
    };
    let app = axum::Router::new()
        .route("/assets/{*name}", axum::routing::get(file))
        .merge(support::router(extremes(), head));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
    println!("http://{}", listener.local_addr().expect("a bound socket has an address"));
    axum::serve(listener, app).await.expect("serves");
}
