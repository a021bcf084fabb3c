//! The forms of the settings pages, as a browser without script sends them.

use crate::site::{Site, site};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use model::account::AuditQuery;
use model::ids::OrgId;
use ring::hmac;
use tower::ServiceExt;

const PASSWORD: &str = "correct horse battery";

/// Sends a form; status, address of a redirection, page.
pub(crate) async fn form(
    site: &Site,
    cookie: &str,
    path: &str,
    fields: &[(&str, &str)],
) -> (StatusCode, String, String) {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let request = Request::post(path)
        .header("host", "scope.example")
        .header("cookie", cookie)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "same-origin");
    let answer = site.router.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
    let status = answer.status();
    let header = |name: &str| answer.headers().get(name).map_or("", |v| v.to_str().unwrap()).to_string();
    let to = if path == "/accept" || path == "/sign-in" { header("set-cookie") } else { header("location") };
    let page = axum::body::to_bytes(answer.into_body(), 8 << 20).await.unwrap();
    (status, to, String::from_utf8_lossy(&page).into_owned())
}

/// What stands between two marks of a page.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let rest = page.split_once(from).unwrap_or_else(|| panic!("no {from} in {page}")).1;
    rest.split_once(to).unwrap().0
}

/// The cookie of Mira, who has a password.
pub(crate) async fn mira(site: &Site) -> String {
    let link = site.identity.reset_link("mira@alder.example").await.unwrap().unwrap();
    let fields = [("key", link.expose()), ("password", PASSWORD)];
    let (_, cookie, _) = form(site, "", "/accept", &fields).await;
    cookie.split(';').next().unwrap().to_string()
}

async fn actions(site: &Site) -> Vec<String> {
    let query = AuditQuery { limit: 100, ..AuditQuery::default() };
    let log = site.scanner.store.audit_log(OrgId::BUILT_IN, &query).await.unwrap();
    log.entries.into_iter().map(|e| e.action).collect()
}

