//! What a service needs, as template records. In: its description, what the DNS provider can hold, and the gateway's
//! present addresses. Out: records for the template engine, and a title.

use connect::services::{Caa, Capabilities, Dkim, DkimKey, Dmarc, Mail, MtaSts, Proof, WebGateway};
use connect::services::{acme_delegation, gateways};
use connect::{Request, Template, TemplateRecord};
use model::configure::service::START_TTL;
use model::configure::{ServiceKind, ServiceSpec};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Most records of one service: each is asked of every server.
const MAX_RECORDS: usize = 40;

/// A service ready to be planned.
#[derive(Debug)]
pub(super) struct Needed {
    /// Its title.
    pub title: String,
    /// What it is for.
    pub about: String,
    /// The template it comes from, when it does.
    pub template: Option<Template>,
    /// Its records.
    pub records: Vec<TemplateRecord>,
    /// Where and with which values they are applied.
    pub request: Request,
}

/// What is known before the records can be made.
#[derive(Debug, Clone, Default)]
pub(super) struct Surroundings {
    /// Whether the provider has ALIAS or the like.
    pub alias: bool,
    /// Addresses of the gateway now; for providers without ALIAS.
    pub addresses: Vec<IpAddr>,
}

/// Makes the records of a service for `domain`.
///
/// # Errors
/// A sentence that names the value and the rule it breaks.
pub(super) fn needed(spec: &ServiceSpec, domain: &str, around: &Surroundings) -> Result<Needed, String> {
    let mut template = None;
    let (mut params, mut groups) = (BTreeMap::new(), Vec::new());
    let mut title = spec.service.label().to_string();
    let mut about = spec.service.about().to_string();
    let alias = match spec.value("alias") {
        "yes" => true,
        "no" => false,
        _ => around.alias,
    };
    let provider = Capabilities { alias, https: true };
    let records = match spec.service {
        ServiceKind::Web => web(spec, around)?.records(provider),
        ServiceKind::Mail => mail(spec)?.records(),
        ServiceKind::Proof => proof(spec).records(START_TTL),
        ServiceKind::Acme => {
            let names = some_or(spec.words("names"), &["@"]);
            acme_delegation(&names, spec.value("target"), START_TTL)
        }
        ServiceKind::Caa => caa(spec).records(START_TTL),
        ServiceKind::Gateway => {
            let text = spec.value("yaml");
            let all = gateways(text).map_err(|e| sentence(&e))?;
            let mut records = Vec::new();
            for gateway in &all {
                let mut gateway = gateway.clone();
                if gateway.addresses.is_empty() {
                    gateway.addresses.clone_from(&around.addresses);
                }
                records.extend(gateway.records(domain, provider, START_TTL).map_err(|e| sentence(&e))?);
            }
            let names: Vec<_> = all.iter().map(|g| g.gateway.as_str()).collect();
            about = format!("Kubernetes gateway {}", names.join(", "));
            if records.is_empty() {
                return Err(format!("The gateways serve no host name in {domain}."));
            }
            Ok(records)
        }
        ServiceKind::Template => {
            let value = serde_json::from_str(spec.value("template"))
                .map_err(|e| format!("The template is not JSON: {e}."))?;
            let read = Template::from_json(&value).map_err(|e| sentence(&e))?;
            params = pairs(spec.value("values"))?;
            groups = spec.words("groups");
            if let Some(unknown) = groups.iter().find(|g| !read.groups().contains(g.as_str())) {
                return Err(format!("The template has no group {unknown}."));
            }
            let missing: Vec<_> = read
                .variables(&groups)
                .into_iter()
                .filter(|v| !params.keys().any(|p: &String| p.eq_ignore_ascii_case(v)))
                .collect();
            if !missing.is_empty() {
                return Err(format!("The template needs values for {}.", missing.join(", ")));
            }
            if read.host_required && spec.host.is_empty() {
                return Err("The template works below a host only: give one.".into());
            }
            title.clone_from(&read.service_name);
            about = format!("template {}/{} by {}", read.provider_id, read.service_id, read.provider_name);
            let records = read.records.clone();
            template = Some(read);
            Ok(records)
        }
    };
    let records = records.map_err(|e| sentence(&e))?;
    if records.len() > MAX_RECORDS {
        return Err(format!(
            "The service has {} records; at most {MAX_RECORDS} can be checked.",
            records.len()
        ));
    }
    let request =
        Request { domain: domain.into(), host: spec.host.clone(), params, groups, ..Request::default() };
    Ok(Needed { title, about, template, records, request })
}

