//! What people do about access: members, invitations, API tokens, the organisation, the audit log, their own account.

use crate::ApiResult;
use async_trait::async_trait;
use model::account::{
    AuditPage, AuditQuery, IdentityInfo, Invitation, Member, PasskeyInfo, SessionInfo, TokenInfo, TokenScope,
    User, UserId,
};
use model::checks::Checks;
use model::ids::{Caller, Role};
use serde::{Deserialize, Serialize};

/// The part of [`Backend`](crate::Backend) that is about access. Each method is an
/// [`Action`](crate::policy::Action) of the same name.
#[async_trait]
pub trait AccountBackend: Send + Sync + 'static {
    /// Members of the organisation, by name.
    async fn members(&self, caller: &Caller) -> ApiResult<Vec<Member>>;
    /// Changes the role of a member: not above the caller's own, and never of the last owner.
    async fn set_role(&self, caller: &Caller, user: &UserId, role: Role) -> ApiResult<()>;
    /// Removes a member; their sessions in the organisation end.
    async fn remove_member(&self, caller: &Caller, user: &UserId) -> ApiResult<()>;
    /// Invitations that were not accepted yet.
    async fn invitations(&self, caller: &Caller) -> ApiResult<Vec<Invitation>>;
    /// Invites a person; the link is shown once.
    async fn invite(&self, caller: &Caller, email: &str, role: Role) -> ApiResult<NewInvitation>;
    /// Revokes an invitation.
    async fn revoke_invitation(&self, caller: &Caller, id: &str) -> ApiResult<()>;
    /// API tokens of the organisation, newest first.
    async fn tokens(&self, caller: &Caller) -> ApiResult<Vec<TokenInfo>>;
    /// Creates an API token; its secret is shown once.
    async fn create_token(&self, caller: &Caller, request: &TokenRequest) -> ApiResult<NewToken>;
    /// Revokes an API token.
    async fn revoke_token(&self, caller: &Caller, id: &str) -> ApiResult<()>;
    /// The organisation, and how much of its quotas is used.
    async fn organisation(&self, caller: &Caller) -> ApiResult<Organisation>;
    /// Renames the organisation.
    async fn rename_organisation(&self, caller: &Caller, name: &str) -> ApiResult<()>;
    /// Sets the interval of checks and the reminders of all domains of which nothing else is said.
    async fn set_checks(&self, caller: &Caller, checks: &Checks) -> ApiResult<()>;
    /// A page of the audit log.
    async fn audit_log(&self, caller: &Caller, query: &AuditQuery) -> ApiResult<AuditPage>;
    /// The caller's own account.
    async fn profile(&self, caller: &Caller) -> ApiResult<Profile>;
    /// Changes the caller's password; their other sessions end.
    async fn change_password(&self, caller: &Caller, current: &str, new: &str) -> ApiResult<()>;
    /// A secret for an authenticator app, or a picture of the one that the app has already. Nothing is stored before
    /// [`AccountBackend::enable_second_factor`].
    async fn begin_second_factor(&self, caller: &Caller, secret: Option<&str>) -> ApiResult<Enrolment>;
    /// Turns two-factor sign-in on once a code proves that the app has the secret; the recovery codes, shown once.
    async fn enable_second_factor(
        &self,
        caller: &Caller,
        secret: &str,
        code: &str,
        password: &str,
    ) -> ApiResult<Vec<String>>;
    /// Turns two-factor sign-in off.
    async fn disable_second_factor(&self, caller: &Caller, password: &str, code: &str) -> ApiResult<()>;
    /// Options for the caller's browser to make a passkey, as JSON, once the password is right. `site` is the origin at
    /// which people reach this server.
    async fn begin_passkey(&self, caller: &Caller, password: &str, site: &str) -> ApiResult<String>;
    /// Adds the passkey that the browser made; `answer` is its JSON.
    async fn finish_passkey(
        &self,
        caller: &Caller,
        name: &str,
        answer: &str,
        site: &str,
    ) -> ApiResult<PasskeyInfo>;
    /// Removes a passkey of the caller: it no longer signs in.
    async fn remove_passkey(&self, caller: &Caller, id: &str) -> ApiResult<()>;
    /// Begins to link an account at the sign-in provider to the caller's, once password and code (where two-factor sign-in is
    /// on) are right. `site` is the origin at which people reach this server.
    async fn link_provider(
        &self,
        caller: &Caller,
        password: &str,
        code: &str,
        site: &str,
    ) -> ApiResult<ProviderRedirect>;
    /// Takes the link to a provider's account away: it no longer signs in. Never the last way to sign in.
    async fn unlink_provider(
        &self,
        caller: &Caller,
        issuer: &str,
        password: &str,
        code: &str,
    ) -> ApiResult<()>;
    /// Ends one session of the caller, or all others.
    async fn end_sessions(&self, caller: &Caller, only: Option<&str>) -> ApiResult<u64>;
}

