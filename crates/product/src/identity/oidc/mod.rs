//! Sign-in with an OpenID Connect provider: authorization code flow with PKCE (RFC 7636). In: a browser that wants to sign in
//! or comes back with a code; out: an address to send it to, or a session's secret.
//!
//! What a code is redeemed with (state, nonce, PKCE verifier) is kept in the store, so that any replica can finish what
//! another began, under the hash of a cookie. It is deleted before it is judged and works once. An account here belongs to
//! issuer and subject; an e-mail address links one only where the operator says so and the provider has verified it.

mod error;
mod link;
mod provider;
mod roles;

pub use error::OidcError;
pub use roles::RoleMapping;

use super::sign_in::person;
use super::{Client, Identity};
use accounts::{Secret, SecretKind, ThrottleRule, random_id};
use data_encoding::HEXLOWER;
use jiff::SignedDuration;
use model::account::{SignInMethod, UserId, normal_email};
use model::ids::{OrgId, Role};
use net::Dialer;
pub(super) use provider::Claims;
use provider::{Pending, Provider};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use store::{Credentials, MemberChange, NewIdentity};

/// How long a person has at the provider.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);
/// Longest name of a person, in characters.
const NAME_MAX: usize = 100;
/// Longest subject (OpenID Connect Core section 2), octets.
const SUBJECT_MAX: usize = 255;

/// The operator's settings of a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OidcSettings {
    /// The issuer: the address below which `/.well-known/openid-configuration` is.
    pub issuer: String,
    /// Identifier of this installation at the provider.
    pub client_id: String,
    /// Its secret; `None` for a public client.
    pub client_secret: Option<String>,
    /// Scopes beside `openid`.
    pub scopes: Vec<String>,
    /// How claims become roles.
    pub roles: RoleMapping,
    /// Key or name of the organisation that new people join; `None` for the first one.
    pub organisation: Option<String>,
    /// Whether a person without an account gets one.
    pub create_accounts: bool,
    /// Whether an existing account of a verified address is linked at the first sign-in.
    pub link_by_email: bool,
    /// Whether an address counts as verified where the provider does not say (no `email_verified` claim).
    pub trust_email: bool,
    /// Words of the button after "Sign in with".
    pub label: String,
}

/// A provider that people can sign in with.
pub struct Oidc {
    settings: OidcSettings,
    provider: Provider,
}

impl Oidc {
    /// A provider over a guarded dialer. Asks nothing yet.
    pub fn new(settings: OidcSettings, dialer: Dialer) -> Self {
        Oidc { settings, provider: Provider::new(dialer) }
    }
}

/// What a browser comes back with (RFC 6749 section 4.1.2, RFC 9207).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct OidcReturn {
    /// The code, when the provider agreed.
    pub code: String,
    /// What this server sent along.
    pub state: String,
    /// A word, when it did not agree.
    pub error: String,
    /// Who answers.
    pub iss: Option<String>,
}

/// What is kept until the browser comes back.
#[derive(Serialize, Deserialize)]
struct Kept {
    pending: Pending,
    to: String,
    /// Set when it is no sign-in: the account at the provider is to be linked.
    #[serde(default)]
    linking: Option<Linking>,
}

/// The account and session from which one at the provider is linked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Linking {
    pub(super) user: UserId,
    pub(super) session: String,
}

/// What came of an answer of the provider.
pub enum OidcDone {
    /// A person signed in: the secret of the new session, and the page to go to.
    SignedIn(Secret, String),
    /// An account was linked: the page to go back to.
    Linked(&'static str),
}

/// Where a sign-in is kept: apart from passkeys, whatever its secret.
fn key(secret: &Secret) -> String {
    let text = format!("oidc {}", secret.hash().as_str());
    HEXLOWER.encode(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()).as_ref())
}

impl Identity {
    /// The same with a provider that people can sign in with.
    #[must_use]
    pub fn with_oidc(self, oidc: Option<Oidc>) -> Self {
        Identity { oidc: oidc.map(Arc::new), ..self }
    }

    /// Words of the provider's button, when there is one.
    pub fn oidc_label(&self) -> Option<&str> {
        self.oidc.as_ref().map(|oidc| oidc.settings.label.as_str())
    }

    /// Asks the provider for its metadata, so that wrong settings show in the log at the start.
    pub async fn check_oidc(&self) {
        if let Some(oidc) = &self.oidc
            && oidc.provider.metadata(&oidc.settings, Duration::ZERO).await.is_ok()
        {
            tracing::info!(issuer = oidc.settings.issuer, "people can sign in with the provider");
        }
    }

    /// Begins a sign-in: the secret that the browser has to come back with, and the provider's address. `site` is the
    /// origin of this installation as browsers see it, `to` the page to go to afterwards.
    ///
    /// # Errors
    /// When the provider can't be asked, or too many sign-ins have begun.
    pub async fn begin_oidc(&self, site: &str, to: &str) -> Result<(Secret, String), OidcError> {
        self.begin_at_provider(site, to, None).await
    }

