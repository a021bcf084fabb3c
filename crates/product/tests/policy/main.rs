//! Every action, called as a viewer and as a member: what the policy forbids is refused before anything is done.

mod alerts;
#[path = "../support/mod.rs"]
mod support;
mod templates;

use model::account::{AuditQuery, TokenScope, UserId};
use model::configure::{ServiceKind, ServiceSpec};
use model::event::EventQuery;
use model::feed::FeedKind;
use model::ids::{Caller, EventId, LogPosition, OrgId, Role, SnapshotId};
use model::inventory::ListQuery;
use model::item::{ItemPatch, Ownership};
use model::names::DomainName;
use model::notify::Rule;
use model::ownership::Method;
use monitor::{Policy, SystemClock};
use product::{Bounds, Services};
use service::policy::{Action, Effect};
use service::resources::{ClaimDraft, ResourceBackend};
use service::{
    AccountBackend, AlertBackend, ApiResult, Backend, ChannelDraft, ClusterClaimDraft, ConnectRequest,
    ErrorKind, FeatureBackend, FeatureDraft, FeatureReport, FleetBackend, MaintenanceDraft, TemplateDraft,
    TokenRequest,
};
use std::sync::Arc;
use std::time::Duration;

async fn services(folder: &tempfile::TempDir) -> Services {
    let (observer, clock) = (Arc::new(support::NoNetwork), Arc::new(SystemClock));
    let scanner = support::scans::scanner(folder, observer, clock, Policy::default()).await;
    support::services(scanner, net::Dialer::new(net::Settings::default()).unwrap(), Bounds::default())
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
        Action::Feature => s.feature(caller, "doh-server").await.map(drop),
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
