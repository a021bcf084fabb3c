//! The JSON form, as public resolvers have it: parameters `name`, `type`, `cd`, `do`; members `Status`, `TC`, `RD`, `RA`,
//! `AD`, `CD`, `Question`, `Answer`, `Authority`, `Comment`. A client subnet (`edns_client_subnet`) is not sent to anyone;
//! the response says that it applies to all subnets (scope 0, RFC 7871).

use crate::answer::immediate;
use crate::message::{Edns, Query, RecordWithTtl, Source, with_own_ttls};
use crate::resolver::{Question, ResolveError, Resolver};
use dns::wire::{Name, Rtype};
use serde::Serialize;
use std::net::IpAddr;

/// The parameters of a URL.
#[derive(Debug, Default)]
pub(crate) struct Params {
    pub name: String,
    pub rtype: Option<String>,
    pub unchecked: Option<String>,
    pub dnssec_ok: Option<String>,
    pub subnet: Option<String>,
}

/// A response as JSON.
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
    question: Vec<JsonQuestion>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answer: Vec<JsonRecord>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authority: Vec<JsonRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    #[serde(rename = "edns_client_subnet", skip_serializing_if = "Option::is_none")]
    subnet: Option<String>,
}

#[derive(Debug, Serialize)]
struct JsonQuestion {
    name: String,
    r#type: u16,
}

#[derive(Debug, Serialize)]
struct JsonRecord {
    name: String,
    r#type: u16,
    #[serde(rename = "TTL")]
    ttl: u32,
    data: String,
}

/// A JSON response with what HTTP needs to know about it.
#[derive(Debug)]
pub(crate) struct JsonReply {
    pub document: Document,
    pub lifetime: u32,
    pub rcode: u16,
    pub source: Source,
}

/// Why there is no JSON response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum JsonError {
    /// A parameter is invalid; the text says which and why.
    Bad(String),
    /// Every slot for lookups is taken.
    Busy,
    /// The client has its share of lookups in flight.
    ClientBusy,
}

fn absolute(name: &Name) -> String {
    if name.is_root() { ".".into() } else { format!("{name}.") }
}

fn records(lines: &[RecordWithTtl<'_>]) -> Vec<JsonRecord> {
    let record = |(rr, ttl): &RecordWithTtl<'_>| JsonRecord {
        name: absolute(&rr.name),
        r#type: rr.rtype.0,
        ttl: *ttl,
        data: dns::present::data_text(rr),
    };
    lines.iter().map(record).collect()
}

/// Parses a flag: `1`, `true`, or the parameter without a value sets it.
fn flag(name: &str, value: Option<&str>) -> Result<bool, JsonError> {
    match value.map(str::to_ascii_lowercase).as_deref() {
        None | Some("0" | "false") => Ok(false),
        Some("" | "1" | "true") => Ok(true),
        Some(other) => {
            Err(JsonError::Bad(format!("“{other}” is not a value of {name}: use 1, 0, true or false")))
        }
    }
}

/// Parses a name as people write it: letters of any script, with or without a final dot.
fn name(text: &str) -> Result<Name, JsonError> {
    let bad = || JsonError::Bad(format!("“{text}” is not a domain name"));
    if text.is_empty() {
        return Err(JsonError::Bad("the parameter name is missing: ?name=example.com&type=A".into()));
    }
    if text.is_ascii() {
        return Name::from_text(text).map_err(|_| bad());
    }
    let understood = model::names::Fqdn::read(text).map_err(|_| bad())?;
    Name::from_text(understood.name.as_str()).map_err(|_| bad())
}

/// Parses a client subnet, `192.0.2.0/24` or an address; returns it with scope 0, which stands for all subnets.
fn subnet(text: &str) -> Result<String, JsonError> {
    let bad = || JsonError::Bad(format!("“{text}” is not a subnet: use an address, or 192.0.2.0/24"));
    let (address, length) = text.split_once('/').unwrap_or((text, "0"));
    let address: IpAddr = address.parse().map_err(|_| bad())?;
    let length: u8 = length.parse().map_err(|_| bad())?;
    if length > if address.is_ipv4() { 32 } else { 128 } {
        return Err(bad());
    }
    Ok(format!("{address}/0"))
}

impl Params {
    pub(crate) fn query(&self) -> Result<Query, JsonError> {
        let name = name(&self.name)?;
        let text = self.rtype.as_deref().filter(|t| !t.is_empty()).unwrap_or("A");
        let rtype = text.parse().map(Rtype).ok().or_else(|| Rtype::from_text(text));
        let Some(rtype) = rtype else {
            return Err(JsonError::Bad(format!("“{text}” is not a record type: use a mnemonic or a number")));
        };
        let dnssec_ok = flag("do", self.dnssec_ok.as_deref())?;
        Ok(Query {
            id: 0,
            recursion: true,
            authentic: true,
            unchecked: flag("cd", self.unchecked.as_deref())?,
            exact: name.octets().to_vec(),
            name,
            rtype,
            class: 1,
            edns: Some(Edns { version: 0, dnssec_ok, padded: false }),
        })
    }
}

/// Answers the query in the parameters of a URL.
pub(crate) async fn answer(
    resolver: &Resolver,
    client: IpAddr,
    params: &Params,
) -> Result<JsonReply, JsonError> {
    let query = params.query()?;
    let mut document = Document {
        status: 0,
        truncated: false,
        recursion: true,
        available: true,
        authentic: false,
        unchecked: query.unchecked,
        question: vec![JsonQuestion { name: absolute(&query.name), r#type: query.rtype.0 }],
        answer: Vec::new(),
        authority: Vec::new(),
        comment: None,
        subnet: params.subnet.as_deref().filter(|text| !text.is_empty()).map(subnet).transpose()?,
    };
    if let Some(ready) = immediate(resolver, &query) {
        document.status = ready.rcode;
        document.answer = records(&with_own_ttls(&ready.answers));
        document.authority = records(&with_own_ttls(&ready.authority));
        document.comment = ready.explained.map(|(_, why)| why.to_string());
        let (lifetime, rcode) = (ready.lifetime, ready.rcode);
        return Ok(JsonReply { document, lifetime, rcode, source: Source::Nowhere });
    }
    let Query { name, rtype, unchecked, .. } = &query;
    let asked = Question { name, rtype: *rtype, unchecked: *unchecked, recursion: true, client };
    let answer = match resolver.answer(asked).await {
        Ok(answer) => answer,
        Err(ResolveError::Busy | ResolveError::Unknown) => return Err(JsonError::Busy),
        Err(ResolveError::ClientBusy) => return Err(JsonError::ClientBusy),
    };
    document.status = answer.rcode;
    document.authentic = answer.secure;
    document.answer = records(&answer.answers(query.dnssec_ok(), query.rtype));
    document.authority = records(&answer.authority(query.dnssec_ok()));
    document.comment = answer.explained.as_ref().map(|(_, why)| why.clone());
    Ok(JsonReply { lifetime: answer.lifetime(), rcode: answer.rcode, source: answer.source, document })
}
