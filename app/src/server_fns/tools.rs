//! Server functions of the analysis tools. In: a name, a type. Out: the model's comparison and report.

#[cfg(feature = "ssr")]
use super::context;
use leptos::prelude::*;
use model::compare::Comparison;
use model::configure::ServiceReport;
use model::fqdn::FqdnReport;
use model::one_server::ServerFromPlaces;
use model::places::{Looked, PlacesView};
use model::resolvers::PublicResolver;
use model::third_party::ThirdPartyLook;
use model::web_places::WebPlace;
use service::ApiError;
use service::json::Json;

/// What the authoritative servers say, with every resolver still to be asked; `/live/compare` fills it.
#[server(name = ReadAuthority, prefix = "/api/fn", endpoint = "authority", output = Json)]
pub async fn authority(name: String, rtype: String) -> Result<Comparison, ApiError> {
    let (backend, caller) = context::backend()?;
    backend.authority(&caller, &name, &rtype).await
}

/// The whole comparison, for pages without script.
#[server(name = RunCompare, prefix = "/api/fn", endpoint = "compare", output = Json)]
pub async fn compare(
    name: String,
    rtype: String,
    #[server(default)] force: bool,
) -> Result<Comparison, ApiError> {
    let (backend, caller) = context::backend()?;
    backend.compare(&caller, &name, &rtype, force).await
}

/// What the authoritative servers say from every point of presence.
#[server(name = AskPlaces, prefix = "/api/fn", endpoint = "ask-places", output = Json)]
pub async fn ask_places(name: String, rtype: String) -> Result<PlacesView, ApiError> {
    let (backend, caller) = context::backend()?;
    Ok(PlacesView::of(&backend.ask_places(&caller, &name, &rtype).await?))
}

/// One name server of a zone from every place: the one that is named, or the slowest.
#[server(name = AskServer, prefix = "/api/fn", endpoint = "ask-server", output = Json)]
pub async fn ask_server(
    name: String,
    #[server(default)] server: String,
) -> Result<ServerFromPlaces, ApiError> {
    let (backend, caller) = context::backend()?;
    Ok(ServerFromPlaces::of(&name, &server, &backend.ask_places(&caller, &name, "SOA").await?))
}

/// What a web server answers from every place.
#[server(name = AskWeb, prefix = "/api/fn", endpoint = "ask-web", output = Json)]
pub async fn ask_web(name: String, path: String) -> Result<Looked<WebPlace>, ApiError> {
    let (backend, caller) = context::backend()?;
    backend.ask_web(&caller, &name, &path).await
}

/// What places of third parties get, from the name server that is named or from their own resolvers.
#[server(name = AskThirdParties, prefix = "/api/fn", endpoint = "ask-third-parties", output = Json)]
pub async fn ask_third_parties(
    name: String,
    rtype: String,
    #[server(default)] server: String,
) -> Result<ThirdPartyLook, ApiError> {
    let (backend, caller) = context::backend()?;
    backend.ask_third_parties(&caller, &name, &rtype, &server).await
}

/// Public resolvers that the browser may ask itself.
#[server(name = BrowserResolvers, prefix = "/api/fn", endpoint = "browser-resolvers", output = Json)]
pub async fn browser_resolvers() -> Result<Vec<PublicResolver>, ApiError> {
    let (backend, caller) = context::backend()?;
    backend.browser_resolvers(&caller).await
}

/// A host name from every vantage point of ours.
#[server(name = RunFqdn, prefix = "/api/fn", endpoint = "fqdn", output = Json)]
pub async fn fqdn(name: String) -> Result<FqdnReport, ApiError> {
    let (backend, caller) = context::backend()?;
    backend.fqdn(&caller, &name).await
}

/// A service on a domain; `query` is that of the address.
#[server(name = RunConfigure, prefix = "/api/fn", endpoint = "configure", output = Json)]
pub async fn configure(query: String) -> Result<ServiceReport, ApiError> {
    let (backend, caller) = context::backend()?;
    let (domain, spec) = crate::query::service(&query).map_err(ApiError::invalid)?;
    backend.configure(&caller, &domain, &spec).await
}
