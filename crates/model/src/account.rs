//! People, organisations and their access: what pages, the API and the store share. No secret is in these types.

mod audit;

pub use crate::base::ids::UserId;
use crate::base::ids::{OrgId, Role};
pub use audit::{AUDIT_SUBJECTS, Actor, AuditEntry, AuditPage, AuditQuery, action_label};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Identity.
    pub id: UserId,
    /// E-mail address, lower case: what one signs in with.
    pub email: String,
    /// Name as shown to others.
    pub name: String,
    /// When the account was made.
    pub created_at: Timestamp,
    /// Whether a second factor is set up.
    pub has_second_factor: bool,
}

/// A person's place in an organisation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The organisation.
    pub org: OrgId,
    /// Its unguessable identifier in addresses.
    pub org_key: String,
    /// Its name.
    pub org_name: String,
    /// What the person may do there.
    pub role: Role,
}

/// A member of an organisation, as the others see them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Who.
    pub user: User,
    /// What they may do.
    pub role: Role,
    /// Since when.
    pub since: Timestamp,
    /// Last use of any of their sessions.
    pub last_seen_at: Option<Timestamp>,
}

/// A session as its owner sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// Identifier for revoking; not the secret.
    pub id: String,
    /// When it began.
    pub created_at: Timestamp,
    /// Last use, to within some minutes.
    pub seen_at: Timestamp,
    /// Browser and system as it named itself.
    pub client: String,
    /// Address it began from.
    pub address: String,
    /// How its owner signed in.
    #[serde(default)]
    pub method: SignInMethod,
    /// True for the one that asks.
    pub is_current: bool,
}

/// A passkey as its owner sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasskeyInfo {
    /// Identifier for removing it.
    pub id: String,
    /// As its owner calls it.
    pub name: String,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it signed in last.
    pub last_used_at: Option<Timestamp>,
}

/// An account at an OpenID Connect provider that signs in to one here, as its owner sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentityInfo {
    /// The provider.
    pub issuer: String,
    /// When it was linked.
    pub linked_at: Timestamp,
}

/// How a person signed in to a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignInMethod {
    /// Password alone.
    #[default]
    Password,
    /// Password and a code of the authenticator app.
    Code,
    /// Password and a recovery code.
    RecoveryCode,
    /// A link that works once: set-up, invitation, new password.
    Link,
    /// A passkey, with user verification.
    Passkey,
    /// An OpenID Connect provider.
    SingleSignOn,
}

impl SignInMethod {
    /// All of them.
    pub const ALL: [SignInMethod; 6] = [
        SignInMethod::Password,
        SignInMethod::Code,
        SignInMethod::RecoveryCode,
        SignInMethod::Link,
        SignInMethod::Passkey,
        SignInMethod::SingleSignOn,
    ];

    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            SignInMethod::Password => "password",
            SignInMethod::Code => "code",
            SignInMethod::RecoveryCode => "recovery_code",
            SignInMethod::Link => "link",
            SignInMethod::Passkey => "passkey",
            SignInMethod::SingleSignOn => "single_sign_on",
        }
    }

    /// Reads the stable word.
    pub fn from_word(word: &str) -> Option<SignInMethod> {
        SignInMethod::ALL.into_iter().find(|method| method.as_str() == word)
    }

    /// In words.
    pub fn label(self) -> &'static str {
        match self {
            SignInMethod::Password => "Password",
            SignInMethod::Code => "Password and code",
            SignInMethod::RecoveryCode => "Password and recovery code",
            SignInMethod::Link => "One-time link",
            SignInMethod::Passkey => "Passkey",
            SignInMethod::SingleSignOn => "Single sign-on",
        }
    }
}

/// What an API token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenScope {
    /// Reads everything of the organisation.
    Read,
    /// Adds, changes and rescans domains too.
    Write,
    /// Changes settings, members and tokens too.
    Admin,
}

