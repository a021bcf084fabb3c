//! Control characters out of an answer's texts. In: JSON; out: the same, with a space for each run of them: JSON can
//! carry a NUL, which databases refuse, and escapes, which drive the terminal a value is shown in.

use serde_json::Value;
use std::borrow::Cow;

/// The answer itself where it is clean, which is nearly always.
pub(super) fn clean(answer: &Value) -> Cow<'_, Value> {
    if !is_unfit(answer) {
        return Cow::Borrowed(answer);
    }
    let mut copy = answer.clone();
    scrub(&mut copy);
    Cow::Owned(copy)
}

/// No deeper than the JSON reader goes (128 levels).
fn is_unfit(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(char::is_control),
        Value::Array(list) => list.iter().any(is_unfit),
        Value::Object(members) => members.values().any(is_unfit),
        _ => false,
    }
}

fn scrub(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(char::is_control) => {
            let words: Vec<&str> = text.split(char::is_control).filter(|w| !w.is_empty()).collect();
            *text = words.join(" ");
        }
        Value::Array(list) => list.iter_mut().for_each(scrub),
        Value::Object(members) => members.values_mut().for_each(scrub),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Found by fuzzing: a NUL in a mail address went all the way to the store.
    #[test]
    fn control_characters_do_not_come_through() {
        let dirty = json!({"a": ["x\u{0}y", {"b": "\u{1b}[31m\nred\r\n"}], "n": 1});
        assert_eq!(*clean(&dirty), json!({"a": ["x y", {"b": "[31m red"}], "n": 1}));
        let sound = json!({"a": "Zażółć", "b": [null, 1.5]});
        assert!(matches!(clean(&sound), Cow::Borrowed(_)));
    }
}
