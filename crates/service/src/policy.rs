//! Who may do what: one table of actions, one function that decides. Every method of [`Backend`](crate::Backend) and
//! [`AccountBackend`](crate::AccountBackend) is an action of the same name, and every implementation asks [`authorize`]
//! first.

use crate::{ApiError, ApiResult};
use model::ids::{Caller, Role};
use model::open_tools::OpenTool;

/// What a call does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Reads what is stored.
    Read,
    /// Changes what the organisation holds.
    Write,
    /// Concerns the caller's own account alone: people only, no API tokens.
    Own,
    /// Sends questions to servers of other parties, under the limits of look-ups; stores nothing.
    Query,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The method of the same name.
    pub name: &'static str,
    /// The least role that may.
    pub least: Role,
    /// What it does to the world.
    pub effect: Effect,
    /// What a person would say it does: completes "… can't".
    pub does: &'static str,
}

/// Everything a caller can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is documented at the method of the same name")]
pub enum Action {
    Session,
    List,
    Summary,
    Suggest,
    Add,
    PreviewAdd,
    Names,
    Holdings,
    Remove,
    Restore,
    Patch,
    Tag,
    Rescan,
    RescanMatching,
    Scans,
    Detail,
    Snapshots,
    Snapshot,
    Raw,
    Events,
    Acknowledge,
    AcknowledgeMatching,
    LookUp,
    Trace,
    Check,
    Authority,
    Compare,
    BrowserResolvers,
    Fqdn,
    Notifications,
    SaveChannel,
    RemoveChannel,
    TestChannel,
    SaveRule,
    RemoveRule,
    PreviewRule,
    Resend,
    DropFailed,
    SaveMaintenance,
    EndMaintenance,
    Feeds,
    CreateFeed,
    RevokeFeed,
    Health,
    Deliveries,
    LogHead,
    Changes,
    DomainObjects,
    DomainObject,
    CreateDomain,
    SetDomainMetadata,
    DeleteDomain,
    EventObjects,
    NetworkClaims,
    NetworkClaim,
    RefusedClaims,
    ClaimHeads,
    Registry,
    ListedBlocks,
    SaveBlock,
    RemoveBlock,
    SaveNetworkClaim,
    DeleteNetworkClaim,
    Addresses,
    AddressReview,
    PrefixSpace,
    Pointing,
    Configure,
    Services,
    AddService,
    RemoveService,
    CheckService,
    ConnectLink,
    Templates,
    SaveTemplate,
    RemoveTemplate,
    Claims,
    Claim,
    StartClaim,
    CheckClaim,
    WithdrawClaim,
    Members,
    SetRole,
    RemoveMember,
    Invitations,
    Invite,
    RevokeInvitation,
    Tokens,
    CreateToken,
    RevokeToken,
    Organisation,
    RenameOrganisation,
    SetChecks,
    AuditLog,
    Profile,
    ChangePassword,
    BeginSecondFactor,
    EnableSecondFactor,
    DisableSecondFactor,
    BeginPasskey,
    FinishPasskey,
    RemovePasskey,
    LinkProvider,
    UnlinkProvider,
    EndSessions,
    Features,
    SetFeature,
    CleanFeature,
    RegisterFeature,
    ReportFeature,
    DeleteFeature,
    ClusterClaims,
    SaveClusterClaim,
    DeleteClusterClaim,
    Fleet,
    InviteAgent,
    RevokeAgent,
    AskPlaces,
    AskWeb,
    AskThirdParties,
}

