//! How people and programs prove who they are. Knows nothing of ours: no store, no HTTP.
//!
//! * [`secret`]: session ids, API tokens, invitation and reset links: random, shown once, hashed at rest.
//! * [`password`]: Argon2id (RFC 9106) with a bound on how many are computed at once.
//! * [`second_factor`]: TOTP (RFC 6238) and recovery codes.
//! * [`throttle`]: how long an account or an address must wait after failed attempts.
//! * [`session`]: when a session ends.

pub mod password;
pub mod second_factor;
pub mod secret;
pub mod session;
pub mod throttle;

pub use password::{PasswordError, PasswordRule, Passwords};
pub use secret::{Secret, SecretHash, SecretKind, random_id};
pub use session::SessionPolicy;
pub use throttle::{Throttle, ThrottleRule};
