//! Tailwind utilities by encre-css. In: the colours in tokens.css and the words found in the code. Out: CSS
//! for those words that are utilities. `dark:` follows the system unless `data-theme` on `<html>` says
//! otherwise, exactly as tokens.css does; encre-css has one of the two, so dark rules are generated twice.

use encre_css::config::DarkMode;
use encre_css::{Config, Preflight};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const CHOSEN_DARK: &str = r#":root[data-theme="dark"]"#;
const SYSTEM_DARK: &str = r#":root:not([data-theme="light"])"#;
/// Border utilities set a width and expect that the style is there.
const BASE: &str = "*,::before,::after,::backdrop{border:0 solid var(--line)}";

/// Widths from which more fits, and what `max-NAME` ends at.
const SCREENS: [(&str, &str); 5] =
    [("sm", "721px"), ("md", "821px"), ("lg", "901px"), ("xl", "1201px"), ("2xl", "1341px")];

/// encre-css, set up with this project's colours and screens.
pub struct Generator {
    chosen: Config,
    system: Config,
}

impl Generator {
    /// `tokens` is the text of tokens.css: every colour in it becomes usable as `bg-NAME`, `text-NAME` and so on.
    pub fn new(tokens: &str) -> Self {
        let mut chosen = Config::default();
        chosen.preflight = Preflight::new_none();
        for name in colours(tokens) {
            chosen.theme.colors.add(name.clone(), format!("var(--{name})"));
        }
        for (name, width) in SCREENS {
            chosen.theme.screens.add(name, width);
        }
        let mut system = chosen.clone();
        chosen.theme.dark_mode = DarkMode::new_class(CHOSEN_DARK);
        system.theme.dark_mode = DarkMode::new_class(SYSTEM_DARK);
        Self { chosen, system }
    }

    /// Whether there is CSS for this class.
    pub fn answers(&self, class: &str) -> bool {
        // A word with a bracket in the middle of nowhere is a pattern of Rust, not an arbitrary value.
        class == "group"
            || !class.contains(['{', '}']) && !encre_css::generate([class], &self.chosen).is_empty()
    }

    /// The base and utility layers for these words; words that are no utilities add nothing.
    pub fn sheet(&self, words: &BTreeSet<&str>) -> String {
        let plain = words.iter().copied().filter(|word| !word.contains(['{', '}']));
        let (dark, light): (Vec<&str>, Vec<&str>) = plain.partition(|word| is_dark(word));
        // encre-css orders `max-sm` and `max-xl` by name; the narrower one has to come later to win.
        let mut by_screen: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for word in light {
            by_screen.entry(narrowness(word)).or_default().push(word);
        }
        let light: String =
            by_screen.into_values().map(|words| encre_css::generate(words, &self.chosen) + "\n").collect();
        let system = encre_css::generate(dark.iter().copied(), &self.system);
        let chosen = encre_css::generate(dark, &self.chosen);
        let utilities = format!("{light}\n@media (prefers-color-scheme: dark) {{\n{system}\n}}\n{chosen}\n");
        let defaults = defaults_for(&utilities);
        format!("@layer base {{{BASE}{defaults}}}\n@layer utilities {{{utilities}}}")
    }
}

/// The place of `max-NAME` among the screens, the widest first; 0 for words without.
fn narrowness(word: &str) -> usize {
    let place = |(name, _): &(&str, &str)| {
        word.strip_prefix("max-").is_some_and(|rest| rest.starts_with(&format!("{name}:")))
    };
    SCREENS.iter().position(place).map_or(0, |at| SCREENS.len() - at)
}

/// Whether `dark` is among the variants before the utility.
fn is_dark(word: &str) -> bool {
    word.split(':').rev().skip(1).any(|variant| variant == "dark")
}

/// The names of the custom properties whose value is a colour.
fn colours(tokens: &str) -> BTreeSet<String> {
    let css = crate::minify::minify(tokens);
    css.split(['{', '}', ';'])
        .filter_map(|declaration| declaration.trim().strip_prefix("--")?.split_once(':'))
        .filter(|(_, value)| {
            let value = value.trim();
            !value.contains(',') && (value.starts_with('#') || value.starts_with("rgb("))
        })
        .map(|(name, _)| name.trim().to_owned())
        .collect()
}

/// Some utilities compose through variables (`--en-…`) that encre-css initialises in its preflight, which is
/// not used here; the ones that these utilities read are initialised the same way.
fn defaults_for(utilities: &str) -> String {
    let preflight = encre_css::generate([], &Config::default());
    let mut wanted = String::new();
    for line in preflight.lines().map(str::trim) {
        let Some((name, _)) = line.strip_prefix("--en-").and_then(|rest| rest.split_once(':')) else {
            continue;
        };
        if utilities.contains(&format!("var(--en-{name})")) && !wanted.contains(&format!("--en-{name}:")) {
            let _ = write!(wanted, "{line}");
        }
    }
    if wanted.is_empty() { wanted } else { format!("*,::before,::after,::backdrop{{{wanted}}}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS: &str =
        ":root { --surface: #fff; --muted: #59616e; --shadow: 0 1px #000, 0 2px #111; --s1: .25rem;
        --font: \"A\", b; }";

    fn sheet(words: &[&str]) -> String {
        crate::minify::minify(&Generator::new(TOKENS).sheet(&words.iter().copied().collect()))
    }

    #[test]
    fn words_that_are_no_utilities_make_no_css() {
        let generator = Generator::new(TOKENS);
        for word in ["no-such-thing", "pill-{tone}", "Domains", "bg-nowhere-50", "", "{", "text-"] {
            assert!(!generator.answers(word), "{word}");
        }
        assert!(!sheet(&["no-such-thing", "Domains"]).contains("no-such"));
    }

    #[test]
    fn colours_of_the_tokens_are_utilities() {
        assert_eq!(colours(TOKENS).into_iter().collect::<Vec<_>>(), ["muted", "surface"]);
        assert!(sheet(&["bg-surface"]).contains(".bg-surface{background-color: var(--surface)}"));
        assert!(sheet(&["text-muted"]).contains("color: var(--muted)"));
    }

    #[test]
    fn dark_follows_the_system_and_the_choice() {
        let css = sheet(&["bg-yellow-50", "dark:bg-yellow-950"]);
        assert!(css.contains(".bg-yellow-50{background-color:"), "{css}");
        let system = css.find(
            r#"@media (prefers-color-scheme: dark){:root:not([data-theme="light"]) .dark\:bg-yellow-950"#,
        );
        let chosen = css.find(r#"}}:root[data-theme="dark"] .dark\:bg-yellow-950"#);
        assert!(system.is_some() && chosen.is_some() && system < chosen, "{css}");
    }

    #[test]
    fn narrower_screens_come_later() {
        let css = sheet(&["max-sm:flex", "max-xl:hidden", "grid"]);
        let at = |text: &str| css.find(text).unwrap_or_else(|| panic!("{text} in {css}"));
        assert!(at(".grid") < at("1201px") && at("1201px") < at("721px"), "{css}");
    }

    #[test]
    fn stacked_variants_keep_their_order() {
        let css = sheet(&["md:dark:hover:bg-surface"]);
        assert!(
            css.contains("hover") && css.contains("821px") && css.matches("var(--surface)").count() == 2,
            "{css}"
        );
    }

    #[test]
    fn variables_that_utilities_read_are_initialised() {
        let css = sheet(&["rotate-45"]);
        assert!(css.contains("--en-translate-x: 0"), "{css}");
        assert!(!sheet(&["flex"]).contains("--en-"));
    }
}
