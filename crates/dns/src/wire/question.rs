//! The one kind of message we send: a single question, with or without EDNS (RFC 6891).

use super::{Name, Rtype};

/// EDNS parameters of a question.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Edns {
    /// Version, 0 except when a server is tested.
    pub version: u8,
    /// UDP payload size we accept.
    pub payload: u16,
    /// DO bit (RFC 4035).
    pub dnssec_ok: bool,
    /// The fifteen flag bits besides DO; 0 except when a server is tested.
    pub z: u16,
    /// Options by code.
    pub options: Vec<(u16, Vec<u8>)>,
}

impl Edns {
    /// Code of the NSID option (RFC 5001).
    pub const NSID: u16 = 3;

    /// What every ordinary question carries: NSID wanted, a payload size that avoids fragments.
    pub fn ordinary(dnssec_ok: bool) -> Self {
        Edns { version: 0, payload: 1232, dnssec_ok, z: 0, options: vec![(Edns::NSID, Vec::new())] }
    }
}

/// A question to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Question {
    /// Name asked for.
    pub name: Name,
    /// Type asked for.
    pub rtype: Rtype,
    /// Class; IN except for `hostname.bind` and its kin.
    pub class: u16,
    /// RD bit.
    pub recursion: bool,
    /// EDNS, or none.
    pub edns: Option<Edns>,
}

impl Question {
    /// An ordinary question of class IN.
    pub fn new(name: Name, rtype: Rtype) -> Self {
        Question { name, rtype, class: 1, recursion: false, edns: Some(Edns::ordinary(false)) }
    }

    /// Returns the message with letters in upper case where `upper` says so, and the name as it was written: its wire
    /// form without the root's length octet.
    pub(crate) fn encode(&self, id: u16, edns: bool, mut upper: impl FnMut() -> bool) -> (Vec<u8>, Vec<u8>) {
        // Length octets are no letters.
        let mut exact = self.name.octets().to_vec();
        for byte in &mut exact {
            if byte.is_ascii_lowercase() && upper() {
                byte.make_ascii_uppercase();
            }
        }
        let edns = self.edns.as_ref().filter(|_| edns);
        let mut out = Vec::with_capacity(64);
        out.extend(id.to_be_bytes());
        out.extend([u8::from(self.recursion), 0, 0, 1, 0, 0, 0, 0, 0, u8::from(edns.is_some())]);
        out.extend_from_slice(&exact);
        out.push(0);
        out.extend(self.rtype.0.to_be_bytes());
        out.extend(self.class.to_be_bytes());
        if let Some(edns) = edns {
            out.extend([0, 0, 41]);
            out.extend(edns.payload.to_be_bytes());
            out.extend([0, edns.version]);
            let flags = (edns.z & 0x7FFF) | if edns.dnssec_ok { 0x8000 } else { 0 };
            out.extend(flags.to_be_bytes());
            let length: usize = edns.options.iter().map(|(_, data)| data.len() + 4).sum();
            out.extend((length as u16).to_be_bytes());
            for (code, data) in &edns.options {
                out.extend(code.to_be_bytes());
                out.extend((data.len() as u16).to_be_bytes());
                out.extend_from_slice(data);
            }
        }
        (out, exact)
    }
}
