//! Behaviours of servers by test case, with the tags that the specification gives for them.

pub mod arguments;
pub mod cds;
pub mod delegation;
pub mod denial;
pub mod keys;
pub mod parameters;
pub mod signatures;

use crate::catalogue::Behaviour;
use crate::sealed::*;
use crate::signed::*;
use hickory_proto::op::{Message, ResponseCode};

pub type Make = fn(&Message, Message) -> Option<Message>;

/// All is right: signed with NSEC.
pub const WELL: Make = |q, r| nsec(NAME).answer(q, r);
/// All is right: signed with NSEC3.
pub const WELL3: Make = |q, r| nsec3(NAME).answer(q, r);
/// Not signed at all.
pub const BARE: Make = |q, r| unsigned(NAME).answer(q, r);
pub const SILENT_FOR_KEYS: Make = |q, r| nsec(NAME).fails(DNSKEY, Failure::Silence).answer(q, r);
pub const REFUSES_KEYS: Make =
    |q, r| nsec(NAME).fails(DNSKEY, Failure::Code(ResponseCode::Refused)).answer(q, r);
pub const KEYS_WITHOUT_AUTHORITY: Make = |q, r| nsec(NAME).fails(DNSKEY, Failure::NoAuthority).answer(q, r);
pub const SILENT: Make = |_, _| None;

/// Nothing is wrong in this one.
pub fn healthy(behaviour: Behaviour) -> Behaviour {
    Behaviour { healthy: true, ..behaviour }
}
