//! Rules of cluster claims, after KEP-2149 (ClusterId): `id.k8s.io` names an installation, `clusterset.k8s.io` the set it
//! is a member of.

use ring::rand::{SecureRandom, SystemRandom};

/// The claim that names the installation.
pub const ID_CLAIM: &str = "id.k8s.io";
/// The claim that names the set; it is there exactly while the installation is a member.
pub const CLUSTERSET_CLAIM: &str = "clusterset.k8s.io";
/// Octets of a value, and of the values of all claims but the two of identity together.
pub const VALUE_MAX: usize = 128 << 10;
/// Most claims but the two of identity.
pub const CLAIMS_MAX: u64 = 500;
/// Suffixes of names that are not for operators.
const RESERVED: [&str; 3] = ["k8s.io", "kubernetes.io", "sigs.k8s.io"];

/// Why a claim is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    /// The name ends in a reserved suffix.
    #[error("“{0}” is reserved: names that end in {1} are, except id.k8s.io and clusterset.k8s.io")]
    Reserved(String, &'static str),
    /// The name is not an RFC 1123 subdomain.
    #[error("“{0}” is not a valid name: lower-case letters, digits, “-” and “.”, at most 253 characters")]
    Name(String),
    /// The value is too long.
    #[error("the value of {0} has {1} octets, the limit is 131072")]
    TooLong(String, usize),
    /// The value of one of the two claims of identity is no label.
    #[error(
        "“{0}” is not an RFC 1123 label: 1 to 63 lower-case letters, digits and “-”, beginning and ending with a letter or digit"
    )]
    Label(String),
}

fn is_label(text: &str) -> bool {
    let edge = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    text.len() <= 63
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && edge(text.as_bytes().first())
        && edge(text.as_bytes().last())
}

fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Checks an identity.
///
/// # Errors
/// [`ClaimError::Label`].
pub fn checked_id(text: &str) -> Result<&str, ClaimError> {
    if is_label(text) { Ok(text) } else { Err(ClaimError::Label(shown(text))) }
}

/// Checks name and value of a claim.
///
/// # Errors
/// The rule that it breaks, with what breaks it.
pub fn check_claim(name: &str, value: &str) -> Result<(), ClaimError> {
    if name.len() > 253 || !name.split('.').all(is_label) {
        return Err(ClaimError::Name(shown(name)));
    }
    if value.len() > VALUE_MAX {
        return Err(ClaimError::TooLong(shown(name), value.len()));
    }
    if matches!(name, ID_CLAIM | CLUSTERSET_CLAIM) {
        return checked_id(value).map(drop);
    }
    // The longest suffix that fits is the one to name.
    let reserved = RESERVED
        .into_iter()
        .rev()
        .find(|suffix| name == *suffix || name.strip_suffix(suffix).is_some_and(|rest| rest.ends_with('.')));
    reserved.map_or(Ok(()), |suffix| Err(ClaimError::Reserved(shown(name), suffix)))
}

/// A new identity: a random UUID (RFC 9562, version 4), which is a label too.
pub fn new_id() -> String {
    let mut bytes = [0_u8; 16];
    // Without a random source nothing else of the program works either.
    let _ = SystemRandom::new().fill(&mut bytes);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = data_encoding::HEXLOWER.encode(&bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// An identity to propose where `taken` is: `sin-1` → `sin-2`.
pub fn suggested_id(taken: &str, is_free: impl Fn(&str) -> bool) -> String {
    let (stem, n) = match taken.rsplit_once('-') {
        Some((stem, n)) if n.len() <= 4 && n.parse::<u32>().is_ok() => (stem, n.parse().unwrap_or(1)),
        _ => (taken, 1),
    };
    let stem: String = stem.chars().take(57).collect();
    let stem = stem.trim_end_matches('-');
    let mut candidates = (n + 1..n + 1000).map(|n| format!("{stem}-{n}"));
    candidates.find(|c| is_free(c)).unwrap_or_else(new_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_follow_the_rules() {
        assert!(check_claim(ID_CLAIM, &new_id()).is_ok());
        assert!(check_claim(CLUSTERSET_CLAIM, "alder-fleet").is_ok());
        assert!(check_claim("region.alder.example", "anything at all, ü").is_ok());
        assert!(check_claim("notes.alder.example", &"x".repeat(VALUE_MAX)).is_ok());
        let wrong = |name: &str, value: &str| check_claim(name, value).unwrap_err().to_string();
        assert!(wrong(ID_CLAIM, "Alder").contains("RFC 1123 label"));
        assert!(wrong(ID_CLAIM, "a.b").contains("RFC 1123 label"));
        assert!(wrong(CLUSTERSET_CLAIM, "").contains("RFC 1123 label"));
        assert!(wrong("x.k8s.io", "1").contains("k8s.io"));
        assert!(wrong("k8s.io", "1").contains("reserved"));
        assert!(wrong("x.sigs.k8s.io", "1").contains("end in sigs.k8s.io"));
        assert!(wrong("a.kubernetes.io", "1").contains("kubernetes.io"));
        assert!(check_claim("notk8s.io", "1").is_ok(), "another domain");
        assert!(wrong("Upper.example", "1").contains("lower-case"));
        assert!(wrong("big.example", &"x".repeat(VALUE_MAX + 1)).contains("131073"));
    }

    #[test]
    fn a_taken_identity_has_a_suggestion() {
        assert_eq!(suggested_id("sin-1", |id| id != "sin-2"), "sin-3");
        assert_eq!(suggested_id("sydney", |_| true), "sydney-2");
        let long = "a".repeat(63);
        assert!(checked_id(&suggested_id(&long, |_| true)).is_ok());
    }
}