/// Host names whose addresses the records may need.
pub(super) fn targets(spec: &ServiceSpec) -> Vec<String> {
    let target = match spec.service {
        ServiceKind::Web => Some(dotless(spec.value("target"))),
        ServiceKind::Gateway => {
            gateways(spec.value("yaml")).ok().and_then(|all| all.into_iter().find_map(|g| g.target))
        }
        _ => None,
    };
    target.into_iter().filter(|t| !t.is_empty()).collect()
}

fn web(spec: &ServiceSpec, around: &Surroundings) -> Result<WebGateway, String> {
    let mut addresses = Vec::new();
    for word in spec.words("addresses") {
        addresses
            .push(word.parse::<IpAddr>().map_err(|_| format!("addresses: {word:?} is not an IP address."))?);
    }
    if addresses.is_empty() {
        addresses.clone_from(&around.addresses);
    }
    let usual: &[&str] = if spec.host.is_empty() { &["@", "www"] } else { &["@"] };
    Ok(WebGateway {
        target: Some(dotless(spec.value("target"))),
        addresses,
        names: some_or(spec.words("names"), usual),
        at_apex: spec.host.is_empty(),
        alpn: spec.words("alpn"),
        ttl: START_TTL,
    })
}

fn mail(spec: &ServiceSpec) -> Result<Mail, String> {
    let mut servers = Vec::new();
    for part in spec.value("servers").split([',', '\n']).map(str::trim).filter(|p| !p.is_empty()) {
        let wrong = || {
            format!("servers: {part:?} must be a preference and a host name, as in “10 mx1.post.example”.")
        };
        let (preference, host) = part.split_once(char::is_whitespace).ok_or_else(wrong)?;
        servers.push((preference.parse().map_err(|_| wrong())?, dotless(host.trim())));
    }
    let mut dkim = Vec::new();
    for line in spec.value("dkim").lines().map(str::trim).filter(|l| !l.is_empty()) {
        let wrong = || format!("dkim: {line:?} must be a selector, then a host name or the text of the key.");
        let (selector, key) = line.split_once(char::is_whitespace).ok_or_else(wrong)?;
        let key = key.trim();
        let key =
            if key.contains('=') { DkimKey::Text(key.to_string()) } else { DkimKey::Cname(dotless(key)) };
        dkim.push(Dkim { selector: selector.to_string(), key });
    }
    let mta_sts = match spec.words("mta_sts").as_slice() {
        [] => None,
        [id, host] => Some(MtaSts { id: id.clone(), policy_host: dotless(host) }),
        _ => return Err("mta_sts must be the id of the policy and the host that serves it.".into()),
    };
    let policy = spec.value("dmarc");
    let reports_to = Some(spec.value("reports").to_string()).filter(|r| !r.is_empty());
    Ok(Mail {
        servers,
        spf_rules: spec.value("spf").to_string(),
        dkim,
        dmarc: (!policy.is_empty()).then(|| Dmarc { policy: policy.to_string(), reports_to }),
        mta_sts,
        tls_reports_to: Some(spec.value("tls_reports").to_string()).filter(|r| !r.is_empty()),
        ttl: START_TTL,
    })
}

fn proof(spec: &ServiceSpec) -> Proof {
    let name = Some(spec.value("name")).filter(|n| !n.is_empty()).unwrap_or("@").to_string();
    match spec.value("type") {
        "CNAME" => Proof::Cname { name, target: dotless(spec.value("value")) },
        _ => Proof::Txt { name, text: spec.value("value").into(), prefix: spec.value("prefix").into() },
    }
}

