//! Every address of the server and every server function with the least role that may use it. Addresses are read from
//! the router and functions from leptos' registry: one without a row here fails.
//!
//! Each is called without an account, in every role, with API tokens of every scope, and by the owner of another
//! organisation, who must learn and change nothing.

#[path = "table/functions.rs"]
mod functions;
#[path = "table/pages.rs"]
mod pages;
#[path = "table/rest.rs"]
mod rest;

use crate::site::{Site, site, site_open};
use accounts::{Secret, SecretKind};
use axum::http::StatusCode;
use functions::FUNCTIONS;
use model::Timestamp;
use model::account::{SignInMethod, TokenInfo, TokenScope, UserId};
use model::ids::{Caller, OrgId, Role};
use model::item::{ItemPatch, Ownership};
use model::names::DomainName;
use model::open_tools::OpenTool;
use model::open_tools::OpenTool::{Check, Compare, Fqdn, Scan, Trace};
use pages::PAGES;
use rest::REST;
use service::Backend;
use std::collections::{BTreeMap, BTreeSet};
use store::{NewItem, NewSession};

/// Who may use an address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// Anyone: it shows nothing of an organisation, or has a secret of its own.
    Nothing,
    /// A member in at least this role, or a token that acts in it.
    Least(Role),
    /// A person, in any role; no token.
    Person,
}

use Needs::{Least, Nothing, Person};

/// Method, address as the router has it, who may, address as it is called (empty: the same), body.
type Line = (&'static str, &'static str, Needs, &'static str, &'static str);

/// A service as REST describes it.
const SPEC: &str = "{\"service\":\"proof\",\"host\":\"\",\"values\":{\"value\":\"x\"}}";

/// All rows.
fn table() -> impl Iterator<Item = &'static Line> {
    [PAGES, FUNCTIONS, REST].into_iter().flatten()
}

/// Address and methods of every route, from the router's `Debug` form: it has no other way to list them.
pub fn routes(router: &axum::Router) -> BTreeSet<(String, String)> {
    let text = format!("{router:?}");
    let own = text.split("fallback_router:").next().unwrap();
    let (mut paths, mut methods) = (BTreeMap::new(), BTreeMap::new());
    for part in own.split("RouteId(").skip(1) {
        let (id, rest) = part.split_once("): ").unwrap();
        if let Some(path) = rest.strip_prefix('"') {
            paths.insert(id, path.split('"').next().unwrap());
        } else if let Some((_, allowed)) = rest.split_once("allow_header: ") {
            let list =
                allowed.strip_prefix("Bytes(b\"").map_or("ANY", |list| list.split('"').next().unwrap());
            methods.insert(id, list);
        }
    }
    let mut out = BTreeSet::new();
    for (id, path) in paths {
        for method in methods[id].split(',').filter(|m| *m != "HEAD") {
            out.insert((method.to_string(), path.to_string()));
        }
    }
    assert!(out.len() > 50, "the router's Debug form is not what it was: {} routes", out.len());
    out
}

/// The visitor's column: addresses that work without an account while one of these tools is open.
const OPEN: &[(&str, &[OpenTool])] = &[
    ("/tools/scan", &[Scan]),
    ("/tools/check", &[Check]),
    ("/tools/compare", &[Compare]),
    ("/tools/fqdn", &[Fqdn]),
    ("/tools/trace", &[Trace]),
    ("/embed/scan", &[Scan]),
    ("/embed/check", &[Check]),
    ("/embed/compare", &[Compare]),
    ("/embed/fqdn", &[Fqdn]),
    ("/embed/trace", &[Trace]),
    ("/live/compare", &[Compare]),
    ("/api/fn/look_up", &[Scan]),
    ("/api/fn/check", &[Check]),
    ("/api/fn/authority", &[Compare]),
    ("/api/fn/compare", &[Compare]),
    ("/api/fn/browser-resolvers", &[Compare, Fqdn]),
    ("/api/fn/fqdn", &[Fqdn]),
    ("/api/fn/trace", &[Trace]),
    ("/api/v1/scan", &[Scan]),
    ("/api/v1/check", &[Check]),
    ("/api/v1/compare", &[Compare]),
    ("/api/v1/fqdn", &[Fqdn]),
    ("/api/v1/trace", &[Trace]),
];

