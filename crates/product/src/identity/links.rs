//! Links that work once: the set-up of a new installation, invitations, and new passwords.

use super::sign_in::person as as_caller;
use super::{Attempt, Client, Identity, SignInError};
use crate::unavailable;
use accounts::{Secret, SecretKind, password, random_id};
use jiff::{SignedDuration, Timestamp};
use model::account::{Invitation, SignInMethod, UserId, normal_email};
use model::ids::{Caller, OrgId, Role};
use serde::{Deserialize, Serialize};
use service::{ApiError, ApiResult};
use store::{Audit, OneTimeLink};

/// How long an invitation can be accepted.
const INVITATION: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How long a link to set a password can be used.
const RESET: SignedDuration = SignedDuration::from_hours(24);
/// How long the link of the first start can be used.
const SETUP: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Setting that names who set the installation up; the first writer wins.
const SET_UP_BY: &str = "set_up_by";
/// Longest name of a person or an organisation, in characters.
const NAME_MAX: usize = 100;

/// What a person says about themselves on the set-up or invitation page.
#[derive(Debug, Clone, Default)]
pub struct NewPerson {
    /// Name as shown to others.
    pub name: String,
    /// E-mail address; not asked for by an invitation, which names it.
    pub email: String,
    /// New password, or for an invitation to an existing account its password.
    pub password: String,
    /// Code of the second factor of an existing account.
    pub code: String,
    /// Name of the organisation, at set-up.
    pub organisation: String,
}

/// What the page behind a link shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkView {
    /// Set up a new installation.
    Setup,
    /// Accept an invitation.
    Invitation {
        /// Whom it invites.
        email: String,
        /// To what.
        organisation: String,
        /// In which role.
        role: Role,
        /// By whom.
        invited_by: String,
        /// True when the address has an account: its password is asked for instead of a new one.
        has_account: bool,
    },
    /// Set a new password.
    Reset {
        /// Of which account.
        email: String,
    },
}

#[derive(Serialize, Deserialize)]
struct InvitationPayload {
    email: String,
    role: Role,
    invited_by: String,
    organisation: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ResetPayload {
    pub(super) email: String,
}

fn is_gone() -> ApiError {
    ApiError::forbidden("This link was already used or revoked, or has expired. Ask for a new one.")
}

pub(crate) fn name_of(text: &str, what: &str) -> ApiResult<String> {
    let name = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match name.chars().count() {
        0 => Err(ApiError::invalid(format!("Enter {what}."))),
        n if n > NAME_MAX => Err(ApiError::invalid(format!("Use at most {NAME_MAX} characters for {what}."))),
        _ => Ok(name),
    }
}

impl Identity {
    /// A link to set up an installation without accounts; `None` when one exists.
    ///
    /// # Errors
    /// When the store can't be asked.
    pub async fn setup_link(&self) -> Result<Option<Secret>, store::Error> {
        if self.is_set_up().await? {
            return Ok(None);
        }
        let (id, payload) = (random_id(), "{}".into());
        self.link("setup", None, id, payload, SETUP, None).await.map(|(secret, _)| Some(secret))
    }

    /// A link with which the owner of an account sets a new password; `None` when there is no such account.
    ///
    /// # Errors
    /// When the store can't be asked.
    pub async fn reset_link(&self, email: &str) -> Result<Option<Secret>, store::Error> {
        let Some(email) = normal_email(email) else { return Ok(None) };
        if self.store.credentials(&email).await?.is_none() {
            return Ok(None);
        }
        let payload = serde_json::json!({ "email": email }).to_string();
        self.link("reset", None, random_id(), payload, RESET, None).await.map(|(secret, _)| Some(secret))
    }

    /// Invites a person to the caller's organisation. The caller was authorised for it and can't give a role above their
    /// own. An earlier invitation of the same address is replaced.
    ///
    /// # Errors
    /// Names the rule that is broken.
    pub async fn invite(&self, caller: &Caller, email: &str, role: Role) -> ApiResult<(Secret, Invitation)> {
        let email = normal_email(email)
            .ok_or_else(|| ApiError::invalid(format!("“{}” is not an e-mail address.", email.trim())))?;
        if role > caller.role {
            return Err(ApiError::forbidden("You can't assign a role above your own."));
        }
        let members = self.store.members(caller.org).await.map_err(unavailable)?;
        if members.iter().any(|member| member.user.email == email) {
            return Err(ApiError::invalid(format!("{email} is already a member.")));
        }
        for old in self.store.invitations(caller.org, self.now()).await.map_err(unavailable)? {
            if old.email == email {
                self.store
                    .withdraw_links(Some(caller.org), "invitation", Some(&old.id), None)
                    .await
                    .map_err(unavailable)?;
            }
        }
        let organisation = self.organisation(caller).await.map_err(unavailable)?;
        let payload = InvitationPayload { email, role, invited_by: caller.who.clone(), organisation };
        let text = serde_json::to_string(&payload).map_err(|_| ApiError::internal())?;
        let log = self.entry(caller, "member.invite", &payload.email, Some(role.as_str().to_string()));
        let (secret, link) = self
            .link("invitation", Some(caller.org), random_id(), text, INVITATION, Some(&log))
            .await
            .map_err(unavailable)?;
        let InvitationPayload { email, role, invited_by, .. } = payload;
        Ok((secret, Invitation { id: link.id, email, role, invited_by, expires_at: link.expires_at }))
    }

