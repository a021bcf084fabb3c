//! The services that can be set up, and the fields each is described by. A [`ServiceSpec`] is what is stored, sent over
//! REST and written on the command line: the kind, the host and the values of the fields.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Longest value of a field, in characters: a template or a YAML file fits.
pub const MAX_VALUE: usize = 65_536;
/// TTL with which records start, in seconds: a mistake is out of caches after five minutes.
pub const START_TTL: u32 = 300;

/// A kind of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceKind {
    /// A load balancer, a CDN or a server, for the domain and `www`.
    Web,
    /// Incoming and outgoing mail.
    Mail,
    /// Proof to another service that the domain is the user's.
    Proof,
    /// ACME DNS-01 challenges answered in another zone.
    Acme,
    /// Which certification authorities may issue.
    Caa,
    /// A Domain Connect template.
    Template,
    /// Kubernetes Gateway API objects.
    Gateway,
}

/// How a field is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// One line.
    Line,
    /// Several lines.
    Area,
    /// One of these values; the first is the default.
    Choice(&'static [(&'static str, &'static str)]),
}

/// A field of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Key in addresses, REST and on the command line.
    pub key: &'static str,
    /// Label in forms.
    pub label: &'static str,
    /// What belongs into it, with an example.
    pub hint: &'static str,
    /// An example value.
    pub example: &'static str,
    /// The service makes no sense without it.
    pub required: bool,
    /// How it is entered.
    pub kind: FieldKind,
}

const fn line(key: &'static str, label: &'static str, example: &'static str, hint: &'static str) -> Field {
    Field { key, label, hint, example, required: false, kind: FieldKind::Line }
}

const fn required(field: Field) -> Field {
    Field { required: true, ..field }
}

const fn area(field: Field) -> Field {
    Field { kind: FieldKind::Area, ..field }
}

const fn choice(field: Field, values: &'static [(&'static str, &'static str)]) -> Field {
    Field { kind: FieldKind::Choice(values), ..field }
}

const WEB: &[Field] = &[
    required(line(
        "target",
        "Host name of the gateway",
        "edge.northlake.example",
        "CNAME and ALIAS records point to it.",
    )),
    line(
        "addresses",
        "Addresses of the gateway",
        "203.0.113.20 2001:db8:20::1",
        "For providers without ALIAS. Empty: the present addresses of the host name.",
    ),
    line("names", "Names", "@ www", "Relative to the domain; @ is the domain itself. Empty: @ and www."),
    choice(
        line(
            "alias",
            "ALIAS at the domain itself",
            "auto",
            "Whether the DNS provider has ALIAS, ANAME or a flattened CNAME.",
        ),
        &[("auto", "What this provider supports"), ("yes", "Use ALIAS"), ("no", "Use A and AAAA records")],
    ),
    line(
        "alpn",
        "Protocols of an HTTPS record",
        "h2 h3",
        "Published beside the address records; empty: no HTTPS record.",
    ),
];

const MAIL: &[Field] = &[
    required(line(
        "servers",
        "Mail servers",
        "10 mx1.post.example, 20 mx2.post.example",
        "Preference and host name, separated by commas.",
    )),
    line(
        "spf",
        "SPF rules",
        "include:_spf.post.example",
        "Without v=spf1 and all; merged into an SPF record that exists.",
    ),
    area(line(
        "dkim",
        "DKIM keys",
        "post1 post1.dkim.post.example",
        "One a line: the selector, then the target of a CNAME or the text v=DKIM1; ….",
    )),
    choice(
        line("dmarc", "DMARC policy", "quarantine", "What receivers do with mail that fails SPF and DKIM."),
        &[
            ("", "No DMARC record"),
            ("none", "none: report only"),
            ("quarantine", "quarantine"),
            ("reject", "reject"),
        ],
    ),
    line("reports", "DMARC reports to", "mailto:dmarc@alder.example", "Address of aggregate reports."),
    line(
        "mta_sts",
        "MTA-STS",
        "20261120 mta-sts.post.example",
        "Id of the policy and the host that serves it; empty: none.",
    ),
    line("tls_reports", "TLS reports to", "mailto:tls@alder.example", "Reports of TLS failures (RFC 8460)."),
];

