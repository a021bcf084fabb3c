//! The query of the page, read from its address and written back for links and the live stream.

use model::inventory::percent;

/// The query and its options.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CompareForm {
    /// The name as typed.
    pub name: String,
    /// The record type, upper case.
    pub rtype: String,
    /// Query resolvers even if the authoritative servers deny the name.
    pub force: bool,
    /// Repeat until the record is propagated.
    pub watch: bool,
    /// Let the server render the complete result.
    pub whole: bool,
}

/// The query that the server makes when it renders the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    pub name: String,
    pub rtype: String,
    /// Counts only with `whole`: else the live stream does the forcing.
    pub force: bool,
    pub whole: bool,
}

impl CompareForm {
    /// Reads it out of the values of a query.
    pub fn read(value: impl Fn(&str) -> Option<String>) -> CompareForm {
        let text = |key: &str| value(key).unwrap_or_default().trim().to_string();
        let on = |key: &str| matches!(text(key).as_str(), "1" | "true" | "on" | "yes");
        let rtype = text("type").to_uppercase();
        CompareForm {
            name: text("name"),
            rtype: if rtype.is_empty() { "A".into() } else { rtype },
            force: on("force"),
            watch: on("watch"),
            whole: on("whole") && !on("watch"),
        }
    }

    /// The query that the server makes when it renders the page; starting a watch does not repeat it.
    pub fn question(&self) -> Question {
        Question {
            name: self.name.clone(),
            rtype: self.rtype.clone(),
            force: self.force && self.whole,
            whole: self.whole,
        }
    }

    /// True when both are about the same record.
    pub fn is_about(&self, other: &CompareForm) -> bool {
        self.name == other.name && self.rtype == other.rtype
    }

    fn query(&self) -> String {
        let mut out = format!("name={}&type={}", percent(&self.name), percent(&self.rtype));
        for (on, key) in [(self.force, "force"), (self.watch, "watch"), (self.whole, "whole")] {
            if on {
                out.push_str(&format!("&{key}=1"));
            }
        }
        out
    }

    /// The page's address.
    pub fn url(&self) -> String {
        format!("/tools/compare?{}", self.query())
    }

    /// The address of the live stream.
    pub fn stream_url(&self) -> String {
        format!("/live/compare?{}", CompareForm { whole: false, ..self.clone() }.query())
    }

    /// The same, all at once.
    pub fn at_once(&self) -> CompareForm {
        CompareForm { whole: true, watch: false, ..self.clone() }
    }

    /// The same, asking resolvers even about what does not exist.
    pub fn forced(&self) -> CompareForm {
        CompareForm { force: true, watch: false, ..self.clone() }
    }

    /// The same, looking again until it is everywhere.
    pub fn watched(&self) -> CompareForm {
        CompareForm { watch: true, force: false, whole: false, ..self.clone() }
    }

    /// The same, once.
    pub fn once(&self) -> CompareForm {
        CompareForm { watch: false, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::CompareForm;

    fn read(query: &str) -> CompareForm {
        let query = query.to_string();
        CompareForm::read(move |key| crate::query::value(&query, key))
    }

    #[test]
    fn a_question_survives_its_own_address() {
        for query in
            ["name=a.example&type=MX&force=1", "name=b%C3%BC.example&watch=1", "name=a%26b&whole=1&force=on"]
        {
            let a = read(query);
            assert_eq!(read(a.url().split_once('?').unwrap().1), a, "{query}");
        }
    }

    #[test]
    fn odd_addresses_ask_for_something_sensible() {
        assert_eq!(read("type=mx").rtype, "MX");
        assert_eq!(read("name=+a.example+").name, "a.example");
        assert_eq!(read("").rtype, "A");
        assert!(!read("force=no&watch=0").force && !read("watch=0").watch);
        // A watch can't be rendered at once.
        assert!(!read("whole=1&watch=1").whole);
        assert!(!read("whole=1").at_once().stream_url().contains("whole"));
    }

    #[test]
    fn only_the_whole_page_is_forced_by_the_server() {
        assert!(!read("name=a.example&force=1").question().force);
        assert!(read("name=a.example&force=1&whole=1").question().force);
        assert_eq!(read("name=a.example&watch=1").question(), read("name=a.example").question());
    }
}
