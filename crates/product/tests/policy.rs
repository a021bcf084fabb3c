//! Every action, called as a viewer and as a member: what the policy forbids is refused before anything is done.

use async_trait::async_trait;
use model::Timestamp;
use model::account::{AuditQuery, TokenScope, UserId};
use model::configure::{ServiceKind, ServiceSpec};
use model::detail::RawAnswer;
use model::event::EventQuery;
use model::feed::FeedKind;
use model::ids::{Caller, EventId, LogPosition, OrgId, Role, SnapshotId};
use model::inventory::ListQuery;
use model::item::{ItemPatch, Ownership};
use model::names::DomainName;
use model::notify::Rule;
use model::observation::Part;
use model::ownership::Method;
use model::registration::RegistrationState;
use monitor::observer::Progress;
use monitor::{DnsParts, Hub, Observer, Policy, Scanner, SystemClock, Worker};
use product::identity::Identity;
use product::{Bounds, Quotas, Services, Tools};
use service::policy::{Action, Effect};
use service::resources::{ClaimDraft, ResourceBackend};
use service::{
    AccountBackend, AlertBackend, ApiResult, Backend, ChannelDraft, ClusterClaimDraft, ConnectRequest,
    ErrorKind, FeatureBackend, FeatureDraft, FeatureReport, FleetBackend, MaintenanceDraft, TemplateDraft,
    TokenRequest,
};
use std::sync::Arc;
use std::time::Duration;

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
        identity: Identity::new(scanner.store.clone(), Arc::new(SystemClock), 1).unwrap(),
        quotas: Quotas::default(),
        overlap: product::OverlapPolicy::default(),
        gates: features::Gates::default(),
        scanner,
        tools: Tools::new(comparer, Bounds::default(), product::configure::Inspector::new(engine.clone())),
        engine,
        deliverer,
        demo: false,
        visitors: None,
    }
}

fn claim() -> ClaimDraft {
    let spec = serde_json::json!({ "addressSpace": [{ "prefix": "10.0.0.0/24", "reference": { "resource": "x" } }] });
    let spec = serde_json::from_value(spec).unwrap();
    ClaimDraft { name: "a".into(), expected: None, metadata: "{}".into(), spec, dry_run: false }
}

