//! What the product can do: one trait, its errors, its types, and the policy that says who may do what. No HTTP, no
//! storage, no network: pages, REST and tests know this crate; `product` implements it. Builds to wasm.

mod account;
pub mod addresses;
mod alerts;
mod backend;
mod error;
mod features;
mod fleet;
pub mod json;
pub mod policy;
pub mod resources;
pub mod space;
mod types;

/// The lifecycle of features: states, stages, tasks.
pub use ::features as lifecycle;
pub use account::{
    AccountBackend, Enrolment, NewInvitation, NewToken, Organisation, Profile, ProviderInfo,
    ProviderRedirect, TokenRequest, Usage,
};
pub use alerts::{
    AlertBackend, ChannelDraft, ChannelView, DeliveryView, FailedView, Health, MaintenanceDraft, NewFeed,
    NotificationSettings, RuleView,
};
pub use backend::{Backend, SharedBackend};
/// Address space: prefixes, claims, and what they mean.
pub use numbers;

pub use error::{ApiError, ApiResult, ErrorKind};
pub use features::{
    FeatureBackend, FeatureDraft, FeatureReport, FeatureStep, FeatureTask, FeatureUse, FeatureView,
    FeaturesReport,
};
pub use fleet::{
    AgentState, AgentToken, AgentView, ClusterClaim, ClusterClaimDraft, FleetBackend, FleetReport,
    LatencyHour, RefusedJoin, ThirdPartyView,
};
pub use types::{CheckOutcome, ConnectRequest, ConnectView, CreatedLink, ScanReport, Session, TemplateDraft};
