//! Records of a zone, as Domain Connect engines exchange them: relative names, `_dc` for the template that wrote them.

use crate::error::{Error, Result};
use crate::names;
use serde::Serialize;
use serde_json::{Map, Value};

/// Largest TTL in seconds (RFC 2181 section 8).
pub const MAX_TTL: u32 = 0x7fff_ffff;

/// A record of a zone in normal form: type in upper case, name in lower case relative to the apex (`@`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Record {
    /// Record type in upper case; also the pseudo-types `APEXCNAME`, `REDIR301` and `REDIR302`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Owner name relative to the zone, `@` for its apex.
    pub name: String,
    /// Address, host name, text or RDATA in presentation format, by type. MX and SRV keep their numbers apart.
    pub data: String,
    /// Time to live in seconds; redirects have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u32>,
    /// Preference of an MX record, priority of an SRV record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u16>,
    /// Transport of an SRV record: `tcp`, `_udp`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Service of an SRV record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Weight of an SRV record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u16>,
    /// Port of an SRV record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Which application of which template wrote the record. See [`Owner`].
    #[serde(rename = "_dc", skip_serializing_if = "Option::is_none")]
    pub owner: Option<Value>,
    /// Other members of the JSON object, kept as they came.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Record {
    /// A record of four fields; the others are absent.
    pub fn new(kind: &str, name: &str, data: impl Into<String>, ttl: Option<u32>) -> Self {
        Self {
            kind: kind.to_ascii_uppercase(),
            name: name.to_string(),
            data: data.into(),
            ttl,
            priority: None,
            protocol: None,
            service: None,
            weight: None,
            port: None,
            owner: None,
            extra: Map::new(),
        }
    }

    /// Reads a record of a zone and puts it into normal form. Numbers may be strings of digits.
    ///
    /// # Errors
    /// `TypeError` when a member has the wrong JSON type, or `type` is missing.
    pub fn from_json(value: &Value, domain: &str) -> Result<Self> {
        let Value::Object(object) = value else {
            return Err(Error::shape(format!("a record of the zone must be a JSON object, not {value}")));
        };
        let mut rest = object.clone();
        let kind = text(&mut rest, "type")?.filter(|kind| !kind.is_empty());
        let kind = kind.ok_or_else(|| Error::shape("a record of the zone has no type"))?.to_uppercase();
        let name = names::of_zone(&text(&mut rest, "name")?.unwrap_or_default(), domain);
        let mut data = text(&mut rest, "data")?.unwrap_or_default();
        if holds_host_or_address(&kind) {
            data = data.to_lowercase();
        }
        let lower = |text: Option<String>| text.map(|text| text.to_lowercase());
        Ok(Self {
            ttl: number(&mut rest, "ttl", u64::from(MAX_TTL))?,
            priority: number(&mut rest, "priority", 65_535)?,
            protocol: lower(text(&mut rest, "protocol")?),
            service: lower(text(&mut rest, "service")?),
            weight: number(&mut rest, "weight", 65_535)?,
            port: number(&mut rest, "port", 65_535)?,
            owner: rest.remove("_dc").filter(|owner| !owner.is_null()),
            kind,
            name,
            data,
            extra: rest,
        })
    }

    /// Whether both are one resource record: owner, type and RDATA are the same; the TTL is no part of that.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.name == other.name
            && (self.priority, &self.protocol, &self.service, self.weight, self.port)
                == (other.priority, &other.protocol, &other.service, other.weight, other.port)
            && (self.data == other.data || self.kind == "TXT" && self.text() == other.text())
    }

    /// The text of a TXT record without the quotes of presentation format: `"a" "b"` is `ab`.
    pub fn text(&self) -> String {
        unquote(&self.data)
    }
}

/// Which application of a template wrote a record: the member `_dc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Unique identifier of the application.
    pub id: Option<String>,
    /// Service provider of the template.
    pub provider: Option<String>,
    /// Service of the template.
    pub service: Option<String>,
    /// Host the template was applied to; empty at the apex.
    pub host: String,
    /// Whether the template is void without this record (`essential` is not `OnApply`).
    pub is_essential: bool,
}

