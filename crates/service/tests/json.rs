//! What `service::json` reads, beside `serde_json`.

use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use service::json::{Unreadable, from_slice};
use std::collections::BTreeMap;

/// Every form of data that derived decoders ask for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Everything {
    small: u8,
    signed: i32,
    large: u64,
    fraction: f64,
    yes: bool,
    text: String,
    letter: char,
    nothing: (),
    pair: (u16, String),
    wrapped: Wrapped,
    option: Option<String>,
    nested: Option<Box<Everything>>,
    list: Vec<Shape>,
    tagged: Vec<Tagged>,
    untagged: Vec<Untagged>,
    by_text: BTreeMap<String, i64>,
    by_number: BTreeMap<u16, bool>,
    by_variant: BTreeMap<Colour, u8>,
    #[serde(flatten)]
    rest: BTreeMap<String, u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Wrapped(i64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Colour {
    Red,
    DarkGreen,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Shape {
    Point,
    Circle(u32),
    Box(i8, i8),
    Named { name: String, sides: Option<u8> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Tagged {
    Empty,
    Full { at: u64, words: Vec<String> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(i64),
    Text(String),
    Colour { colour: Colour },
}

fn colour() -> impl Strategy<Value = Colour> {
    prop_oneof![Just(Colour::Red), Just(Colour::DarkGreen)]
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Point),
        any::<u32>().prop_map(Shape::Circle),
        any::<(i8, i8)>().prop_map(|(a, b)| Shape::Box(a, b)),
        (".*", any::<Option<u8>>()).prop_map(|(name, sides)| Shape::Named { name, sides }),
    ]
}

fn tagged() -> impl Strategy<Value = Tagged> {
    let full = (any::<u64>(), prop::collection::vec(".*", 0..3));
    prop_oneof![Just(Tagged::Empty), full.prop_map(|(at, words)| Tagged::Full { at, words })]
}

fn untagged() -> impl Strategy<Value = Untagged> {
    prop_oneof![
        any::<i64>().prop_map(Untagged::Number),
        ".*".prop_map(Untagged::Text),
        colour().prop_map(|colour| Untagged::Colour { colour }),
    ]
}

fn everything() -> impl Strategy<Value = Everything> {
    let scalars =
        (any::<u8>(), any::<i32>(), any::<u64>(), -1e300..1e300, any::<bool>(), ".*", any::<char>());
    let compound = (any::<u16>(), ".*", any::<i64>(), any::<Option<String>>());
    let lists = (
        prop::collection::vec(shape(), 0..4),
        prop::collection::vec(tagged(), 0..4),
        prop::collection::vec(untagged(), 0..4),
    );
    let maps = (
        prop::collection::btree_map(".*", any::<i64>(), 0..3),
        prop::collection::btree_map(any::<u16>(), any::<bool>(), 0..3),
        prop::collection::btree_map(colour(), any::<u8>(), 0..3),
        prop::collection::btree_map("rest[a-z]", any::<u32>(), 0..3),
    );
    let one = (scalars, compound, lists, maps)
        .prop_map(|(s, c, l, m)| Everything {
            small: s.0,
            signed: s.1,
            large: s.2,
            fraction: s.3,
            yes: s.4,
            text: s.5,
            letter: s.6,
            nothing: (),
            pair: (c.0, c.1),
            wrapped: Wrapped(c.2),
            option: c.3,
            nested: None,
            list: l.0,
            tagged: l.1,
            untagged: l.2,
            by_text: m.0,
            by_number: m.1,
            by_variant: m.2,
            rest: m.3,
        })
        .boxed();
    (one.clone(), prop::option::of(one)).prop_map(|(mut outer, inner)| {
        outer.nested = inner.map(Box::new);
        outer
    })
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        // Fractions of many digits are read exactly here and within one unit in the last place there.
        any::<i32>().prop_map(|n| Value::from(f64::from(n) / 8.0)),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".*", inner, 0..6)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

/// Both read the same, or neither reads anything.
fn alike<T: DeserializeOwned + Serialize>(bytes: &[u8]) {
    let ours = from_slice::<T>(bytes).ok().map(|v| serde_json::to_value(v).unwrap());
    let theirs = serde_json::from_slice::<T>(bytes).ok().map(|v| serde_json::to_value(v).unwrap());
    let same = ours.iter().zip(&theirs).all(|(a, b)| same(a, b)) && ours.is_some() == theirs.is_some();
    assert!(same, "{:?}: {ours:?}, {theirs:?}", String::from_utf8_lossy(bytes));
}

/// Equal but for the last digit of fractions, which `serde_json` does not always read exactly (`7e50`).
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) if x.is_f64() && y.is_f64() => {
            let (x, y) = (x.as_f64().unwrap(), y.as_f64().unwrap());
            (x - y).abs() <= x.abs() * 2.0 * f64::EPSILON
        }
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(a, b)| same(a, b)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        _ => a == b,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read(value in everything()) {
        let text = serde_json::to_string(&value).unwrap();
        prop_assert_eq!(from_slice::<Everything>(text.as_bytes()), Ok(value.clone()));
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(from_slice::<Everything>(pretty.as_bytes()), Ok(value));
    }

    #[test]
    fn any_value_reads_as_serde_json_reads_it(value in value()) {
        alike::<Value>(serde_json::to_string(&value).unwrap().as_bytes());
    }

    #[test]
    fn damaged_texts_are_refused_alike(value in value(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = serde_json::to_vec(&value).unwrap();
        let at = at.index(bytes.len());
        alike::<Value>(&bytes[..at]);
        bytes[at] = byte;
        alike::<Value>(&bytes);
    }

    #[test]
    fn noise_is_refused_alike(text in r#"[\[\]{}:,"\\u0-9a-f.eE+\- tn]{0,24}"#) {
        alike::<Value>(text.as_bytes());
        alike::<Vec<Shape>>(text.as_bytes());
        alike::<BTreeMap<u16, Option<f64>>>(text.as_bytes());
    }
}

#[test]
fn odd_texts_read_as_serde_json_reads_them() {
    for text in [
        "",
        " ",
        "null",
        "nul",
        "nulll",
        "true",
        "truefalse",
        "7e50",
        "0",
        "-0",
        "-",
        "00",
        "01",
        "-01",
        "1.",
        ".5",
        "1.5e3",
        "1e",
        "1e+",
        "1E-2",
        "1e999",
        "+1",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        "\"",
        "\"\\\"",
        "\"\\u0041\"",
        "\"\\ud83d\\ude00\"",
        "\"\\ud83d\"",
        "\"\\ud83d\\u0041\"",
        "\"\\ude00\"",
        "\"\\u+041\"",
        "\"\\x\"",
        "\"\u{1}\"",
        "\"tab\\t\"",
        "[",
        "]",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1,2] ",
        "[1,2]x",
        "{",
        "{}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1,\"a\":2}",
        "[[[]]]",
    ] {
        alike::<Value>(text.as_bytes());
        alike::<Option<Vec<u8>>>(text.as_bytes());
        alike::<BTreeMap<String, i8>>(text.as_bytes());
    }
    alike::<Value>(b"\"\xff\"");
}

#[test]
fn fields_are_missing_unknown_and_twice_as_serde_json_has_it() {
    for text in [
        r#"{"kind":"empty"}"#,
        r#"{"kind":"full","at":1,"words":[],"more":{"deep":[1,{"x":null}]}}"#,
        r#"{"kind":"full","at":1}"#,
        r#"{"kind":"full","at":-1,"words":[]}"#,
        r#"{"at":1,"kind":"full","words":["a"]}"#,
        r#"{"kind":"other"}"#,
        r#"{"kind":"full","at":1,"at":2,"words":[]}"#,
        r#"{}"#,
    ] {
        alike::<Tagged>(text.as_bytes());
    }
    for text in [
        r#""Point""#,
        r#"{"Point":null}"#,
        r#"{"Circle":1}"#,
        r#"{"Box":[1,2]}"#,
        r#"{"Box":[1]}"#,
        r#""Circle""#,
    ] {
        alike::<Shape>(text.as_bytes());
    }
}

#[test]
fn structures_are_not_read_from_arrays() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Pair {
        a: u8,
        b: u8,
    }
    assert_eq!(from_slice::<Pair>(br#"{"b":2,"a":1}"#), Ok(Pair { a: 1, b: 2 }));
    assert_eq!(from_slice::<Pair>(b"[1,2]"), Err(Unreadable));
}

#[test]
fn deep_nesting_is_refused() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(from_slice::<Value>(nested(100).as_bytes()).is_ok());
    assert_eq!(from_slice::<Value>(nested(101).as_bytes()), Err(Unreadable));
    assert_eq!(from_slice::<Value>(nested(1_000_000).as_bytes()), Err(Unreadable));
}