    async fn begin_at_provider(
        &self,
        site: &str,
        to: &str,
        linking: Option<Linking>,
    ) -> Result<(Secret, String), OidcError> {
        let oidc = self.oidc.as_ref().ok_or(OidcError::Off)?;
        let redirect = format!("{site}{CALLBACK}");
        let (url, pending) = oidc.provider.begin(&oidc.settings, &redirect).await?;
        let secret = Secret::generate(SecretKind::OneTimeLink);
        let kept = serde_json::to_string(&Kept { pending, to: to.into(), linking });
        let (kept, now) = (kept.map_err(|_| OidcError::Unavailable)?, self.now());
        match self.store.keep_challenge(&key(&secret), &kept, now + PATIENCE, now).await? {
            true => Ok((secret, url.into())),
            false => Err(OidcError::Unavailable),
        }
    }

    /// Finishes a sign-in, or links an account; `session` is the secret of the session that the browser has.
    ///
    /// # Errors
    /// What to say, and the page to say it on.
    pub async fn finish_oidc(
        &self,
        secret: &str,
        back: &OidcReturn,
        session: Option<&str>,
        client: &Client,
    ) -> Result<OidcDone, (OidcError, &'static str)> {
        let mut page = "/sign-in";
        self.finish_at_provider(secret, back, session, client, &mut page).await.map_err(|e| (e, page))
    }

    async fn finish_at_provider(
        &self,
        secret: &str,
        back: &OidcReturn,
        session: Option<&str>,
        client: &Client,
        page: &mut &'static str,
    ) -> Result<OidcDone, OidcError> {
        // Where a person goes who is signed in, whatever became of what was begun.
        if let Some(presented) = session
            && self.caller(presented).await?.is_some()
        {
            *page = link::PAGE;
        }
        let oidc = self.oidc.as_ref().ok_or(OidcError::Off)?;
        let address = client.prefix.as_ref().map(|prefix| format!("oidc:{prefix}"));
        if let Some(key) = &address {
            let counted = self.count_attempt(&[(key, ThrottleRule::ADDRESS)]).await;
            counted.map_err(|e| match e {
                super::SignInError::Throttled(_) => OidcError::Throttled,
                _ => OidcError::Unavailable,
            })?;
        }
        let secret = Secret::read(SecretKind::OneTimeLink, secret).ok_or(OidcError::State)?;
        let kept = self.store.take_challenge(&key(&secret), self.now()).await?.ok_or(OidcError::State)?;
        let Kept { pending, to, linking } = serde_json::from_str(&kept).map_err(|_| OidcError::State)?;
        // A sign-in is about another session, if any.
        *page = if linking.is_some() { link::PAGE } else { "/sign-in" };
        let claims = self.claims(oidc, back, pending).await?;
        let done = match &linking {
            Some(linking) => {
                self.finish_link(&oidc.settings, &claims, linking, session, &client.address).await?;
                OidcDone::Linked(link::PAGE)
            }
            None => OidcDone::SignedIn(self.enter(&oidc.settings, &claims, client).await?, to),
        };
        if let Some(key) = &address {
            self.store.clear_failures(key).await?;
        }
        Ok(done)
    }

    /// The verified claims behind an answer of the provider.
    async fn claims(&self, oidc: &Oidc, back: &OidcReturn, pending: Pending) -> Result<Claims, OidcError> {
        if back.state != pending.state {
            return Err(OidcError::State);
        }
        // Another provider's answer is not for this sign-in (RFC 9207).
        if back.iss.as_ref().is_some_and(|iss| *iss != oidc.settings.issuer) {
            return Err(OidcError::Rejected);
        }
        if back.code.is_empty() {
            let is_down = matches!(back.error.as_str(), "server_error" | "temporarily_unavailable");
            tracing::info!(
                error = back.error.escape_debug().to_string(),
                "the sign-in provider sent no code"
            );
            return Err(if is_down { OidcError::Provider } else { OidcError::Denied });
        }
        oidc.provider.redeem(&oidc.settings, &back.code, pending).await
    }

    /// Begins the session of a person whom the provider has vouched for.
    pub(super) async fn enter(
        &self,
        settings: &OidcSettings,
        claims: &Claims,
        client: &Client,
    ) -> Result<Secret, OidcError> {
        if claims.subject.is_empty() || claims.subject.len() > SUBJECT_MAX {
            return Err(OidcError::Rejected);
        }
        let role = settings.roles.role(&claims.others);
        if role.is_none() && settings.roles.claim.is_some() {
            return Err(OidcError::NoRole);
        }
        let org = self.sign_on_org(settings).await?;
        let known = self.store.identity(&settings.issuer, &claims.subject).await?;
        let user = match known {
            Some(user) => user,
            None => self.first_sign_on(settings, claims, (org, role), client).await?,
        };
        let found = self.store.credentials_of(&user).await?.ok_or(OidcError::NoAccount)?;
        if let (Some(role), true) = (role, settings.roles.claim.is_some()) {
            self.follow_role(&found, (org, role), client).await?;
        }
        let memberships = self.store.memberships(&user).await?;
        let here = memberships.iter().find(|m| m.org == org).or(memberships.first());
        let Some(here) = here else { return Err(OidcError::NoOrganisation) };
        let who = person(&user, &found.user.name, (here.org, here.role), client);
        let method = SignInMethod::SingleSignOn;
        let log = self.entry(&who, "session.sign_in", &found.user.email, Some(method.as_str().into()));
        let session = self.begin_session(&user, here.org, client, method, Some(&log)).await;
        session.map_err(|_| OidcError::Unavailable)
    }

