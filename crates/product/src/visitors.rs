//! The tools for visitors without an account. In: a caller that is a visitor. Out: the services that ask for it, under
//! limits of its own. Visitors have an engine of their own, which reaches public addresses only, and permits of their
//! own, so that accounts wait for none of them.

use super::{Permit, Services, Work};
use features::Use;
use model::ids::Caller;
use model::open_tools::ToolSet;
use service::{ApiError, ApiResult};
use std::sync::Arc;

/// The feature that guards what visitors ask.
const FEATURE: &str = "open-tools";

/// What is open to visitors, and what asks for them.
#[derive(Clone)]
pub struct Visitors {
    /// The tools that the operator opened.
    pub tools: ToolSet,
    /// The same services with an engine, an observer and limits for visitors.
    pub services: Services,
}

/// Permission for one look-up of a tool; released when dropped.
pub struct ToolPermit {
    _permit: Permit,
    _used: Option<Use>,
}

impl Services {
    /// The same with tools open to visitors.
    #[must_use]
    pub fn with_visitors(self, visitors: Visitors) -> Self {
        Services { visitors: (!visitors.tools.is_empty()).then(|| Arc::new(visitors)), ..self }
    }

    /// The tools that are open to visitors now.
    pub fn open_tools(&self) -> ToolSet {
        let open = self.visitors.as_ref().filter(|_| self.gates.is_on(FEATURE));
        open.map(|v| v.tools).unwrap_or_default()
    }

    /// The services that ask for a caller.
    pub(crate) fn asking_for(&self, caller: &Caller) -> ApiResult<&Services> {
        match (&caller.visitor, &self.visitors) {
            (None, _) => Ok(self),
            (Some(_), Some(visitors)) => Ok(&visitors.services),
            (Some(_), None) => Err(ApiError::sign_in_required("Sign in to use the tools.")),
        }
    }

    /// Acquires a permit for one look-up of a tool.
    ///
    /// # Errors
    /// As [`Limits::enter`](super::Limits::enter), and `Forbidden` for visitors when the feature is off.
    pub(crate) async fn enter(&self, caller: &Caller, work: Work) -> ApiResult<ToolPermit> {
        let used = caller.visitor.map(|_| self.using(FEATURE)).transpose()?;
        let permit = self.asking_for(caller)?.tools.limits.enter(caller, work).await?;
        Ok(ToolPermit { _permit: permit, _used: used })
    }

    /// Seconds after which a refused caller may try again.
    pub fn retry_after(&self, caller: &Caller) -> Option<u64> {
        self.asking_for(caller).ok()?.tools.limits.retry_after(caller)
    }
}
