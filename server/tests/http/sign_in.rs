//! Signing in as a browser does it: forms, cookies, redirections.

use crate::site::{Site, site};
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use tower::ServiceExt;

const PASSWORD: &str = "correct horse battery";

struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Reply {
    fn cookie(&self) -> String {
        let set = self.headers["set-cookie"].to_str().unwrap();
        set.split(';').next().unwrap().to_string()
    }

    fn location(&self) -> &str {
        self.headers.get("location").map_or("", |to| to.to_str().unwrap())
    }
}

async fn send(site: &Site, request: axum::http::request::Builder, body: String) -> Reply {
    let request = request.header("host", "scope.example").body(Body::from(body)).unwrap();
    let answer = site.router.clone().oneshot(request).await.unwrap();
    let (status, headers) = (answer.status(), answer.headers().clone());
    let body = axum::body::to_bytes(answer.into_body(), 8 << 20).await.unwrap();
    Reply { status, headers, body: String::from_utf8_lossy(&body).into_owned() }
}

async fn get(site: &Site, path: &str, cookie: &str) -> Reply {
    send(site, Request::get(path).header("cookie", cookie), String::new()).await
}

async fn post(site: &Site, path: &str, cookie: &str, fields: &[(&str, &str)]) -> Reply {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let request = Request::post(path)
        .header("cookie", cookie)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "same-origin");
    send(site, request, body).await
}

/// Gives Mira a password by the link of `admin reset-link`; the cookie of the session it begins.
async fn set_password(site: &Site) -> String {
    let link = site.identity.reset_link("mira@alder.example").await.unwrap().unwrap();
    let page = get(site, &format!("/reset?key={}", link.expose()), "").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.body.contains("mira@alder.example") && page.body.contains("new-password"), "{}", page.body);
    let done = post(site, "/accept", "", &[("key", link.expose()), ("password", PASSWORD)]).await;
    assert_eq!((done.status, done.location()), (StatusCode::SEE_OTHER, "/domains"));
    let again = post(site, "/accept", "", &[("key", link.expose()), ("password", PASSWORD)]).await;
    assert_eq!(again.status, StatusCode::FORBIDDEN);
    done.cookie()
}