    async fn organisation(&self, caller: &Caller) -> Result<String, store::Error> {
        let Some(user) = &caller.user else { return Ok("this organisation".into()) };
        let own = self.store.memberships(user).await?;
        Ok(own.into_iter().find(|m| m.org == caller.org).map_or("this organisation".into(), |m| m.org_name))
    }

    pub(super) async fn link(
        &self,
        kind: &str,
        org: Option<OrgId>,
        id: String,
        payload: String,
        valid: SignedDuration,
        log: Option<&Audit>,
    ) -> Result<(Secret, OneTimeLink), store::Error> {
        let secret_kind = if kind == "invitation" { SecretKind::Invitation } else { SecretKind::OneTimeLink };
        let secret = Secret::generate(secret_kind);
        let expires_at: Timestamp = self.now() + valid;
        let link = OneTimeLink { id, kind: kind.into(), org, payload, expires_at };
        self.store.create_link(secret.hash().as_str(), &link, log).await?;
        Ok((secret, link))
    }

    /// What the page behind a link shows, without using it up.
    ///
    /// # Errors
    /// [`Forbidden`](service::ErrorKind::Forbidden) when it works no more.
    pub async fn open_link(&self, presented: &str) -> ApiResult<LinkView> {
        let secret = read_link(presented)?;
        let found = self.store.peek_link(secret.hash().as_str(), self.now()).await.map_err(unavailable)?;
        self.view(&found.ok_or_else(is_gone)?).await
    }

    async fn view(&self, link: &OneTimeLink) -> ApiResult<LinkView> {
        Ok(match link.kind.as_str() {
            "setup" if self.is_set_up().await.map_err(unavailable)? => return Err(is_gone()),
            "setup" => LinkView::Setup,
            "invitation" => {
                let p: InvitationPayload = payload(link)?;
                let account = self.store.credentials(&p.email).await.map_err(unavailable)?;
                LinkView::Invitation {
                    has_account: account.is_some_and(|found| found.password.is_some()),
                    email: p.email,
                    organisation: p.organisation,
                    role: p.role,
                    invited_by: p.invited_by,
                }
            }
            "reset" => LinkView::Reset { email: payload::<ResetPayload>(link)?.email },
            _ => return Err(is_gone()),
        })
    }

    /// Carries out what a link is for; the secret of a new session. Input that breaks a rule does not use the link up.
    ///
    /// # Errors
    /// Names the rule that is broken, or says that the link works no more.
    pub async fn accept(&self, presented: &str, person: &NewPerson, client: &Client) -> ApiResult<Secret> {
        match self.open_link(presented).await? {
            LinkView::Setup => self.accept_setup(presented, person, client).await,
            LinkView::Invitation { email, role, has_account, .. } => {
                self.accept_invitation(presented, person, (&email, role, has_account), client).await
            }
            LinkView::Reset { email } => self.accept_reset(presented, &email, person, client).await,
        }
    }

    async fn accept_setup(&self, presented: &str, person: &NewPerson, client: &Client) -> ApiResult<Secret> {
        let name = name_of(&person.name, "your name")?;
        let organisation = name_of(&person.organisation, "a name for your organisation")?;
        let email = normal_email(&person.email).ok_or_else(|| {
            ApiError::invalid(format!("“{}” is not an e-mail address.", person.email.trim()))
        })?;
        let phc = self.new_password(&person.password, &[&email, &name]).await?;
        self.take(presented).await?;
        // Of two replicas' links used at the same time one sets the installation up.
        let user = UserId(random_id());
        let now = self.now();
        let first =
            self.store.first_setting(OrgId::BUILT_IN, SET_UP_BY, &user.0, now).await.map_err(unavailable)?;
        if first != user.0 {
            return Err(is_gone());
        }
        self.store.create_user(&user, &email, &name, now).await.map_err(unavailable)?;
        self.store.set_password(&user, &phc, None, None).await.map_err(unavailable)?;
        let org =
            self.store.create_org(&random_id(), &organisation, &user, now).await.map_err(unavailable)?;
        self.store.withdraw_links(None, "setup", None, None).await.map_err(unavailable)?;
        let caller = as_caller(&user, &name, (org, Role::Owner), client);
        let log = self.entry(&caller, "organisation.set_up", &organisation, Some(email));
        self.begin_session(&user, org, client, SignInMethod::Link, Some(&log)).await
    }

