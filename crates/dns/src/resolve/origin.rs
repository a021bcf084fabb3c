//! Which network an address belongs to: prefix and origin AS by the DNS interface of Team Cymru's address database, and
//! the names that stand for addresses in such trees. In: an address. Out: [`Origin`].

use crate::session::Session;
use crate::wire::{Data, Name, Rtype};
use model::dns::AnswerKind;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// True when the address is in the block.
pub(crate) fn within(ip: IpAddr, block: IpAddr, length: u8) -> bool {
    let bits = |ip: IpAddr| match ip {
        IpAddr::V4(v4) => u128::from(v4.to_bits()) << 96,
        IpAddr::V6(v6) => v6.to_bits(),
    };
    ip.is_ipv4() == block.is_ipv4()
        && (length == 0 || (bits(ip) ^ bits(block)) >> (128 - u32::from(length)) == 0)
}

/// The name whose PTR records tell an address's name (RFC 1035 section 3.5, RFC 3596 section 2.5).
pub(crate) fn reverse_name(ip: IpAddr, v4_zone: &str, v6_zone: &str) -> Option<Name> {
    let text = match ip {
        IpAddr::V4(v4) => {
            let [a, b, c, d] = v4.octets();
            format!("{d}.{c}.{b}.{a}.{v4_zone}")
        }
        IpAddr::V6(v6) => {
            let nibbles: Vec<String> = v6
                .octets()
                .iter()
                .rev()
                .flat_map(|b| [format!("{:x}", b & 15), format!("{:x}", b >> 4)])
                .collect();
            format!("{}.{v6_zone}", nibbles.join("."))
        }
    };
    Name::from_text(&text).ok()
}

/// What the address database says of an address: Connectivity04 of 2024, "Cymru prefix lookup".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The most specific prefix and the systems that announce it.
    pub known: Option<Announced>,
    /// The database gave nothing usable, or something wrong beside what is usable.
    pub failed: bool,
    /// Seconds for which that holds.
    pub ttl: u32,
}

/// A prefix and who announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Announced {
    pub prefix: String,
    pub length: u8,
    pub asns: BTreeSet<u32>,
}

/// `ASN [ASN …] | prefix | …` by origin zone (the DNS interface Team Cymru invented).
pub(crate) async fn origin(session: &Session, asn_zone: &str, ip: IpAddr) -> Origin {
    let failed = Origin { failed: true, ..Origin::default() };
    let (v4, v6) = (format!("origin.{asn_zone}"), format!("origin6.{asn_zone}"));
    let Some(name) = reverse_name(ip, &v4, &v6) else { return failed };
    // An alias here leads away from the database: not followed.
    let Ok(found) = session.resolve(name.clone(), Rtype::TXT, false, Vec::new()).await else {
        return failed;
    };
    match found.kind {
        AnswerKind::NxDomain | AnswerKind::NoData => return Origin::default(),
        AnswerKind::Answer => {}
        // A resolver between us and the database answers without AA.
        AnswerKind::NonAuthoritative if found.asked.reply().is_some_and(|r| !r.answers.is_empty()) => {}
        _ => return failed,
    }
    let Some(reply) = found.asked.reply() else { return failed };
    let texts: Vec<String> = reply
        .answers_of(&name, Rtype::TXT)
        .filter_map(|rr| match &rr.data {
            Data::Txt(strings) => Some(String::from_utf8_lossy(&strings.concat()).into_owned()),
            _ => None,
        })
        .collect();
    let ttl = reply.answers_of(&name, Rtype::TXT).map(|rr| rr.ttl).min().unwrap_or(0);
    if texts.is_empty() { failed } else { Origin { ttl, ..read_rows(ip, &texts) } }
}

/// Every row is judged by itself: text of another kind is passed over, a row that cannot be read or is about another
/// place in the address space is an error of the database, and of the rest the most specific counts.
fn read_rows(ip: IpAddr, texts: &[String]) -> Origin {
    let mut origin = Origin::default();
    for text in texts.iter().filter(|text| text.contains('|')) {
        let parsed = parse_origin(text).filter(|(network, row)| within(ip, *network, row.length));
        let Some((_, row)) = parsed else {
            origin.failed = true;
            continue;
        };
        if origin.known.as_ref().is_none_or(|best| best.length < row.length) {
            origin.known = Some(row);
        }
    }
    origin
}

/// A row of the database; `None` when it cannot be read.
fn parse_origin(text: &str) -> Option<(IpAddr, Announced)> {
    let mut fields = text.split('|').map(str::trim);
    let asns: BTreeSet<u32> = fields.next()?.split_whitespace().filter_map(|a| a.parse().ok()).collect();
    let prefix = fields.next()?.to_string();
    let (ip, length) = prefix.split_once('/')?;
    let (network, length): (IpAddr, u8) = (ip.parse().ok()?, length.parse().ok()?);
    let fits = length <= if network.is_ipv4() { 32 } else { 128 };
    (!asns.is_empty() && fits).then_some((network, Announced { prefix, length, asns }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_database_are_read_or_refused() {
        let (_, row) = parse_origin("64496 64500 | 192.0.2.0/24 | ZZ | test | 2020-01-01").unwrap();
        let asns = BTreeSet::from([64496, 64500]);
        assert_eq!(row, Announced { prefix: "192.0.2.0/24".into(), length: 24, asns });
        for bad in ["", "NA | 192.0.2.0/24", "1 | x/24", "1", "1 | 192.0.2.0", "1 | 192.0.2.0/33"] {
            assert_eq!(parse_origin(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_row_about_another_place_is_an_error_and_does_not_hide_the_others() {
        let ip: IpAddr = "192.0.2.7".parse().unwrap();
        let read = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|t| (*t).to_string()).collect();
            let origin = read_rows(ip, &texts);
            (origin.known.map(|k| k.prefix), origin.failed)
        };
        assert_eq!(read(&["1 | 192.0.0.0/16", "2 | 192.0.2.0/24"]), (Some("192.0.2.0/24".into()), false));
        assert_eq!(read(&["1 | 198.51.100.0/24", "2 | 192.0.2.0/24"]), (Some("192.0.2.0/24".into()), true));
        assert_eq!(read(&["1 | 198.51.100.0/24"]), (None, true));
        assert_eq!(read(&["hello", "v=spf1 -all"]), (None, false));
        assert_eq!(read(&["1 | everywhere", "2 | 192.0.2.0/24"]), (Some("192.0.2.0/24".into()), true));
        assert_eq!(read(&["| 192.0.2.0/24"]), (None, true));
    }
}
