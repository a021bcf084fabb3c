//! RDATA with names in it, of types this crate does not look into further: names whole and in lower case, as signatures
//! are made over them (RFC 4034 section 6.2, RFC 6840 section 5.1) and as older servers compress them (RFC 3597 section 4).
//! In: RDATA at a place of a message. Out: its canonical octets.

use super::{Name, Rtype, WireError};

/// Octets before the names, names, and whether octets may follow.
struct Layout(usize, usize, bool);

/// `None`: names in RDATA of this type, if there are any, stay as they are.
fn layout(octets: &[u8], rtype: Rtype) -> Option<Result<Layout, WireError>> {
    Some(Ok(match rtype {
        // MD, MF, MB, MG, MR.
        Rtype(3 | 4 | 7..=9) => Layout(0, 1, false),
        // MINFO.
        Rtype(14) | Rtype::RP => Layout(0, 2, false),
        // RT and KX.
        Rtype(21 | 36) | Rtype::AFSDB => Layout(2, 1, false),
        // PX.
        Rtype(26) => Layout(2, 2, false),
        // NXT.
        Rtype(30) => Layout(0, 1, true),
        Rtype::SIG => Layout(18, 1, true),
        Rtype::SRV => Layout(6, 1, false),
        Rtype::NAPTR => return Some(after_strings(octets, 4, 3).map(|at| Layout(at, 1, false))),
        // A6: the length of a prefix, the rest of the address, and the prefix's name unless there is none.
        Rtype(38) => match octets.first() {
            Some(prefix @ 0..=128) => {
                Layout(1 + (128 - usize::from(*prefix)).div_ceil(8), usize::from(*prefix > 0), false)
            }
            _ => return Some(Err(WireError::Short)),
        },
        _ => return None,
    }))
}

/// Where so many character strings end.
fn after_strings(octets: &[u8], start: usize, count: usize) -> Result<usize, WireError> {
    (0..count).try_fold(start, |at, _| {
        octets.get(at).map(|length| at + 1 + usize::from(*length)).ok_or(WireError::Short)
    })
}

/// The canonical octets; `None` when those that were sent are.
pub(super) fn canonical(
    message: &[u8],
    start: usize,
    length: usize,
    rtype: Rtype,
) -> Result<Option<Vec<u8>>, WireError> {
    let octets = &message[start..start + length];
    let Some(layout) = layout(octets, rtype) else { return Ok(None) };
    let Layout(before, names, more) = layout?;
    let mut out = octets.get(..before).ok_or(WireError::Short)?.to_vec();
    let mut at = start + before;
    for _ in 0..names {
        let (name, end) = Name::read(message, at)?;
        name.write(&mut out);
        at = end;
    }
    let rest = message.get(at..start + length).ok_or(WireError::Short)?;
    if !rest.is_empty() && !more {
        return Err(WireError::Short);
    }
    out.extend_from_slice(rest);
    Ok(Some(out))
}

#[cfg(test)]
mod tests {
    use crate::wire::{Data, Rr, Rtype};
    use proptest::prelude::*;

    /// `@` stands for a name in mixed case; the rest are octets.
    fn record(rtype: u16, layout: &[u8], name: &[u8]) -> Rr {
        let data: Vec<u8> =
            layout.iter().flat_map(|b| if *b == b'@' { name.to_vec() } else { vec![*b] }).collect();
        // The name also stands before the record, for pointers.
        let mut message = b"\x03WwW\x07ExAmPlE\x00".to_vec();
        let start = message.len();
        message.push(0);
        message.extend(rtype.to_be_bytes());
        message.extend([0, 1, 0, 0, 0, 60]);
        message.extend((data.len() as u16).to_be_bytes());
        message.extend(&data);
        Rr::read(&message, start).unwrap().0
    }

    const MIXED: &[u8] = b"\x03WwW\x07ExAmPlE\x00";
    const LOWER: &[u8] = b"\x03www\x07example\x00";

    /// RFC 4034 section 6.2 but HINFO, which has no names, and NSEC (RFC 6840 section 5.1).
    const WITH_NAMES: [(u16, &[u8]); 22] = [
        (2, b"@"),
        (3, b"@"),
        (4, b"@"),
        (5, b"@"),
        (6, b"@@\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0\x05"),
        (7, b"@"),
        (8, b"@"),
        (9, b"@"),
        (12, b"@"),
        (14, b"@@"),
        (15, b"\0\x01@"),
        (17, b"@@"),
        (18, b"\0\x01@"),
        (21, b"\0\x01@"),
        (24, b"\0\x01\x0d\x02\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\x04@SiG"),
        (26, b"\0\x01@@"),
        (30, b"@\x42"),
        (33, b"\0\x01\0\x02\0\x03@"),
        (35, b"\0\x01\0\x02\x01S\x03AbC\x02!R@"),
        (36, b"\0\x01@"),
        (38, b"\x7f\x01@"),
        (39, b"@"),
    ];

    #[test]
    fn names_are_lower_case_and_whole_and_the_rest_is_as_it_was() {
        for (rtype, layout) in WITH_NAMES {
            let want: Vec<u8> =
                layout.iter().flat_map(|b| if *b == b'@' { LOWER.to_vec() } else { vec![*b] }).collect();
            assert_eq!(record(rtype, layout, MIXED).raw, want, "{}", Rtype(rtype));
            assert_eq!(record(rtype, layout, &[0xC0, 0]).raw, want, "{} compressed", Rtype(rtype));
        }
        // RRSIG is like SIG.
        let (_, sig) = WITH_NAMES[14];
        assert!(record(46, sig, MIXED).raw.windows(LOWER.len()).any(|w| w == LOWER));
    }

    #[test]
    fn names_of_later_types_are_as_they_were_sent() {
        // NSEC, TXT, SVCB, HTTPS, HIP, LP, an unassigned type.
        for (rtype, layout) in [
            (47, &b"@\0\x01\x42"[..]),
            (64, b"\0\x01@"),
            (65, b"\0\x01@"),
            (55, b"\x01\x02\0\x01ak@"),
            (107, b"\0\x01@"),
            (65_280, b"@"),
        ] {
            assert!(
                record(rtype, layout, MIXED).raw.windows(MIXED.len()).any(|w| w == MIXED),
                "{}",
                Rtype(rtype)
            );
        }
    }

    #[test]
    fn what_does_not_fit_its_type_stays_as_it_was() {
        for (rtype, layout) in
            [(17, &b"@"[..]), (17, b"@@\x01"), (35, b"\0\x01\0\x02\x09S@"), (38, b"\x81@"), (36, b"\0")]
        {
            let want: Vec<u8> =
                layout.iter().flat_map(|b| if *b == b'@' { MIXED.to_vec() } else { vec![*b] }).collect();
            let read = record(rtype, layout, MIXED);
            assert_eq!((read.raw, read.data), (want, Data::Malformed), "{}", Rtype(rtype));
        }
    }

    proptest! {
        #[test]
        fn no_octets_bring_it_down(
            rtype in proptest::sample::select(vec![3u16, 14, 17, 18, 24, 26, 30, 33, 35, 38]),
            octets in proptest::collection::vec(any::<u8>(), 0..60),
        ) {
            let _ = super::canonical(&octets, 0, octets.len(), Rtype(rtype));
        }
    }
}
