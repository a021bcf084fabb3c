//! The JSON form of answers that public resolvers offer (`application/dns-json`): numbers for types and codes,
//! data in zone-file form. In: a response message. Out: a JSON value.

use hickory_proto::{
    op::Message,
    rr::{
        RData, Record,
        rdata::opt::{EdnsCode, EdnsOption},
    },
};
use serde_json::{Value, json};

/// Data in zone-file form; texts are quoted, whatever is in them.
pub(super) fn data(rdata: &RData) -> String {
    let RData::TXT(txt) = rdata else { return rdata.to_string() };
    let quoted = |octets: &[u8]| {
        let mut text = String::from("\"");
        for octet in octets {
            match octet {
                b'"' | b'\\' => text.extend(['\\', char::from(*octet)]),
                0x20..=0x7e => text.push(char::from(*octet)),
                _ => text.push_str(&format!("\\{octet:03}")),
            }
        }
        text + "\""
    };
    txt.txt_data.iter().map(|part| quoted(part)).collect::<Vec<_>>().join(" ")
}

fn rows(records: &[Record]) -> Vec<Value> {
    let row = |r: &Record| {
        json!({
            "name": r.name.to_ascii(),
            "type": u16::from(r.record_type()),
            "TTL": r.ttl,
            "data": data(&r.data),
        })
    };
    records.iter().map(row).collect()
}

/// The whole answer.
pub(super) fn render(message: &Message) -> Value {
    let question: Vec<Value> = message
        .queries
        .iter()
        .map(|q| json!({"name": q.name().to_ascii(), "type": u16::from(q.query_type())}))
        .collect();
    let mut value = json!({
        "Status": u16::from(message.metadata.response_code),
        "TC": message.metadata.truncation,
        "RD": message.metadata.recursion_desired,
        "RA": message.metadata.recursion_available,
        "AD": message.metadata.authentic_data,
        "CD": message.metadata.checking_disabled,
        "Question": question,
    });
    for (key, section) in [("Answer", &message.answers), ("Authority", &message.authorities)] {
        if !section.is_empty() {
            value[key] = rows(section).into();
        }
    }
    let extended = message.edns.as_ref().and_then(|e| e.option(EdnsCode::from(15)));
    if let Some(EdnsOption::Unknown(_, octets)) = extended
        && let Some((code, text)) = octets.split_first_chunk::<2>()
    {
        let (code, text) = (u16::from_be_bytes(*code), String::from_utf8_lossy(text));
        value["extended_dns_errors"] = json!([{"info_code": code, "extra_text": text}]);
        value["Comment"] = json!([format!("EDE({code}): {text}")]);
    }
    value
}
