//! JSON patches (RFC 6902) within bounds: operations are applied one after the other, and what each of them would add is
//! known before it is copied. A few copies of the document into itself would double it until memory ends, or nest it
//! until the stack does.

use crate::body::{BODY_MAX, DEPTH_MAX};
use crate::failure::Failure;
use json_patch::PatchOperation;
use json_patch::jsonptr::Pointer;
use serde_json::{Value, json};

/// Most operations of one patch, as in Kubernetes.
const OPERATIONS_MAX: usize = 10_000;
/// Octets of JSON that the document may have after each operation.
const DOCUMENT_MAX: usize = BODY_MAX;
/// Octets of JSON that all copies of a patch may make together; Kubernetes bounds this sum too.
const COPIED_MAX: usize = BODY_MAX;
/// Values that all operations of a patch may read or shift in lists.
const VALUES_MAX: usize = 10_000_000;

/// The size of a value.
#[derive(Clone, Copy, Default)]
struct Extent {
    /// Octets of its JSON, but for escapes in texts.
    octets: usize,
    /// It and the values in it.
    values: usize,
    /// Levels of objects and lists.
    depth: usize,
}

impl Extent {
    /// Recursion ends: neither a body nor a patched document is nested deeper than `DEPTH_MAX`.
    fn of(value: &Value) -> Extent {
        match value {
            Value::Null | Value::Bool(true) => Extent::leaf(4),
            Value::Bool(false) => Extent::leaf(5),
            Value::Number(n) => Extent::leaf(n.to_string().len()),
            Value::String(text) => Extent::leaf(text.len() + 2),
            Value::Array(list) => Extent::around(2 + list.len(), list.iter()),
            Value::Object(map) => {
                let keys: usize = map.keys().map(|k| k.len() + 4).sum();
                Extent::around(2 + keys, map.values())
            }
        }
    }

    /// The size of an object or a list: octets of its own, and the values in it.
    fn around<'a>(octets: usize, values: impl Iterator<Item = &'a Value>) -> Extent {
        let own = Extent { octets, values: 1, depth: 1 };
        values.map(Extent::of).fold(own, |all, one| Extent {
            octets: all.octets + one.octets,
            values: all.values + one.values,
            depth: all.depth.max(one.depth + 1),
        })
    }

    fn leaf(octets: usize) -> Extent {
        Extent { octets, values: 1, depth: 0 }
    }
}

/// The operations of a patch.
pub(crate) fn read(patch: Value) -> Result<Vec<PatchOperation>, Failure> {
    let Value::Array(list) = patch else {
        return Err(Failure::bad_body(
            "the body is not a JSON patch (RFC 6902): it is not a list of operations",
        ));
    };
    if list.len() > OPERATIONS_MAX {
        let message =
            format!("The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {}", list.len());
        let mut failure = Failure::new(413, "RequestEntityTooLarge", message);
        let rule = format!("must have at most {OPERATIONS_MAX} operations");
        failure.details["causes"] =
            json!([{ "reason": "FieldValueTooLong", "message": rule, "field": "body" }]);
        return Err(failure);
    }
    let read = |(n, operation): (usize, Value)| {
        let shown: String = operation.to_string().chars().take(80).collect();
        serde_json::from_value(operation).map_err(|e| {
            let reason: String = e.to_string().chars().take(200).collect();
            let words = format!("{shown} is not an operation of a JSON patch (RFC 6902): {reason}");
            refused(400, "BadRequest", n, &words)
        })
    };
    list.into_iter().enumerate().map(read).collect()
}

/// The document after a patch.
pub(crate) fn apply(old: &Value, patch: &[PatchOperation]) -> Result<Value, Failure> {
    let mut document = old.clone();
    let mut octets = Extent::of(&document).octets;
    let (mut copied, mut values) = (0, 0);
    for (n, operation) in patch.iter().enumerate() {
        let invalid = |rule: String| refused(422, "Invalid", n, &format!("{}: {rule}", words(operation)));
        let (comes, goes) = change(&document, operation);
        values += comes.values + goes.values + shifted(&document, operation);
        if values > VALUES_MAX {
            return Err(invalid(format!("a patch reads and moves at most {VALUES_MAX} values")));
        }
        if matches!(operation, PatchOperation::Copy(_)) {
            copied += comes.octets;
            if copied > COPIED_MAX {
                return Err(invalid(format!(
                    "the copies of a patch have at most {COPIED_MAX} octets together"
                )));
            }
        }
        if comes.depth > 0 && operation.path().count() + comes.depth > DEPTH_MAX {
            return Err(invalid(format!("an object is nested at most {DEPTH_MAX} levels deep")));
        }
        let after = (octets + comes.octets).saturating_sub(goes.octets);
        // One that was too large before may become smaller.
        if after > DOCUMENT_MAX && after > octets {
            let rule = format!("the object may have at most {DOCUMENT_MAX} octets after each operation");
            let message = format!("{}: {rule}", words(operation));
            return Err(refused(413, "RequestEntityTooLarge", n, &message));
        }
        json_patch::patch_unsafe(&mut document, std::slice::from_ref(operation))
            .map_err(|e| invalid(e.kind.to_string()))?;
        octets = after;
    }
    Ok(document)
}

