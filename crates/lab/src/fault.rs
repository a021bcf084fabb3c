//! Faults by name. In: words such as `slow 400`. Out: a [`Fault`], or the names that would have been understood.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{names, target::Service};

/// A way of being broken. The text form is the name, then its number or name if it takes one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[allow(missing_docs, reason = "each variant is described in TABLE, which help texts print")]
pub enum Fault {
    Lame,
    Refused,
    Servfail,
    UpwardReferral,
    SelfReferral,
    Dead,
    Slow(u32),
    TcOnly,
    Garbage,
    WrongId,
    WrongCase,
    FoldCase,
    WrongSource,
    FormerrEdns,
    NoEdns,
    NotAa,
    Recursive,
    Drop(u32),
    TcpClosed,
    SerialLag(u32),
    StaleGlue,
    MissingGlue,
    NsDisagreement,
    CnameLoop(u32),
    Cyclic(String),
    NsIsCname,
    NsUnresolvable,
    Hang,
    CloseEarly,
    Huge,
    Drip,
    ReferralLoop,
    Http500,
    InvalidJson,
    RedirectLoop,
    RateLimit(u32),
    NotFound,
    Bomb(u32),
    ManyRecords(u32),
    Dnames(u32),
    CollidingKeys(u32),
}

/// What a fault takes after its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Nothing.
    None,
    /// A number; the value is the default.
    Number(u32),
    /// A domain name.
    Name,
}

/// Name, argument and meaning of every fault, in the order of the enum.
pub const TABLE: &[(&str, Argument, &str)] = &[
    ("lame", Argument::None, "the server does not know the zone: REFUSED, not authoritative"),
    ("refused", Argument::None, "REFUSED to every question"),
    ("servfail", Argument::None, "SERVFAIL to every question"),
    ("upward-referral", Argument::None, "answers with a referral to the root"),
    ("self-referral", Argument::None, "answers with a referral to the zone itself"),
    ("dead", Argument::None, "no answer at all"),
    ("slow", Argument::Number(400), "answers after that many milliseconds"),
    ("tc-only", Argument::None, "every UDP answer is truncated and empty"),
    ("garbage", Argument::None, "answers with bytes that are no message"),
    ("wrong-id", Argument::None, "answers with another message id"),
    ("wrong-case", Argument::None, "answers with the letter case of the question changed"),
    ("fold-case", Argument::None, "answers with the question in lower case"),
    ("wrong-source", Argument::None, "answers from another port"),
    ("formerr-edns", Argument::None, "FORMERR to any question with EDNS"),
    ("no-edns", Argument::None, "ignores EDNS: no OPT in answers, 512 octets"),
    ("not-aa", Argument::None, "answers without the AA bit"),
    ("recursive", Argument::None, "offers recursion (RA set)"),
    ("drop", Argument::Number(50), "loses that many per cent of the questions, evenly"),
    ("tcp-closed", Argument::None, "closes every TCP connection at once"),
    ("serial-lag", Argument::Number(1), "serves a SOA serial that is older by so much"),
    ("stale-glue", Argument::None, "the parent's glue points to a retired address"),
    ("missing-glue", Argument::None, "the parent gives no glue although it must"),
    ("ns-disagreement", Argument::None, "the zone's own NS set lacks one of the parent's"),
    ("cname-loop", Argument::Number(2), "loop.ZONE is a chain of so many CNAMEs that ends at its start"),
    ("cyclic", Argument::Name, "delegated, without glue, to names inside a domain that needs this one"),
    ("ns-is-cname", Argument::None, "one nameserver name is an alias (CNAME)"),
    ("ns-unresolvable", Argument::None, "one nameserver name does not exist"),
    ("hang", Argument::None, "accepts the question and never answers"),
    ("close-early", Argument::None, "closes the connection in the middle of the answer"),
    ("huge", Argument::None, "sends 100 MB"),
    ("drip", Argument::None, "sends one byte a second"),
    ("referral-loop", Argument::None, "refers to itself, for ever"),
    ("http-500", Argument::None, "HTTP status 500"),
    ("invalid-json", Argument::None, "a JSON text that breaks off"),
    ("redirect-loop", Argument::None, "redirects to itself, for ever"),
    ("rate-limit", Argument::Number(10), "answers so many questions a minute, then 429 or a polite refusal"),
    ("not-found", Argument::None, "says of every name that it is not registered"),
    (
        "bomb",
        Argument::Number(4_659),
        "every TCP answer holds so many NS records with one target of 255 octets, as far as 64 KB go",
    ),
    ("many-records", Argument::Number(4_000), "every TCP answer holds so many A records, as far as 64 KB go"),
    ("dnames", Argument::Number(4_500), "every TCP answer holds so many DNAME records, as far as 64 KB go"),
    (
        "colliding-keys",
        Argument::Number(580),
        "over TCP a signed zone has so many keys of one tag and up to 500 signatures a set, none of which holds",
    ),
];

