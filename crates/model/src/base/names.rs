//! Names: what people type becomes a normalised A-label name, or a refusal that names the input and the rule.
//! RFC 1035 section 2.3.1, RFC 5890 (IDNA), UTS 46, and the Public Suffix List.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A registrable domain name: lower-case A-labels, absolute, without the final dot. Parsed at the edge by
/// [`DomainName::read`]; everything behind it may trust the form.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DomainName(String);

/// Any host or owner name (underscores allowed): lower-case A-labels, absolute, without the final dot. The root
/// is the empty text, shown as `.`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fqdn(String);

impl DomainName {
    /// Takes a name that is already normalised (from the store, from a test); no check is made.
    pub fn trusted(name: &str) -> Self {
        DomainName(name.to_string())
    }

    /// The A-label form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last label.
    pub fn tld(&self) -> &str {
        self.0.rsplit('.').next().unwrap_or(&self.0)
    }

    /// The same name as an owner name.
    pub fn fqdn(&self) -> Fqdn {
        Fqdn(self.0.clone())
    }
}

impl Fqdn {
    /// Takes a name that is already normalised; no check is made beyond folding case and the final dot.
    pub fn trusted(name: &str) -> Self {
        Fqdn(name.trim_end_matches('.').to_ascii_lowercase())
    }

    /// The A-label form; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True when `self` is `zone` or below it.
    pub fn is_at_or_below(&self, zone: &str) -> bool {
        let zone = zone.trim_end_matches('.');
        zone.is_empty() || self.0 == zone || self.0.strip_suffix(zone).is_some_and(|rest| rest.ends_with('.'))
    }
}

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Fqdn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "." } else { &self.0 })
    }
}

impl AsRef<str> for DomainName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Why a text is not a name. Each says what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum NameError {
    /// Nothing there.
    #[error("the line is empty: type a domain name such as example.com")]
    Empty,
    /// White space inside.
    #[error("“{input}” contains a space: a domain name has none")]
    Space {
        /// What was typed, cut to 80 characters.
        input: String,
    },
    /// Longer than the DNS allows.
    #[error("“{input}” has {length} characters: a domain name has at most 253")]
    TooLong {
        /// What was typed, cut to 80 characters.
        input: String,
        /// Its length in characters.
        length: usize,
    },
    /// One label is too long.
    #[error("“{label}” is longer than 63 characters: that is the most one label of a name may have")]
    LabelTooLong {
        /// The label, cut to 80 characters.
        label: String,
    },
    /// Two dots in a row, or a leading dot.
    #[error("“{input}” has an empty label: two dots in a row, or a dot at the start")]
    EmptyLabel {
        /// What was typed, cut to 80 characters.
        input: String,
    },
    /// A character that no label may hold.
    #[error("“{input}” contains “{character}”: a name has letters, digits and hyphens between its dots")]
    Character {
        /// What was typed, cut to 80 characters.
        input: String,
        /// The first such character.
        character: char,
    },
    /// A label starts or ends with a hyphen.
    #[error("“{label}” starts or ends with a hyphen: a label may not")]
    Hyphen {
        /// The label.
        label: String,
    },
    /// `xn--` text that is no Punycode, or an IDN that UTS 46 does not allow.
    #[error("“{input}” is not a valid internationalised name (IDNA, UTS 46)")]
    Idna {
        /// What was typed, cut to 80 characters.
        input: String,
    },
    /// An address instead of a name.
    #[error("“{input}” is an IP address. Enter a domain name")]
    Address {
        /// What was typed.
        input: String,
    },
    /// One label only.
    #[error("“{input}” has no dot: type the whole name, such as {input}.com")]
    SingleLabel {
        /// What was typed.
        input: String,
    },
    /// A suffix under which others register names.
    #[error("“{input}” is a public suffix: names are registered below it, such as example.{input}")]
    PublicSuffix {
        /// What was typed.
        input: String,
    },
}

/// A name that was read from what a person typed, and what had to be understood on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Understood<N> {
    /// The name.
    pub name: N,
    /// In words, what was left off or turned; `None` when the input was the name itself.
    pub note: Option<String>,
}

#[cfg(feature = "names")]
mod read {
    use super::{DomainName, Fqdn, NameError, Understood};

    fn short(s: &str) -> String {
        s.chars().take(80).collect()
    }

