//! A registry of address space in the way IANA runs one: claims for prefixes, allocated whole or refused with reasons.
//!
//! Pure: no I/O, no clock, knows nothing else of the product. [`prefix`] is the algebra of single prefixes, [`RangeSet`]
//! of sets of addresses, [`Space`] is who holds what, [`claim`] is what a component asks for and what it gets.
//!
//! A component that claims addresses uses the same types over any client of the resource API: [`client::Claiming`] says what
//! to send, waits and checks what came. `examples/claim.rs` does so with `kube`.

mod allocate;
pub mod claim;
pub mod client;
pub mod prefix;
mod ranges;
mod space;
mod view;
pub mod well_known;

pub use allocate::allocate;
pub use claim::{AddressRecord, AddressRequest, ClaimSpec, ClaimStatus, RecordState, Reference};
pub use ipnet::{IpNet, Ipv4Net, Ipv6Net};
pub use prefix::PrefixError;
pub use ranges::RangeSet;
pub use space::{Holder, Holding, Overlap, Policy, Space, Survey, Tenant};
pub use view::SpaceView;
