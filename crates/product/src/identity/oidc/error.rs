//! Why a sign-in with the provider, or linking an account there, did not succeed.

/// Sentences for the sign-in page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OidcError {
    /// No provider is configured.
    #[error("Single sign-on is not set up on this server.")]
    Off,
    /// The person or the provider said no.
    #[error("The provider reports that sign-in was cancelled or denied.")]
    Denied,
    /// The browser did not begin this sign-in, or it was finished already, or it is too old.
    #[error("This sign-in was started elsewhere, already used, or took too long. Start again.")]
    State,
    /// The provider can't be reached or does not work.
    #[error("The sign-in provider can't be reached. Try again in a moment.")]
    Provider,
    /// What the provider sent is not valid for this sign-in.
    #[error(
        "The provider's answer could not be verified. Start again; if it happens again, tell an administrator."
    )]
    Rejected,
    /// No value of the role claim has a role here.
    #[error("Your account at the provider has no role here. Ask an administrator for access.")]
    NoRole,
    /// There is no account, and none is created or linked.
    #[error(
        "No account here is linked to your account at the provider. If you have a password here, sign in with it and \
         link the provider under “Your account”; otherwise ask an administrator for access."
    )]
    NoAccount,
    /// The provider does not vouch for the address, so that it neither makes nor links an account.
    #[error(
        "The provider does not state that your e-mail address is verified, which a first sign-in here needs. Verify it \
         there; or sign in with your password and link the provider under “Your account”."
    )]
    Unverified,
    /// One of the two accounts is linked to another one.
    #[error("This account at the provider, or your account here, is already linked to another one.")]
    Taken,
    /// The account is a member of no organisation.
    #[error("This account is not a member of any organisation. Ask an owner for an invitation.")]
    NoOrganisation,
    /// Too many attempts from this network.
    #[error("Too many failed attempts from your network. Try again in a few minutes.")]
    Throttled,
    /// The store failed.
    #[error("Sign-in is temporarily unavailable. Try again in a few seconds.")]
    Unavailable,
}

impl OidcError {
    const ALL: [OidcError; 12] = [
        OidcError::Off,
        OidcError::Denied,
        OidcError::State,
        OidcError::Provider,
        OidcError::Rejected,
        OidcError::NoRole,
        OidcError::NoAccount,
        OidcError::Unverified,
        OidcError::Taken,
        OidcError::NoOrganisation,
        OidcError::Throttled,
        OidcError::Unavailable,
    ];

    /// The word in a page's address.
    pub fn word(self) -> &'static str {
        match self {
            OidcError::Off => "off",
            OidcError::Denied => "denied",
            OidcError::State => "state",
            OidcError::Provider => "provider",
            OidcError::Rejected => "rejected",
            OidcError::NoRole => "no-role",
            OidcError::NoAccount => "no-account",
            OidcError::Unverified => "unverified",
            OidcError::Taken => "taken",
            OidcError::NoOrganisation => "no-organisation",
            OidcError::Throttled => "throttled",
            OidcError::Unavailable => "unavailable",
        }
    }

    /// Reads the word.
    pub fn from_word(word: &str) -> Option<OidcError> {
        OidcError::ALL.into_iter().find(|e| e.word() == word)
    }
}

impl From<store::Error> for OidcError {
    fn from(e: store::Error) -> Self {
        tracing::error!(error = %e, label = e.label(), "the store failed during sign-in with the provider");
        OidcError::Unavailable
    }
}
