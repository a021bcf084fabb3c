//! Password reset by mail. In: an address that someone typed; out: the same answer whatever it belongs to, and a mail with a
//! link that works once where it belongs to an account with a password.

use super::links::ResetPayload;
use super::{Client, Identity, SignInError};
use crate::Services;
use accounts::ThrottleRule;
use jiff::SignedDuration;
use model::account::{UserId, normal_email};
use model::ids::{Caller, Role};
use notify::Deliverer;
use std::time::Duration;
use store::Credentials;

/// How long a mailed link can be used.
const MAILED: SignedDuration = SignedDuration::from_hours(1);
/// Reset mails on their way at the same time.
pub(super) const MAILS: usize = 16;
/// Mails to one address: enough for one that was lost, too few to fill a mailbox.
const BY_ACCOUNT: ThrottleRule = ThrottleRule {
    // One less than the mails that are sent without a pause.
    free: 2,
    first: SignedDuration::from_mins(5),
    longest: SignedDuration::from_hours(4),
    forget: SignedDuration::from_hours(24),
};
/// Requests of one client, whatever the address.
const BY_ADDRESS: ThrottleRule = ThrottleRule {
    free: 10,
    first: SignedDuration::from_mins(1),
    longest: SignedDuration::from_hours(1),
    forget: SignedDuration::from_hours(4),
};
/// Pauses before a mail that was not accepted is sent again (greylisting).
const PAUSES: [Duration; 3] = [Duration::from_secs(5), Duration::from_secs(60), Duration::from_secs(300)];

impl Services {
    /// True when password resets are mailed: with a mail server, and an address of the installation for the link, which must
    /// not come from the request.
    pub fn sends_resets(&self) -> bool {
        self.deliverer.has_mail() && self.deliverer.base().is_some()
    }

    /// Mails a link to set a new password, if the address has an account with a password. Neither the answer nor the time it
    /// takes tells whether it has.
    ///
    /// # Errors
    /// When there were too many requests, for this address or from this client.
    pub async fn request_reset(&self, email: &str, client: &Client) -> Result<(), SignInError> {
        let identity = &self.identity;
        let email = normal_email(email);
        let account = email.as_ref().map(|email| format!("reset:{email}"));
        let address = client.prefix.as_ref().map(|prefix| format!("reset-address:{prefix}"));
        let account = account.as_deref().map(|key| (key, BY_ACCOUNT));
        let address = address.as_deref().map(|key| (key, BY_ADDRESS));
        identity.count_attempt(&[address, account].into_iter().flatten().collect::<Vec<_>>()).await?;
        let place = identity.mails.clone().try_acquire_owned().map_err(|_| SignInError::Unavailable)?;
        let (identity, deliverer, client) = (identity.clone(), self.deliverer.clone(), client.clone());
        tokio::spawn(async move {
            if let Some(email) = email {
                identity.mail_reset(&email, &client, &deliverer).await;
            }
            drop(place);
        });
        Ok(())
    }
}

/// The identifier of an account's mailed link: each replaces the one before.
fn mailed(user: &UserId) -> String {
    format!("reset-mail-{user}")
}

impl Identity {
    async fn mail_reset(&self, email: &str, client: &Client, deliverer: &Deliverer) {
        let link = match self.mailed_link(email, client, deliverer).await {
            Ok(Some(link)) => link,
            Ok(None) => return,
            Err(e) => return tracing::error!(error = %e, label = e.label(), "a reset link was not made"),
        };
        let text = format!(
            "A new password was requested for your Domainscope account {email}.\n\nSet a new password:\n{link}\n\n\
             The link works once, for one hour. All sessions of the account end when it is used.\n\
             If you did not request this, ignore this mail: your password has not changed.\n"
        );
        for pause in PAUSES.into_iter().map(Some).chain([None]) {
            match (deliverer.mail(email, "Set a new password", &text).await, pause) {
                (Ok(_), _) => return,
                (Err(e), Some(pause)) if !e.permanent => {
                    tracing::info!(error = e.reason, "a reset mail was not accepted; it is sent again");
                    tokio::time::sleep(pause).await;
                }
                (Err(e), _) => return tracing::error!(error = e.reason, "a reset mail was not sent"),
            }
        }
    }

    /// The link for an account with a password. One that signs in with a provider alone gets none: a password would let its
    /// owner in after the provider no longer does.
    async fn mailed_link(
        &self,
        email: &str,
        client: &Client,
        deliverer: &Deliverer,
    ) -> Result<Option<String>, store::Error> {
        let found = self.store.credentials(email).await?;
        let Some(found) = found.filter(|found| found.password.is_some()) else { return Ok(None) };
        let Some(org) = self.first_org(&found).await? else { return Ok(None) };
        let Credentials { user, .. } = &found;
        let Some(base) = deliverer.base() else { return Ok(None) };
        self.withdraw_mailed(&user.id).await?;
        let payload = serde_json::to_string(&ResetPayload { email: email.into() }).unwrap_or_default();
        // Not necessarily its owner.
        let caller = Caller { address: client.address.clone(), ..Caller::new(org, "Visitor", Role::Viewer) };
        let log = self.entry(&caller, "account.reset_request", email, None);
        let (secret, _) = self.link("reset", None, mailed(&user.id), payload, MAILED, Some(&log)).await?;
        Ok(Some(format!("{}/reset?key={}", base.as_str().trim_end_matches('/'), secret.expose())))
    }

    /// Withdraws the mailed link of an account, if there is one.
    pub(super) async fn withdraw_mailed(&self, user: &UserId) -> Result<(), store::Error> {
        self.store.withdraw_links(None, "reset", Some(&mailed(user)), None).await.map(drop)
    }
}
