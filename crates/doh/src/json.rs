//! The JSON form of questions and answers, in the shape public resolvers have made usual: `name`, `type`, `cd`, `do`
//! in; `Status`, `TC`, `RD`, `RA`, `AD`, `CD`, `Question`, `Answer`, `Authority`, `Comment` out. A client's subnet
//! (`edns_client_subnet`) is told to nobody, and the answer says so: it holds for all subnets (RFC 7871).

use crate::answer::ready;
use crate::message::{Edns, Line, Query, whole};
use crate::resolver::{Resolver, Unanswered};
use crate::steps::Source;
use dns::wire::{Name, Rtype};
use serde::Serialize;
use std::net::IpAddr;

/// A question as it stands in a URL.
#[derive(Debug, Default)]
pub(crate) struct Params {
    pub name: String,
    pub rtype: Option<String>,
    pub unchecked: Option<String>,
    pub dnssec_ok: Option<String>,
    pub subnet: Option<String>,
}

/// An answer in JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
#[expect(clippy::struct_excessive_bools, reason = "the flags of a DNS header")]
pub(crate) struct Document {
    status: u16,
    #[serde(rename = "TC")]
    truncated: bool,
    #[serde(rename = "RD")]
    recursion: bool,
    #[serde(rename = "RA")]
    available: bool,
    #[serde(rename = "AD")]
    authentic: bool,
    #[serde(rename = "CD")]
    unchecked: bool,
    question: Vec<Asked>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answer: Vec<Record>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authority: Vec<Record>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    #[serde(rename = "edns_client_subnet", skip_serializing_if = "Option::is_none")]
    subnet: Option<String>,
}

#[derive(Debug, Serialize)]
struct Asked {
    name: String,
    r#type: u16,
}

#[derive(Debug, Serialize)]
struct Record {
    name: String,
    r#type: u16,
    #[serde(rename = "TTL")]
    ttl: u32,
    data: String,
}

/// What becomes of a question in a URL.
#[derive(Debug)]
pub(crate) struct Reply {
    pub document: Document,
    pub lifetime: u32,
    pub rcode: u16,
    pub source: Source,
}

/// Why there is no document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The sentence says what is wrong with the parameters.
    Bad(String),
    /// Too much is under way.
    Busy,
}

fn absolute(name: &Name) -> String {
    if name.is_root() { ".".into() } else { format!("{name}.") }
}

fn records(lines: &[Line<'_>]) -> Vec<Record> {
    let record = |(rr, ttl): &Line<'_>| Record {
        name: absolute(&rr.name),
        r#type: rr.rtype.0,
        ttl: *ttl,
        data: dns::present::data_text(rr),
    };
    lines.iter().map(record).collect()
}

/// `1`, `true`, or the parameter alone is yes.
fn flag(name: &str, value: Option<&str>) -> Result<bool, Refused> {
    match value.map(str::to_ascii_lowercase).as_deref() {
        None | Some("0" | "false") => Ok(false),
        Some("" | "1" | "true") => Ok(true),
        Some(other) => Err(Refused::Bad(format!("“{other}” is no value of {name}: use 1, 0, true or false"))),
    }
}

/// A name as people write it: letters of any script, a final dot or none.
fn name(text: &str) -> Result<Name, Refused> {
    let bad = || Refused::Bad(format!("“{text}” is no domain name"));
    if text.is_empty() {
        return Err(Refused::Bad("the parameter name is missing: ?name=example.com&type=A".into()));
    }
    if text.is_ascii() {
        return Name::from_text(text).map_err(|_| bad());
    }
    let understood = model::names::Fqdn::read(text).map_err(|_| bad())?;
    Name::from_text(understood.name.as_str()).map_err(|_| bad())
}

/// A client's subnet, `192.0.2.0/24` or an address; back comes the scope of the answer, which is everybody.
fn subnet(text: &str) -> Result<String, Refused> {
    let bad = || Refused::Bad(format!("“{text}” is no subnet: use an address, or 192.0.2.0/24"));
    let (address, length) = text.split_once('/').unwrap_or((text, "0"));
    let address: IpAddr = address.parse().map_err(|_| bad())?;
    let length: u8 = length.parse().map_err(|_| bad())?;
    if length > if address.is_ipv4() { 32 } else { 128 } {
        return Err(bad());
    }
    Ok(format!("{address}/0"))
}

impl Params {
    pub(crate) fn query(&self) -> Result<Query, Refused> {
        let name = name(&self.name)?;
        let text = self.rtype.as_deref().filter(|t| !t.is_empty()).unwrap_or("A");
        let rtype = text.parse().map(Rtype).ok().or_else(|| Rtype::from_text(text));
        let Some(rtype) = rtype else {
            return Err(Refused::Bad(format!("“{text}” is no record type: use a mnemonic or a number")));
        };
        let dnssec_ok = flag("do", self.dnssec_ok.as_deref())?;
        Ok(Query {
            id: 0,
            recursion: true,
            authentic: true,
            unchecked: flag("cd", self.unchecked.as_deref())?,
            exact: name.labels().to_vec(),
            name,
            rtype,
            class: 1,
            edns: Some(Edns { version: 0, dnssec_ok, padded: false }),
        })
    }
}

/// Answers a question in a URL.
pub(crate) async fn answer(resolver: &Resolver, params: &Params) -> Result<Reply, Refused> {
    let query = params.query()?;
    let mut document = Document {
        status: 0,
        truncated: false,
        recursion: true,
        available: true,
        authentic: false,
        unchecked: query.unchecked,
        question: vec![Asked { name: absolute(&query.name), r#type: query.rtype.0 }],
        answer: Vec::new(),
        authority: Vec::new(),
        comment: None,
        subnet: params.subnet.as_deref().filter(|text| !text.is_empty()).map(subnet).transpose()?,
    };
    if let Some(ready) = ready(resolver, &query) {
        document.status = ready.rcode;
        document.answer = records(&whole(&ready.answers));
        document.authority = records(&whole(&ready.authority));
        document.comment = ready.explained.map(|(_, why)| why.to_string());
        let (lifetime, rcode) = (ready.lifetime, ready.rcode);
        return Ok(Reply { document, lifetime, rcode, source: Source::Nowhere });
    }
    let answer = match resolver.answer(&query.name, query.rtype, query.unchecked, true).await {
        Ok(answer) => answer,
        Err(Unanswered::Busy | Unanswered::Unknown) => return Err(Refused::Busy),
    };
    document.status = answer.rcode;
    document.authentic = answer.secure;
    document.answer = records(&answer.answers(query.dnssec_ok(), query.rtype));
    document.authority = records(&answer.authority(query.dnssec_ok()));
    document.comment = answer.explained.as_ref().map(|(_, why)| why.clone());
    Ok(Reply { lifetime: answer.lifetime(), rcode: answer.rcode, source: answer.source, document })
}
