//! What the store answers about people, organisations and access.

use super::{
    Audit, Credentials, MemberChange, NewIdentity, NewSession, OneTimeLink, Passkey, Replay, SessionOwner,
};
use crate::api::Result;
use async_trait::async_trait;
use jiff::Timestamp;
use model::account::{
    AuditPage, AuditQuery, IdentityInfo, Invitation, Member, Membership, SessionInfo, TokenInfo, UserId,
};
use model::ids::{OrgId, Role};

/// The part of the store that knows people.
#[async_trait]
pub trait AccountStore: Send + Sync + 'static {
    // ---- people --------------------------------------------------------------------------------
    /// How many accounts there are; 0 on a first start.
    async fn user_count(&self) -> Result<u64>;
    /// Makes an account; false when the address has one already.
    async fn create_user(&self, id: &UserId, email: &str, name: &str, now: Timestamp) -> Result<bool>;
    /// The account of an address with its credentials.
    async fn credentials(&self, email: &str) -> Result<Option<Credentials>>;
    /// The account of an identity with its credentials.
    async fn credentials_of(&self, user: &UserId) -> Result<Option<Credentials>>;
    /// Sets the password (a PHC string) and ends every session of the account but `keep` (an identifier).
    async fn set_password(
        &self,
        user: &UserId,
        phc: &str,
        keep: Option<&str>,
        log: Option<&Audit>,
    ) -> Result<()>;
    /// Sets or removes the second factor with the hashes of its recovery codes.
    async fn set_second_factor(
        &self,
        user: &UserId,
        secret: Option<&str>,
        recovery: &[String],
        log: Option<&Audit>,
    ) -> Result<()>;
    /// How many recovery codes of an account are left.
    async fn recovery_codes(&self, user: &UserId) -> Result<u64>;
    /// Marks a time step as used; false when it, or a later one, was used already, on whichever replica.
    async fn use_totp_step(&self, user: &UserId, step: u64) -> Result<bool>;
    /// Uses up a recovery code; false when there is no such code.
    async fn use_recovery_code(&self, user: &UserId, hash: &str) -> Result<bool>;

    // ---- organisations -------------------------------------------------------------------------
    /// Makes an organisation with its first owner.
    async fn create_org(&self, org_key: &str, name: &str, owner: &UserId, now: Timestamp) -> Result<OrgId>;
    /// Key and name of an organisation.
    async fn org(&self, org: OrgId) -> Result<Option<(String, String)>>;
    /// Renames an organisation; the old name goes into the log.
    async fn rename_org(&self, org: OrgId, name: &str, log: Option<&Audit>) -> Result<()>;
    /// Adds a member, or changes the role of one that is.
    async fn add_member(
        &self,
        org: OrgId,
        user: &UserId,
        role: Role,
        now: Timestamp,
        log: Option<&Audit>,
    ) -> Result<()>;
    /// Changes the role of a member (`None` removes it); the old role goes into the log. Never leaves an organisation
    /// without an owner.
    async fn change_member(
        &self,
        org: OrgId,
        user: &UserId,
        role: Option<Role>,
        log: Option<&Audit>,
    ) -> Result<MemberChange>;
    /// Organisations of a person, by name.
    async fn memberships(&self, user: &UserId) -> Result<Vec<Membership>>;
    /// Members of an organisation, by name.
    async fn members(&self, org: OrgId) -> Result<Vec<Member>>;

    // ---- sessions ------------------------------------------------------------------------------
    /// Begins a session.
    async fn create_session(&self, session: &NewSession, now: Timestamp, log: Option<&Audit>) -> Result<()>;
    /// Whose session it is.
    async fn session(&self, hash: &str) -> Result<Option<SessionOwner>>;
    /// Writes the time of the last use.
    async fn touch_session(&self, hash: &str, now: Timestamp) -> Result<()>;
    /// Lets a session act in another organisation of its owner; false when the person is no member there.
    async fn switch_org(&self, hash: &str, org: OrgId) -> Result<bool>;
    /// Sessions of a person, newest use first; `current` is an identifier.
    async fn sessions(&self, user: &UserId, current: &str) -> Result<Vec<SessionInfo>>;
    /// Ends one session of a person, or all but `keep`.
    async fn end_sessions(
        &self,
        user: &UserId,
        only: Option<&str>,
        keep: Option<&str>,
        log: Option<&Audit>,
    ) -> Result<u64>;

    // ---- tokens --------------------------------------------------------------------------------
    /// Makes an API token.
    async fn create_token(
        &self,
        org: OrgId,
        hash: &str,
        token: &TokenInfo,
        log: Option<&Audit>,
    ) -> Result<()>;
    /// Organisation and description of a token that has not ended.
    async fn token(&self, hash: &str, now: Timestamp) -> Result<Option<(OrgId, TokenInfo)>>;
    /// Writes the time of the last use.
    async fn touch_token(&self, hash: &str, now: Timestamp) -> Result<()>;
    /// Tokens of an organisation, newest first.
    async fn tokens(&self, org: OrgId) -> Result<Vec<TokenInfo>>;
    /// Revokes a token; false when there is none.
    async fn revoke_token(&self, org: OrgId, id: &str, log: Option<&Audit>) -> Result<bool>;

    // ---- links that work once ------------------------------------------------------------------
    /// Makes a link.
    async fn create_link(&self, hash: &str, link: &OneTimeLink, log: Option<&Audit>) -> Result<()>;
    /// What a link carries, without using it up.
    async fn peek_link(&self, hash: &str, now: Timestamp) -> Result<Option<OneTimeLink>>;
    /// Uses a link up. Of several callers one gets it.
    async fn take_link(&self, hash: &str, now: Timestamp) -> Result<Option<OneTimeLink>>;
    /// Withdraws a link by its identifier, or all of a kind without an organisation.
    async fn withdraw_links(
        &self,
        org: Option<OrgId>,
        kind: &str,
        id: Option<&str>,
        log: Option<&Audit>,
    ) -> Result<u64>;
    /// Invitations of an organisation that have not ended.
    async fn invitations(&self, org: OrgId, now: Timestamp) -> Result<Vec<Invitation>>;

    // ---- passkeys ------------------------------------------------------------------------------
    /// Adds a passkey; false when its authenticator's identifier is known already, of whichever account.
    async fn add_passkey(&self, new: &Passkey, log: Option<&Audit>) -> Result<bool>;
    /// Passkeys of a person, oldest first.
    async fn passkeys(&self, user: &UserId) -> Result<Vec<Passkey>>;
    /// The passkey of an authenticator's identifier.
    async fn passkey(&self, credential: &str) -> Result<Option<Passkey>>;
    /// Writes counter and time after a use; false when the passkey was removed meanwhile.
    async fn passkey_used(&self, id: &str, data: &str, now: Timestamp) -> Result<bool>;
    /// Removes a passkey of a person; its name goes into the log. False when there is none.
    async fn remove_passkey(&self, user: &UserId, id: &str, log: Option<&Audit>) -> Result<bool>;
    /// Keeps a challenge until its answer comes, in place of one of the same hash. False when too many are open.
    async fn keep_challenge(
        &self,
        hash: &str,
        state: &str,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<bool>;
    /// Uses a challenge up. Of several callers one gets it.
    async fn take_challenge(&self, hash: &str, now: Timestamp) -> Result<Option<String>>;

    // ---- OpenID Connect ------------------------------------------------------------------------
    /// The account that one at a provider signs in to.
    async fn identity(&self, issuer: &str, subject: &str) -> Result<Option<UserId>>;
    /// Links an account at a provider, all or nothing; false when the address, or either account, is taken.
    async fn link_identity(&self, new: &NewIdentity, now: Timestamp, log: Option<&Audit>) -> Result<bool>;
    /// Accounts at providers that sign in to one here, oldest first.
    async fn identities(&self, user: &UserId) -> Result<Vec<IdentityInfo>>;
    /// Takes the link to a provider's account away; false when there is none.
    async fn unlink_identity(&self, user: &UserId, issuer: &str, log: Option<&Audit>) -> Result<bool>;
    /// Organisations with this key or name, two at most.
    async fn orgs_called(&self, text: &str) -> Result<Vec<OrgId>>;

    // ---- failed attempts -----------------------------------------------------------------------
    /// Failures of a key and the time of the newest.
    async fn failures(&self, key: &str) -> Result<(u32, Option<Timestamp>)>;
    /// Counts a failure; those before `forget` no longer count. Answers what was counted before it: of callers at the
    /// same time, each sees those before it.
    async fn count_failure(
        &self,
        key: &str,
        forget: Timestamp,
        now: Timestamp,
    ) -> Result<(u32, Option<Timestamp>)>;
    /// Forgets a key's failures.
    async fn clear_failures(&self, key: &str) -> Result<()>;

    // ---- audit log -----------------------------------------------------------------------------
    /// Appends an entry by itself.
    async fn audit(&self, entry: &Audit) -> Result<()>;
    /// A page of an organisation's log, newest first.
    async fn audit_log(&self, org: OrgId, query: &AuditQuery) -> Result<AuditPage>;

    // ---- requests that are carried out once ----------------------------------------------------
    /// Claims a key for a request. The first caller gets [`Replay::New`] and must call [`AccountStore::keep_answer`] or
    /// [`AccountStore::forget_request`]. A key older than a day is free again.
    async fn claim_request(&self, org: OrgId, key: &str, request: &str, now: Timestamp) -> Result<Replay>;
    /// Keeps the answer to a claimed request.
    async fn keep_answer(&self, org: OrgId, key: &str, answer: &str) -> Result<()>;
    /// Frees a key whose request changed nothing.
    async fn forget_request(&self, org: OrgId, key: &str) -> Result<()>;

    /// Deletes sessions, links and failures that ended before `before`; audit entries older than `audit_before`.
    async fn prune_accounts(&self, before: Timestamp, audit_before: Timestamp) -> Result<u64>;
}
