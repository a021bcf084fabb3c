//! What the account part of the store takes and gives.

use jiff::Timestamp;
use model::account::{Actor, SignInMethod, User, UserId};
use model::ids::{OrgId, Role};

/// An account with what signing in needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The person.
    pub user: User,
    /// PHC string of the password; `None` when none is set.
    pub password: Option<String>,
    /// Base32 secret of the second factor.
    pub totp_secret: Option<String>,
    /// Time step of the code accepted last.
    pub totp_step: Option<u64>,
}

/// Who presented a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOwner {
    /// Identifier of the session, not its secret.
    pub id: String,
    /// The person.
    pub user: User,
    /// The organisation the session acts in.
    pub org: OrgId,
    /// The role there; `None` when the person is no member of it any more.
    pub role: Option<Role>,
    /// When it began.
    pub created_at: Timestamp,
    /// Last use as stored.
    pub seen_at: Timestamp,
}

/// A new session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// Hash of the secret.
    pub hash: String,
    /// Identifier in lists.
    pub id: String,
    /// The person.
    pub user: UserId,
    /// The organisation it acts in first.
    pub org: OrgId,
    /// Browser and system as it named itself, at most 200 characters.
    pub client: String,
    /// Address it began from.
    pub address: String,
    /// How the person proved who they are.
    pub method: SignInMethod,
}

/// An entry for the audit log. Methods that take one write it in the transaction of the change it records, and only if
/// something changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// The organisation whose log it belongs to.
    pub org: OrgId,
    /// Who made the change, from where.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// What was done: a stable word ([`model::account::action_label`] has its title).
    pub action: &'static str,
    /// To what.
    pub object: String,
    /// Value before.
    pub old: Option<String>,
    /// Value after.
    pub new: Option<String>,
}

/// A passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passkey {
    /// Identifier in lists.
    pub id: String,
    /// Whose it is.
    pub user: UserId,
    /// The identifier its authenticator gave it, base64url.
    pub credential: String,
    /// The origin it was made at.
    pub site: String,
    /// As its owner calls it.
    pub name: String,
    /// Public key and counter, as JSON.
    pub data: String,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it signed in last.
    pub last_used_at: Option<Timestamp>,
}

/// An account at an OpenID Connect provider that is to sign in to one here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIdentity {
    /// The provider.
    pub issuer: String,
    /// Its identifier of the account; never given to another person.
    pub subject: String,
    /// The account here.
    pub user: UserId,
    /// Address and name, when the account here is made with it.
    pub create: Option<(String, String)>,
    /// The organisation it joins, unless it is a member already.
    pub join: Option<(OrgId, Role)>,
}

/// A link that works once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneTimeLink {
    /// Identifier in lists.
    pub id: String,
    /// What it is for (`setup`, `reset`, `invitation`).
    pub kind: String,
    /// The organisation it is about.
    pub org: Option<OrgId>,
    /// What it carries, as JSON.
    pub payload: String,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// Why a membership was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberChange {
    /// Done.
    Changed,
    /// The person is no member of the organisation.
    NotAMember,
    /// It would leave the organisation without an owner.
    LastOwner,
}

/// What is known about a request that carries an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replay {
    /// The key is new: carry the request out.
    New,
    /// The same request was carried out; its answer.
    Answered(String),
    /// The same request is being carried out, or its end is not known.
    Running,
    /// The key was used for another request.
    OtherRequest,
}
