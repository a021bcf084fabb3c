//! The claim form: the draft and the object that it makes, and what its preview says.

use super::Preview;
use service::numbers::{AddressRequest, ClaimSpec, IpNet, RecordState, Reference};
use service::resources::{Claim, ClaimDraft};
use service::{ApiError, ApiResult};

/// The claim form.
#[derive(Default)]
pub(super) struct Form {
    pub(super) name: String,
    pub(super) from: String,
    pub(super) length: String,
    pub(super) prefix: String,
    pub(super) group: String,
    pub(super) resource: String,
    pub(super) description: String,
}

impl Form {
    pub(super) fn read(value: &dyn Fn(&str) -> String) -> Self {
        Form {
            name: value("name"),
            from: value("from"),
            length: value("length"),
            prefix: value("prefix"),
            group: value("group"),
            resource: value("resource"),
            description: value("description"),
        }
    }

    pub(super) fn draft(&self, dry_run: bool) -> ApiResult<ClaimDraft> {
        let given = |text: &str| Some(text.trim().to_string()).filter(|t| !t.is_empty());
        let (prefix, length) = (given(&self.prefix), given(self.length.trim_start_matches('/')));
        let prefix_length = match length.filter(|_| prefix.is_none()) {
            None => None,
            Some(text) => Some(text.parse().map_err(|_| {
                ApiError::invalid(format!(
                    "“{}” is not a prefix length: enter a number such as 26.",
                    self.length
                ))
            })?),
        };
        let resource =
            given(&self.resource).unwrap_or_else(|| if dry_run { "preview".into() } else { String::new() });
        let request = AddressRequest {
            prefix,
            from: given(&self.from),
            prefix_length,
            reference: Reference { group: self.group.trim().into(), resource },
            description: self.description.trim().into(),
        };
        let spec = ClaimSpec { address_space: vec![request] };
        Ok(ClaimDraft { name: self.name.trim().into(), expected: None, metadata: "{}".into(), spec, dry_run })
    }
}

impl Form {
    /// The object that the form makes, as YAML. Every text is a string of JSON, which is one of YAML, too.
    pub(super) fn yaml(&self) -> ApiResult<String> {
        let draft = self.draft(false)?;
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut out = format!(
            "apiVersion: datumapis.com/v1alpha\nkind: NetworkClaim\nmetadata:\n  name: {}\nspec:\n  addressSpace:\n",
            quoted(&draft.name)
        );
        for r in &draft.spec.address_space {
            let texts = [("prefix", &r.prefix), ("from", &r.from)];
            let mut lines: Vec<String> = texts
                .iter()
                .filter_map(|(key, v)| Some(format!("{key}: {}", quoted(v.as_deref()?))))
                .collect();
            lines.extend(r.prefix_length.map(|n| format!("prefixLength: {n}")));
            lines.push("reference:".into());
            lines.extend(
                (!r.reference.group.is_empty()).then(|| format!("  group: {}", quoted(&r.reference.group))),
            );
            lines.push(format!("  resource: {}", quoted(&r.reference.resource)));
            lines.extend(
                (!r.description.is_empty()).then(|| format!("description: {}", quoted(&r.description))),
            );
            out.push_str(&format!("    - {}\n", lines.join("\n      ")));
        }
        Ok(out)
    }
}

pub(super) fn preview(claim: &Claim) -> Preview {
    let record = claim.status.address_space.first();
    let allocated = record.filter(|r| r.status == RecordState::Allocated);
    let prefix = allocated.and_then(|r| r.prefix.clone());
    let extent = prefix.as_deref().and_then(|p| p.parse::<IpNet>().ok()).map(|p| {
        // Digits of a large IPv6 prefix say less than its length.
        let count = match p.max_prefix_len() - p.prefix_len() {
            0 => "one address".to_string(),
            bits @ 1..=16 => format!("{} addresses", 1_u32 << bits),
            bits => format!("2^{bits} addresses"),
        };
        format!("{} – {}, {count}", p.network(), p.broadcast())
    });
    Preview { prefix, extent, reason: record.and_then(|r| r.message.clone()) }
}
