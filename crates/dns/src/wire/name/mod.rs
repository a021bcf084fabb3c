//! Domain names as the DNS compares them: labels of octets, lower case, absolute. `text` has the form people read, and
//! the canonical order.

mod text;

use super::WireError;
use std::sync::Arc;

/// Pointers followed for one name: each is worth a label, and a name has 127 at most.
const MAX_POINTERS: usize = 127;
/// Octets of the wire form of a name without the root's length octet (RFC 1035 section 3.1).
const MAX_OCTETS: usize = 254;

/// An absolute domain name in lower case, in one buffer that clones share.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Name(
    /// The wire form without the root's length octet.
    Arc<[u8]>,
);

/// The labels of a name, leftmost first.
#[derive(Debug, Clone)]
pub struct Labels<'a>(&'a [u8]);

impl<'a> Iterator for Labels<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first()?;
        let (label, rest) = rest.split_at_checked(usize::from(*length))?;
        self.0 = rest;
        Some(label)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let (mut count, mut at) = (0, 0);
        while let Some(length) = self.0.get(at) {
            at += 1 + usize::from(*length);
            count += 1;
        }
        (count, Some(count))
    }
}

impl ExactSizeIterator for Labels<'_> {}

/// A name while it is read: the letters as they were sent.
struct Buffer {
    octets: [u8; MAX_OCTETS],
    length: usize,
}

impl Buffer {
    fn new() -> Self {
        Buffer { octets: [0; MAX_OCTETS], length: 0 }
    }

    fn push(&mut self, label: &[u8]) -> Result<(), WireError> {
        let end = self.length + 1 + label.len();
        if label.is_empty() || label.len() > 63 || end > MAX_OCTETS {
            return Err(WireError::BadName);
        }
        self.octets[self.length] = label.len() as u8;
        self.octets[self.length + 1..end].copy_from_slice(label);
        self.length = end;
        Ok(())
    }

    fn as_sent(&self) -> &[u8] {
        &self.octets[..self.length]
    }

    fn into_name(mut self) -> Name {
        // Length octets are 63 at most, below every letter.
        self.octets[..self.length].make_ascii_lowercase();
        Name::of(self.as_sent())
    }
}

impl Name {
    /// The root.
    pub fn root() -> Self {
        Name::default()
    }

    fn of(octets: &[u8]) -> Self {
        if octets.is_empty() { Name::default() } else { Name(octets.into()) }
    }

    /// Reads a name at a place of a message, following compression pointers, and says where it ends.
    ///
    /// # Errors
    /// [`WireError`] when the message ends inside the name or its pointers don't lead backwards.
    pub fn read(message: &[u8], start: usize) -> Result<(Self, usize), WireError> {
        let (name, end) = read(message, start)?;
        Ok((name.into_name(), end))
    }

    /// Reads a name as [`Name::read`] does; the second result is its wire form without the root's length octet and with
    /// its letters in the case they were sent in.
    ///
    /// # Errors
    /// Those of [`Name::read`].
    pub fn read_exact(message: &[u8], start: usize) -> Result<(Self, Vec<u8>, usize), WireError> {
        let (name, end) = read(message, start)?;
        let exact = name.as_sent().to_vec();
        Ok((name.into_name(), exact, end))
    }

    /// Octets of the uncompressed wire form.
    pub fn wire_len(&self) -> usize {
        1 + self.0.len()
    }

    /// Uncompressed wire form.
    pub fn to_wire(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.wire_len());
        self.write(&mut out);
        out
    }

    /// Appends the uncompressed wire form.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
        out.push(0);
    }

    /// The uncompressed wire form without the root's length octet. A suffix that starts at a length octet is the same of
    /// an ancestor.
    pub fn octets(&self) -> &[u8] {
        &self.0
    }

    /// Octets of memory the name takes, unless a clone shares them.
    pub(super) fn memory(&self) -> usize {
        // Two counters stand before the octets.
        2 * size_of::<usize>() + self.0.len()
    }

    /// Labels, leftmost first.
    pub fn labels(&self) -> Labels<'_> {
        Labels(&self.0)
    }

    /// True for the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The name without its leftmost label; the root's parent is the root.
    pub fn parent(&self) -> Self {
        let mut labels = self.labels();
        labels.next();
        Name::of(labels.0)
    }

    /// The rightmost `count` labels.
    pub fn trim_to(&self, count: usize) -> Self {
        let mut labels = self.labels();
        match labels.len().checked_sub(count) {
            None | Some(0) => self.clone(),
            Some(skipped) => {
                labels.nth(skipped - 1);
                Name::of(labels.0)
            }
        }
    }

    /// `label` put in front; `None` when that is no name.
    pub fn child(&self, label: &str) -> Option<Self> {
        let mut name = Buffer::new();
        name.push(label.as_bytes()).ok()?;
        self.labels().try_for_each(|label| name.push(label)).ok()?;
        Some(name.into_name())
    }

    /// True when `self` is `zone` or below it.
    pub fn is_at_or_below(&self, zone: &Name) -> bool {
        if !self.0.ends_with(&zone.0) {
            return false;
        }
        // The same octets may stand across the labels: they have to start where a label does.
        let start = self.0.len() - zone.0.len();
        let mut at = 0;
        while at < start {
            at += 1 + usize::from(self.0[at]);
        }
        at == start
    }

    /// True when `self` is below `zone` and not `zone` itself.
    pub fn is_below(&self, zone: &Name) -> bool {
        self.0.len() > zone.0.len() && self.is_at_or_below(zone)
    }

    /// How many labels the two names share, counted from the right.
    pub fn common_labels(&self, other: &Name) -> usize {
        let (ours, theirs) = (self.starts(), other.starts());
        let labels = ours.reversed(&self.0).zip(theirs.reversed(&other.0));
        labels.take_while(|(a, b)| a == b).count()
    }

    fn starts(&self) -> Starts {
        let mut starts = Starts { at: [0; 127], count: 0 };
        let mut at = 0;
        while let Some(length) = self.0.get(at) {
            starts.at[starts.count] = at as u8;
            starts.count += 1;
            at += 1 + usize::from(*length);
        }
        starts
    }
}

