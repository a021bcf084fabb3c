//! A message that came back, read leniently: a record whose RDATA makes no sense keeps its raw octets.

use super::{Data, Name, Rtype, WireError, u16_at, u32_at};

/// One record of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rr {
    /// Owner, lower case.
    pub name: Name,
    /// Type.
    pub rtype: Rtype,
    /// Class.
    pub class: u16,
    /// TTL in seconds.
    pub ttl: u32,
    /// RDATA with names uncompressed and, where RFC 4034 section 6.2 says so, in lower case.
    pub raw: Vec<u8>,
    /// RDATA as we understand it.
    pub data: Data,
}

/// EDNS of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdnsReply {
    /// Version.
    pub version: u8,
    /// Their UDP payload size.
    pub payload: u16,
    /// DO bit.
    pub dnssec_ok: bool,
    /// The other flag bits.
    pub z: u16,
    /// Options by code.
    pub options: Vec<(u16, Vec<u8>)>,
}

/// A reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Message id.
    pub id: u16,
    /// OPCODE.
    pub opcode: u8,
    /// RCODE with the bits of EDNS.
    pub rcode: u16,
    /// AA bit.
    pub aa: bool,
    /// TC bit.
    pub tc: bool,
    /// RA bit.
    pub ra: bool,
    /// Name (as [`Name::read_exact`] gives it, letters as sent), type and class of the question section, when there is one.
    pub question: Option<(Vec<u8>, Rtype, u16)>,
    /// Answer section.
    pub answers: Vec<Rr>,
    /// Authority section.
    pub authority: Vec<Rr>,
    /// Additional section without OPT.
    pub additional: Vec<Rr>,
    /// EDNS, when the reply has it.
    pub edns: Option<EdnsReply>,
    /// Octets of the message.
    pub size: usize,
    /// Octets of memory the reply takes, at most [`super::MAX_MEMORY`].
    pub memory: usize,
    /// True when records are missing because the message ends too early though TC is not set.
    pub cut: bool,
}

impl Reply {
    /// Reads a message. The header and the question must be whole; the records are read as far as they go.
    ///
    /// # Errors
    /// [`WireError::TooLarge`] past the bounds on records and memory; the others for what is no reply, or one that lacks
    /// records without saying so.
    pub fn read(message: &[u8]) -> Result<Self, WireError> {
        if message.len() < 12 {
            return Err(WireError::Short);
        }
        let flags = u16_at(message, 2)?;
        if flags & 0x8000 == 0 {
            return Err(WireError::BadName);
        }
        let mut reply = Reply {
            id: u16_at(message, 0)?,
            opcode: ((flags >> 11) & 15) as u8,
            rcode: flags & 15,
            aa: flags & 0x0400 != 0,
            tc: flags & 0x0200 != 0,
            ra: flags & 0x0080 != 0,
            question: None,
            answers: Vec::new(),
            authority: Vec::new(),
            additional: Vec::new(),
            edns: None,
            size: message.len(),
            memory: size_of::<Reply>(),
            cut: false,
        };
        let mut at = 12;
        for _ in 0..u16_at(message, 4)? {
            let (_, exact, end) = Name::read_exact(message, at)?;
            let (rtype, class) = (Rtype(u16_at(message, end)?), u16_at(message, end + 2)?);
            reply.question.get_or_insert((exact, rtype, class));
            at = end + 4;
        }
        let counts = [u16_at(message, 6)?, u16_at(message, 8)?, u16_at(message, 10)?];
        // Counts of the header are only claims: they don't decide about memory.
        let mut records = 0;
        'sections: for (section, count) in counts.into_iter().enumerate() {
            for _ in 0..count {
                match Rr::read(message, at) {
                    Ok((rr, end)) => {
                        at = end;
                        records += 1;
                        reply.memory += rr.memory();
                        if records > super::MAX_RECORDS || reply.memory > super::MAX_MEMORY {
                            return Err(WireError::TooLarge);
                        }
                        match section {
                            _ if rr.rtype == Rtype::OPT => reply.take_opt(&rr),
                            0 => reply.answers.push(rr),
                            1 => reply.authority.push(rr),
                            _ => reply.additional.push(rr),
                        }
                    }
                    Err(_) => {
                        reply.cut = true;
                        break 'sections;
                    }
                }
            }
        }
        // Without TC such a message is garbage: an answer that lacks records would be a lie.
        if reply.cut && !reply.tc { Err(WireError::Short) } else { Ok(reply) }
    }

    fn take_opt(&mut self, opt: &Rr) {
        let mut options = Vec::new();
        let mut at = 0;
        while let (Ok(code), Ok(length)) = (u16_at(&opt.raw, at), u16_at(&opt.raw, at + 2)) {
            let Some(data) = opt.raw.get(at + 4..at + 4 + length as usize) else { break };
            options.push((code, data.to_vec()));
            at += 4 + length as usize;
        }
        self.rcode |= ((opt.ttl >> 24) as u16) << 4;
        self.edns = Some(EdnsReply {
            version: (opt.ttl >> 16) as u8,
            payload: opt.class,
            dnssec_ok: opt.ttl & 0x8000 != 0,
            z: (opt.ttl & 0x7FFF) as u16,
            options,
        });
    }

    /// Answers of one type at one name.
    pub fn answers_of<'a>(&'a self, name: &'a Name, rtype: Rtype) -> impl Iterator<Item = &'a Rr> + 'a {
        self.answers.iter().filter(move |rr| rr.rtype == rtype && rr.name == *name)
    }

    /// The name server identifier: as text when it is printable, else in hexadecimal.
    pub fn nsid(&self) -> Option<String> {
        let (_, data) = self.edns.as_ref()?.options.iter().find(|(code, _)| *code == super::Edns::NSID)?;
        if data.is_empty() {
            return None;
        }
        Some(match std::str::from_utf8(data) {
            Ok(text) if text.chars().all(|c| !c.is_control()) => text.to_string(),
            _ => data_encoding::HEXLOWER.encode(data),
        })
    }
}

