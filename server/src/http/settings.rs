//! Forms of the settings pages, sent to the page's own address. What succeeds leads back to the page; what is refused,
//! or has something to show once, is answered with the page itself, so that no secret is in an address.

use super::AppState;
use super::access;
use super::oidc::COOKIE_SECONDS as OIDC_COOKIE_SECONDS;
use super::origin;
use super::response::problem;
use app::server_fns::{FormOutcome, FormResult};
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use model::account::{TokenScope, UserId};
use model::feed::FeedKind;
use model::ids::{Caller, Role};
use service::{
    AccountBackend, AlertBackend, ApiError, ApiResult, FeatureBackend, FeatureDraft, FleetBackend,
    ProviderRedirect, TokenRequest,
};

/// Longest form, octets.
const FORM_MAX: usize = 64 << 10;
/// Fields that are never sent back to the browser.
const SECRETS: [&str; 5] = ["password", "current", "new", "code", "secret"];

/// The addresses that take forms.
pub const PATHS: [&str; 7] = [
    "/settings/members",
    "/settings/notifications",
    "/settings/tokens",
    "/settings/organisation",
    "/settings/account",
    "/settings/features",
    "/fleet",
];

/// How a form is answered.
pub enum Answer {
    /// With this.
    Respond(Response),
    /// With the page, which shows the outcome.
    Page(Box<Page>),
}

/// A page that shows the outcome of a form.
pub struct Page {
    /// The request for it.
    pub request: Request,
    /// What it shows.
    pub outcome: FormOutcome,
    /// Its status.
    pub status: StatusCode,
    /// A cookie that comes with it.
    pub cookie: Option<HeaderValue>,
}

/// What a form that succeeded leads to.
enum Done {
    /// Back to its page, with a message in words of ours.
    Back(&'static str, u64),
    /// Elsewhere.
    To(&'static str),
    /// Its page, which shows this once.
    Show(FormResult),
    /// Its page with a link to the sign-in provider, and a cookie to come back with.
    Provider(ProviderRedirect),
}

/// The fields of a form.
struct Fields(Vec<(String, String)>);

impl Fields {
    fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }
}

/// Carries out the form of a settings page.
pub async fn submit(state: &AppState, request: Request) -> Answer {
    let Some(caller) = request.extensions().get::<Caller>().cloned() else {
        return Answer::Respond(problem(&ApiError::sign_in_required("Sign in first.")));
    };
    let (site, encrypted) = (super::passkeys::site(state, &request), origin::is_encrypted(&request));
    let mut cookie = None;
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, FORM_MAX).await else {
        return Answer::Respond(problem(&ApiError::invalid("The form is too long.")));
    };
    let fields = Fields(url::form_urlencoded::parse(&body).into_owned().collect());
    let path = parts.uri.path().to_string();
    let form = fields.get("do").to_string();
    let result = match act(state, &caller, &path, &fields, &site).await {
        Ok(Done::Back(what, count)) => return go(&format!("{path}?done={what}.{count}")),
        Ok(Done::To(to)) => return go(to),
        Ok(Done::Show(result)) => result,
        Ok(Done::Provider(to)) => {
            let text = access::oidc_cookie(&to.secret, encrypted, OIDC_COOKIE_SECONDS);
            cookie = HeaderValue::from_str(&text).ok();
            FormResult::Provider { url: to.url }
        }
        Err(e) => FormResult::Refused(e),
    };
    let status = match &result {
        FormResult::Refused(e) | FormResult::Enrolment(_, Some(e)) => e.status(),
        _ => 200,
    };
    let values = fields.0.into_iter().filter(|(name, _)| !SECRETS.contains(&name.as_str())).collect();
    let outcome = FormOutcome { form: shown_at(&form).to_string(), values, result };
    let request = Request::from_parts(parts, Body::empty());
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    Answer::Page(Box::new(Page { request, outcome, status, cookie }))
}

/// The form beside which a refusal is shown.
fn shown_at(form: &str) -> &str {
    if form == "end_others" { "end" } else { form }
}

