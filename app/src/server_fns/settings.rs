//! Server functions of the settings pages. They only read: what changes something is a form that is sent to the page's
//! own address, so that what is shown once (a link, a token) is in the answer and in no address.

#[cfg(feature = "ssr")]
use super::context;
use leptos::prelude::*;
use model::Timestamp;
use model::account::{AuditPage, Invitation, Member, TokenInfo};
use model::ids::Caller;
use serde::{Deserialize, Serialize};
use service::json::Json;
use service::{
    AgentToken, ApiError, Enrolment, FeaturesReport, FleetReport, NewToken, Organisation, Profile,
};

/// What became of a form that was sent to a settings page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FormOutcome {
    /// Which form of the page.
    pub form: String,
    /// The fields as typed, without secrets, to fill the form again.
    pub values: Vec<(String, String)>,
    /// What came of it.
    pub result: FormResult,
}

/// The answer to a form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FormResult {
    /// It was refused.
    Refused(ApiError),
    /// An invitation was made; its link is shown once.
    Invitation {
        /// Whom it invites.
        email: String,
        /// The whole address.
        url: String,
    },
    /// A token was made; its secret is shown once.
    Token(NewToken),
    /// A token to join with was made; it is shown once.
    AgentToken {
        /// The token.
        token: AgentToken,
        /// Address of the server.
        site: String,
    },
    /// A feed was made; its address is shown once.
    Feed {
        /// Its name.
        name: String,
        /// The whole address.
        url: String,
    },
    /// A secret for an authenticator app, to be confirmed; with why the last attempt failed.
    Enrolment(Enrolment, Option<ApiError>),
    /// Who asked is confirmed: the sign-in provider's address, where the account to link is chosen. A link and no
    /// redirection, because the content security policy lets no form lead to another site.
    Provider {
        /// The whole address.
        url: String,
    },
    /// Two-factor sign-in is on; the recovery codes are shown once.
    RecoveryCodes(Vec<String>),
}

impl FormOutcome {
    /// What was typed into a field.
    pub fn value(&self, field: &str) -> String {
        let found = self.values.iter().find(|(name, _)| name == field);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    }
}

/// A settings page: what it shows, who looks, and the outcome of the form that led to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingsPage<T> {
    /// What it shows.
    pub data: T,
    /// Who looks.
    pub caller: Caller,
    /// What became of a form.
    pub outcome: Option<FormOutcome>,
    /// The server's clock.
    pub now: Timestamp,
}

/// Members and open invitations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MembersData {
    /// Members, by name.
    pub members: Vec<Member>,
    /// Invitations; empty for those who may not see them.
    pub invitations: Vec<Invitation>,
    /// The organisation.
    pub organisation: Organisation,
}

/// API tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TokensData {
    /// Newest first.
    pub tokens: Vec<TokenInfo>,
    /// The organisation, whose quota counts them.
    pub organisation: Organisation,
}

#[cfg(feature = "ssr")]
fn page<T>(data: T, caller: Caller) -> SettingsPage<T> {
    SettingsPage { data, caller, outcome: use_context::<FormOutcome>(), now: context::now() }
}

/// Members and open invitations.
#[server(name = ReadMembers, prefix = "/api/fn", endpoint = "settings_members", output = Json)]
pub async fn settings_members() -> Result<SettingsPage<MembersData>, ApiError> {
    let (backend, caller) = context::backend()?;
    let members = backend.members(&caller).await?;
    let may_manage = service::policy::authorize(&caller, service::policy::Action::Invitations).is_ok();
    let invitations = if may_manage { backend.invitations(&caller).await? } else { Vec::new() };
    let organisation = backend.organisation(&caller).await?;
    Ok(page(MembersData { members, invitations, organisation }, caller))
}

/// API tokens.
#[server(name = ReadTokens, prefix = "/api/fn", endpoint = "settings_tokens", output = Json)]
pub async fn settings_tokens() -> Result<SettingsPage<TokensData>, ApiError> {
    let (backend, caller) = context::backend()?;
    let tokens = backend.tokens(&caller).await?;
    let organisation = backend.organisation(&caller).await?;
    Ok(page(TokensData { tokens, organisation }, caller))
}

/// The organisation.
#[server(name = ReadOrganisation, prefix = "/api/fn", endpoint = "settings_organisation", output = Json)]
pub async fn settings_organisation() -> Result<SettingsPage<Organisation>, ApiError> {
    let (backend, caller) = context::backend()?;
    let organisation = backend.organisation(&caller).await?;
    Ok(page(organisation, caller))
}

/// Features of the installation.
#[server(name = ReadFeatures, prefix = "/api/fn", endpoint = "settings_features", output = Json)]
pub async fn settings_features() -> Result<SettingsPage<FeaturesReport>, ApiError> {
    let (backend, caller) = context::backend()?;
    let report = backend.features(&caller).await?;
    Ok(page(report, caller))
}

/// The fleet.
#[server(name = ReadFleet, prefix = "/api/fn", endpoint = "fleet", output = Json)]
pub async fn fleet() -> Result<SettingsPage<FleetReport>, ApiError> {
    let (backend, caller) = context::backend()?;
    let report = backend.fleet(&caller).await?;
    Ok(page(report, caller))
}

/// The caller's own account.
#[server(name = ReadAccount, prefix = "/api/fn", endpoint = "settings_account", output = Json)]
pub async fn settings_account() -> Result<SettingsPage<Profile>, ApiError> {
    let (backend, caller) = context::backend()?;
    let profile = backend.profile(&caller).await?;
    Ok(page(profile, caller))
}

/// A page of the audit log; `query` is that of the address.
#[server(name = ReadAudit, prefix = "/api/fn", endpoint = "settings_audit", output = Json)]
pub async fn settings_audit(query: String) -> Result<SettingsPage<AuditPage>, ApiError> {
    let (backend, caller) = context::backend()?;
    let entries = backend.audit_log(&caller, &crate::query::audit_query(&query)?).await?;
    Ok(page(entries, caller))
}
