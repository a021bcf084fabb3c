//! DNS messages of clients: queries, parsed strictly, and responses with compressed owner names, padding and extended
//! errors (RFC 1035 section 4, RFC 6891, RFC 7830, RFC 8467, RFC 8914).

use crate::codes::{ExtendedError, rcode};
use dns::wire::{Name, Rr, Rtype};
use std::collections::HashMap;

/// Octets of the longest DNS message.
pub(crate) const MAX_MESSAGE: usize = 65_535;
/// Responses are padded to a multiple of this (RFC 8467 section 4.1).
const PADDING_BLOCK: usize = 468;
/// UDP payload size in responses; it has no meaning over HTTP.
const UDP_PAYLOAD_SIZE: u16 = 1232;

const PADDING: u16 = 12;
const EXTENDED_ERROR: u16 = 15;

/// Where a response comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// No lookup is needed: an error, or a local zone.
    Nowhere,
    /// Entirely from the cache.
    Cache,
    /// At least one name had to be looked up.
    Lookup,
    /// At least one part is stale (RFC 8767).
    Stale,
}

/// A response, encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub octets: Vec<u8>,
    /// Freshness lifetime for HTTP caches, in seconds (RFC 8484 section 5.1).
    pub lifetime: u32,
    pub rcode: u16,
    pub source: Source,
}

/// EDNS of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edns {
    pub version: u8,
    pub dnssec_ok: bool,
    /// The query has a padding option.
    pub padded: bool,
}

/// A query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Query {
    pub id: u16,
    /// RD.
    pub recursion: bool,
    /// AD: the client understands the AD bit.
    pub authentic: bool,
    /// CD: the client validates by itself.
    pub unchecked: bool,
    pub name: Name,
    /// The name in wire form with its letter case as received.
    pub exact: Vec<u8>,
    pub rtype: Rtype,
    pub class: u16,
    pub edns: Option<Edns>,
}

/// Why a message cannot be answered as a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// It is not a DNS query; the text says why.
    Malformed(&'static str),
    /// It is answered with an error: ID, bits of the third header octet to repeat, RCODE.
    Rejected(u16, u8, u16),
}

fn two(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

impl Query {
    pub(crate) fn read(message: &[u8]) -> Result<Self, ReadError> {
        use ReadError::Malformed;
        let short = Malformed("the message is shorter than the header of a DNS message");
        let cut = Malformed("the message ends too early or holds a malformed name");
        let [Some(id), Some(flags), Some(questions)] = [0, 2, 4].map(|at| two(message, at)) else {
            return Err(short);
        };
        let counts = [6, 8, 10].map(|at| two(message, at));
        let [Some(answers), Some(authority), Some(additional)] = counts else { return Err(short) };
        if flags & 0x8000 != 0 {
            return Err(Malformed("the message is a response, not a query"));
        }
        // Every response repeats OPCODE and RD.
        let wrong = |rcode| ReadError::Rejected(id, (flags >> 8) as u8 & 0x79, rcode);
        if flags & 0x7800 != 0 {
            return Err(wrong(rcode::NOTIMP));
        }
        if questions != 1 {
            return Err(wrong(rcode::FORMERR));
        }
        let (name, exact, at) = Name::read_exact(message, 12).map_err(|_| cut.clone())?;
        let (Some(rtype), Some(class)) = (two(message, at), two(message, at + 2)) else { return Err(cut) };
        let mut at = at + 4;
        let mut edns = None;
        let mut bad_edns = false;
        for n in 0..u32::from(answers) + u32::from(authority) + u32::from(additional) {
            let (rr, end) = Rr::read(message, at).map_err(|_| cut.clone())?;
            at = end;
            if rr.rtype == Rtype::OPT {
                let in_place = n >= u32::from(answers) + u32::from(authority) && rr.name.is_root();
                bad_edns |= edns.is_some() || !in_place;
                match padded(&rr.raw) {
                    Some(padded) => {
                        edns = Some(Edns {
                            version: (rr.ttl >> 16) as u8,
                            dnssec_ok: rr.ttl & 0x8000 != 0,
                            padded,
                        });
                    }
                    None => bad_edns = true,
                }
            }
        }
        if at != message.len() {
            return Err(Malformed("octets follow the end of the message"));
        }
        if bad_edns {
            return Err(wrong(rcode::FORMERR));
        }
        Ok(Query {
            id,
            recursion: flags & 0x0100 != 0,
            authentic: flags & 0x0020 != 0,
            unchecked: flags & 0x0010 != 0,
            name,
            exact,
            rtype: Rtype(rtype),
            class,
            edns,
        })
    }

    /// Encodes the query.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let flags = u8::from(self.authentic) << 5 | u8::from(self.unchecked) << 4;
        let mut out = self.id.to_be_bytes().to_vec();
        out.extend([u8::from(self.recursion), flags, 0, 1, 0, 0, 0, 0, 0, u8::from(self.edns.is_some())]);
        out.extend(self.name.to_wire());
        out.extend(self.rtype.0.to_be_bytes());
        out.extend(self.class.to_be_bytes());
        if let Some(edns) = self.edns {
            out.extend([0, 0, 41]);
            out.extend(UDP_PAYLOAD_SIZE.to_be_bytes());
            out.extend([0, edns.version, u8::from(edns.dnssec_ok) << 7, 0, 0, 0]);
        }
        out
    }

    pub(crate) fn dnssec_ok(&self) -> bool {
        self.edns.is_some_and(|e| e.dnssec_ok)
    }
}

