//! Records of a template as written: access to their fields, and the options that are not data.

use crate::error::{Error, Result};
use serde_json::{Map, Value};

/// Most records of one template; published ones have fewer than a hundred.
pub const MAX_RECORDS: usize = 1000;

/// A record of a template as written: fields may hold variables, and are checked when the record is rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateRecord(pub(crate) Map<String, Value>);

impl TemplateRecord {
    /// Reads an array of records; `null` is an empty one. Their content is checked when they are rendered.
    ///
    /// # Errors
    /// `InvalidTemplate` when this is no array of objects, or it is longer than [`MAX_RECORDS`].
    pub fn list(value: &Value) -> Result<Vec<Self>> {
        let records = match value {
            Value::Null => return Ok(Vec::new()),
            Value::Array(records) => records,
            _ => return Err(Error::template("the records of a template must be an array")),
        };
        if records.len() > MAX_RECORDS {
            return Err(Error::template(format!("a template may have at most {MAX_RECORDS} records")));
        }
        let object = |record: &Value| match record {
            Value::Object(object) => Ok(Self(object.clone())),
            other => {
                Err(Error::template(format!("a record of a template must be a JSON object, not {other}")))
            }
        };
        records.iter().map(object).collect()
    }

    /// The record type in upper case: a mnemonic of RFC 6895 section 3.1, `TYPE123`, or a pseudo-type. Mnemonics are
    /// not looked up in the IANA registry, which grows.
    ///
    /// # Errors
    /// `TypeError` when the record has no type or one that DNS cannot hold.
    pub fn kind(&self) -> Result<String> {
        let Some(Value::String(written)) = self.0.get("type") else {
            return Err(Error::shape("a record of the template has no type"));
        };
        let kind = written.to_ascii_uppercase();
        let syntax = kind == "A"
            || kind.len() > 1
                && kind.starts_with(|c: char| c.is_ascii_uppercase())
                && !kind.ends_with('-')
                && kind.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let meta = ["SOA", "OPT", "TSIG", "TKEY", "ANY", "AXFR", "IXFR", "MAILA", "MAILB"];
        let class = kind.strip_prefix("CLASS").is_some_and(|n| !n.is_empty() && is_digits(n));
        let number = kind.strip_prefix("TYPE").filter(|n| !n.is_empty() && is_digits(n));
        let too_large = number.is_some_and(|n| n.parse::<u16>().is_err());
        if !syntax || class || too_large || meta.contains(&kind.as_str()) {
            return Err(Error::shape(format!("{written:?} is not a record type that a template can create")));
        }
        Ok(kind)
    }

    /// The group, if the record is in one.
    pub(crate) fn group(&self) -> Option<&str> {
        self.0.get("groupId").and_then(Value::as_str)
    }

    /// Whether the record takes part (draft section 10.3): no groups were asked for, or it has none, or one of them.
    pub(crate) fn is_active(&self, groups: &[String]) -> bool {
        groups.is_empty() || self.group().is_none_or(|group| groups.iter().any(|asked| asked == group))
    }

    /// A field that may be absent.
    pub(crate) fn text(&self, field: &str) -> Result<Option<&str>> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(Error::template(format!("{field} must be a string, not {other}"))),
        }
    }

    /// A field that must be there.
    pub(crate) fn required(&self, field: &str) -> Result<&str> {
        self.text(field)?.ok_or_else(|| Error::template(format!("{field} is missing")))
    }

    /// A number field that must be there.
    pub(crate) fn number(&self, field: &str) -> Result<&Value> {
        let value = self.0.get(field).filter(|value| !value.is_null());
        value.ok_or_else(|| Error::template(format!("{field} is missing")))
    }

    /// `essential`, by default `Always` (draft section 6.2).
    pub(crate) fn essential(&self) -> Result<&'static str> {
        option(self.text("essential")?, "essential", &["Always", "OnApply"])
    }

    /// `txtConflictMatchingMode`, by default `None`.
    pub(crate) fn txt_conflict(&self) -> Result<TxtConflict> {
        let mode = self.text("txtConflictMatchingMode")?;
        match option(mode, "txtConflictMatchingMode", &["None", "All", "Prefix"])? {
            "All" => Ok(TxtConflict::All),
            "Prefix" => match self.text("txtConflictMatchingPrefix")? {
                Some(prefix) if !prefix.is_empty() => Ok(TxtConflict::Prefix(prefix.to_string())),
                _ => Err(Error::template("txtConflictMatchingMode Prefix needs a txtConflictMatchingPrefix")),
            },
            _ => Ok(TxtConflict::None),
        }
    }

    /// `crit`: a record that depends on a field this program does not know must not be applied.
    pub(crate) fn check_critical(&self) -> Result<()> {
        check_critical(&self.0, FIELDS, "the record")
    }

    /// Checks type, fields and options without rendering the record.
    pub(crate) fn check(&self) -> Result<()> {
        let kind = self.kind()?;
        self.check_critical()?;
        self.essential()?;
        self.text("groupId")?;
        let (texts, numbers): (&[&str], &[&str]) = match kind.as_str() {
            "A" | "AAAA" | "CNAME" | "NS" => (&["host", "pointsTo"], &["ttl"]),
            "MX" => (&["host", "pointsTo"], &["ttl", "priority"]),
            "SRV" => (&["name", "target", "protocol", "service"], &["ttl", "priority", "weight", "port"]),
            "SPFM" => (&["host", "spfRules"], &[]),
            "APEXCNAME" => (&["pointsTo"], &["ttl"]),
            "REDIR301" | "REDIR302" => (&["target"], &[]),
            _ => (&["host", "data"], &["ttl"]),
        };
        for field in texts {
            self.required(field)?;
        }
        for field in numbers {
            match self.number(field)? {
                Value::Number(number) if number.as_u64().is_some() => {}
                Value::String(_) => {}
                other => return Err(Error::template(format!("{field} must be a number, not {other}"))),
            }
        }
        if kind == "TXT" {
            self.txt_conflict()?;
        }
        Ok(())
    }
}

/// Which TXT records of a host a new one replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TxtConflict {
    None,
    All,
    Prefix(String),
}

const FIELDS: &[&str] = &[
    "type",
    "groupId",
    "essential",
    "crit",
    "host",
    "name",
    "pointsTo",
    "ttl",
    "data",
    "txtConflictMatchingMode",
    "txtConflictMatchingPrefix",
    "priority",
    "weight",
    "port",
    "protocol",
    "service",
    "target",
    "spfRules",
];

/// Draft sections 6.1.1 and 6.2.1: a listed name that is present and not known forbids to apply the template.
pub(crate) fn check_critical(object: &Map<String, Value>, known: &[&str], what: &str) -> Result<()> {
    let listed = match object.get("crit") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(names)) if !names.is_empty() => names,
        _ => return Err(Error::template(format!("crit of {what} must be an array that is not empty"))),
    };
    for name in listed {
        let name = name.as_str().ok_or_else(|| Error::template("crit must hold names"))?;
        if object.contains_key(name) && !known.contains(&name) {
            return Err(Error::template(format!(
                "{what} depends on {name:?}, which this program does not know"
            )));
        }
    }
    Ok(())
}

fn option(written: Option<&str>, field: &str, values: &[&'static str]) -> Result<&'static str> {
    let Some(written) = written else { return Ok(values[0]) };
    let found = values.iter().find(|value| value.eq_ignore_ascii_case(written)).copied();
    found.ok_or_else(|| Error::template(format!("{field} {written:?} is none of {}", values.join(", "))))
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}
