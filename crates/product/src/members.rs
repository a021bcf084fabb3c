//! Access to an organisation: members, invitations, API tokens, its name and quotas, the audit log.

use crate::holdings::checked_checks;
use crate::identity::name_of;
use crate::{BULK, Services, unavailable};
use accounts::{Secret, SecretKind, random_id};
use async_trait::async_trait;
use jiff::SignedDuration;
use model::account::{AuditPage, AuditQuery, Invitation, Member, PasskeyInfo, TokenInfo, UserId};
use model::checks::Checks;
use model::ids::{Caller, Role};
use model::inventory::ListQuery;
use model::ownership::decide::MAX_PENDING;
use service::policy::{Action, authorize};
use service::{
    AccountBackend, ApiError, ApiResult, Enrolment, NewInvitation, NewToken, Organisation, Profile,
    ProviderRedirect, TokenRequest, Usage,
};
use store::MemberChange;

/// Most of each thing that one organisation may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// Domains.
    pub domains: u64,
    /// Members and open invitations.
    pub members: u64,
    /// API tokens.
    pub tokens: u64,
    /// Claims of address space.
    pub network_claims: u64,
}

impl Default for Quotas {
    fn default() -> Self {
        Quotas { domains: 100_000, members: 500, tokens: 50, network_claims: 100_000 }
    }
}

/// Characters of a token that lists show: its prefix and four more.
const HINT: usize = 8;

fn no_member() -> ApiError {
    ApiError::not_found("This person is not a member of the organisation.")
}

impl Services {
    /// The member of the caller's organisation, whom the caller's role may change.
    async fn changeable(&self, caller: &Caller, user: &UserId) -> ApiResult<Member> {
        let members = self.store().members(caller.org).await.map_err(unavailable)?;
        let member = members.into_iter().find(|m| m.user.id == *user).ok_or_else(no_member)?;
        if member.role > caller.role {
            let words = format!("Only an owner can change {}, who is an owner.", member.user.name);
            return Err(ApiError::forbidden(words));
        }
        Ok(member)
    }

    async fn change_member(
        &self,
        caller: &Caller,
        user: &UserId,
        role: Option<Role>,
        action: &'static str,
    ) -> ApiResult<()> {
        let member = self.changeable(caller, user).await?;
        let new = role.map(|role| role.as_str().to_string());
        let log = self.identity.entry(caller, action, &member.user.email, new);
        let changed = self.store().change_member(caller.org, user, role, Some(&log)).await;
        match changed.map_err(unavailable)? {
            MemberChange::Changed => Ok(()),
            MemberChange::NotAMember => Err(no_member()),
            MemberChange::LastOwner => Err(ApiError::invalid(format!(
                "{} is the only owner. Make another member an owner first.",
                member.user.name
            ))),
        }
    }

    /// Refuses when one more would exceed a quota.
    pub(crate) fn check_quota(what: &str, usage: Usage) -> ApiResult<()> {
        if usage.used < usage.limit {
            return Ok(());
        }
        Err(ApiError::invalid(format!(
            "This organisation has {} of {} {what}. Remove some, or ask the operator of this server for more.",
            usage.used, usage.limit
        )))
    }

    async fn member_usage(&self, caller: &Caller) -> ApiResult<Usage> {
        let members = self.store().members(caller.org).await.map_err(unavailable)?.len();
        let invited = self.store().invitations(caller.org, self.now()).await.map_err(unavailable)?.len();
        Ok(Usage { used: (members + invited) as u64, limit: self.quotas.members })
    }
}

#[async_trait]
impl AccountBackend for Services {
    async fn members(&self, caller: &Caller) -> ApiResult<Vec<Member>> {
        authorize(caller, Action::Members)?;
        self.store().members(caller.org).await.map_err(unavailable)
    }

    async fn set_role(&self, caller: &Caller, user: &UserId, role: Role) -> ApiResult<()> {
        authorize(caller, Action::SetRole)?;
        if role > caller.role {
            return Err(ApiError::forbidden("You can't give a role above your own."));
        }
        self.change_member(caller, user, Some(role), "member.role").await
    }

    async fn remove_member(&self, caller: &Caller, user: &UserId) -> ApiResult<()> {
        authorize(caller, Action::RemoveMember)?;
        self.change_member(caller, user, None, "member.remove").await
    }

    async fn invitations(&self, caller: &Caller) -> ApiResult<Vec<Invitation>> {
        authorize(caller, Action::Invitations)?;
        self.store().invitations(caller.org, self.now()).await.map_err(unavailable)
    }

