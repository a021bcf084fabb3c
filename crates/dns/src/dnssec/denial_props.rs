//! Whole zones made up at random, their chains of NSEC or NSEC3 records, and any part of these in an answer: what is
//! proved by it has to be so, and the whole chain has to prove all that is so.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Address,
    Text,
    Alias,
    Signed,
    Unsigned,
    Redirected,
}

struct Zone {
    apex: Name,
    nodes: BTreeMap<Name, Kind>,
}

impl std::fmt::Debug for Zone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let nodes: Vec<String> = self.nodes.iter().map(|(n, k)| format!("{n}: {k:?}")).collect();
        write!(f, "{} with {}", self.apex, nodes.join(", "))
    }
}

/// What a server that knows everything would say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Truth {
    /// There are such records, or an alias stands for them; at that many labels when a wildcard has them.
    Answer(Option<usize>),
    NoData,
    NoName,
    /// At or below a delegation, signed or not.
    Cut(bool),
    /// Below a DNAME record.
    Redirected,
}

const TYPES: [Rtype; 5] = [Rtype::A, Rtype::TXT, Rtype::NS, Rtype::DS, Rtype::CNAME];

fn below(apex: &Name, path: &[&str]) -> Name {
    path.iter().fold(apex.clone(), |name, label| name.child(label).unwrap())
}

impl Zone {
    fn new(apex: &str, list: &[(Vec<&str>, Kind)]) -> Self {
        let apex = Name::from_text(apex).unwrap();
        let mut nodes = BTreeMap::new();
        for (path, kind) in list {
            let plain = matches!(kind, Kind::Address | Kind::Text | Kind::Alias);
            // A wildcard is no place for a delegation, and has nothing below it here.
            if path.iter().position(|l| *l == "*").is_none_or(|at| at + 1 == path.len() && plain) {
                nodes.entry(below(&apex, path)).or_insert(*kind);
            }
        }
        // What lies below a delegation or a DNAME record is not in the zone.
        let tops: Vec<Name> = nodes
            .iter()
            .filter(|(_, k)| matches!(k, Kind::Signed | Kind::Unsigned | Kind::Redirected))
            .map(|(n, _)| n.clone())
            .collect();
        nodes.retain(|name, _| !tops.iter().any(|top| name.is_below(top)));
        Zone { apex, nodes }
    }

    /// Names that are there, those with nothing but names below them too.
    fn existing(&self, nodes: impl Iterator<Item = Name>) -> BTreeSet<Name> {
        let zone = self.apex.labels().len();
        let above = |name: Name| (zone..=name.labels().len()).map(move |n| name.trim_to(n));
        nodes.flat_map(above).chain([self.apex.clone()]).collect()
    }

    /// Whether the name, or one above it, is there for unsigned delegations alone: a chain with opt-out does not know it.
    fn unknown_to_opt_out(&self, name: &Name) -> bool {
        let signed = self.nodes.iter().filter(|(_, kind)| **kind != Kind::Unsigned);
        let chained = self.existing(signed.map(|(name, _)| name.clone()));
        let all = self.existing(self.nodes.keys().cloned());
        let mut above = (self.apex.labels().len()..=name.labels().len()).map(|n| name.trim_to(n));
        above.any(|n| all.contains(&n) && !chained.contains(&n))
    }

    fn types(&self, name: &Name) -> Vec<Rtype> {
        if *name == self.apex {
            return vec![Rtype::NS, Rtype::SOA, Rtype::RRSIG, Rtype::DNSKEY];
        }
        match self.nodes.get(name) {
            None => vec![],
            Some(Kind::Address) => vec![Rtype::A, Rtype::RRSIG],
            Some(Kind::Text) => vec![Rtype::TXT, Rtype::RRSIG],
            Some(Kind::Alias) => vec![Rtype::CNAME, Rtype::RRSIG],
            Some(Kind::Signed) => vec![Rtype::NS, Rtype::DS, Rtype::RRSIG],
            Some(Kind::Unsigned) => vec![Rtype::NS],
            Some(Kind::Redirected) => vec![Rtype::DNAME, Rtype::RRSIG],
        }
    }

