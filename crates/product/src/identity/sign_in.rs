//! Sign-in by password and second factor.

use super::{Client, Identity};
use accounts::second_factor::{TotpSecret, recovery_hash};
use accounts::{PasswordError, Secret, Throttle, ThrottleRule};
use jiff::SignedDuration;
use model::account::{SignInMethod, UserId, normal_email};
use model::ids::{Caller, OrgId, Role};
use store::Credentials;

/// The credentials of one sign-in attempt.
#[derive(Debug, Clone, Default)]
pub struct Attempt {
    /// E-mail address.
    pub email: String,
    /// Password.
    pub password: String,
    /// Code of the second factor or a recovery code; empty when none was typed.
    pub code: String,
}

/// Why a sign-in was refused. The sentences do not disclose whether an account exists.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignInError {
    /// No such account, or another password.
    #[error("Email and password do not match.")]
    Wrong,
    /// The password typed to confirm a change is not that of the account.
    #[error("This is not your current password.")]
    WrongPassword,
    /// The password is right; the account has a second factor.
    #[error("Enter the 6-digit code of your authenticator app, or a recovery code.")]
    CodeNeeded,
    /// The code is wrong, used already, or too old.
    #[error("This code is invalid or was already used. Enter a new one.")]
    WrongCode,
    /// The passkey is not known here, or its answer is for something else or too late.
    #[error("This passkey was not accepted. Try again, or sign in with your password.")]
    WrongPasskey,
    /// The account is a member of no organisation any more.
    #[error("This account is not a member of any organisation. Ask an owner for an invitation.")]
    NoOrganisation,
    /// Too many failed attempts.
    #[error("Too many failed attempts. Try again in {0}.")]
    Throttled(String),
    /// Too many others sign in at this moment, or the database does not answer.
    #[error("Sign-in is temporarily unavailable. Try again in a few seconds.")]
    Unavailable,
}

impl SignInError {
    /// The HTTP status of a page that shows it.
    pub fn status(&self) -> u16 {
        match self {
            SignInError::Wrong
            | SignInError::WrongPassword
            | SignInError::CodeNeeded
            | SignInError::WrongPasskey
            | SignInError::WrongCode => 401,
            SignInError::NoOrganisation => 403,
            SignInError::Throttled(_) => 429,
            SignInError::Unavailable => 503,
        }
    }
}

impl From<store::Error> for SignInError {
    fn from(e: store::Error) -> Self {
        tracing::error!(error = %e, label = e.label(), "the store failed during sign-in");
        SignInError::Unavailable
    }
}

impl From<PasswordError> for SignInError {
    fn from(e: PasswordError) -> Self {
        tracing::warn!(error = %e, "a password was not computed");
        SignInError::Unavailable
    }
}

impl Identity {
    /// Signs a person in; the secret of the new session.
    ///
    /// # Errors
    /// Says what to do; never whether an account exists.
    pub async fn sign_in(&self, attempt: &Attempt, client: &Client) -> Result<Secret, SignInError> {
        let (found, method) = self.authenticate(attempt, client).await?;
        let memberships = self.store.memberships(&found.user.id).await?;
        let Some(first) = memberships.first() else { return Err(SignInError::NoOrganisation) };
        let who = person(&found.user.id, &found.user.name, (first.org, first.role), client);
        let log = self.entry(&who, "session.sign_in", &found.user.email, Some(method.as_str().into()));
        self.begin_session(&found.user.id, first.org, client, method, Some(&log))
            .await
            .map_err(|_| SignInError::Unavailable)
    }

    /// Checks password and second factor without beginning a session.
    pub(super) async fn authenticate(
        &self,
        attempt: &Attempt,
        client: &Client,
    ) -> Result<(Credentials, SignInMethod), SignInError> {
        let email = normal_email(&attempt.email).unwrap_or_default();
        let account = format!("account:{email}");
        let address = client.prefix.as_ref().map(|prefix| format!("address:{prefix}"));
        let mut keys = vec![(account.as_str(), ThrottleRule::ACCOUNT)];
        keys.extend(address.as_deref().map(|key| (key, ThrottleRule::ADDRESS)));
        self.count_attempt(&keys).await?;
        let found = if email.is_empty() { None } else { self.store.credentials(&email).await? };
        let stored = found.as_ref().and_then(|found| found.password.as_deref());
        let is_right = self.passwords.verify(attempt.password.clone(), stored).await?;
        let Some(found) = found.filter(|_| is_right) else { return Err(SignInError::Wrong) };
        let mut method = SignInMethod::Password;
        if let Some(secret) = &found.totp_secret {
            method = self.second_factor(&found, secret, attempt.code.trim()).await?;
        }
        self.store.clear_failures(&account).await?;
        Ok((found, method))
    }