impl TokenScope {
    /// All, least first.
    pub const ALL: [TokenScope; 3] = [TokenScope::Read, TokenScope::Write, TokenScope::Admin];

    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            TokenScope::Read => "read",
            TokenScope::Write => "write",
            TokenScope::Admin => "admin",
        }
    }

    /// Reads the stable word.
    pub fn from_word(word: &str) -> Option<TokenScope> {
        TokenScope::ALL.into_iter().find(|scope| scope.as_str() == word)
    }

    /// What it allows, in a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            TokenScope::Read => "Reads domains, events and results.",
            TokenScope::Write => "Adds, changes and rescans domains; runs tools.",
            TokenScope::Admin => "Manages members, tokens and settings too.",
        }
    }

    /// The role a caller with this scope acts in.
    pub fn role(self) -> Role {
        match self {
            TokenScope::Read => Role::Viewer,
            TokenScope::Write => Role::Member,
            TokenScope::Admin => Role::Admin,
        }
    }
}

/// An API token as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenInfo {
    /// Identifier for revoking; not the secret.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Its first characters, to recognise it by.
    #[serde(default)]
    pub hint: String,
    /// What it may do.
    pub scope: TokenScope,
    /// Who made it.
    pub created_by: String,
    /// When.
    pub created_at: Timestamp,
    /// When it ends; `None` for one that does not.
    pub expires_at: Option<Timestamp>,
    /// Last use, to within some minutes.
    pub last_used_at: Option<Timestamp>,
}

/// An invitation that was not accepted yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// Identifier for withdrawing; not the secret.
    pub id: String,
    /// Whom.
    pub email: String,
    /// To do what.
    pub role: Role,
    /// Who invited.
    pub invited_by: String,
    /// When it ends.
    pub expires_at: Timestamp,
}

impl Role {
    /// All, least first.
    pub const ALL: [Role; 4] = [Role::Viewer, Role::Member, Role::Admin, Role::Owner];

    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Member => "member",
            Role::Admin => "admin",
            Role::Owner => "owner",
        }
    }

    /// Reads the stable word.
    pub fn from_word(word: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.as_str() == word)
    }

    /// The word as people read it.
    pub fn label(self) -> &'static str {
        match self {
            Role::Viewer => "Viewer",
            Role::Member => "Member",
            Role::Admin => "Admin",
            Role::Owner => "Owner",
        }
    }

    /// What the role may do, in a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Role::Viewer => "Sees everything, changes nothing.",
            Role::Member => "Adds, tags and rescans domains.",
            Role::Admin => "Changes settings, members and tokens too.",
            Role::Owner => "Everything, owners included.",
        }
    }
}

/// Normalises an e-mail address: trimmed, lower case. `None` when it is none: without exactly one `@` between two parts
/// that are not empty, with white space or control characters, or longer than 254 characters (RFC 5321).
pub fn normal_email(text: &str) -> Option<String> {
    let text = text.trim().to_lowercase();
    let (local, domain) = text.split_once('@')?;
    let is_plain = !text.chars().any(|c| c.is_whitespace() || c.is_control() || "<>,;\"".contains(c));
    let is_whole = !local.is_empty() && !domain.is_empty() && !domain.contains('@');
    (is_plain && is_whole && text.len() <= 254).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_folded_or_refused() {
        assert_eq!(normal_email("  Ada@Alder.Example ").as_deref(), Some("ada@alder.example"));
        for wrong in ["", "ada", "@alder.example", "ada@", "a@b@c", "a b@c.d", "a@c.d\nbcc: x@y.z", "<a@b.c>"]
        {
            assert_eq!(normal_email(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_token_never_acts_as_owner() {
        assert!(TokenScope::ALL.iter().all(|scope| scope.role() < Role::Owner));
        assert!(Role::ALL.iter().all(|role| Role::from_word(role.as_str()) == Some(*role)));
    }
}
