//! Questions to bytes and bytes to replies (RFC 1035 section 4, RFC 6891).
//! The reader is our own and lenient, because one odd record must not cost the whole message when the odd record is
//! what we are looking for; record types with no meaning here are rendered, and all cryptography done, by hickory.

mod canonical;
mod digest;
mod name;
mod question;
mod rdata;
mod reply;
mod rtype;

pub use digest::digest;
pub use name::Name;
pub use question::{Edns, Question};
pub use rdata::{Data, Dnskey, Nsec3, Rrsig, SoaData};
pub use reply::{EdnsReply, Reply, Rr};
pub use rtype::Rtype;

/// What was wrong with bytes that ought to be a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The message ends inside a field.
    #[error("the message ends too early")]
    Short,
    /// A name is longer than 255 octets or its pointers do not lead backwards.
    #[error("a name in the message is malformed")]
    BadName,
    /// More records than [`MAX_RECORDS`], or more memory than [`MAX_MEMORY`]: compression lets 64 KB of a message stand
    /// for many times as much.
    #[error("the message holds more than {MAX_RECORDS} records or {} KB of data, which no zone needs", MAX_MEMORY / 1024)]
    TooLarge,
}

/// Records of one message that are read.
pub const MAX_RECORDS: usize = 2_048;
/// Octets of memory one message may take once it is read.
pub const MAX_MEMORY: usize = 1 << 20;

/// RCODE mnemonics of the IANA registry that name servers use.
pub fn rcode_text(rcode: u16) -> String {
    match rcode {
        0 => "NOERROR",
        1 => "FORMERR",
        2 => "SERVFAIL",
        3 => "NXDOMAIN",
        4 => "NOTIMP",
        5 => "REFUSED",
        6 => "YXDOMAIN",
        7 => "YXRRSET",
        8 => "NXRRSET",
        9 => "NOTAUTH",
        10 => "NOTZONE",
        16 => "BADVERS",
        23 => "BADCOOKIE",
        other => return format!("RCODE{other}"),
    }
    .to_string()
}

/// Big-endian numbers at a place, or `Short`.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Result<u16, WireError> {
    match bytes.get(at..at + 2) {
        Some([a, b]) => Ok(u16::from_be_bytes([*a, *b])),
        _ => Err(WireError::Short),
    }
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Result<u32, WireError> {
    match bytes.get(at..at + 4) {
        Some([a, b, c, d]) => Ok(u32::from_be_bytes([*a, *b, *c, *d])),
        _ => Err(WireError::Short),
    }
}
