//! Every class written in the interface has CSS.

use std::path::Path;

#[test]
fn every_class_in_the_interface_has_css() {
    let sheet =
        style::build(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))).expect("reads the sources");
    assert!(sheet.unknown.is_empty(), "no CSS for:\n{}", sheet.unknown.join("\n"));
}

#[test]
fn a_class_without_css_would_be_noticed() {
    let source = vec![("page.rs".into(), r#"<p class="pill flex no-such-class">"#.to_owned())];
    let sheet = style::assemble(":root{--ok:#fff}", ".pill { color: red }", &source);
    assert_eq!(sheet.unknown, ["page.rs:1: no-such-class"]);
    assert_eq!((sheet.used, sheet.utilities), (3, 1));
    assert!(sheet.css.contains(".flex {\n"), "{}", sheet.css);
}

#[test]
fn a_component_wins_over_a_utility_of_the_same_name() {
    let source = vec![("page.rs".into(), r#"<p class="grow">"#.to_owned())];
    let sheet = style::assemble(":root{}", ".grow { flex: 1 }", &source);
    assert_eq!(sheet.css.matches(".grow").count(), 1, "{}", sheet.css);
}
