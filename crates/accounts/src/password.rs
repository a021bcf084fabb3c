//! Passwords: Argon2id (RFC 9106) with OWASP's parameters. A computation takes some 20 ms and 19 MiB, so that only a
//! few run at once, off the async workers, and the queue before them is bounded: sign-in under attack slows down, the
//! rest of the product does not.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Semaphore;

/// Fewest characters of a password (NIST SP 800-63B-4 asks for 15 where it is the only factor, 8 beside another one).
pub const MIN_CHARACTERS: usize = 12;
/// Most octets, so that hashing has a bound.
pub const MAX_OCTETS: usize = 256;
/// Fewest different characters.
const MIN_DISTINCT: usize = 5;
/// Callers that may wait for each computation under way.
const WAITING_PER_PERMIT: usize = 64;

/// Which rule a new password breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordRule {
    /// Too short.
    #[error("The password is too short: use at least {MIN_CHARACTERS} characters.")]
    TooShort,
    /// Too long.
    #[error("The password is too long: use at most {MAX_OCTETS} bytes.")]
    TooLong,
    /// A few characters repeated.
    #[error("The password repeats a few characters: use at least {MIN_DISTINCT} different ones.")]
    TooUniform,
    /// The e-mail address or name is in it and little else.
    #[error("The password is made of your name or e-mail address: choose another one.")]
    Personal,
}

/// Why a password was not computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// Too many others wait: try again later.
    #[error("too many sign-in attempts are in progress; try again in a few seconds")]
    Busy,
    /// The hash in the store can't be read, or hashing failed.
    #[error("the password can't be computed: {0}")]
    Broken(String),
}

/// Checks a new password. `personal`: e-mail address, name and the like.
///
/// # Errors
/// The first rule it breaks, as a sentence.
pub fn check_rules(password: &str, personal: &[&str]) -> Result<(), PasswordRule> {
    if password.chars().count() < MIN_CHARACTERS {
        return Err(PasswordRule::TooShort);
    }
    if password.len() > MAX_OCTETS {
        return Err(PasswordRule::TooLong);
    }
    if password.chars().collect::<BTreeSet<_>>().len() < MIN_DISTINCT {
        return Err(PasswordRule::TooUniform);
    }
    let lower = password.to_lowercase();
    let words = personal.iter().flat_map(|text| {
        let text = text.to_lowercase();
        let parts: Vec<String> = text.split(['@', ' ']).map(str::to_string).collect();
        [vec![text], parts].concat()
    });
    // What is left without the word must still be a few characters.
    let is_personal = |word: String| {
        word.chars().count() >= 4 && lower.contains(&word) && lower.replace(&word, "").chars().count() < 6
    };
    if words.into_iter().any(is_personal) { Err(PasswordRule::Personal) } else { Ok(()) }
}

/// Computes and verifies password hashes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Passwords {
    permits: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    most_waiting: usize,
    /// Hash of no one's password: verified for accounts that do not exist, so that both take the same time.
    decoy: Arc<str>,
}

impl Passwords {
    /// At most `at_once` computations at the same time (at least one).
    ///
    /// # Errors
    /// When the system has no random source.
    pub fn new(at_once: usize) -> Result<Passwords, PasswordError> {
        let at_once = at_once.max(1);
        Ok(Passwords {
            permits: Arc::new(Semaphore::new(at_once)),
            waiting: Arc::default(),
            most_waiting: at_once * WAITING_PER_PERMIT,
            decoy: compute("decoy of an account that does not exist")?.into(),
        })
    }

    /// The hash of a password as a PHC string, to be stored.
    ///
    /// # Errors
    /// [`PasswordError::Busy`] when too many wait already.
    pub async fn hash(&self, password: String) -> Result<String, PasswordError> {
        self.run(move || compute(&password)).await
    }