const PROOF: &[Field] = &[
    required(line(
        "value",
        "Value",
        "nl-verify=8f2c61d0",
        "The text the other service gave you, or the target of its CNAME.",
    )),
    line("name", "Name", "_northlake", "Relative to the domain; empty: the domain itself."),
    choice(
        line("type", "Record type", "TXT", "TXT unless the other service asks for a CNAME."),
        &[("TXT", "TXT"), ("CNAME", "CNAME")],
    ),
    line(
        "prefix",
        "Replaces values that begin with",
        "nl-verify=",
        "Earlier proofs of the same service are deleted; empty: they stay.",
    ),
];

const ACME: &[Field] = &[
    required(line(
        "target",
        "Zone of the challenges",
        "acme.alder.example",
        "A zone the certificate client may write.",
    )),
    line(
        "names",
        "Names of the certificate",
        "@ *.shop",
        "Relative to the domain. Empty: the domain itself.",
    ),
];

const CAA: &[Field] = &[
    required(line(
        "issuers",
        "Certification authorities",
        "letsencrypt.org",
        "As the authority names itself in CAA records.",
    )),
    line(
        "wildcards",
        "For wildcard certificates",
        "letsencrypt.org",
        "Empty: the same. A semicolon forbids wildcards.",
    ),
    line(
        "account",
        "Account",
        "https://acme.example/acct/1",
        "The only ACME account that may ask (RFC 8657).",
    ),
    line("report", "Reports to", "mailto:security@alder.example", "Where violations are reported."),
];

const TEMPLATE: &[Field] = &[
    required(area(line(
        "template",
        "Domain Connect template",
        "{\"providerId\": \"post.example\", …}",
        "The JSON text of the template, or the name of a saved one, as in post.example/web.",
    ))),
    area(line("values", "Variables", "ip=203.0.113.7", "NAME=VALUE, one a line.")),
    line("groups", "Groups", "mx spf", "Groups of the template to apply; empty: all."),
];

const GATEWAY: &[Field] = &[
    required(area(line(
        "yaml",
        "Gateway API objects",
        "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway",
        "Gateway and HTTPRoute objects with their status, in YAML.",
    ))),
    choice(
        line(
            "alias",
            "ALIAS at the domain itself",
            "auto",
            "Whether the DNS provider has ALIAS, ANAME or a flattened CNAME.",
        ),
        &[("auto", "What this provider supports"), ("yes", "Use ALIAS"), ("no", "Use A and AAAA records")],
    ),
];

impl ServiceKind {
    /// Every kind, most used first.
    pub const ALL: [ServiceKind; 7] = [
        ServiceKind::Web,
        ServiceKind::Mail,
        ServiceKind::Proof,
        ServiceKind::Acme,
        ServiceKind::Caa,
        ServiceKind::Template,
        ServiceKind::Gateway,
    ];

    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            ServiceKind::Web => "web",
            ServiceKind::Mail => "mail",
            ServiceKind::Proof => "proof",
            ServiceKind::Acme => "acme",
            ServiceKind::Caa => "caa",
            ServiceKind::Template => "template",
            ServiceKind::Gateway => "gateway",
        }
    }

    /// Reads the stable word.
    pub fn from_word(word: &str) -> Option<ServiceKind> {
        ServiceKind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Name shown to people.
    pub const fn label(self) -> &'static str {
        match self {
            ServiceKind::Web => "Web gateway",
            ServiceKind::Mail => "Mail",
            ServiceKind::Proof => "Ownership proof",
            ServiceKind::Acme => "ACME DNS-01 delegation",
            ServiceKind::Caa => "Certification authorities",
            ServiceKind::Template => "Domain Connect template",
            ServiceKind::Gateway => "Kubernetes gateway",
        }
    }

    /// What it is for, in a few words.
    pub const fn about(self) -> &'static str {
        match self {
            ServiceKind::Web => "the domain and www lead to a load balancer, a CDN or a server",
            ServiceKind::Mail => "MX, SPF, DKIM, DMARC, MTA-STS and TLS reports",
            ServiceKind::Proof => "shows another service that the domain is yours",
            ServiceKind::Acme => "certificates without access to the zone",
            ServiceKind::Caa => "which authorities may issue certificates",
            ServiceKind::Template => "any service that publishes a template",
            ServiceKind::Gateway => "host names and addresses of Gateway and HTTPRoute objects",
        }
    }

    /// The fields it is described by, in the order of a form.
    pub const fn fields(self) -> &'static [Field] {
        match self {
            ServiceKind::Web => WEB,
            ServiceKind::Mail => MAIL,
            ServiceKind::Proof => PROOF,
            ServiceKind::Acme => ACME,
            ServiceKind::Caa => CAA,
            ServiceKind::Template => TEMPLATE,
            ServiceKind::Gateway => GATEWAY,
        }
    }
}

