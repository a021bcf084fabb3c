//! Domain Connect templates that an organisation keeps, to set up services with.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Most templates of an organisation.
pub const MAX_TEMPLATES: usize = 100;

/// A template that was read and checked when it was saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredTemplate {
    /// Identifier of the service provider.
    pub provider_id: String,
    /// Identifier of the service within the provider.
    pub service_id: String,
    /// Name of the service provider.
    pub provider_name: String,
    /// Name of the service.
    pub service_name: String,
    /// Version, informational.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Variables that need a value.
    #[serde(default)]
    pub variables: Vec<String>,
    /// Groups that can be applied by themselves.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Where it was read; empty: it was pasted.
    #[serde(default)]
    pub url: String,
    /// Who saved it.
    pub saved_by: String,
    /// When.
    pub saved_at: Timestamp,
    /// The JSON text.
    pub json: String,
}

impl StoredTemplate {
    /// Its name in forms, REST and the store: `PROVIDER/SERVICE`.
    pub fn key(&self) -> String {
        format!("{}/{}", self.provider_id, self.service_id)
    }
}
