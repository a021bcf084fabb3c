//! What can be done to a resolver while the lab runs. In: words such as `fail servfail` or `prime www.a.example A`.
//! Out: an [`Act`], or the forms that would have been understood.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    command::HELP,
    scenario::{Failing, FilterMode},
};

/// A change of a resolver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Act {
    /// It withholds names (and all below them), or tells the truth again.
    Filter {
        /// What it says instead; `None` ends the filter.
        mode: Option<FilterMode>,
        /// The names; none, with no mode, means all.
        names: Vec<String>,
    },
    /// It fails, or works again.
    Failing(Option<Failing>),
    /// Clients of this resolver get another, legitimate answer: `NAME TTL TYPE DATA`.
    Geo(String),
    /// They get the same as everybody again, for one name or for all.
    Truth(Option<String>),
    /// The least TTL of positive answers.
    MinTtl(Option<u32>),
    /// The largest TTL.
    MaxTtl(Option<u32>),
    /// The largest TTL of negative answers.
    MaxNegativeTtl(Option<u32>),
    /// Milliseconds before every answer.
    Delay(u32),
    /// Someone asks, so that what is true now is remembered.
    Prime {
        /// Full name.
        name: String,
        /// Type.
        rtype: String,
    },
    /// Remembered as if it had been asked for before it existed: `NAME TYPE [nxdomain|nodata] [SECONDS]`.
    PrimeNegative(String),
    /// Remembered as if it had been so: `NAME TTL TYPE DATA`, the TTL being what is left.
    Cache(String),
    /// Forgets a name and all below it, or everything.
    Flush(Option<String>),
}

fn word<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).ok()
}

fn limit(text: &str) -> Option<Option<u32>> {
    if text == "none" { Some(None) } else { text.parse().ok().map(Some) }
}

/// Reads the words after `resolver ID`.
pub(crate) fn read(words: &[String]) -> Result<Act, String> {
    let verb = words.first().map(String::as_str).unwrap_or_default();
    let rest = words.get(1..).unwrap_or_default();
    let joined = || rest.join(" ");
    let act = match (verb, rest) {
        ("filter", [none, names @ ..]) if none == "none" => {
            Some(Act::Filter { mode: None, names: names.to_vec() })
        }
        ("filter", [mode, first, more @ ..]) => word(mode).map(|mode| Act::Filter {
            mode: Some(mode),
            names: std::iter::once(first).chain(more).cloned().collect(),
        }),
        ("failing", [none]) if none == "none" => Some(Act::Failing(None)),
        ("failing", [how]) => word(how).map(|how| Act::Failing(Some(how))),
        ("geo", [_, _, _, _, ..]) => Some(Act::Geo(joined())),
        ("truth", []) => Some(Act::Truth(None)),
        ("truth", [name]) => Some(Act::Truth(Some(name.clone()))),
        ("min-ttl", [n]) => limit(n).map(Act::MinTtl),
        ("max-ttl", [n]) => limit(n).map(Act::MaxTtl),
        ("max-negative-ttl", [n]) => limit(n).map(Act::MaxNegativeTtl),
        ("delay", [n]) => n.parse().ok().map(Act::Delay),
        ("prime", [name, rtype]) => Some(Act::Prime { name: name.clone(), rtype: rtype.clone() }),
        ("prime-negative", [_, _] | [_, _, _] | [_, _, _, _]) => Some(Act::PrimeNegative(joined())),
        ("cache", [_, _, _, _, ..]) => Some(Act::Cache(joined())),
        ("flush", []) => Some(Act::Flush(None)),
        ("flush", [name]) => Some(Act::Flush(Some(name.clone()))),
        _ => None,
    };
    act.ok_or_else(|| {
        let of_resolvers = || HELP.iter().map(|(form, _)| *form).filter(|f| f.starts_with("resolver "));
        let mut forms: Vec<&str> = of_resolvers().filter(|f| f.split(' ').nth(2) == Some(verb)).collect();
        if forms.is_empty() {
            forms = of_resolvers().collect();
        }
        format!("write: {}", forms.join("; or: "))
    })
}

/// Reads `300s`, `5m`, `1h30m`, `2d` or plain seconds.
pub(crate) fn seconds(text: &str) -> Result<i64, String> {
    let bad = || format!("`{text}` is no span of time; write 300s, 5m, 1h30m or 2d");
    let mut total: i64 = 0;
    let mut digits = String::new();
    for c in text.trim_start_matches('+').chars() {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        let unit = match c {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            _ => return Err(bad()),
        };
        let n: i64 = digits.parse().map_err(|_| bad())?;
        digits.clear();
        total = n.checked_mul(unit).and_then(|n| total.checked_add(n)).ok_or_else(bad)?;
    }
    if !digits.is_empty() {
        total = digits.parse::<i64>().ok().and_then(|n| total.checked_add(n)).ok_or_else(bad)?;
    }
    // A century: what a cache may see at most without leaving the calendar.
    if text.is_empty() || total > 3_155_760_000 { Err(bad()) } else { Ok(total) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn bad_words_teach() {
        assert!(read(&[]).unwrap_err().contains("prime NAME TYPE"));
        let said = read(&words("filter sometimes a.example")).unwrap_err();
        assert!(said.contains("filter nxdomain") && !said.contains("flush"), "{said}");
        assert!(read(&words("min-ttl long")).is_err());
        for bad in ["", "x", "5x", "s", "99999999999999999999s", "9223372036854775807d"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn words_become_acts() {
        assert_eq!(read(&words("failing http-500")).unwrap(), Act::Failing(Some(Failing::Http500)));
        assert_eq!(read(&words("max-ttl none")).unwrap(), Act::MaxTtl(None));
        assert_eq!(read(&words("flush")).unwrap(), Act::Flush(None));
        assert_eq!(seconds("1h30m").unwrap(), 5400);
        assert_eq!(seconds("300").unwrap(), 300);
    }
}
