//! Which classes a hand-written stylesheet defines. In: CSS. Out: the class names in its selectors.

use std::collections::BTreeSet;

/// The classes that appear in selectors; declarations, comments, strings and at-rule preludes are not looked at.
pub fn classes(css: &str) -> BTreeSet<String> {
    let css = crate::minify::skeleton(css);
    let mut found = BTreeSet::new();
    let mut start = 0;
    for (at, mark) in css.char_indices() {
        match mark {
            '{' => {
                let prelude = &css[start..at];
                if !prelude.starts_with('@') {
                    selector(prelude, &mut found);
                }
                start = at + 1;
            }
            '}' | ';' => start = at + 1,
            _ => {}
        }
    }
    found
}

fn selector(text: &str, found: &mut BTreeSet<String>) {
    for part in text.split('.').skip(1) {
        let mut name = String::new();
        let mut characters = part.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => name.extend(characters.next()),
                '-' | '_' => name.push(character),
                other if other.is_alphanumeric() => name.push(other),
                _ => break,
            }
        }
        if !name.is_empty() {
            found.insert(name);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_selectors_count() {
        let css = "/* .comment { } */ .a.b > .c-d:not(.e)::before { margin: .5rem; content: \".x{\" }
            @media (min-width: 1.5rem) { .f { color: red } .g, a.h:hover { } } @layer z.k { .m {} }";
        let found: Vec<String> = super::classes(css).into_iter().collect();
        assert_eq!(found, ["a", "b", "c-d", "e", "f", "g", "h", "m"]);
    }
}