impl Owner {
    /// The owner of a record, if a template wrote it.
    pub fn of(record: &Record) -> Option<Self> {
        let object = record.owner.as_ref()?.as_object()?;
        let field = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_lowercase);
        let owner = Self {
            id: object.get("id").and_then(Value::as_str).map(String::from),
            provider: field("providerId"),
            service: field("serviceId"),
            host: field("host").filter(|host| host != "@").unwrap_or_default(),
            is_essential: field("essential").as_deref() != Some("onapply"),
        };
        (owner.id.is_some() || owner.provider.is_some()).then_some(owner)
    }

    /// Whether both were written by one application of one template.
    pub fn is_same_instance(&self, other: &Self) -> bool {
        match (&self.id, &other.id) {
            (Some(a), Some(b)) => a == b,
            _ => self.is_same_template(other),
        }
    }

    /// Whether both come from the same template on the same host.
    pub fn is_same_template(&self, other: &Self) -> bool {
        (&self.provider, &self.service, &self.host) == (&other.provider, &other.service, &other.host)
            && self.provider.is_some()
    }
}

/// Types whose data is compared without case.
fn holds_host_or_address(kind: &str) -> bool {
    matches!(kind, "A" | "AAAA" | "CNAME" | "NS" | "MX" | "SRV" | "APEXCNAME")
}

/// The character strings of TXT data joined, if it is quoted; otherwise the data as it is.
pub(crate) fn unquote(data: &str) -> String {
    let trimmed = data.trim();
    if trimmed.len() < 2 || !trimmed.starts_with('"') || !trimmed.ends_with('"') {
        return data.to_string();
    }
    let (mut text, mut inside, mut chars) = (String::with_capacity(data.len()), false, trimmed.chars());
    while let Some(c) = chars.next() {
        match c {
            '"' => inside = !inside,
            '\\' if inside => text.extend(chars.next()),
            c if inside => text.push(c),
            c if c.is_whitespace() => {}
            // Text between the strings: this is not presentation format, so the quotes belong to the value.
            _ => return data.to_string(),
        }
    }
    if inside { data.to_string() } else { text }
}

fn text(object: &mut Map<String, Value>, field: &str) -> Result<Option<String>> {
    match object.remove(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(other) => Err(Error::shape(format!("{field} of a zone record must be a string, not {other}"))),
    }
}

fn number<T: TryFrom<u64>>(object: &mut Map<String, Value>, field: &str, max: u64) -> Result<Option<T>> {
    let value = object.remove(field).unwrap_or(Value::Null);
    let number = match &value {
        Value::Null => return Ok(None),
        Value::Number(number) => number.as_u64(),
        Value::String(digits) => digits.parse().ok(),
        _ => None,
    };
    let number = number.filter(|number| *number <= max).and_then(|number| T::try_from(number).ok());
    let wrong =
        || Error::shape(format!("{field} of a zone record must be a number from 0 to {max}, not {value}"));
    number.map(Some).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quotes_of_presentation_format_are_not_part_of_the_text() {
        assert_eq!(unquote(r#""v=spf1 a" " ~all""#), "v=spf1 a ~all");
        assert_eq!(unquote(r#""say \"hi\"""#), r#"say "hi""#);
        assert_eq!(unquote(r#""a" b "c""#), r#""a" b "c""#);
        assert_eq!(unquote("plain text"), "plain text");
        assert_eq!(unquote("\""), "\"");
    }

    #[test]
    fn zone_records_are_put_into_normal_form() {
        let value = json!({"type": "mx", "name": "WWW.Foo.Com.", "data": "Mail.Example.", "ttl": "300",
            "priority": 10, "comment": "kept"});
        let record = Record::from_json(&value, "foo.com").unwrap();
        assert_eq!(
            serde_json::to_value(&record).unwrap(),
            json!({"type": "MX", "name": "www", "data": "mail.example.", "ttl": 300, "priority": 10, "comment": "kept"})
        );
        assert!(Record::from_json(&json!({"name": "a"}), "foo.com").is_err());
        assert!(Record::from_json(&json!({"type": "A", "ttl": -1}), "foo.com").is_err());
        assert!(Record::from_json(&json!("A"), "foo.com").is_err());
    }
}
