//! Who a request comes from: sign-in, sessions, API tokens, and the links that work once (set-up, invitation, password
//! reset). In: what a client presented; out: a [`Caller`], a new session's secret, or a sentence that says what to do.
//!
//! Nothing is cached: a session, token or membership that was taken away is refused with the next request, on every
//! replica. Attempts are counted in the store before the password is computed, so that attempts made at the same time
//! count too.

mod links;
mod oidc;
mod passkeys;
mod profile;
mod reset;
mod sign_in;

pub(crate) use links::name_of;
pub use links::{LinkView, NewPerson};
pub use oidc::{CALLBACK as OIDC_CALLBACK, Oidc, OidcDone, OidcError, OidcReturn, OidcSettings, RoleMapping};
pub use sign_in::{Attempt, SignInError};

use accounts::{Passwords, Secret, SecretKind, SessionPolicy, random_id};
use jiff::{SignedDuration, Timestamp};
use model::account::{SignInMethod, UserId};
use model::ids::{Caller, OrgId, Role};
use monitor::Clock;
use service::ApiResult;
use std::sync::Arc;
use store::{Audit, NewSession, Store};
use tokio::sync::Semaphore;

/// The client of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// Its address (for IPv6 the /64): what attempts are counted by. `None` where it can't be told from others, as
    /// behind an undeclared proxy.
    pub prefix: Option<String>,
    /// Its address for the audit log and the list of sessions.
    pub address: String,
    /// How its program names itself.
    pub agent: String,
}

/// Identity and access of one process. Cheap to clone.
#[derive(Clone)]
pub struct Identity {
    store: Arc<dyn Store>,
    passwords: Passwords,
    clock: Arc<dyn Clock>,
    policy: SessionPolicy,
    oidc: Option<Arc<Oidc>>,
    /// Reset mails that are on their way at the same time.
    mails: Arc<Semaphore>,
}

/// How often the time of a token's last use is written.
const TOUCH_TOKEN: SignedDuration = SignedDuration::from_mins(5);

