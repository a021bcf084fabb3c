//! Features that third parties register in their organisation: what is checked before it is stored.

use super::{FEATURES_MAX, Services, unknown};
use crate::unavailable;
use ::features::{
    Declared, Feature, REGISTERED_MAX, REPORTERS_MAX, Reported, ReportedUse, State, check_name,
    is_registered_name,
};
use model::Timestamp;
use model::ids::{Caller, LogPosition};
use service::{ApiError, ApiResult, FeatureDraft, FeatureReport, FeatureView};
use std::collections::BTreeMap;
use store::{FeatureReportWrite, StoredFeature};

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
    async fn registered_row(&self, caller: &Caller, name: &str) -> ApiResult<StoredFeature> {
        let row = self.store().feature_row(caller.org, name).await.map_err(unavailable)?;
        let row = row.ok_or_else(|| unknown(name))?;
        if row.feature.registered.is_none() {
            return Err(ApiError::invalid(format!(
                "{name} came with the program: it is turned on and off, not deleted, and its processes report by themselves."
            )));
        }
        Ok(row)
    }

    /// One row as the API serves it.
    async fn row_view(&self, row: StoredFeature, now: Timestamp) -> ApiResult<FeatureView> {
        super::view(&**self.store(), &mut BTreeMap::new(), row, &[], now).await
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
        let too_many = || {
            let words =
                format!("An organisation registers at most {REGISTERED_MAX} features. Delete one first.");
            ApiError::forbidden(words)
        };
        if rows.iter().filter(|r| is_registered_name(&r.feature.name)).count() >= REGISTERED_MAX {
            return Err(too_many());
        }
        let now = self.now();
        let mut feature = Feature::registered(name, declared, env!("CARGO_PKG_VERSION"), now);
        let by = caller.actor();
        if draft.desired.is_some() && !declared.dynamic {
            return Err(super::asking::by_flag_only(&feature));
        }
        feature.set_desired(draft.desired, &by.who, now);
        if let Some(registered) = &mut feature.registered {
            registered.by.clone_from(&by.who);
        }
        feature.settle(now);
        let metadata = draft.metadata.as_deref().unwrap_or("{}");
        if draft.dry_run {
            let metadata = metadata.to_string();
            let row = StoredFeature { rv: LogPosition(0), metadata, feature, created_at: now };
            return self.row_view(row, now).await;
        }
        let store = self.store();
        let made = store.register_feature(&by, caller.org, &feature, metadata, now).await;
        let row = made.map_err(|e| conflict(name, e))?.ok_or_else(too_many)?;
        self.scanner.hub.recorded();
        self.row_view(row, now).await
    }

    pub(super) async fn report(&self, caller: &Caller, report: &FeatureReport) -> ApiResult<FeatureView> {
        check_report(report)?;
        let name = report.name.as_str();
        let now = self.now();
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
            dry_run: report.dry_run,
        };
        let (row, reported) = match self.store().report_feature(caller.org, &write, now).await {
            Ok(taken) => taken,
            Err(store::Error::NotFound) => {
                // None of this name, or one of the program.
                self.registered_row(caller, name).await?;
                return Err(unknown(name));
            }
            Err(e) => return Err(conflict(name, e)),
        };
        match reported {
            Reported::Refused => {
                let words =
                    format!("At most {REPORTERS_MAX} processes report a feature, each once in a report.");
                return Err(ApiError::invalid(words));
            }
            Reported::Changed if !report.dry_run => self.scanner.hub.recorded(),
            Reported::Changed | Reported::Again | Reported::Seen => {}
        }
        self.row_view(row, now).await
    }

    pub(super) async fn forget(
        &self,
        caller: &Caller,
        name: &str,
        expected: Option<LogPosition>,
    ) -> ApiResult<()> {
        let row = self.registered_row(caller, name).await?;
        if expected.is_some_and(|rv| rv != row.rv) {
            return Err(conflict(name, store::Error::Conflict));
        }
        if row.feature.state != State::Off {
            let state = row.feature.state.as_str();
            let words = format!("{name} is {state}: set spec.desired to Off, and delete it once it is Off.");
            return Err(ApiError::invalid(words));
        }
        let (rv, now) = (row.rv, self.now());
        let view = self.row_view(row, now).await?;
        if let Some(left) = view.leftovers.first() {
            let left = left.sentence();
            return Err(ApiError::invalid(format!("{name} is off, but leftovers exist: {left}.")));
        }
        let gone = self.store().delete_feature(&caller.actor(), caller.org, name, rv, now).await;
        gone.map_err(|e| conflict(name, e))?;
        self.scanner.hub.recorded();
        Ok(())
    }
}
