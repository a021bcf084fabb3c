//! Variables of a template (draft section 9): `%name%`, the built-in `%domain%`, `%host%`, `%fqdn%`, and numbers.

use crate::error::{Error, ErrorKind, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Names that need no parameter.
pub(crate) const BUILT_IN: [&str; 3] = ["domain", "host", "fqdn"];

/// Where a template is applied, and the values of its variables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// Zone apex in normal form.
    pub domain: &'a str,
    /// Applied host in normal form; empty at the apex.
    pub host: &'a str,
    /// Values of the variables.
    pub params: &'a BTreeMap<String, String>,
}

/// A part of a text with variables.
enum Part<'a> {
    Text(&'a str),
    Variable(&'a str),
}

/// Splits at `%name%`. A percent sign that does not begin a variable is text: `%{i}` of an SPF macro, `100%`.
fn parts(text: &str) -> Vec<Part<'_>> {
    let (mut found, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(start) = text[at..].find('%').map(|i| at + i) {
        let name = &text[start + 1..];
        let length =
            name.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')).count();
        if length > 0 && name.as_bytes().get(length) == Some(&b'%') {
            found.push(Part::Text(&text[from..start]));
            found.push(Part::Variable(&name[..length]));
            from = start + length + 2;
            at = from;
        } else {
            at = start + 1;
        }
    }
    found.push(Part::Text(&text[from..]));
    found
}

/// The variables a text names, built-in ones included.
pub(crate) fn names(text: &str) -> BTreeSet<&str> {
    parts(text)
        .into_iter()
        .filter_map(|p| if let Part::Variable(name) = p { Some(name) } else { None })
        .collect()
}

impl Scope<'_> {
    /// `[host.]domain`, without a final dot.
    pub fn fqdn(&self) -> String {
        if self.host.is_empty() { self.domain.to_string() } else { format!("{}.{}", self.host, self.domain) }
    }

    /// Replaces the variables from left to right. Values are not searched for variables again.
    pub fn substitute(&self, text: &str) -> Result<String> {
        let mut result = String::with_capacity(text.len());
        for part in parts(text) {
            match part {
                Part::Text(text) => result.push_str(text),
                Part::Variable(name) => result.push_str(&self.value(name)?),
            }
        }
        Ok(result)
    }

    /// Built-in variables win over parameters of their name. Names are compared exactly, then without case, because
    /// callers pass them through query strings that some clients lower-case.
    fn value(&self, name: &str) -> Result<String> {
        match name.to_ascii_lowercase().as_str() {
            "domain" => return Ok(self.domain.to_string()),
            "host" => return Ok(self.host.to_string()),
            "fqdn" => return Ok(self.fqdn()),
            _ => {}
        }
        self.params
            .get(name)
            .or_else(|| {
                self.params.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
            })
            .cloned()
            .ok_or_else(|| {
                Error::new(ErrorKind::MissingParameter, format!("the variable %{name}% was not supplied"))
            })
    }

    /// A number from 0 to `max`: a JSON integer, digits, or one variable alone. `1%v%` is refused, because the
    /// specification allows no mix of digits and variables.
    pub fn integer(&self, field: &str, value: &Value, max: u32) -> Result<u32> {
        let number = self.unbounded(field, value)?;
        u32::try_from(number)
            .ok()
            .filter(|number| *number <= max)
            .ok_or_else(|| Error::data(format!("{field} {number} is greater than {max}")))
    }

    /// A TTL in seconds. Too large a value is lowered to the largest of RFC 2181 section 8, not refused
    /// (draft section 6.2).
    pub fn ttl(&self, value: &Value) -> Result<u32> {
        let seconds = self.unbounded("ttl", value)?;
        Ok(u32::try_from(seconds.min(u64::from(crate::record::MAX_TTL))).unwrap_or(crate::record::MAX_TTL))
    }

    fn unbounded(&self, field: &str, value: &Value) -> Result<u64> {
        let wrong = |shown: &str| Error::data(format!("{field} {shown} is not a whole number from 0 up"));
        match value {
            Value::Number(number) => number.as_u64().ok_or_else(|| wrong(&number.to_string())),
            Value::String(text) => {
                let digits = match parts(text).as_slice() {
                    [Part::Text(""), Part::Variable(name), Part::Text("")] => self.value(name)?,
                    _ => text.clone(),
                };
                if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                    return Err(wrong(&format!("{digits:?}")));
                }
                // More digits than fit are a very large number, which each field's limit deals with.
                Ok(digits.parse().unwrap_or(u64::MAX))
            }
            other => Err(Error::template(format!("{field} must be a number, not {other}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<T>(params: &[(&str, &str)], test: impl Fn(Scope<'_>) -> T) -> T {
        let params = params.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect();
        test(Scope { domain: "foo.com", host: "bar", params: &params })
    }

    #[test]
    fn values_are_not_searched_again_and_stray_percents_stay() {
        with(&[("a", "%b%"), ("b", "x"), ("domain", "evil.example")], |s| {
            assert_eq!(s.substitute("%a%%b%").unwrap(), "%b%x");
            assert_eq!(s.substitute("100% of %{i}._spf.%domain%").unwrap(), "100% of %{i}._spf.foo.com");
            assert_eq!(s.substitute("%%b%%").unwrap(), "%x%");
            assert_eq!(s.substitute("%A%").unwrap(), "%b%");
            assert_eq!(s.substitute("%missing%").unwrap_err().kind, ErrorKind::MissingParameter);
        });
    }

    #[test]
    fn numbers_are_digits_or_one_variable() {
        with(&[("n", "7"), ("e", ""), ("s", "-1"), ("big", "99999999999999999999999")], |s| {
            let read = |value: Value| s.integer("port", &value, 65_535);
            assert_eq!(read("%n%".into()), Ok(7));
            assert_eq!(read("0042".into()), Ok(42));
            for bad in ["%n%0", "1%n%", "%n%%n%", "%e%", "%s%", "%big%", "", " 1", "1.0", "65536"] {
                assert_eq!(read(bad.into()).unwrap_err().kind, ErrorKind::InvalidData, "{bad}");
            }
            assert_eq!(read((-1).into()).unwrap_err().kind, ErrorKind::InvalidData);
            assert_eq!(read(Value::Bool(true)).unwrap_err().kind, ErrorKind::InvalidTemplate);
            assert_eq!(s.ttl(&"%big%".into()), Ok(crate::record::MAX_TTL));
        });
    }
}
