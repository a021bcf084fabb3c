//! Tailwind utilities by encre-css. In: the colours in tokens.css and classes. Out: CSS for those that are utilities.
//! `dark:` follows the system unless `data-theme` on `<html>` says otherwise, exactly as tokens.css does; encre-css has
//! one of the two, so dark rules are generated twice.

use encre_css::config::DarkMode;
use encre_css::{Config, Preflight};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};

const CHOSEN_DARK: &str = r#":root[data-theme="dark"]"#;
const SYSTEM_DARK: &str = r#":root:not([data-theme="light"])"#;
/// Border utilities set a width and expect that the style is there.
const BASE: &str = "*,::before,::after,::backdrop{border:0 solid var(--line)}";
/// Widths from which more fits; `max-NAME` is below.
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
        let colour = Regex::new(r"--([\w-]+):\s*(?:#\w+|rgb\([^)]*\));").expect("a constant");
        for found in colour.captures_iter(tokens) {
            chosen.theme.colors.add(found[1].to_owned(), format!("var(--{})", &found[1]));
        }
        for (name, width) in SCREENS {
            chosen.theme.screens.add(name, width);
        }
        let mut system = chosen.clone();
        chosen.theme.dark_mode = DarkMode::new_class(CHOSEN_DARK);
        system.theme.dark_mode = DarkMode::new_class(SYSTEM_DARK);
        Self { chosen, system }
    }

    /// Whether this class is a utility.
    pub fn has_css(&self, class: &str) -> bool {
        !class.contains(['{', '}']) && !encre_css::generate([class], &self.chosen).is_empty()
    }

    /// The base and utility layers for these words; those that are no utilities add nothing.
    pub fn sheet(&self, words: &BTreeSet<&str>) -> String {
        let classes = words.iter().copied().filter(|word| !word.contains(['{', '}']));
        let (dark, light): (Vec<&str>, Vec<&str>) =
            classes.partition(|class| class.split(':').any(|part| part == "dark"));
        // encre-css orders `max-sm` and `max-xl` by name; the narrower one has to come later to win.
        let mut by_screen: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for class in light {
            by_screen.entry(narrowness(class)).or_default().push(class);
        }
        let light: Vec<String> =
            by_screen.into_values().map(|classes| encre_css::generate(classes, &self.chosen)).collect();
        let system = encre_css::generate(dark.iter().copied(), &self.system);
        let chosen = encre_css::generate(dark, &self.chosen);
        let light = light.join("\n");
        let utilities = format!("{light}\n@media (prefers-color-scheme: dark) {{\n{system}\n}}\n{chosen}\n");
        format!("@layer base {{{BASE}{}}}\n@layer utilities {{\n{utilities}}}", defaults_for(&utilities))
    }
}

/// The place of `max-NAME` among the screens, the widest first; 0 for classes without.
fn narrowness(class: &str) -> usize {
    let name = class.strip_prefix("max-").and_then(|rest| rest.split(':').next());
    SCREENS.iter().rev().position(|(screen, _)| Some(*screen) == name).map_or(0, |at| at + 1)
}

/// Some utilities compose through variables (`--en-…`) that encre-css initialises in its preflight, which is not used
/// here; those that these utilities read are initialised the same way.
fn defaults_for(utilities: &str) -> String {
    let preflight = encre_css::generate([], &Config::default());
    let wanted: BTreeSet<&str> = preflight
        .lines()
        .map(str::trim)
        .filter(|line| {
            line.split_once(':').is_some_and(|(name, _)| {
                name.starts_with("--en-") && utilities.contains(&format!("var({name})"))
            })
        })
        .collect();
    if wanted.is_empty() {
        return String::new();
    }
    format!("*,::before,::after,::backdrop{{{}}}", wanted.into_iter().collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS: &str =
        ":root { --surface: #fff; --muted: #59616e; --shadow: 0 1px #000, 0 2px #111; --s1: .25rem; }";

    fn sheet(classes: &[&str]) -> String {
        Generator::new(TOKENS).sheet(&classes.iter().copied().collect())
    }

    /// Where a text is in the sheet; the text is in the message when it is not.
    fn at(css: &str, text: &str) -> usize {
        css.find(text).unwrap_or_else(|| panic!("no {text} in {css}"))
    }

    #[test]
    fn words_that_are_no_utilities_have_no_css() {
        let generator = Generator::new(TOKENS);
        for word in
            ["no-such-thing", "pill-{tone}", "Domains", "bg-nowhere-50", "bg-shadow", "", "{", "text-"]
        {
            assert!(!generator.has_css(word), "{word}");
        }
        assert!(generator.has_css("bg-surface") && generator.has_css("flex"));
    }

    #[test]
    fn colours_of_the_tokens_are_utilities() {
        let css = sheet(&["bg-surface", "text-muted"]);
        assert!(
            css.contains("background-color: var(--surface)") && css.contains("color: var(--muted)"),
            "{css}"
        );
    }

    #[test]
    fn dark_follows_the_system_and_the_choice() {
        let css = sheet(&["bg-yellow-50", "dark:bg-yellow-950"]);
        let system = at(&css, ":root:not([data-theme=\"light\"]) .dark");
        assert!(at(&css, "@media (prefers-color-scheme: dark)") < system, "{css}");
        assert!(system < at(&css, ":root[data-theme=\"dark\"] .dark"), "{css}");
    }

    #[test]
    fn narrower_screens_come_later() {
        let css = sheet(&["max-sm:flex", "max-xl:hidden", "grid"]);
        assert!(at(&css, ".grid") < at(&css, "1201px") && at(&css, "1201px") < at(&css, "721px"), "{css}");
    }

    #[test]
    fn variables_that_utilities_read_are_initialised() {
        let css = sheet(&["rotate-x-45"]);
        assert!(css.contains("--en-rotate-x") && css.contains("::backdrop{--en-"), "{css}");
        assert!(!sheet(&["flex"]).contains("--en-"));
    }
}
