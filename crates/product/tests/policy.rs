//! Every action, called as a viewer and as a member: what the policy forbids is refused before anything is done.

use async_trait::async_trait;
use model::Timestamp;
use model::detail::RawAnswer;
use model::event::EventQuery;
use model::ids::{Caller, EventId, OrgId, Role, SnapshotId};
use model::inventory::ListQuery;
use model::item::{ItemPatch, Ownership};
use model::names::DomainName;
use model::notify::Rule;
use model::observation::Part;
use model::registration::RegistrationState;
use monitor::observer::Progress;
use monitor::{DnsParts, Hub, Observer, Policy, Scanner, SystemClock, Worker};
use product::{Bounds, Services, Tools};
use service::policy::{Action, Effect};
use service::{AlertBackend, ApiResult, Backend, ChannelDraft, ErrorKind};
use std::sync::Arc;

/// A network without servers.
struct NoNetwork;

#[async_trait]
impl Observer for NoNetwork {
    async fn registration(
        &self,
        _: &DomainName,
        _: Timestamp,
        _: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        (Part::default(), vec![])
    }

    async fn dns(&self, _: &DomainName, _: Timestamp, _: &dyn Progress) -> DnsParts {
        DnsParts::default()
    }
}

async fn services(folder: &tempfile::TempDir) -> Services {
    let scanner = Scanner {
        store: store::open(&folder.path().to_string_lossy()).await.unwrap(),
        observer: Arc::new(NoNetwork),
        clock: Arc::new(SystemClock),
        hub: Hub::default(),
        policy: Policy::default(),
    };
    let engine = dns::Engine::new(dns::Settings::default());
    let dialer = net::Dialer::new(net::Settings::default()).unwrap();
    let deliverer = notify::Deliverer::new(dialer.clone(), None, None);
    let recursive = dns::recursive::Recursive::new(dialer, engine.settings());
    let clock = Arc::new(dns::compare::SystemClock);
    let comparer = dns::compare::Comparer::new(engine.clone(), recursive, vec![], clock);
    Services {
        worker: Worker::new(scanner.clone(), "test"),
        scanner,
        engine,
        tools: Tools::new(comparer, Bounds::default()),
        deliverer,
        demo: false,
    }
}

/// Calls the method of an action; what it returns beyond success or refusal does not matter here.
async fn call(s: &Services, caller: &Caller, action: Action) -> ApiResult<()> {
    let name = DomainName::trusted("q7.io");
    let names = std::slice::from_ref(&name);
    let host = "www.q7.io";
    match action {
        Action::Session => s.session(caller).await.map(drop),
        Action::List => s.list(caller, &ListQuery::default()).await.map(drop),
        Action::Summary => s.summary(caller).await.map(drop),
        Action::Suggest => s.suggest(caller, "q7").await.map(drop),
        Action::Add => s.add(caller, "q7.io", Ownership::Owned, &[]).await.map(drop),
        Action::PreviewAdd => s.preview_add(caller, "q7.io", Ownership::Owned, &[]).await.map(drop),
        Action::Names => s.names(caller, &ListQuery::default()).await.map(drop),
        Action::Holdings => s.holdings(caller, names).await.map(drop),
        Action::Remove => s.remove(caller, names).await.map(drop),
        Action::Restore => s.restore(caller, &[]).await.map(drop),
        Action::Patch => s.patch(caller, &name, &ItemPatch::default()).await,
        Action::Tag => s.tag(caller, names, "prod", true).await.map(drop),
        Action::Rescan => s.rescan(caller, names).await.map(drop),
        Action::RescanMatching => s.rescan_matching(caller, &ListQuery::default()).await.map(drop),
        Action::Scans => s.scans(caller, &[]).await.map(drop),
        Action::Detail => s.detail(caller, &name).await.map(drop),
        Action::Snapshots => s.snapshots(caller, &name).await.map(drop),
        Action::Snapshot => s.snapshot(caller, &name, SnapshotId(1)).await.map(drop),
        Action::Raw => s.raw(caller, &name, SnapshotId(1)).await.map(drop),
        Action::Events => {
            s.events(caller, &EventQuery { page: 1, per_page: 50, ..EventQuery::default() }).await.map(drop)
        }
        Action::Acknowledge => s.acknowledge(caller, &[]).await.map(drop),
        Action::LookUp => s.look_up(caller, "q7.io").await.map(drop),
        Action::Trace => s.trace(caller, host, "A").await.map(drop),
        Action::Check => s.check(caller, "q7.io", &[], &[]).await.map(drop),
        Action::Authority => s.authority(caller, host, "A").await.map(drop),
        Action::Compare => s.compare(caller, host, "A", false).await.map(drop),
        Action::BrowserResolvers => s.browser_resolvers(caller).await.map(drop),
        Action::Fqdn => s.fqdn(caller, host).await.map(drop),
        Action::Notifications => s.notifications(caller).await.map(drop),
        Action::SaveChannel => s.save_channel(caller, &ChannelDraft::default()).await.map(drop),
        Action::RemoveChannel => s.remove_channel(caller, "c").await,
        Action::TestChannel => s.test_channel(caller, "c").await.map(drop),
        Action::SaveRule => s.save_rule(caller, &Rule::default()).await.map(drop),
        Action::RemoveRule => s.remove_rule(caller, "r").await,
        Action::PreviewRule => s.preview_rule(caller, &Rule::default()).await.map(drop),
        Action::Resend => s.resend(caller, None).await.map(drop),
        Action::Deliveries => s.deliveries(caller, EventId(0), EventId(9)).await.map(drop),
    }
}

