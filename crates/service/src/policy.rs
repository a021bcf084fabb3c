//! Who may do what: one table of actions, one function that decides. Every method of [`Backend`](crate::Backend) is an
//! action of the same name, and every implementation asks [`authorize`] first. Until accounts exist there is one
//! operator, who owns the built-in organisation; roles are checked all the same.

use crate::{ApiError, ApiResult};
use model::ids::{Caller, Role};

/// What a call does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Reads what is stored.
    Read,
    /// Changes what the organisation holds.
    Write,
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
    Deliveries,
}

impl Action {
    /// All actions, in the order of the trait.
    pub const ALL: [Action; 37] = [
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
        Action::Deliveries,
    ];

    /// The row of an action: who may, and what it does.
    pub const fn rule(self) -> Rule {
        use Effect::{Query, Read, Write};
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
            Action::Deliveries => ("deliveries", Viewer, Read, "see deliveries"),
        };
        Rule { name, least, effect, does }
    }
}

/// Allows an action to a caller, or refuses it.
///
/// # Errors
/// [`Forbidden`](crate::ErrorKind::Forbidden) when the caller's role is too low; the detail names the role that may.
pub fn authorize(caller: &Caller, action: Action) -> ApiResult<()> {
    let rule = action.rule();
    if caller.role >= rule.least {
        return Ok(());
    }
    let (has, needs) = (role_name(caller.role), role_name(rule.least));
    Err(ApiError::forbidden(format!("The {has} role can't {}: the {needs} role is required.", rule.does)))
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Viewer => "viewer",
        Role::Member => "member",
        Role::Admin => "admin",
        Role::Owner => "owner",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::OrgId;

    /// Names of the methods of the trait, from its source.
    fn methods() -> Vec<&'static str> {
        [include_str!("backend.rs"), include_str!("alerts.rs")]
            .into_iter()
            .flat_map(|source| source.split("async fn ").skip(1))
            .filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next())
            .collect()
    }

    #[test]
    fn every_method_of_the_trait_is_an_action() {
        let actions: Vec<_> = Action::ALL.iter().map(|a| a.rule().name).collect();
        assert_eq!(actions, methods());
    }

    #[test]
    fn what_changes_or_queries_needs_a_member_and_the_refusal_says_so() {
        let caller = |role| Caller::new(OrgId::BUILT_IN, "a", role);
        for action in Action::ALL {
            let rule = action.rule();
            assert_eq!(rule.least >= Role::Member, rule.effect != Effect::Read, "{}", rule.name);
            assert_eq!(authorize(&caller(Role::Owner), action), Ok(()));
            let viewer = authorize(&caller(Role::Viewer), action);
            assert_eq!(viewer.is_ok(), rule.effect == Effect::Read, "{}", rule.name);
            if let Err(e) = viewer {
                assert_eq!(e.status(), 403);
                assert!(e.detail.contains("viewer") && e.detail.contains(role_name(rule.least)), "{e}");
            }
        }
    }
}
