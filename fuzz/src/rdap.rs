//! RDAP bodies: any bytes, JSON or not.

use crate::input::Input;
use crate::reading;
use registration::{parse_rdap, read_rdap};

/// Panics when a promise of the reader is broken.
pub fn check(data: &[u8]) {
    let input = Input::read(data);
    let first = parse_rdap(&input.domain, &input.answer);
    // With escapes undone, so that what is read stands in the text as it is; of texts in other encodings too, and of
    // an answer with something behind it.
    let lossy = String::from_utf8_lossy(&input.answer);
    let object = serde_json::Deserializer::from_str(lossy.trim_start_matches('\u{feff}')).into_iter().next();
    let text = match object {
        Some(Ok(object)) => strings(&object),
        _ => lossy.into_owned(),
    };
    reading::check(first.outcome, &first.registration, &first.warnings, &text);
    let Ok(json) = serde_json::from_slice::<serde_json::Value>(&input.answer) else { return };
    assert_eq!(read_rdap(&input.domain, &json), first, "the same object is read in two ways");
    let spaced = serde_json::to_vec_pretty(&json).expect("was JSON");
    if spaced.len() < 1 << 20 {
        assert_eq!(parse_rdap(&input.domain, &spaced), first, "white space changes the reading");
    }
}

/// Every key and scalar of a JSON value, one per line.
fn strings(value: &serde_json::Value) -> String {
    let mut out = String::new();
    let mut todo = vec![value];
    while let Some(value) = todo.pop() {
        match value {
            serde_json::Value::String(text) => out.push_str(text),
            serde_json::Value::Array(list) => todo.extend(list),
            serde_json::Value::Object(members) => {
                for (key, member) in members {
                    out.push_str(key);
                    out.push('\n');
                    todo.push(member);
                }
            }
            other => out.push_str(&other.to_string()),
        }
        out.push('\n');
    }
    out
}
