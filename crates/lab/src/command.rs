//! What can be changed while the lab runs. In: JSON, or a line of text as `ns q7.io ns1.a.example ns2.a.example`.
//! Out: a [`Command`]; the same vocabulary for tests, the control endpoint and the command line.

use serde::{Deserialize, Serialize};

use crate::{
    fault::Fault,
    resolver::{self, Act},
    scenario::Signing,
    target::Target,
};

/// A change of the lab's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// The owner pays: the expiration moves on, at the registry and at the registrar.
    Renew {
        /// The domain.
        domain: String,
        /// By how many years.
        years: i16,
    },
    /// The registrar moves the domain to other nameservers: registry, parent zone and hosting follow.
    SetNameservers {
        /// The domain.
        domain: String,
        /// Their names; none takes the domain out of the parent zone.
        nameservers: Vec<String>,
    },
    /// The registry replaces the EPP status codes; holds take the name out of the parent zone.
    SetStatus {
        /// The domain.
        domain: String,
        /// EPP codes in camelCase; none is `ok`.
        statuses: Vec<String>,
    },
    /// A transfer that has ended.
    SetRegistrar {
        /// The domain.
        domain: String,
        /// Key of the registrar in the scenario.
        registrar: String,
    },
    /// The registry's expiration date is set.
    SetExpires {
        /// The domain.
        domain: String,
        /// As in scenario files.
        expires: String,
    },
    /// The registrar's own expiration date is set.
    SetRegistrarExpires {
        /// The domain.
        domain: String,
        /// As in scenario files.
        expires: String,
    },
    /// A record appears in the zone, whose serial moves on.
    AddRecord {
        /// Full name of the owner.
        name: String,
        /// Type, for example `TXT`.
        rtype: String,
        /// Seconds.
        ttl: u32,
        /// Data in zone-file form.
        data: String,
    },
    /// Records disappear from the zone, whose serial moves on.
    RemoveRecord {
        /// Full name of the owner.
        name: String,
        /// Type.
        rtype: String,
        /// Only the record with this data.
        #[serde(default)]
        data: Option<String>,
    },
    /// A fault begins, or all faults of the target end.
    SetFault {
        /// What it is attached to.
        target: Target,
        /// The fault; `None` ends them.
        fault: Option<Fault>,
    },
    /// All faults end.
    ClearFaults,
    /// The zone is signed with new keys and the registry gets the DS.
    SignZone {
        /// The domain.
        domain: String,
        /// Well, or wrongly in some way.
        how: Signing,
    },
    /// The signatures and the DS go.
    UnsignZone {
        /// The domain.
        domain: String,
    },
    /// Someone registers an available name for a year.
    Register {
        /// The domain.
        domain: String,
        /// Key of the registrar.
        registrar: String,
        /// Its nameservers.
        nameservers: Vec<String>,
    },
    /// The registration ends and the name is available.
    Delete {
        /// The domain.
        domain: String,
    },
    /// Something happens to one recursive resolver, or to all.
    Resolver {
        /// Its id, or `all`.
        resolver: String,
        /// What happens.
        act: Act,
    },
    /// The caches of all resolvers grow older at once.
    Advance {
        /// Seconds.
        seconds: i64,
    },
    /// The query log starts again.
    ResetLog,
}

