//! Every action, called as a viewer and as a member: what the policy forbids is refused before anything is done.

use async_trait::async_trait;
use model::Timestamp;
use model::account::{AuditQuery, TokenScope, UserId};
use model::detail::RawAnswer;
use model::event::EventQuery;
use model::ids::{Caller, OrgId, Role, SnapshotId};
use model::inventory::ListQuery;
use model::item::{ItemPatch, Ownership};
use model::names::DomainName;
use model::observation::Part;
use model::registration::RegistrationState;
use monitor::observer::Progress;
use monitor::{DnsParts, Hub, Observer, Policy, Scanner, SystemClock, Worker};
use product::identity::Identity;
use product::{Bounds, Quotas, Services, Tools};
use service::policy::{Action, Effect};
use service::{AccountBackend, ApiResult, Backend, ErrorKind, TokenRequest};
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
    let recursive = dns::recursive::Recursive::new(dialer, engine.settings());
    let clock = Arc::new(dns::compare::SystemClock);
    let comparer = dns::compare::Comparer::new(engine.clone(), recursive, vec![], clock);
    Services {
        worker: Worker::new(scanner.clone(), "test"),
        identity: Identity::new(scanner.store.clone(), Arc::new(SystemClock), 1).unwrap(),
        quotas: Quotas::default(),
        scanner,
        engine,
        tools: Tools::new(comparer, Bounds::default()),
        demo: false,
    }
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
        Action::AuditLog => s.audit_log(caller, &AuditQuery::default()).await.map(drop),
        Action::Profile => s.profile(caller).await.map(drop),
        Action::ChangePassword => s.change_password(caller, "a", "b").await,
        Action::BeginSecondFactor => s.begin_second_factor(caller, None).await.map(drop),
        Action::EnableSecondFactor => s.enable_second_factor(caller, "", "", "").await.map(drop),
        Action::DisableSecondFactor => s.disable_second_factor(caller, "", "").await,
        Action::EndSessions => s.end_sessions(caller, None).await.map(drop),
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
