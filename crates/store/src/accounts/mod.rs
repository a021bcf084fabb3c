//! People, organisations, sessions, tokens, links and the audit log. Secrets come in as hashes only.
//!
//! Whatever takes something away (a session, a membership, a token) is effective for every replica with the next
//! request: nothing here is cached.

mod access;
pub(crate) mod audit;
mod passkeys;
mod requests;
mod throttles;
mod types;
mod users;

pub use types::*;

use crate::api::Result;
use crate::store::Database;
use async_trait::async_trait;
use jiff::Timestamp;
use model::account::{AuditPage, AuditQuery, Invitation, Member, Membership, SessionInfo, TokenInfo, UserId};
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

#[async_trait]
impl AccountStore for Database {
    async fn user_count(&self) -> Result<u64> {
        users::count(&self.db).await
    }
    async fn create_user(&self, id: &UserId, email: &str, name: &str, now: Timestamp) -> Result<bool> {
        users::create(&self.db, id, email, name, now).await
    }
    async fn credentials(&self, email: &str) -> Result<Option<Credentials>> {
        users::credentials(&self.db, "email", email).await
    }
    async fn credentials_of(&self, user: &UserId) -> Result<Option<Credentials>> {
        users::credentials(&self.db, "id", &user.0).await
    }
    async fn set_password(
        &self,
        user: &UserId,
        phc: &str,
        keep: Option<&str>,
        log: Option<&Audit>,
    ) -> Result<()> {
        users::set_password(&self.db, user, phc, keep, log).await
    }
    async fn set_second_factor(
        &self,
        user: &UserId,
        secret: Option<&str>,
        recovery: &[String],
        log: Option<&Audit>,
    ) -> Result<()> {
        users::set_second_factor(&self.db, user, secret, recovery, log).await
    }
    async fn recovery_codes(&self, user: &UserId) -> Result<u64> {
        users::recovery_codes(&self.db, user).await
    }
    async fn use_totp_step(&self, user: &UserId, step: u64) -> Result<bool> {
        users::use_totp_step(&self.db, user, step).await
    }
    async fn use_recovery_code(&self, user: &UserId, hash: &str) -> Result<bool> {
        users::use_recovery_code(&self.db, user, hash).await
    }
    async fn create_org(&self, org_key: &str, name: &str, owner: &UserId, now: Timestamp) -> Result<OrgId> {
        users::create_org(&self.db, org_key, name, owner, now).await
    }
    async fn org(&self, org: OrgId) -> Result<Option<(String, String)>> {
        users::org(&self.db, org).await
    }
    async fn rename_org(&self, org: OrgId, name: &str, log: Option<&Audit>) -> Result<()> {
        users::rename_org(&self.db, org, name, log).await
    }
    async fn add_member(
        &self,
        org: OrgId,
        user: &UserId,
        role: Role,
        now: Timestamp,
        log: Option<&Audit>,
    ) -> Result<()> {
        users::add_member(&self.db, org, user, role, now, log).await
    }
    async fn change_member(
        &self,
        org: OrgId,
        user: &UserId,
        role: Option<Role>,
        log: Option<&Audit>,
    ) -> Result<MemberChange> {
        users::change_member(&self.db, org, user, role, log).await
    }
    async fn memberships(&self, user: &UserId) -> Result<Vec<Membership>> {
        users::memberships(&self.db, user).await
    }
    async fn members(&self, org: OrgId) -> Result<Vec<Member>> {
        users::members(&self.db, org).await
    }
    async fn create_session(&self, session: &NewSession, now: Timestamp, log: Option<&Audit>) -> Result<()> {
        access::create_session(&self.db, session, now, log).await
    }
    async fn session(&self, hash: &str) -> Result<Option<SessionOwner>> {
        access::session(&self.db, hash).await
    }
    async fn touch_session(&self, hash: &str, now: Timestamp) -> Result<()> {
        access::touch_session(&self.db, hash, now).await
    }
    async fn switch_org(&self, hash: &str, org: OrgId) -> Result<bool> {
        access::switch_org(&self.db, hash, org).await
    }
    async fn sessions(&self, user: &UserId, current: &str) -> Result<Vec<SessionInfo>> {
        access::sessions(&self.db, user, current).await
    }
    async fn end_sessions(
        &self,
        user: &UserId,
        only: Option<&str>,
        keep: Option<&str>,
        log: Option<&Audit>,
    ) -> Result<u64> {
        access::end_sessions(&self.db, user, only, keep, log).await
    }
    async fn create_token(
        &self,
        org: OrgId,
        hash: &str,
        token: &TokenInfo,
        log: Option<&Audit>,
    ) -> Result<()> {
        access::create_token(&self.db, org, hash, token, log).await
    }
    async fn token(&self, hash: &str, now: Timestamp) -> Result<Option<(OrgId, TokenInfo)>> {
        access::token(&self.db, hash, now).await
    }
    async fn touch_token(&self, hash: &str, now: Timestamp) -> Result<()> {
        access::touch_token(&self.db, hash, now).await
    }
    async fn tokens(&self, org: OrgId) -> Result<Vec<TokenInfo>> {
        access::tokens(&self.db, org).await
    }
    async fn revoke_token(&self, org: OrgId, id: &str, log: Option<&Audit>) -> Result<bool> {
        access::revoke_token(&self.db, org, id, log).await
    }
    async fn create_link(&self, hash: &str, link: &OneTimeLink, log: Option<&Audit>) -> Result<()> {
        access::create_link(&self.db, hash, link, log).await
    }
    async fn peek_link(&self, hash: &str, now: Timestamp) -> Result<Option<OneTimeLink>> {
        access::peek_link(&self.db, hash, now).await
    }
    async fn take_link(&self, hash: &str, now: Timestamp) -> Result<Option<OneTimeLink>> {
        access::take_link(&self.db, hash, now).await
    }
    async fn withdraw_links(
        &self,
        org: Option<OrgId>,
        kind: &str,
        id: Option<&str>,
        log: Option<&Audit>,
    ) -> Result<u64> {
        access::withdraw_links(&self.db, org, kind, id, log).await
    }
    async fn invitations(&self, org: OrgId, now: Timestamp) -> Result<Vec<Invitation>> {
        access::invitations(&self.db, org, now).await
    }
    async fn add_passkey(&self, new: &Passkey, log: Option<&Audit>) -> Result<bool> {
        passkeys::add(&self.db, new, log).await
    }
    async fn passkeys(&self, user: &UserId) -> Result<Vec<Passkey>> {
        passkeys::of_user(&self.db, user).await
    }
    async fn passkey(&self, credential: &str) -> Result<Option<Passkey>> {
        passkeys::by_credential(&self.db, credential).await
    }
    async fn passkey_used(&self, id: &str, data: &str, now: Timestamp) -> Result<bool> {
        passkeys::used(&self.db, id, data, now).await
    }
    async fn remove_passkey(&self, user: &UserId, id: &str, log: Option<&Audit>) -> Result<bool> {
        passkeys::remove(&self.db, user, id, log).await
    }
    async fn keep_challenge(
        &self,
        hash: &str,
        state: &str,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<bool> {
        passkeys::keep_challenge(&self.db, hash, state, expires_at, now).await
    }
    async fn take_challenge(&self, hash: &str, now: Timestamp) -> Result<Option<String>> {
        passkeys::take_challenge(&self.db, hash, now).await
    }
    async fn failures(&self, key: &str) -> Result<(u32, Option<Timestamp>)> {
        throttles::failures(&self.db, key).await
    }
    async fn count_failure(
        &self,
        key: &str,
        forget: Timestamp,
        now: Timestamp,
    ) -> Result<(u32, Option<Timestamp>)> {
        throttles::count_failure(&self.db, key, forget, now).await
    }
    async fn clear_failures(&self, key: &str) -> Result<()> {
        throttles::clear_failures(&self.db, key).await
    }
    async fn audit(&self, entry: &Audit) -> Result<()> {
        audit::append_alone(&self.db, entry).await
    }
    async fn audit_log(&self, org: OrgId, query: &AuditQuery) -> Result<AuditPage> {
        audit::page(&self.db, org, query).await
    }
    async fn claim_request(&self, org: OrgId, key: &str, request: &str, now: Timestamp) -> Result<Replay> {
        requests::claim(&self.db, org, key, request, now).await
    }
    async fn keep_answer(&self, org: OrgId, key: &str, answer: &str) -> Result<()> {
        requests::keep(&self.db, org, key, answer).await
    }
    async fn forget_request(&self, org: OrgId, key: &str) -> Result<()> {
        requests::forget(&self.db, org, key).await
    }
    async fn prune_accounts(&self, before: Timestamp, audit_before: Timestamp) -> Result<u64> {
        throttles::prune(&self.db, before, audit_before).await
    }
}
