//! Checks configured services again, on their own schedule. In: due jobs of the kind `Service`. Out: the service as it
//! stands, and an event when it became ready, drifted or recovered.

use crate::Scanner;
use async_trait::async_trait;
use jiff::Timestamp;
use model::configure::{ServiceReport, ServiceSpec};
use model::names::DomainName;
use std::sync::Arc;
use std::time::Duration;
use store::{Job, JobKind, LeasedJob, VersionedService};
use tokio_util::sync::CancellationToken;

/// Looks that run at the same time.
const AT_ONCE: u32 = 4;
/// Pause between two looks into the queue.
const PAUSE: Duration = Duration::from_secs(2);

/// Looks at a service on a domain.
#[async_trait]
pub trait ServiceInspector: Send + Sync {
    /// The report, or a sentence that says why there is none.
    async fn inspect(
        &self,
        domain: &DomainName,
        spec: &ServiceSpec,
        now: Timestamp,
    ) -> Result<ServiceReport, String>;
}

/// Works off due checks until cancelled.
pub(crate) async fn run(
    scanner: Scanner,
    inspector: Arc<dyn ServiceInspector>,
    worker: String,
    stop: CancellationToken,
) {
    loop {
        let now = scanner.clock.now();
        let jobs = scanner.store.lease(JobKind::Service, &worker, AT_ONCE, now).await.unwrap_or_else(|e| {
            tracing::warn!(error = %e, "the queue of service checks can't be read; trying again");
            Vec::new()
        });
        let checks = jobs.iter().map(|job| one(&scanner, inspector.as_ref(), job));
        tokio::select! {
            _ = futures::future::join_all(checks) => {}
            // The leases run out by themselves.
            () = stop.cancelled() => return,
        }
        if jobs.is_empty() {
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                () = stop.cancelled() => return,
            }
        }
    }
}

async fn one(scanner: &Scanner, inspector: &dyn ServiceInspector, job: &LeasedJob) {
    let Job::Service(id) = &job.job else { return };
    let deadline = JobKind::Service.policy().deadline;
    let ended = tokio::time::timeout(deadline, check(scanner, inspector, id)).await;
    let now = scanner.clock.now();
    let result = match ended {
        Ok(Ok(next)) => scanner.store.complete(job, next, None, now).await,
        Ok(Err(e)) => scanner.store.fail(job, &e.to_string(), now).await.map(drop),
        Err(_) => {
            let reason = format!("it took longer than {} s", deadline.as_secs());
            scanner.store.fail(job, &reason, now).await.map(drop)
        }
    };
    if let Err(e) = result {
        tracing::warn!(service = id, error = %e, "a service check could not be taken off the queue");
    }
}

/// Looks at a service and records what it came to; when it is due again, or nothing when it is gone.
async fn check(
    scanner: &Scanner,
    inspector: &dyn ServiceInspector,
    id: &str,
) -> Result<Option<Timestamp>, store::Error> {
    let Some(before) = scanner.store.service(id).await? else { return Ok(None) };
    let name = DomainName::trusted(&before.service.domain);
    if scanner.store.item(before.org, &name).await?.is_none() {
        scanner.store.remove_service(before.org, &name, id, scanner.clock.now()).await?;
        return Ok(None);
    }
    let looked = inspector.inspect(&name, &before.service.spec, scanner.clock.now()).await;
    let after = record_look(scanner, &before, looked).await?;
    Ok(Some(after.next_check(scanner.clock.now())))
}

/// Records a look: the service, and an event where one follows.
///
/// # Errors
/// [`store::Error::Conflict`] when another look was recorded meanwhile, or the database fails.
pub async fn record_look(
    scanner: &Scanner,
    before: &VersionedService,
    looked: Result<ServiceReport, String>,
) -> Result<model::configure::StoredService, store::Error> {
    let (after, change) = match looked {
        Ok(report) => before.service.clone().after(&report),
        Err(reason) => (before.service.clone().failed(&reason), None),
    };
    if after != before.service {
        scanner.store.record_service(before, &after, change.as_ref(), scanner.clock.now()).await?;
        scanner.hub.recorded();
    }
    Ok(after)
}