/// Calls the method of an action; what it returns beyond success or refusal does not matter here.
async fn call(s: &Services, caller: &Caller, action: Action) -> ApiResult<()> {
    let name = DomainName::trusted("q7.io");
    let names = std::slice::from_ref(&name);
    let host = "www.q7.io";
    let ada = UserId("ada".into());
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
        Action::AcknowledgeMatching => {
            s.acknowledge_matching(caller, &EventQuery::default(), None).await.map(drop)
        }
        Action::LookUp => s.look_up(caller, "q7.io").await.map(drop),
        Action::Trace => s.trace(caller, host, "A").await.map(drop),
        Action::Check => s.check(caller, "q7.io", &[], &[]).await.map(drop),
        Action::Authority => s.authority(caller, host, "A").await.map(drop),
        Action::Compare => s.compare(caller, host, "A", false).await.map(drop),
        Action::BrowserResolvers => s.browser_resolvers(caller).await.map(drop),
        Action::Fqdn => s.fqdn(caller, host).await.map(drop),
        Action::Claims => s.claims(caller).await.map(drop),
        Action::Claim => s.claim(caller, "q7.io").await.map(drop),
        Action::StartClaim => s.start_claim(caller, "q7.io", Method::Txt).await.map(drop),
        Action::CheckClaim => s.check_claim(caller, "q7.io").await.map(drop),
        Action::WithdrawClaim => s.withdraw_claim(caller, "q7.io").await,
        Action::Members => s.members(caller).await.map(drop),
        Action::SetRole => s.set_role(caller, &ada, Role::Viewer).await,
        Action::RemoveMember => s.remove_member(caller, &ada).await,
        Action::Invitations => s.invitations(caller).await.map(drop),
        Action::Invite => s.invite(caller, "ben@birch.example", Role::Viewer).await.map(drop),
        Action::RevokeInvitation => s.revoke_invitation(caller, "none").await,
        Action::Tokens => s.tokens(caller).await.map(drop),
        Action::CreateToken => {
            let request = TokenRequest { name: "CI".into(), scope: TokenScope::Read, days: 1 };
            s.create_token(caller, &request).await.map(drop)
        }
        Action::RevokeToken => s.revoke_token(caller, "none").await,
        Action::Organisation => s.organisation(caller).await.map(drop),
        Action::RenameOrganisation => s.rename_organisation(caller, "Alder").await,
        Action::SetChecks => s.set_checks(caller, &model::checks::Checks::default()).await,
        Action::AuditLog => s.audit_log(caller, &AuditQuery::default()).await.map(drop),
        Action::Profile => s.profile(caller).await.map(drop),
        Action::ChangePassword => s.change_password(caller, "a", "b").await,
        Action::BeginSecondFactor => s.begin_second_factor(caller, None).await.map(drop),
        Action::EnableSecondFactor => s.enable_second_factor(caller, "", "", "").await.map(drop),
        Action::DisableSecondFactor => s.disable_second_factor(caller, "", "").await,
        Action::BeginPasskey => s.begin_passkey(caller, "", "https://scope.example").await.map(drop),
        Action::FinishPasskey => {
            s.finish_passkey(caller, "key", "{}", "https://scope.example").await.map(drop)
        }
        Action::RemovePasskey => s.remove_passkey(caller, "none").await,
        Action::LinkProvider => s.link_provider(caller, "", "", "https://scope.example").await.map(drop),
        Action::UnlinkProvider => s.unlink_provider(caller, "https://login.example", "", "").await,
        Action::EndSessions => s.end_sessions(caller, None).await.map(drop),
        Action::Configure => {
            let spec = ServiceSpec::new(ServiceKind::Proof, "", [("value", "x=1")]).unwrap();
            s.configure(caller, "q7.io", &spec).await.map(drop)
        }
        Action::Services => s.services(caller, &name).await.map(drop),
        Action::AddService => {
            let spec = ServiceSpec::new(ServiceKind::Proof, "", [("value", "x=1")]).unwrap();
            s.add_service(caller, "q7.io", &spec).await.map(drop)
        }
        Action::RemoveService => s.remove_service(caller, &name, "x").await,
        Action::CheckService => s.check_service(caller, &name, "x").await.map(drop),
        Action::ConnectLink => {
            let request = ConnectRequest {
                service: "x".into(),
                brand: "Northlake".into(),
                accent: String::new(),
                help: String::new(),
                days: 7,
            };
            s.connect_link(caller, &name, &request).await.map(drop)
        }
        Action::LogHead => s.log_head(caller).await.map(drop),
        Action::Changes => s.changes(caller, LogPosition(0), Duration::ZERO).await.map(drop),
        Action::DomainObjects => s.domain_objects(caller, "", 9).await.map(drop),
        Action::DomainObject => s.domain_object(caller, &name).await.map(drop),
        Action::CreateDomain => s.create_domain(caller, &name, "{}").await,
        Action::DeleteDomain => s.delete_domain(caller, &name, LogPosition(0)).await,
        Action::SetDomainMetadata => s.set_domain_metadata(caller, &name, LogPosition(0), "{}").await,
        Action::EventObjects => s.event_objects(caller, EventId(0), 9).await.map(drop),
        Action::NetworkClaims => s.network_claims(caller, "", 9).await.map(drop),
        Action::NetworkClaim => s.network_claim(caller, "a").await.map(drop),
        Action::RefusedClaims => s.refused_claims(caller).await.map(drop),
        Action::ClaimHeads => s.claim_heads(caller, &["a".into()]).await.map(drop),
        Action::Registry => s.registry(caller).await.map(drop),
        Action::ListedBlocks => s.listed_blocks(caller).await.map(drop),
        Action::SaveBlock => s.save_block(caller, "10.0.0.0/8", "").await.map(drop),
        Action::RemoveBlock => s.remove_block(caller, &"10.0.0.0/8".parse().unwrap()).await,
        Action::SaveNetworkClaim => s.save_network_claim(caller, &claim()).await.map(drop),
        Action::DeleteNetworkClaim => s.delete_network_claim(caller, "a", None).await.map(drop),
        Action::Addresses => s.addresses(caller, &name).await.map(drop),
        Action::AddressReview => s.address_review(caller).await.map(drop),
        Action::PrefixSpace => s.prefix_space(caller, &"10.0.0.0/8".parse().unwrap()).await.map(drop),
        Action::Pointing => s.pointing(caller, &"10.0.0.0/8".parse().unwrap(), None).await.map(drop),
        Action::Notifications => s.notifications(caller).await.map(drop),
        Action::SaveChannel => s.save_channel(caller, &ChannelDraft::default()).await.map(drop),
        Action::RemoveChannel => s.remove_channel(caller, "c").await,
        Action::TestChannel => s.test_channel(caller, "c").await.map(drop),
        Action::SaveRule => s.save_rule(caller, &Rule::default()).await.map(drop),
        Action::RemoveRule => s.remove_rule(caller, "r").await,
        Action::PreviewRule => s.preview_rule(caller, &Rule::default()).await.map(drop),
        Action::Resend => s.resend(caller, None).await.map(drop),
        Action::DropFailed => s.drop_failed(caller, None).await.map(drop),
        Action::ClusterClaims => s.cluster_claims(caller, "", 9).await.map(drop),
        Action::SaveClusterClaim => {
            let draft = ClusterClaimDraft {
                name: "x.k8s.io".into(),
                expected: None,
                metadata: "{}".into(),
                value: String::new(),
                dry_run: false,
            };
            s.save_cluster_claim(caller, &draft).await.map(drop)
        }
        Action::DeleteClusterClaim => s.delete_cluster_claim(caller, "x", None).await.map(drop),
        Action::Fleet => s.fleet(caller).await.map(drop),
        Action::InviteAgent => s.invite_agent(caller, "").await.map(drop),
        Action::RevokeAgent => s.revoke_agent(caller, "none").await,
        Action::AskPlaces => s.ask_places(caller, host, "A").await.map(drop),
        Action::AskThirdParties => s.ask_third_parties(caller, host, "A", "").await.map(drop),
        Action::AskWeb => s.ask_web(caller, host, "/").await.map(drop),
        Action::Templates => s.templates(caller).await.map(drop),
        Action::SaveTemplate => s.save_template(caller, &TemplateDraft::default()).await.map(drop),
        Action::RemoveTemplate => s.remove_template(caller, "a/b").await,
        Action::Features => s.features(caller).await.map(drop),
        Action::SetFeature => {
            let draft = FeatureDraft { name: "doh-server".into(), ..FeatureDraft::default() };
            s.set_feature(caller, &draft).await.map(drop)
        }
        Action::CleanFeature => s.clean_feature(caller, "doh-server", None).await.map(drop),
        Action::RegisterFeature => s.register_feature(caller, &FeatureDraft::default()).await.map(drop),
        Action::ReportFeature => s.report_feature(caller, &FeatureReport::default()).await.map(drop),
        Action::DeleteFeature => s.delete_feature(caller, "doh-server", None).await,
        Action::SaveMaintenance => s.save_maintenance(caller, &MaintenanceDraft::default()).await.map(drop),
        Action::EndMaintenance => s.end_maintenance(caller, "m").await,
        Action::Feeds => s.feeds(caller).await.map(drop),
        Action::CreateFeed => s.create_feed(caller, "x", FeedKind::Calendar).await.map(drop),
        Action::RevokeFeed => s.revoke_feed(caller, "f").await,
        Action::Health => s.health(caller).await.map(drop),
        Action::Deliveries => s.deliveries(caller, &[EventId(9)]).await.map(drop),
    }
}