#[tokio::test]
async fn a_visitor_reaches_open_tools_and_nothing_else() {
    let paths: BTreeSet<_> = table().map(|l| l.1).collect();
    assert!(OPEN.iter().all(|(path, _)| paths.contains(path)));
    for tool in OpenTool::ALL {
        let site = site_open(&[tool], &[]).await;
        for line in table() {
            let (method, path, needs, ..) = *line;
            let open = OPEN.iter().find(|(p, _)| *p == path).is_some_and(|(_, tools)| tools.contains(&tool));
            let answer = call(&site, line, &nothing(), None).await;
            let what = format!("{method} {path} with {} open: {answer:?}", tool.as_str());
            assert!(!answer.0.is_server_error(), "{what}");
            if open {
                // `a..b` is refused as a name: the visitor got as far as the tool.
                let reached = [StatusCode::OK, StatusCode::BAD_REQUEST, StatusCode::UNPROCESSABLE_ENTITY];
                assert!(reached.contains(&answer.0), "{what}");
            } else if path.starts_with("/embed/") {
                assert_eq!(answer.0, StatusCode::NOT_FOUND, "{what}");
            } else if needs != Nothing {
                assert!(wants_sign_in(&answer), "{what}");
            }
        }
    }
}

#[tokio::test]
async fn every_address_and_every_server_function_has_a_row() {
    let site = site(false).await;
    let rows: BTreeSet<(String, String)> = table().map(|l| (l.0.to_string(), l.1.to_string())).collect();
    assert_eq!(rows.len(), table().count(), "a row is there twice");
    let routes = routes(&site.router);
    let without_row: Vec<_> = routes.difference(&rows).collect();
    assert!(without_row.is_empty(), "no row in the table: {without_row:#?}");
    let without_route: Vec<_> = rows.difference(&routes).collect();
    assert!(without_route.is_empty(), "no such route: {without_route:#?}");
    let functions = leptos::server_fn::axum::server_fn_paths();
    for (path, method) in functions {
        assert!(
            rows.contains(&(method.to_string(), path.to_string())),
            "no row for function {method} {path}"
        );
    }
}