/// The values that an operation brings to the document and those that it takes away. A value that it names and that is not there counts
/// nothing: the operation will fail.
fn change(document: &Value, operation: &PatchOperation) -> (Extent, Extent) {
    let member = |path: &Pointer, value: &Value| {
        let extent = Extent::of(value);
        Extent { octets: extent.octets + path.back().map_or(0, |t| t.encoded().len() + 4), ..extent }
    };
    let at =
        |path: &Pointer| document.pointer(path.as_str()).map_or_else(Extent::default, |v| member(path, v));
    // What is added to a list replaces nothing.
    let replaced =
        |path: &Pointer| if parent_list(document, path) > 0 { Extent::default() } else { at(path) };
    let source = |from: &Pointer, to: &Pointer| {
        document.pointer(from.as_str()).map_or_else(Extent::default, |v| member(to, v))
    };
    match operation {
        PatchOperation::Add(o) => (member(&o.path, &o.value), replaced(&o.path)),
        PatchOperation::Replace(o) => (member(&o.path, &o.value), at(&o.path)),
        PatchOperation::Remove(o) => (Extent::default(), at(&o.path)),
        PatchOperation::Copy(o) => (source(&o.from, &o.path), replaced(&o.path)),
        PatchOperation::Move(o) => {
            let (from, to) = (at(&o.from), replaced(&o.path));
            let octets = if o.from == o.path { from.octets } else { from.octets + to.octets };
            (source(&o.from, &o.path), Extent { octets, values: to.values, depth: 0 })
        }
        PatchOperation::Test(_) => (Extent::default(), Extent::default()),
    }
}

/// Elements of the list that a path names an element of.
fn parent_list(document: &Value, path: &Pointer) -> usize {
    let parent = path.parent().and_then(|parent| document.pointer(parent.as_str()));
    parent.and_then(Value::as_array).map_or(0, Vec::len)
}

/// Elements of lists that an operation may have to shift.
fn shifted(document: &Value, operation: &PatchOperation) -> usize {
    match operation {
        PatchOperation::Replace(_) | PatchOperation::Test(_) => 0,
        PatchOperation::Move(o) => parent_list(document, &o.from) + parent_list(document, &o.path),
        other => parent_list(document, other.path()),
    }
}

/// Characters of a path in an error; the rest is cut.
const PATH_SHOWN: usize = 100;

/// An operation as errors name it.
fn words(operation: &PatchOperation) -> String {
    let cut = |path: &Pointer| path.as_str().chars().take(PATH_SHOWN).collect::<String>();
    match operation {
        PatchOperation::Copy(o) => format!("copy from {:?} to {:?}", cut(&o.from), cut(&o.path)),
        PatchOperation::Move(o) => format!("move from {:?} to {:?}", cut(&o.from), cut(&o.path)),
        PatchOperation::Add(o) => format!("add at {:?}", cut(&o.path)),
        PatchOperation::Replace(o) => format!("replace at {:?}", cut(&o.path)),
        PatchOperation::Remove(o) => format!("remove at {:?}", cut(&o.path)),
        PatchOperation::Test(o) => format!("test at {:?}", cut(&o.path)),
    }
}

