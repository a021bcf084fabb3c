//! The audit log: who did what to what, how its entries are filtered, and their words.

use crate::base::ids::Caller;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Place in the log.
    pub id: i64,
    /// When.
    pub at: Timestamp,
    /// Who: a person's name, a token's name, or `system`.
    pub who: String,
    /// E-mail address of the person's account, which names can't be mistaken for; `None` for tokens and the product.
    #[serde(default)]
    pub email: Option<String>,
    /// Address of the client; empty for the product itself.
    pub address: String,
    /// What was done (`domain.add`, `member.role`): stable words.
    pub action: String,
    /// To what.
    pub object: String,
    /// Value before.
    pub old: Option<String>,
    /// Value after.
    pub new: Option<String>,
}

/// Who makes a change, and from where: what the audit log says beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Name of the person or token, or `system`.
    pub who: String,
    /// Identifier of the account or token.
    pub id: Option<String>,
    /// Address of the client; empty for the product itself.
    pub address: String,
}

impl Actor {
    /// The product itself.
    pub fn system() -> Self {
        Caller::system().actor()
    }
}

impl Caller {
    /// The caller as the audit log names it.
    pub fn actor(&self) -> Actor {
        let id = self.user.as_ref().map(|user| user.0.clone()).or_else(|| self.token.clone());
        Actor { who: self.who.clone(), id, address: self.address.clone() }
    }
}

/// Which entries of the audit log are read. Filters that are empty match everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditQuery {
    /// Part of a name, address, object or value, in any letter case.
    pub text: String,
    /// First part of the action's word (`member` for `member.role`).
    pub subject: String,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Before.
    pub until: Option<Timestamp>,
    /// Entries before this place in the log: the next page.
    pub before: Option<i64>,
    /// Most entries of a page.
    pub limit: u32,
}

/// A page of the audit log, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditPage {
    /// The entries.
    pub entries: Vec<AuditEntry>,
    /// Where the next page begins, if there is one ([`AuditQuery::before`]).
    pub next: Option<i64>,
}

/// What the audit log is about: first parts of its actions' words, with their titles.
pub const AUDIT_SUBJECTS: [(&str, &str); 8] = [
    ("domain", "Domains"),
    ("network", "Address space"),
    ("event", "Events"),
    ("member", "Members"),
    ("token", "API tokens"),
    ("session", "Sessions"),
    ("account", "Accounts"),
    ("organisation", "Organisation"),
];

/// The word of an action as people read it: `Role changed` for `member.role`.
pub fn action_label(action: &str) -> &str {
    match action {
        "domain.add" => "Domain added",
        "domain.remove" => "Domain removed",
        "domain.restore" => "Domain restored",
        "domain.change" => "Domain changed",
        "event.acknowledge" => "Events acknowledged",
        "member.invite" => "Member invited",
        "member.uninvite" => "Invitation revoked",
        "member.join" => "Member joined",
        "member.role" => "Role changed",
        "member.remove" => "Member removed",
        "token.create" => "Token created",
        "token.revoke" => "Token revoked",
        "channel.save" => "Notification channel saved",
        "channel.remove" => "Notification channel removed",
        "rule.save" => "Notification rule saved",
        "rule.remove" => "Notification rule removed",
        "maintenance.save" => "Maintenance window saved",
        "maintenance.remove" => "Maintenance window removed",
        "message.drop" => "Failed messages dropped",
        "template.save" => "Template saved",
        "template.remove" => "Template removed",
        "feed.create" => "Feed created",
        "feed.revoke" => "Feed revoked",
        "session.sign_in" => "Signed in",
        "session.sign_out" => "Signed out",
        "session.end" => "Sessions ended",
        "account.password" => "Password changed",
        "account.reset" => "Password reset",
        "account.reset_request" => "Password reset requested",
        "account.identity_link" => "Single sign-on linked",
        "account.identity_unlink" => "Single sign-on unlinked",
        "account.second_factor" => "Two-factor sign-in changed",
        "account.passkey_add" => "Passkey added",
        "account.passkey_remove" => "Passkey removed",
        "organisation.rename" => "Organisation renamed",
        "organisation.set_up" => "Installation set up",
        "cluster.claim" => "Identity or cluster claim changed",
        "agent.token" => "Join token made",
        "agent.join" => "Point of presence joined",
        "agent.revoke" => "Point of presence revoked",
        "network.claim" => "Address space claimed",
        "network.change" => "Claim of address space changed",
        "network.release" => "Claim of address space released",
        "network.block" => "Block of address space listed",
        "network.unblock" => "Block of address space removed from the list",
        "feature.clean" => "Clean-up of a feature started",
        "feature.change" => "Labels, annotations or finalizers of a feature changed",
        "feature.delete" => "Feature of a third party deleted",
        "feature.register" => "Feature of a third party registered",
        "feature.set" => "Feature turned on or off",
        other => other,
    }
}