/// The text forms, for help.
pub const HELP: &[(&str, &str)] = &[
    ("renew DOMAIN YEARS", "the owner pays; the expiration moves on"),
    ("ns DOMAIN HOST...", "move to other nameservers (registry, parent and hosting follow)"),
    ("status DOMAIN [CODE...]", "replace the EPP status codes; none means ok"),
    ("registrar DOMAIN ID", "the domain is transferred"),
    ("expires DOMAIN WHEN", "the registry's date: 2027-01-31, +23d, -2d"),
    ("registrar-expires DOMAIN WHEN", "the registrar's own date"),
    ("txt NAME TEXT...", "add a TXT record, TTL 300"),
    ("untxt NAME", "remove the TXT records of a name"),
    ("add NAME TTL TYPE DATA", "add a record"),
    ("remove NAME TYPE [DATA]", "remove records"),
    (
        "fault TARGET FAULT [ARGUMENT]",
        "break something; TARGET is HOST, HOST/ZONE, DOMAIN, rdap:ID, whois:ID, web:HOST",
    ),
    ("fault TARGET none", "mend it"),
    ("mend", "mend everything"),
    ("sign DOMAIN [nsec|nsec3|ed25519|bogus|expired|expiring|ds-mismatch|no-ds]", "sign the zone"),
    ("unsign DOMAIN", "unsign it and withdraw the DS"),
    ("register DOMAIN REGISTRAR HOST...", "register an available name for a year"),
    ("delete DOMAIN", "the registration ends"),
    ("resolver ID|all filter nxdomain|zero|blocked|filtered NAME...", "a resolver withholds names"),
    ("resolver ID|all filter none [NAME...]", "it withholds them no longer"),
    ("resolver ID|all failing servfail|timeout|dead|http-500|none", "it fails, or works again"),
    ("resolver ID|all geo NAME TTL TYPE DATA", "it has another, legitimate answer"),
    ("resolver ID|all truth [NAME]", "it answers as everybody again"),
    ("resolver ID|all min-ttl SECONDS|none", "it keeps answers at least so long"),
    ("resolver ID|all max-ttl SECONDS|none", "it keeps answers at most so long"),
    ("resolver ID|all max-negative-ttl SECONDS|none", "it keeps negative answers at most so long"),
    ("resolver ID|all delay MILLISECONDS", "it answers late"),
    ("resolver ID|all prime NAME TYPE", "it remembers what is true now"),
    (
        "resolver ID|all prime-negative NAME TYPE [nxdomain|nodata] [SECONDS]",
        "it remembers that there is nothing",
    ),
    ("resolver ID|all cache NAME TTL TYPE DATA", "it remembers this, with so much of its TTL left"),
    ("resolver ID|all flush [NAME]", "it forgets a name and all below it, or everything"),
    ("advance SPAN", "the resolvers' caches grow older by 300s, 5m, 1h30m, 2d; nothing else does"),
    ("reset-log", "forget the counted queries"),
];

fn signing(word: &str) -> Result<Signing, String> {
    serde_json::from_value(serde_json::Value::String(word.to_owned()))
        .map_err(|_| format!("`{word}` is no way to sign; see `sign` in the help"))
}

