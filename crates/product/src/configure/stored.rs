//! Services that are kept: added, listed, checked, removed, and the links of customer pages.

use crate::{Services, Work, not_held, read_name, unavailable};
use accounts::{Secret, SecretKind, random_id};
use async_trait::async_trait;
use jiff::SignedDuration;
use model::Timestamp;
use model::configure::link::MAX_LINK_DAYS;
use model::configure::{ConnectLink, ServiceReport, ServiceSpec, StoredService};
use model::ids::{Caller, Role};
use model::names::DomainName;
use monitor::{ServiceInspector, record_look};
use service::{ApiError, ApiResult, ConnectRequest, ConnectView, CreatedLink};
use store::{Job, Priority, VersionedService};
use url::Url;

/// Most services of one domain.
const MAX_SERVICES: usize = 50;

#[async_trait]
impl ServiceInspector for super::Inspector {
    async fn inspect(
        &self,
        domain: &DomainName,
        spec: &ServiceSpec,
        now: Timestamp,
    ) -> Result<ServiceReport, String> {
        super::Inspector::inspect(self, domain, spec, now).await.map_err(|e| e.detail)
    }
}

impl Services {
    pub(crate) async fn services_of(
        &self,
        caller: &Caller,
        name: &DomainName,
    ) -> ApiResult<Vec<StoredService>> {
        let name = read_name(name.as_str())?;
        let all = self.store().services(caller.org, &name).await.map_err(unavailable)?;
        let mut all: Vec<_> = all.into_iter().map(|s| s.service).collect();
        let jobs = all.iter().map(|s| Job::Service(s.id.clone())).collect();
        for (job, why) in self.suspended_checks(jobs).await? {
            if let Some(service) = all.iter_mut().find(|s| s.id == job.key()) {
                service.error = format!("{why} Opening the service starts them again.");
            }
        }
        Ok(all)
    }

    pub(crate) async fn keep_service(
        &self,
        caller: &Caller,
        domain: &str,
        spec: &ServiceSpec,
    ) -> ApiResult<StoredService> {
        let name = read_name(domain)?;
        let spec = &self.with_template(caller, spec).await?;
        spec.check().map_err(ApiError::invalid)?;
        let kept = self.store().services(caller.org, &name).await.map_err(unavailable)?;
        if let Some(same) = kept.iter().find(|s| s.service.spec == *spec) {
            return Ok(same.service.clone());
        }
        if kept.len() >= MAX_SERVICES {
            return Err(ApiError::invalid(format!("A domain has at most {MAX_SERVICES} services.")));
        }
        let service = StoredService::new(random_id(), name.as_str(), spec.clone(), self.now());
        self.store().add_service(caller.org, &service, self.now()).await.map_err(|e| match e {
            store::Error::NotFound => not_held(&name),
            e => unavailable(e),
        })?;
        let job = (Job::Service(service.id.clone()), self.now());
        self.store().enqueue(&[job], Priority::Requested).await.map_err(unavailable)?;
        self.scanner.hub.recorded();
        Ok(service)
    }

    pub(crate) async fn drop_service(&self, caller: &Caller, name: &DomainName, id: &str) -> ApiResult<()> {
        let name = read_name(name.as_str())?;
        let gone =
            self.store().remove_service(caller.org, &name, id, self.now()).await.map_err(unavailable)?;
        self.scanner.hub.recorded();
        if gone { Ok(()) } else { Err(no_service(&name)) }
    }

    pub(crate) async fn look_at_service(
        &self,
        caller: &Caller,
        name: &DomainName,
        id: &str,
    ) -> ApiResult<ServiceReport> {
        let name = read_name(name.as_str())?;
        let kept = self.owned(caller, &name, id).await?;
        let _permit = self.tools.limits.enter(caller, Work::Configure).await?;
        // This page makes the same check when it is opened.
        let back = self.page(&format!("/domains/{name}/configuration?service={id}"));
        self.look_and_record(&name, &kept, back.as_ref()).await
    }

