//! Label and field selectors.

use crate::failure::Failure;
use crate::kind::Kind;
use crate::meta::{is_key, is_label_word};
use crate::paths;
use serde_json::Value;
use std::cmp::Ordering;

/// A condition on a label or field.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Is(String, String),
    IsNot(String, String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Has(String),
    HasNot(String),
    /// A whole number greater (or less) than this one.
    Beyond(String, Ordering, i64),
}

/// The restrictions of a list or watch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selector {
    labels: Vec<Test>,
    fields: Vec<Test>,
    /// Path of a list and the conditions on fields of its entries.
    entries: Option<(&'static str, Vec<Test>)>,
}

impl Selector {
    /// Reads both selectors of a request about objects of a kind.
    pub(crate) fn read(kind: &Kind, labels: &str, fields: &str) -> Result<Self, Failure> {
        let selector = Selector::of(kind.selectable, labels, fields)?;
        let Some(list) = kind.selectable_list else { return Ok(selector) };
        let (entries, fields): (Vec<_>, Vec<_>) =
            selector.fields.into_iter().partition(|t| t.within(list).is_some());
        let entries = Some((list, entries)).filter(|(_, tests)| !tests.is_empty());
        Ok(Selector { fields, entries, ..selector })
    }

    /// Reads both selectors of a request about objects with these fields to select by, besides name and namespace.
    pub(crate) fn of(selectable: &[&str], labels: &str, fields: &str) -> Result<Self, Failure> {
        let labels = split(labels).into_iter().map(|t| label_test(&t)).collect::<Result<_, _>>()?;
        let fields: Vec<Test> = split(fields).into_iter().map(|t| test(&t)).collect::<Result<_, _>>()?;
        for field in &fields {
            let (Test::Is(path, _) | Test::IsNot(path, _)) = field else {
                return Err(Failure::bad_request("field selectors support =, == and != only"));
            };
            let known = ["metadata.name", "metadata.namespace"].contains(&path.as_str());
            if !known && !selectable.contains(&path.as_str()) {
                return Err(Failure::bad_request(format!("field label not supported: {path}")));
            }
        }
        Ok(Selector { labels, fields, entries: None })
    }

    /// The one name that can match, if the selector says so.
    pub(crate) fn name(&self) -> Option<&str> {
        self.fields.iter().find_map(|t| match t {
            Test::Is(path, value) if path == "metadata.name" => Some(value.as_str()),
            _ => None,
        })
    }

    /// True when an object can go from matching to not matching while it exists.
    pub(crate) fn follows_changes(&self) -> bool {
        let fixed = |t: &Test| matches!(t, Test::Is(p, _) | Test::IsNot(p, _) if p.starts_with("metadata."));
        !self.labels.is_empty() || self.entries.is_some() || !self.fields.iter().all(fixed)
    }

    /// True when an object matches.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        let label = |key: &str| {
            object["metadata"]["labels"][key].as_str().map(|v| vec![v.to_string()]).unwrap_or_default()
        };
        // An entry fulfils all conditions or does not count: group and resource name one component together.
        let entries = self.entries.as_ref().is_none_or(|(list, tests)| {
            let mut entries = paths::values(object, &format!(".{list}[*]")).into_iter();
            entries.any(|entry| {
                let field = |path: &str| text(entry, path.strip_prefix(list).unwrap_or(path));
                tests.iter().all(|t| t.holds(&field))
            })
        });
        entries
            && self.labels.iter().all(|t| t.holds(&label))
            && self.fields.iter().all(|t| t.holds(&|path: &str| text(object, &format!(".{path}"))))
    }
}

/// The text at a path; an absent one is empty.
fn text(object: &Value, path: &str) -> Vec<String> {
    let found = paths::values(object, path);
    let texts: Vec<String> = found.into_iter().filter_map(|v| v.as_str().map(str::to_owned)).collect();
    if texts.is_empty() { vec![String::new()] } else { texts }
}

