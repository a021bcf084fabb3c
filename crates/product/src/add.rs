//! Adding domains from a pasted text, line by line: invalid lines are explained, valid ones are added.

use super::{Services, unavailable};
use model::ids::{Caller, OrgId};
use model::inventory::{AddResult, AddedLine};
use model::item::{Ownership, normal_tag};
use model::names::DomainName;
use model::paste::entries;
use service::{ApiError, ApiResult};
use std::collections::HashSet;
use store::NewItem;

/// Longest text that is read, octets.
const TEXT_MAX: usize = 4 << 20;

impl Services {
    /// Adds the names of a text to the caller's organisation, as far as its quota allows. The caller is authorised before.
    pub(super) async fn add_text(
        &self,
        caller: &Caller,
        text: &str,
        ownership: Ownership,
        tags: &[String],
    ) -> ApiResult<Vec<AddedLine>> {
        if text.len() > TEXT_MAX {
            return Err(ApiError::invalid(format!(
                "The list has {} MB; at most 4 MB are read at once. Split it.",
                text.len() >> 20
            )));
        }
        let tags = normal_tags(tags)?;
        let entries = entries(text);
        if entries.is_empty() {
            return Err(ApiError::invalid(model::names::NameError::Empty.to_string()));
        }
        let mut seen = HashSet::new();
        let mut fresh = Vec::new();
        let mut lines: Vec<AddedLine> = Vec::with_capacity(entries.len());
        for entry in entries {
            let result = match DomainName::read(&entry.text) {
                Err(e) => AddResult::Refused { reason: e.to_string() },
                Ok(u) if !seen.insert(u.name.clone()) => {
                    let note = Some("duplicate line".to_string());
                    AddResult::Duplicate { name: u.name, note }
                }
                Ok(u) => {
                    fresh.push((lines.len(), u.name.clone()));
                    AddResult::Added { name: u.name, note: u.note }
                }
            };
            lines.push(AddedLine { line: entry.line, input: entry.text.chars().take(200).collect(), result });
        }
        let org = caller.org;
        let held = self.store().summary(org, self.now()).await.map_err(unavailable)?.total;
        let mut room = usize::try_from(self.quotas.domains.saturating_sub(held)).unwrap_or(usize::MAX);
        for chunk in fresh.chunks(500) {
            let chunk = if chunk.len() > room {
                &self.within_quota(org, chunk, room, &mut lines).await?[..]
            } else {
                chunk
            };
            let items: Vec<_> = chunk
                .iter()
                .map(|(_, name)| NewItem {
                    name: name.clone(),
                    unicode: name.unicode(),
                    ownership,
                    tags: tags.clone(),
                    note: String::new(),
                })
                .collect();
            let now = self.now();
            let added = self.store().add_by(&caller.actor(), org, &items, now).await.map_err(unavailable)?;
            for ((line, name), new) in chunk.iter().zip(added) {
                if new {
                    room = room.saturating_sub(1);
                    self.scanner.hub.queued(name, now);
                } else {
                    let note = Some("already in the inventory".to_string());
                    lines[*line].result = AddResult::Duplicate { name: name.clone(), note };
                }
            }
            self.scanner.hub.recorded();
            self.worker.wake();
        }
        Ok(lines)
    }

    /// Those of some names that are held already or have room in the quota; the others' lines say why they were not
    /// added.
    async fn within_quota(
        &self,
        org: OrgId,
        chunk: &[(usize, DomainName)],
        room: usize,
        lines: &mut [AddedLine],
    ) -> ApiResult<Vec<(usize, DomainName)>> {
        let names: Vec<_> = chunk.iter().map(|(_, name)| name.clone()).collect();
        let held = self.store().held(org, &names).await.map_err(unavailable)?;
        let mut left = room;
        let mut out = Vec::new();
        for (line, name) in chunk {
            if held.contains(name) {
                out.push((*line, name.clone()));
            } else if left > 0 {
                left -= 1;
                out.push((*line, name.clone()));
            } else {
                let limit = self.quotas.domains;
                let reason = format!("the quota of {limit} domains of this organisation is used up");
                lines[*line].result = AddResult::Refused { reason };
            }
        }
        Ok(out)
    }
}

/// Tags in their stored form.
///
/// # Errors
/// `Invalid`, naming the tag that breaks the rule.
pub(super) fn normal_tags(tags: &[String]) -> ApiResult<Vec<String>> {
    let mut out = Vec::new();
    for tag in tags.iter().filter(|t| !t.trim().is_empty()) {
        let tag = normal_tag(tag).ok_or_else(|| {
            ApiError::invalid(format!("“{tag}” is not a valid tag: at most 40 characters and no comma"))
        })?;
        if !out.contains(&tag) {
            out.push(tag);
        }
    }
    out.sort();
    Ok(out)
}