impl std::str::FromStr for Command {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let line = line.trim();
        let mut words = line.split_whitespace();
        let verb = words.next().unwrap_or_default();
        let rest: Vec<String> = words.map(str::to_owned).collect();
        let tail = |skip: usize| {
            let mut rest = line;
            for _ in 0..skip {
                rest = rest.trim_start().split_once(char::is_whitespace).map_or("", |(_, r)| r);
            }
            rest.trim().to_owned()
        };
        let usage = || {
            let form = HELP.iter().find(|(form, _)| form.split(' ').next() == Some(verb));
            form.map_or_else(
                || format!("no command is called `{verb}`; GET / lists them"),
                |(form, _)| format!("write: {form}"),
            )
        };
        let command = match (verb, rest.as_slice()) {
            ("renew", [domain, years]) => {
                let years = years.parse().map_err(|_| format!("`{years}` is not a number of years"))?;
                Self::Renew { domain: domain.clone(), years }
            }
            ("ns", [domain, hosts @ ..]) => {
                Self::SetNameservers { domain: domain.clone(), nameservers: hosts.to_vec() }
            }
            ("status", [domain, codes @ ..]) => {
                let statuses = codes.iter().filter(|c| *c != "ok" && *c != "none").cloned().collect();
                Self::SetStatus { domain: domain.clone(), statuses }
            }
            ("registrar", [domain, id]) => {
                Self::SetRegistrar { domain: domain.clone(), registrar: id.clone() }
            }
            ("expires", [domain, when]) => Self::SetExpires { domain: domain.clone(), expires: when.clone() },
            ("registrar-expires", [domain, when]) => {
                Self::SetRegistrarExpires { domain: domain.clone(), expires: when.clone() }
            }
            ("txt", [name, _, ..]) => {
                let text = tail(2);
                let data = if text.starts_with('"') { text } else { quoted(&text) };
                Self::AddRecord { name: name.clone(), rtype: "TXT".into(), ttl: 300, data }
            }
            ("untxt", [name]) => Self::RemoveRecord { name: name.clone(), rtype: "TXT".into(), data: None },
            ("add", [name, ttl, rtype, _, ..]) => {
                let ttl = ttl.parse().map_err(|_| format!("`{ttl}` is not a TTL"))?;
                Self::AddRecord { name: name.clone(), rtype: rtype.clone(), ttl, data: tail(4) }
            }
            ("remove", [name, rtype, ..]) => {
                let data = Some(tail(3)).filter(|d| !d.is_empty());
                Self::RemoveRecord { name: name.clone(), rtype: rtype.clone(), data }
            }
            ("fault", [target, none]) if none == "none" => {
                Self::SetFault { target: target.parse()?, fault: None }
            }
            ("fault", [target, _, ..]) => {
                Self::SetFault { target: target.parse()?, fault: Some(tail(2).parse()?) }
            }
            ("mend", []) => Self::ClearFaults,
            ("sign", [domain]) => Self::SignZone { domain: domain.clone(), how: Signing::Nsec },
            ("sign", [domain, how]) => Self::SignZone { domain: domain.clone(), how: signing(how)? },
            ("unsign", [domain]) => Self::UnsignZone { domain: domain.clone() },
            ("register", [domain, registrar, hosts @ ..]) => Self::Register {
                domain: domain.clone(),
                registrar: registrar.clone(),
                nameservers: hosts.to_vec(),
            },
            ("delete", [domain]) => Self::Delete { domain: domain.clone() },
            ("resolver", [id, act @ ..]) => {
                Self::Resolver { resolver: id.clone(), act: resolver::read(act)? }
            }
            ("advance", [span]) => Self::Advance { seconds: resolver::seconds(span)? },
            ("reset-log", []) => Self::ResetLog,
            _ => return Err(usage()),
        };
        Ok(command)
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_commands() {
        let command: Command = "ns q7.io ns1.a.example ns2.a.example".parse().unwrap();
        let wanted = Command::SetNameservers {
            domain: "q7.io".into(),
            nameservers: vec!["ns1.a.example".into(), "ns2.a.example".into()],
        };
        assert_eq!(command, wanted);
        let command: Command = "txt _x.alder.example \"hello world\"".parse().unwrap();
        assert!(matches!(command, Command::AddRecord { data, .. } if data == "\"hello world\""));
        let command: Command = "fault ns1.a.example slow 400".parse().unwrap();
        assert!(matches!(command, Command::SetFault { fault: Some(Fault::Slow(400)), .. }));
    }

    #[test]
    fn bad_lines_teach() {
        assert!("renew q7.io".parse::<Command>().unwrap_err().contains("renew DOMAIN YEARS"));
        assert!("frobnicate".parse::<Command>().unwrap_err().contains("no command"));
        assert!("".parse::<Command>().is_err());
        assert!("fault x nonsense".parse::<Command>().unwrap_err().contains("known:"));
    }

    #[test]
    fn json_is_strict() {
        assert!(
            serde_json::from_str::<Command>(r#"{"command":"renew","domain":"a.example","years":1}"#).is_ok()
        );
        assert!(
            serde_json::from_str::<Command>(r#"{"command":"renew","domain":"a.example","years":1,"x":2}"#)
                .is_err()
        );
    }
}