#[tokio::test]
async fn a_person_signs_in_goes_where_they_wanted_and_out_again() {
    let site = site(false).await;
    set_password(&site).await;
    let page = get(&site, "/sign-in?to=/events", "").await;
    assert_eq!(page.headers["cache-control"], "no-store");
    assert!(
        page.body.contains(r#"value="/events""#) && !page.body.contains("type=\"module\""),
        "{}",
        page.body
    );
    let wrong = [("email", "mira@alder.example"), ("password", "not a password"), ("to", "/events")];
    let refused = post(&site, "/sign-in", "", &wrong).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    assert!(refused.body.contains("do not match") && !refused.body.contains("not a password"));
    let right = [("email", "mira@alder.example"), ("password", PASSWORD), ("to", "/events")];
    let entered = post(&site, "/sign-in", "", &right).await;
    assert_eq!((entered.status, entered.location()), (StatusCode::SEE_OTHER, "/events"));
    let set = entered.headers["set-cookie"].to_str().unwrap();
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Lax"), "{set}");
    let cookie = entered.cookie();
    let page = get(&site, "/domains", &cookie).await;
    assert_eq!(page.status, StatusCode::OK);
    assert_eq!(page.headers["cache-control"], "no-store");
    assert!(page.body.contains("Mira Holt") && page.body.contains("Sign out"));
    let out = post(&site, "/sign-out", &cookie, &[]).await;
    assert_eq!((out.status, out.location()), (StatusCode::SEE_OTHER, "/sign-in"));
    assert_eq!(
        get(&site, "/domains", &cookie).await.status,
        StatusCode::SEE_OTHER,
        "the cookie opens nothing"
    );
}

#[tokio::test]
async fn other_sites_can_neither_sign_in_nor_out_nor_redirect() {
    let site = site(false).await;
    let cookie = set_password(&site).await;
    for path in ["/sign-in", "/sign-out", "/accept", "/switch-organisation"] {
        let request = Request::post(path)
            .header("cookie", cookie.as_str())
            .header("sec-fetch-site", "cross-site")
            .header("content-type", "application/x-www-form-urlencoded");
        assert_eq!(send(&site, request, String::new()).await.status, StatusCode::FORBIDDEN, "{path}");
    }
    let away = [("email", "mira@alder.example"), ("password", PASSWORD), ("to", "//evil.example/")];
    assert_eq!(post(&site, "/sign-in", "", &away).await.location(), "/domains");
    assert_eq!(get(&site, "/domains", &cookie).await.status, StatusCode::OK);
}

#[tokio::test]
async fn over_tls_the_cookie_is_bound_to_the_host() {
    let site = site(false).await;
    set_password(&site).await;
    let fields = [("email", "mira@alder.example"), ("password", PASSWORD)];
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let request = Request::post("/sign-in")
        .extension(server::http::Encrypted)
        .header("content-type", "application/x-www-form-urlencoded");
    let entered = send(&site, request, body).await;
    let set = entered.headers["set-cookie"].to_str().unwrap();
    assert!(set.starts_with("__Host-domainscope=dss_") && set.ends_with("; Secure"), "{set}");
    assert!(entered.headers.contains_key("strict-transport-security"));
    // The same secret under the other name, as an attacker on the path could plant it, is not believed over TLS.
    let planted = entered.cookie().replace("__Host-domainscope", "domainscope_session");
    let request = Request::get("/domains").extension(server::http::Encrypted).header("cookie", planted);
    assert_eq!(send(&site, request, String::new()).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_member_switches_between_organisations_of_their_own() {
    let site = site(false).await;
    let cookie = set_password(&site).await;
    let store = &site.scanner.store;
    let mira = store.credentials("mira@alder.example").await.unwrap().unwrap().user.id;
    let now = model::Timestamp::now();
    let ben = site.identity.ensure_person("ben@birch.example", "Ben").await.unwrap();
    let birch = store.create_org("birch-key", "Birch", &ben, now).await.unwrap();
    let refused = post(&site, "/switch-organisation", &cookie, &[("org", "birch-key")]).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    store.add_member(birch, &mira, model::ids::Role::Viewer, now, None).await.unwrap();
    let switched = post(&site, "/switch-organisation", &cookie, &[("org", "birch-key")]).await;
    assert_eq!(switched.status, StatusCode::SEE_OTHER);
    let ended =
        post(&site, "/switch-organisation", "domainscope_session=dss_x", &[("org", "birch-key")]).await;
    assert_eq!((ended.status, ended.location()), (StatusCode::SEE_OTHER, "/sign-in"));
    let (status, _) = site.ask("GET", "/domains", &[("cookie", &cookie)], "").await;
    assert_eq!(status, StatusCode::OK);
    let add = [
        ("cookie", cookie.as_str()),
        ("content-type", "application/json"),
        ("sec-fetch-site", "same-origin"),
    ];
    let (status, text) = site.ask("POST", "/api/v1/domains", &add, r#"{"names":["q7.io"]}"#).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "a viewer there: {text}");
}

#[tokio::test]
async fn the_demo_acts_in_the_name_of_its_visitor() {
    let site = site(true).await;
    let (status, page) = site.ask("GET", "/domains", &[], "").await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("Mira Holt") && page.contains("Alder Labs") && !page.contains("Sign out"));
    // The cookie of a session that has ended, as one of an earlier start has, stands in the way of nothing.
    let form = [
        ("cookie", "domainscope_session=dss_ended"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("sec-fetch-site", "same-origin"),
    ];
    let (status, page) = site.ask("POST", "/switch-organisation", &form, "org=k").await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{page}");
    let far = Request::get("/domains").extension(doh::Client("192.0.2.1".parse().unwrap()));
    assert_eq!(send(&site, far, String::new()).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_passkey_challenge_comes_with_a_cookie_and_only_to_the_sites_own_page() {
    let site = site(false).await;
    let ask = |path: &str, from: &str| {
        Request::post(path).header("content-type", "application/json").header("sec-fetch-site", from)
    };
    let page = get(&site, "/sign-in", "").await;
    assert!(page.body.contains("data-passkey=\"sign-in\"") && page.body.contains("src=\"/passkey.js\""));
    let path = "/sign-in/passkey/options";
    let refused = send(&site, ask(path, "cross-site"), "{}".into()).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let begun = send(&site, ask(path, "same-origin"), "{}".into()).await;
    assert_eq!(begun.status, StatusCode::OK);
    let set = begun.headers["set-cookie"].to_str().unwrap();
    assert!(set.contains("HttpOnly; SameSite=Strict; Max-Age=300"), "{set}");
    let options: serde_json::Value = serde_json::from_str(&begun.body).unwrap();
    assert_eq!(options["publicKey"]["rpId"], "scope.example");
    assert_eq!(options["publicKey"]["userVerification"], "required");
    let known = options["publicKey"]["allowCredentials"].as_array().map_or(0, Vec::len);
    assert_eq!(known, 0, "nothing says who has a passkey");
    let answer = "{\"answer\":{\"id\":\"x\"}}".to_string();
    let refused =
        send(&site, ask("/sign-in/passkey", "same-origin").header("cookie", begun.cookie()), answer).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    assert!(refused.body.contains("This passkey was not accepted"), "{}", refused.body);
    // Without a session nothing is added, whatever the password.
    let refused =
        send(&site, ask("/settings/passkeys/options", "same-origin"), "{\"password\":\"x\"}".into()).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    let cookie = set_password(&site).await;
    let begin = ask("/settings/passkeys/options", "same-origin").header("cookie", &cookie);
    let wrong = send(&site, begin, "{\"password\":\"not this one\"}".into()).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", wrong.body);
    let begin = ask("/settings/passkeys/options", "same-origin").header("cookie", &cookie);
    let begun = send(&site, begin, format!("{{\"password\":\"{PASSWORD}\"}}")).await;
    assert_eq!(begun.status, StatusCode::OK, "{}", begun.body);
    assert!(begun.body.contains("\"residentKey\":\"required\""), "{}", begun.body);
}