    async fn invite(&self, caller: &Caller, email: &str, role: Role) -> ApiResult<NewInvitation> {
        authorize(caller, Action::Invite)?;
        Self::check_quota("members and invitations", self.member_usage(caller).await?)?;
        let (secret, invitation) = self.identity.invite(caller, email, role).await?;
        Ok(NewInvitation { invitation, path: format!("/invite?key={}", secret.expose()) })
    }

    async fn revoke_invitation(&self, caller: &Caller, id: &str) -> ApiResult<()> {
        authorize(caller, Action::RevokeInvitation)?;
        let gone = || ApiError::not_found("This invitation was accepted, revoked or has expired.");
        let open = self.store().invitations(caller.org, self.now()).await.map_err(unavailable)?;
        let found = open.into_iter().find(|i| i.id == id).ok_or_else(gone)?;
        let mut log = self.identity.entry(caller, "member.uninvite", &found.email, None);
        log.old = Some(found.role.as_str().into());
        let store = self.store();
        match store.withdraw_links(Some(caller.org), "invitation", Some(id), Some(&log)).await {
            Ok(0) => Err(gone()),
            Ok(_) => Ok(()),
            Err(e) => Err(unavailable(e)),
        }
    }

    async fn tokens(&self, caller: &Caller) -> ApiResult<Vec<TokenInfo>> {
        authorize(caller, Action::Tokens)?;
        self.store().tokens(caller.org).await.map_err(unavailable)
    }

    async fn create_token(&self, caller: &Caller, request: &TokenRequest) -> ApiResult<NewToken> {
        authorize(caller, Action::CreateToken)?;
        let name = name_of(&request.name, "a name for the token")?;
        if !(1..=TokenRequest::MAX_DAYS).contains(&request.days) {
            return Err(ApiError::invalid(format!(
                "A token is valid for 1 to {} days, not {}.",
                TokenRequest::MAX_DAYS,
                request.days
            )));
        }
        if request.scope.role() > caller.role {
            return Err(ApiError::forbidden(
                "A token can't have more rights than the member who creates it.",
            ));
        }
        let tokens = self.store().tokens(caller.org).await.map_err(unavailable)?;
        Self::check_quota("API tokens", Usage { used: tokens.len() as u64, limit: self.quotas.tokens })?;
        if tokens.iter().any(|token| token.name == name) {
            return Err(ApiError::invalid(format!(
                "A token is called “{name}” already: choose another name."
            )));
        }
        let secret = Secret::generate(SecretKind::ApiToken);
        let now = self.now();
        let token = TokenInfo {
            id: random_id(),
            name,
            hint: secret.expose().chars().take(HINT).collect(),
            scope: request.scope,
            created_by: caller.who.clone(),
            created_at: now,
            expires_at: Some(now + SignedDuration::from_hours(24 * i64::from(request.days))),
            last_used_at: None,
        };
        let said = format!("{}, {} days", request.scope.as_str(), request.days);
        let log = self.identity.entry(caller, "token.create", &token.name, Some(said));
        let hash = secret.hash();
        self.store()
            .create_token(caller.org, hash.as_str(), &token, Some(&log))
            .await
            .map_err(unavailable)?;
        Ok(NewToken { token, secret: secret.expose().to_string() })
    }

    async fn revoke_token(&self, caller: &Caller, id: &str) -> ApiResult<()> {
        authorize(caller, Action::RevokeToken)?;
        let log = self.identity.entry(caller, "token.revoke", "", None);
        match self.store().revoke_token(caller.org, id, Some(&log)).await.map_err(unavailable)? {
            true => Ok(()),
            false => Err(ApiError::not_found("This token was revoked already.")),
        }
    }

    async fn organisation(&self, caller: &Caller) -> ApiResult<Organisation> {
        authorize(caller, Action::Organisation)?;
        let org = self.store().org(caller.org).await.map_err(unavailable)?;
        let (key, name) = org.ok_or_else(|| ApiError::not_found("This organisation does not exist."))?;
        let domains = self.store().summary(caller.org, self.now()).await.map_err(unavailable)?.total;
        let tokens = self.store().tokens(caller.org).await.map_err(unavailable)?.len() as u64;
        Ok(Organisation {
            key,
            name,
            domains: Usage { used: domains, limit: self.quotas.domains },
            members: self.member_usage(caller).await?,
            tokens: Usage { used: tokens, limit: self.quotas.tokens },
            claims: Usage {
                used: self.store().pending_claims(caller.org).await.map_err(unavailable)?,
                limit: MAX_PENDING as u64,
            },
            lookups: self.tools.limits.org_usage(caller.org),
            own_lookups: self.tools.limits.usage(caller),
            checks: self.store().checks(caller.org).await.map_err(unavailable)?,
            server_checks: Checks {
                interval_s: Some(self.scanner.policy.interval_s),
                expiry_days: Some(self.scanner.policy.reminder_days.clone()),
            },
        })
    }