    /// Links an account at the provider that was not seen before: to one of the same address, or to a new one.
    async fn first_sign_on(
        &self,
        settings: &OidcSettings,
        claims: &Claims,
        (org, role): (OrgId, Option<Role>),
        client: &Client,
    ) -> Result<UserId, OidcError> {
        // An address that the provider has not verified could be someone else's: it neither links nor makes an account.
        let is_verified = claims.email_verified.unwrap_or(settings.trust_email);
        let email = claims.email.as_deref().and_then(normal_email).filter(|_| is_verified);
        let refused = |why: &str| {
            tracing::info!(subject = claims.subject, why, "a person of the sign-in provider has no account");
            OidcError::NoAccount
        };
        if !settings.link_by_email && !settings.create_accounts {
            return Err(refused("neither linking by address nor creating accounts is on"));
        }
        let Some(email) = email else {
            let has_claim = claims.email_verified.is_some();
            tracing::info!(
                subject = claims.subject,
                has_claim,
                "a person of the sign-in provider has no verified e-mail address; without the claim email_verified, \
                 addresses count only with --oidc-trust-email"
            );
            return Err(OidcError::Unverified);
        };
        let found = self.store.credentials(&email).await?;
        let (user, name, create) = match found {
            Some(found) if settings.link_by_email => (found.user.id, found.user.name, None),
            Some(_) => return Err(refused("the address has an account; linking by address is off")),
            None if settings.create_accounts => {
                let name = claims.name.as_deref().unwrap_or_default();
                let name: String = name.split_whitespace().collect::<Vec<_>>().join(" ");
                let name: String = name.chars().filter(|c| !c.is_control()).take(NAME_MAX).collect();
                let name = if name.is_empty() { email.clone() } else { name };
                (UserId(random_id()), name.clone(), Some((email.clone(), name)))
            }
            None => return Err(refused("creating accounts is off")),
        };
        let join = match (role, settings.create_accounts) {
            (Some(role), true) => Some((org, role)),
            // Linked, as a member of what they are a member of.
            _ if create.is_none() => None,
            _ => return Err(OidcError::NoRole),
        };
        let action = if create.is_some() { "member.join" } else { "account.identity_link" };
        let who = person(&user, &name, (org, role.unwrap_or(Role::Viewer)), client);
        let new = match create.is_some() {
            true => role.map(|role| role.as_str().to_string()),
            false => Some(settings.issuer.clone()),
        };
        let log = self.entry(&who, action, &email, new);
        let (issuer, subject) = (settings.issuer.clone(), claims.subject.clone());
        let identity = NewIdentity { issuer, subject, user: user.clone(), create, join };
        if self.store.link_identity(&identity, self.now(), Some(&log)).await? {
            return Ok(user);
        }
        // Of two sign-ins at the same time the other was first; or the account belongs to another subject.
        let known = self.store.identity(&settings.issuer, &claims.subject).await?;
        known.ok_or_else(|| refused("the account is linked to another subject"))
    }

    /// Gives a member the role that the provider's claim says. The last owner stays one.
    async fn follow_role(
        &self,
        found: &Credentials,
        (org, role): (OrgId, Role),
        client: &Client,
    ) -> Result<(), OidcError> {
        let who = person(&found.user.id, &found.user.name, (org, role), client);
        let log = self.entry(&who, "member.role", &found.user.email, Some(role.as_str().into()));
        let change = self.store.change_member(org, &found.user.id, Some(role), Some(&log)).await?;
        if change == MemberChange::LastOwner {
            tracing::warn!(role = role.as_str(), "the last owner keeps the role, whatever the provider says");
        }
        Ok(())
    }

    /// The organisation that people of the provider join.
    async fn sign_on_org(&self, settings: &OidcSettings) -> Result<OrgId, OidcError> {
        let Some(wanted) = &settings.organisation else { return Ok(OrgId::BUILT_IN) };
        match self.store.orgs_called(wanted).await?.as_slice() {
            [one] => Ok(*one),
            found => {
                let found = found.len();
                tracing::error!(
                    organisation = wanted,
                    found,
                    "the provider's organisation is not exactly one"
                );
                Err(OidcError::Unavailable)
            }
        }
    }
}

/// The path that the provider sends people back to.
pub const CALLBACK: &str = "/sign-in/oidc/callback";
