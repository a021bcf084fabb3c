//! The question an answer is about: tables are looked up by its suffix and by the host that answered.

use super::text::fold;

/// The question put to a server: name and suffix in lower case, A-labels beside the name as given.
pub(crate) struct Question {
    /// The name as given, lower case, no final dot.
    pub name: String,
    /// The name in A-labels.
    pub ascii: String,
    /// Suffixes the tables are looked up with, longest first (`co.uk`, `uk`).
    pub tlds: Vec<String>,
    /// The host that answered, lower case, where known.
    pub server: Option<String>,
}

impl Question {
    pub fn new(domain: &str, tld: Option<&str>, server: Option<&str>) -> Self {
        let trim = |s: &str| s.trim().trim_matches('.').chars().take(253).collect::<String>().to_lowercase();
        let name = trim(domain);
        let ascii = fold::to_ascii(&name);
        let mut tlds = Vec::new();
        let suffix = tld.map_or_else(|| ascii.clone(), |t| fold::to_ascii(&trim(t)));
        let mut rest = suffix.as_str();
        loop {
            tlds.push(rest.to_string());
            match rest.split_once('.') {
                Some((_, r)) => rest = r,
                None => break,
            }
        }
        Question { name, ascii, tlds, server: server.map(trim) }
    }

    /// True when `text` is the asked name in either form.
    pub fn is(&self, text: &str) -> bool {
        let t = text.trim_end_matches('.');
        t.eq_ignore_ascii_case(&self.ascii)
            || (!t.is_ascii() && t.contains('.') && fold::to_ascii(&t.to_lowercase()) == self.ascii)
            || t.eq_ignore_ascii_case(&self.name)
    }

    /// True when the tables' `names` hold one of the suffixes.
    pub fn under(&self, names: &[String]) -> bool {
        self.tlds.iter().any(|t| names.iter().any(|n| n == t))
    }
}
