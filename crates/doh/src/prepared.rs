//! Encoded responses for repeated queries: only the ID, the letter case of the name and the TTLs are updated. The result
//! is octet for octet what parsing, lookup and encoding would give (RFC 1035 section 4, RFC 6891). Queries of an unusual
//! form take the general path.

use crate::cache::{Cache, CacheValue};
use crate::message::{Message, padded};
use jiff::Timestamp;
use std::sync::Arc;

/// Offset of the name in a query.
const NAME: usize = 12;
/// Octets of the longest key: flags, name, type and class.
const KEY: usize = 1 + 255 + 4;
/// Octets of an OPT record without options.
const OPT: usize = 11;

/// Everything a response depends on except ID and letter case: one octet for flags and EDNS, then the question in lower
/// case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    octets: [u8; KEY],
    length: usize,
}

impl Form {
    /// Recognises a query of the usual form. `pad`: responses with EDNS are padded even if the query was not.
    pub(crate) fn of(message: &[u8], pad: bool) -> Option<Self> {
        let (header, rest) = message.split_at_checked(NAME)?;
        // A query with any of RD, AD and CD, one question, and OPT or no other record.
        if header[2] & 0xFE != 0 || header[3] & 0xCF != 0 || header[4..10] != [0, 1, 0, 0, 0, 0] {
            return None;
        }
        let mut end = 0;
        loop {
            match usize::from(*rest.get(end)?) {
                0 => break,
                label @ 1..=63 => end += 1 + label,
                _ => return None,
            }
        }
        let question = rest.get(..end + 5).filter(|_| end < 255)?;
        let mut asked = (header[2] & 1) | (header[3] & 0x30);
        match (&header[10..], &rest[end + 5..]) {
            ([0, 0], []) => {}
            ([0, 1], opt) => {
                let (fixed, options) = opt.split_at_checked(OPT)?;
                // Root, OPT, any payload size, no extended RCODE, version 0.
                let [0, 0, 41, _, _, 0, 0, flags, _, length @ ..] = fixed else { return None };
                if usize::from(u16::from_be_bytes(length.try_into().ok()?)) != options.len() {
                    return None;
                }
                let pad = padded(options)? || pad;
                asked |= 2 | u8::from(flags & 0x80 != 0) << 2 | u8::from(pad) << 3;
            }
            _ => return None,
        }
        let mut form = Form { octets: [0; KEY], length: 1 + question.len() };
        form.octets[0] = asked;
        form.octets[1..form.length].copy_from_slice(question);
        // Length octets are at most 63, below the letters.
        form.octets[1..=end].make_ascii_lowercase();
        Some(form)
    }

    fn key(&self) -> &[u8] {
        &self.octets[..self.length]
    }
}

/// A response that was sent.
struct Prepared {
    message: Message,
    /// Offsets of its TTL fields.
    ttls: Vec<usize>,
    made: Timestamp,
}

impl Prepared {
    fn age(&self, now: Timestamp) -> u32 {
        let seconds = now.as_second().saturating_sub(self.made.as_second()).max(0);
        u32::try_from(seconds).unwrap_or(u32::MAX)
    }
}

impl CacheValue for Prepared {
    fn weight(&self) -> usize {
        // The key is stored twice: in the map and in the eviction order.
        512 + self.message.octets.len() + 8 * self.ttls.len()
    }

    fn is_fresh(&self, now: Timestamp) -> bool {
        // If the clock was set back to before it was made, older data may apply.
        now >= self.made && self.age(now) < self.message.lifetime
    }
}

/// The cache of encoded responses.
pub(crate) struct PreparedAnswers(Cache<Arc<[u8]>, Prepared>);

impl PreparedAnswers {
    /// A cache of about `octets` octets.
    pub(crate) fn new(octets: usize) -> Self {
        PreparedAnswers(Cache::new(octets))
    }

    /// Returns the response to a query of this form.
    pub(crate) fn get(&self, form: &Form, question: &[u8], now: Timestamp) -> Option<Message> {
        let known = self.0.get_any(form.key())?;
        if !known.is_fresh(now) {
            // Newer data may arrive; an outdated response must not become fresh again if the clock is set back.
            self.0.forget(form.key());
            return None;
        }
        let age = known.age(now);
        let mut message = Message { lifetime: known.message.lifetime - age, ..known.message.clone() };
        message.octets[..2].copy_from_slice(&question[..2]);
        // Name, type and class as received; the key is one octet longer.
        let asked = NAME..NAME + form.length - 1;
        message.octets[asked.clone()].copy_from_slice(&question[asked]);
        for at in &known.ttls {
            if let Some(place) = message.octets.get_mut(*at..at + 4)
                && let Ok(ttl) = <[u8; 4]>::try_from(&*place)
            {
                place.copy_from_slice(&u32::from_be_bytes(ttl).saturating_sub(age).to_be_bytes());
            }
        }
        Some(message)
    }

