//! Linking an account at the provider to one here: by its owner, who is signed in and has confirmed who they are. The
//! provider's e-mail address has no part in it. In: the owner's password, later the provider's answer; out: a link.

use super::{Claims, Linking, OidcError, OidcSettings, SUBJECT_MAX};
use crate::identity::Identity;
use crate::identity::profile::own;
use crate::unavailable;
use model::ids::Caller;
use service::{ApiError, ApiResult, ProviderInfo, ProviderRedirect};
use store::NewIdentity;

/// The page on which accounts are linked.
pub(super) const PAGE: &str = "/settings/account";

impl Identity {
    /// The provider of this server, as people see it.
    pub(in crate::identity) fn provider_info(&self) -> Option<ProviderInfo> {
        let settings = &self.oidc.as_ref()?.settings;
        Some(ProviderInfo {
            issuer: settings.issuer.clone(),
            label: settings.label.clone(),
            sets_role: settings.roles.claim.is_some(),
        })
    }

    pub(crate) async fn link_provider(
        &self,
        caller: &Caller,
        password: &str,
        code: &str,
        site: &str,
    ) -> ApiResult<ProviderRedirect> {
        let user = own(caller)?;
        let provider = self.provider_info().ok_or_else(|| ApiError::not_found(OidcError::Off.to_string()))?;
        // What comes back from the provider counts for this session alone.
        let session = caller.session.clone().ok_or_else(|| {
            ApiError::forbidden("A demo's visitor has no session to link from: sign in as a person.")
        })?;
        self.confirm_with_code(user, password, code).await?;
        let linked = self.store.identities(user).await.map_err(unavailable)?;
        if linked.iter().any(|identity| identity.issuer == provider.issuer) {
            return Err(ApiError::invalid(format!(
                "Your account is linked to one at {} already: unlink it first.",
                provider.label
            )));
        }
        let linking = Linking { user: user.clone(), session };
        let begun = self.begin_at_provider(site, PAGE, Some(linking)).await;
        let (secret, url) = begun.map_err(|e| ApiError::unavailable(e.to_string()))?;
        Ok(ProviderRedirect { url, secret: secret.expose().to_string() })
    }

    pub(crate) async fn unlink_provider(
        &self,
        caller: &Caller,
        issuer: &str,
        password: &str,
        code: &str,
    ) -> ApiResult<()> {
        let user = own(caller)?;
        let found = self.store.credentials_of(user).await.map_err(unavailable)?;
        if found.is_none_or(|found| found.password.is_none()) {
            return Err(ApiError::invalid(
                "Single sign-on is the only way to sign in to this account. Set a password first.",
            ));
        }
        let found = self.confirm_with_code(user, password, code).await?;
        let mut log = self.entry(caller, "account.identity_unlink", &found.user.email, None);
        log.old = Some(issuer.to_string());
        match self.store.unlink_identity(user, issuer, Some(&log)).await.map_err(unavailable)? {
            true => Ok(()),
            false => Err(ApiError::not_found("This account is not linked to that provider any more.")),
        }
    }

    /// Links the account that the provider vouches for, when its owner is still signed in to the session that asked.
    pub(in crate::identity) async fn finish_link(
        &self,
        settings: &OidcSettings,
        claims: &Claims,
        linking: &Linking,
        session: Option<&str>,
        address: &str,
    ) -> Result<(), OidcError> {
        if claims.subject.is_empty() || claims.subject.len() > SUBJECT_MAX {
            return Err(OidcError::Rejected);
        }
        // Who could not sign in with it links nothing.
        if settings.roles.claim.is_some() && settings.roles.role(&claims.others).is_none() {
            return Err(OidcError::NoRole);
        }
        let Some(presented) = session else { return Err(OidcError::State) };
        let caller = self.caller(presented).await?.ok_or(OidcError::State)?;
        let is_same = caller.user.as_ref() == Some(&linking.user)
            && caller.session.as_deref() == Some(linking.session.as_str());
        if !is_same {
            return Err(OidcError::State);
        }
        match self.store.identity(&settings.issuer, &claims.subject).await? {
            Some(user) if user == linking.user => return Ok(()),
            Some(_) => return Err(OidcError::Taken),
            None => {}
        }
        let found = self.store.credentials_of(&linking.user).await?.ok_or(OidcError::State)?;
        let caller = Caller { address: address.to_string(), ..caller };
        let issuer = settings.issuer.clone();
        let log = self.entry(&caller, "account.identity_link", &found.user.email, Some(issuer.clone()));
        let (subject, user) = (claims.subject.clone(), linking.user.clone());
        let identity = NewIdentity { issuer, subject, user, create: None, join: None };
        match self.store.link_identity(&identity, self.now(), Some(&log)).await? {
            true => Ok(()),
            false => Err(OidcError::Taken),
        }
    }
}