fn caller(role: Role) -> Caller {
    Caller { user: Some(UserId("ann".into())), ..Caller::new(OrgId::BUILT_IN, "Ann", role) }
}

#[tokio::test]
async fn every_call_is_refused_below_its_least_role_and_not_above() {
    let folder = tempfile::tempdir().unwrap();
    let services = services(&folder).await;
    for role in Role::ALL {
        // Queries would wait for a network that is not there; a refusal does not.
        for action in Action::ALL {
            let rule = action.rule();
            if rule.effect == Effect::Query && role >= rule.least {
                continue;
            }
            let refused = call(&services, &caller(role), action).await.err().map(|e| e.kind)
                == Some(ErrorKind::Forbidden);
            assert_eq!(refused, role < rule.least, "{} as {}", rule.name, role.as_str());
        }
        if role == Role::Viewer {
            let total = services.summary(&caller(role)).await.unwrap().total;
            assert_eq!(total, 0, "nothing was added");
        }
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
    let channels = vec![inside.id.clone()];
    let repeated =
        |hours| Rule { name: "X".into(), channels: channels.clone(), repeat_hours: hours, ..Rule::default() };
    for hours in [0, 169] {
        let e = s.save_rule(&admin, &repeated(Some(hours))).await.unwrap_err();
        assert!(e.detail.contains("1 to 168 hours"), "{e}");
    }
    assert_eq!(s.save_rule(&admin, &repeated(Some(24))).await.unwrap().repeat_hours, Some(24));
}

#[tokio::test]
async fn maintenance_is_checked_shown_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let s = services(&folder).await;
    let member = Caller::new(OrgId::BUILT_IN, "Ann", Role::Member);
    let hour = |n: i64| (Timestamp::now() + jiff::SignedDuration::from_hours(n)).to_string();
    let draft = |from: String, to: String, tag: &str, domain: &str, note: &str| MaintenanceDraft {
        from,
        to,
        tag: tag.into(),
        domain: domain.into(),
        note: note.into(),
    };
    for (wrong, word) in [
        (draft("now".into(), hour(1), "", "", "x"), "Beginning: “now”"),
        (draft(hour(1), hour(0), "", "", "x"), "ends after it begins"),
        (draft(hour(-3), hour(-2), "", "", "x"), "in the future"),
        (draft(hour(0), hour(24 * 32), "", "", "x"), "at most 31 days"),
        (draft(hour(0), hour(1), "", "", " "), "what is done"),
        (draft(hour(0), hour(1), "prod", "a.example", "x"), "not both"),
        (draft(hour(0), hour(1), "", "a..b", "x"), "a..b"),
    ] {
        let e = s.save_maintenance(&member, &wrong).await.unwrap_err();
        assert!(e.kind == ErrorKind::Invalid && e.detail.contains(word), "{word}: {e}");
    }
    let utc = draft("2126-11-22T20:00".into(), "2126-11-22T21:00".into(), "", "alder.example", "Later");
    let later = s.save_maintenance(&member, &utc).await.unwrap();
    assert_eq!(later.from.to_string(), "2126-11-22T20:00:00Z");
    let active = s.save_maintenance(&member, &draft(hour(-1), hour(1), "prod", "", "Move")).await.unwrap();
    let shown = s.notifications(&member).await.unwrap();
    assert_eq!((shown.maintenance.len(), shown.may_maintain, shown.may_change), (2, true, false));
    // One that lasts ends now and stays in the list; one that has not begun goes.
    s.end_maintenance(&member, &active.id).await.unwrap();
    s.end_maintenance(&member, &later.id).await.unwrap();
    let left = s.notifications(&member).await.unwrap().maintenance;
    assert_eq!(left.len(), 1);
    assert!(left[0].to <= Timestamp::now() && left[0].by == "Ann");
    let other = Caller::new(OrgId(2), "Bob", Role::Owner);
    assert_eq!(s.end_maintenance(&other, &active.id).await.unwrap_err().kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn a_template_is_checked_kept_for_its_organisation_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let s = services(&folder).await;
    let member = Caller::new(OrgId::BUILT_IN, "Mel", Role::Member);
    let text = |json: &str| TemplateDraft { json: json.into(), url: String::new() };
    let good = r#"{"providerId":"post.example","providerName":"Post","serviceId":"web","serviceName":"Web shop","version":2,
        "records":[{"type":"A","host":"@","pointsTo":"%ip%","ttl":300,"groupId":"web"}]}"#;
    let kept = s.save_template(&member, &text(good)).await.unwrap();
    assert_eq!(
        (kept.key().as_str(), kept.version, kept.saved_by.as_str()),
        ("post.example/web", Some(2), "Mel")
    );
    assert_eq!((kept.variables, kept.groups), (vec!["ip".to_string()], vec!["web".to_string()]));
    // Saved once more it is replaced.
    s.save_template(&member, &text(&good.replace("Web shop", "Shop"))).await.unwrap();
    let all = s.templates(&member).await.unwrap();
    assert_eq!(all.iter().map(|t| t.service_name.as_str()).collect::<Vec<_>>(), ["Shop"]);
    let stranger = Caller::new(OrgId(77), "Eve", Role::Owner);
    assert!(s.templates(&stranger).await.unwrap().is_empty());
    for (draft, word) in [
        (text(""), "one of the two"),
        (text("{"), "not JSON"),
        (text("[]"), "JSON object"),
        (text(&good.replace("post.example", "a b")), "\"a b\" must be"),
        (text(&good.replace("\"A\"", "\"WHAT\"")), "ecord 1"),
        (text(&good.replace("\"version\":2", "\"version\":\"two\"")), "ersion must be"),
        (TemplateDraft { url: "ftp://x.example/t".into(), json: String::new() }, "ftp://x.example/t"),
        (TemplateDraft { url: "https://x.example/t".into(), json: "{}".into() }, "one of the two"),
    ] {
        let e = s.save_template(&member, &draft).await.unwrap_err();
        assert!(e.kind == ErrorKind::Invalid && e.detail.contains(word), "{word}: {e}");
    }
    // Its name stands for its text in a service; what is kept is the text.
    let spec = |template: &str| {
        let values = [("template", template), ("values", "ip=192.0.2.1")];
        ServiceSpec::new(ServiceKind::Template, "", values).unwrap()
    };
    s.add(&member, "alder.example.com", Ownership::Owned, &[]).await.unwrap();
    let service = s.add_service(&member, "example.com", &spec("post.example/web")).await.unwrap();
    assert!(service.spec.value("template").contains("\"providerId\":\"post.example\""));
    let e = s.add_service(&member, "example.com", &spec("post.example/none")).await.unwrap_err();
    assert!(e.detail.contains("post.example/none"), "{e}");
    // White space before a text does not make it a name; what is no name is not repeated whole.
    let mut spaced = spec("x");
    spaced.values.insert("template".into(), format!("\n {good}"));
    s.add_service(&member, "example.com", &spaced).await.unwrap();
    let e = s.add_service(&member, "example.com", &spec(&"x".repeat(5_000))).await.unwrap_err();
    assert!(e.detail.len() < 300, "{}", e.detail.len());
    let e = s.remove_template(&stranger, "post.example/web").await.unwrap_err();
    assert_eq!(e.kind, ErrorKind::NotFound);
    s.remove_template(&member, "post.example/web").await.unwrap();
    assert!(s.templates(&member).await.unwrap().is_empty());
    let query = AuditQuery { limit: 50, ..AuditQuery::default() };
    let log = s.store().audit_log(OrgId::BUILT_IN, &query).await.unwrap();
    let actions: Vec<String> = log.entries.into_iter().map(|e| e.action).collect();
    let of_templates: Vec<&str> =
        actions.iter().map(String::as_str).filter(|a| a.starts_with("template")).collect();
    assert_eq!(of_templates, ["template.remove", "template.save", "template.save"]);
}

