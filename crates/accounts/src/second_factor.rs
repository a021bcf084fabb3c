//! The second factor: time-based codes (TOTP, RFC 6238: SHA-1, six digits, 30 seconds, one step either way) and
//! recovery codes for when the device is lost.

use crate::secret::SecretHash;
use data_encoding::{BASE32_NOPAD, HEXLOWER};
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use totp_rs::{Builder, Totp};

/// Octets of the shared secret: the length of the hash (RFC 4226 section 4, R6).
pub const SECRET_OCTETS: usize = 20;
/// Recovery codes made at once.
pub const RECOVERY_CODES: usize = 10;
/// Random octets of one: 80 bits, 16 characters.
const RECOVERY_OCTETS: usize = 10;

/// The shared secret of one account.
#[derive(Clone)]
pub struct TotpSecret([u8; SECRET_OCTETS]);

impl TotpSecret {
    /// A new one from the system's random source.
    pub fn generate() -> Self {
        TotpSecret(rand::random())
    }

    /// Reads the base32 form from the store.
    pub fn from_base32(text: &str) -> Option<Self> {
        BASE32_NOPAD.decode(text.as_bytes()).ok()?.try_into().ok().map(TotpSecret)
    }

    /// The base32 form: what is stored, and what people type where no camera is at hand.
    pub fn to_base32(&self) -> String {
        BASE32_NOPAD.encode(&self.0)
    }

    /// The `otpauth:` address that authenticator programs read. `None` when issuer or account hold a colon.
    pub fn enrolment_uri(&self, issuer: &str, account: &str) -> Option<String> {
        let totp = Builder::new().with_secret(self.0).with_issuer(Some(issuer)).with_account_name(account);
        totp.build().ok()?.to_url().ok()
    }

    /// The time step of a valid code. A code counts once: `last_step` is the step accepted last, and neither it nor an
    /// earlier one is accepted again (RFC 6238 section 5.2).
    pub fn check(&self, code: &str, now: Timestamp, last_step: Option<u64>) -> Option<u64> {
        let code: String = code.chars().filter(|c| !c.is_whitespace()).collect();
        let seconds = u64::try_from(now.as_second()).ok()?;
        let step = self.totp()?.check(&code, seconds)?;
        last_step.is_none_or(|last| step > last).then_some(step)
    }

    fn totp(&self) -> Option<Totp> {
        Builder::new().with_secret(self.0).with_skew(1).build().ok()
    }
}

/// New recovery codes, to be shown once, and what is stored of them.
pub fn recovery_codes() -> Vec<(String, SecretHash)> {
    (0..RECOVERY_CODES)
        .map(|_| {
            let text = BASE32_NOPAD.encode(&rand::random::<[u8; RECOVERY_OCTETS]>()).to_lowercase();
            let groups: Vec<String> =
                text.as_bytes().chunks(4).map(|four| String::from_utf8_lossy(four).into_owned()).collect();
            let code = groups.join("-");
            let hash = recovery_hash(&code);
            (code, hash)
        })
        .collect()
}

/// What is stored of a recovery code; spaces, hyphens and letter case do not count.
pub fn recovery_hash(code: &str) -> SecretHash {
    let plain: String = code.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    SecretHash::trusted(&HEXLOWER.encode(digest(&SHA256, plain.as_bytes()).as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// RFC 6238 appendix B, SHA-1, last six digits.
    #[test]
    fn the_codes_of_the_rfc() {
        let secret = TotpSecret(*b"12345678901234567890");
        for (second, code) in
            [(59, "287082"), (1_111_111_109, "081804"), (1_234_567_890, "005924"), (2_000_000_000, "279037")]
        {
            assert_eq!(secret.check(code, at(second), None), Some(second as u64 / 30), "{code}");
        }
        assert_eq!(secret.check("081 804", at(1_111_111_109), None), Some(37_037_036));
    }

    #[test]
    fn a_code_counts_once_and_only_near_its_time() {
        let secret = TotpSecret(*b"12345678901234567890");
        let step = secret.check("287082", at(59), None);
        assert_eq!(step, Some(1));
        assert_eq!(secret.check("287082", at(59), step), None, "used again");
        assert_eq!(secret.check("287082", at(89), None), Some(1), "one step late");
        assert_eq!(secret.check("287082", at(120), None), None, "two steps late");
        for wrong in ["", "28708", "2870822", "abcdef", "００００００", &"1".repeat(10_000)] {
            assert_eq!(secret.check(wrong, at(59), None), None, "{wrong:.20}");
        }
    }

    #[test]
    fn enrolment_and_storage_keep_the_secret() {
        let secret = TotpSecret::generate();
        let kept = TotpSecret::from_base32(&secret.to_base32()).unwrap();
        assert_eq!(kept.0, secret.0);
        let uri = secret.enrolment_uri("Domainscope", "ada@alder.example").unwrap();
        assert!(uri.starts_with("otpauth://totp/") && uri.contains(&secret.to_base32()), "{uri}");
        assert!(TotpSecret::from_base32("AAAA").is_none());
    }

    #[test]
    fn recovery_codes_are_read_however_they_are_typed() {
        let codes = recovery_codes();
        assert_eq!(codes.len(), RECOVERY_CODES);
        let (code, hash) = &codes[0];
        assert_eq!(code.len(), 19);
        assert_eq!(recovery_hash(&code.to_uppercase().replace('-', " ")), *hash);
        assert_ne!(codes[1].1, *hash);
    }
}
