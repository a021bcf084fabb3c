//! The query of the check page: zone, servers, DS records, levels to show; read from its address and written back for
//! links.

use crate::query;
use model::finding::Level;
use model::inventory::percent;
use std::net::IpAddr;

/// The fields of the form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CheckForm {
    /// The zone as typed.
    pub zone: String,
    /// The servers as typed, for the form.
    pub ns_text: String,
    /// The DS records as typed, for the form.
    pub ds_text: String,
    /// True when the page was opened to check a move, which waits for the servers to be named.
    pub moving: bool,
}

impl CheckForm {
    pub fn read(search: &str) -> CheckForm {
        let get = |key: &str| query::value(search, key).unwrap_or_default().trim().to_string();
        let (ns_text, ds_text) = (get("ns"), get("ds"));
        let moving = !get("move").is_empty() || !ns_text.is_empty();
        CheckForm { zone: get("zone"), ns_text, ds_text, moving }
    }

    /// True when the section "Before a move" is open: nothing that was asked may be hidden in it.
    pub fn unfolded(&self) -> bool {
        self.moving || !self.ds_text.is_empty()
    }

    /// `name` or `name/address`, one for each address.
    pub fn ns(&self) -> Vec<String> {
        servers(&self.ns_text)
    }

    /// One for each line.
    pub fn ds(&self) -> Vec<String> {
        self.ds_text.lines().map(str::trim).filter(|l| !l.is_empty()).map(Into::into).collect()
    }

    /// True when there is something to run. A move is checked once its servers are named.
    pub fn runs(&self) -> bool {
        !self.zone.is_empty() && (!self.moving || !self.ns().is_empty())
    }

    /// The address of the same question that shows these levels.
    pub fn url(&self, shown: Shown) -> String {
        let mut out = format!("/tools/check?zone={}", percent(&self.zone));
        for (key, value) in [("ns", &self.ns_text), ("ds", &self.ds_text)] {
            if !value.is_empty() {
                out.push_str(&format!("&{key}={}", percent(value)));
            }
        }
        let level = match shown {
            Shown::FromNotice => return out,
            Shown::All => "all".to_string(),
            Shown::Only(level) => level.as_str().to_lowercase(),
        };
        format!("{out}&level={level}")
    }
}

/// Servers out of a text: `name`, `name/address`, or a name followed by its addresses.
fn servers(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let parts = text.split(|c: char| c.is_whitespace() || c == ',' || c == ';').filter(|t| !t.is_empty());
    for part in parts {
        let address: Option<IpAddr> = part.parse().ok();
        match (address, out.last().cloned()) {
            (Some(ip), Some(last)) => {
                let name = last.split('/').next().unwrap_or(&last);
                let entry = format!("{name}/{ip}");
                if !last.contains('/') {
                    out.pop();
                }
                out.push(entry);
            }
            _ => out.push(part.to_string()),
        }
    }
    out
}

/// Which findings are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// NOTICE and above.
    FromNotice,
    /// Every one but DEBUG.
    All,
    /// Those of one level.
    Only(Level),
}

impl Shown {
    pub fn read(search: &str) -> Shown {
        match query::value(search, "level").as_deref() {
            Some("all") => Shown::All,
            Some(word) => Level::from_word(word).map_or(Shown::FromNotice, Shown::Only),
            None => Shown::FromNotice,
        }
    }

    pub fn takes(self, level: Level) -> bool {
        match self {
            Shown::FromNotice => level >= Level::Notice,
            Shown::All => level >= Level::Info,
            Shown::Only(one) => level == one,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_in_the_forms_people_write() {
        let text = "ns1.new.example/192.0.2.1\r\nns2.new.example 192.0.2.2 2001:db8::2\nns3.new.example,";
        let expected = [
            "ns1.new.example/192.0.2.1",
            "ns2.new.example/192.0.2.2",
            "ns2.new.example/2001:db8::2",
            "ns3.new.example",
        ];
        assert_eq!(servers(text), expected);
        // An address without a name is kept as it is: the error names it.
        assert_eq!(servers("192.0.2.1"), ["192.0.2.1"]);
        assert!(servers(" \n").is_empty());
    }

    #[test]
    fn a_move_waits_for_its_servers() {
        let runs = |q: &str| CheckForm::read(q).runs();
        assert!(runs("zone=a.example") && !runs("zone=+") && !runs(""));
        assert!(!runs("zone=a.example&move=1"));
        assert!(runs("zone=a.example&move=1&ns=b.example") && runs("zone=a.example&ds=1,13,2,AB"));
        let unfolded = |q: &str| CheckForm::read(q).unfolded();
        assert!(unfolded("zone=a.example&ds=1,13,2,AB") && unfolded("move=1") && !unfolded("zone=a.example"));
    }

    #[test]
    fn a_question_survives_its_own_address() {
        let a = CheckForm::read("zone=a.example&ns=b.example%0D%0Ac.example&ds=1,13,2,AB&level=all");
        let url = a.url(Shown::Only(Level::Error));
        let search = url.split_once('?').expect("has a query").1;
        assert_eq!(CheckForm::read(search), a);
        assert_eq!(Shown::read(search), Shown::Only(Level::Error));
        assert_eq!(Shown::read("level=nonsense"), Shown::FromNotice);
        assert!(Shown::FromNotice.takes(Level::Critical) && !Shown::FromNotice.takes(Level::Info));
        assert!(!Shown::All.takes(Level::Debug));
    }
}
