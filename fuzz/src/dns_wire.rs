//! Messages of name servers: read, shown, and compared with what another reader (hickory) makes of them.

use dns::present;
use dns::wire::{Data, Name, Reply, Rr};
use hickory_proto::op::Message;

/// Panics when a promise of the reader is broken.
pub fn check(data: &[u8]) {
    let Ok(reply) = Reply::read(data) else {
        return;
    };
    assert_eq!(reply.size, data.len());
    let records: Vec<&Rr> = reply.answers.iter().chain(&reply.authority).chain(&reply.additional).collect();
    // A record takes eleven octets at least.
    assert!(records.len() * 11 <= data.len(), "{} records in {} octets", records.len(), data.len());
    let mut shown = 0;
    for rr in &records {
        shown += one_record(rr);
    }
    // A record may point at a name of 255 octets, each shown as `\DDD`.
    assert!(
        shown <= records.len() * 8_192 + 32 * data.len(),
        "{shown} characters from {} octets",
        data.len()
    );
    let _ = (reply.nsid(), present::soa_of(&reply));
    second_opinion(data, &reply);
}

fn one_record(rr: &Rr) -> usize {
    name_survives(&rr.name);
    let record = present::record(rr);
    assert!(!record.rtype.is_empty());
    assert!(!record.data.contains(['\n', '\r', '\0']), "{:?} would break a line", record.data);
    if rr.data == Data::Malformed {
        assert!(record.data.starts_with("\\#"), "{:?} is shown as if it were sound", record.data);
    }
    for name in [match &rr.data {
        Data::Ns(n) | Data::Cname(n) | Data::Dname(n) | Data::Ptr(n) | Data::Mx(_, n) | Data::Nsec(n, _) => {
            Some(n)
        }
        _ => None,
    }]
    .into_iter()
    .flatten()
    {
        name_survives(name);
    }
    record.name.len() + record.data.len()
}

/// Shown and read again, a name is the same name.
fn name_survives(name: &Name) {
    assert!(name.wire_len() <= 255 && name.labels().all(|l| (1..=63).contains(&l.len())));
    let text = name.to_string();
    assert_eq!(Name::from_text(&text).as_ref(), Ok(name), "{text:?} is read as another name");
}

/// What hickory reads whole we must read alike: it is the stricter reader.
fn second_opinion(data: &[u8], ours: &Reply) {
    let Ok(theirs) = Message::from_vec(data) else { return };
    if ours.cut {
        return;
    }
    assert_eq!(ours.id, theirs.metadata.id);
    assert_eq!(ours.answers.len(), theirs.answers.len(), "answers");
    for (a, b) in ours.answers.iter().zip(&theirs.answers) {
        assert_eq!(a.rtype.0, u16::from(b.record_type()));
        assert_eq!(a.ttl, b.ttl);
        let labels: Vec<Vec<u8>> = b.name.iter().map(<[u8]>::to_ascii_lowercase).collect();
        assert_eq!(a.name.labels().collect::<Vec<_>>(), labels, "owner of an answer");
    }
}