impl Identity {
    /// Identity over a store. `at_once`: passwords computed at the same time.
    ///
    /// # Errors
    /// When the system has no random source.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        at_once: usize,
    ) -> Result<Self, accounts::PasswordError> {
        let (passwords, mails) = (Passwords::new(at_once)?, Arc::new(Semaphore::new(reset::MAILS)));
        Ok(Identity { store, passwords, clock, policy: SessionPolicy::default(), oidc: None, mails })
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Whether anybody has an account yet.
    ///
    /// # Errors
    /// When the store can't be asked.
    pub async fn is_set_up(&self) -> Result<bool, store::Error> {
        Ok(self.store.user_count().await? > 0)
    }

    /// The caller of a session's secret, or of an API token; `None` when it is neither or has ended.
    ///
    /// # Errors
    /// When the store can't be asked.
    pub async fn caller(&self, presented: &str) -> Result<Option<Caller>, store::Error> {
        if let Some(secret) = Secret::read(SecretKind::Session, presented) {
            return self.session_caller(&secret).await;
        }
        match Secret::read(SecretKind::ApiToken, presented) {
            Some(secret) => self.token_caller(&secret).await,
            None => Ok(None),
        }
    }

    async fn session_caller(&self, secret: &Secret) -> Result<Option<Caller>, store::Error> {
        let (hash, now) = (secret.hash(), self.now());
        let Some(owner) = self.store.session(hash.as_str()).await? else { return Ok(None) };
        let Some(role) = owner.role else { return Ok(None) };
        if !self.policy.is_live(owner.created_at, owner.seen_at, now) {
            return Ok(None);
        }
        if self.policy.is_touch_due(owner.seen_at, now) {
            self.store.touch_session(hash.as_str(), now).await?;
        }
        let (user, session) = (Some(owner.user.id), Some(owner.id));
        Ok(Some(Caller { user, session, ..Caller::new(owner.org, owner.user.name, role) }))
    }

    async fn token_caller(&self, secret: &Secret) -> Result<Option<Caller>, store::Error> {
        let (hash, now) = (secret.hash(), self.now());
        let Some((org, token)) = self.store.token(hash.as_str(), now).await? else { return Ok(None) };
        if token.last_used_at.is_none_or(|used| now.duration_since(used) >= TOUCH_TOKEN) {
            self.store.touch_token(hash.as_str(), now).await?;
        }
        let caller = Caller::new(org, format!("token {}", token.name), token.scope.role());
        Ok(Some(Caller { token: Some(token.id), ..caller }))
    }

    /// Begins a session of a person in one of their organisations.
    async fn begin_session(
        &self,
        user: &UserId,
        org: OrgId,
        client: &Client,
        method: SignInMethod,
        log: Option<&Audit>,
    ) -> ApiResult<Secret> {
        let secret = Secret::generate(SecretKind::Session);
        let session = NewSession {
            hash: secret.hash().as_str().to_string(),
            id: random_id(),
            user: user.clone(),
            org,
            client: client.agent.clone(),
            address: client.address.clone(),
            method,
        };
        self.store.create_session(&session, self.now(), log).await.map_err(crate::unavailable)?;
        Ok(secret)
    }

    /// Ends the session of a secret.
    ///
    /// # Errors
    /// When the store can't be asked.
    pub async fn sign_out(&self, presented: &str, client: &Client) -> Result<(), store::Error> {
        let Some(caller) = self.caller(presented).await? else { return Ok(()) };
        if let (Some(user), Some(session)) = (&caller.user, &caller.session) {
            let caller = Caller { address: client.address.clone(), ..caller.clone() };
            let log = self.entry(&caller, "session.sign_out", &caller.who, None);
            self.store.end_sessions(user, Some(session), None, Some(&log)).await?;
        }
        Ok(())
    }

    /// Lets a session act in another organisation of its owner; false when the person is no member there.
    ///
    /// # Errors
    /// When the store can't be asked.
    pub async fn switch_org(&self, presented: &str, org_key: &str) -> Result<bool, store::Error> {
        let Some(secret) = Secret::read(SecretKind::Session, presented) else { return Ok(false) };
        let Some(caller) = self.session_caller(&secret).await? else { return Ok(false) };
        let Some(user) = &caller.user else { return Ok(false) };
        let own = self.store.memberships(user).await?;
        let Some(wanted) = own.iter().find(|membership| membership.org_key == org_key) else {
            return Ok(false);
        };
        self.store.switch_org(secret.hash().as_str(), wanted.org).await
    }

    /// An entry for the audit log, to be written with the change.
    pub(crate) fn entry(
        &self,
        caller: &Caller,
        action: &'static str,
        object: &str,
        new: Option<String>,
    ) -> Audit {
        Audit {
            org: caller.org,
            by: caller.actor(),
            at: self.now(),
            action,
            object: object.into(),
            old: None,
            new,
        }
    }

    /// An account with its own organisation for the demo, or the one that exists. Without a password: no one can sign
    /// in to it but by [`Identity::demo_caller`].
    ///
    /// # Errors
    /// When the store can't be asked.
    pub async fn ensure_person(&self, email: &str, name: &str) -> Result<UserId, store::Error> {
        let id = UserId(random_id());
        self.store.create_user(&id, email, name, self.now()).await?;
        Ok(self.store.credentials(email).await?.map_or(id, |found| found.user.id))
    }

    /// A session for a demo's visitor, who can then change the organisation.
    ///
    /// # Errors
    /// When there is no such account, or the store can't be asked.
    pub async fn demo_session(&self, email: &str, client: &Client) -> ApiResult<Secret> {
        let caller = self.demo_caller(email).await.map_err(crate::unavailable)?;
        let user = profile::own(&caller)?;
        self.begin_session(user, caller.org, client, SignInMethod::default(), None).await
    }

    /// The caller of a demo's visitor: a person without a session.
    ///
    /// # Errors
    /// When the store can't be asked.
    pub async fn demo_caller(&self, email: &str) -> Result<Caller, store::Error> {
        let Some(found) = self.store.credentials(email).await? else {
            return Ok(Caller::new(OrgId::BUILT_IN, "Demo visitor", Role::Owner));
        };
        Ok(Caller { user: Some(found.user.id), ..Caller::new(OrgId::BUILT_IN, found.user.name, Role::Owner) })
    }
}

#[cfg(test)]
mod tests;