#[tokio::test]
async fn every_call_of_rest_is_in_the_description_and_no_other() {
    let site = site(false).await;
    let (status, document) = site.api("GET", "/api/v1/openapi.json", serde_json::Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    let mut described = BTreeSet::new();
    for (path, calls) in document["paths"].as_object().unwrap() {
        for method in calls.as_object().unwrap().keys() {
            described.insert((method.to_uppercase(), format!("/api/v1{path}")));
        }
    }
    // Namespaces belong to the resource API, which clients look for there.
    let is_rest = |path: &str| path.starts_with("/api/v1/") && !path.starts_with("/api/v1/namespaces");
    let routes: BTreeSet<_> = routes(&site.router).into_iter().filter(|(_, path)| is_rest(path)).collect();
    assert_eq!(described.difference(&routes).collect::<Vec<_>>(), [] as [&_; 0], "described and not served");
    assert_eq!(routes.difference(&described).collect::<Vec<_>>(), [] as [&_; 0], "served and not described");
}

/// An organisation with something of each kind, and how its people authenticate.
struct Org {
    id: OrgId,
    name: &'static str,
    ids: BTreeMap<&'static str, String>,
    /// Cookie of a person in each role, bearer of each scope.
    people: Vec<(Role, String)>,
    tokens: Vec<(Role, String)>,
}

async fn organisation(site: &Site, key: &str, domain: &'static str) -> Org {
    let (store, now) = (&site.scanner.store, Timestamp::now());
    let person = |role: Role| UserId(format!("{key}-{}", role.as_str()));
    let mut id = OrgId(0);
    let mut people = Vec::new();
    for role in Role::ALL.into_iter().rev() {
        let user = person(role);
        store.create_user(&user, &format!("{}@{key}.example", role.as_str()), &user.0, now).await.unwrap();
        if role == Role::Owner {
            id = store.create_org(key, key, &user, now).await.unwrap();
        } else {
            store.add_member(id, &user, role, now, None).await.unwrap();
        }
        let secret = Secret::generate(SecretKind::Session);
        let session = NewSession {
            hash: secret.hash().as_str().into(),
            id: format!("{key}-session-{}", role.as_str()),
            user,
            org: id,
            client: "test".into(),
            address: String::new(),
            method: SignInMethod::Password,
        };
        store.create_session(&session, now, None).await.unwrap();
        people.push((role, format!("domainscope_session={}", secret.expose())));
    }
    let mut tokens = Vec::new();
    for scope in TokenScope::ALL {
        let secret = Secret::generate(SecretKind::ApiToken);
        let token = TokenInfo {
            id: format!("{key}-token-{}", scope.as_str()),
            name: scope.as_str().into(),
            hint: String::new(),
            scope,
            created_by: "test".into(),
            created_at: now,
            expires_at: None,
            last_used_at: None,
        };
        store.create_token(id, secret.hash().as_str(), &token, None).await.unwrap();
        tokens.push((scope.role(), format!("Bearer {}", secret.expose())));
    }
    let name = DomainName::trusted(domain);
    let item = NewItem {
        name: name.clone(),
        unicode: domain.into(),
        ownership: Ownership::Owned,
        tags: vec![],
        note: String::new(),
    };
    store.add(id, &[item], now).await.unwrap();
    let note = ItemPatch { note: Some(format!("note of {key}")), ..ItemPatch::default() };
    store.patch(id, &name, &note, now).await.unwrap();
    let owner = Caller { user: Some(person(Role::Owner)), ..Caller::new(id, key, Role::Owner) };
    let invited = site.identity.invite(&owner, "new@birch.example", Role::Viewer).await.unwrap().1;
    let ids = BTreeMap::from([
        ("NAME", domain.to_string()),
        ("INVITATION", invited.id),
        ("TOKEN", format!("{key}-token-read")),
        ("SESSION", format!("{key}-session-viewer")),
        ("MEMBER", format!("{key}-viewer")),
    ]);
    Org { id, name: domain, ids, people, tokens }
}

/// Calls a row with the ids of an organisation put in place.
async fn call(
    site: &Site,
    line: &Line,
    ids: &BTreeMap<&str, String>,
    auth: Option<(&str, &str)>,
) -> (StatusCode, String) {
    let fill = |text: &str| ids.iter().fold(text.to_string(), |text, (mark, id)| text.replace(mark, id));
    let (method, path, _, concrete, body) = *line;
    let path = fill(if concrete.is_empty() { path } else { concrete });
    let body = fill(body);
    let media = if body.starts_with('{') { "application/json" } else { "application/x-www-form-urlencoded" };
    let mut headers = vec![("content-type", media), ("host", "scope.example")];
    headers.extend(auth);
    let method = if method == "ANY" { "POST" } else { method };
    site.ask_head(method, &path, &headers, &body).await
}

/// True when the answer is that the caller must sign in.
fn wants_sign_in((status, text): &(StatusCode, String)) -> bool {
    *status == StatusCode::UNAUTHORIZED || (*status == StatusCode::SEE_OTHER && text.starts_with("/sign-in"))
}

/// Ids that name nothing.
fn nothing() -> BTreeMap<&'static str, String> {
    BTreeMap::from(
        ["NAME", "INVITATION", "TOKEN", "SESSION", "MEMBER"].map(|mark| {
            (mark, if mark == "NAME" { "absent.example".to_string() } else { "none".to_string() })
        }),
    )
}

