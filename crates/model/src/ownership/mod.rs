//! Proof of control over a domain (SPEC section 7): challenges, what the authoritative servers returned for them, and
//! what follows for a claim over time.
//!
//! Pure: in come a challenge, the servers' answers and `now`; out come a verdict, a diagnosis and the claim's next
//! state. Follows draft-ietf-dnsop-domain-verification-techniques.
//!
//! * [`challenge`]: nonces, methods and the records to publish.
//! * [`scope`]: which names can be claimed, and what a proof covers (public suffix rules).
//! * [`round`]: one round of questions to every authoritative server, judged.
//! * [`near_miss`]: why a record that is almost right does not count.
//! * [`claim`]: the life of a claim: pending, verified, grace, lapsed, contested.
//! * [`decide`](mod@decide): what a round means for the claims of other organisations to the same name.
//! * [`view`]: what pages and the API show.

pub mod challenge;
pub mod claim;
pub mod decide;
pub mod near_miss;
pub mod round;
#[cfg(feature = "names")]
pub mod scope;
pub mod view;

pub use challenge::{Challenge, ExpectedRecord, Method, Nonce};
pub use claim::{Claim, ClaimEvent, ClaimPolicy, ClaimState};
pub use decide::{Decided, decide};
pub use near_miss::NearMiss;
pub use round::{Elsewhere, Observed, Outcome, Reply, Round, ServerAnswer, ServerVerdict, Value};
pub use view::{ClaimBadge, ClaimRecord, ClaimView, Offer, Standing};

#[cfg(test)]
mod tests;
