//! Numbers: integers where they fit in 64 bits, else fractions, as `serde_json` reads them.

use super::{Read, Unreadable};
use serde::de::Visitor;

/// A number.
pub(super) enum Number {
    Positive(u64),
    Negative(i64),
    Fraction(f64),
}

impl Number {
    /// Passes it to the visitor.
    pub(super) fn give<'de, V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        match self {
            Self::Positive(n) => visitor.visit_u64(n),
            Self::Negative(n) => visitor.visit_i64(n),
            Self::Fraction(n) => visitor.visit_f64(n),
        }
    }

    /// The number that the whole of `text` is.
    pub(super) fn parse(text: &str) -> Read<Self> {
        // What Rust reads and JSON does not have: a plus sign, a leading zero, "inf", a point without digits around it.
        let digits = text.strip_prefix('-').unwrap_or(text);
        let whole = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        if whole == 0 || (whole > 1 && digits.starts_with('0')) {
            return Err(Unreadable);
        }
        if whole == digits.len() {
            if let Ok(n) = text.parse() {
                return Ok(Self::Positive(n));
            }
            // A negative zero is a fraction, as in `serde_json`.
            match text.parse() {
                Ok(n) if n != 0 => return Ok(Self::Negative(n)),
                _ => {}
            }
        }
        let tail = &digits[whole..];
        if tail.strip_prefix('.').is_some_and(|t| !t.starts_with(|c: char| c.is_ascii_digit())) {
            return Err(Unreadable);
        }
        match text.parse::<f64>() {
            Ok(n) if n.is_finite() => Ok(Self::Fraction(n)),
            _ => Err(Unreadable),
        }
    }
}
