//! The claim form: the draft and the object that it makes, and what its preview says.

use super::{Gain, Preview};
use crate::query;
use model::inventory::percent;
use service::numbers::prefix::{parse, size};
use service::numbers::{AddressRequest, ClaimSpec, IpNet, RecordState, Reference};
use service::resources::{Claim, ClaimDraft};
use service::{ApiError, ApiResult};

/// Keys of the form's values in the address of the page.
const KEYS: [&str; 11] = [
    "name",
    "from",
    "other",
    "length",
    "prefix",
    "from2",
    "length2",
    "prefix2",
    "group",
    "resource",
    "description",
];

/// Characters of a value that are kept in an address: more than any may have.
pub(super) const VALUE_MAX: usize = 300;

/// The values of the form, by key.
pub(super) struct Form(Vec<(&'static str, String)>);

impl Form {
    /// Reads them out of the query of an address, or of a form's body.
    pub(super) fn read(text: &str) -> Self {
        let pairs = query::pairs(text);
        let value = |key: &str| pairs.iter().find(|(k, _)| k == key).map(|(_, v)| v.trim().to_string());
        Form(KEYS.into_iter().map(|key| (key, value(key).unwrap_or_default())).collect())
    }

    /// The same from single values.
    pub(super) fn of(value: impl Fn(&str) -> String) -> Self {
        Form(KEYS.into_iter().map(|key| (key, value(key).trim().to_string())).collect())
    }

    fn value(&self, key: &str) -> &str {
        self.0.iter().find(|(k, _)| *k == key).map_or("", |(_, v)| v)
    }

    fn given(&self, key: &str) -> Option<String> {
        Some(self.value(key).to_string()).filter(|v| !v.is_empty())
    }

    /// True when it says what space it wants and for whom: then it can be previewed.
    pub(super) fn is_filled(&self) -> bool {
        let has = |keys: &[&str]| keys.iter().any(|key| !self.value(key).is_empty());
        has(&["from", "other", "prefix", "from2", "prefix2"]) && has(&["resource"])
    }

    /// The address of the page with these values, cut to what a header carries, and a block that is shown.
    pub(super) fn address(&self, block: &str) -> String {
        let given = self.0.iter().filter(|(_, v)| !v.is_empty());
        let cut = |v: &str| percent(&v.chars().take(VALUE_MAX).collect::<String>());
        let pairs = given.map(|(key, v)| format!("{key}={}", cut(v)));
        let all: Vec<String> = std::iter::once(format!("block={}", cut(block))).chain(pairs).collect();
        format!("/networks?{}", all.join("&"))
    }

    /// The claim's name: that of the component, if none was given.
    fn name(&self) -> &str {
        if self.value("name").is_empty() { self.value("resource") } else { self.value("name") }
    }

    fn request(&self, keys: [&str; 3]) -> ApiResult<AddressRequest> {
        let [from, length, prefix] = keys;
        let prefix = self.given(prefix);
        // A block that was written, and not only selected, goes before the list.
        let written = self.given("other").filter(|_| from == "from");
        let exact = prefix.as_deref().and_then(|p| parse(p).ok());
        let is_outside = |block: &String| match (&exact, parse(block)) {
            (Some(exact), Ok(block)) => !block.contains(exact),
            _ => false,
        };
        // The list always has a block selected: it says nothing about an exact prefix elsewhere.
        let listed = self.given(from).filter(|block| !is_outside(block));
        let text = self.value(length).trim_start_matches('/');
        let prefix_length = match text {
            _ if prefix.is_some() => None,
            "" => None,
            text => Some(text.parse().map_err(|_| {
                let shown: String = self.value(length).chars().take(40).collect();
                ApiError::invalid(format!("“{shown}” is not a prefix length: enter a number such as 26."))
            })?),
        };
        Ok(AddressRequest {
            prefix,
            from: written.or(listed),
            prefix_length,
            reference: Reference {
                group: self.value("group").into(),
                resource: self.value("resource").into(),
            },
            description: self.value("description").into(),
        })
    }

    pub(super) fn draft(&self, dry_run: bool) -> ApiResult<ClaimDraft> {
        let mut address_space = vec![self.request(["from", "length", "prefix"])?];
        // The list of the second prefix has a block selected once it is opened: without a length nothing is asked for.
        if self.given("prefix2").is_some() || self.given("length2").is_some() {
            address_space.push(self.request(["from2", "length2", "prefix2"])?);
        }
        let spec = ClaimSpec { address_space };
        Ok(ClaimDraft { name: self.name().into(), expected: None, metadata: "{}".into(), spec, dry_run })
    }

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

/// What a claim would get, or why nothing.
pub(super) fn preview(claim: &Claim) -> Preview {
    let records = &claim.status.address_space;
    if !claim.status.is_allocated() {
        let refused = records.iter().filter(|r| r.status == RecordState::Unavailable);
        let reasons = refused.filter_map(|r| {
            let message = r.message.clone()?;
            let prefix = r.prefix.as_deref().filter(|_| records.len() > 1);
            Some(prefix.map_or(message.clone(), |p| format!("{p}: {message}")))
        });
        return Preview { gets: Vec::new(), reasons: reasons.collect() };
    }
    let gain = |p: IpNet| Gain {
        prefix: p.to_string(),
        extent: format!("{} – {}, {}", p.network(), p.broadcast(), addresses(&p)),
    };
    Preview { gets: claim.status.allocated().map(|(p, _)| gain(p)).collect(), reasons: Vec::new() }
}

/// The address of the page after a claim: in the block that was shown, if what it got lies in there.
pub(super) fn after(claim: &Claim, block: &str) -> String {
    let first = claim.status.allocated().next().map(|(p, _)| p);
    let is_inside = |p: &IpNet| parse(block).is_ok_and(|b| b.contains(p));
    let shown = match first {
        Some(p) if !is_inside(&p) => {
            let from = claim.spec.address_space.iter().filter_map(|r| parse(r.from.as_deref()?).ok());
            from.into_iter().find(|f| f.contains(&p)).unwrap_or(p).to_string()
        }
        _ => block.to_string(),
    };
    format!("/networks?block={}&done=claimed.1", percent(&shown))
}

/// How many addresses a prefix has, in words.
pub(super) fn addresses(p: &IpNet) -> String {
    // Digits of a large IPv6 prefix say less than its length.
    match p.max_prefix_len() - p.prefix_len() {
        0 => "one address".to_string(),
        1..=16 => format!("{} addresses", model::words::grouped(size(p) as u64)),
        bits => format!("2^{bits} addresses"),
    }
}
