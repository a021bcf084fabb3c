//! What a DNS provider says of itself (draft section 7), as texts already fetched: the `_domainconnect` record, the
//! settings document, and where a user may be sent back to. Fetching is the caller's, who guards against private
//! addresses and endless redirects.

use crate::error::{Error, Result};
use crate::sign::encode;
use crate::template::Template;
use serde_json::{Map, Value};
use url::Url;

/// Most `_domainconnect` records that are tried for one domain.
pub const MAX_ATTEMPTS: usize = 3;

/// Settings URLs to try, from the TXT records at `_domainconnect.DOMAIN`. Records that break the rules (a scheme, a
/// query, a user name, no host) are left out; at most [`MAX_ATTEMPTS`] are returned.
pub fn settings_urls<'a>(records: impl IntoIterator<Item = &'a str>, domain: &str) -> Vec<String> {
    let urls = records.into_iter().filter_map(|record| {
        let prefix = record.trim().trim_end_matches('/');
        if prefix.contains(['?', '#', '@', '\\'])
            || prefix.contains("//")
            || prefix.chars().any(char::is_whitespace)
        {
            return None;
        }
        let url = format!("https://{prefix}/v2/{}/settings", encode(domain.trim_end_matches('.')));
        let host = prefix.split(['/', ':']).next().unwrap_or_default();
        // A host with a dot: a bare word would be looked up in the caller's own network.
        (host.contains('.') && Url::parse(&url).is_ok()).then_some(url)
    });
    urls.take(MAX_ATTEMPTS).collect()
}

/// The settings of a DNS provider for one domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Identifier of the DNS provider.
    pub provider_id: String,
    /// Name of the DNS provider.
    pub provider_name: String,
    /// Name to show, which may differ by domain.
    pub provider_display_name: Option<String>,
    /// Where users are sent to apply a template; absent: no synchronous flow for this domain.
    pub url_sync_ux: Option<String>,
    /// Where templates are asked for.
    pub url_api: String,
    /// Name servers of the zone, as the provider knows them.
    pub name_servers: Vec<String>,
}

impl Settings {
    /// Reads the settings document.
    ///
    /// # Errors
    /// `InvalidData` when a required property is missing, an address is not https or has a query, or `crit` lists a
    /// property that is not known.
    pub fn from_json(document: &Value) -> Result<Self> {
        const KNOWN: [&str; 9] = [
            "providerId",
            "providerName",
            "providerDisplayName",
            "urlSyncUX",
            "urlAsyncUX",
            "urlAPI",
            "nameServers",
            "crit",
            "urlControlPanel",
        ];
        let Value::Object(object) = document else {
            return Err(Error::data("the settings must be a JSON object"));
        };
        let critical =
            object.get("crit").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        for name in critical {
            if object.contains_key(name) && !KNOWN.contains(&name) {
                return Err(Error::data(format!(
                    "the provider depends on {name:?}, which this program does not know"
                )));
            }
        }
        let required = |field: &str| {
            text(object, field)?.ok_or_else(|| Error::data(format!("{field} is missing in the settings")))
        };
        let name_servers = match object.get("nameServers") {
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).take(32).map(String::from).collect()
            }
            _ => Vec::new(),
        };
        Ok(Self {
            provider_id: required("providerId")?,
            provider_name: required("providerName")?,
            provider_display_name: text(object, "providerDisplayName")?,
            url_sync_ux: text(object, "urlSyncUX")?.map(|url| prefix(&url, "urlSyncUX")).transpose()?,
            url_api: prefix(&required("urlAPI")?, "urlAPI")?,
            name_servers,
        })
    }

    /// Where to ask whether the provider supports a template: 200 it does, 404 it does not.
    pub fn template_url(&self, template: &Template) -> String {
        let (provider, service) = (encode(&template.provider_id), encode(&template.service_id));
        format!("{}/v2/domainTemplates/providers/{provider}/services/{service}", self.url_api)
    }
}

fn text(object: &Map<String, Value>, field: &str) -> Result<Option<String>> {
    match object.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Error::data(format!("{field} of the settings must be a string"))),
    }
}

/// An https address without query, fragment and user name, without the final slash.
fn prefix(written: &str, field: &str) -> Result<String> {
    let url = Url::parse(written).ok().filter(|url| {
        url.scheme() == "https"
            && url.has_host()
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
    });
    let url = url
        .ok_or_else(|| Error::data(format!("{field} {written:?} must be an https address without query")))?;
    Ok(url.as_str().trim_end_matches('/').to_string())
}

/// Whether a provider may send the user to `redirect_uri` after applying (draft section 8.3.5): an https address on a
/// domain that the template lists, or below one. `is_signed`: the request had a valid signature, which vouches for any.
pub fn may_redirect(template: &Template, redirect_uri: &str, is_signed: bool) -> bool {
    let Some(domains) = &template.sync_redirect_domain else { return false };
    let Ok(url) = Url::parse(redirect_uri) else { return false };
    let Some(host) = url.domain().filter(|_| url.scheme() == "https" && url.username().is_empty()) else {
        return false;
    };
    let host = host.trim_end_matches('.').to_lowercase();
    is_signed
        || domains.split(',').map(|domain| domain.trim().trim_end_matches('.').to_lowercase()).any(|domain| {
            !domain.is_empty()
                && (host == domain || host.strip_suffix(&domain).is_some_and(|h| h.ends_with('.')))
        })
}
