//! JSON with the keys that an object has more than once: parsers agree to take the last, people rarely mean it.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::RefCell;
use std::fmt;

/// Most repeated keys that are noted.
const NOTED_MAX: usize = 100;

/// Reads a JSON text, and the paths of repeated keys.
pub(crate) fn read(text: &[u8]) -> Result<(Value, Vec<String>), serde_json::Error> {
    let repeated = RefCell::default();
    let mut parser = serde_json::Deserializer::from_slice(text);
    let value = Seed { path: String::new(), repeated: &repeated }.deserialize(&mut parser)?;
    parser.end()?;
    Ok((value, repeated.into_inner()))
}

/// Reads the value at a path.
struct Seed<'a> {
    path: String,
    repeated: &'a RefCell<Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Value, D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<Value, E> {
        Ok(Number::from_f64(v).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_string<E>(self, v: String) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        let seed = |i: usize| Seed { path: format!("{}[{i}]", self.path), repeated: self.repeated };
        while let Some(value) = list.next_element_seed(seed(values.len()))? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let path = if self.path.is_empty() { key.clone() } else { format!("{}.{key}", self.path) };
            if values.contains_key(&key) {
                let mut noted = self.repeated.borrow_mut();
                if noted.len() < NOTED_MAX && !noted.contains(&path) {
                    noted.push(path.clone());
                }
            }
            let value = map.next_value_seed(Seed { path, repeated: self.repeated })?;
            values.insert(key, value);
        }
        Ok(Value::Object(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_keys_are_noted_with_their_path() {
        let text = br#"{"a":1,"b":[{"c":null,"c":[true,-2,2.5,"x"]}],"a":{"d":{},"d":18446744073709551615}}"#;
        let (value, repeated) = read(text).unwrap();
        assert_eq!(value, serde_json::from_slice::<Value>(text).unwrap());
        assert_eq!(repeated, ["b[0].c", "a", "a.d"]);
        assert_eq!(read(b" {} ").unwrap(), (serde_json::json!({}), vec![]));
        for bad in ["", "{", "{}x", "[1,]", "{\"a\"}"] {
            assert!(read(bad.as_bytes()).is_err(), "{bad}");
        }
        let many = format!("{{{}}}", vec!["\"k\":1"; 500].join(","));
        assert_eq!(read(many.as_bytes()).unwrap().1, ["k"]);
        // Depth has the parser's own bound.
        assert!(read("[".repeat(100_000).as_bytes()).is_err());
    }
}