    /// Stores a response that came from the cache, for its lifetime.
    pub(crate) fn put(&self, form: &Form, message: &Message, ttls: Vec<usize>, now: Timestamp) {
        if message.lifetime > 0 {
            let prepared = Prepared { message: message.clone(), ttls, made: now };
            self.0.put(form.key().into(), Arc::new(prepared));
        }
    }

    /// Returns the number of responses and their octets.
    pub(crate) fn size(&self) -> (usize, usize) {
        self.0.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Query;
    use proptest::prelude::*;

    /// An encoded query of a usual or unusual form.
    fn question() -> impl Strategy<Value = Vec<u8>> {
        let labels = proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..64), 0..5);
        let option = (prop_oneof![Just(12u16), Just(10), any::<u16>()], 0..6usize);
        let opt = (any::<[u8; 6]>(), proptest::collection::vec(option, 0..3));
        let header = (any::<[u8; 2]>(), 0..9u8);
        let flags = prop_oneof![Just([1, 0]), Just([1, 0x30]), Just([0, 0x10]), any::<[u8; 2]>()];
        (header, flags, labels, any::<[u8; 4]>(), proptest::option::of(opt), 0..3usize).prop_map(
            |((id, odd), flags, labels, kind, opt, cut)| {
                let additional = u8::from(opt.is_some() != (odd == 0));
                let mut out = vec![id[0], id[1], flags[0], flags[1], 0, 1, 0, 0, 0, 0, 0, additional];
                for label in &labels {
                    out.push(label.len() as u8);
                    out.extend(label);
                }
                out.push(0);
                out.extend(kind);
                if let Some((head, options)) = opt {
                    // Mostly what is sent: no extended RCODE, version 0.
                    let version = if head[0] < 200 { 0 } else { head[3] };
                    let class = [head[1], head[2]];
                    out.extend([0, 0, 41, class[0], class[1], 0, version, head[4], head[5]]);
                    let all: Vec<u8> = options
                        .iter()
                        .flat_map(|(code, n)| {
                            [code.to_be_bytes(), (*n as u16).to_be_bytes()]
                                .concat()
                                .into_iter()
                                .chain(vec![0; *n])
                        })
                        .collect();
                    out.extend((all.len() as u16).to_be_bytes());
                    out.extend(all);
                }
                out.truncate(out.len() - cut.saturating_sub(1));
                out
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_recognised_form_equals_the_parsed_query(message in question(), pad in any::<bool>()) {
            let Some(form) = Form::of(&message, pad) else { return Ok(()) };
            let read = Query::read(&message);
            prop_assert!(read.is_ok(), "{:?}", read);
            let Ok(query) = read else { return Ok(()) };
            let edns = query.edns.map(|e| (e.version, e.dnssec_ok, e.padded || pad));
            let flags = form.octets[0];
            prop_assert_eq!(query.recursion, flags & 1 != 0);
            prop_assert_eq!(query.authentic, flags & 0x20 != 0);
            prop_assert_eq!(query.unchecked, flags & 0x10 != 0);
            let told = (flags & 2 != 0).then_some((0, flags & 4 != 0, flags & 8 != 0));
            prop_assert_eq!(edns, told);
            let mut asked = query.name.to_wire();
            asked.extend(query.rtype.0.to_be_bytes());
            asked.extend(query.class.to_be_bytes());
            prop_assert_eq!(&form.key()[1..], &asked[..]);
        }
    }

    #[test]
    fn the_usual_forms_are_recognised_and_others_are_not() {
        let plain = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03wWw\x07Example\0\0\x01\0\x01".to_vec();
        let opt = |flags: u8, options: &[u8]| {
            let mut out = plain.clone();
            out[11] = 1;
            out.extend([0, 0, 41, 4, 208, 0, 0, flags, 0, 0, options.len() as u8]);
            out.extend(options);
            out
        };
        let form = |message: &[u8], pad| Form::of(message, pad).map(|f| f.key()[0]);
        assert_eq!(form(&plain, true), Some(1), "no padding without OPT");
        assert_eq!(form(&opt(0, &[]), false), Some(3));
        assert_eq!(form(&opt(0x80, &[]), true), Some(15));
        assert_eq!(form(&opt(0x80, &[0, 12, 0, 1, 0]), false), Some(15));
        assert_eq!(form(&opt(0, &[0, 10, 0, 2, 1, 2]), false), Some(3), "another option");
        assert_eq!(form(&opt(0, &[0, 12, 0, 9]), false), None, "an option longer than the record");
        let changed = |at: usize, to: u8| {
            let mut out = plain.clone();
            out[at] = to;
            out
        };
        for (at, to) in
            [(2, 0x81), (2, 0x09), (3, 0x01), (5, 2), (7, 1), (9, 1), (11, 1), (12, 0x40), (12, 0xC0)]
        {
            assert_eq!(form(&changed(at, to), false), None, "{at}: {to:#x}");
        }
        assert_eq!(form(&[&plain[..], &[0]].concat(), false), None);
        assert_eq!(form(&plain[..plain.len() - 1], false), None);
        assert_eq!(form(&[], false), None);
    }
}
