//! Items of arrays and objects, keys, and variants with content.

use super::{Number, Object, Read, Reader, Unreadable, forward_to};
use serde::Deserialize;
use serde::de::value::CowStrDeserializer;
use serde::de::{self, DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;
use std::borrow::Cow;

/// What is between brackets.
pub(super) struct Items<'a, 'de> {
    reader: &'a mut Reader<'de>,
    first: bool,
}

impl<'a, 'de> Items<'a, 'de> {
    /// The items behind a bracket that was opened.
    pub(super) fn new(reader: &'a mut Reader<'de>) -> Self {
        Self { reader, first: true }
    }

    /// True when another item follows.
    fn another(&mut self, end: u8) -> Read<bool> {
        if self.reader.peek() == end {
            return Ok(false);
        }
        if !std::mem::take(&mut self.first) {
            self.reader.expect(b',')?;
            // No comma before the end.
            if self.reader.peek() == end {
                return Err(Unreadable);
            }
        }
        Ok(true)
    }
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = Unreadable;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Read<Option<T::Value>> {
        if !self.another(b']')? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

impl<'de> MapAccess<'de> for Items<'_, 'de> {
    type Error = Unreadable;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Read<Option<K::Value>> {
        if !self.another(b'}')? {
            return Ok(None);
        }
        seed.deserialize(Key(self.reader.string()?)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Read<T::Value> {
        self.reader.expect(b':')?;
        seed.deserialize(&mut *self.reader)
    }
}

/// The key of an object: a string, which may hold a number.
struct Key<'de>(Cow<'de, str>);

impl<'de> de::Deserializer<'de> for Key<'de> {
    type Error = Unreadable;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        CowStrDeserializer::new(self.0).deserialize_any(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        Number::parse(&self.0)?.give(visitor)
    }

    forward_to! { deserialize_u64: deserialize_u8 deserialize_u16 deserialize_u32 deserialize_i64 }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Read<V::Value> {
        visitor.visit_newtype_struct(self)
    }
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        visitor.visit_enum(CowStrDeserializer::new(self.0))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i128 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple tuple_struct
        map struct identifier ignored_any
    }
}

/// A variant with content: an object with one member.
pub(super) struct Variant<'a, 'de>(pub(super) &'a mut Reader<'de>);

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Unreadable;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Read<(V::Value, Self)> {
        let variant = seed.deserialize(Key(self.0.string()?))?;
        self.0.expect(b':')?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Unreadable;

    fn unit_variant(self) -> Read<()> {
        <()>::deserialize(self.0)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Read<T::Value> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Read<V::Value> {
        de::Deserializer::deserialize_seq(self.0, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Read<V::Value> {
        de::Deserializer::deserialize_map(self.0, Object(visitor))
    }
}