    /// True when `password` is the one `stored` was made of. Without a stored hash the answer is false after the same
    /// time.
    ///
    /// # Errors
    /// [`PasswordError::Busy`] when too many wait already.
    pub async fn verify(&self, password: String, stored: Option<&str>) -> Result<bool, PasswordError> {
        // The length limit bounds the cost of hashing.
        let fits = password.len() <= MAX_OCTETS;
        let hash = stored.unwrap_or(&self.decoy).to_string();
        let exists = stored.is_some() && fits;
        let password = if fits { password } else { String::new() };
        let matches = self
            .run(move || {
                let parsed = PasswordHash::new(&hash).map_err(broken)?;
                Ok(argon2()?.verify_password(password.as_bytes(), &parsed).is_ok())
            })
            .await?;
        Ok(matches && exists)
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, PasswordError> + Send + 'static,
    ) -> Result<T, PasswordError> {
        let _place = Place::take(&self.waiting, self.most_waiting)?;
        let permit = self.permits.clone().acquire_owned().await.map_err(broken)?;
        let done = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(permit);
            result
        });
        done.await.map_err(broken)?
    }
}

/// A place in the queue; given back when dropped, also when the caller went away.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize, most: usize) -> Result<Self, PasswordError> {
        let before = waiting.fetch_add(1, Ordering::AcqRel);
        let place = Place(waiting);
        if before >= most { Err(PasswordError::Busy) } else { Ok(place) }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn argon2() -> Result<Argon2<'static>, PasswordError> {
    // OWASP Password Storage Cheat Sheet: 19 MiB, two passes, one lane.
    let params = Params::new(19 * 1024, 2, 1, None).map_err(broken)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn compute(password: &str) -> Result<String, PasswordError> {
    let hash: PasswordHash = argon2()?.hash_password(password.as_bytes()).map_err(broken)?;
    Ok(hash.to_string())
}

fn broken(error: impl std::fmt::Display) -> PasswordError {
    PasswordError::Broken(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_named() {
        let personal = ["ada@alder.example", "Ada Lovelace"];
        for (password, rule) in [
            ("short", Err(PasswordRule::TooShort)),
            ("aaaaaaaaaaaaaaaaaa", Err(PasswordRule::TooUniform)),
            ("Ada@alder.example1", Err(PasswordRule::Personal)),
            ("adaLovelace2026", Ok(())),
            ("alder.example12", Err(PasswordRule::Personal)),
            ("correct horse battery", Ok(())),
            ("пароль длинный", Ok(())),
        ] {
            assert_eq!(check_rules(password, &personal), rule, "{password}");
        }
        assert_eq!(check_rules(&"abcdefgh".repeat(40), &[]), Err(PasswordRule::TooLong));
    }

    #[tokio::test]
    async fn only_the_right_password_verifies_and_no_account_takes_the_same_path() {
        let passwords = Passwords::new(2).unwrap();
        let stored = passwords.hash("correct horse battery".into()).await.unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(passwords.verify("correct horse battery".into(), Some(&stored)).await.unwrap());
        assert!(!passwords.verify("correct horse".into(), Some(&stored)).await.unwrap());
        assert!(!passwords.verify("decoy of an account that does not exist".into(), None).await.unwrap());
        assert!(!passwords.verify("x".repeat(1 << 20), Some(&stored)).await.unwrap());
        assert!(matches!(passwords.verify("x".into(), Some("broken")).await, Err(PasswordError::Broken(_))));
    }

    #[tokio::test]
    async fn the_queue_is_bounded_and_places_come_back() {
        let passwords = Passwords::new(1).unwrap();
        let permit = passwords.permits.clone().acquire_owned().await.unwrap();
        let waiting: Vec<_> = (0..WAITING_PER_PERMIT)
            .map(|_| {
                let passwords = passwords.clone();
                tokio::spawn(async move { passwords.verify("x".into(), None).await })
            })
            .collect();
        while passwords.waiting.load(Ordering::Acquire) < WAITING_PER_PERMIT {
            tokio::task::yield_now().await;
        }
        assert_eq!(passwords.verify("x".into(), None).await, Err(PasswordError::Busy));
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        for task in waiting {
            let _ = task.await;
        }
        assert_eq!(passwords.waiting.load(Ordering::Acquire), 0);
        drop(permit);
        assert_eq!(passwords.verify("x".into(), None).await, Ok(false));
    }
}