impl Action {
    /// All actions, in the order of the traits.
    pub const ALL: [Action; 120] = [
        Action::Session,
        Action::List,
        Action::Summary,
        Action::Suggest,
        Action::Add,
        Action::PreviewAdd,
        Action::Names,
        Action::Holdings,
        Action::Remove,
        Action::Restore,
        Action::Patch,
        Action::Tag,
        Action::Rescan,
        Action::RescanMatching,
        Action::Scans,
        Action::Detail,
        Action::Snapshots,
        Action::Snapshot,
        Action::Raw,
        Action::Events,
        Action::Acknowledge,
        Action::AcknowledgeMatching,
        Action::LookUp,
        Action::Trace,
        Action::Check,
        Action::Authority,
        Action::Compare,
        Action::BrowserResolvers,
        Action::Fqdn,
        Action::Notifications,
        Action::SaveChannel,
        Action::RemoveChannel,
        Action::TestChannel,
        Action::SaveRule,
        Action::RemoveRule,
        Action::PreviewRule,
        Action::Resend,
        Action::DropFailed,
        Action::SaveMaintenance,
        Action::EndMaintenance,
        Action::Feeds,
        Action::CreateFeed,
        Action::RevokeFeed,
        Action::Health,
        Action::Deliveries,
        Action::LogHead,
        Action::Changes,
        Action::DomainObjects,
        Action::DomainObject,
        Action::CreateDomain,
        Action::SetDomainMetadata,
        Action::DeleteDomain,
        Action::EventObjects,
        Action::NetworkClaims,
        Action::NetworkClaim,
        Action::RefusedClaims,
        Action::ClaimHeads,
        Action::Registry,
        Action::ListedBlocks,
        Action::SaveBlock,
        Action::RemoveBlock,
        Action::SaveNetworkClaim,
        Action::DeleteNetworkClaim,
        Action::Addresses,
        Action::AddressReview,
        Action::PrefixSpace,
        Action::Pointing,
        Action::Configure,
        Action::Services,
        Action::AddService,
        Action::RemoveService,
        Action::CheckService,
        Action::ConnectLink,
        Action::Templates,
        Action::SaveTemplate,
        Action::RemoveTemplate,
        Action::Claims,
        Action::Claim,
        Action::StartClaim,
        Action::CheckClaim,
        Action::WithdrawClaim,
        Action::Members,
        Action::SetRole,
        Action::RemoveMember,
        Action::Invitations,
        Action::Invite,
        Action::RevokeInvitation,
        Action::Tokens,
        Action::CreateToken,
        Action::RevokeToken,
        Action::Organisation,
        Action::RenameOrganisation,
        Action::SetChecks,
        Action::AuditLog,
        Action::Profile,
        Action::ChangePassword,
        Action::BeginSecondFactor,
        Action::EnableSecondFactor,
        Action::DisableSecondFactor,
        Action::BeginPasskey,
        Action::FinishPasskey,
        Action::RemovePasskey,
        Action::LinkProvider,
        Action::UnlinkProvider,
        Action::EndSessions,
        Action::Features,
        Action::SetFeature,
        Action::CleanFeature,
        Action::RegisterFeature,
        Action::ReportFeature,
        Action::DeleteFeature,
        Action::ClusterClaims,
        Action::SaveClusterClaim,
        Action::DeleteClusterClaim,
        Action::Fleet,
        Action::InviteAgent,
        Action::RevokeAgent,
        Action::AskPlaces,
        Action::AskWeb,
        Action::AskThirdParties,
    ];

