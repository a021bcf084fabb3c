//! What clients send.

use jiff::civil::Date;
use model::Timestamp;
use model::item::{ItemPatch, Ownership};
use serde::{Deserialize, Deserializer};

/// Names to add: a list, or a pasted text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddRequest {
    /// The names.
    #[serde(default)]
    pub names: Vec<String>,
    /// Read when `names` is empty: lines, commas, URLs, CSV with a header.
    #[serde(default)]
    pub text: String,
    /// `owned` (default) or `watched`.
    #[serde(default)]
    pub ownership: Ownership,
    /// Tags of all of them.
    #[serde(default)]
    pub tags: Vec<String>,
}

impl AddRequest {
    /// The text to add.
    pub fn text(&self) -> String {
        if self.names.is_empty() { self.text.clone() } else { self.names.join("\n") }
    }
}

/// Changes to a domain. A field that is absent stays; one that is `null` is cleared.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PatchRequest {
    ownership: Option<Ownership>,
    tags: Option<Vec<String>>,
    note: Option<String>,
    #[serde(deserialize_with = "present")]
    manual_expires: Option<Option<Date>>,
    #[serde(deserialize_with = "present")]
    auto_renew: Option<Option<bool>>,
    #[serde(deserialize_with = "present")]
    muted_until: Option<Option<Timestamp>>,
}

/// A field that is present, null or not.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(field: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(field).map(Some)
}

impl From<PatchRequest> for ItemPatch {
    fn from(p: PatchRequest) -> Self {
        ItemPatch {
            ownership: p.ownership,
            tags: p.tags,
            note: p.note,
            manual_expires: p.manual_expires,
            auto_renew: p.auto_renew,
            muted_until: p.muted_until,
        }
    }
}
