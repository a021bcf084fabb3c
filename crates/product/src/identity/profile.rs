//! What people change about their own account: password, second factor, sessions.

use super::Identity;
use super::links::refused;
use super::sign_in::SignInError;
use crate::unavailable;
use accounts::second_factor::{TotpSecret, recovery_codes};
use model::account::UserId;
use model::ids::Caller;
use qrcodegen::{QrCode, QrCodeEcc};
use service::{ApiError, ApiResult, Enrolment, Profile};
use store::Credentials;

/// The name that authenticator apps show beside the account.
const ISSUER: &str = "Domainscope";
/// Light modules around the code (ISO/IEC 18004 section 9.1).
const QUIET_ZONE: i32 = 4;

pub(super) fn own(caller: &Caller) -> ApiResult<&UserId> {
    caller.user.as_ref().ok_or_else(|| ApiError::forbidden("Only a person has an account: sign in as one."))
}

impl Identity {
    /// The caller's account.
    pub(crate) async fn profile(&self, caller: &Caller) -> ApiResult<Profile> {
        let user = own(caller)?;
        let found = self.store.credentials_of(user).await.map_err(unavailable)?;
        let found = found.ok_or_else(|| ApiError::not_found("This account does not exist any more."))?;
        let current = caller.session.as_deref().unwrap_or_default();
        Ok(Profile {
            has_password: found.password.is_some(),
            recovery_codes: self.store.recovery_codes(user).await.map_err(unavailable)?,
            sessions: self.store.sessions(user, current).await.map_err(unavailable)?,
            passkeys: self.passkeys(user).await?,
            identities: self.store.identities(user).await.map_err(unavailable)?,
            provider: self.provider_info(),
            user: found.user,
        })
    }

    pub(crate) async fn change_password(&self, caller: &Caller, current: &str, new: &str) -> ApiResult<()> {
        let user = own(caller)?;
        let found = self.confirm(user, current).await.map_err(|e| refused(&e))?;
        if current == new {
            return Err(ApiError::invalid("The new password equals the current one: choose another."));
        }
        let phc = self.new_password(new, &[&found.user.email, &found.user.name]).await?;
        let log = self.entry(caller, "account.password", &found.user.email, None);
        let keep = caller.session.as_deref();
        self.store.set_password(user, &phc, keep, Some(&log)).await.map_err(unavailable)
    }

    pub(crate) async fn begin_second_factor(
        &self,
        caller: &Caller,
        secret: Option<&str>,
    ) -> ApiResult<Enrolment> {
        let profile = self.profile(caller).await?;
        if profile.user.has_second_factor {
            return Err(ApiError::invalid("Two-factor sign-in is on already: turn it off first."));
        }
        let secret = secret.and_then(TotpSecret::from_base32).unwrap_or_else(TotpSecret::generate);
        enrolment(&secret, &profile.user.email)
    }

    pub(crate) async fn enable_second_factor(
        &self,
        caller: &Caller,
        secret: &str,
        code: &str,
        password: &str,
    ) -> ApiResult<Vec<String>> {
        let user = own(caller)?;
        let totp = TotpSecret::from_base32(secret)
            .ok_or_else(|| ApiError::invalid("The secret of the app is damaged. Start again."))?;
        let step = totp.check(code, self.now(), None).ok_or_else(|| {
            ApiError::invalid("The code does not match. Check the clock of your device and enter a new one.")
        })?;
        let found = self.confirm(user, password).await.map_err(|e| refused(&e))?;
        if found.totp_secret.is_some() {
            return Err(ApiError::invalid("Two-factor sign-in is on already: turn it off first."));
        }
        let (codes, hashes): (Vec<_>, Vec<_>) =
            recovery_codes().into_iter().map(|(code, hash)| (code, hash.as_str().to_string())).unzip();
        let log = self.entry(caller, "account.second_factor", &found.user.email, Some("on".into()));
        let stored = totp.to_base32();
        self.store.set_second_factor(user, Some(&stored), &hashes, Some(&log)).await.map_err(unavailable)?;
        // The code that proved the app counts as used.
        self.store.use_totp_step(user, step).await.map_err(unavailable)?;
        Ok(codes)
    }

    pub(crate) async fn disable_second_factor(
        &self,
        caller: &Caller,
        password: &str,
        code: &str,
    ) -> ApiResult<()> {
        let user = own(caller)?;
        let found = self.confirm_with_code(user, password, code).await?;
        if found.totp_secret.is_none() {
            return Ok(());
        }
        let log = self.entry(caller, "account.second_factor", &found.user.email, Some("off".into()));
        self.store.set_second_factor(user, None, &[], Some(&log)).await.map_err(unavailable)
    }

    /// Checks the password of a person who is signed in already, and a code where two-factor sign-in is on.
    pub(super) async fn confirm_with_code(
        &self,
        user: &UserId,
        password: &str,
        code: &str,
    ) -> ApiResult<Credentials> {
        self.confirm_all(user, password, Some(code)).await.map_err(|e| match e {
            SignInError::CodeNeeded => ApiError::invalid("Enter a code of your app, or a recovery code."),
            e => refused(&e),
        })
    }

    pub(crate) async fn end_sessions(&self, caller: &Caller, only: Option<&str>) -> ApiResult<u64> {
        let user = own(caller)?;
        let log = self.entry(caller, "session.end", &caller.who, only.is_none().then(|| "all others".into()));
        let keep = caller.session.as_deref();
        let ended = self.store.end_sessions(user, only, keep, Some(&log)).await.map_err(unavailable)?;
        match (ended, only) {
            (0, Some(_)) => Err(ApiError::not_found("This session has ended already.")),
            _ => Ok(ended),
        }
    }
}

fn enrolment(secret: &TotpSecret, email: &str) -> ApiResult<Enrolment> {
    // A colon separates issuer and account in the address, so that it can't stand in either.
    let uri = secret.enrolment_uri(ISSUER, &email.replace(':', "_")).ok_or_else(ApiError::internal)?;
    let code = QrCode::encode_text(&uri, QrCodeEcc::Medium).map_err(|_| ApiError::internal())?;
    Ok(Enrolment { secret: secret.to_base32(), qr_svg: qr_svg(&code) })
}

/// A QR code as an SVG element: one path of unit squares, dark on light in every theme, as scanners expect.
fn qr_svg(code: &QrCode) -> String {
    let side = code.size() + 2 * QUIET_ZONE;
    let mut path = String::new();
    for y in 0..code.size() {
        for x in 0..code.size() {
            if code.get_module(x, y) {
                path.push_str(&format!("M{},{}h1v1h-1z", x + QUIET_ZONE, y + QUIET_ZONE));
            }
        }
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {side} {side}\" role=\"img\" \
         aria-label=\"QR code of the secret\" shape-rendering=\"crispEdges\">\
         <path fill=\"#fff\" d=\"M0,0h{side}v{side}h-{side}z\"/><path fill=\"#000\" d=\"{path}\"/></svg>"
    )
}
