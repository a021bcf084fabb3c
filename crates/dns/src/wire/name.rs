//! Domain names as the DNS compares them: labels of octets, lower case, absolute.
//! Text form without the final dot, the root is `.`; canonical order of RFC 4034 section 6.1.

use super::WireError;
use std::cmp::Ordering;
use std::fmt;

/// Pointers followed for one name: each is worth a label, and a name has 127 at most.
const MAX_POINTERS: usize = 127;

/// An absolute domain name in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Name(Vec<Vec<u8>>);

impl Name {
    /// The root.
    pub fn root() -> Self {
        Name(Vec::new())
    }

    /// Reads the text form; `\.` and `\DDD` are understood.
    pub fn from_text(text: &str) -> Result<Self, WireError> {
        let mut labels = Vec::new();
        let mut label = Vec::new();
        let mut bytes = text.strip_suffix('.').filter(|t| !t.ends_with('\\')).unwrap_or(text).bytes();
        while let Some(byte) = bytes.next() {
            match byte {
                b'.' if label.is_empty() => return Err(WireError::BadName),
                b'.' => labels.push(std::mem::take(&mut label)),
                b'\\' => {
                    let first = bytes.next().ok_or(WireError::BadName)?;
                    if first.is_ascii_digit() {
                        let (b, c) = (bytes.next().unwrap_or(0), bytes.next().unwrap_or(0));
                        let number = std::str::from_utf8(&[first, b, c])
                            .ok()
                            .and_then(|t| t.parse::<u8>().ok())
                            .ok_or(WireError::BadName)?;
                        label.push(number.to_ascii_lowercase());
                    } else {
                        label.push(first.to_ascii_lowercase());
                    }
                }
                other => label.push(other.to_ascii_lowercase()),
            }
        }
        if !label.is_empty() {
            labels.push(label);
        } else if !labels.is_empty() {
            return Err(WireError::BadName);
        }
        let name = Name(labels);
        if name.0.iter().any(|l| l.len() > 63) || name.wire_len() > 255 {
            return Err(WireError::BadName);
        }
        Ok(name)
    }

    /// Reads a name at a place of a message, following compression pointers, and says where it ends. Case is kept in
    /// the second result.
    ///
    /// # Errors
    /// [`WireError`] when the message ends inside the name or its pointers don't lead backwards.
    pub fn read(message: &[u8], start: usize) -> Result<(Self, Vec<Vec<u8>>, usize), WireError> {
        let mut exact: Vec<Vec<u8>> = Vec::new();
        let (mut at, mut end, mut octets) = (start, None, 1);
        let mut pointers = 0;
        loop {
            let length = *message.get(at).ok_or(WireError::Short)? as usize;
            match length {
                0 => {
                    let lower = exact.iter().map(|l| l.to_ascii_lowercase()).collect();
                    return Ok((Name(lower), exact, end.unwrap_or(at + 1)));
                }
                1..=63 => {
                    let label = message.get(at + 1..at + 1 + length).ok_or(WireError::Short)?;
                    octets += length + 1;
                    if octets > 255 {
                        return Err(WireError::BadName);
                    }
                    exact.push(label.to_vec());
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

    /// Octets of the uncompressed wire form.
    pub fn wire_len(&self) -> usize {
        1 + self.0.iter().map(|l| l.len() + 1).sum::<usize>()
    }

    /// Uncompressed wire form.
    pub fn to_wire(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.wire_len());
        for label in &self.0 {
            out.push(label.len() as u8);
            out.extend_from_slice(label);
        }
        out.push(0);
        out
    }

    /// Labels, leftmost first.
    pub fn labels(&self) -> &[Vec<u8>] {
        &self.0
    }

    /// True for the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The name without its leftmost label; the root's parent is the root.
    pub fn parent(&self) -> Self {
        Name(self.0.iter().skip(1).cloned().collect())
    }

    /// The rightmost `count` labels.
    pub fn trim_to(&self, count: usize) -> Self {
        Name(self.0[self.0.len().saturating_sub(count)..].to_vec())
    }

    /// `label` put in front; `None` when that is no name.
    pub fn child(&self, label: &str) -> Option<Self> {
        if label.is_empty() || label.len() > 63 || self.wire_len() + label.len() + 1 > 255 {
            return None;
        }
        let mut labels = vec![label.to_ascii_lowercase().into_bytes()];
        labels.extend(self.0.iter().cloned());
        Some(Name(labels))
    }

    /// True when `self` is `zone` or below it.
    pub fn is_at_or_below(&self, zone: &Name) -> bool {
        self.0.len() >= zone.0.len() && self.0[self.0.len() - zone.0.len()..] == zone.0
    }

    /// True when `self` is below `zone` and not `zone` itself.
    pub fn is_below(&self, zone: &Name) -> bool {
        self.0.len() > zone.0.len() && self.is_at_or_below(zone)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(".");
        }
        for (i, label) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            for byte in label {
                match byte {
                    b'.' | b'\\' | b'"' | b';' | b'(' | b')' | b'@' | b'$' => {
                        write!(f, "\\{}", *byte as char)?;
                    }
                    0x21..=0x7E => write!(f, "{}", *byte as char)?,
                    _ => write!(f, "\\{byte:03}")?,
                }
            }
        }
        Ok(())
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_goes_in_and_out() {
        for (typed, shown) in [
            ("www.Example.COM.", "www.example.com"),
            (".", "."),
            ("", "."),
            (r"a\.b.example", r"a\.b.example"),
            (r"a\000b.example", r"a\000b.example"),
            ("0/25.2.0.192.in-addr.arpa", "0/25.2.0.192.in-addr.arpa"),
        ] {
            assert_eq!(Name::from_text(typed).unwrap().to_string(), shown);
        }
        assert!(Name::from_text("a..b").is_err() && Name::from_text(".a").is_err());
        assert!(Name::from_text(&"a".repeat(64)).is_err());
        assert!(Name::from_text(&"abcdefg.".repeat(40)).is_err());
    }

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
            Name::read(&message, usize::from(last)).map(|(name, _, _)| name.labels().len())
        };
        assert_eq!((ladder(127, true), ladder(127, false)), (Ok(127), Ok(0)));
        assert_eq!(ladder(128, false), Err(WireError::BadName));
        let (name, _, end) = Name::read(&[1, b'a', 0, 1, b'B', 0xC0, 0], 3).unwrap();
        assert_eq!((name.to_string().as_str(), end), ("b.a", 7));
    }

    #[test]
    fn canonical_order_is_rfc_4034s() {
        let sorted =
            ["example", "a.example", "yljkjljk.a.example", "z.a.example", r"\001.z.example", "*.z.example"];
        let mut names: Vec<Name> = sorted.iter().rev().map(|n| Name::from_text(n).unwrap()).collect();
        names.sort();
        assert_eq!(names.iter().map(Name::to_string).collect::<Vec<_>>(), sorted);
    }

    proptest! {
        #[test]
        fn reading_bytes_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0usize..300) {
            if let Ok((name, _, _)) = Name::read(&bytes, at) {
                prop_assert!(name.wire_len() <= 255);
                prop_assert_eq!(Name::from_text(&name.to_string()), Ok(name));
            }
        }
    }
}