/// Returns whether there is a padding option; `None` if the options are malformed.
pub(crate) fn padded(options: &[u8]) -> Option<bool> {
    let (mut at, mut found) = (0, false);
    while at < options.len() {
        found |= two(options, at)? == PADDING;
        at += 4 + usize::from(two(options, at + 2)?);
    }
    (at == options.len()).then_some(found)
}

/// The question section of a response.
#[derive(Debug, Clone)]
pub(crate) struct QuestionSection {
    pub name: Name,
    /// The name in wire form with its letter case as received.
    pub exact: Vec<u8>,
    pub rtype: Rtype,
    pub class: u16,
}

/// The parts of a response other than its records.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResponseHead {
    pub id: u16,
    /// OPCODE and RD of the query, at their places in the third header octet.
    pub repeated: u8,
    pub unchecked: bool,
    pub authentic: bool,
    pub rcode: u16,
    /// The question section.
    pub question: Option<QuestionSection>,
    /// DO bit of the query; `None` for a response without EDNS.
    pub edns: Option<bool>,
    pub pad: bool,
    pub explained: Option<ExtendedError>,
}

impl ResponseHead {
    /// The head of a response to `query`.
    pub(crate) fn to(query: &Query, rcode: u16) -> Self {
        ResponseHead {
            id: query.id,
            repeated: u8::from(query.recursion),
            unchecked: query.unchecked,
            authentic: false,
            rcode,
            question: Some(QuestionSection {
                name: query.name.clone(),
                exact: query.exact.clone(),
                rtype: query.rtype,
                class: query.class,
            }),
            edns: query.edns.map(|e| e.dnssec_ok),
            pad: query.edns.is_some_and(|e| e.padded),
            explained: None,
        }
    }
}

/// A record with its remaining TTL in seconds.
pub(crate) type RecordWithTtl<'a> = (&'a Rr, u32);

/// Pairs records with their original TTLs.
pub(crate) fn with_own_ttls(records: &[Rr]) -> Vec<RecordWithTtl<'_>> {
    records.iter().map(|rr| (rr, rr.ttl)).collect()
}

/// An encoded message and the offsets of its TTL fields.
pub(crate) struct Encoded {
    pub octets: Vec<u8>,
    pub ttls: Vec<usize>,
}