    /// The row of an action: who may, and what it does.
    pub const fn rule(self) -> Rule {
        use Effect::{Own, Query, Read, Write};
        use Role::{Admin, Member, Viewer};
        let (name, least, effect, does) = match self {
            Action::Session => ("session", Viewer, Read, "see the session"),
            Action::List => ("list", Viewer, Read, "list domains"),
            Action::Summary => ("summary", Viewer, Read, "see totals"),
            Action::Suggest => ("suggest", Viewer, Read, "search domains"),
            Action::Add => ("add", Member, Write, "add domains"),
            Action::PreviewAdd => ("preview_add", Viewer, Read, "preview a list"),
            Action::Names => ("names", Viewer, Read, "list domains"),
            Action::Holdings => ("holdings", Viewer, Read, "export domains"),
            Action::Remove => ("remove", Member, Write, "remove domains"),
            Action::Restore => ("restore", Member, Write, "restore domains"),
            Action::Patch => ("patch", Member, Write, "change domains"),
            Action::Tag => ("tag", Member, Write, "tag domains"),
            Action::Rescan => ("rescan", Member, Write, "rescan domains"),
            Action::RescanMatching => ("rescan_matching", Member, Write, "rescan domains"),
            Action::Scans => ("scans", Viewer, Read, "see running scans"),
            Action::Detail => ("detail", Viewer, Read, "see a domain"),
            Action::Snapshots => ("snapshots", Viewer, Read, "see the history"),
            Action::Snapshot => ("snapshot", Viewer, Read, "see the history"),
            Action::Raw => ("raw", Viewer, Read, "see raw answers"),
            Action::Events => ("events", Viewer, Read, "see events"),
            Action::Acknowledge => ("acknowledge", Member, Write, "acknowledge events"),
            Action::AcknowledgeMatching => ("acknowledge_matching", Member, Write, "acknowledge events"),
            Action::LookUp => ("look_up", Member, Query, "scan domains"),
            Action::Trace => ("trace", Member, Query, "trace names"),
            Action::Check => ("check", Member, Query, "check zones"),
            Action::Authority => ("authority", Member, Query, "query name servers"),
            Action::Compare => ("compare", Member, Query, "compare resolvers"),
            Action::BrowserResolvers => ("browser_resolvers", Viewer, Read, "see public resolvers"),
            Action::Fqdn => ("fqdn", Member, Query, "analyze host names"),
            Action::Notifications => ("notifications", Viewer, Read, "see notification settings"),
            Action::SaveChannel => ("save_channel", Admin, Write, "change notification channels"),
            Action::RemoveChannel => ("remove_channel", Admin, Write, "remove notification channels"),
            Action::TestChannel => ("test_channel", Admin, Write, "test notification channels"),
            Action::SaveRule => ("save_rule", Admin, Write, "change notification rules"),
            Action::RemoveRule => ("remove_rule", Admin, Write, "remove notification rules"),
            Action::PreviewRule => ("preview_rule", Viewer, Read, "preview notification rules"),
            Action::Resend => ("resend", Member, Write, "send messages again"),
            Action::DropFailed => ("drop_failed", Member, Write, "drop failed messages"),
            Action::SaveMaintenance => ("save_maintenance", Member, Write, "plan maintenance"),
            Action::EndMaintenance => ("end_maintenance", Member, Write, "end maintenance"),
            Action::Feeds => ("feeds", Admin, Read, "see feeds"),
            Action::CreateFeed => ("create_feed", Admin, Write, "create feeds"),
            Action::RevokeFeed => ("revoke_feed", Admin, Write, "revoke feeds"),
            Action::Health => ("health", Viewer, Read, "see the state of the installation"),
            Action::Deliveries => ("deliveries", Viewer, Read, "see deliveries"),
            Action::LogHead => ("log_head", Viewer, Read, "read the change log"),
            Action::Changes => ("changes", Viewer, Read, "read the change log"),
            Action::DomainObjects => ("domain_objects", Viewer, Read, "list domains"),
            Action::DomainObject => ("domain_object", Viewer, Read, "see a domain"),
            Action::CreateDomain => ("create_domain", Member, Write, "add domains"),
            Action::SetDomainMetadata => ("set_domain_metadata", Member, Write, "change domains"),
            Action::DeleteDomain => ("delete_domain", Member, Write, "remove domains"),
            Action::EventObjects => ("event_objects", Viewer, Read, "see events"),
            Action::NetworkClaims => ("network_claims", Viewer, Read, "list claims of address space"),
            Action::NetworkClaim => ("network_claim", Viewer, Read, "see a claim of address space"),
            Action::RefusedClaims => ("refused_claims", Viewer, Read, "list claims of address space"),
            Action::ClaimHeads => ("claim_heads", Viewer, Read, "list claims of address space"),
            Action::Registry => ("registry", Viewer, Read, "see claims of address space"),
            Action::ListedBlocks => ("listed_blocks", Viewer, Read, "see blocks of address space"),
            Action::SaveBlock => ("save_block", Member, Write, "list blocks of address space"),
            Action::RemoveBlock => ("remove_block", Member, Write, "remove blocks of address space"),
            Action::SaveNetworkClaim => ("save_network_claim", Member, Write, "claim address space"),
            Action::DeleteNetworkClaim => ("delete_network_claim", Member, Write, "release address space"),
            Action::Addresses => ("addresses", Viewer, Read, "see claims of address space"),
            Action::AddressReview => ("address_review", Viewer, Read, "see claims of address space"),
            Action::PrefixSpace => ("prefix_space", Viewer, Read, "see claims of address space"),
            Action::Pointing => ("pointing", Viewer, Read, "see which names point into a prefix"),
            Action::Configure => ("configure", Member, Query, "check services"),
            Action::Services => ("services", Viewer, Read, "see services"),
            Action::AddService => ("add_service", Member, Write, "add services"),
            Action::RemoveService => ("remove_service", Member, Write, "remove services"),
            Action::CheckService => ("check_service", Member, Query, "check services"),
            Action::ConnectLink => ("connect_link", Member, Write, "make customer links"),
            Action::Templates => ("templates", Viewer, Read, "see templates"),
            Action::SaveTemplate => ("save_template", Member, Write, "save templates"),
            Action::RemoveTemplate => ("remove_template", Member, Write, "remove templates"),
            Action::Claims => ("claims", Viewer, Read, "see ownership claims"),
            Action::Claim => ("claim", Viewer, Read, "see ownership claims"),
            Action::StartClaim => ("start_claim", Member, Write, "claim domains"),
            Action::CheckClaim => ("check_claim", Member, Write, "check ownership claims"),
            Action::WithdrawClaim => ("withdraw_claim", Member, Write, "withdraw ownership claims"),
            Action::Members => ("members", Viewer, Read, "see members"),
            Action::SetRole => ("set_role", Admin, Write, "change roles"),
            Action::RemoveMember => ("remove_member", Admin, Write, "remove members"),
            Action::Invitations => ("invitations", Admin, Read, "see invitations"),
            Action::Invite => ("invite", Admin, Write, "invite members"),
            Action::RevokeInvitation => ("revoke_invitation", Admin, Write, "revoke invitations"),
            Action::Tokens => ("tokens", Admin, Read, "see API tokens"),
            Action::CreateToken => ("create_token", Admin, Write, "create API tokens"),
            Action::RevokeToken => ("revoke_token", Admin, Write, "revoke API tokens"),
            Action::Organisation => ("organisation", Viewer, Read, "see the organisation"),
            Action::RenameOrganisation => ("rename_organisation", Admin, Write, "rename the organisation"),
            Action::SetChecks => ("set_checks", Admin, Write, "change the schedule of checks"),
            Action::AuditLog => ("audit_log", Admin, Read, "see the audit log"),
            Action::Profile => ("profile", Viewer, Own, "see an account"),
            Action::ChangePassword => ("change_password", Viewer, Own, "change a password"),
            Action::BeginSecondFactor => ("begin_second_factor", Viewer, Own, "set up two-factor sign-in"),
            Action::EnableSecondFactor => ("enable_second_factor", Viewer, Own, "turn two-factor sign-in on"),
            Action::DisableSecondFactor => {
                ("disable_second_factor", Viewer, Own, "turn two-factor sign-in off")
            }
            Action::BeginPasskey => ("begin_passkey", Viewer, Own, "add passkeys"),
            Action::FinishPasskey => ("finish_passkey", Viewer, Own, "add passkeys"),
            Action::RemovePasskey => ("remove_passkey", Viewer, Own, "remove passkeys"),
            Action::LinkProvider => ("link_provider", Viewer, Own, "link single sign-on"),
            Action::UnlinkProvider => ("unlink_provider", Viewer, Own, "unlink single sign-on"),
            Action::EndSessions => ("end_sessions", Viewer, Own, "end sessions"),
            Action::Features => ("features", Viewer, Read, "see features"),
            Action::SetFeature => ("set_feature", Admin, Write, "turn features on and off"),
            Action::CleanFeature => ("clean_feature", Admin, Write, "delete leftovers of features"),
            Action::RegisterFeature => ("register_feature", Admin, Write, "register features"),
            Action::ReportFeature => ("report_feature", Member, Write, "report uses of features"),
            Action::DeleteFeature => ("delete_feature", Admin, Write, "delete features"),
            Action::ClusterClaims => ("cluster_claims", Viewer, Read, "see the identity of the installation"),
            Action::SaveClusterClaim => ("save_cluster_claim", Admin, Write, "change cluster claims"),
            Action::DeleteClusterClaim => ("delete_cluster_claim", Admin, Write, "delete cluster claims"),
            Action::Fleet => ("fleet", Viewer, Read, "see the fleet"),
            Action::InviteAgent => ("invite_agent", Admin, Write, "add points of presence"),
            Action::RevokeAgent => ("revoke_agent", Admin, Write, "revoke points of presence"),
            Action::AskPlaces => ("ask_places", Member, Query, "look from points of presence"),
            Action::AskWeb => ("ask_web", Member, Query, "ask web servers from points of presence"),
            Action::AskThirdParties => ("ask_third_parties", Member, Query, "look from measurement networks"),
        };
        Rule { name, least, effect, does }
    }