impl Test {
    /// The rest of its path, when it is about a field below this one.
    fn within(&self, list: &str) -> Option<&str> {
        let (Test::Is(path, _)
        | Test::IsNot(path, _)
        | Test::In(path, _)
        | Test::NotIn(path, _)
        | Test::Has(path)
        | Test::HasNot(path)
        | Test::Beyond(path, ..)) = self;
        path.strip_prefix(list)?.strip_prefix('.')
    }

    fn holds(&self, values: &dyn Fn(&str) -> Vec<String>) -> bool {
        match self {
            Test::Is(k, v) => values(k).contains(v),
            Test::IsNot(k, v) => !values(k).contains(v),
            Test::In(k, list) => values(k).iter().any(|v| list.contains(v)),
            Test::NotIn(k, list) => !values(k).iter().any(|v| list.contains(v)),
            Test::Has(k) => !values(k).is_empty(),
            Test::HasNot(k) => values(k).is_empty(),
            Test::Beyond(k, order, bound) => {
                values(k).iter().any(|v| v.parse::<i64>().is_ok_and(|v| v.cmp(bound) == *order))
            }
        }
    }
}

/// Splits at commas outside parentheses.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        match (c, parts.last_mut()) {
            (',', _) if depth == 0 => parts.push(String::new()),
            (_, Some(last)) => last.push(c),
            _ => {}
        }
    }
    parts.iter().map(|p| p.trim().to_string()).filter(|p| !p.is_empty()).collect()
}

/// A condition on a label, whose key and values are those that labels can have.
fn label_test(text: &str) -> Result<Test, Failure> {
    let wrong = |field: &str, value: &str, rule: &str| {
        let shown: String = value.chars().take(80).collect();
        Failure::bad_request(format!(
            "unable to parse requirement: {field}: Invalid value: {shown:?}: {rule}"
        ))
    };
    let comparison = text.split_once(['>', '<']).filter(|(key, _)| !key.contains(['=', '(', '!']));
    let test = match comparison {
        Some((key, bound)) => {
            let (key, bound) = (key.trim(), bound.trim());
            let rule = "for 'Gt', 'Lt' operators, the value must be an integer";
            let number = bound.parse().map_err(|_| wrong(&format!("values[0][{key}]"), bound, rule))?;
            let order = if text.contains('>') { Ordering::Greater } else { Ordering::Less };
            Test::Beyond(key.to_string(), order, number)
        }
        None => test(text)?,
    };
    let (key, values) = match &test {
        Test::Is(key, value) | Test::IsNot(key, value) => (key, std::slice::from_ref(value)),
        Test::In(key, values) | Test::NotIn(key, values) => (key, values.as_slice()),
        Test::Has(key) | Test::HasNot(key) | Test::Beyond(key, ..) => (key, &[][..]),
    };
    if !is_key(key) {
        return Err(wrong("key", key, "is not a valid label key"));
    }
    match values.iter().position(|v| !v.is_empty() && !is_label_word(v)) {
        Some(i) => Err(wrong(&format!("values[{i}][{key}]"), &values[i], "is not a valid label value")),
        None => Ok(test),
    }
}