#[tokio::test]
async fn every_address_asks_for_its_least_role() {
    let site = site(false).await;
    let org = organisation(&site, "alder", "alder-owned.com").await;
    let ids = nothing();
    for line in table() {
        let (method, path, needs, ..) = *line;
        let alone = call(&site, line, &ids, None).await;
        if needs != Nothing {
            assert!(wants_sign_in(&alone), "{method} {path} without an account: {alone:?}");
        } else if path.starts_with("/embed/") {
            assert_eq!(alone.0, StatusCode::NOT_FOUND, "{method} {path} while it is closed");
        }
        let people = org.people.iter().map(|(role, cookie)| (*role, true, ("cookie", cookie.as_str())));
        let tokens =
            org.tokens.iter().map(|(role, bearer)| (*role, false, ("authorization", bearer.as_str())));
        for (role, is_person, auth) in people.chain(tokens) {
            // What ends the caller's session is called last, below.
            if path == "/sign-out" || path == "/live" {
                continue;
            }
            let (status, text) = call(&site, line, &ids, Some(auth)).await;
            let allowed = match needs {
                Nothing => continue,
                Least(least) => role >= least,
                Person => is_person,
            };
            let as_what = format!("{method} {path} as {} ({})", role.as_str(), auth.0);
            assert_eq!(status == StatusCode::FORBIDDEN, !allowed, "{as_what}: {status} {text}");
            assert_ne!(status, StatusCode::UNAUTHORIZED, "{as_what}");
            assert!(!status.is_server_error(), "{as_what}: {status} {text}");
        }
    }
}

#[tokio::test]
async fn the_owner_of_another_organisation_learns_and_changes_nothing() {
    let site = site(false).await;
    let alder = organisation(&site, "alder", "alder-owned.com").await;
    let birch = organisation(&site, "birch", "birch-owned.com").await;
    let (store, owner) = (&site.scanner.store, Caller::new(birch.id, "test", Role::Owner));
    let before = (
        store.members(birch.id).await.unwrap(),
        store.tokens(birch.id).await.unwrap(),
        store.invitations(birch.id, Timestamp::now()).await.unwrap(),
        store.item(birch.id, &DomainName::trusted(birch.name)).await.unwrap(),
    );
    let cookie = &alder.people.iter().find(|(role, _)| *role == Role::Owner).unwrap().1;
    for line in table() {
        if line.1 == "/live" || line.1 == "/sign-out" {
            continue;
        }
        let (status, text) = call(&site, line, &birch.ids, Some(("cookie", cookie))).await;
        for secret in ["note of birch", "birch-token", "birch-session", "viewer@birch", "birch-viewer"] {
            // What was sent may come back in an error; what was not may not.
            let was_sent = birch.ids.values().any(|id| id.contains(secret) || secret.contains(id.as_str()));
            assert!(was_sent || !text.contains(secret), "{} {}: {status} {text}", line.0, line.1);
        }
        if line.1.contains("{name}") {
            let is_empty_list =
                text == "[]" && ["snapshots", "services"].iter().any(|end| line.1.ends_with(end));
            assert!(status != StatusCode::OK || is_empty_list, "{} {}: {text}", line.0, line.1);
        }
    }
    let after = (
        store.members(birch.id).await.unwrap(),
        store.tokens(birch.id).await.unwrap(),
        store.invitations(birch.id, Timestamp::now()).await.unwrap(),
        store.item(birch.id, &DomainName::trusted(birch.name)).await.unwrap(),
    );
    assert_eq!(before, after);
    assert_eq!(site.services.summary(&owner).await.unwrap().total, 1);
    let sessions = store.sessions(&UserId("birch-viewer".into()), "").await.unwrap();
    assert_eq!(sessions.len(), 1, "another organisation's session is there still");
}
