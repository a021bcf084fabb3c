//! Features that third parties register in their organisation: what is checked before it is stored.

use super::{FEATURES_MAX, Services, features_report, unknown};
use crate::unavailable;
use ::features::{
    Declared, Feature, REPORTERS_MAX, Registered, ReportedUse, State, check_name, is_registered_name,
};
use model::ids::{Caller, LogPosition};
use service::{ApiError, ApiResult, FeatureDraft, FeatureReport, FeatureView};
use std::collections::BTreeMap;
use store::{FeatureReportWrite, StoredFeature};

/// Most features that one organisation registers.
const REGISTERED_MAX: usize = 100;
/// Most kinds of data, and most names of each, that are reported as left.
const LEFTOVERS_MAX: usize = 20;
/// Longest text of what a third party declares or reports, characters.
const TEXT_MAX: usize = 200;

fn check_text(what: &str, text: &str, may_be_empty: bool) -> ApiResult<()> {
    let is_plain = text.chars().count() <= TEXT_MAX && !text.chars().any(char::is_control);
    if is_plain && (may_be_empty || !text.is_empty()) {
        return Ok(());
    }
    let least = u8::from(!may_be_empty);
    Err(ApiError::invalid(format!(
        "{what} must have {least} to {TEXT_MAX} characters, without control characters."
    )))
}

pub(super) fn check_declared(declared: &Declared) -> ApiResult<()> {
    check_text("spec.version", &declared.version, false)?;
    check_text("spec.title", &declared.title, true)
}

fn check_report(report: &FeatureReport) -> ApiResult<()> {
    if report.uses.len() > REPORTERS_MAX {
        return Err(ApiError::invalid(format!("At most {REPORTERS_MAX} processes report a feature.")));
    }
    for (process, version, _) in &report.uses {
        check_text("process", process, false)?;
        check_text("version", version, true)?;
    }
    let leftovers = report.leftovers.as_deref().unwrap_or_default();
    if leftovers.len() > LEFTOVERS_MAX || leftovers.iter().any(|l| l.left.names.len() > LEFTOVERS_MAX) {
        let words =
            format!("At most {LEFTOVERS_MAX} kinds of data, with {LEFTOVERS_MAX} names each, are reported.");
        return Err(ApiError::invalid(words));
    }
    for left in leftovers {
        check_text("data", &left.data, false)?;
        left.left.names.iter().try_for_each(|name| check_text("names", name, false))?;
    }
    Ok(())
}

fn conflict(name: &str, e: store::Error) -> ApiError {
    match e {
        store::Error::Conflict => ApiError::conflict(format!("{name} was changed meanwhile. Read it again.")),
        e => unavailable(e),
    }
}

impl Services {
    async fn registered_row(&self, caller: &Caller, name: &str) -> ApiResult<(StoredFeature, Registered)> {
        let rows = self.store().feature_rows(caller.org, "", FEATURES_MAX).await.map_err(unavailable)?;
        let row = rows.into_iter().find(|r| r.feature.name == name).ok_or_else(|| unknown(name))?;
        match row.feature.registered.clone() {
            Some(registered) => Ok((row, registered)),
            None => Err(ApiError::invalid(format!(
                "{name} came with the program: it is turned on and off, not deleted, and its processes report by themselves."
            ))),
        }
    }

    async fn feature_view(&self, caller: &Caller, name: &str) -> ApiResult<FeatureView> {
        let report = features_report(&**self.store(), caller.org, self.now()).await?;
        report.features.into_iter().find(|f| f.feature.name == name).ok_or_else(|| unknown(name))
    }

    pub(super) async fn register(&self, caller: &Caller, draft: &FeatureDraft) -> ApiResult<FeatureView> {
        let name = draft.name.as_str();
        check_name(name).map_err(|e| ApiError::invalid(format!("metadata.name {e}.")))?;
        let declared = draft.declared.as_ref();
        let declared = declared.ok_or_else(|| ApiError::invalid("spec.version is required."))?;
        check_declared(declared)?;
        let rows = self.store().feature_rows(caller.org, "", FEATURES_MAX).await.map_err(unavailable)?;
        if rows.iter().any(|r| r.feature.name == name) {
            return Err(ApiError::conflict(format!("{name} is registered already.")));
        }
        if rows.iter().filter(|r| is_registered_name(&r.feature.name)).count() >= REGISTERED_MAX {
            let words =
                format!("An organisation registers at most {REGISTERED_MAX} features. Delete one first.");
            return Err(ApiError::forbidden(words));
        }
        let now = self.now();
        let mut feature = Feature::registered(name, declared, env!("CARGO_PKG_VERSION"), now);
        feature.desired = draft.desired;
        feature.settle(now);
        let metadata = draft.metadata.as_deref().unwrap_or("{}");
        if draft.dry_run {
            let metadata = metadata.to_string();
            let row = StoredFeature { rv: LogPosition(0), metadata, feature, created_at: now };
            return super::view(&**self.store(), &mut BTreeMap::new(), row, &[], now).await;
        }
        let (by, store) = (caller.actor(), self.store());
        let made = store.register_feature(&by, caller.org, &feature, metadata, now).await;
        made.map_err(|e| conflict(name, e))?;
        self.scanner.hub.recorded();
        self.feature_view(caller, name).await
    }

    pub(super) async fn report(&self, caller: &Caller, report: &FeatureReport) -> ApiResult<FeatureView> {
        check_report(report)?;
        let name = report.name.as_str();
        let (_, registered) = self.registered_row(caller, name).await?;
        let now = self.now();
        let is_other = |u: &&ReportedUse| !report.uses.iter().any(|(process, ..)| *process == u.process);
        let others = if report.is_whole { 0 } else { registered.live(now).filter(is_other).count() };
        if others + report.uses.len() > REPORTERS_MAX {
            return Err(ApiError::invalid(format!("At most {REPORTERS_MAX} processes report a feature.")));
        }
        let use_of = |(process, version, used): &(String, String, bool)| ReportedUse {
            process: process.clone(),
            version: version.clone(),
            used: *used,
            seen_at: now,
        };
        let write = FeatureReportWrite {
            name: name.into(),
            uses: report.uses.iter().map(use_of).collect(),
            leftovers: report.leftovers.clone(),
            is_whole: report.is_whole,
            expected: report.expected,
        };
        self.store().report_feature(caller.org, &write, now).await.map_err(|e| conflict(name, e))?;
        self.scanner.hub.recorded();
        self.feature_view(caller, name).await
    }

    pub(super) async fn forget(
        &self,
        caller: &Caller,
        name: &str,
        expected: Option<LogPosition>,
    ) -> ApiResult<()> {
        let (row, _) = self.registered_row(caller, name).await?;
        if expected.is_some_and(|rv| rv != row.rv) {
            return Err(conflict(name, store::Error::Conflict));
        }
        if row.feature.state != State::Off {
            let state = row.feature.state.as_str();
            let words = format!("{name} is {state}: set spec.desired to Off, and delete it once it is Off.");
            return Err(ApiError::invalid(words));
        }
        let view = self.feature_view(caller, name).await?;
        if let Some(left) = view.leftovers.first() {
            let left = left.sentence();
            return Err(ApiError::invalid(format!("{name} is off, but leftovers exist: {left}.")));
        }
        let gone = self.store().delete_feature(&caller.actor(), caller.org, name, row.rv, self.now()).await;
        gone.map_err(|e| conflict(name, e))?;
        self.scanner.hub.recorded();
        Ok(())
    }
}