fn go(to: &str) -> Answer {
    let location = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/settings/members"));
    Answer::Respond((StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response())
}

async fn act(state: &AppState, caller: &Caller, path: &str, f: &Fields, site: &str) -> ApiResult<Done> {
    let s = &state.services;
    match (path, f.get("do")) {
        ("/settings/members", "invite") => {
            let made = s.invite(caller, f.get("email"), role(f)?).await?;
            let (email, url) = (made.invitation.email, format!("{site}{}", made.path));
            Ok(Done::Show(FormResult::Invitation { email, url }))
        }
        ("/settings/members", "uninvite") => {
            s.revoke_invitation(caller, f.get("id")).await?;
            Ok(Done::Back("uninvited", 1))
        }
        ("/settings/members", "role") => {
            s.set_role(caller, &user(f), role(f)?).await?;
            Ok(Done::Back("role", 1))
        }
        ("/settings/members", "remove") => {
            let user = user(f);
            s.remove_member(caller, &user).await?;
            // The session of a member who leaves has ended with the membership.
            let has_left = caller.user.as_ref() == Some(&user);
            Ok(if has_left { Done::To("/sign-in") } else { Done::Back("member_removed", 1) })
        }
        ("/settings/tokens", "create") => {
            let words = f.get("scope");
            let scope = TokenScope::from_word(words).ok_or_else(|| {
                ApiError::invalid(format!("“{words}” is not a scope: read, write or admin."))
            })?;
            let days = f.get("days");
            let days =
                days.parse().map_err(|_| ApiError::invalid(format!("“{days}” is not a number of days.")))?;
            let request = TokenRequest { name: f.get("name").into(), scope, days };
            Ok(Done::Show(FormResult::Token(s.create_token(caller, &request).await?)))
        }
        ("/settings/tokens", "revoke") => {
            s.revoke_token(caller, f.get("id")).await?;
            Ok(Done::Back("revoked", 1))
        }
        ("/settings/notifications", "create_feed") => {
            let made = s.create_feed(caller, f.get("name"), feed_kind(f.get("kind"))?).await?;
            let url = format!("{site}{}", made.path);
            Ok(Done::Show(FormResult::Feed { name: made.feed.name, url }))
        }
        ("/settings/notifications", "revoke_feed") => {
            s.revoke_feed(caller, f.get("id")).await?;
            Ok(Done::Back("feed_revoked", 1))
        }
        ("/settings/organisation", "rename") => {
            s.rename_organisation(caller, f.get("name")).await?;
            Ok(Done::Back("renamed", 1))
        }
        ("/settings/organisation", "checks") => {
            let checks = app::read_checks(f.get("interval"), f.get("expiry_days"))?;
            s.set_checks(caller, &checks).await?;
            Ok(Done::Back("saved", 1))
        }
        ("/fleet", "invite") => {
            let token = s.invite_agent(caller, f.get("id").trim()).await?;
            Ok(Done::Show(FormResult::AgentToken { token, site: site.to_string() }))
        }
        ("/fleet", "revoke") => {
            s.revoke_agent(caller, f.get("id")).await?;
            Ok(Done::Back("agent_revoked", 1))
        }
        ("/settings/features", "desire") => {
            let desired = match f.get("desired") {
                "on" => Some(true),
                // The form that turns off has no other field.
                "off" | "" => Some(false),
                "default" => None,
                other => return Err(ApiError::invalid(format!("“{other}” is not on, off or default."))),
            };
            let draft = FeatureDraft { name: f.get("name").into(), desired, ..FeatureDraft::default() };
            s.set_feature(caller, &draft).await?;
            Ok(Done::Back("feature", 1))
        }
        // The form of two steps has no field for a value.
        ("/settings/features", "reset") => {
            let draft = FeatureDraft { name: f.get("name").into(), desired: None, ..FeatureDraft::default() };
            s.set_feature(caller, &draft).await?;
            Ok(Done::Back("feature", 1))
        }
        ("/settings/features", "clean") => {
            s.clean_feature(caller, f.get("name"), None).await?;
            Ok(Done::Back("feature_clean", 1))
        }
        ("/settings/account", form) => account(state, caller, form, f, site).await,
        (_, form) => Err(ApiError::invalid(format!("This page has no form “{form}”."))),
    }
}

async fn account(state: &AppState, caller: &Caller, form: &str, f: &Fields, site: &str) -> ApiResult<Done> {
    let s = &state.services;
    match form {
        "password" => {
            s.change_password(caller, f.get("current"), f.get("new")).await?;
            Ok(Done::Back("password", 1))
        }
        "second_factor" => {
            let enrolment = s.begin_second_factor(caller, None).await?;
            Ok(Done::Show(FormResult::Enrolment(enrolment, None)))
        }
        "second_factor_on" => {
            let secret = f.get("secret");
            match s.enable_second_factor(caller, secret, f.get("code"), f.get("password")).await {
                Ok(codes) => Ok(Done::Show(FormResult::RecoveryCodes(codes))),
                // The app has this secret already: the next attempt is for the same.
                Err(e) => {
                    let enrolment = s.begin_second_factor(caller, Some(secret)).await?;
                    Ok(Done::Show(FormResult::Enrolment(enrolment, Some(e))))
                }
            }
        }
        "second_factor_off" => {
            s.disable_second_factor(caller, f.get("password"), f.get("code")).await?;
            Ok(Done::Back("second_factor_off", 1))
        }
        // The script of the page sends it elsewhere: this is a browser without script.
        "add_passkey" => Err(ApiError::invalid("Adding a passkey needs JavaScript: allow it for this page.")),
        "remove_passkey" => {
            s.remove_passkey(caller, f.get("id")).await?;
            Ok(Done::Back("passkey_removed", 1))
        }
        "link_provider" => {
            let to = s.link_provider(caller, f.get("password"), f.get("code"), site).await?;
            Ok(Done::Provider(to))
        }
        "unlink_provider" => {
            let issuer = f.get("issuer");
            s.unlink_provider(caller, issuer, f.get("password"), f.get("code")).await?;
            Ok(Done::Back("provider_unlinked", 1))
        }
        "end" => Ok(Done::Back("ended", s.end_sessions(caller, Some(f.get("id"))).await?)),
        "end_others" => Ok(Done::Back("ended", s.end_sessions(caller, None).await?)),
        other => Err(ApiError::invalid(format!("This page has no form “{other}”."))),
    }
}

/// The kind of a feed by its word.
pub(super) fn feed_kind(word: &str) -> ApiResult<FeedKind> {
    FeedKind::from_word(word)
        .ok_or_else(|| ApiError::invalid(format!("“{word}” is not a kind of feed: calendar or events.")))
}

fn user(f: &Fields) -> UserId {
    UserId(f.get("user").to_string())
}

fn role(f: &Fields) -> ApiResult<Role> {
    let word = f.get("role");
    Role::from_word(word)
        .ok_or_else(|| ApiError::invalid(format!("“{word}” is not a role: viewer, member, admin or owner.")))
}