impl Fault {
    fn parts(&self) -> (&'static str, Option<String>) {
        match self {
            Self::Lame => ("lame", None),
            Self::Refused => ("refused", None),
            Self::Servfail => ("servfail", None),
            Self::UpwardReferral => ("upward-referral", None),
            Self::SelfReferral => ("self-referral", None),
            Self::Dead => ("dead", None),
            Self::Slow(n) => ("slow", Some(n.to_string())),
            Self::TcOnly => ("tc-only", None),
            Self::Garbage => ("garbage", None),
            Self::WrongId => ("wrong-id", None),
            Self::WrongCase => ("wrong-case", None),
            Self::FoldCase => ("fold-case", None),
            Self::WrongSource => ("wrong-source", None),
            Self::FormerrEdns => ("formerr-edns", None),
            Self::NoEdns => ("no-edns", None),
            Self::NotAa => ("not-aa", None),
            Self::Recursive => ("recursive", None),
            Self::Drop(n) => ("drop", Some(n.to_string())),
            Self::TcpClosed => ("tcp-closed", None),
            Self::SerialLag(n) => ("serial-lag", Some(n.to_string())),
            Self::StaleGlue => ("stale-glue", None),
            Self::MissingGlue => ("missing-glue", None),
            Self::NsDisagreement => ("ns-disagreement", None),
            Self::CnameLoop(n) => ("cname-loop", Some(n.to_string())),
            Self::Cyclic(d) => ("cyclic", Some(d.clone())),
            Self::NsIsCname => ("ns-is-cname", None),
            Self::NsUnresolvable => ("ns-unresolvable", None),
            Self::Hang => ("hang", None),
            Self::CloseEarly => ("close-early", None),
            Self::Huge => ("huge", None),
            Self::Drip => ("drip", None),
            Self::ReferralLoop => ("referral-loop", None),
            Self::Http500 => ("http-500", None),
            Self::InvalidJson => ("invalid-json", None),
            Self::RedirectLoop => ("redirect-loop", None),
            Self::RateLimit(n) => ("rate-limit", Some(n.to_string())),
            Self::NotFound => ("not-found", None),
            Self::Bomb(n) => ("bomb", Some(n.to_string())),
            Self::ManyRecords(n) => ("many-records", Some(n.to_string())),
            Self::Dnames(n) => ("dnames", Some(n.to_string())),
            Self::CollidingKeys(n) => ("colliding-keys", Some(n.to_string())),
        }
    }

    /// True for faults that a kind of server can have.
    #[must_use]
    pub fn fits(&self, service: Service) -> bool {
        let common = matches!(self, Self::Refused | Self::Dead | Self::Slow(_));
        let http = matches!(
            self,
            Self::Hang | Self::CloseEarly | Self::Huge | Self::Drip | Self::Http500 | Self::RedirectLoop
        );
        common
            || match service {
                Service::Web => http,
                Service::Rdap => {
                    http || matches!(
                        self,
                        Self::Garbage
                            | Self::ReferralLoop
                            | Self::InvalidJson
                            | Self::RateLimit(_)
                            | Self::NotFound
                    )
                }
                Service::Whois => matches!(
                    self,
                    Self::Hang
                        | Self::CloseEarly
                        | Self::Huge
                        | Self::Drip
                        | Self::Garbage
                        | Self::ReferralLoop
                        | Self::RateLimit(_)
                        | Self::NotFound
                ),
                Service::Dns => {
                    !http
                        && !matches!(
                            self,
                            Self::Drip
                                | Self::ReferralLoop
                                | Self::InvalidJson
                                | Self::RateLimit(_)
                                | Self::NotFound
                        )
                }
            }
    }

