//! Domain Connect: whether the DNS provider of a domain can apply a template in one click, and the link for it. In: the
//! template and the domain. Out: a link, or why there is none. Every request passes the guard of `net`; nothing that the
//! provider says is believed beyond the link: whether the records are there is read from the authoritative servers.

use super::needed::{Needed, sentence};
use connect::discovery::{Settings, may_redirect, settings_urls};
use connect::sign::{SigningKey, apply_url};
use model::configure::ApplyLink;
use model::dns::Record;
use model::names::Fqdn;
use net::Dialer;
use std::collections::BTreeMap;
use url::Url;

/// Largest document of a provider that is read, in octets.
const MAX_DOCUMENT: usize = 64 << 10;
const JSON: &str = "application/json";

/// The link, or a sentence that says why there is none.
pub(super) async fn link(
    engine: &dns::Engine,
    dialer: &Dialer,
    key: Option<&SigningKey>,
    needed: &Needed,
    back: Option<&Url>,
) -> Result<ApplyLink, String> {
    let Some(template) = &needed.template else { return Err(String::new()) };
    let domain = &needed.request.domain;
    let settings = settings(engine, dialer, domain).await?;
    let who = settings.provider_display_name.clone().unwrap_or_else(|| settings.provider_name.clone());
    let known = get(dialer, &settings.template_url(template)).await?;
    match known.status {
        200 => {}
        404 => return Err(format!("{who} supports Domain Connect and does not know this template.")),
        status => return Err(format!("{who} answered {status} when asked for the template.")),
    }
    let mut parameters: BTreeMap<String, String> = needed.request.params.clone();
    parameters.insert("domain".into(), domain.clone());
    if !needed.request.host.is_empty() {
        parameters.insert("host".into(), needed.request.host.clone());
    }
    if !needed.request.groups.is_empty() {
        parameters.insert("groupId".into(), needed.request.groups.join(","));
    }
    // Without a signing policy a template takes no signature; with one it needs it (draft section 6.4).
    let key = key.filter(|_| template.sync_pub_key_domain.is_some());
    let with_back = back.filter(|b| may_redirect(template, b.as_str(), key.is_some())).map(|back| {
        let mut parameters = parameters.clone();
        parameters.insert("redirect_uri".into(), back.to_string());
        parameters
    });
    // Without a way back where that makes the link too long.
    let url = match with_back.map(|all| apply_url(&settings, template, &all, key)) {
        Some(Ok(url)) => url,
        _ => apply_url(&settings, template, &parameters, key).map_err(|e| sentence(&e))?,
    };
    Ok(ApplyLink { provider: who, url, signed: key.is_some() })
}

/// The settings of the provider, from the first record at `_domainconnect` that leads to some.
async fn settings(engine: &dns::Engine, dialer: &Dialer, domain: &str) -> Result<Settings, String> {
    let none = || "The DNS provider does not announce Domain Connect for this domain.".to_string();
    let name = Fqdn::trusted(&format!("_domainconnect.{domain}"));
    let found = engine.resolve(&name, "TXT").await.map_err(|e| format!("{e}."))?;
    let texts: Vec<String> = found.records.iter().filter_map(|r| text(r, domain)).collect();
    let mut failure = None;
    for url in settings_urls(texts.iter().map(String::as_str), domain) {
        let read = async {
            let answer = get(dialer, &url).await?;
            if answer.status != 200 {
                return Err(format!("The provider’s settings answered {}.", answer.status));
            }
            let document = serde_json::from_slice(&answer.body)
                .map_err(|e| format!("The provider’s settings are not JSON: {e}."))?;
            Settings::from_json(&document).map_err(|e| sentence(&e))
        };
        match read.await {
            Ok(settings) => return Ok(settings),
            Err(reason) => failure = Some(reason),
        }
    }
    Err(failure.unwrap_or_else(none))
}

fn text(record: &Record, domain: &str) -> Option<String> {
    let line = format!("{}. {} IN TXT {}", record.name, record.ttl, record.data);
    connect::zonefile::parse(&line, domain).ok()?.pop().map(|r| r.data)
}

/// Asks once: a settings document or a template that redirects is not followed.
async fn get(dialer: &Dialer, url: &str) -> Result<net::HttpAnswer, String> {
    let parsed = Url::parse(url).map_err(|e| format!("{url} is not a URL: {e}."))?;
    dialer.http_get_once(&parsed, JSON, MAX_DOCUMENT).await.map_err(|e| format!("{e}."))
}