fn test(text: &str) -> Result<Test, Failure> {
    let word = |w: &str| {
        let w = w.trim();
        let fine =
            !w.is_empty() && w.len() <= 317 && !w.contains(|c: char| c.is_whitespace() || "(),".contains(c));
        if fine {
            Ok(w.to_string())
        } else {
            Err(Failure::bad_request(format!("unable to parse requirement: {text:?}")))
        }
    };
    for (operator, negative) in [("!=", true), ("==", false), ("=", false)] {
        if let Some((key, value)) = text.split_once(operator) {
            let (key, value) = (word(key)?, value.trim().to_string());
            return Ok(if negative { Test::IsNot(key, value) } else { Test::Is(key, value) });
        }
    }
    if let Some(list) = text.strip_suffix(')') {
        let (head, list) = list
            .split_once('(')
            .ok_or_else(|| Failure::bad_request(format!("unable to parse requirement: {text:?}")))?;
        let list = list.split(',').map(|v| v.trim().to_string()).collect();
        let head = head.trim();
        if let Some(key) = head.strip_suffix(" notin") {
            return Ok(Test::NotIn(word(key)?, list));
        }
        if let Some(key) = head.strip_suffix(" in") {
            return Ok(Test::In(word(key)?, list));
        }
        return Err(Failure::bad_request(format!("unable to parse requirement: {text:?}")));
    }
    match text.strip_prefix('!') {
        Some(key) => Ok(Test::HasNot(word(key)?)),
        None => Ok(Test::Has(word(text)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds;

    #[test]
    fn conditions_on_a_reference_hold_for_one_entry() {
        let entry = |group: &str, resource: &str| serde_json::json!({ "reference": { "group": group, "resource": resource } });
        let nodes = serde_json::json!({ "reference": { "resource": "nodes" } });
        let entries = [entry("kube-apiserver", "endpoints"), entry("apps", "services"), nodes];
        let object = serde_json::json!({ "metadata": { "name": "a" }, "spec": { "addressSpace": entries } });
        let matches = |conditions: &str| {
            let fields: Vec<String> =
                conditions.split(',').map(|c| format!("spec.addressSpace.reference.{c}")).collect();
            Selector::read(&kinds::NETWORK_CLAIM, "", &fields.join(",")).unwrap().matches(&object)
        };
        for yes in [
            "group=apps,resource=services",
            "group=kube-apiserver",
            "resource=services",
            "group=,resource=nodes",
            "group=apps,resource!=nodes",
            "group!=apps",
        ] {
            assert!(matches(yes), "{yes}");
        }
        // One entry has the group, another one the resource.
        for no in ["group=kube-apiserver,resource=services", "group=apps,resource!=services", "group=x"] {
            assert!(!matches(no), "{no}");
        }
    }

    #[test]
    fn labels_and_fields_select() {
        let object = serde_json::json!({
            "metadata": { "name": "a", "labels": { "app": "web", "tier": "1", "size": "10" } },
            "spec": { "addressSpace": [{ "reference": { "group": "kube-apiserver", "resource": "services" } }] },
        });
        let matches = |labels: &str, fields: &str| {
            Selector::read(&kinds::NETWORK_CLAIM, labels, fields).unwrap().matches(&object)
        };
        for yes in [
            "",
            "app=web",
            "app==web,tier!=2",
            "app in (web, db)",
            "tier notin (2,3)",
            "app",
            "!other",
            "other!=x",
            "size>9",
            "size > 9, size<11",
        ] {
            assert!(matches(yes, ""), "{yes}");
        }
        for no in [
            "app=db",
            "app!=web",
            "other",
            "!app",
            "app in (db)",
            "tier notin (1)",
            "app=web,tier=2",
            "size>10",
            "size<10",
            "app>1",
            "other<1",
        ] {
            assert!(!matches(no, ""), "{no}");
        }
        let services =
            "spec.addressSpace.reference.group=kube-apiserver,spec.addressSpace.reference.resource=services";
        assert!(matches("", services) && matches("", "metadata.name=a") && !matches("", "metadata.name!=a"));
        let e = Selector::read(&kinds::NETWORK_CLAIM, "size>a", "").unwrap_err();
        let words =
            "values[0][size]: Invalid value: \"a\": for 'Gt', 'Lt' operators, the value must be an integer";
        assert_eq!((e.code, e.message), (400, format!("unable to parse requirement: {words}")));
        for (labels, fields) in [
            ("a b", ""),
            ("é=1", ""),
            ("a=b c", ""),
            ("a in (b$)", ""),
            (">1", ""),
            ("a>", ""),
            ("a=b>1", ""),
            ("(", ""),
            ("x (a)", ""),
            ("", "spec.name=x"),
            ("", "metadata.name"),
        ] {
            let e = Selector::read(&kinds::NETWORK_CLAIM, labels, fields).err();
            assert_eq!(e.map(|e| e.code), Some(400), "{labels} {fields}");
        }
    }
}
