//! Features: where each stands, and turning them on and off.

mod asking;
mod registered;

use super::{Services, unavailable};
use ::features::{
    Closed, Earlier, FEATURES, Feature, LIVE_SECONDS, Process, Registered, Remaining, SKEW_SECONDS, Spec,
    State, StoreError, Task, Use, downgrade_blocker, kept_until, leading, spec, upgrade_blocker,
};
pub use asking::{ask_feature, clean_feature};
use async_trait::async_trait;
use jiff::SignedDuration;
use model::Timestamp;
use model::ids::{Caller, LogPosition, OrgId};
use service::policy::{Action, authorize};
use service::{
    ApiError, ApiResult, FeatureBackend, FeatureDraft, FeatureReport, FeatureTask, FeatureUse, FeatureView,
    FeaturesReport,
};
use std::collections::BTreeMap;
use store::{Store, StoredFeature};

/// Most features of one organisation that are read.
const FEATURES_MAX: u32 = 1_000;

fn failed(e: StoreError) -> ApiError {
    match e {
        StoreError::Unavailable(why) => unavailable(store::Error::Unavailable(why)),
        e @ (StoreError::UnknownData(_) | StoreError::Unreadable(_)) => {
            ApiError::unavailable(format!("{e}."))
        }
    }
}

/// What is left of data, or why that is not known.
type Counted = Result<Remaining, &'static str>;

/// What is left of data, each kind read once.
async fn left<'a>(
    store: &dyn Store,
    known: &'a mut BTreeMap<String, Counted>,
    data: &str,
) -> ApiResult<&'a Counted> {
    if !known.contains_key(data) {
        let left = match store.remaining(data).await {
            Ok(left) => Ok(left),
            // A task of a newer version: that version counts what is left.
            Err(StoreError::UnknownData(_)) => Err("this version does not know these data"),
            // Nothing else of the report needs it.
            Err(StoreError::Unreadable(_)) => Err("needs the secret key"),
            Err(e) => return Err(failed(e)),
        };
        known.insert(data.to_string(), left);
    }
    Ok(&known[data])
}

async fn tasks(
    store: &dyn Store,
    known: &mut BTreeMap<String, Counted>,
    tasks: Vec<Task>,
) -> ApiResult<Vec<FeatureTask>> {
    let mut out = Vec::with_capacity(tasks.len());
    for task in tasks {
        out.push(match left(store, known, task.data()).await?.clone() {
            Ok(left) => FeatureTask { task, left, uncounted: None },
            Err(why) => FeatureTask { task, left: Remaining::default(), uncounted: Some(why.into()) },
        });
    }
    Ok(out)
}

async fn view(
    store: &dyn Store,
    known: &mut BTreeMap<String, Counted>,
    stored: StoredFeature,
    live: &[Process],
    now: Timestamp,
) -> ApiResult<FeatureView> {
    let feature = &stored.feature;
    let is_ours = feature.registered.is_none();
    let tasks_now = if is_ours { tasks(store, known, feature.tasks.clone()).await? } else { Vec::new() };
    let leftovers = tasks(store, known, off_tasks(feature)).await?;
    Ok(shown(stored, live, (tasks_now, leftovers), now))
}

/// Tasks that would delete what is left of a feature of this version that is off.
fn off_tasks(feature: &Feature) -> Vec<Task> {
    let is_off = feature.state == State::Off && feature.registered.is_none();
    spec(&feature.name).filter(|_| is_off).map(Spec::tasks).unwrap_or_default()
}

/// A row with its tasks and those of [`off_tasks`] as they were counted.
fn shown(
    stored: StoredFeature,
    live: &[Process],
    (tasks, mut leftovers): (Vec<FeatureTask>, Vec<FeatureTask>),
    now: Timestamp,
) -> FeatureView {
    let StoredFeature { rv, metadata, feature, created_at } = stored;
    if let Some(registered) = feature.registered.clone() {
        return registered_view((rv, metadata, created_at), feature, &registered, now);
    }
    let spec = spec(&feature.name);
    let uncounted = leftovers.iter().find_map(|t| t.uncounted.clone());
    leftovers.retain(|t| t.left.count > 0);
    let uses = live.iter().map(|p| FeatureUse {
        process: p.id.clone(),
        version: p.version.clone(),
        seen_at: p.seen_at,
        used: p.uses.get(&feature.name).copied(),
        is_fixed: p.fixed.contains_key(&feature.name),
    });
    FeatureView {
        rv,
        metadata,
        created_at,
        title: spec.map(|s| s.title.to_string()).unwrap_or_default(),
        guards: spec.map(|s| s.guards.to_string()).unwrap_or_default(),
        dynamic: spec.is_none_or(|s| s.dynamic),
        kept_until: spec.is_none().then(|| kept_until(&feature.known_by)),
        leader: leading(&feature.name, live).map(str::to_owned),
        tasks,
        uses: uses.collect(),
        leftovers,
        uncounted,
        feature,
    }
}

