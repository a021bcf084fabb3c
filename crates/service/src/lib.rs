//! What the product can do: one trait, its errors, its types, and the policy that says who may do what. No HTTP, no
//! storage, no network: pages, REST and tests know this crate; `product` implements it. Builds to wasm.

mod account;
mod backend;
mod error;
pub mod policy;
mod types;

pub use account::{
    AccountBackend, Enrolment, NewInvitation, NewToken, Organisation, Profile, TokenRequest, Usage,
};
pub use backend::{Backend, SharedBackend};
pub use error::{ApiError, ApiResult, ErrorKind};
pub use types::{CheckOutcome, ScanReport, Session};