#[tokio::test]
async fn a_template_is_read_by_url_through_the_guard() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let folder = tempfile::tempdir().unwrap();
    let mut s = services(&folder).await;
    let member = Caller::new(OrgId::BUILT_IN, "Mel", Role::Member);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/post.example.web.json", listener.local_addr().unwrap());
    let body = r#"
        {"providerId":"post.example","providerName":"Post","serviceId":"web","serviceName":"Web",
        "records":[{"type":"TXT","host":"@","data":"x","ttl":300}]}"#;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 1024];
            let read = stream.read(&mut request).await.unwrap_or(0);
            let found = String::from_utf8_lossy(&request[..read]).contains("/post.example.web.json");
            let (status, body) = if found { ("200 OK", body) } else { ("404 Not Found", "") };
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    let with = |allow_private: bool| {
        let settings = net::Settings { allow_private, ..net::Settings::default() };
        net::Dialer::new(settings).unwrap()
    };
    let draft = |url: &str| TemplateDraft { url: url.into(), json: String::new() };
    // A private address is refused before anything is sent.
    s.tools.inspector = s.tools.inspector.clone().with_domain_connect(with(false), None);
    let e = s.save_template(&member, &draft(&url)).await.unwrap_err();
    assert!(e.kind == ErrorKind::Invalid && e.detail.contains("127.0.0.1"), "{e}");
    s.tools.inspector = s.tools.inspector.clone().with_domain_connect(with(true), None);
    let kept = s.save_template(&member, &draft(&url)).await.unwrap();
    assert_eq!((kept.key().as_str(), kept.url.as_str()), ("post.example/web", url.as_str()));
    assert!(kept.json.starts_with('{'), "{}", kept.json);
    let e = s.save_template(&member, &draft(&url.replace("web.json", "none.json"))).await.unwrap_err();
    assert!(e.detail.contains("404"), "{e}");
}
