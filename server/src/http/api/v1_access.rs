//! Wire types of version 1 about access: members, invitations, tokens, the audit log. The rules of [`super::v1`] hold.

use super::v1::{present, words};
use model::Timestamp;
use model::account::{AuditEntry, Invitation, Member, TokenInfo, TokenScope};
use model::ids::Role;
use serde::{Deserialize, Serialize};
use service::{NewInvitation, NewToken, Organisation, TokenRequest, Usage};
use utoipa::{IntoParams, ToSchema};

/// A member of the organisation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Member)]
pub struct MemberV1 {
    /// Identifier of the account.
    pub id: String,
    email: String,
    name: String,
    #[schema(schema_with = words::role)]
    role: &'static str,
    since: Timestamp,
    last_seen_at: Option<Timestamp>,
    has_second_factor: bool,
}

impl From<Member> for MemberV1 {
    fn from(m: Member) -> Self {
        MemberV1 {
            id: m.user.id.0,
            email: m.user.email,
            name: m.user.name,
            role: m.role.as_str(),
            since: m.since,
            last_seen_at: m.last_seen_at,
            has_second_factor: m.user.has_second_factor,
        }
    }
}

/// A new role of a member.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleRequest {
    /// `viewer`, `member`, `admin` or `owner`.
    #[schema(schema_with = words::role)]
    pub role: Role,
}

/// A person to invite.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InviteRequest {
    /// E-mail address.
    pub email: String,
    /// `viewer`, `member`, `admin` or `owner`.
    #[schema(schema_with = words::role)]
    pub role: Role,
}

/// An invitation that was not accepted yet.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Invitation)]
pub struct InvitationV1 {
    /// Identifier for revoking.
    pub id: String,
    email: String,
    #[schema(schema_with = words::role)]
    role: &'static str,
    invited_by: String,
    expires_at: Timestamp,
}

impl From<Invitation> for InvitationV1 {
    fn from(i: Invitation) -> Self {
        InvitationV1 {
            id: i.id,
            email: i.email,
            role: i.role.as_str(),
            invited_by: i.invited_by,
            expires_at: i.expires_at,
        }
    }
}

/// An invitation that was just made, with its link.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NewInvitation)]
pub struct NewInvitationV1 {
    #[serde(flatten)]
    invitation: InvitationV1,
    /// Path and query of the link; shown once, `null` when an `Idempotency-Key` is repeated.
    path: Option<String>,
}

impl From<NewInvitation> for NewInvitationV1 {
    fn from(n: NewInvitation) -> Self {
        NewInvitationV1 { invitation: n.invitation.into(), path: Some(n.path) }
    }
}

/// A token to create.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = TokenRequest)]
#[serde(deny_unknown_fields)]
pub struct TokenRequestV1 {
    /// What uses it.
    pub name: String,
    /// `read`, `write` or `admin`.
    #[schema(schema_with = words::scope)]
    pub scope: TokenScope,
    /// Days until it ends, 1 to 366.
    #[serde(default = "default_days")]
    #[schema(minimum = 1, maximum = 366)]
    pub days: u32,
}

fn default_days() -> u32 {
    TokenRequest::DEFAULT_DAYS
}

impl From<TokenRequestV1> for TokenRequest {
    fn from(t: TokenRequestV1) -> Self {
        TokenRequest { name: t.name, scope: t.scope, days: t.days }
    }
}

/// An API token.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Token)]
pub struct TokenV1 {
    /// Identifier for revoking.
    pub id: String,
    name: String,
    /// Its first characters.
    hint: String,
    #[schema(schema_with = words::scope)]
    scope: &'static str,
    created_by: String,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    last_used_at: Option<Timestamp>,
}

impl From<TokenInfo> for TokenV1 {
    fn from(t: TokenInfo) -> Self {
        TokenV1 {
            id: t.id,
            name: t.name,
            hint: t.hint,
            scope: t.scope.as_str(),
            created_by: t.created_by,
            created_at: t.created_at,
            expires_at: t.expires_at,
            last_used_at: t.last_used_at,
        }
    }
}

/// A token that was just made, with its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NewToken)]
pub struct NewTokenV1 {
    #[serde(flatten)]
    token: TokenV1,
    /// Shown once; `null` when an `Idempotency-Key` is repeated.
    secret: Option<String>,
}

impl From<NewToken> for NewTokenV1 {
    fn from(n: NewToken) -> Self {
        NewTokenV1 { token: n.token.into(), secret: Some(n.secret) }
    }
}

/// An entry of the audit log.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditEntry)]
pub struct AuditEntryV1 {
    id: i64,
    at: Timestamp,
    who: String,
    email: Option<String>,
    address: String,
    action: String,
    object: String,
    old: Option<String>,
    new: Option<String>,
}

impl From<AuditEntry> for AuditEntryV1 {
    fn from(e: AuditEntry) -> Self {
        AuditEntryV1 {
            id: e.id,
            at: e.at,
            who: e.who,
            email: e.email,
            address: e.address,
            action: e.action,
            object: e.object,
            old: e.old,
            new: e.new,
        }
    }
}

/// The organisation and its quotas.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Organisation)]
pub struct OrganisationV1 {
    key: String,
    name: String,
    domains: UsageV1,
    members: UsageV1,
    tokens: UsageV1,
    /// Ownership claims that wait for a proof.
    claims: UsageV1,
    /// Seconds between two scheduled scans of its domains; `null` where the server's count.
    scan_interval: Option<i64>,
    /// Days before an expiration at which reminders come; `null` where the server's count.
    expiry_days: Option<Vec<i64>>,
}

/// How much of a quota is used.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Usage)]
pub struct UsageV1 {
    used: u64,
    limit: u64,
}

impl From<Usage> for UsageV1 {
    fn from(u: Usage) -> Self {
        UsageV1 { used: u.used, limit: u.limit }
    }
}

impl From<Organisation> for OrganisationV1 {
    fn from(o: Organisation) -> Self {
        OrganisationV1 {
            key: o.key,
            name: o.name,
            domains: o.domains.into(),
            members: o.members.into(),
            tokens: o.tokens.into(),
            claims: o.claims.into(),
            scan_interval: o.checks.interval_s,
            expiry_days: o.checks.expiry_days,
        }
    }
}

/// Changes to the organisation. A field that is absent stays; one that is `null` is cleared.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RenameRequest {
    /// At most 100 characters.
    #[schema(value_type = Option<String>)]
    pub name: Option<String>,
    /// Seconds between two scheduled scans of its domains, from 300 to 604800; `null` follows the server.
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<i64>, minimum = 300, maximum = 604_800)]
    pub scan_interval: Option<Option<i64>>,
    /// Days before an expiration at which reminders come; `null` follows the server.
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<Vec<i64>>)]
    pub expiry_days: Option<Option<Vec<i64>>>,
}

/// A part of a list, and where the next part begins.
#[derive(Debug, Serialize, ToSchema)]
pub struct Part<T> {
    /// The things.
    pub items: Vec<T>,
    /// Cursor of the next part; `null` on the last.
    pub next: Option<String>,
}

/// Filters of the audit log.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the query, which `app::audit_query` reads")]
pub struct AuditParameters {
    /// Part of a person, address, action or value.
    q: Option<String>,
    /// Kind of object, such as `token` or `domain`.
    about: Option<String>,
    /// First day (UTC), as 2027-03-01.
    #[param(value_type = Option<String>, format = Date)]
    from: Option<jiff::civil::Date>,
    /// Last day (UTC).
    #[param(value_type = Option<String>, format = Date)]
    to: Option<jiff::civil::Date>,
}