    async fn set_checks(&self, caller: &Caller, checks: &Checks) -> ApiResult<()> {
        authorize(caller, Action::SetChecks)?;
        let checks = checked_checks(checks)?;
        let before = self.store().checks(caller.org).await.map_err(unavailable)?;
        let log = self.identity.entry(caller, "organisation.checks", "checks", None);
        self.store().set_checks(caller.org, &checks, &log).await.map_err(unavailable)?;
        let seconds = |c: &Checks| c.interval_s.unwrap_or(self.scanner.policy.interval_s);
        if seconds(&checks) < seconds(&before) {
            // Those that were due by the longer interval come sooner; domains with an interval of their own return to it.
            let query = ListQuery::default();
            let names =
                self.store().names(caller.org, &query, BULK, self.now()).await.map_err(unavailable)?;
            self.reschedule(&names, seconds(&checks)).await?;
        }
        Ok(())
    }

    async fn rename_organisation(&self, caller: &Caller, name: &str) -> ApiResult<()> {
        authorize(caller, Action::RenameOrganisation)?;
        let name = name_of(name, "a name for the organisation")?;
        let log = self.identity.entry(caller, "organisation.rename", "name", Some(name.clone()));
        self.store().rename_org(caller.org, &name, Some(&log)).await.map_err(unavailable)
    }

    async fn audit_log(&self, caller: &Caller, query: &AuditQuery) -> ApiResult<AuditPage> {
        authorize(caller, Action::AuditLog)?;
        self.store().audit_log(caller.org, query).await.map_err(unavailable)
    }

    async fn profile(&self, caller: &Caller) -> ApiResult<Profile> {
        authorize(caller, Action::Profile)?;
        self.identity.profile(caller).await
    }

    async fn change_password(&self, caller: &Caller, current: &str, new: &str) -> ApiResult<()> {
        authorize(caller, Action::ChangePassword)?;
        self.identity.change_password(caller, current, new).await
    }

    async fn begin_second_factor(&self, caller: &Caller, secret: Option<&str>) -> ApiResult<Enrolment> {
        authorize(caller, Action::BeginSecondFactor)?;
        self.identity.begin_second_factor(caller, secret).await
    }

    async fn enable_second_factor(
        &self,
        caller: &Caller,
        secret: &str,
        code: &str,
        password: &str,
    ) -> ApiResult<Vec<String>> {
        authorize(caller, Action::EnableSecondFactor)?;
        self.identity.enable_second_factor(caller, secret, code, password).await
    }

    async fn disable_second_factor(&self, caller: &Caller, password: &str, code: &str) -> ApiResult<()> {
        authorize(caller, Action::DisableSecondFactor)?;
        self.identity.disable_second_factor(caller, password, code).await
    }

    async fn begin_passkey(&self, caller: &Caller, password: &str, site: &str) -> ApiResult<String> {
        authorize(caller, Action::BeginPasskey)?;
        self.identity.begin_passkey(caller, password, site).await
    }

    async fn finish_passkey(
        &self,
        caller: &Caller,
        name: &str,
        answer: &str,
        site: &str,
    ) -> ApiResult<PasskeyInfo> {
        authorize(caller, Action::FinishPasskey)?;
        self.identity.finish_passkey(caller, name, answer, site).await
    }

    async fn remove_passkey(&self, caller: &Caller, id: &str) -> ApiResult<()> {
        authorize(caller, Action::RemovePasskey)?;
        self.identity.remove_passkey(caller, id).await
    }

    async fn link_provider(
        &self,
        caller: &Caller,
        password: &str,
        code: &str,
        site: &str,
    ) -> ApiResult<ProviderRedirect> {
        authorize(caller, Action::LinkProvider)?;
        self.identity.link_provider(caller, password, code, site).await
    }

    async fn unlink_provider(
        &self,
        caller: &Caller,
        issuer: &str,
        password: &str,
        code: &str,
    ) -> ApiResult<()> {
        authorize(caller, Action::UnlinkProvider)?;
        self.identity.unlink_provider(caller, issuer, password, code).await
    }

    async fn end_sessions(&self, caller: &Caller, only: Option<&str>) -> ApiResult<u64> {
        authorize(caller, Action::EndSessions)?;
        self.identity.end_sessions(caller, only).await
    }
}
