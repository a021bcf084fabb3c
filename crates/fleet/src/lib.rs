//! One fleet: the identity of an installation, and the protocol between a server and its points of presence. No I/O.

mod accept;
mod claim;
mod keys;
mod protocol;
mod series;

pub use accept::{AnswerError, accept};
pub use claim::{
    CLAIMS_MAX, CLUSTERSET_CLAIM, ClaimError, ID_CLAIM, VALUE_MAX, check_claim, checked_id, new_id,
    suggested_id,
};
pub use keys::{KeyError, KeyPair, verify};
pub use protocol::{
    ANSWER_MAX, Answer, AnswerSent, Join, JoinToken, Joined, OLDEST_PROTOCOL, PROTOCOL, Poll, PollReply,
    Question, SignedRequest, Work,
};
pub use series::{HourLatency, LatencySeries};