/// The refusal of one operation.
fn refused(code: u16, reason: &'static str, n: usize, words: &str) -> Failure {
    let mut failure = Failure::new(code, reason, format!("the patch does not apply: operation {n}: {words}"));
    failure.details["causes"] =
        json!([{ "reason": "FieldValueInvalid", "message": words, "field": format!("[{n}]") }]);
    failure
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn patched(document: &Value, patch: Value) -> Result<Value, Failure> {
        apply(document, &read(patch)?)
    }

    /// Appendix A of RFC 6902, and what each kind of operation leaves.
    #[test]
    fn operations_apply_in_order_or_name_the_one_that_does_not() {
        for (document, patch, after) in [
            (
                json!({"a":1}),
                json!([{"op":"add","path":"/b","value":[1]},{"op":"add","path":"/b/-","value":2}]),
                json!({"a":1,"b":[1,2]}),
            ),
            (
                json!({"l":["a","c"]}),
                json!([{"op":"add","path":"/l/1","value":"b"}]),
                json!({"l":["a","b","c"]}),
            ),
            (
                json!({"a":{"b":1}}),
                json!([{"op":"move","from":"/a/b","path":"/c"},{"op":"copy","from":"/c","path":"/a/d"}]),
                json!({"a":{"d":1},"c":1}),
            ),
            (
                json!({"l":[1,2,3]}),
                json!([{"op":"move","from":"/l/0","path":"/l/2"},{"op":"remove","path":"/l/0"}]),
                json!({"l":[3,1]}),
            ),
            (
                json!({"a/b":1,"m~n":2}),
                json!([{"op":"replace","path":"/a~1b","value":3},{"op":"test","path":"/m~0n","value":2}]),
                json!({"a/b":3,"m~n":2}),
            ),
            (json!({"a":1}), json!([{"op":"replace","path":"","value":{}}]), json!({})),
        ] {
            assert_eq!(patched(&document, patch.clone()).unwrap(), after, "{patch}");
        }
        for (patch, code, field, rule) in [
            (
                json!([{"op":"add","path":"/b","value":1},{"op":"test","path":"/a","value":2}]),
                422,
                "[1]",
                "did not match",
            ),
            (json!([{"op":"remove","path":"/none"}]), 422, "[0]", "path is invalid"),
            (json!([{"op":"copy","from":"/none","path":"/a"}]), 422, "[0]", "from"),
            (json!([{"op":"move","from":"/o","path":"/o/x"}]), 422, "[0]", "inside itself"),
            (json!([{"op":"merge","path":"/a"}]), 400, "[0]", "RFC 6902"),
            (json!({"op":"add"}), 400, "body", "RFC 6902"),
        ] {
            let e = patched(&json!({"a":1,"o":{}}), patch.clone()).unwrap_err();
            let cause = &e.details["causes"][0];
            assert_eq!((e.code, cause["field"].as_str()), (code, Some(field)), "{patch}: {e:?}");
            assert!(cause["message"].as_str().unwrap().contains(rule), "{patch}: {e:?}");
        }
    }

    /// Each of these would take all memory, the stack, or minutes.
    #[test]
    fn hostile_patches_are_refused_at_once() {
        let twice = |n: usize| json!({"op":"copy","from":"","path":format!("/x{n}")});
        let nested = || vec![json!({"op":"copy","from":"/a","path":"/a/a"}); 100];
        let long = json!({"a":{},"l":vec![0; 700_000]});
        let shift = || vec![json!({"op":"move","from":"/l/0","path":"/l/-"}); 10_000];
        let grow = |n: usize| json!({"op":"add","path":format!("/x{n}"),"value":"x".repeat(1 << 18)});
        for (document, patch, code, rule) in [
            (json!({"a":"x".repeat(1000)}), (0..40).map(twice).collect(), 422, "copies of a patch"),
            (json!({"a":{}}), nested(), 422, "64 levels deep"),
            (long, shift(), 422, "reads and moves at most"),
            (json!({}), (0..20).map(grow).collect(), 413, "3145728 octets after each operation"),
            (
                json!({}),
                vec![json!({"op":"test","path":"","value":{}}); 10_001],
                413,
                "at most 10000 operations",
            ),
        ] {
            let began = Instant::now();
            let e = patched(&document, Value::Array(patch)).unwrap_err();
            assert_eq!(e.code, code, "{}", e.message);
            assert!(e.details["causes"][0]["message"].as_str().unwrap().contains(rule), "{}", e.message);
            assert!(began.elapsed() < Duration::from_secs(10), "{rule}: {:?}", began.elapsed());
        }
    }

    #[test]
    fn a_refusal_repeats_little_of_the_patch() {
        let e = patched(&json!({}), json!([{"op":"x".repeat(2 << 20),"path":"/a"}])).unwrap_err();
        assert!(e.code == 400 && e.message.len() < 1_000, "{}", e.message.len());
    }

    /// Written before there was a limit.
    #[test]
    fn what_is_too_large_already_may_become_smaller() {
        let large = json!({"a":"x".repeat(4 << 20),"b":1});
        assert_eq!(patched(&large, json!([{"op":"remove","path":"/a"}])).unwrap(), json!({"b":1}));
        assert!(patched(&large, json!([{"op":"remove","path":"/b"}])).is_ok());
        assert_eq!(patched(&large, json!([{"op":"add","path":"/c","value":1}])).unwrap_err().code, 413);
    }

    #[test]
    fn what_is_taken_away_makes_room() {
        let large = "x".repeat(2 << 20);
        let add = json!({"op":"add","path":"/a","value":large});
        let after = patched(&json!({}), json!([add, { "op": "remove", "path": "/a" }, add, add])).unwrap();
        assert_eq!(after["a"].as_str().map(str::len), Some(2 << 20));
        let moves = json!([add, { "op": "move", "from": "/a", "path": "/b" }, { "op": "move", "from": "/b", "path": "/a" }]);
        assert_eq!(patched(&json!({}), moves).unwrap(), after);
    }
}
