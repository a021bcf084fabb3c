//! Signed denials: that a name does not exist, has no such type, or is answered by a wildcard and by nothing closer
//! (RFC 4035 section 5.4, RFC 5155 section 8). In: the authority section of a signed zone. Out: proved or not.

use dns::dnssec::denial::nsec3_hash;
use dns::dnssec::verify::{check_set, signatures};
use dns::wire::{Data, Dnskey, Name, Nsec3, Rr, Rtype};
use jiff::Timestamp;

/// More iterations are not computed (RFC 9276 section 3.2): such zones count as unsigned.
const MAX_ITERATIONS: u16 = 150;
const OPT_OUT: u8 = 1;

/// How a proof turned out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// It holds.
    Holds,
    /// It holds only up to a span that may leave out unsigned names, or costs too much to compute.
    Open,
    /// It does not hold.
    Missing,
}

/// The validated NSEC and NSEC3 records of an answer.
pub(crate) struct Denials<'a> {
    zone: &'a Name,
    nsec: Vec<(&'a Name, &'a Name, &'a [Rtype])>,
    /// Owner hash, record.
    nsec3: Vec<(Vec<u8>, &'a Nsec3)>,
    costly: bool,
}

impl<'a> Denials<'a> {
    /// Those of a section whose signatures hold.
    pub(crate) fn of(section: &'a [Rr], zone: &'a Name, keys: &[&Dnskey], now: Timestamp) -> Self {
        let mut out = Denials { zone, nsec: Vec::new(), nsec3: Vec::new(), costly: false };
        for rr in section.iter().filter(|rr| rr.name.is_at_or_below(zone)) {
            let holds = || {
                let sigs: Vec<_> = signatures(section, &rr.name, rr.rtype).collect();
                check_set(&[rr], &sigs, keys, zone, now).is_ok()
            };
            match &rr.data {
                Data::Nsec(next, types) if holds() => out.nsec.push((&rr.name, next, types)),
                Data::Nsec3(n) if n.hash_algorithm == 1 && rr.name.parent() == *zone && holds() => {
                    if n.iterations > MAX_ITERATIONS {
                        out.costly = true;
                    } else if let Some(hash) = rr.name.labels().first().and_then(|l| base32hex(l)) {
                        out.nsec3.push((hash, n));
                    }
                }
                _ => {}
            }
        }
        out
    }

    /// That `name` exists (or is answered by a wildcard) without records of this type.
    pub(crate) fn no_type(&self, name: &Name, rtype: Rtype) -> Proof {
        if self.costly {
            return Proof::Open;
        }
        for (owner, next, types) in &self.nsec {
            if *owner == name {
                return held(lacks(types, rtype));
            }
            // A name that exists only through names below it.
            if *owner < name && next.is_below(name) {
                return Proof::Holds;
            }
        }
        if let Some((_, n)) = self.matching(name) {
            return held(lacks(&n.types, rtype));
        }
        match self.closest_encloser(name) {
            Some((encloser, Proof::Missing)) => {
                let _ = encloser;
                Proof::Missing
            }
            Some((encloser, closer)) => match encloser.child("*") {
                Some(wildcard) if self.lacks_at(&wildcard, rtype) => closer,
                // Below an opt-out span a name may be delegated without a signature.
                _ if closer == Proof::Open && rtype == Rtype::DS => Proof::Open,
                _ => Proof::Missing,
            },
            None => Proof::Missing,
        }
    }

    /// That `name` does not exist, and no wildcard stands for it.
    pub(crate) fn no_name(&self, name: &Name) -> Proof {
        if self.costly {
            return Proof::Open;
        }
        match self.closest_encloser(name) {
            Some((encloser, closer)) => match encloser.child("*") {
                Some(wildcard) if self.absent(&wildcard) != Proof::Missing => closer,
                _ => Proof::Missing,
            },
            None => Proof::Missing,
        }
    }

    /// That nothing closer to `name` exists than its ancestor of this many labels, whose wildcard answered.
    pub(crate) fn nothing_closer(&self, name: &Name, labels: usize) -> Proof {
        if self.costly {
            return Proof::Open;
        }
        self.absent(&name.trim_to(labels + 1))
    }

    /// That a name may be a delegation without DS records: the cut is there and has none, or it is left out.
    pub(crate) fn unsigned_cut(&self, child: &Name) -> bool {
        let cut = |types: &[Rtype]| {
            types.contains(&Rtype::NS) && !types.contains(&Rtype::DS) && !types.contains(&Rtype::SOA)
        };
        if self.costly || self.nsec.iter().any(|(owner, _, types)| *owner == child && cut(types)) {
            return true;
        }
        match self.matching(child) {
            Some((_, n)) => cut(&n.types),
            None => matches!(self.closest_encloser(child), Some((_, Proof::Open))),
        }
    }

    fn lacks_at(&self, name: &Name, rtype: Rtype) -> bool {
        self.nsec.iter().any(|(owner, _, types)| *owner == name && lacks(types, rtype))
            || self.matching(name).is_some_and(|(_, n)| lacks(&n.types, rtype))
    }

    fn matching(&self, name: &Name) -> Option<&(Vec<u8>, &'a Nsec3)> {
        self.nsec3
            .iter()
            .find(|(owner, n)| nsec3_hash(name, &n.salt, n.iterations).is_some_and(|hash| hash == *owner))
    }

    /// A span that holds the place where `name` would be.
    fn absent(&self, name: &Name) -> Proof {
        let spanned = self.nsec.iter().any(|(owner, next, _)| {
            let last = *next == self.zone;
            *owner < name && (last || name < *next) && !next.is_below(name)
        });
        if spanned {
            return Proof::Holds;
        }
        let cover = self.nsec3.iter().find(|(owner, n)| {
            nsec3_hash(name, &n.salt, n.iterations).is_some_and(|hash| {
                let last = n.next <= *owner;
                if last { hash > *owner || hash < n.next } else { hash > *owner && hash < n.next }
            })
        });
        match cover {
            Some((_, n)) if n.flags & OPT_OUT != 0 => Proof::Open,
            Some(_) => Proof::Holds,
            None => Proof::Missing,
        }
    }

    /// The longest ancestor that is proved to exist, and the proof that the next name towards `name` does not.
    fn closest_encloser(&self, name: &Name) -> Option<(Name, Proof)> {
        // NSEC: the span around the name shares labels with it on one of its ends.
        for (owner, next, types) in &self.nsec {
            let last = *next == self.zone;
            let spans = *owner < name && (last || name < *next) && !next.is_below(name);
            // The NSEC of a delegation, or of a redirected subtree, says nothing about what lies below.
            let foreign = name.is_below(owner)
                && (types.contains(&Rtype::DNAME)
                    || (types.contains(&Rtype::NS) && !types.contains(&Rtype::SOA)));
            if spans && !foreign {
                let shared = common(name, owner).max(common(name, next));
                return Some((name.trim_to(shared), Proof::Holds));
            }
        }
        let above = self.zone.labels().len()..name.labels().len();
        for count in above.rev() {
            let encloser = name.trim_to(count);
            if let Some((_, n)) = self.matching(&encloser) {
                let foreign = n.types.contains(&Rtype::DNAME)
                    || (n.types.contains(&Rtype::NS) && !n.types.contains(&Rtype::SOA));
                let next_closer = name.trim_to(count + 1);
                return (!foreign).then(|| (encloser, self.absent(&next_closer)));
            }
        }
        None
    }
}

fn held(holds: bool) -> Proof {
    if holds { Proof::Holds } else { Proof::Missing }
}

/// The list of types proves that this one is not there; the list of a delegation speaks about DS only.
fn lacks(types: &[Rtype], rtype: Rtype) -> bool {
    let cut = types.contains(&Rtype::NS) && !types.contains(&Rtype::SOA);
    !types.contains(&rtype)
        && !types.contains(&Rtype::CNAME)
        && if rtype == Rtype::DS { !types.contains(&Rtype::SOA) } else { !cut }
}

/// Labels two names share, from the right.
fn common(a: &Name, b: &Name) -> usize {
    a.labels().iter().rev().zip(b.labels().iter().rev()).take_while(|(x, y)| x == y).count()
}

/// Octets of an owner label of NSEC3 (RFC 4648 section 7, without padding).
fn base32hex(label: &[u8]) -> Option<Vec<u8>> {
    let (mut bits, mut held, mut out) = (0u32, 0u32, Vec::with_capacity(20));
    for byte in label {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'v' => byte - b'a' + 10,
            _ => return None,
        };
        bits = bits << 5 | u32::from(digit);
        held += 5;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::from_text(text).unwrap()
    }

    /// `a -> d.x -> (apex)`: a zone example with names a, *.w, d.x.
    fn spans<'a>(zone: &'a Name, list: &'a [(Name, Name, Vec<Rtype>)]) -> Denials<'a> {
        let nsec = list.iter().map(|(o, n, t)| (o, n, t.as_slice())).collect();
        Denials { zone, nsec, nsec3: Vec::new(), costly: false }
    }

    #[test]
    fn nsec_spans_prove_what_is_between_and_nothing_else() {
        let zone = name("example");
        let list = [
            (name("example"), name("a.example"), vec![Rtype::NS, Rtype::SOA]),
            (name("a.example"), name("sub.example"), vec![Rtype::A]),
            (name("sub.example"), name("*.w.example"), vec![Rtype::NS]),
            (name("*.w.example"), name("d.x.example"), vec![Rtype::TXT]),
            (name("d.x.example"), name("example"), vec![Rtype::A]),
        ];
        let all = spans(&zone, &list);
        assert_eq!(all.no_name(&name("b.example")), Proof::Holds);
        assert_eq!(all.no_name(&name("zz.example")), Proof::Holds, "after the last name");
        assert_eq!(all.no_name(&name("a.example")), Proof::Missing, "it exists");
        assert_eq!(all.no_name(&name("x.example")), Proof::Missing, "it has a name below");
        assert_eq!(all.no_name(&name("q.w.example")), Proof::Missing, "the wildcard stands for it");
        assert_eq!(all.no_name(&name("www.sub.example")), Proof::Missing, "it is delegated away");
        assert_eq!(all.no_type(&name("a.example"), Rtype::AAAA), Proof::Holds);
        assert_eq!(all.no_type(&name("a.example"), Rtype::A), Proof::Missing);
        assert_eq!(all.no_type(&name("x.example"), Rtype::A), Proof::Holds, "nothing but a name below");
        assert_eq!(all.no_type(&name("q.w.example"), Rtype::A), Proof::Holds, "the wildcard has TXT only");
        assert_eq!(all.no_type(&name("q.w.example"), Rtype::TXT), Proof::Missing);
        assert_eq!(all.no_type(&name("sub.example"), Rtype::A), Proof::Missing, "the parent can't say");
        assert_eq!(all.no_type(&name("sub.example"), Rtype::DS), Proof::Holds);
        assert!(all.unsigned_cut(&name("sub.example")));
        assert!(!all.unsigned_cut(&name("a.example")), "no delegation there");
        assert_eq!(all.nothing_closer(&name("q.w.example"), 2), Proof::Holds);
        assert_eq!(all.nothing_closer(&name("d.x.example"), 2), Proof::Missing);
        let first = spans(&zone, &list[..1]);
        assert_eq!(first.no_name(&name("b.example")), Proof::Missing, "without the span there is no proof");
    }

    fn hashed(text: &str) -> Vec<u8> {
        nsec3_hash(&name(text), &[], 0).unwrap()
    }

    fn ring(names: &[(&str, Vec<Rtype>)], flags: u8) -> Vec<(Vec<u8>, Nsec3)> {
        let mut list: Vec<_> = names.iter().map(|(n, t)| (hashed(n), t.clone())).collect();
        list.sort();
        let next = |i: usize| list[(i + 1) % list.len()].0.clone();
        let record = |i: usize, types: Vec<Rtype>| Nsec3 {
            hash_algorithm: 1,
            flags,
            iterations: 0,
            salt: Vec::new(),
            next: next(i),
            types,
        };
        (0..list.len()).map(|i| (list[i].0.clone(), record(i, list[i].1.clone()))).collect()
    }

    #[test]
    fn nsec3_rings_prove_the_same_and_opt_out_leaves_it_open() {
        let zone = name("example");
        let names = [
            ("example", vec![Rtype::NS, Rtype::SOA]),
            ("a.example", vec![Rtype::A]),
            ("w.example", vec![]),
            ("*.w.example", vec![Rtype::TXT]),
            ("sub.example", vec![Rtype::NS]),
        ];
        for (flags, closer) in [(0, Proof::Holds), (OPT_OUT, Proof::Open)] {
            let list = ring(&names, flags);
            let nsec3 = list.iter().map(|(h, n)| (h.clone(), n)).collect();
            let all = Denials { zone: &zone, nsec: Vec::new(), nsec3, costly: false };
            assert_eq!(all.no_name(&name("b.example")), closer);
            assert_eq!(all.no_name(&name("c.b.example")), closer);
            assert_eq!(all.no_name(&name("a.example")), Proof::Missing);
            assert_eq!(all.no_name(&name("q.w.example")), Proof::Missing);
            assert_eq!(all.no_type(&name("a.example"), Rtype::AAAA), Proof::Holds);
            assert_eq!(all.no_type(&name("a.example"), Rtype::A), Proof::Missing);
            assert_eq!(all.no_type(&name("q.w.example"), Rtype::A), closer);
            assert_eq!(all.no_type(&name("sub.example"), Rtype::A), Proof::Missing);
            assert!(all.unsigned_cut(&name("sub.example")));
            assert!(!all.unsigned_cut(&name("a.example")));
            assert_eq!(all.unsigned_cut(&name("other.example")), flags == OPT_OUT);
        }
    }

    #[test]
    fn owner_labels_decode() {
        // RFC 4648 section 10: "foobar" is CPNMUOJ1E8.
        assert_eq!(base32hex(b"cpnmuoj1e8").unwrap(), b"foobar");
        assert_eq!(base32hex(b"cpn!"), None);
    }
}
