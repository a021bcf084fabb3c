//! A long list as text, written while it is read: the body is never in memory as a whole.
//!
//! In: a [`List`] and its first objects. Out: parts of the body, the metadata last, because the token to go on with is known
//! only then. The position of the list is that of its beginning, as with a list in chunks: what is read later may be newer, and
//! a watch from that position repeats it.

use crate::body::{Form, shaped};
use crate::failure::Failure;
use crate::list::List;
use crate::table::Include;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use serde_json::Value;

/// Progress of the writing of a list.
enum Stage {
    /// Its first objects were read, nothing is written.
    Begins(Vec<Value>),
    Goes,
    Ended,
}

/// The body of a list that goes on behind its first objects, of which there is one at least.
pub(crate) fn parts(
    list: List,
    first: Vec<Value>,
    form: Form,
    include: Include,
) -> BoxStream<'static, Result<Vec<u8>, Failure>> {
    let state = (list, Stage::Begins(first));
    stream::unfold(state, move |(mut list, stage)| async move {
        let part = match stage {
            Stage::Begins(items) => Ok(begin(&list, items, form, include)),
            Stage::Goes => match list.next().await {
                Ok(items) if items.is_empty() => Ok((end(&list, form, include), Stage::Ended)),
                Ok(items) => Ok((continued(&list, items, form, include), Stage::Goes)),
                Err(failure) => Err(failure),
            },
            Stage::Ended => return None,
        };
        Some(match part {
            Ok((text, stage)) => (Ok(text.into_bytes()), (list, stage)),
            Err(failure) => (Err(failure), (list, Stage::Ended)),
        })
    })
    .boxed()
}

/// A list of these objects in the form, with the key of its entries, and these entries apart.
fn split(list: &List, items: Vec<Value>, form: Form, include: Include) -> (Value, &'static str, Vec<Value>) {
    let mut value = shaped(list.of(items), form, list.objects.kind.columns, include);
    let key = if matches!(form, Form::Table(_)) { "rows" } else { "items" };
    let entries = match value.as_object_mut().and_then(|object| object.remove(key)) {
        Some(Value::Array(entries)) => entries,
        _ => Vec::new(),
    };
    (value, key, entries)
}

fn begin(list: &List, items: Vec<Value>, form: Form, include: Include) -> (String, Stage) {
    let (mut value, key, entries) = split(list, items, form, include);
    if let Some(object) = value.as_object_mut() {
        object.remove("metadata");
    }
    let text = if form.is_yaml() {
        format!("{}{key}:\n{}", yaml(&value), yaml_entries(&entries))
    } else {
        let mut text = value.to_string();
        // The object goes on.
        text.pop();
        format!("{text},\"{key}\":[{}", json_entries(&entries))
    };
    (text, Stage::Goes)
}

fn continued(list: &List, items: Vec<Value>, form: Form, include: Include) -> String {
    let (.., entries) = split(list, items, form, include);
    if form.is_yaml() { yaml_entries(&entries) } else { format!(",{}", json_entries(&entries)) }
}

fn end(list: &List, form: Form, include: Include) -> String {
    let (value, ..) = split(list, Vec::new(), form, include);
    let metadata = &value["metadata"];
    if form.is_yaml() {
        yaml(&serde_json::json!({ "metadata": metadata }))
    } else {
        format!("],\"metadata\":{metadata}}}\n")
    }
}

fn json_entries(entries: &[Value]) -> String {
    entries.iter().map(Value::to_string).collect::<Vec<_>>().join(",")
}

/// A value as YAML; as JSON, which is YAML as well, where that can't be written.
fn yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap_or_else(|_| format!("{value}\n"))
}

/// Entries of a sequence of the first level.
fn yaml_entries(entries: &[Value]) -> String {
    let mut out = String::new();
    for text in entries.iter().map(yaml) {
        for (i, line) in text.lines().enumerate() {
            out.push_str(match (i, line.is_empty()) {
                (0, _) => "- ",
                (_, false) => "  ",
                (_, true) => "",
            });
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn entries_of_a_list_in_parts_are_those_of_the_whole_list_in_yaml() {
        let texts = ["", "a\n\n  b\n", "\nx", "two\nlines", " - x: y", "a: b # c", "line\n\n\n"];
        let entry =
            |text: &&str| json!({ "metadata": { "name": text }, "none": {}, "list": [[text], [], text] });
        let entries: Vec<Value> = texts.iter().map(entry).collect();
        let (first, rest) = entries.split_at(3);
        let text =
            format!("kind: X\nitems:\n{}{}metadata:\n  a: b\n", yaml_entries(first), yaml_entries(rest));
        let read: Value = serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert_eq!(read, json!({ "kind": "X", "items": entries, "metadata": { "a": "b" } }), "{text}");
    }
}
