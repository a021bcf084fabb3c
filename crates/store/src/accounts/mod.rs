//! People, organisations, sessions, tokens, links and the audit log. Secrets come in as hashes only.
//!
//! Whatever takes something away (a session, a membership, a token) is effective for every replica with the next
//! request: nothing here is cached.

mod access;
mod api;
pub(crate) mod audit;
mod identities;
mod passkeys;
mod requests;
mod throttles;
mod types;
mod users;

pub use api::AccountStore;
pub use types::*;

use crate::api::Result;
use crate::store::Database;
use async_trait::async_trait;
use jiff::Timestamp;
use model::account::{
    AuditPage, AuditQuery, IdentityInfo, Invitation, Member, Membership, SessionInfo, TokenInfo, UserId,
};
use model::ids::{OrgId, Role};

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
    async fn identity(&self, issuer: &str, subject: &str) -> Result<Option<UserId>> {
        identities::find(&self.db, issuer, subject).await
    }
    async fn link_identity(&self, new: &NewIdentity, now: Timestamp, log: Option<&Audit>) -> Result<bool> {
        identities::link(&self.db, new, now, log).await
    }
    async fn identities(&self, user: &UserId) -> Result<Vec<IdentityInfo>> {
        identities::of_user(&self.db, user).await
    }
    async fn unlink_identity(&self, user: &UserId, issuer: &str, log: Option<&Audit>) -> Result<bool> {
        identities::unlink(&self.db, user, issuer, log).await
    }
    async fn orgs_called(&self, text: &str) -> Result<Vec<OrgId>> {
        identities::orgs_called(&self.db, text).await
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