    /// The tools with which an action is open to visitors, when the operator opened one of them.
    pub const fn open_with(self) -> &'static [OpenTool] {
        use OpenTool::{Check, Compare, Fqdn, Scan, Trace};
        match self {
            Action::LookUp => &[Scan],
            Action::Check => &[Check],
            Action::Fqdn => &[Fqdn],
            Action::Authority | Action::Compare => &[Compare],
            Action::BrowserResolvers => &[Fqdn, Compare],
            Action::Trace => &[Trace],
            _ => &[],
        }
    }
}

/// Allows an action to a caller, or refuses it.
///
/// # Errors
/// [`Forbidden`](crate::ErrorKind::Forbidden) when the caller's role is too low (the detail names the role that may), or
/// the caller is no person; [`SignInRequired`](crate::ErrorKind::SignInRequired) when the caller is a visitor and the
/// action belongs to no open tool.
pub fn authorize(caller: &Caller, action: Action) -> ApiResult<()> {
    let rule = action.rule();
    if let Some(open) = caller.visitor {
        if action.open_with().iter().any(|tool| open.contains(*tool)) {
            return Ok(());
        }
        return Err(ApiError::sign_in_required(format!("Sign in to {}.", rule.does)));
    }
    if rule.effect == Effect::Own && caller.user.is_none() {
        let words = format!("An API token can't {}: sign in as a person.", rule.does);
        return Err(ApiError::forbidden(words));
    }
    if caller.role >= rule.least {
        return Ok(());
    }
    let (has, needs) = (caller.role.as_str(), rule.least.as_str());
    Err(ApiError::forbidden(format!("The {has} role can't {}: the {needs} role is required.", rule.does)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::OrgId;
    use std::collections::BTreeSet;

    /// Names of the methods of the trait, from its source.
    fn methods() -> Vec<&'static str> {
        let source = concat!(
            include_str!("backend.rs"),
            include_str!("resources.rs"),
            include_str!("account.rs"),
            include_str!("alerts.rs"),
            include_str!("features.rs"),
            include_str!("fleet.rs")
        );
        source
            .split("async fn ")
            .skip(1)
            .filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next())
            .collect()
    }

    #[test]
    fn every_method_of_the_trait_is_an_action() {
        let actions: BTreeSet<_> = Action::ALL.iter().map(|a| a.rule().name).collect();
        assert_eq!(actions, methods().into_iter().collect());
        assert_eq!(actions.len(), Action::ALL.len());
    }

    #[test]
    fn what_changes_or_queries_needs_a_member_and_the_refusal_says_so() {
        let user = Some(model::ids::UserId("ada".into()));
        let caller = |role| Caller { user: user.clone(), ..Caller::new(OrgId::BUILT_IN, "a", role) };
        for action in Action::ALL {
            let rule = action.rule();
            if matches!(rule.effect, Effect::Write | Effect::Query) {
                assert!(rule.least >= Role::Member, "{}", rule.name);
            }
            for role in Role::ALL {
                let allowed = authorize(&caller(role), action);
                assert_eq!(allowed.is_ok(), role >= rule.least, "{} as {}", rule.name, role.as_str());
                if let Err(e) = allowed {
                    assert_eq!(e.status(), 403);
                    assert!(
                        e.detail.contains(role.as_str()) && e.detail.contains(rule.least.as_str()),
                        "{e}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_visitor_may_use_open_tools_and_nothing_else() {
        for tool in OpenTool::ALL {
            let visitor = Caller::visitor([tool].into_iter().collect(), "192.0.2.0/24");
            // Whatever else a caller claims to be, it stays a visitor.
            let claims =
                Caller { role: Role::Owner, user: Some(model::ids::UserId("ada".into())), ..visitor };
            for action in Action::ALL {
                let allowed = authorize(&claims, action);
                assert_eq!(allowed.is_ok(), action.open_with().contains(&tool), "{}", action.rule().name);
                assert!(allowed.err().is_none_or(|e| e.status() == 401));
            }
        }
        let closed = Caller::visitor(model::open_tools::ToolSet::default(), "");
        assert!(Action::ALL.iter().all(|a| authorize(&closed, *a).is_err()));
        // Nothing that writes or reads what is stored can be opened, but the public table of resolvers.
        for action in Action::ALL.into_iter().filter(|a| !a.open_with().is_empty()) {
            assert!(action.rule().effect == Effect::Query || action == Action::BrowserResolvers);
        }
    }

    #[test]
    fn a_token_has_no_account_of_its_own() {
        let token = Caller::new(OrgId::BUILT_IN, "token CI", Role::Owner);
        for action in Action::ALL {
            assert_eq!(authorize(&token, action).is_err(), action.rule().effect == Effect::Own);
        }
    }
}
