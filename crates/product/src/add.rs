//! Adding domains from a pasted text, line by line: invalid lines are explained, valid ones are added. A preview
//! runs the same plan without writing.

use super::{Services, unavailable};
use model::ids::{Caller, OrgId};
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
    /// Adds the names of a text to the caller's organisation, as far as its quota allows. The caller is authorised before.
    pub(super) async fn add_text(
        &self,
        caller: &Caller,
        text: &str,
        ownership: Ownership,
        tags: &[String],
    ) -> ApiResult<Vec<AddedLine>> {
        let Plan { mut lines, new, .. } = plan(text, ownership, tags)?;
        let org = caller.org;
        let mut room = self.room(org).await?;
        for chunk in new.chunks(PART) {
            let chunk = &self.within_quota(org, chunk, room, &mut lines).await?[..];
            let items: Vec<_> = chunk.iter().map(|(line, name)| new_item(name, &lines[*line].set)).collect();
            let now = self.now();
            let added = self.store().add_by(&caller.actor(), org, &items, now).await.map_err(unavailable)?;
            let mut stated = Vec::new();
            for ((line, name), is_new) in chunk.iter().zip(added) {
                let line = &mut lines[*line];
                if is_new {
                    room = room.saturating_sub(1);
                    stated.extend(self.patch_renewal(caller, name, &line.set).await?);
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

    /// Adds one name with the metadata of its object. The caller is authorised before.
    pub(super) async fn add_object(
        &self,
        caller: &Caller,
        name: &DomainName,
        metadata: &str,
    ) -> ApiResult<()> {
        let (org, now) = (caller.org, self.now());
        let held = || ApiError::conflict(format!("{name} is in the inventory already."));
        if self.room(org).await? == 0 {
            let is_held =
                !self.store().held(org, std::slice::from_ref(name)).await.map_err(unavailable)?.is_empty();
            return Err(if is_held { held() } else { ApiError::forbidden(self.quota_used_up()) });
        }
        let item = new_item(name, &ItemPatch { ownership: Some(Ownership::Owned), ..ItemPatch::default() });
        let added = self.store().create_domain(&caller.actor(), org, &item, metadata, now).await;
        if !added.map_err(unavailable)? {
            return Err(held());
        }
        self.scanner.hub.queued(name, now);
        self.worker.wake();
        Ok(())
    }

    fn quota_used_up(&self) -> String {
        format!("the quota of {} domains of this organisation is used up", self.quotas.domains)
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
        let mut room = self.room(org).await?;
        for chunk in new.chunks(PART) {
            let chunk = &self.within_quota(org, chunk, room, &mut lines).await?[..];
            let names: Vec<_> = chunk.iter().map(|(_, name)| name.clone()).collect();
            let held: HashSet<_> =
                self.store().held(org, &names).await.map_err(unavailable)?.into_iter().collect();
            room = room.saturating_sub(names.len() - held.len());
            for (line, name) in chunk.iter().filter(|(_, name)| held.contains(name)) {
                already_held(&mut lines[*line], name);
            }
        }
        Ok(AddPreview { lines, ignored_columns })
    }

    /// How many domains the organisation may still add.
    async fn room(&self, org: OrgId) -> ApiResult<usize> {
        let held = self.store().summary(org, self.now()).await.map_err(unavailable)?.total;
        Ok(usize::try_from(self.quotas.domains.saturating_sub(held)).unwrap_or(usize::MAX))
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
        if chunk.len() <= room {
            return Ok(chunk.to_vec());
        }
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
                lines[*line].result = AddResult::Refused { reason: self.quota_used_up() };
            }
        }
        Ok(out)
    }

    /// Stores expiration and auto-renew of an imported line; the item when there was anything to store.
    async fn patch_renewal(
        &self,
        caller: &Caller,
        name: &DomainName,
        set: &ItemPatch,
    ) -> ApiResult<Option<Item>> {
        if set.manual_expires.is_none() && set.auto_renew.is_none() {
            return Ok(None);
        }
        let patch = ItemPatch {
            manual_expires: set.manual_expires,
            auto_renew: set.auto_renew,
            ..ItemPatch::default()
        };
        let patched = self.store().patch_by(&caller.actor(), caller.org, name, &patch, self.now()).await;
        patched.map(Some).map_err(unavailable)
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