/// An invitation that was just made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewInvitation {
    /// What lists show of it.
    pub invitation: Invitation,
    /// Path and query of the link.
    pub path: String,
}

/// What an API token is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRequest {
    /// What uses it.
    pub name: String,
    /// What it may do.
    pub scope: TokenScope,
    /// Days until it ends.
    pub days: u32,
}

impl TokenRequest {
    /// Longest life of a token, in days.
    pub const MAX_DAYS: u32 = 366;
    /// Life of a token unless asked otherwise, in days.
    pub const DEFAULT_DAYS: u32 = 90;
}

/// An API token that was just made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewToken {
    /// What lists show of it.
    pub token: TokenInfo,
    /// The secret.
    pub secret: String,
}

/// How much of a quota is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// In use.
    pub used: u64,
    /// Most that is allowed.
    pub limit: u64,
}

impl Usage {
    /// True from nine tenths on: people are told before the limit refuses something.
    pub fn is_nearly_full(self) -> bool {
        self.used.saturating_mul(10) >= self.limit.saturating_mul(9)
    }
}

/// An organisation with its quotas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Organisation {
    /// Its unguessable identifier.
    pub key: String,
    /// Its name.
    pub name: String,
    /// Domains.
    pub domains: Usage,
    /// Members and open invitations.
    pub members: Usage,
    /// API tokens.
    pub tokens: Usage,
    /// Ownership claims that wait for a proof.
    pub claims: Usage,
    /// Points of the members' and tokens' look-ups within the last minute; `None` without a limit.
    pub lookups: Option<Usage>,
    /// Those of the caller; `None` without a limit.
    #[serde(default)]
    pub own_lookups: Option<Usage>,
    /// What it says about the checks of its domains.
    #[serde(default)]
    pub checks: Checks,
    /// What the server does where nothing is said.
    #[serde(default)]
    pub server_checks: Checks,
}

/// The caller's own account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The person.
    pub user: User,
    /// Whether a password is set.
    pub has_password: bool,
    /// Recovery codes that are left.
    pub recovery_codes: u64,
    /// Sessions, newest use first.
    pub sessions: Vec<SessionInfo>,
    /// Passkeys, oldest first.
    pub passkeys: Vec<PasskeyInfo>,
    /// Accounts at sign-in providers that sign in to this one.
    pub identities: Vec<IdentityInfo>,
    /// The sign-in provider of this server.
    pub provider: Option<ProviderInfo>,
}

/// The sign-in provider of this server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderInfo {
    /// Its issuer.
    pub issuer: String,
    /// As people call it.
    pub label: String,
    /// True when each sign-in there sets the role here.
    pub sets_role: bool,
}

/// Where to send a browser that is to link an account at the sign-in provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderRedirect {
    /// The provider's address.
    pub url: String,
    /// What the browser has to come back with.
    pub secret: String,
}

/// A secret for an authenticator app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enrolment {
    /// The secret in base32, for typing.
    pub secret: String,
    /// The same as a picture to scan: an SVG element.
    pub qr_svg: String,
}

#[cfg(test)]
mod tests {
    use super::Usage;

    #[test]
    fn a_quota_warns_from_nine_tenths_on() {
        let full = |used| Usage { used, limit: 50 }.is_nearly_full();
        assert!(!full(44) && full(45) && full(50) && full(51));
    }
}
