//! Server functions about services that are kept. Forms without JavaScript post to those that change something.

#[cfg(feature = "ssr")]
use super::context;
use super::payload::{Services, Templates};
use leptos::prelude::*;
use model::configure::ServiceReport;
use service::json::Json;
use service::{ApiError, CreatedLink};

/// The services of a domain.
#[server(name = ReadServices, prefix = "/api/fn", endpoint = "services", output = Json)]
pub async fn services(name: String) -> Result<Services, ApiError> {
    let (backend, caller) = context::backend()?;
    let services = backend.services(&caller, &context::name(&name)?).await?;
    Ok(Services { services, now: context::now() })
}

/// Checks a kept service now.
#[server(name = CheckService, prefix = "/api/fn", endpoint = "check_service", output = Json)]
pub async fn check_service(name: String, id: String) -> Result<ServiceReport, ApiError> {
    let (backend, caller) = context::backend()?;
    backend.check_service(&caller, &context::name(&name)?, &id).await
}

/// Keeps the service of a wizard's query, and leads to the domain's tab.
#[server(name = AddService, prefix = "/api/fn", endpoint = "add_service", output = Json)]
pub async fn add_service(query: String) -> Result<(), ApiError> {
    let (backend, caller) = context::backend()?;
    let (domain, spec) = crate::query::service(&query).map_err(ApiError::invalid)?;
    let kept = backend.add_service(&caller, &domain, &spec).await?;
    context::go_to(&format!("/domains/{}/configuration", kept.domain));
    Ok(())
}

/// Ends the checks of a service.
#[server(name = RemoveService, prefix = "/api/fn", endpoint = "remove_service", output = Json)]
pub async fn remove_service(name: String, id: String) -> Result<(), ApiError> {
    let (backend, caller) = context::backend()?;
    let name = context::name(&name)?;
    backend.remove_service(&caller, &name, &id).await?;
    context::go_to(&format!("/domains/{name}/configuration"));
    Ok(())
}

/// Domain Connect templates that the organisation keeps, without their texts: a page lists them.
#[server(name = ReadTemplates, prefix = "/api/fn", endpoint = "templates", output = Json)]
pub async fn templates() -> Result<Templates, ApiError> {
    use service::policy::{Action, authorize};
    let (backend, caller) = context::backend()?;
    let mut templates = backend.templates(&caller).await?;
    for template in &mut templates {
        template.json.clear();
    }
    Ok(Templates { templates, may_change: authorize(&caller, Action::SaveTemplate).is_ok() })
}

/// Saves a template from its text or from a URL.
#[server(name = SaveTemplate, prefix = "/api/fn", endpoint = "save_template", output = Json)]
pub async fn save_template(
    #[server(default)] json: String,
    #[server(default)] url: String,
) -> Result<(), ApiError> {
    let (backend, caller) = context::backend()?;
    backend.save_template(&caller, &service::TemplateDraft { json, url }).await?;
    context::done("saved", 1);
    Ok(())
}

/// Removes a template.
#[server(name = RemoveTemplate, prefix = "/api/fn", endpoint = "remove_template", output = Json)]
pub async fn remove_template(key: String) -> Result<(), ApiError> {
    let (backend, caller) = context::backend()?;
    backend.remove_template(&caller, &key).await?;
    context::done("deleted", 1);
    Ok(())
}

/// Makes a link to the customer page of a service, for 7 days.
#[server(name = MakeConnectLink, prefix = "/api/fn", endpoint = "connect_link", output = Json)]
pub async fn connect_link(
    name: String,
    id: String,
    brand: String,
    #[server(default)] help: String,
) -> Result<CreatedLink, ApiError> {
    use service::ConnectRequest;
    let (backend, caller) = context::backend()?;
    let request = ConnectRequest { service: id, brand, accent: String::new(), help, days: 7 };
    backend.connect_link(&caller, &context::name(&name)?, &request).await
}