/// A row that was stored a moment ago, as it stands. What can't be read then is left out: an error would say that nothing
/// was changed.
async fn stored_view(store: &dyn Store, org: OrgId, row: StoredFeature, now: Timestamp) -> FeatureView {
    if let Ok(view) = row_view(store, org, row.clone(), now).await {
        return view;
    }
    let uncounted = |tasks: Vec<Task>| -> Vec<FeatureTask> {
        let why = Some("the database did not respond".to_string());
        let task = |task| FeatureTask { task, left: Remaining::default(), uncounted: why.clone() };
        tasks.into_iter().map(task).collect()
    };
    let tasks = (uncounted(row.feature.tasks.clone()), uncounted(off_tasks(&row.feature)));
    shown(row, &[], tasks, now)
}

/// One row as it stands, with what the live processes report about it.
async fn row_view(
    store: &dyn Store,
    org: OrgId,
    row: StoredFeature,
    now: Timestamp,
) -> ApiResult<FeatureView> {
    let live = live_in(store, org, now).await?;
    view(store, &mut BTreeMap::new(), row, &live, now).await
}

/// The live processes as an organisation sees them: they are those of the installation, whose features belong to its first
/// organisation.
async fn live_in(store: &dyn Store, org: OrgId, now: Timestamp) -> ApiResult<Vec<Process>> {
    if org == OrgId::BUILT_IN { live(store, now).await } else { Ok(Vec::new()) }
}

/// The live processes. Announcements bear the time of each process's own clock: an ended one may show for as long as
/// clocks may differ.
async fn live(store: &dyn Store, now: Timestamp) -> ApiResult<Vec<Process>> {
    let since = now - SignedDuration::from_secs(LIVE_SECONDS + SKEW_SECONDS);
    store.processes(since).await.map_err(failed)
}

/// Where a feature of a third party stands: what its own processes reported.
fn registered_view(
    (rv, metadata, created_at): (LogPosition, String, Timestamp),
    feature: Feature,
    registered: &Registered,
    now: Timestamp,
) -> FeatureView {
    let listed = |tasks: Vec<Task>| -> Vec<FeatureTask> {
        let task =
            |task: Task| FeatureTask { left: registered.remaining(task.data()), task, uncounted: None };
        tasks.into_iter().map(task).collect()
    };
    let uses = registered.live(now).map(|u| FeatureUse {
        process: u.process.clone(),
        version: u.version.clone(),
        seen_at: u.seen_at,
        used: Some(u.used),
        is_fixed: false,
    });
    let is_off = feature.state == State::Off;
    FeatureView {
        rv,
        metadata,
        created_at,
        title: registered.title.clone(),
        guards: String::new(),
        dynamic: !registered.by_flag_only,
        kept_until: None,
        leader: None,
        tasks: listed(feature.tasks.clone()),
        uses: uses.collect(),
        leftovers: if is_off { listed(registered.tasks()) } else { Vec::new() },
        uncounted: None,
        feature,
    }
}

/// One feature of an organisation as the store has it; `None` when there is none of this name.
///
/// # Errors
/// `Unavailable` when the store does not answer.
pub async fn feature_view(
    store: &dyn Store,
    org: OrgId,
    name: &str,
    now: Timestamp,
) -> ApiResult<Option<FeatureView>> {
    match store.feature_row(org, name).await.map_err(unavailable)? {
        Some(row) => row_view(store, org, row, now).await.map(Some),
        None => Ok(None),
    }
}