    async fn accept_invitation(
        &self,
        presented: &str,
        person: &NewPerson,
        (email, role, has_account): (&str, Role, bool),
        client: &Client,
    ) -> ApiResult<Secret> {
        let now = self.now();
        let user = if has_account {
            let attempt =
                Attempt { email: email.into(), password: person.password.clone(), code: person.code.clone() };
            let (found, _) = self.authenticate(&attempt, client).await.map_err(|e| refused(&e))?;
            (found.user.id, found.user.name, None)
        } else {
            let name = name_of(&person.name, "your name")?;
            let phc = self.new_password(&person.password, &[email, &name]).await?;
            (UserId(random_id()), name, Some(phc))
        };
        let (id, name, new_password) = user;
        let org = self.take(presented).await?.org.ok_or_else(is_gone)?;
        let id = match new_password {
            None => id,
            Some(phc) => {
                // An account without a password (of single sign-on) may exist: the link proves the address.
                self.store.create_user(&id, email, &name, now).await.map_err(unavailable)?;
                let found = self.store.credentials(email).await.map_err(unavailable)?.ok_or_else(is_gone)?;
                self.store.set_password(&found.user.id, &phc, None, None).await.map_err(unavailable)?;
                found.user.id
            }
        };
        let caller = as_caller(&id, &name, (org, role), client);
        let log = self.entry(&caller, "member.join", email, Some(role.as_str().to_string()));
        self.store.add_member(org, &id, role, now, Some(&log)).await.map_err(unavailable)?;
        self.begin_session(&id, org, client, SignInMethod::Link, None).await
    }

    async fn accept_reset(
        &self,
        presented: &str,
        email: &str,
        person: &NewPerson,
        client: &Client,
    ) -> ApiResult<Secret> {
        let found = self.store.credentials(email).await.map_err(unavailable)?.ok_or_else(is_gone)?;
        // The second factor is not reset with the password.
        if found.totp_secret.is_some() && person.code.trim().is_empty() {
            return Err(ApiError::invalid(SignInError::CodeNeeded.to_string()));
        }
        let phc = self.new_password(&person.password, &[email, &found.user.name]).await?;
        self.check_code(&found, &person.code).await?;
        self.take(presented).await?;
        let org = self.first_org(&found).await.map_err(unavailable)?;
        let org = org.ok_or_else(|| ApiError::forbidden(SignInError::NoOrganisation.to_string()))?;
        let user = &found.user;
        let caller = as_caller(&user.id, &user.name, (org, Role::Viewer), client);
        let log = self.entry(&caller, "account.reset", email, None);
        self.store.set_password(&user.id, &phc, None, Some(&log)).await.map_err(unavailable)?;
        self.store.clear_failures(&format!("account:{email}")).await.map_err(unavailable)?;
        self.withdraw_mailed(&user.id).await.map_err(unavailable)?;
        self.begin_session(&user.id, org, client, SignInMethod::Link, None).await
    }

    async fn check_code(&self, found: &store::Credentials, code: &str) -> ApiResult<()> {
        match &found.totp_secret {
            Some(secret) => {
                self.second_factor(found, secret, code.trim()).await.map(drop).map_err(|e| refused(&e))
            }
            None => Ok(()),
        }
    }

    pub(super) async fn new_password(&self, password: &str, personal: &[&str]) -> ApiResult<String> {
        password::check_rules(password, personal).map_err(|rule| ApiError::invalid(rule.to_string()))?;
        self.passwords.hash(password.to_string()).await.map_err(|e| ApiError::unavailable(format!("{e}.")))
    }

    async fn take(&self, presented: &str) -> ApiResult<OneTimeLink> {
        let secret = read_link(presented)?;
        let link = self.store.take_link(secret.hash().as_str(), self.now()).await.map_err(unavailable)?;
        link.ok_or_else(is_gone)
    }
}

fn read_link(presented: &str) -> ApiResult<Secret> {
    let kinds = [SecretKind::OneTimeLink, SecretKind::Invitation];
    kinds.into_iter().find_map(|kind| Secret::read(kind, presented)).ok_or_else(is_gone)
}

fn payload<T: serde::de::DeserializeOwned>(link: &OneTimeLink) -> ApiResult<T> {
    serde_json::from_str(&link.payload).map_err(|e| {
        tracing::error!(error = %e, kind = link.kind, "a stored link can't be read");
        ApiError::internal()
    })
}

pub(super) fn refused(e: &SignInError) -> ApiError {
    match e {
        SignInError::Throttled(_) => ApiError::too_many_requests(e.to_string()),
        SignInError::Unavailable => ApiError::unavailable(e.to_string()),
        _ => ApiError::invalid(e.to_string()),
    }
}