    fn truth(&self, name: &Name, rtype: Rtype) -> Truth {
        let zone = self.apex.labels().len();
        for count in zone..name.labels().len() {
            match self.nodes.get(&name.trim_to(count)) {
                Some(Kind::Signed) => return Truth::Cut(true),
                Some(Kind::Unsigned) => return Truth::Cut(false),
                Some(Kind::Redirected) => return Truth::Redirected,
                _ => {}
            }
        }
        let at = |name: &Name, wildcard| {
            let types = self.types(name);
            let there = types.contains(&rtype) || types.contains(&Rtype::CNAME);
            if there { Truth::Answer(wildcard) } else { Truth::NoData }
        };
        let existing = self.existing(self.nodes.keys().cloned());
        if existing.contains(name) {
            return match self.nodes.get(name) {
                Some(Kind::Signed) if rtype != Rtype::DS => Truth::Cut(true),
                Some(Kind::Unsigned) if rtype != Rtype::DS => Truth::Cut(false),
                _ => at(name, None),
            };
        }
        let encloser = (zone..name.labels().len())
            .rev()
            .map(|n| name.trim_to(n))
            .find(|n| existing.contains(n))
            .unwrap();
        let wildcard = encloser.child("*").unwrap();
        if self.nodes.contains_key(&wildcard) {
            at(&wildcard, Some(encloser.labels().len()))
        } else {
            Truth::NoName
        }
    }

    fn nsec(&self) -> Vec<(Name, Name, Vec<Rtype>)> {
        let names: Vec<Name> = [self.apex.clone()].into_iter().chain(self.nodes.keys().cloned()).collect();
        let next = |i: usize| names[(i + 1) % names.len()].clone();
        (0..names.len()).map(|i| (names[i].clone(), next(i), self.types(&names[i]))).collect()
    }

    fn nsec3(&self, opt_out: bool) -> Vec<(Vec<u8>, Nsec3)> {
        let left_out = |kind: &Kind| opt_out && *kind == Kind::Unsigned;
        let kept = self.nodes.iter().filter(|(_, k)| !left_out(k)).map(|(n, _)| n.clone());
        let mut list: Vec<(Vec<u8>, Vec<Rtype>)> =
            self.existing(kept).iter().map(|n| (nsec3_hash(n, &[7], 1).unwrap(), self.types(n))).collect();
        list.sort();
        let record = |i: usize| Nsec3 {
            hash_algorithm: 1,
            flags: u8::from(opt_out),
            iterations: 1,
            salt: vec![7],
            next: list[(i + 1) % list.len()].0.clone(),
            types: list[i].1.clone(),
        };
        (0..list.len()).map(|i| (list[i].0.clone(), record(i))).collect()
    }
}

fn path(longest: usize) -> impl Strategy<Value = Vec<&'static str>> {
    proptest::collection::vec(proptest::sample::select(vec!["a", "b", "z", "*"]), 1..=longest)
}

fn zones() -> impl Strategy<Value = Zone> {
    let kind = proptest::sample::select(vec![
        Kind::Address,
        Kind::Address,
        Kind::Text,
        Kind::Alias,
        Kind::Signed,
        Kind::Unsigned,
        Kind::Redirected,
    ]);
    (proptest::sample::select(vec!["example", "."]), proptest::collection::vec((path(3), kind), 0..7))
        .prop_map(|(apex, list)| Zone::new(apex, &list))
}

/// How a chain was cut down and written.
#[derive(Debug, Clone, Copy)]
enum Chain {
    Nsec,
    Nsec3,
    OptOut,
}

