//! JSON as pages read it: [`from_slice`] reads what our own server wrote. `serde_json` reads the same; of its decoder a
//! browser would download one copy for every type, with texts for errors that can't happen between a server and a page
//! of the same build. Here the code for one type is its fields and nothing else: objects are never read from arrays, and an
//! error is one word. The pages of a domain took 249 KB of brotli with it and 268 KB without, those of the settings 131
//! and 155. `tests/json.rs` compares it with `serde_json`.

mod access;
#[cfg(feature = "server-fn")]
mod body;
mod number;

use access::{Items, Variant};
#[cfg(feature = "server-fn")]
pub use body::{Json, JsonBody};
use number::Number;
use serde::de::value::CowStrDeserializer;
use serde::de::{self, Deserialize, Error, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use std::borrow::Cow;
use std::fmt::{self, Display};

/// Deeper nesting is refused.
const MAX_DEPTH: u8 = 100;

/// The bytes are not JSON of that type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

impl Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer has an unexpected form")
    }
}

impl std::error::Error for Unreadable {}

// Every provided method formats a text first.
impl Error for Unreadable {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
    fn invalid_type(_: de::Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self
    }
    fn invalid_value(_: de::Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self
    }
    fn invalid_length(_: usize, _: &dyn de::Expected) -> Self {
        Self
    }
    fn unknown_variant(_: &str, _: &'static [&'static str]) -> Self {
        Self
    }
    fn unknown_field(_: &str, _: &'static [&'static str]) -> Self {
        Self
    }
    fn missing_field(_: &'static str) -> Self {
        Self
    }
    fn duplicate_field(_: &'static str) -> Self {
        Self
    }
}

type Read<T> = Result<T, Unreadable>;

/// The value that the whole of `bytes` is.
pub fn from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Read<T> {
    let mut reader = Reader { rest: bytes, depth: 0 };
    let value = T::deserialize(&mut reader)?;
    reader.space();
    if reader.rest.is_empty() { Ok(value) } else { Err(Unreadable) }
}

/// Methods that are one of their neighbours.
macro_rules! forward_to {
    ($to:ident: $($name:ident)+) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
            self.$to(visitor)
        })+
    };
}
use forward_to;

struct Reader<'de> {
    rest: &'de [u8],
    depth: u8,
}

impl<'de> Reader<'de> {
    fn space(&mut self) {
        let n = self.rest.iter().position(|b| !matches!(b, b' ' | b'\n' | b'\r' | b'\t'));
        self.rest = &self.rest[n.unwrap_or(self.rest.len())..];
    }

    /// The next byte that is no white space; 0 at the end.
    fn peek(&mut self) -> u8 {
        self.space();
        self.rest.first().copied().unwrap_or(0)
    }

    /// Skips `byte` when it is next.
    fn eat(&mut self, byte: u8) -> bool {
        let here = self.peek() == byte;
        if here {
            self.rest = &self.rest[1..];
        }
        here
    }

    fn expect(&mut self, byte: u8) -> Read<()> {
        if self.eat(byte) { Ok(()) } else { Err(Unreadable) }
    }

    fn word(&mut self, word: &str) -> Read<()> {
        self.rest = self.rest.strip_prefix(word.as_bytes()).ok_or(Unreadable)?;
        Ok(())
    }

    fn open(&mut self, bracket: u8) -> Read<()> {
        self.expect(bracket)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Unreadable) } else { Ok(()) }
    }

    fn close(&mut self, bracket: u8) -> Read<()> {
        self.depth -= 1;
        self.expect(bracket)
    }

    fn number(&mut self) -> Read<Number> {
        let n = self.rest.iter().position(|b| !matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        let (text, rest) = self.rest.split_at(n.unwrap_or(self.rest.len()));
        self.rest = rest;
        Number::parse(str::from_utf8(text).map_err(|_| Unreadable)?)
    }

    fn string(&mut self) -> Read<Cow<'de, str>> {
        self.expect(b'"')?;
        let mut text = Cow::Borrowed("");
        loop {
            let special = |b: &u8| matches!(b, b'"' | b'\\') || *b < 0x20;
            let n = self.rest.iter().position(special).ok_or(Unreadable)?;
            let (plain, rest) = self.rest.split_at(n);
            // Adding to an empty `Cow` borrows.
            text += str::from_utf8(plain).map_err(|_| Unreadable)?;
            self.rest = &rest[1..];
            match rest[0] {
                b'"' => return Ok(text),
                b'\\' => text.to_mut().push(self.escaped()?),
                _ => return Err(Unreadable),
            }
        }
    }

    /// What stands behind a backslash.
    fn escaped(&mut self) -> Read<char> {
        let (kind, rest) = self.rest.split_first().ok_or(Unreadable)?;
        self.rest = rest;
        Ok(match kind {
            b'"' | b'\\' | b'/' => char::from(*kind),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.unit()?;
                let mut units = vec![first];
                if (0xd800..0xdc00).contains(&first) {
                    self.word("\\u")?;
                    units.push(self.unit()?);
                }
                let mut chars = char::decode_utf16(units);
                chars.next().and_then(Result::ok).filter(|_| chars.next().is_none()).ok_or(Unreadable)?
            }
            _ => return Err(Unreadable),
        })
    }

    fn unit(&mut self) -> Read<u16> {
        let (digits, rest) = self.rest.split_at_checked(4).ok_or(Unreadable)?;
        self.rest = rest;
        let digits = str::from_utf8(digits).ok().filter(|d| !d.starts_with('+')).ok_or(Unreadable)?;
        u16::from_str_radix(digits, 16).map_err(|_| Unreadable)
    }
}

impl<'de> de::Deserializer<'de> for &mut Reader<'de> {
    type Error = Unreadable;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        match self.peek() {
            b'n' => self.deserialize_unit(visitor),
            b't' | b'f' => self.deserialize_bool(visitor),
            b'"' => self.deserialize_str(visitor),
            b'[' => self.deserialize_seq(visitor),
            b'{' => self.deserialize_map(visitor),
            _ => self.number()?.give(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        let yes = self.peek() == b't';
        self.word(if yes { "true" } else { "false" })?;
        visitor.visit_bool(yes)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.space();
        self.number()?.give(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        match self.string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.space();
        self.word("null")?;
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        if self.peek() == b'n' {
            self.word("null")?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Read<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.open(b'[')?;
        let value = visitor.visit_seq(Items::new(self))?;
        self.close(b']')?;
        Ok(value)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.open(b'{')?;
        let value = visitor.visit_map(Items::new(self))?;
        self.close(b'}')?;
        Ok(value)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        if self.peek() == b'"' {
            return visitor.visit_enum(CowStrDeserializer::new(self.string()?));
        }
        self.open(b'{')?;
        let value = visitor.visit_enum(Variant(self))?;
        self.close(b'}')?;
        Ok(value)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.deserialize_any(de::IgnoredAny)?;
        visitor.visit_unit()
    }

    // Our server writes structures as objects; code that also reads them from arrays would never run.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        self.deserialize_map(Object(visitor))
    }

    forward_to! { deserialize_u64:
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_f32 deserialize_f64
    }
    forward_to! { deserialize_str: deserialize_char deserialize_string deserialize_identifier }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Read<V::Value> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Read<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Read<V::Value> {
        self.deserialize_seq(visitor)
    }

    forward_to_deserialize_any! { bytes byte_buf }
}

/// The visitor of a structure, which sees objects only.
struct Object<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Object<V> {
    type Value = V::Value;

    fn expecting(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(map)
    }
}
