//! Adding domains from a pasted text, line by line: invalid lines are explained, valid ones are added. A preview
//! runs the same plan without writing.

use super::{Services, unavailable};
use model::ids::OrgId;
use model::inventory::{AddPreview, AddResult, AddedLine};
use model::item::{Item, ItemPatch, Ownership, normal_tag};
use model::names::DomainName;
use service::{ApiError, ApiResult};
use std::collections::HashSet;
use store::NewItem;

/// Longest text that is read, octets.
const TEXT_MAX: usize = 4 << 20;
/// Names written or looked for at once.
const PART: usize = 500;

impl Services {
    /// Adds the names of a text to an organisation. The caller is authorised before.
    pub(super) async fn add_text(
        &self,
        org: OrgId,
        text: &str,
        ownership: Ownership,
        tags: &[String],
    ) -> ApiResult<Vec<AddedLine>> {
        let Plan { mut lines, new, .. } = plan(text, ownership, tags)?;
        for chunk in new.chunks(PART) {
            let items: Vec<_> = chunk.iter().map(|(line, name)| new_item(name, &lines[*line].set)).collect();
            let now = self.now();
            let added = self.store().add(org, &items, now).await.map_err(unavailable)?;
            let mut stated = Vec::new();
            for ((line, name), is_new) in chunk.iter().zip(added) {
                let line = &mut lines[*line];
                if is_new {
                    stated.extend(self.patch_renewal(org, name, &line.set).await?);
                    self.scanner.hub.queued(name, now);
                } else {
                    already_held(line, name);
                }
            }
            self.rejudge(stated).await?;
            self.worker.wake();
        }
        Ok(lines)
    }

    /// What [`Services::add_text`] would do.
    pub(super) async fn preview_text(
        &self,
        org: OrgId,
        text: &str,
        ownership: Ownership,
        tags: &[String],
    ) -> ApiResult<AddPreview> {
        let Plan { mut lines, new, ignored_columns } = plan(text, ownership, tags)?;
        for chunk in new.chunks(PART) {
            let names: Vec<_> = chunk.iter().map(|(_, name)| name.clone()).collect();
            let held: HashSet<_> =
                self.store().held(org, &names).await.map_err(unavailable)?.into_iter().collect();
            for (line, name) in chunk.iter().filter(|(_, name)| held.contains(name)) {
                already_held(&mut lines[*line], name);
            }
        }
        Ok(AddPreview { lines, ignored_columns })
    }

    /// Stores expiration and auto-renew of an imported line; the item when there was anything to store.
    async fn patch_renewal(&self, org: OrgId, name: &DomainName, set: &ItemPatch) -> ApiResult<Option<Item>> {
        if set.manual_expires.is_none() && set.auto_renew.is_none() {
            return Ok(None);
        }
        let patch = ItemPatch {
            manual_expires: set.manual_expires,
            auto_renew: set.auto_renew,
            ..ItemPatch::default()
        };
        self.store().patch(org, name, &patch, self.now()).await.map(Some).map_err(unavailable)
    }
}

fn new_item(name: &DomainName, set: &ItemPatch) -> NewItem {
    NewItem {
        name: name.clone(),
        unicode: name.unicode(),
        ownership: set.ownership.unwrap_or_default(),
        tags: set.tags.clone().unwrap_or_default(),
        note: set.note.clone().unwrap_or_default(),
    }
}

fn already_held(line: &mut AddedLine, name: &DomainName) {
    let note = Some("already in the inventory; left unchanged".to_string());
    line.result = AddResult::Duplicate { name: name.clone(), note };
}

/// What a text comes to before the inventory is asked.
struct Plan {
    lines: Vec<AddedLine>,
    /// Places in `lines` of the names to add, each name once.
    new: Vec<(usize, DomainName)>,
    ignored_columns: Vec<String>,
}

fn plan(text: &str, ownership: Ownership, tags: &[String]) -> ApiResult<Plan> {
    if text.len() > TEXT_MAX {
        return Err(ApiError::invalid(format!(
            "The list has {} MB; at most 4 MB are read at once. Split it.",
            text.len() >> 20
        )));
    }
    let tags = normal_tags(tags)?;
    let paste = model::paste::read(text);
    if paste.entries.is_empty() {
        return Err(ApiError::invalid(model::names::NameError::Empty.to_string()));
    }
    let mut seen = HashSet::new();
    let mut new = Vec::new();
    let mut lines: Vec<AddedLine> = Vec::with_capacity(paste.entries.len());
    for entry in paste.entries {
        let read = DomainName::read(&entry.text).map_err(|e| e.to_string());
        let read = read.and_then(|u| entry.patch.map(|patch| (u, patch)));
        let mut set = ItemPatch::default();
        let result = match read {
            Err(reason) => AddResult::Refused { reason },
            Ok((u, _)) if !seen.insert(u.name.clone()) => {
                AddResult::Duplicate { name: u.name, note: Some("duplicate line".to_string()) }
            }
            Ok((u, patch)) => {
                let mut all = tags.clone();
                all.extend(patch.tags.clone().unwrap_or_default());
                set = ItemPatch {
                    ownership: Some(patch.ownership.unwrap_or(ownership)),
                    tags: Some(normal_tags(&all)?),
                    ..patch
                };
                new.push((lines.len(), u.name.clone()));
                AddResult::Added { name: u.name, note: u.note }
            }
        };
        let input = entry.text.chars().take(200).collect();
        lines.push(AddedLine { line: entry.line, input, result, set });
    }
    Ok(Plan { lines, new, ignored_columns: paste.ignored_columns })
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
