//! What measurement networks of third parties see of a name. In: the answer at each of their places. Out: who sees what,
//! and a sentence.

use super::rdata::same_rrset;
use crate::dns::Record;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one place of a third party got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThirdPartyAnswer {
    /// The measurement network, such as `Globalping`.
    pub source: String,
    /// Where the place is, as the network says: `Sydney, AU`.
    pub place: String,
    /// The network it is in: `AS202422 G-Core Labs`.
    pub network: String,
    /// The resolver or name server that answered there, as the network says.
    pub server: String,
    /// RCODE mnemonic; `None` without an answer.
    pub rcode: Option<String>,
    /// Answer section: aliases and records.
    pub records: Vec<Record>,
    /// Milliseconds of the answer.
    pub latency_ms: Option<f64>,
    /// Name server identifier, when the server gives one.
    pub nsid: Option<String>,
    /// Why there is no answer.
    pub error: Option<String>,
}

/// What all third parties that were asked see.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ThirdPartyLook {
    /// The name asked for.
    pub name: String,
    /// The type asked for.
    #[serde(rename = "type")]
    pub rtype: String,
    /// The name server that was asked; empty: the resolver of each place.
    pub server: String,
    /// What each place got, by network.
    pub answers: Vec<ThirdPartyAnswer>,
    /// Networks that could not be asked, each with the reason.
    pub problems: Vec<String>,
}

impl ThirdPartyAnswer {
    /// Data of the records of a type.
    pub fn data(&self, rtype: &str) -> Vec<&str> {
        let of_type = self.records.iter().filter(|r| r.rtype.eq_ignore_ascii_case(rtype));
        of_type.map(|r| r.data.as_str()).collect()
    }

    fn set(&self, rtype: &str) -> Vec<Record> {
        self.records.iter().filter(|r| r.rtype.eq_ignore_ascii_case(rtype)).cloned().collect()
    }
}

impl ThirdPartyLook {
    /// What it comes to, in a sentence or two.
    pub fn sentence(&self) -> String {
        let answered: Vec<_> =
            self.answers.iter().filter(|a| a.error.is_none() && a.rcode.is_some()).collect();
        let silent = self.answers.len() - answered.len();
        let mut out = self.agreement(&answered);
        if silent > 0 && !answered.is_empty() {
            out.push_str(&format!(" {silent} of {} places got no answer.", self.answers.len()));
        }
        for problem in &self.problems {
            out.push_str(&format!(" {problem}"));
        }
        out
    }

    /// Whether the places that answered agree.
    fn agreement(&self, answered: &[&ThirdPartyAnswer]) -> String {
        let Some((first, others)) = answered.split_first() else { return "No place answered.".into() };
        let differs = |a: &&&ThirdPartyAnswer| {
            a.rcode != first.rcode || !same_rrset(&a.set(&self.rtype), &first.set(&self.rtype), &self.rtype)
        };
        let other: Vec<_> = others.iter().filter(differs).map(|a| a.place.as_str()).collect();
        let mut by_rcode = BTreeMap::<&str, Vec<&str>>::new();
        for a in answered {
            by_rcode.entry(a.rcode.as_deref().unwrap_or_default()).or_default().push(&a.place);
        }
        match (others.len(), other.len()) {
            (0, _) => "One place answered.".into(),
            (1, 0) => "Both places get the same answer.".into(),
            (n, 0) => format!("All {} places get the same answer.", n + 1),
            _ if by_rcode.keys().all(|rcode| *rcode == "NOERROR") => format!(
                "{} and {} get different answers: legitimate where answers depend on location.",
                first.place,
                other.join(", ")
            ),
            _ => {
                let each = by_rcode.iter().map(|(rcode, places)| format!("{rcode} at {}", places.join(", ")));
                format!("Response codes differ: {}.", each.collect::<Vec<_>>().join("; "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(place: &str, data: &str) -> ThirdPartyAnswer {
        let record = Record { name: "www.q7.io".into(), ttl: 60, rtype: "A".into(), data: data.into() };
        ThirdPartyAnswer {
            source: "Globalping".into(),
            place: place.into(),
            network: "AS64500".into(),
            server: "private".into(),
            rcode: Some("NOERROR".into()),
            records: vec![record],
            latency_ms: Some(9.0),
            nsid: None,
            error: None,
        }
    }

    #[test]
    fn places_that_differ_are_named() {
        let look = |answers| ThirdPartyLook { rtype: "A".into(), answers, ..ThirdPartyLook::default() };
        let same = look(vec![place("Sydney, AU", "192.0.2.1"), place("Berlin, DE", "192.0.2.1")]);
        assert_eq!(same.sentence(), "Both places get the same answer.");
        let other = look(vec![place("Sydney, AU", "192.0.2.1"), place("Berlin, DE", "192.0.2.9")]);
        assert!(other.sentence().starts_with("Sydney, AU and Berlin, DE get different answers"));
        let failed = ThirdPartyAnswer {
            rcode: Some("SERVFAIL".into()),
            records: vec![],
            ..place("Berlin, DE", "192.0.2.1")
        };
        let failed = look(vec![place("Sydney, AU", "192.0.2.1"), failed]);
        assert_eq!(
            failed.sentence(),
            "Response codes differ: NOERROR at Sydney, AU; SERVFAIL at Berlin, DE."
        );
        let silent = ThirdPartyAnswer { error: Some("timeout".into()), ..place("Lima, PE", "192.0.2.1") };
        let mixed = look(vec![place("Sydney, AU", "192.0.2.1"), silent.clone()]);
        assert_eq!(mixed.sentence(), "One place answered. 1 of 2 places got no answer.");
        let none = ThirdPartyLook { problems: vec!["RIPE Atlas: no credits.".into()], ..look(vec![silent]) };
        assert_eq!(none.sentence(), "No place answered. RIPE Atlas: no credits.");
    }
}
