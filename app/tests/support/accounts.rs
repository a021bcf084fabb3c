//! The sample's people, tokens and audit log.

use super::backend::Sample;
use super::world::ago;
use super::{caller, now};
use async_trait::async_trait;
use jiff::SignedDuration;
use model::account::{
    AuditEntry, AuditPage, AuditQuery, IdentityInfo, Invitation, Member, PasskeyInfo, SessionInfo,
    SignInMethod, TokenInfo, TokenScope, User, UserId,
};
use model::checks::Checks;
use model::ids::{Caller, Role};
use service::{
    AccountBackend, ApiError, ApiResult, Enrolment, NewInvitation, NewToken, Organisation, Profile,
    ProviderInfo, ProviderRedirect, TokenRequest, Usage,
};

fn user(id: &str, name: &str, email: &str) -> User {
    User {
        id: UserId(id.into()),
        email: email.into(),
        name: name.into(),
        created_at: ago(9000),
        has_second_factor: id == "mira",
    }
}

fn days(n: i64) -> model::Timestamp {
    now() + SignedDuration::from_hours(24 * n)
}

fn token(id: &str, name: &str, scope: TokenScope, ends: i64, used: Option<i64>) -> TokenInfo {
    TokenInfo {
        id: id.into(),
        name: name.into(),
        hint: "dst_h2kc".into(),
        scope,
        created_by: "Mira Holt".into(),
        created_at: ago(2000),
        expires_at: Some(days(ends)),
        last_used_at: used.map(ago),
    }
}

fn entry(
    id: i64,
    hours: i64,
    action: &str,
    object: &str,
    old: Option<&str>,
    new: Option<&str>,
) -> AuditEntry {
    AuditEntry {
        id,
        at: ago(hours),
        who: "Mira Holt".into(),
        email: Some("mira@alder.example".into()),
        address: "198.51.100.7".into(),
        action: action.into(),
        object: object.into(),
        old: old.map(Into::into),
        new: new.map(Into::into),
    }
}

#[async_trait]
impl AccountBackend for Sample {
    async fn members(&self, _: &Caller) -> ApiResult<Vec<Member>> {
        self.up()?;
        let member = |id, name, email, role, seen: Option<i64>| Member {
            user: user(id, name, email),
            role,
            since: ago(9000),
            last_seen_at: seen.map(ago),
        };
        Ok(vec![
            member("ops", "DNS operations", "dns-ops@alder.example", Role::Admin, Some(3)),
            member("mira", "Mira Holt", "mira@alder.example", Role::Owner, Some(0)),
            member("sec", "Security review", "security@alder.example", Role::Viewer, None),
        ])
    }

    async fn set_role(&self, _: &Caller, user: &UserId, role: Role) -> ApiResult<()> {
        self.note(format!("role {user} {}", role.as_str()));
        Ok(())
    }

    async fn remove_member(&self, _: &Caller, user: &UserId) -> ApiResult<()> {
        self.note(format!("remove member {user}"));
        Ok(())
    }

    async fn invitations(&self, _: &Caller) -> ApiResult<Vec<Invitation>> {
        Ok(vec![Invitation {
            id: "i1".into(),
            email: "registrar-desk@alder.example".into(),
            role: Role::Member,
            invited_by: "Mira Holt".into(),
            expires_at: days(6),
        }])
    }

    async fn invite(&self, _: &Caller, email: &str, role: Role) -> ApiResult<NewInvitation> {
        self.note(format!("invite {email} {}", role.as_str()));
        Err(ApiError::invalid("Not in the sample."))
    }

    async fn revoke_invitation(&self, _: &Caller, id: &str) -> ApiResult<()> {
        self.note(format!("uninvite {id}"));
        Ok(())
    }

    async fn tokens(&self, _: &Caller) -> ApiResult<Vec<TokenInfo>> {
        self.up()?;
        Ok(vec![
            token("t1", "ci-inventory", TokenScope::Read, 90, None),
            token("t2", "deploy-bot", TokenScope::Write, 11, Some(1)),
            token("t3", "zone-import", TokenScope::Admin, -18, Some(500)),
        ])
    }

    async fn create_token(&self, _: &Caller, request: &TokenRequest) -> ApiResult<NewToken> {
        self.note(format!("token {}", request.name));
        Err(ApiError::invalid("Not in the sample."))
    }

    async fn revoke_token(&self, _: &Caller, id: &str) -> ApiResult<()> {
        self.note(format!("revoke {id}"));
        Ok(())
    }