/// A service as it was described: kind, host and the values of its fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceSpec {
    /// Which service.
    pub service: ServiceKind,
    /// Host below the domain the service is for; empty: the domain itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Values by the keys of [`ServiceKind::fields`]; empty ones are left out.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
}

impl ServiceSpec {
    /// A service of pairs, as addresses and command lines hold them. Empty values are left out.
    ///
    /// # Errors
    /// A sentence that names the key and the rule: a key the service does not have, a required one that is missing, a
    /// choice that is none, a value that is too long.
    pub fn new<K: AsRef<str>, V: AsRef<str>>(
        service: ServiceKind,
        host: &str,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, String> {
        let mut values = BTreeMap::new();
        for (key, value) in pairs {
            let value = value.as_ref().trim();
            if !value.is_empty() {
                values.insert(key.as_ref().to_string(), value.to_string());
            }
        }
        let spec = ServiceSpec { service, host: host.trim().trim_end_matches('.').to_lowercase(), values };
        spec.check()?;
        Ok(spec)
    }

    /// Checks keys, required values, choices and lengths.
    ///
    /// # Errors
    /// As [`ServiceSpec::new`].
    pub fn check(&self) -> Result<(), String> {
        let (kind, fields) = (self.service.as_str(), self.service.fields());
        for (key, value) in &self.values {
            let Some(field) = fields.iter().find(|f| f.key == key) else {
                let keys: Vec<_> = fields.iter().map(|f| f.key).collect();
                return Err(format!("The service {kind} has no value {key}; it has {}.", keys.join(", ")));
            };
            if value.chars().count() > MAX_VALUE {
                return Err(format!("{key} has more than {MAX_VALUE} characters."));
            }
            if let FieldKind::Choice(choices) = field.kind
                && !choices.iter().any(|(word, _)| word == value)
            {
                let words: Vec<_> = choices.iter().map(|(w, _)| *w).filter(|w| !w.is_empty()).collect();
                return Err(format!("{key} is “{value}”; it must be one of {}.", words.join(", ")));
            }
        }
        let missing: Vec<_> =
            fields.iter().filter(|f| f.required && self.value(f.key).is_empty()).map(|f| f.key).collect();
        if !missing.is_empty() {
            return Err(format!("The service {kind} needs {}.", missing.join(" and ")));
        }
        Ok(())
    }

    /// The value of a field; empty when it has none.
    pub fn value(&self, key: &str) -> &str {
        self.values.get(key).map_or("", String::as_str)
    }

    /// The words of a value, separated by white space or commas.
    pub fn words(&self, key: &str) -> Vec<String> {
        let words = self.value(key).split(|c: char| c.is_whitespace() || c == ',');
        words.filter(|w| !w.is_empty()).map(str::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_values_are_named_with_the_rule() {
        let spec = |pairs: &[(&str, &str)]| ServiceSpec::new(ServiceKind::Web, "", pairs.iter().copied());
        assert!(spec(&[]).unwrap_err().contains("needs target"));
        let unknown = spec(&[("target", "a.example"), ("colour", "red")]).unwrap_err();
        assert!(unknown.contains("colour") && unknown.contains("alpn"), "{unknown}");
        let wrong = spec(&[("target", "a.example"), ("alias", "perhaps")]).unwrap_err();
        assert!(wrong.contains("“perhaps”") && wrong.contains("auto, yes, no"), "{wrong}");
        let good = spec(&[("target", " a.example "), ("alpn", ""), ("names", "@, www shop")]).unwrap();
        assert_eq!((good.value("target"), good.values.len()), ("a.example", 2));
        assert_eq!(good.words("names"), ["@", "www", "shop"]);
    }

    #[test]
    fn every_kind_reads_back_and_its_keys_are_unique() {
        for kind in ServiceKind::ALL {
            assert_eq!(ServiceKind::from_word(kind.as_str()), Some(kind));
            let mut keys: Vec<_> = kind.fields().iter().map(|f| f.key).collect();
            assert!(kind.fields().iter().any(|f| f.required), "{keys:?}");
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), kind.fields().len());
        }
    }
}