#[tokio::test]
async fn a_viewer_reads_and_does_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let services = services(&folder).await;
    let viewer = Caller::new(OrgId::BUILT_IN, "Ann", Role::Viewer);
    for action in Action::ALL {
        let rule = action.rule();
        let refused =
            call(&services, &viewer, action).await.err().map(|e| e.kind) == Some(ErrorKind::Forbidden);
        assert_eq!(refused, rule.effect != Effect::Read, "{}", rule.name);
    }
    let total = services.summary(&viewer).await.unwrap().total;
    assert_eq!(total, 0, "nothing was added");
}

#[tokio::test]
async fn a_member_is_forbidden_only_what_admins_do() {
    let folder = tempfile::tempdir().unwrap();
    let services = services(&folder).await;
    let member = Caller::new(OrgId::BUILT_IN, "Ben", Role::Member);
    let may = |a: &Action| a.rule().effect != Effect::Query && a.rule().least <= Role::Member;
    for action in Action::ALL.into_iter().filter(may) {
        let forbidden = call(&services, &member, action).await.is_err_and(|e| e.kind == ErrorKind::Forbidden);
        assert!(!forbidden, "{}", action.rule().name);
    }
}

#[tokio::test]
async fn a_channel_is_described_without_its_secrets_and_wrong_ones_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let s = services(&folder).await;
    let admin = Caller::new(OrgId::BUILT_IN, "Ann", Role::Admin);
    let draft = |kind: &str, url: &str| ChannelDraft {
        name: format!("A {kind}"),
        kind: kind.into(),
        url: url.into(),
        with_rule: true,
        ..ChannelDraft::default()
    };
    let slack =
        s.save_channel(&admin, &draft("slack", "https://hooks.slack.com/services/T/B/secret")).await.unwrap();
    assert_eq!((slack.address.as_str(), slack.rules), ("hooks.slack.com/…", 1));
    let hook = s.save_channel(&admin, &draft("webhook", "https://hooks.example/in?key=1")).await.unwrap();
    assert_eq!(hook.address, "https://hooks.example/in");
    let secret = hook.signing_secret.unwrap();
    assert!(secret.starts_with("whsec_"));
    // A change without a new address keeps the old one, and the secret.
    let renamed = ChannelDraft { id: hook.id.clone(), name: "Incidents".into(), ..draft("webhook", "") };
    let renamed = s.save_channel(&admin, &renamed).await.unwrap();
    assert_eq!((renamed.name.as_str(), renamed.signing_secret), ("Incidents", Some(secret)));
    // Others than admins never see it.
    let viewer = Caller::new(OrgId::BUILT_IN, "Vic", Role::Viewer);
    let seen = s.notifications(&viewer).await.unwrap();
    assert!(seen.channels.iter().all(|c| c.signing_secret.is_none()) && !seen.may_change);
    for (kind, url, word) in [
        ("email", "", "SMTP"),
        ("slack", "ftp://x.example/", "https://"),
        ("ntfy", "https://ntfy.example/", "topic"),
        ("pigeon", "", "no kind of channel"),
        ("pagerduty", "", "integration key"),
    ] {
        let to = "ops@alder.example".to_string();
        let e = s.save_channel(&admin, &ChannelDraft { to, ..draft(kind, url) }).await.unwrap_err();
        assert!(e.detail.contains(word), "{kind}: {e}");
    }
    // A target inside is refused when it is dialled, and the answer says so.
    let inside = s.save_channel(&admin, &draft("webhook", "http://127.0.0.1:9/")).await.unwrap();
    let tested = s.test_channel(&admin, &inside.id).await.unwrap();
    assert!(!tested.delivered && tested.words.contains("127.0.0.1"), "{}", tested.words);
    // A removed channel leaves its rules without it.
    s.remove_channel(&admin, &slack.id).await.unwrap();
    let after = s.notifications(&admin).await.unwrap();
    assert_eq!((after.channels.len(), after.rules.iter().filter(|r| !r.rule.enabled).count()), (2, 1));
    let wrong = Rule { name: "X".into(), channels: vec!["none".into()], ..Rule::default() };
    assert!(s.save_rule(&admin, &wrong).await.unwrap_err().detail.contains("channel"));
}