    /// The host in what was typed: a URL, `user@host`, `host:port`, or the text itself.
    fn host_of(s: &str) -> &str {
        let s = s.split_once("://").map_or(s, |(_, rest)| rest);
        let s = s.strip_prefix("//").unwrap_or(s);
        let s = s.split(['/', '?', '#', '\\']).next().unwrap_or(s);
        let s = s.rsplit_once('@').map_or(s, |(_, host)| host);
        if s.starts_with('[') {
            return s;
        }
        match s.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') && port.chars().all(|c| c.is_ascii_digit()) => host,
            _ => s,
        }
    }

    /// Reads a host or owner name: labels checked, IDNA applied, underscores allowed.
    fn labels(input: &str) -> Result<String, NameError> {
        let typed = input.trim().trim_matches(['"', '\'', '<', '>', '“', '”', ',', ';']).trim();
        if typed.is_empty() {
            return Err(NameError::Empty);
        }
        let host = host_of(typed);
        if host.chars().any(char::is_whitespace) {
            return Err(NameError::Space { input: short(typed) });
        }
        let bare = host.trim_matches(['[', ']']);
        if bare.parse::<std::net::IpAddr>().is_ok() {
            return Err(NameError::Address { input: short(bare) });
        }
        let host = host.strip_suffix('.').unwrap_or(host);
        if host.is_empty() {
            return Err(NameError::Empty);
        }
        let length = host.chars().count();
        // Refused before IDNA so that a megabyte of text costs nothing.
        if length > 253 {
            return Err(NameError::TooLong { input: short(host), length });
        }
        let ascii = if host.is_ascii() && !host.to_ascii_lowercase().split('.').any(|l| l.starts_with("xn--"))
        {
            host.to_ascii_lowercase()
        } else {
            idna::domain_to_ascii_cow(host.as_bytes(), idna::AsciiDenyList::EMPTY)
                .map_err(|_| NameError::Idna { input: short(host) })?
                .into_owned()
        };
        // IDNA turns `１２７．０．０．１` into an address and a final `。` into a dot.
        let ascii = ascii.strip_suffix('.').map(str::to_string).unwrap_or(ascii);
        if ascii.parse::<std::net::Ipv4Addr>().is_ok() {
            return Err(NameError::Address { input: short(host) });
        }
        if ascii.len() > 253 {
            return Err(NameError::TooLong { input: short(host), length: ascii.len() });
        }
        for label in ascii.split('.') {
            if label.is_empty() {
                return Err(NameError::EmptyLabel { input: short(host) });
            }
            if label.len() > 63 {
                return Err(NameError::LabelTooLong { label: short(label) });
            }
            if let Some(character) =
                label.chars().find(|c| !(c.is_ascii_alphanumeric() || *c == '-' || *c == '_'))
            {
                return Err(NameError::Character { input: short(host), character });
            }
            if label.starts_with('-') || label.ends_with('-') {
                return Err(NameError::Hyphen { label: label.to_string() });
            }
            if label.starts_with("xn--") && super::to_unicode(label) == label {
                return Err(NameError::Idna { input: short(host) });
            }
        }
        Ok(ascii)
    }

    impl Fqdn {
        /// Reads what a person typed as a host or owner name.
        pub fn read(input: &str) -> Result<Understood<Fqdn>, NameError> {
            if input.trim() == "." {
                return Ok(Understood { name: Fqdn(String::new()), note: None });
            }
            let name = labels(input)?;
            let note = (input.trim() != name).then(|| format!("read as {name}"));
            Ok(Understood { name: Fqdn(name), note })
        }

        /// The registrable domain this name is at or below; `None` for a public suffix.
        pub fn registrable(&self) -> Option<DomainName> {
            registrable(&self.0).map(DomainName)
        }
    }

    impl DomainName {
        /// Reads what a person typed as the registrable domain it stands for: URLs, hosts below the domain,
        /// final dots, mixed case and U-labels are understood.
        pub fn read(input: &str) -> Result<Understood<DomainName>, NameError> {
            let host = labels(input)?;
            if !host.contains('.') {
                // A lone label that is itself a TLD is a public suffix; anything else lacks its TLD.
                return Err(if psl::suffix(host.as_bytes()).is_some_and(|s| s.is_known()) {
                    NameError::PublicSuffix { input: host }
                } else {
                    NameError::SingleLabel { input: host }
                });
            }
            let Some(name) = registrable(&host) else {
                return Err(NameError::PublicSuffix { input: host });
            };
            if let Some(label) = name.split('.').find(|l| l.contains('_')) {
                return Err(NameError::Character { input: label.to_string(), character: '_' });
            }
            let typed = input.trim();
            let shown = super::to_unicode(&name);
            let note = if typed == name || typed == shown {
                None
            } else if host != name {
                Some(format!("{shown} is the registered domain of {}", super::to_unicode(&host)))
            } else {
                Some(format!("read as {shown}"))
            };
            Ok(Understood { name: DomainName(name), note })
        }

        /// The name with its U-labels, as people read it.
        pub fn unicode(&self) -> String {
            super::to_unicode(&self.0)
        }
    }

    /// The registrable domain by the ICANN section of the list: a name below a private suffix (`github.io`)
    /// belongs, as a registration, to that suffix's owner, but people manage it as their own.
    fn registrable(host: &str) -> Option<String> {
        psl::domain_str(host).map(str::to_string)
    }
}

/// A name with its U-labels where they are valid, as people read it.
#[cfg(feature = "names")]
pub fn to_unicode(name: &str) -> String {
    let (shown, result) = idna::domain_to_unicode(name);
    let valid = result.is_ok() && !shown.split('.').any(looks_coded);
    if valid && name.contains("xn--") { shown } else { name.to_string() }
}

/// Two hyphens where the `--` of `xn--` stands, which no U-label may have (RFC 5891 section 4.2.3.1): people would take
/// it for an A-label, and for that of another name.
#[cfg(feature = "names")]
fn looks_coded(label: &str) -> bool {
    !label.is_ascii() && label.chars().skip(2).take(2).eq(['-', '-'])
}

/// The same with the A-labels in brackets where they differ: one of the two is searched for in a ticket.
#[cfg(feature = "names")]
pub fn both_forms(name: &str) -> String {
    let shown = to_unicode(name);
    if shown == name { shown } else { format!("{shown} ({name})") }
}

#[cfg(all(test, feature = "names"))]
mod tests;