impl Rr {
    /// Reads a record at a place of a message and says where it ends.
    ///
    /// # Errors
    /// [`WireError::Short`] when the message ends inside it; RDATA that makes no sense is no error.
    pub fn read(message: &[u8], start: usize) -> Result<(Self, usize), WireError> {
        let (name, at) = Name::read(message, start)?;
        let rtype = Rtype(u16_at(message, at)?);
        let class = u16_at(message, at + 2)?;
        let ttl = u32_at(message, at + 4)?;
        let length = u16_at(message, at + 8)? as usize;
        let from = at + 10;
        if message.len() < from + length {
            return Err(WireError::Short);
        }
        let (raw, data) = Data::read(message, from, length, rtype);
        Ok((Rr { name, rtype, class, ttl, raw, data }, from + length))
    }

    /// Octets of memory the record takes.
    pub fn memory(&self) -> usize {
        size_of::<Rr>() + self.name.memory() + self.raw.len() + self.data.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reading_bytes_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = Reply::read(&bytes);
            // The same with a header that lets the reader in.
            let mut message = vec![0, 1, 0x84, 0, 0, 1, 0, 2, 0, 1, 0, 1];
            message.extend(&bytes);
            let _ = Reply::read(&message);
        }
    }

    #[test]
    fn a_message_without_its_records_is_garbage_unless_truncated() {
        let mut message = vec![0, 1, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        assert_eq!(Reply::read(&message), Err(WireError::Short));
        message[2] |= 0x02;
        assert!(Reply::read(&message).unwrap().cut);
        message[2] = 0;
        assert!(Reply::read(&message).is_err(), "a question is no reply");
    }

    /// A reply of NS records whose owners and targets all point at one name of nearly the greatest length.
    fn swollen(records: u16, label: u8) -> Vec<u8> {
        let mut message = vec![0, 1, 0x84, 0, 0, 0];
        message.extend(records.to_be_bytes());
        message.extend([0; 4]);
        let long = message.len() as u16;
        for _ in 0..3 {
            message.push(62);
            message.extend([label; 62]);
        }
        message.extend([60; 1]);
        message.extend([label; 60]);
        message.push(0);
        let mut rest = message.split_off(usize::from(long));
        // The first record's owner holds the long name, the others point at it.
        for n in 0..records {
            if n == 0 {
                message.append(&mut rest);
            } else {
                message.extend((0xC000 | long).to_be_bytes());
            }
            message.extend([0, 2, 0, 1, 0, 0, 0, 60, 0, 2]);
            message.extend((0xC000 | long).to_be_bytes());
        }
        message
    }

    #[test]
    fn more_records_or_memory_than_any_zone_needs_are_refused() {
        let fine = Reply::read(&swollen(500, b'a')).unwrap();
        assert_eq!(fine.answers.len(), 500);
        assert!(fine.memory > 500 * 3 * 250 && fine.memory <= crate::wire::MAX_MEMORY, "{}", fine.memory);
        // 65 KB that stand for 4 MB.
        assert_eq!(Reply::read(&swollen(4_600, b'a')), Err(WireError::TooLarge));
        // Small records: the number counts.
        let many = |n: u16| {
            let mut message = vec![0, 1, 0x84, 0, 0, 0];
            message.extend(n.to_be_bytes());
            message.extend([0; 4]);
            (0..n).for_each(|_| message.extend([0, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1]));
            Reply::read(&message).map(|r| r.answers.len())
        };
        assert_eq!((many(2_048), many(2_049)), (Ok(2_048), Err(WireError::TooLarge)));
    }
}