#[tokio::test]
async fn an_invitation_is_shown_once_and_brings_a_member_who_is_removed_again() {
    let site = site(false).await;
    let cookie = mira(&site).await;
    let fields = [("do", "invite"), ("email", "ben@birch.example"), ("role", "member")];
    let (status, _, page) = form(&site, &cookie, "/settings/members", &fields).await;
    assert_eq!(status, StatusCode::OK);
    let key = between(&page, "http://scope.example/invite?key=", "<").to_string();
    let (_, again) = site.ask("GET", "/settings/members", &[("cookie", &cookie)], "").await;
    assert!(again.contains("ben@birch.example") && !again.contains(&key), "the link is shown once");
    let fields = [("key", key.as_str()), ("name", "Ben"), ("password", "another long secret")];
    let (status, ben, _) = form(&site, "", "/accept", &fields).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    let ben = ben.split(';').next().unwrap();

    // No one raises their own role.
    let (status, _, page) =
        form(&site, ben, "/settings/members", &[("do", "invite"), ("email", "x@y.z"), ("role", "owner")])
            .await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(page.contains("The member role can") && page.contains("admin role is required"), "{page}");

    let store = &site.scanner.store;
    let id = store.credentials("ben@birch.example").await.unwrap().unwrap().user.id.0;
    let (_, to, _) =
        form(&site, &cookie, "/settings/members", &[("do", "role"), ("user", &id), ("role", "admin")]).await;
    assert_eq!(to, "/settings/members?done=role.1");
    let (status, _, page) =
        form(&site, ben, "/settings/members", &[("do", "role"), ("user", &id), ("role", "owner")]).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(page.contains("give a role above your own"), "{page}");
    let mira = store.credentials("mira@alder.example").await.unwrap().unwrap().user.id;
    let (status, _, _) = form(&site, ben, "/settings/members", &[("do", "remove"), ("user", &mira.0)]).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "an admin removes no owner");
    let (status, _, page) =
        form(&site, &cookie, "/settings/members", &[("do", "role"), ("user", &mira.0), ("role", "viewer")])
            .await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(page.contains("is the only owner"), "{page}");
    let (_, to, _) = form(&site, &cookie, "/settings/members", &[("do", "remove"), ("user", &id)]).await;
    assert_eq!(to, "/settings/members?done=member_removed.1");
    let (status, _) = site.ask("GET", "/domains", &[("cookie", ben)], "").await;
    assert_eq!(status, StatusCode::SEE_OTHER, "the session of a removed member is refused at once");
    assert_eq!(
        actions(&site).await,
        ["member.remove", "member.role", "member.join", "member.invite", "account.reset"],
        "what was refused is not in the log"
    );
    assert_eq!(store.members(OrgId::BUILT_IN).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_token_is_shown_once_works_and_is_revoked() {
    let site = site(false).await;
    let cookie = mira(&site).await;
    let fields = [("do", "create"), ("name", "CI"), ("scope", "read"), ("days", "30")];
    let (status, _, page) = form(&site, &cookie, "/settings/tokens", &fields).await;
    assert_eq!(status, StatusCode::OK);
    let secret = between(&page, "<dd>dst_", "<");
    let bearer = format!("Bearer dst_{secret}");
    let (status, _) = site.ask("GET", "/api/v1/domains", &[("authorization", &bearer)], "").await;
    assert_eq!(status, StatusCode::OK);
    for (field, value, words) in [
        ("name", "CI", "is called “CI” already"),
        ("scope", "root", "“root” is not a scope"),
        ("days", "4000", "1 to 366 days"),
    ] {
        let changed = fields.map(|(k, v)| {
            if k == field {
                (k, value)
            } else if k == "name" {
                (k, "other")
            } else {
                (k, v)
            }
        });
        let (status, _, page) = form(&site, &cookie, "/settings/tokens", &changed).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{field}");
        assert!(page.contains(words), "{field}: {page}");
    }
    let tokens = site.scanner.store.tokens(OrgId::BUILT_IN).await.unwrap();
    let id = &tokens.iter().find(|t| t.name == "CI").unwrap().id;
    let (_, to, _) = form(&site, &cookie, "/settings/tokens", &[("do", "revoke"), ("id", id)]).await;
    assert_eq!(to, "/settings/tokens?done=revoked.1");
    let (status, _) = site.ask("GET", "/api/v1/domains", &[("authorization", &bearer)], "").await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let (_, csv) = site.ask("GET", "/settings/audit.csv?about=token", &[("cookie", &cookie)], "").await;
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3, "{csv}");
    assert!(
        lines[1].contains("token.revoke,CI,read") && lines[2].contains("token.create,CI,,\"read, 30 days\""),
        "{csv}"
    );
    let (_, json) = site.ask("GET", "/settings/audit.json?about=token", &[("cookie", &cookie)], "").await;
    let entries: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    assert_eq!((entries.len(), entries[0]["email"].as_str()), (2, Some("mira@alder.example")));
    assert!(!json.contains(secret) && !csv.contains(secret));
}