fn caa(spec: &ServiceSpec) -> Caa {
    let report = spec.value("report");
    let account = spec.value("account");
    Caa {
        issuers: spec.words("issuers"),
        wildcard_issuers: spec.words("wildcards"),
        account: (!account.is_empty()).then(|| account.to_string()),
        report_to: (!report.is_empty()).then(|| report.to_string()),
    }
}

/// `NAME=VALUE`, one a line.
fn pairs(text: &str) -> Result<BTreeMap<String, String>, String> {
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
    lines
        .map(|line| {
            let (name, value) =
                line.split_once('=').ok_or_else(|| format!("{line:?} must be NAME=VALUE."))?;
            Ok((name.trim().to_string(), value.trim().to_string()))
        })
        .collect()
}

fn some_or(words: Vec<String>, usual: &[&str]) -> Vec<String> {
    if words.is_empty() { usual.iter().map(|w| (*w).to_string()).collect() } else { words }
}

fn dotless(name: &str) -> String {
    name.trim_end_matches('.').to_lowercase()
}

/// An error of the template engine as a sentence.
pub(super) fn sentence(e: &connect::Error) -> String {
    let text = e.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(kind: ServiceKind, pairs: &[(&str, &str)]) -> ServiceSpec {
        ServiceSpec::new(kind, "", pairs.iter().copied()).unwrap()
    }

    fn made(spec: &ServiceSpec, around: &Surroundings) -> Result<Vec<String>, String> {
        let needed = needed(spec, "a.example", around)?;
        let expected =
            connect::services::expected(&needed.records, &needed.request).map_err(|e| sentence(&e))?;
        Ok(expected.iter().map(|r| format!("{} {} {}", r.name, r.kind, connect::export::value(r))).collect())
    }

    #[test]
    fn the_apex_follows_what_the_provider_can_do() {
        let web = spec(ServiceKind::Web, &[("target", "edge.n.example.")]);
        let alias = Surroundings { alias: true, addresses: vec![] };
        assert_eq!(made(&web, &alias).unwrap(), ["@ APEXCNAME edge.n.example", "www CNAME edge.n.example"]);
        let none = Surroundings { alias: false, addresses: vec!["203.0.113.20".parse().unwrap()] };
        assert_eq!(made(&web, &none).unwrap(), ["@ A 203.0.113.20", "www CNAME edge.n.example"]);
        assert!(made(&web, &Surroundings::default()).unwrap_err().contains("addresses of the gateway"));
    }

    #[test]
    fn mail_is_read_from_words_and_errors_name_the_value() {
        let mail = spec(
            ServiceKind::Mail,
            &[
                ("servers", "10 mx1.post.example, 20 mx2.post.example."),
                ("spf", "include:_spf.post.example"),
                ("dkim", "post1 post1.dkim.post.example\nk v=DKIM1; p=AB"),
                ("dmarc", "quarantine"),
                ("mta_sts", "1 mta-sts.post.example"),
            ],
        );
        let records = made(&mail, &Surroundings::default()).unwrap();
        assert!(records.contains(&"@ MX 20 mx2.post.example".to_string()), "{records:?}");
        assert!(records.contains(&"k._domainkey TXT v=DKIM1; p=AB".to_string()), "{records:?}");
        assert_eq!(records.len(), 8, "{records:?}");
        let wrong = spec(ServiceKind::Mail, &[("servers", "mx1.post.example")]);
        assert!(made(&wrong, &Surroundings::default()).unwrap_err().contains("\"mx1.post.example\""));
    }

    #[test]
    fn templates_say_which_values_they_need() {
        let json = r#"{"providerId":"p.example","providerName":"P","serviceId":"s","serviceName":"Shop",
            "records":[{"type":"A","host":"@","pointsTo":"%ip%","ttl":300}]}"#;
        let template = |values| spec(ServiceKind::Template, &[("template", json), ("values", values)]);
        assert!(made(&template(""), &Surroundings::default()).unwrap_err().contains("values for ip"));
        assert_eq!(made(&template("ip=192.0.2.1"), &Surroundings::default()).unwrap(), ["@ A 192.0.2.1"]);
        let broken = spec(ServiceKind::Template, &[("template", "{")]);
        assert!(made(&broken, &Surroundings::default()).unwrap_err().contains("not JSON"));
    }
}
