//! JSON with the keys that an object has more than once: parsers agree to take the last, people rarely mean it. Nesting has
//! a bound, so that what was read can be walked and written with the stack of a worker.

use crate::body::DEPTH_MAX;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

/// Most repeated keys that are noted.
const NOTED_MAX: usize = 100;
/// Characters of a noted path; the rest is cut.
const PATH_MAX: usize = 200;

/// Reads a JSON text, and the paths of repeated keys.
pub(crate) fn read(text: &[u8]) -> Result<(Value, Vec<String>), serde_json::Error> {
    let repeated = RefCell::default();
    let mut parser = serde_json::Deserializer::from_slice(text);
    let value = Seed { path: None, depth: 0, repeated: &repeated }.deserialize(&mut parser)?;
    parser.end()?;
    Ok((value, repeated.into_inner().paths))
}

/// Paths of repeated keys in the order in which they were found, each once.
#[derive(Default)]
struct Repeated {
    paths: Vec<String>,
    noted: HashSet<String>,
}

impl Repeated {
    fn note(&mut self, path: &Path<'_>) {
        if self.paths.len() >= NOTED_MAX {
            return;
        }
        let path = path.to_text();
        if self.noted.insert(path.clone()) {
            self.paths.push(path);
        }
    }
}

/// A value within the one above it. Most paths are never written as text: one of an element costs no more than its number.
struct Path<'a> {
    above: Option<&'a Path<'a>>,
    part: Part<'a>,
}

enum Part<'a> {
    Key(&'a str),
    Index(usize),
}

impl Path<'_> {
    /// The path as text, cut to `PATH_MAX` characters.
    fn to_text(&self) -> String {
        let mut parts: Vec<&Part<'_>> =
            std::iter::successors(Some(self), |p| p.above).map(|p| &p.part).collect();
        parts.reverse();
        let mut text = String::new();
        let mut left = PATH_MAX;
        for part in parts {
            let index;
            let (before, word) = match part {
                Part::Key(key) if text.is_empty() => ("", *key),
                Part::Key(key) => (".", *key),
                Part::Index(i) => {
                    index = format!("[{i}]");
                    ("", index.as_str())
                }
            };
            for c in before.chars().chain(word.chars()) {
                if left == 0 {
                    return text;
                }
                text.push(c);
                left -= 1;
            }
        }
        text
    }
}

/// Reads the value at a path; `None` is the whole text.
struct Seed<'a> {
    path: Option<&'a Path<'a>>,
    /// Objects and lists around it.
    depth: usize,
    repeated: &'a RefCell<Repeated>,
}

impl<'a> Seed<'a> {
    /// The seed of a value in this one.
    fn within<'b>(&self, path: &'b Path<'b>) -> Seed<'b>
    where
        'a: 'b,
    {
        Seed { path: Some(path), depth: self.depth + 1, repeated: self.repeated }
    }

    fn check_depth<E: Error>(&self) -> Result<(), E> {
        if self.depth < DEPTH_MAX {
            Ok(())
        } else {
            Err(E::custom(format!("it is nested more than {DEPTH_MAX} levels deep")))
        }
    }
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
        self.check_depth()?;
        let mut values = Vec::new();
        loop {
            let path = Path { above: self.path, part: Part::Index(values.len()) };
            let Some(value) = list.next_element_seed(self.within(&path))? else { break };
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        self.check_depth()?;
        let mut values = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let path = Path { above: self.path, part: Part::Key(&key) };
            if values.contains_key(&key) {
                self.repeated.borrow_mut().note(&path);
            }
            let value = map.next_value_seed(self.within(&path))?;
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
    }

    #[test]
    fn nesting_has_a_bound() {
        let nested = |n: usize| format!("{}1{}", "[{\"a\":".repeat(n / 2), "}]".repeat(n / 2));
        assert!(read(nested(DEPTH_MAX).as_bytes()).is_ok());
        for text in [nested(DEPTH_MAX + 2), nested(100_000), "[".repeat(100_000)] {
            let e = read(text.as_bytes()).unwrap_err().to_string();
            assert!(e.contains("nested more than 64 levels deep"), "{e}");
        }
    }

    /// With the path written for each element this would copy 500 GB.
    #[test]
    fn a_long_key_costs_nothing_for_each_element_below_it() {
        let long = "k".repeat(1 << 20);
        let text = format!("{{\"{long}\":[{}{{\"a\":1,\"a\":2}}]}}", "0,".repeat(500_000));
        let (value, repeated) = read(text.as_bytes()).unwrap();
        assert_eq!(value[&long].as_array().map(Vec::len), Some(500_001));
        assert_eq!(repeated, [&long[..PATH_MAX]]);
    }

    #[test]
    fn at_most_a_hundred_paths_are_noted() {
        let one = |n: usize| format!("\"k{n}\":0,\"k{n}\":0");
        let text = format!("{{{}}}", (0..300).map(one).collect::<Vec<_>>().join(","));
        assert_eq!(read(text.as_bytes()).unwrap().1.len(), NOTED_MAX);
    }
}