#[tokio::test]
async fn two_factor_sign_in_is_proved_before_it_is_on() {
    let site = site(false).await;
    let cookie = mira(&site).await;
    let at = "/settings/account";
    let (status, _, page) = form(&site, &cookie, at, &[("do", "second_factor")]).await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("viewBox=\"0 0 ") && page.contains("QR code of the secret"), "{page}");
    let secret = between(&page, "name=\"secret\" value=\"", "\"").to_string();
    let wrong = [("do", "second_factor_on"), ("secret", &secret), ("code", "000000"), ("password", PASSWORD)];
    let (status, _, page) = form(&site, &cookie, at, &wrong).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(
        page.contains("The code does not match") && page.contains(&secret),
        "the same secret is shown again"
    );
    let code = code_of(&secret);
    let forged =
        [("do", "second_factor_on"), ("secret", &secret), ("code", &code), ("password", "not my password")];
    let (_, _, page) = form(&site, &cookie, at, &forged).await;
    assert!(page.contains("not your current password"), "a stolen session can't lock its owner out: {page}");
    let right = [("do", "second_factor_on"), ("secret", &secret), ("code", &code), ("password", PASSWORD)];
    let (status, _, page) = form(&site, &cookie, at, &right).await;
    assert_eq!(status, StatusCode::OK, "{page}");
    let recovery = between(&page, "aria-label=\"Recovery codes\"", "</li>")
        .trim_end_matches("<!>")
        .rsplit('>')
        .next()
        .unwrap()
        .to_string();
    let sign_in = [("email", "mira@alder.example"), ("password", PASSWORD)];
    let (status, _, _) = form(&site, "", "/sign-in", &sign_in).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let (status, other, _) =
        form(&site, "", "/sign-in", &[&sign_in[..], &[("code", &recovery)]].concat()).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "a recovery code works once: “{recovery}”");
    let (_, page) = site.ask("GET", at, &[("cookie", &cookie)], "").await;
    assert!(page.contains("Password and recovery code") && page.contains("9 recovery codes left"), "{page}");
    let (_, to, _) = form(&site, &cookie, at, &[("do", "end_others")]).await;
    assert_eq!(to, "/settings/account?done=ended.1");
    let other = other.split(';').next().unwrap();
    assert_eq!(site.ask("GET", "/domains", &[("cookie", other)], "").await.0, StatusCode::SEE_OTHER);
    let (_, to, _) = form(
        &site,
        &cookie,
        at,
        &[("do", "password"), ("current", PASSWORD), ("new", "brand new long secret")],
    )
    .await;
    assert_eq!(to, "/settings/account?done=password.1");
    assert_eq!(
        site.ask("GET", "/domains", &[("cookie", &cookie)], "").await.0,
        StatusCode::OK,
        "this session stays"
    );
    assert_eq!(
        actions(&site).await,
        ["account.password", "session.end", "session.sign_in", "account.second_factor", "account.reset"]
    );
}

/// The code of this moment, as an authenticator computes it from the base32 secret (RFC 6238, RFC 4226 section 5.3).
fn code_of(secret: &str) -> String {
    let secret = data_encoding::BASE32_NOPAD.decode(secret.as_bytes()).unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &secret);
    let step = model::Timestamp::now().as_second() / 30;
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let at = usize::from(tag.as_ref()[19] & 0xf);
    let number = u32::from_be_bytes(tag.as_ref()[at..at + 4].try_into().unwrap()) & 0x7fff_ffff;
    format!("{:06}", number % 1_000_000)
}

#[tokio::test]
async fn scripts_of_a_page_carry_the_nonce_of_its_policy() {
    let site = site(false).await;
    let cookie = mira(&site).await;
    let mut nonces = Vec::new();
    for path in ["/domains", "/settings/account", "/sign-in"] {
        let request = Request::get(path).header("host", "scope.example").header("cookie", &cookie);
        let answer = site.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert!(!answer.headers().contains_key("x-script-nonce"));
        let policy = answer.headers()["content-security-policy"].to_str().unwrap().to_string();
        let page = axum::body::to_bytes(answer.into_body(), 8 << 20).await.unwrap();
        let page = String::from_utf8_lossy(&page).into_owned();
        let scripts = policy.split("; ").find(|p| p.starts_with("script-src")).unwrap();
        assert!(!scripts.contains("unsafe-inline"), "{scripts}");
        for tag in page.split("<script").skip(1) {
            let (head, body) = tag.split_once('>').unwrap();
            // The first is named by its hash, the second is a file of this server.
            if body.starts_with(app::THEME_SCRIPT) || head == " src=\"/passkey.js\" defer" {
                continue;
            }
            let nonce = between(head, "nonce=\"", "\"");
            assert!(scripts.contains(&format!("'nonce-{nonce}'")), "{head}: {scripts}");
            nonces.push(nonce.to_string());
        }
        assert!(!page.contains(" onclick=") && !page.contains("javascript:"));
    }
    nonces.sort();
    nonces.dedup();
    assert_eq!(nonces.len(), 2, "one for each page that has scripts");
}