/// Encodes a response; one that would be too long has TC set and no records.
pub(crate) fn encode(
    head: &ResponseHead,
    answers: &[RecordWithTtl<'_>],
    authority: &[RecordWithTtl<'_>],
) -> Encoded {
    let mut out = Writer::default();
    out.header(head, answers.len(), authority.len(), false);
    for (rr, ttl) in answers.iter().chain(authority) {
        out.record(rr, *ttl);
        if out.bytes.len() > MAX_MESSAGE - 512 {
            out = Writer::default();
            out.header(head, 0, 0, true);
            break;
        }
    }
    out.opt(head);
    Encoded { octets: out.bytes, ttls: out.ttls }
}

#[derive(Default)]
struct Writer<'a> {
    bytes: Vec<u8>,
    /// Where names (in lower case) stand already.
    places: HashMap<&'a [u8], u16>,
    ttls: Vec<usize>,
}

impl<'a> Writer<'a> {
    fn header(&mut self, head: &'a ResponseHead, answers: usize, authority: usize, truncated: bool) {
        let count = |n: usize| u16::try_from(n).unwrap_or(u16::MAX).to_be_bytes();
        self.bytes.reserve(512);
        self.bytes.extend(head.id.to_be_bytes());
        self.bytes.push(0x80 | (head.repeated & 0x79) | if truncated { 2 } else { 0 });
        // RA, AD, CD.
        let second = 0x80 | u8::from(head.authentic) << 5 | u8::from(head.unchecked) << 4;
        self.bytes.push(second | (head.rcode & 15) as u8);
        self.bytes.extend(count(usize::from(head.question.is_some())));
        self.bytes.extend(count(answers));
        self.bytes.extend(count(authority));
        self.bytes.extend(count(usize::from(head.edns.is_some())));
        if let Some(asked) = &head.question {
            let (start, octets) = (self.bytes.len(), asked.name.octets());
            let mut at = 0;
            while let Some(length) = octets.get(at) {
                self.places.insert(&octets[at..], (start + at) as u16);
                at += 1 + usize::from(*length);
            }
            self.bytes.extend_from_slice(&asked.exact);
            self.bytes.push(0);
            self.bytes.extend(asked.rtype.0.to_be_bytes());
            self.bytes.extend(asked.class.to_be_bytes());
        }
    }

    fn record(&mut self, rr: &'a Rr, ttl: u32) {
        self.owner(&rr.name);
        self.bytes.extend(rr.rtype.0.to_be_bytes());
        self.bytes.extend(rr.class.to_be_bytes());
        self.ttls.push(self.bytes.len());
        self.bytes.extend(ttl.to_be_bytes());
        self.bytes.extend(u16::try_from(rr.raw.len()).unwrap_or(0).to_be_bytes());
        self.bytes.extend_from_slice(&rr.raw);
    }

    fn owner(&mut self, name: &'a Name) {
        let mut rest = name.octets();
        while let Some(length) = rest.first() {
            if let Some(place) = self.places.get(rest) {
                self.bytes.extend((0xC000 | place).to_be_bytes());
                return;
            }
            if let Ok(place @ 0..=0x3FFF) = u16::try_from(self.bytes.len()) {
                self.places.insert(rest, place);
            }
            let (label, after) = rest.split_at(1 + usize::from(*length));
            self.bytes.extend_from_slice(label);
            rest = after;
        }
        self.bytes.push(0);
    }

    fn opt(&mut self, head: &ResponseHead) {
        let Some(dnssec_ok) = head.edns else { return };
        self.bytes.extend([0, 0, 41]);
        self.bytes.extend(UDP_PAYLOAD_SIZE.to_be_bytes());
        self.bytes.extend([(head.rcode >> 4) as u8, 0, if dnssec_ok { 0x80 } else { 0 }, 0]);
        let mut options = Vec::new();
        if let Some((code, words)) = &head.explained {
            // Short, so that the sentence never costs a record.
            let words: String = words.chars().take(120).collect();
            options.extend(EXTENDED_ERROR.to_be_bytes());
            options.extend((words.len() as u16 + 2).to_be_bytes());
            options.extend(code.to_be_bytes());
            options.extend(words.as_bytes());
        }
        if head.pad {
            let so_far = self.bytes.len() + 2 + options.len() + 4;
            let zeros =
                (so_far.div_ceil(PADDING_BLOCK) * PADDING_BLOCK).min(MAX_MESSAGE) - so_far.min(MAX_MESSAGE);
            options.extend(PADDING.to_be_bytes());
            options.extend((zeros as u16).to_be_bytes());
            options.resize(options.len() + zeros, 0);
        }
        self.bytes.extend((options.len() as u16).to_be_bytes());
        self.bytes.extend(options);
    }
}