/// Where the labels of a name start: to read them from the right.
struct Starts {
    at: [u8; 127],
    count: usize,
}

impl Starts {
    fn reversed<'a>(&'a self, octets: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + 'a {
        self.at[..self.count].iter().rev().map(move |at| {
            let at = usize::from(*at);
            &octets[at + 1..=at + usize::from(octets[at])]
        })
    }
}

fn read(message: &[u8], start: usize) -> Result<(Buffer, usize), WireError> {
    let mut name = Buffer::new();
    let (mut at, mut end, mut pointers) = (start, None, 0);
    loop {
        let length = *message.get(at).ok_or(WireError::Short)? as usize;
        match length {
            0 => return Ok((name, end.unwrap_or(at + 1))),
            1..=63 => {
                name.push(message.get(at + 1..at + 1 + length).ok_or(WireError::Short)?)?;
                at += 1 + length;
            }
            0xC0..=0xFF => {
                let target = (super::u16_at(message, at)? & 0x3FFF) as usize;
                end.get_or_insert(at + 2);
                pointers += 1;
                // Pointers only ever lead backwards; a message made of nothing else would still cost thousands of
                // steps for each of its names.
                if target >= at || pointers > MAX_POINTERS {
                    return Err(WireError::BadName);
                }
                at = target;
            }
            _ => return Err(WireError::BadName),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pointers_that_do_not_lead_backwards_are_refused() {
        assert_eq!(Name::read(&[0xC0, 0], 0), Err(WireError::BadName));
        assert_eq!(Name::read(&[1, b'a', 0xC0, 0], 0), Err(WireError::BadName));
        assert_eq!(Name::read(&[0x40, 0], 0), Err(WireError::BadName));
        assert_eq!(Name::read(&[5, b'a'], 0), Err(WireError::Short));
        // A name of 127 labels may have a pointer after each; a ladder of nothing but pointers is no name.
        let ladder = |rungs: usize, labels: bool| {
            let mut message = vec![0];
            let mut last = 0u16;
            for _ in 0..rungs {
                let at = message.len() as u16;
                if labels {
                    message.extend([1, b'a']);
                }
                message.extend((0xC000 | last).to_be_bytes());
                last = at;
            }
            Name::read(&message, usize::from(last)).map(|(name, _)| name.labels().len())
        };
        assert_eq!((ladder(127, true), ladder(127, false)), (Ok(127), Ok(0)));
        assert_eq!(ladder(128, false), Err(WireError::BadName));
        let (name, end) = Name::read(&[1, b'a', 0, 1, b'B', 0xC0, 0], 3).unwrap();
        assert_eq!((name.to_string().as_str(), end), ("b.a", 7));
    }

    #[test]
    fn a_name_is_below_another_only_by_whole_labels() {
        let name = |t: &str| Name::from_text(t).unwrap();
        // The octets of the label hold those of the zone: `\x03com` and its length.
        let disguised = name(r"a\003com");
        assert!(!disguised.is_at_or_below(&name("com")) && !disguised.is_below(&name("com")));
        assert!(name("a.b.c").is_below(&name("b.c")) && !name("b.c").is_below(&name("b.c")));
        assert!(name("a").is_below(&Name::root()) && Name::root().is_at_or_below(&Name::root()));
        let (a, b) = (name("a.b.example.com"), name("c.example.com"));
        assert_eq!((a.common_labels(&b), a.common_labels(&a), a.common_labels(&Name::root())), (2, 4, 0));
        assert_eq!(
            (a.trim_to(2), a.trim_to(9), a.trim_to(0)),
            (name("example.com"), a.clone(), Name::root())
        );
        assert_eq!(a.labels().map(<[u8]>::len).collect::<Vec<_>>(), [1, 1, 7, 3]);
    }

    proptest! {
        #[test]
        fn reading_bytes_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0usize..300) {
            if let Ok((name, _)) = Name::read(&bytes, at) {
                prop_assert!(name.wire_len() <= 255);
                prop_assert_eq!(Name::from_text(&name.to_string()), Ok(name));
            }
        }
    }
}
