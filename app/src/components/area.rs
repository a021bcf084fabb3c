//! The text inside a `<textarea>`.

/// The framework writes children of a `<textarea>` as they are, so the server escapes them here; the browser part
/// puts them into a text node, where they must stay as they are.
pub(crate) fn area_text(text: &str) -> String {
    if cfg!(feature = "ssr") {
        text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
    } else {
        text.to_string()
    }
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    #[test]
    fn nothing_ends_the_area_early() {
        assert_eq!(super::area_text("</textarea>&lt;"), "&lt;/textarea&gt;&amp;lt;");
    }
}
