//! A service on a domain: what it needs, what every authoritative server has, and what to change. In: a domain and the
//! description of a service. Out: `model::configure::ServiceReport`. Nothing comes from a cache and nothing is changed.

mod apply;
mod exports;
mod forms;
mod needed;
mod report;
mod stored;
mod templates;
mod zone;

use crate::{Services, Work, query_error, read_name};
use connect::sign::SigningKey;
use model::Timestamp;
use model::configure::{ServiceReport, ServiceSpec};
use model::ids::Caller;
use model::names::{DomainName, Fqdn};
use needed::Surroundings;
use net::Dialer;
use service::{ApiError, ApiResult};
use std::net::IpAddr;
use std::sync::Arc;
use url::Url;

/// Looks at services on domains. Cheap to clone.
#[derive(Clone)]
pub struct Inspector {
    engine: dns::Engine,
    /// The way to DNS providers; without it no link for one click is offered.
    dialer: Option<Dialer>,
    /// Signs links of templates that require it.
    key: Option<Arc<SigningKey>>,
    gates: features::Gates,
}

impl Inspector {
    /// One that asks DNS only.
    pub fn new(engine: dns::Engine) -> Self {
        Inspector { engine, dialer: None, key: None, gates: features::Gates::default() }
    }

    /// The same with Domain Connect: discovery through this dialer, links signed with this key.
    #[must_use]
    pub fn with_domain_connect(self, dialer: Dialer, key: Option<SigningKey>) -> Self {
        Inspector { dialer: Some(dialer), key: key.map(Arc::new), ..self }
    }

    /// The same with the features of a process.
    #[must_use]
    pub fn with_gates(self, gates: features::Gates) -> Self {
        Inspector { gates, ..self }
    }

    /// Looks at a service on a domain.
    ///
    /// # Errors
    /// `Invalid` for a description that breaks a rule or a domain without a zone, `Unavailable` when the network is out
    /// of reach.
    pub async fn inspect(
        &self,
        domain: &DomainName,
        spec: &ServiceSpec,
        now: Timestamp,
    ) -> ApiResult<ServiceReport> {
        self.inspect_and_return(domain, spec, None, now).await
    }

    /// The same, with a link that leads back to `back` after the provider has applied the template, where the template
    /// allows that. Whatever comes back with it is ignored: the page there looks at the authoritative servers again.
    ///
    /// # Errors
    /// As [`Inspector::inspect`].
    pub async fn inspect_and_return(
        &self,
        domain: &DomainName,
        spec: &ServiceSpec,
        back: Option<&Url>,
        now: Timestamp,
    ) -> ApiResult<ServiceReport> {
        spec.check().map_err(ApiError::invalid)?;
        let (engine, apex) = (&self.engine, domain.as_str());
        let zone = Fqdn::trusted(apex);
        let servers = name_servers(engine, &zone).await?;
        let row = forms::row(dns::provider(&servers, apex).as_ref());
        let mut gateways: Vec<(String, Vec<IpAddr>)> = Vec::new();
        for target in needed::targets(spec) {
            let Ok(host) = Fqdn::read(&target) else { continue };
            // A gateway whose name does not resolve is reported by the records that need its addresses.
            let addresses = engine.lookup(&host.name).await.unwrap_or_default();
            gateways.push((target, addresses));
        }
        let around = Surroundings {
            alias: row.has_alias().unwrap_or(false),
            addresses: gateways.iter().flat_map(|(_, a)| a.clone()).collect(),
        };
        let needed = needed::needed(spec, apex, &around).map_err(ApiError::invalid)?;
        let expected = connect::services::expected(&needed.records, &needed.request)
            .map_err(|e| ApiError::invalid(needed::sentence(&e)))?;
        let questions = zone::questions(&expected, apex);
        let live = engine.live_records(&zone, &questions).await.map_err(|e| query_error(&e))?;
        let parts = report::Parts {
            domain: apex,
            unicode: domain.unicode(),
            spec,
            needed: &needed,
            expected: &expected,
            zone: &live,
            row: &row,
            gateways: &gateways,
            now,
        };
        let mut report = parts.report().map_err(ApiError::invalid)?;
        if let (Some(dialer), false) = (&self.dialer, report.changes.is_empty()) {
            let link = match self.gates.enter("domain-connect-apply") {
                Some(_use) => apply::link(engine, dialer, self.key.as_deref(), &needed, back).await,
                None => Err("The feature domain-connect-apply is turned off on this server.".into()),
            };
            match link {
                Ok(link) => report.apply = Some(link),
                Err(reason) => report.no_apply = reason,
            }
        }
        Ok(report)
    }
}

/// The name servers of the zone.
async fn name_servers(engine: &dns::Engine, zone: &Fqdn) -> ApiResult<Vec<String>> {
    let found = engine.resolve(zone, "NS").await.map_err(|e| query_error(&e))?;
    if found.zone != zone.as_str() || found.records.is_empty() {
        return Err(ApiError::invalid(format!(
            "{zone} has no zone of its own: register it, and set its name servers at the registrar first."
        )));
    }
    Ok(found.records.into_iter().map(|r| r.data.trim_end_matches('.').to_string()).collect())
}

/// The page on which this service was described.
fn wizard_address(domain: &str, spec: &ServiceSpec) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("service", spec.service.as_str()).append_pair("domain", domain);
    if !spec.host.is_empty() {
        query.append_pair("host", &spec.host);
    }
    query.extend_pairs(&spec.values);
    format!("/tools/configure?{}", query.finish())
}

impl Services {
    /// A page of this installation as others reach it, where its address is known.
    fn page(&self, address: &str) -> Option<Url> {
        self.deliverer.base()?.join(address).ok()
    }

    pub(super) async fn tool_configure(
        &self,
        caller: &Caller,
        domain: &str,
        spec: &ServiceSpec,
    ) -> ApiResult<ServiceReport> {
        let domain = read_name(domain)?;
        let back = self.page(&wizard_address(domain.as_str(), spec));
        let spec = self.with_template(caller, spec).await?;
        let _permit = self.tools.limits.enter(caller, Work::Configure).await?;
        self.tools.inspector.inspect_and_return(&domain, &spec, back.as_ref(), self.now()).await
    }
}
