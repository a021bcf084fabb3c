//! Record types by number, with the mnemonics of the IANA registry (RFC 3597 for the rest).

use std::fmt;

/// A record type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rtype(pub u16);

macro_rules! rtypes {
    ($($name:ident = $number:literal),* $(,)?) => {
        #[allow(missing_docs)]
        impl Rtype { $(pub const $name: Rtype = Rtype($number);)* }
        const NAMES: &[(u16, &str)] = &[$(($number, stringify!($name))),*];
    };
}

rtypes! {
    A = 1, NS = 2, CNAME = 5, SOA = 6, NULL = 10, PTR = 12, HINFO = 13, MX = 15, TXT = 16, RP = 17, AFSDB = 18,
    SIG = 24, KEY = 25, AAAA = 28, LOC = 29, SRV = 33, NAPTR = 35, CERT = 37, DNAME = 39, OPT = 41, DS = 43,
    SSHFP = 44, RRSIG = 46, NSEC = 47, DNSKEY = 48, DHCID = 49, NSEC3 = 50, NSEC3PARAM = 51, TLSA = 52, SMIMEA = 53,
    HIP = 55, CDS = 59, CDNSKEY = 60, OPENPGPKEY = 61, CSYNC = 62, ZONEMD = 63, SVCB = 64, HTTPS = 65, SPF = 99,
    TSIG = 250, IXFR = 251, AXFR = 252, ANY = 255, URI = 256, CAA = 257,
}

impl Rtype {
    /// Reads a mnemonic (any case) or `TYPEnnn`.
    pub fn from_text(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_uppercase();
        let known = NAMES.iter().find(|(_, name)| *name == text).map(|(number, _)| Rtype(*number));
        known.or_else(|| text.strip_prefix("TYPE").and_then(|n| n.parse().ok()).map(Rtype))
    }
}

impl fmt::Display for Rtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(number, _)| *number == self.0) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "TYPE{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_in_json_have_the_same_mnemonics() {
        // Of signatures, and of what only questions or messages have, a JSON answer shows nothing.
        let told = |n: u16| n != Rtype::RRSIG.0 && n != Rtype::OPT.0 && !(249..=255).contains(&n);
        for (number, name) in NAMES.iter().filter(|(n, _)| told(*n)) {
            let text =
                format!(r#"{{"Status":0,"Answer":[{{"name":"a.","type":{number},"TTL":1,"data":""}}]}}"#);
            let read = model::doh_json::read("x", &text, jiff::Timestamp::UNIX_EPOCH, None).unwrap();
            assert_eq!(read.records[0].rtype, *name);
        }
    }
}