    /// A service of the caller's organisation.
    async fn owned(&self, caller: &Caller, name: &DomainName, id: &str) -> ApiResult<VersionedService> {
        let kept = self.store().service(id).await.map_err(unavailable)?;
        kept.filter(|s| s.org == caller.org && s.service.domain == name.as_str())
            .ok_or_else(|| no_service(name))
    }

    /// Looks now, and records what the look came to, as the schedule does.
    async fn look_and_record(
        &self,
        name: &DomainName,
        kept: &VersionedService,
        back: Option<&Url>,
    ) -> ApiResult<ServiceReport> {
        let (inspector, now) = (&self.tools.inspector, self.now());
        let report = inspector.inspect_and_return(name, &kept.service.spec, back, now).await?;
        match record_look(&self.scanner, kept, Ok(report.clone())).await {
            Ok(after) => {
                // Checks that are suspended start again; others come no later for it.
                let next = (Job::Service(after.id.clone()), after.next_check(self.now()));
                self.store().enqueue(&[next], Priority::Scheduled).await.map_err(unavailable)?;
                Ok(report)
            }
            // The schedule looked at the same time: its result stands.
            Err(store::Error::Conflict) => Ok(report),
            Err(e) => Err(unavailable(e)),
        }
    }

    pub(crate) async fn make_link(
        &self,
        caller: &Caller,
        name: &DomainName,
        request: &ConnectRequest,
    ) -> ApiResult<CreatedLink> {
        let _use = self.using("domain-connect-apply")?;
        let name = read_name(name.as_str())?;
        let kept = self.owned(caller, &name, &request.service).await?;
        if request.days == 0 || request.days > MAX_LINK_DAYS {
            return Err(ApiError::invalid(format!("days must be from 1 to {MAX_LINK_DAYS}.")));
        }
        let link = ConnectLink {
            service: kept.service.id,
            domain: name.as_str().into(),
            brand: request.brand.trim().into(),
            accent: request.accent.trim().to_lowercase(),
            help: request.help.trim().into(),
            expires_at: self.now() + SignedDuration::from_hours(24 * i64::from(request.days)),
        };
        link.check().map_err(ApiError::invalid)?;
        let token = Secret::generate(SecretKind::ConnectLink);
        self.store().put_connect_link(caller.org, token.hash().as_str(), &link).await.map_err(unavailable)?;
        Ok(CreatedLink { path: format!("/connect/{}", token.expose()), expires_at: link.expires_at })
    }

    /// The customer page of a token, which is all that authorises it: a look at the one service it is for.
    ///
    /// # Errors
    /// `NotFound` for a token that is unknown, expired, or whose service is gone; those of a look.
    pub async fn connect_page(&self, token: &str) -> ApiResult<ConnectView> {
        let gone = || ApiError::not_found("This link does not work any more. Ask for a new one.");
        let token = Secret::read(SecretKind::ConnectLink, token).ok_or_else(gone)?;
        let found = self.store().connect_link(token.hash().as_str()).await.map_err(unavailable)?;
        let (org, link) = found.filter(|(_, link)| link.expires_at > self.now()).ok_or_else(gone)?;
        let kept = self.store().service(&link.service).await.map_err(unavailable)?;
        let kept = kept.filter(|s| s.org == org && s.service.domain == link.domain).ok_or_else(gone)?;
        // One limit for each link, and all of them together share the capacity of look-ups.
        let visitor = Caller::new(org, format!("connect {}", link.service), Role::Viewer);
        let _permit = self.tools.limits.enter(&visitor, Work::Configure).await?;
        // No way back: its address is a secret, which is not for the provider.
        let report = self.look_and_record(&DomainName::trusted(&link.domain), &kept, None).await?;
        Ok(ConnectView { link, report })
    }
}

fn no_service(name: &DomainName) -> ApiError {
    ApiError::not_found(format!("{} has no such service in this inventory.", name.unicode()))
}