    async fn organisation(&self, _: &Caller) -> ApiResult<Organisation> {
        Ok(Organisation {
            key: "k".into(),
            name: "Alder Labs".into(),
            domains: Usage { used: 312, limit: 100_000 },
            members: Usage { used: 4, limit: 500 },
            tokens: Usage { used: 46, limit: 50 },
            claims: Usage { used: 2, limit: 100 },
            lookups: Some(Usage { used: 120, limit: 300 }),
            own_lookups: Some(Usage { used: 55, limit: 60 }),
            checks: Checks { interval_s: Some(900), expiry_days: None },
            server_checks: Checks { interval_s: Some(3600), expiry_days: Some(vec![30, 7, 0]) },
        })
    }

    async fn set_checks(&self, _: &Caller, checks: &Checks) -> ApiResult<()> {
        self.note(format!("checks {checks:?}"));
        Ok(())
    }

    async fn rename_organisation(&self, _: &Caller, name: &str) -> ApiResult<()> {
        self.note(format!("rename {name}"));
        Ok(())
    }

    async fn audit_log(&self, _: &Caller, query: &AuditQuery) -> ApiResult<AuditPage> {
        self.up()?;
        let entries = vec![
            entry(3, 1, "token.create", "ci-inventory", None, Some("read, 90 days")),
            entry(2, 4, "member.role", "security@alder.example", Some("member"), Some("viewer")),
            entry(1, 30, "domain.change", "alder.example", Some("tags: core"), Some("tags: core, prod")),
        ];
        let entries = entries.into_iter().filter(|e| e.action.starts_with(&query.subject)).collect();
        Ok(AuditPage { entries, next: None })
    }

    async fn profile(&self, _: &Caller) -> ApiResult<Profile> {
        let session = |id: &str, client: &str, hours, method, is_current| SessionInfo {
            id: id.into(),
            created_at: ago(hours + 6),
            seen_at: ago(hours),
            client: client.into(),
            address: "198.51.100.7".into(),
            method,
            is_current,
        };
        let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
        let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1";
        Ok(Profile {
            user: user("mira", "Mira Holt", "mira@alder.example"),
            has_password: true,
            recovery_codes: 9,
            sessions: vec![
                session("s1", firefox, 0, SignInMethod::Code, true),
                session("s2", phone, 7, SignInMethod::RecoveryCode, false),
            ],
            passkeys: vec![PasskeyInfo {
                id: "p1".into(),
                name: "Work laptop".into(),
                created_at: ago(700),
                last_used_at: Some(ago(5)),
            }],
            identities: vec![IdentityInfo { issuer: "https://old.example".into(), linked_at: ago(900) }],
            provider: Some(ProviderInfo {
                issuer: "https://login.alder.example".into(),
                label: "Alder ID".into(),
                sets_role: true,
            }),
        })
    }

    async fn change_password(&self, _: &Caller, _: &str, _: &str) -> ApiResult<()> {
        self.note("password".into());
        Ok(())
    }

    async fn begin_second_factor(&self, _: &Caller, _: Option<&str>) -> ApiResult<Enrolment> {
        Err(ApiError::invalid("Not in the sample."))
    }

    async fn enable_second_factor(&self, _: &Caller, _: &str, _: &str, _: &str) -> ApiResult<Vec<String>> {
        Err(ApiError::invalid("Not in the sample."))
    }

    async fn disable_second_factor(&self, _: &Caller, _: &str, _: &str) -> ApiResult<()> {
        Err(ApiError::invalid("Not in the sample."))
    }

    async fn begin_passkey(&self, _: &Caller, _: &str, _: &str) -> ApiResult<String> {
        Err(ApiError::invalid("Not in the sample."))
    }

    async fn finish_passkey(&self, _: &Caller, _: &str, _: &str, _: &str) -> ApiResult<PasskeyInfo> {
        Err(ApiError::invalid("Not in the sample."))
    }

    async fn remove_passkey(&self, _: &Caller, _: &str) -> ApiResult<()> {
        Err(ApiError::invalid("Not in the sample."))
    }

    async fn link_provider(&self, _: &Caller, _: &str, _: &str, _: &str) -> ApiResult<ProviderRedirect> {
        Err(ApiError::invalid("Not in the sample."))
    }

    async fn unlink_provider(&self, _: &Caller, _: &str, _: &str, _: &str) -> ApiResult<()> {
        Err(ApiError::invalid("Not in the sample."))
    }

    async fn end_sessions(&self, _: &Caller, _: Option<&str>) -> ApiResult<u64> {
        self.note(format!("end sessions of {}", caller().who));
        Ok(1)
    }
}