    /// Counts an attempt against all of these keys, or says how long to wait.
    pub(super) async fn count_attempt(&self, keys: &[(&str, ThrottleRule)]) -> Result<(), SignInError> {
        let now = self.now();
        for (key, rule) in keys {
            let (failures, last_at) = self.store.failures(key).await?;
            if let Err(left) = (Throttle { failures, last_at }).check(now, rule) {
                return Err(SignInError::Throttled(words(left)));
            }
        }
        // Counted before the password is computed, and judged again by what was counted before: of attempts made at the
        // same time no more get through than of attempts one after the other.
        for (key, rule) in keys {
            let (failures, last_at) = self.store.count_failure(key, now - rule.forget, now).await?;
            if let Err(left) = (Throttle { failures, last_at }).check(now, rule) {
                return Err(SignInError::Throttled(words(left)));
            }
        }
        Ok(())
    }

    /// Checks the password of a person who is signed in already. Counted apart from sign-in, so that the holder of a
    /// stolen session can't lock the owner out.
    pub(super) async fn confirm(&self, user: &UserId, password: &str) -> Result<Credentials, SignInError> {
        self.confirm_all(user, password, None).await
    }

    /// The same with a code, where two-factor sign-in is on. Wrong codes count as wrong passwords do.
    pub(super) async fn confirm_all(
        &self,
        user: &UserId,
        password: &str,
        code: Option<&str>,
    ) -> Result<Credentials, SignInError> {
        let key = format!("confirm:{user}");
        self.count_attempt(&[(key.as_str(), ThrottleRule::ACCOUNT)]).await?;
        let found = self.store.credentials_of(user).await?.ok_or(SignInError::Wrong)?;
        if !self.passwords.verify(password.to_string(), found.password.as_deref()).await? {
            return Err(SignInError::WrongPassword);
        }
        if let (Some(secret), Some(code)) = (&found.totp_secret, code) {
            self.second_factor(&found, secret, code.trim()).await?;
        }
        self.store.clear_failures(&key).await?;
        Ok(found)
    }

    pub(super) async fn second_factor(
        &self,
        found: &Credentials,
        secret: &str,
        code: &str,
    ) -> Result<SignInMethod, SignInError> {
        if code.is_empty() {
            return Err(SignInError::CodeNeeded);
        }
        let user = &found.user.id;
        let step = TotpSecret::from_base32(secret).and_then(|s| s.check(code, self.now(), found.totp_step));
        let (is_valid, method) = match step {
            Some(step) => (self.store.use_totp_step(user, step).await?, SignInMethod::Code),
            None => {
                let hash = recovery_hash(code);
                (self.store.use_recovery_code(user, hash.as_str()).await?, SignInMethod::RecoveryCode)
            }
        };
        if is_valid { Ok(method) } else { Err(SignInError::WrongCode) }
    }

    /// The organisation a person signs in to first.
    pub(super) async fn first_org(&self, found: &Credentials) -> Result<Option<OrgId>, store::Error> {
        Ok(self.store.memberships(&found.user.id).await?.first().map(|membership| membership.org))
    }
}

/// A person without a session yet, as the audit log names them.
pub(super) fn person(user: &UserId, name: &str, (org, role): (OrgId, Role), client: &Client) -> Caller {
    let (user, address) = (Some(user.clone()), client.address.clone());
    Caller { user, address, ..Caller::new(org, name, role) }
}

/// `40 seconds`, `15 minutes`.
fn words(left: SignedDuration) -> String {
    let seconds = left.as_secs().max(1);
    match seconds {
        1 => "1 second".into(),
        2..=90 => format!("{seconds} seconds"),
        _ => format!("{} minutes", (seconds + 59) / 60),
    }
}