/// What the records of a chain that are kept prove.
fn with<R>(zone: &Zone, chain: Chain, keep: impl Fn(usize) -> bool, judge: impl Fn(&Denials<'_>) -> R) -> R {
    let (nsec, nsec3) = match chain {
        Chain::Nsec => (zone.nsec(), Vec::new()),
        Chain::Nsec3 => (Vec::new(), zone.nsec3(false)),
        Chain::OptOut => (Vec::new(), zone.nsec3(true)),
    };
    let kept = |i: &usize| keep(*i);
    judge(&Denials {
        zone: &zone.apex,
        nsec: (0..nsec.len()).filter(kept).map(|i| (&nsec[i].0, &nsec[i].1, nsec[i].2.as_slice())).collect(),
        nsec3: (0..nsec3.len()).filter(kept).map(|i| (nsec3[i].0.clone(), &nsec3[i].1)).collect(),
        costly: None,
        fault: None,
        verifier: &Verifier::new(jiff::Timestamp::UNIX_EPOCH),
        undecided: Cell::new(false),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_proved_is_so(
        zone in zones(),
        chain in proptest::sample::select(vec![Chain::Nsec, Chain::Nsec3, Chain::OptOut]),
        keep in any::<u32>(),
        asked in path(4),
        rtype in proptest::sample::select(TYPES.to_vec()),
    ) {
        let name = below(&zone.apex, &asked);
        let truth = zone.truth(&name, rtype);
        let existing = zone.existing(zone.nodes.keys().cloned());
        with(&zone, chain, |i| keep >> (i % 32) & 1 == 1, |all| {
            match all.no_name(&name) {
                Proof::Holds => prop_assert_eq!(truth, Truth::NoName, "no name"),
                // What an opt-out span leaves out may be there, unsigned.
                Proof::Open => prop_assert!(
                    truth == Truth::NoName || zone.unknown_to_opt_out(&name),
                    "no name, open: {:?}",
                    truth
                ),
                Proof::Missing => {}
            }
            match all.no_type(&name, rtype) {
                Proof::Holds => prop_assert_eq!(truth, Truth::NoData, "no type"),
                // A wildcard does not stand for a name that is there only for an unsigned delegation below it.
                Proof::Open => prop_assert!(!matches!(truth, Truth::Answer(None) | Truth::Cut(true)), "no type, open: {:?}", truth),
                Proof::Missing => {}
            }
            // It is asked only where the signature of a wildcard shows that the wildcard is there.
            let wildcard = |labels: &usize| zone.nodes.contains_key(&name.trim_to(*labels).child("*").unwrap());
            for labels in (zone.apex.labels().len()..name.labels().len()).filter(wildcard) {
                let closer = name.trim_to(labels + 1);
                let there = existing.contains(&closer);
                let left_out = matches!(chain, Chain::OptOut) && zone.unknown_to_opt_out(&closer);
                match all.nothing_closer(&name, labels) {
                    Proof::Holds => prop_assert!(!there, "nothing closer than {labels} labels"),
                    Proof::Open => prop_assert!(!there || left_out, "nothing closer than {labels} labels, open"),
                    Proof::Missing => {}
                }
            }
            if all.unsigned_cut(&name) {
                let unsigned = zone.nodes.get(&name) == Some(&Kind::Unsigned);
                let left_out = !existing.contains(&name) || zone.unknown_to_opt_out(&name);
                prop_assert!(
                    unsigned || matches!(chain, Chain::OptOut) && left_out && truth != Truth::Cut(true),
                    "an unsigned delegation: {:?}",
                    truth
                );
            }
            Ok(())
        })?;
    }

    #[test]
    fn what_is_so_is_proved_by_the_whole_chain(
        zone in zones(),
        chain in proptest::sample::select(vec![Chain::Nsec, Chain::Nsec3, Chain::OptOut]),
        asked in path(4),
        rtype in proptest::sample::select(TYPES.to_vec()),
    ) {
        let name = below(&zone.apex, &asked);
        let enough = |proof: Proof| proof == Proof::Holds || matches!(chain, Chain::OptOut) && proof == Proof::Open;
        let truth = zone.truth(&name, rtype);
        let known = !matches!(chain, Chain::OptOut) || !zone.unknown_to_opt_out(&name);
        with(&zone, chain, |_| true, |all| {
            match truth {
                _ if !known => {}
                Truth::NoName => prop_assert!(enough(all.no_name(&name)), "no name: {:?}", all.no_name(&name)),
                Truth::NoData => prop_assert!(enough(all.no_type(&name, rtype)), "no type: {:?}", all.no_type(&name, rtype)),
                Truth::Answer(Some(labels)) => prop_assert!(enough(all.nothing_closer(&name, labels)), "nothing closer"),
                _ => {}
            }
            if zone.nodes.get(&name) == Some(&Kind::Unsigned) {
                prop_assert!(all.unsigned_cut(&name), "unsigned");
            }
            Ok(())
        })?;
    }
}
