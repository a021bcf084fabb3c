//! The table of actions: one row for each method of the backend traits, in their order.

use super::Effect::{Own, Query, Read, Write};
use super::Rule;
use model::ids::Role::{Admin, Member, Viewer};
use model::open_tools::OpenTool;

/// Defines [`Action`], the list of all, and the rule of each from one row, so that none of the three misses one.
macro_rules! actions {
    ($($action:ident => ($name:literal, $least:ident, $effect:ident, $does:literal),)+) => {
        /// Everything a caller can do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each is documented at the method of the same name")]
        pub enum Action {
            $($action,)+
        }

        impl Action {
            /// All actions, in the order of the traits.
            pub const ALL: [Action; [$(Action::$action),+].len()] = [$(Action::$action),+];

            /// The row of an action: who may, and what it does.
            pub const fn rule(self) -> Rule {
                match self {
                    $(Action::$action => Rule { name: $name, least: $least, effect: $effect, does: $does },)+
                }
            }
        }
    };
}

actions! {
    Session => ("session", Viewer, Read, "see the session"),
    List => ("list", Viewer, Read, "list domains"),
    Summary => ("summary", Viewer, Read, "see totals"),
    Suggest => ("suggest", Viewer, Read, "search domains"),
    Add => ("add", Member, Write, "add domains"),
    PreviewAdd => ("preview_add", Viewer, Read, "preview a list"),
    Names => ("names", Viewer, Read, "list domains"),
    Holdings => ("holdings", Viewer, Read, "export domains"),
    Remove => ("remove", Member, Write, "remove domains"),
    Restore => ("restore", Member, Write, "restore domains"),
    Patch => ("patch", Member, Write, "change domains"),
    Tag => ("tag", Member, Write, "tag domains"),
    Rescan => ("rescan", Member, Write, "rescan domains"),
    RescanMatching => ("rescan_matching", Member, Write, "rescan domains"),
    Scans => ("scans", Viewer, Read, "see running scans"),
    Detail => ("detail", Viewer, Read, "see a domain"),
    Snapshots => ("snapshots", Viewer, Read, "see the history"),
    Snapshot => ("snapshot", Viewer, Read, "see the history"),
    Raw => ("raw", Viewer, Read, "see raw answers"),
    Events => ("events", Viewer, Read, "see events"),
    Acknowledge => ("acknowledge", Member, Write, "acknowledge events"),
    AcknowledgeMatching => ("acknowledge_matching", Member, Write, "acknowledge events"),
    LookUp => ("look_up", Member, Query, "scan domains"),
    Trace => ("trace", Member, Query, "trace names"),
    Check => ("check", Member, Query, "check zones"),
    Authority => ("authority", Member, Query, "query name servers"),
    Compare => ("compare", Member, Query, "compare resolvers"),
    BrowserResolvers => ("browser_resolvers", Viewer, Read, "see public resolvers"),
    Fqdn => ("fqdn", Member, Query, "analyze host names"),
    Notifications => ("notifications", Viewer, Read, "see notification settings"),
    SaveChannel => ("save_channel", Admin, Write, "change notification channels"),
    RemoveChannel => ("remove_channel", Admin, Write, "remove notification channels"),
    TestChannel => ("test_channel", Admin, Write, "test notification channels"),
    SaveRule => ("save_rule", Admin, Write, "change notification rules"),
    RemoveRule => ("remove_rule", Admin, Write, "remove notification rules"),
    PreviewRule => ("preview_rule", Viewer, Read, "preview notification rules"),
    Resend => ("resend", Member, Write, "send messages again"),
    DropFailed => ("drop_failed", Member, Write, "drop failed messages"),
    SaveMaintenance => ("save_maintenance", Member, Write, "plan maintenance"),
    EndMaintenance => ("end_maintenance", Member, Write, "end maintenance"),
    Feeds => ("feeds", Admin, Read, "see feeds"),
    CreateFeed => ("create_feed", Admin, Write, "create feeds"),
    RevokeFeed => ("revoke_feed", Admin, Write, "revoke feeds"),
    Health => ("health", Viewer, Read, "see the state of the installation"),
    Deliveries => ("deliveries", Viewer, Read, "see deliveries"),
    LogHead => ("log_head", Viewer, Read, "read the change log"),
    Changes => ("changes", Viewer, Read, "read the change log"),
    DomainObjects => ("domain_objects", Viewer, Read, "list domains"),
    DomainObject => ("domain_object", Viewer, Read, "see a domain"),
    CreateDomain => ("create_domain", Member, Write, "add domains"),
    SetDomainMetadata => ("set_domain_metadata", Member, Write, "change domains"),
    DeleteDomain => ("delete_domain", Member, Write, "remove domains"),
    EventObjects => ("event_objects", Viewer, Read, "see events"),
    NetworkClaims => ("network_claims", Viewer, Read, "list claims of address space"),
    NetworkClaim => ("network_claim", Viewer, Read, "see a claim of address space"),
    RefusedClaims => ("refused_claims", Viewer, Read, "list claims of address space"),
    ClaimHeads => ("claim_heads", Viewer, Read, "list claims of address space"),
    Registry => ("registry", Viewer, Read, "see claims of address space"),
    ListedBlocks => ("listed_blocks", Viewer, Read, "see blocks of address space"),
    SaveBlock => ("save_block", Member, Write, "list blocks of address space"),
    RemoveBlock => ("remove_block", Member, Write, "remove blocks of address space"),
    SaveNetworkClaim => ("save_network_claim", Member, Write, "claim address space"),
    DeleteNetworkClaim => ("delete_network_claim", Member, Write, "release address space"),
    Addresses => ("addresses", Viewer, Read, "see claims of address space"),
    AddressReview => ("address_review", Viewer, Read, "see claims of address space"),
    PrefixSpace => ("prefix_space", Viewer, Read, "see claims of address space"),
    Pointing => ("pointing", Viewer, Read, "see which names point into a prefix"),
    Configure => ("configure", Member, Query, "check services"),
    Services => ("services", Viewer, Read, "see services"),
    AddService => ("add_service", Member, Write, "add services"),
    RemoveService => ("remove_service", Member, Write, "remove services"),
    CheckService => ("check_service", Member, Query, "check services"),
    ConnectLink => ("connect_link", Member, Write, "make customer links"),
    Templates => ("templates", Viewer, Read, "see templates"),
    SaveTemplate => ("save_template", Member, Write, "save templates"),
    RemoveTemplate => ("remove_template", Member, Write, "remove templates"),
    Claims => ("claims", Viewer, Read, "see ownership claims"),
    Claim => ("claim", Viewer, Read, "see ownership claims"),
    StartClaim => ("start_claim", Member, Write, "claim domains"),
    CheckClaim => ("check_claim", Member, Write, "check ownership claims"),
    WithdrawClaim => ("withdraw_claim", Member, Write, "withdraw ownership claims"),
    Members => ("members", Viewer, Read, "see members"),
    SetRole => ("set_role", Admin, Write, "change roles"),
    RemoveMember => ("remove_member", Admin, Write, "remove members"),
    Invitations => ("invitations", Admin, Read, "see invitations"),
    Invite => ("invite", Admin, Write, "invite members"),
    RevokeInvitation => ("revoke_invitation", Admin, Write, "revoke invitations"),
    Tokens => ("tokens", Admin, Read, "see API tokens"),
    CreateToken => ("create_token", Admin, Write, "create API tokens"),
    RevokeToken => ("revoke_token", Admin, Write, "revoke API tokens"),
    Organisation => ("organisation", Viewer, Read, "see the organisation"),
    RenameOrganisation => ("rename_organisation", Admin, Write, "rename the organisation"),
    SetChecks => ("set_checks", Admin, Write, "change the schedule of checks"),
    AuditLog => ("audit_log", Admin, Read, "see the audit log"),
    Profile => ("profile", Viewer, Own, "see an account"),
    ChangePassword => ("change_password", Viewer, Own, "change a password"),
    BeginSecondFactor => ("begin_second_factor", Viewer, Own, "set up two-factor sign-in"),
    EnableSecondFactor => ("enable_second_factor", Viewer, Own, "turn two-factor sign-in on"),
    DisableSecondFactor => ("disable_second_factor", Viewer, Own, "turn two-factor sign-in off"),
    BeginPasskey => ("begin_passkey", Viewer, Own, "add passkeys"),
    FinishPasskey => ("finish_passkey", Viewer, Own, "add passkeys"),
    RemovePasskey => ("remove_passkey", Viewer, Own, "remove passkeys"),
    LinkProvider => ("link_provider", Viewer, Own, "link single sign-on"),
    UnlinkProvider => ("unlink_provider", Viewer, Own, "unlink single sign-on"),
    EndSessions => ("end_sessions", Viewer, Own, "end sessions"),
    Features => ("features", Viewer, Read, "see features"),
    Feature => ("feature", Viewer, Read, "see a feature"),
    SetFeature => ("set_feature", Admin, Write, "turn features on and off"),
    CleanFeature => ("clean_feature", Admin, Write, "delete leftovers of features"),
    RegisterFeature => ("register_feature", Admin, Write, "register features"),
    ReportFeature => ("report_feature", Member, Write, "report uses of features"),
    DeleteFeature => ("delete_feature", Admin, Write, "delete features"),
    ClusterClaims => ("cluster_claims", Viewer, Read, "see the identity of the installation"),
    SaveClusterClaim => ("save_cluster_claim", Admin, Write, "change cluster claims"),
    DeleteClusterClaim => ("delete_cluster_claim", Admin, Write, "delete cluster claims"),
    Fleet => ("fleet", Viewer, Read, "see the fleet"),
    InviteAgent => ("invite_agent", Admin, Write, "add points of presence"),
    RevokeAgent => ("revoke_agent", Admin, Write, "revoke points of presence"),
    AskPlaces => ("ask_places", Member, Query, "look from points of presence"),
    AskWeb => ("ask_web", Member, Query, "ask web servers from points of presence"),
    AskThirdParties => ("ask_third_parties", Member, Query, "look from measurement networks"),
}

impl Action {
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