/// All features of an organisation as the store has them, for pages and for the command line.
///
/// # Errors
/// `Unavailable` when the store does not answer.
pub async fn features_report(store: &dyn Store, org: OrgId, now: Timestamp) -> ApiResult<FeaturesReport> {
    let rows = store.feature_rows(org, "", FEATURES_MAX).await.map_err(unavailable)?;
    let live = live_in(store, org, now).await?;
    let mut known = BTreeMap::new();
    let mut features = Vec::with_capacity(rows.len());
    for row in rows {
        features.push(view(store, &mut known, row, &live, now).await?);
    }
    let bare: Vec<_> = features.iter().map(|f| f.feature.clone()).collect();
    let may_be_left = |f: &&FeatureView| !f.leftovers.is_empty() || f.uncounted.is_some();
    let left: Vec<&str> = features.iter().filter(may_be_left).map(|f| f.feature.name.as_str()).collect();
    let version = env!("CARGO_PKG_VERSION");
    let schema_now = store::schema_version();
    let earlier = store::earlier_release().map(|(version, schema)| Earlier { version, schema, schema_now });
    Ok(FeaturesReport {
        upgrade: upgrade_blocker(&bare, &live),
        downgrade: earlier.and_then(|earlier| downgrade_blocker(&bare, &left, version, earlier)),
        earlier: earlier.map(|e| e.version.into()),
        version: version.into(),
        processes: live.len() as u64,
        may_change: false,
        features,
    })
}

fn unknown(name: &str) -> ApiError {
    let shown: String = name.chars().take(80).collect();
    let names: Vec<_> = FEATURES.iter().map(|s| s.name).collect();
    ApiError::not_found(format!("“{shown}” is not a feature here. Features: {}.", names.join(", ")))
}

#[async_trait]
impl FeatureBackend for Services {
    async fn features(&self, caller: &Caller) -> ApiResult<FeaturesReport> {
        authorize(caller, Action::Features)?;
        let report = features_report(&**self.store(), caller.org, self.now()).await?;
        let may_change = authorize(caller, Action::SetFeature).is_ok();
        Ok(FeaturesReport { may_change, ..report })
    }

    async fn feature(&self, caller: &Caller, name: &str) -> ApiResult<Option<FeatureView>> {
        authorize(caller, Action::Feature)?;
        feature_view(&**self.store(), caller.org, name, self.now()).await
    }

    async fn set_feature(&self, caller: &Caller, draft: &FeatureDraft) -> ApiResult<FeatureView> {
        authorize(caller, Action::SetFeature)?;
        let by = (&caller.actor(), self.gates.lacks());
        let set = ask_feature(&**self.store(), by, caller.org, draft, self.now()).await;
        self.scanner.hub.recorded();
        set
    }

    async fn clean_feature(
        &self,
        caller: &Caller,
        name: &str,
        expected: Option<LogPosition>,
    ) -> ApiResult<FeatureView> {
        authorize(caller, Action::CleanFeature)?;
        let (by, of) = (&caller.actor(), (name, expected));
        let asked = clean_feature(&**self.store(), by, caller.org, of, self.now()).await;
        self.scanner.hub.recorded();
        asked
    }

    async fn register_feature(&self, caller: &Caller, draft: &FeatureDraft) -> ApiResult<FeatureView> {
        authorize(caller, Action::RegisterFeature)?;
        self.register(caller, draft).await
    }

    async fn report_feature(&self, caller: &Caller, report: &FeatureReport) -> ApiResult<FeatureView> {
        authorize(caller, Action::ReportFeature)?;
        self.report(caller, report).await
    }

    async fn delete_feature(
        &self,
        caller: &Caller,
        name: &str,
        expected: Option<LogPosition>,
    ) -> ApiResult<()> {
        authorize(caller, Action::DeleteFeature)?;
        self.forget(caller, name, expected).await
    }
}

impl Services {
    /// Begins a use of a feature.
    ///
    /// # Errors
    /// `Forbidden`, with the name of the feature, when it is off; `Unavailable` when it can't be used for the moment.
    pub(crate) fn using(&self, feature: &str) -> ApiResult<Use> {
        self.gates.admit(feature).map_err(|closed| match closed {
            Closed::Off | Closed::OffHere => {
                ApiError::forbidden(format!("The feature {feature} is turned off on this server."))
            }
            Closed::NotNow => ApiError::unavailable(format!(
                "The feature {feature} can't be used at this moment. Try again in a few seconds."
            )),
        })
    }
}
