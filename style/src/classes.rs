//! Which CSS classes the interface's source uses. In: Rust source. Out: every class with its line.
//!
//! Looked at: `class="…"`, `class=("…", …)`, `class:name=`, both sides of `class=… if … { "…" } else { "…" }`, string
//! literals in functions whose name ends in `_class` or `_classes` and in calls of `icon_in`, and comments
//! `// classes: a b`. A class must be written out: `format!("pill-{x}")` can neither be checked nor generated.

use regex::Regex;
use std::sync::LazyLock;

/// Patterns whose group 1 is a list of classes, or Rust with such lists in its string literals.
static LISTS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        r#"\bclass=\(?"([^"]*)""#,
        r"\bclass:([\w/.:-]+)=",
        r#"\bicon_in\([^,()]*(?:\([^()]*\))?[^,()]*, "([^"]*)""#,
        r"(?m)// classes: (.*)$",
    ];
    patterns.iter().map(|pattern| Regex::new(pattern).expect("a constant")).collect()
});
static CODE: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        r#"\bclass\s*=\s*(?:move \|\| |\{)?(if [^{}]*\{ "[^"]*" \} else \{ "[^"]*" \})"#,
        r"(?ms)^ *(?:pub(?:\([a-z]+\))? )?(?:const )?fn \w+_class(?:es)?\(.*?\{$(.*?)^ *\}$",
    ];
    patterns.iter().map(|pattern| Regex::new(pattern).expect("a constant")).collect()
});
/// A string literal that is a value: no pattern of a `match`, not compared with.
static VALUE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(?:=>|\{|\()\s*"([^"]*)""#).expect("a constant"));

/// Every class that is certainly used as one, and its line from 1.
pub fn uses(source: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut add = |list: &str, at: usize| {
        let line = source[..at].matches('\n').count() + 1;
        // A word that is filled in whole comes from a place of its own.
        let words = list.split_whitespace().filter(|word| !(word.starts_with('{') && word.ends_with('}')));
        found.extend(words.map(|word| (word.to_owned(), line)));
    };
    for list in
        LISTS.iter().flat_map(|pattern| pattern.captures_iter(source)).filter_map(|found| found.get(1))
    {
        add(list.as_str(), list.start());
    }
    for code in CODE.iter().flat_map(|pattern| pattern.captures_iter(source)).filter_map(|found| found.get(1))
    {
        for list in VALUE.captures_iter(code.as_str()).filter_map(|found| found.get(1)) {
            add(list.as_str(), code.start() + list.start());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    fn found(source: &str) -> Vec<String> {
        super::uses(source).into_iter().map(|(class, _)| class).collect()
    }

    #[test]
    fn every_way_of_writing_a_class_is_seen() {
        for (source, classes) in [
            (r#"<p class="a b-2">"#, vec!["a", "b-2"]),
            (r#"<p class=("a b", move || x == "no")>"no"</p>"#, vec!["a", "b"]),
            (r#"<p class={if x { "a" } else { "b" }} title="no">"#, vec!["a", "b"]),
            (r#"<p class=move || if n >= 2 { "a" } else { "b" } title="no">"no""#, vec!["a", "b"]),
            (r#"let class = if failed { "a" } else { "b" };"#, vec!["a", "b"]),
            (r#"<p class:is-on=move || true title="no">"#, vec!["is-on"]),
            (r#"{icon::icon_in(icon(kind), "a b")}"#, vec!["a", "b"]),
            (
                "fn tone_class(t: T) -> S {\n    match t {\n        \"no\" => \"a\",\n        _ => \"b\",\n    }\n}\nfn f() { g(\"no\") }",
                vec!["a", "b"],
            ),
            ("// classes: a b\n", vec!["a", "b"]),
            (r#"<p class=move || tone() aria-label="no">"#, vec![]),
            ("struct P { class: String }", vec![]),
            (r#"title="class""#, vec![]),
        ] {
            assert_eq!(found(source), classes, "{source}");
        }
    }

    #[test]
    fn lines_are_counted() {
        assert_eq!(super::uses("\n<p class=\"a\">\n<p class=\"b\">"), [("a".into(), 2), ("b".into(), 3)]);
    }
}
