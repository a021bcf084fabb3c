//! Answers that stand for far more than their octets: thousands of records whose names are pointers (RFC 1035 section
//! 4.1.4). In: a question and how many records. Out: one message of 64 KB at most.

use hickory_proto::{
    op::{Message, Query},
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
    let mut records = Vec::new();
    let mut written = 0u16;
    for n in 0..count {
        let data = rdata(n);
        if 12 + question.len() + records.len() + 12 + data.len() > LARGEST {
            break;
        }
        records.extend(OWNER);
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
