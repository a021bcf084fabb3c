//! The small part of JSON path that columns and field selectors use: `.a.b`, `[0]`, `[*]` and `[?(@.k=="v")]`.

use serde_json::Value;

/// All values at a path.
pub(crate) fn values<'a>(object: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![object];
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let Some((inner, after)) = after.split_once(']') else { return Vec::new() };
            found = found.into_iter().flat_map(|v| step(v, inner)).collect();
            rest = after;
        } else {
            let name = rest.strip_prefix('.').unwrap_or(rest);
            let end = name.find(['.', '[']).unwrap_or(name.len());
            found = found.into_iter().filter_map(|v| v.get(&name[..end])).collect();
            rest = &name[end..];
        }
    }
    found
}

fn step<'a>(value: &'a Value, inner: &str) -> Vec<&'a Value> {
    let Some(list) = value.as_array() else { return Vec::new() };
    if inner == "*" {
        return list.iter().collect();
    }
    if let Ok(i) = inner.parse::<usize>() {
        return list.get(i).into_iter().collect();
    }
    let filter =
        inner.strip_prefix("?(@.").and_then(|f| f.strip_suffix(')')).and_then(|f| f.split_once("=="));
    let Some((key, wanted)) = filter else { return Vec::new() };
    let wanted = wanted.trim_matches(['"', '\'']);
    list.iter().filter(|v| v.get(key).and_then(Value::as_str) == Some(wanted)).collect()
}

/// The values at a path as one text, or `None` when there are none.
pub(crate) fn text(object: &Value, path: &str) -> Option<String> {
    let texts: Vec<String> = values(object, path)
        .into_iter()
        .filter(|v| !v.is_null())
        .map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned))
        .collect();
    (!texts.is_empty()).then(|| texts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_find_what_they_name() {
        let o = serde_json::json!({
            "a": { "b": [{ "t": "X", "s": "1" }, { "t": "Y", "s": "2" }] }, "n": 3, "z": null
        });
        assert_eq!(text(&o, ".a.b[*].s").as_deref(), Some("1,2"));
        assert_eq!(text(&o, ".a.b[1].s").as_deref(), Some("2"));
        assert_eq!(text(&o, r#".a.b[?(@.t=="Y")].s"#).as_deref(), Some("2"));
        assert_eq!(text(&o, "n").as_deref(), Some("3"));
        for none in [".a.c", ".z", ".a.b[9].s", ".a.b[", ".n[*]", r#".a.b[?(@.t=="Q")].s"#] {
            assert_eq!(text(&o, none), None, "{none}");
        }
    }
}
