//! Features of the sample: one on, one that waits for claims, one that left something.

use super::backend::Sample;
use super::now;
use async_trait::async_trait;
use jiff::SignedDuration;
use model::ids::{Caller, LogPosition};
use service::lifecycle::{Declared, FEATURES, Feature, Remaining, Stage, State, Task};
use service::{
    ApiResult, FeatureBackend, FeatureDraft, FeatureReport, FeatureTask, FeatureUse, FeatureView,
    FeaturesReport,
};

fn view(name: &str, state: State, desired: Option<bool>) -> FeatureView {
    let spec = FEATURES.iter().find(|s| s.name == name).expect("a feature");
    let used = |process: &str| FeatureUse {
        process: process.into(),
        version: "0.1.0".into(),
        seen_at: now(),
        used: Some(state.is_used()),
        is_fixed: false,
    };
    FeatureView {
        rv: LogPosition(7),
        metadata: "{}".into(),
        created_at: now(),
        feature: Feature { state, desired, ..Feature::new(spec, "0.1.0", now()) },
        title: spec.title.into(),
        guards: spec.guards.into(),
        dynamic: true,
        kept_until: None,
        uses: vec![used("alder-main-7c2f"), used("alder-main-b01e")],
        leader: Some("alder-main-b01e".into()),
        tasks: vec![],
        leftovers: vec![],
        uncounted: None,
    }
}

fn left(task: Task, names: &[&str]) -> FeatureTask {
    let names: Vec<String> = names.iter().map(|n| (*n).to_string()).collect();
    FeatureTask { task, left: Remaining { count: names.len() as u64, names }, uncounted: None }
}

#[async_trait]
impl FeatureBackend for Sample {
    async fn features(&self, _: &Caller) -> ApiResult<FeaturesReport> {
        self.up()?;
        let mut turning = view("network-claim", State::TurningOff, Some(false));
        let wait = Task::WaitUntilGone { data: "network-claims".into() };
        let clean = Task::Clean { data: "released-prefixes".into() };
        turning.tasks = vec![left(wait, &["office", "lab"]), left(clean, &[])];
        turning.feature.tasks = turning.tasks.iter().map(|t| t.task.clone()).collect();
        turning.feature.changed_at = now() - SignedDuration::from_secs(638);
        turning.feature.cleared_at = Some(now() - SignedDuration::from_secs(600));
        turning.feature.desired = None;
        turning.feature.set_desired(Some(false), "DNS operations", now() - SignedDuration::from_secs(640));
        let mut waiting = view("third-party-vantages", State::TurningOn, Some(true));
        waiting.uses[1].used = Some(false);
        waiting.uses[1].is_fixed = true;
        let spec = FEATURES.iter().find(|s| s.name == "doh-server").expect("a feature");
        let mut unknown = FeatureView {
            title: String::new(),
            guards: String::new(),
            kept_until: Some("0.5".into()),
            leader: None,
            ..view("doh-server", State::Off, Some(false))
        };
        unknown.feature = Feature { name: "zone-mirror".into(), ..Feature::new(spec, "0.1.0", now()) };
        unknown.uses.iter_mut().for_each(|u| u.used = None);
        let declared = Declared {
            default: false,
            stage: Stage::Beta,
            version: "2.1".into(),
            title: "invoices by e-mail".into(),
            dynamic: true,
        };
        let mut foreign = FeatureView {
            feature: Feature::registered("invoices.billing.example", &declared, "0.1.0", now()),
            title: declared.title.clone(),
            guards: String::new(),
            leader: None,
            ..view("doh-server", State::Off, None)
        };
        foreign.uses.truncate(1);
        foreign.dynamic = false;
        if let Some(registered) = &mut foreign.feature.registered {
            registered.by = "quarry-ci".into();
        }
        foreign.leftovers = vec![left(Task::WaitUntilGone { data: "invoices".into() }, &["2026-10"])];
        let mut off = view("domain-connect-apply", State::Off, Some(false));
        off.leftovers = vec![left(Task::Clean { data: "connect-links".into() }, &["alder.example"])];
        let mut cleaning = view("alerts-slack", State::Off, Some(false));
        let clean = Task::Clean { data: "channel-tests".into() };
        assert!(cleaning.feature.clean_up(std::slice::from_ref(&clean), now()));
        cleaning.tasks = vec![left(clean, &["channel-test/gone"])];
        Ok(FeaturesReport {
            features: vec![
                view("alerts-email", State::On, None),
                view("doh-server", State::On, None),
                off,
                foreign,
                turning,
                waiting,
                unknown,
                cleaning,
            ],
            version: "0.1.0".into(),
            processes: 2,
            upgrade: Some("network-claim is TurningOff: wait until that ends, or set it back".into()),
            downgrade: None,
            earlier: Some("0.0".into()),
            may_change: true,
        })
    }

    async fn feature(&self, caller: &Caller, name: &str) -> ApiResult<Option<FeatureView>> {
        let all = self.features(caller).await?.features;
        Ok(all.into_iter().find(|f| f.feature.name == name))
    }
    async fn set_feature(&self, caller: &Caller, draft: &FeatureDraft) -> ApiResult<FeatureView> {
        self.note(format!("feature {} {:?}", draft.name, draft.desired));
        let report = self.features(caller).await?;
        let found = report.features.into_iter().find(|f| f.feature.name == draft.name);
        found.ok_or_else(|| service::ApiError::not_found("no such feature"))
    }

    async fn clean_feature(
        &self,
        caller: &Caller,
        name: &str,
        _: Option<LogPosition>,
    ) -> ApiResult<FeatureView> {
        let draft = FeatureDraft { name: name.into(), ..FeatureDraft::default() };
        self.set_feature(caller, &draft).await
    }

    async fn register_feature(&self, caller: &Caller, draft: &FeatureDraft) -> ApiResult<FeatureView> {
        self.set_feature(caller, draft).await
    }

    async fn report_feature(&self, caller: &Caller, report: &FeatureReport) -> ApiResult<FeatureView> {
        let draft = FeatureDraft { name: report.name.clone(), ..FeatureDraft::default() };
        self.set_feature(caller, &draft).await
    }

    async fn delete_feature(&self, _: &Caller, name: &str, _: Option<LogPosition>) -> ApiResult<()> {
        self.note(format!("feature {name} deleted"));
        Ok(())
    }
}
