//! The simple part of minifying CSS: comments go, white space shrinks. Nothing is rewritten, so nothing can
//! change its meaning; compression does the rest.

/// Drops comments, shrinks white space to one space or none; strings are kept as they are.
pub fn minify(css: &str) -> String {
    shrink(css, true)
}

/// The same with empty strings, for readers that only look at the structure.
pub fn skeleton(css: &str) -> String {
    shrink(css, false)
}

fn shrink(css: &str, keep_strings: bool) -> String {
    let mut out = String::with_capacity(css.len());
    let mut rest = css;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("/*") {
            space(&mut out);
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        } else if first == '"' || first == '\'' {
            let end = string_end(rest, first);
            out.push_str(if keep_strings { &rest[..end] } else { "\"\"" });
            end
        } else if first.is_whitespace() {
            space(&mut out);
            first.len_utf8()
        } else {
            // An empty custom property (`--x: ;`) is its space.
            if matches!(first, '{' | '}' | ';' | ',') && out.ends_with(' ') && !out.ends_with(": ") {
                out.pop();
            }
            if first == '}' && out.ends_with(';') {
                out.pop();
            }
            out.push(first);
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    out.truncate(out.trim_end().len());
    out
}

/// A space, where one can matter.
fn space(out: &mut String) {
    if !out.is_empty() && !out.ends_with([' ', '{', '}', ';', ',']) {
        out.push(' ');
    }
}

fn string_end(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            '\\' if !escaped => escaped = true,
            end if end == quote && !escaped => return at + 1,
            _ => escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::minify;

    #[test]
    fn spaces_that_mean_something_stay() {
        for css in [
            "a b{width:calc(1px + 2px)}",
            "a :hover{margin:0 auto}",
            "@media (a) and (b){c{d:e}}",
            "a{--x: ;b:c}",
        ] {
            assert_eq!(minify(css), css);
        }
    }

    #[test]
    fn comments_and_layout_go_and_strings_stay() {
        let css = "/* x */\n.a ,\n .b {\n  content: \"/*  */ ; }\";\n  color: red;\n}\n/* open";
        assert_eq!(minify(css), ".a,.b{content: \"/*  */ ; }\";color: red}");
    }

    #[test]
    fn a_string_that_never_ends_does_not_loop() {
        assert_eq!(minify("a{b:\"c\\"), "a{b:\"c\\");
    }
}
