//! Names as text, without the final dot (the root is `.`), and their canonical order (RFC 4034 section 6.1).

use super::{Buffer, Name};
use crate::wire::WireError;
use std::cmp::Ordering;
use std::fmt;

impl Name {
    /// Reads the text form; `\.` and `\DDD` are understood.
    pub fn from_text(text: &str) -> Result<Self, WireError> {
        let mut name = Buffer::new();
        let mut label = Vec::new();
        let mut bytes = text.strip_suffix('.').filter(|t| !t.ends_with('\\')).unwrap_or(text).bytes();
        while let Some(byte) = bytes.next() {
            match byte {
                b'.' => {
                    name.push(&label)?;
                    label.clear();
                }
                b'\\' => {
                    let first = bytes.next().ok_or(WireError::BadName)?;
                    if first.is_ascii_digit() {
                        let (b, c) = (bytes.next().unwrap_or(0), bytes.next().unwrap_or(0));
                        let number = std::str::from_utf8(&[first, b, c])
                            .ok()
                            .and_then(|t| t.parse::<u8>().ok())
                            .ok_or(WireError::BadName)?;
                        label.push(number);
                    } else {
                        label.push(first);
                    }
                }
                other => label.push(other),
            }
        }
        if !label.is_empty() || name.length > 0 {
            name.push(&label)?;
        }
        Ok(name.into_name())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str(".");
        }
        for (i, label) in self.labels().enumerate() {
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
        let (ours, theirs) = (self.starts(), other.starts());
        ours.reversed(&self.0).cmp(theirs.reversed(&other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn canonical_order_is_rfc_4034s() {
        let sorted =
            ["example", "a.example", "yljkjljk.a.example", "z.a.example", r"\001.z.example", "*.z.example"];
        let mut names: Vec<Name> = sorted.iter().rev().map(|n| Name::from_text(n).unwrap()).collect();
        names.sort();
        assert_eq!(names.iter().map(Name::to_string).collect::<Vec<_>>(), sorted);
    }
}