    /// True for faults that live in zone data and not in one server's behaviour.
    #[must_use]
    pub fn is_zone_data(&self) -> bool {
        matches!(
            self,
            Self::StaleGlue
                | Self::MissingGlue
                | Self::NsDisagreement
                | Self::CnameLoop(_)
                | Self::Cyclic(_)
                | Self::NsIsCname
                | Self::NsUnresolvable
        )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            (name, None) => f.write_str(name),
            (name, Some(argument)) => write!(f, "{name} {argument}"),
        }
    }
}

impl From<Fault> for String {
    fn from(fault: Fault) -> Self {
        fault.to_string()
    }
}

impl TryFrom<String> for Fault {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let argument = words.next();
        if words.next().is_some() {
            return Err(format!("`{text}`: too many words for a fault"));
        }
        let Some((_, takes, _)) = TABLE.iter().find(|(known, ..)| *known == name) else {
            let known: Vec<_> = TABLE.iter().map(|(known, ..)| *known).collect();
            return Err(format!("no fault is called `{name}`; known: {}", known.join(", ")));
        };
        let number = match (takes, argument) {
            (Argument::None, Some(_)) => return Err(format!("the fault `{name}` takes no argument")),
            (Argument::Number(default), None) => *default,
            (Argument::Number(_), Some(text)) => {
                text.parse().map_err(|_| format!("`{text}` is not a number, as `{name}` needs"))?
            }
            (Argument::Name, None) => return Err(format!("the fault `{name}` needs a domain name")),
            _ => 0,
        };
        Ok(match name {
            "lame" => Self::Lame,
            "refused" => Self::Refused,
            "servfail" => Self::Servfail,
            "upward-referral" => Self::UpwardReferral,
            "self-referral" => Self::SelfReferral,
            "dead" => Self::Dead,
            "slow" => Self::Slow(number),
            "tc-only" => Self::TcOnly,
            "garbage" => Self::Garbage,
            "wrong-id" => Self::WrongId,
            "wrong-case" => Self::WrongCase,
            "fold-case" => Self::FoldCase,
            "wrong-source" => Self::WrongSource,
            "formerr-edns" => Self::FormerrEdns,
            "no-edns" => Self::NoEdns,
            "not-aa" => Self::NotAa,
            "recursive" => Self::Recursive,
            "drop" => Self::Drop(number.min(100)),
            "tcp-closed" => Self::TcpClosed,
            "serial-lag" => Self::SerialLag(number),
            "stale-glue" => Self::StaleGlue,
            "missing-glue" => Self::MissingGlue,
            "ns-disagreement" => Self::NsDisagreement,
            "cname-loop" => Self::CnameLoop(number.clamp(1, 1000)),
            "cyclic" => Self::Cyclic(names::normal(argument.unwrap_or_default())?),
            "ns-is-cname" => Self::NsIsCname,
            "ns-unresolvable" => Self::NsUnresolvable,
            "hang" => Self::Hang,
            "close-early" => Self::CloseEarly,
            "huge" => Self::Huge,
            "drip" => Self::Drip,
            "referral-loop" => Self::ReferralLoop,
            "http-500" => Self::Http500,
            "invalid-json" => Self::InvalidJson,
            "redirect-loop" => Self::RedirectLoop,
            "not-found" => Self::NotFound,
            "bomb" => Self::Bomb(number),
            "many-records" => Self::ManyRecords(number),
            "dnames" => Self::Dnames(number),
            "colliding-keys" => Self::CollidingKeys(number),
            _ => Self::RateLimit(number),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_of_the_table_reads_back_as_itself() {
        for (name, argument, meaning) in TABLE {
            let text =
                if *argument == Argument::Name { format!("{name} a.example") } else { (*name).to_owned() };
            let fault: Fault = text.parse().unwrap();
            assert_eq!(fault.parts().0, *name, "{meaning}");
            assert_eq!(fault.to_string().parse::<Fault>().unwrap(), fault);
        }
    }

    #[test]
    fn bad_faults_say_why() {
        assert!("lamee".parse::<Fault>().unwrap_err().contains("known: lame"));
        assert!("slow x".parse::<Fault>().unwrap_err().contains("not a number"));
        assert!("lame 3".parse::<Fault>().unwrap_err().contains("no argument"));
        assert!("cyclic".parse::<Fault>().unwrap_err().contains("domain name"));
    }
}
