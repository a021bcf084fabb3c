//! The whole way of a person: set-up, sign-in, invitation, reset, and out again, with a clock of its own.

use super::*;
use accounts::second_factor::TotpSecret;
use model::account::{AuditQuery, TokenInfo, TokenScope};
use std::sync::Mutex;

struct TestClock(Mutex<Timestamp>);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

struct Place {
    identity: Identity,
    store: Arc<dyn Store>,
    clock: Arc<TestClock>,
    _folder: tempfile::TempDir,
}

impl Place {
    async fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let store = store::open(folder.path().to_str().unwrap()).await.unwrap();
        let clock = Arc::new(TestClock(Mutex::new("2026-11-22T12:00:00Z".parse().unwrap())));
        let identity = Identity::new(store.clone(), clock.clone(), 2).unwrap();
        Place { identity, store, clock, _folder: folder }
    }

    fn pass(&self, time: SignedDuration) {
        let mut now = self.clock.0.lock().unwrap();
        *now += time;
    }

    /// An installation whose owner is Ada.
    async fn set_up(&self) -> Secret {
        let link = self.identity.setup_link().await.unwrap().unwrap();
        self.identity.accept(link.expose(), &ada(), &client()).await.unwrap()
    }

    async fn caller(&self, secret: &Secret) -> Option<Caller> {
        self.identity.caller(secret.expose()).await.unwrap()
    }

    async fn try_password(&self, password: &str) -> Result<Secret, SignInError> {
        self.identity.sign_in(&attempt(password, ""), &client()).await
    }
}

const PASSWORD: &str = "correct horse battery";

fn client() -> Client {
    Client { prefix: Some("192.0.2.7".into()), address: "192.0.2.7".into(), agent: "Chromium".into() }
}

fn ada() -> NewPerson {
    NewPerson {
        name: "Ada".into(),
        email: "ada@alder.example".into(),
        password: PASSWORD.into(),
        code: String::new(),
        organisation: "Alder Labs".into(),
    }
}

fn attempt(password: &str, code: &str) -> Attempt {
    Attempt { email: " ADA@alder.example".into(), password: password.into(), code: code.into() }
}

#[tokio::test]
async fn the_set_up_link_works_once_and_only_on_a_new_installation() {
    let place = Place::new().await;
    let (one, other) = (
        place.identity.setup_link().await.unwrap().unwrap(),
        place.identity.setup_link().await.unwrap().unwrap(),
    );
    let short = NewPerson { password: "short".into(), ..ada() };
    let refused = place.identity.accept(one.expose(), &short, &client()).await.unwrap_err();
    assert!(refused.detail.contains("at least 12"), "{refused}");
    let session =
        place.identity.accept(one.expose(), &ada(), &client()).await.expect("a typing error costs nothing");
    let caller = place.caller(&session).await.unwrap();
    assert_eq!((caller.org, caller.role, caller.who.as_str()), (OrgId::BUILT_IN, Role::Owner, "Ada"));
    for link in [&one, &other] {
        assert_eq!(place.identity.accept(link.expose(), &ada(), &client()).await.unwrap_err().status(), 403);
    }
    assert_eq!(place.identity.setup_link().await.unwrap(), None);
    assert_eq!(place.identity.open_link("dsl_nonsense").await.unwrap_err().status(), 403);
}

#[tokio::test]
async fn only_the_right_password_signs_in_and_nobody_learns_who_exists() {
    let place = Place::new().await;
    place.set_up().await;
    assert!(place.try_password(PASSWORD).await.is_ok());
    assert_eq!(place.try_password("wrong").await, Err(SignInError::Wrong));
    for email in ["nobody@alder.example", "", "no address", "ada@alder.example\0"] {
        let attempt = Attempt { email: email.into(), password: PASSWORD.into(), code: String::new() };
        assert_eq!(place.identity.sign_in(&attempt, &client()).await, Err(SignInError::Wrong), "{email}");
    }
}

#[tokio::test]
async fn failed_attempts_are_slowed_also_when_made_at_once() {
    let place = Place::new().await;
    place.set_up().await;
    let mut tries = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let identity = place.identity.clone();
        tries.spawn(async move { identity.sign_in(&attempt("wrong", ""), &client()).await });
    }
    let results = tries.join_all().await;
    let computed = results.iter().filter(|r| **r == Err(SignInError::Wrong)).count();
    assert_eq!(computed, 6, "five mistakes are free, and the sixth is answered before the pause begins");
    let Err(SignInError::Throttled(wait)) = place.try_password(PASSWORD).await else { panic!("not slowed") };
    assert!(wait.ends_with("seconds") || wait.ends_with("minutes"), "{wait}");
    place.pass(SignedDuration::from_mins(16));
    assert!(place.try_password(PASSWORD).await.is_ok(), "the owner is not locked out");
    assert_eq!(place.try_password("wrong").await, Err(SignInError::Wrong), "a success forgets the failures");
}

#[tokio::test]
async fn sessions_end_unused_signed_out_or_with_the_membership() {
    let place = Place::new().await;
    let session = place.set_up().await;
    place.pass(SignedDuration::from_hours(23));
    assert!(place.caller(&session).await.is_some());
    place.pass(SignedDuration::from_hours(23));
    assert!(place.caller(&session).await.is_some(), "use keeps it");
    place.pass(SignedDuration::from_hours(25));
    assert_eq!(place.caller(&session).await, None);
    let session = place.try_password(PASSWORD).await.unwrap();
    place.identity.sign_out(session.expose(), &client()).await.unwrap();
    assert_eq!(place.caller(&session).await, None);
    for wrong in ["", "dss_x", "k3y", &session.expose().replace("dss_", "dst_")] {
        assert_eq!(place.identity.caller(wrong).await.unwrap(), None);
    }
}

#[tokio::test]
async fn an_invitation_makes_a_member_and_no_role_above_the_inviter() {
    let place = Place::new().await;
    let owner = place.caller(&place.set_up().await).await.unwrap();
    let admin = Caller { role: Role::Admin, ..owner.clone() };
    let refused = place.identity.invite(&admin, "ben@birch.example", Role::Owner).await.unwrap_err();
    assert_eq!(refused.status(), 403);
    let refused = place.identity.invite(&owner, "ada@alder.example", Role::Viewer).await.unwrap_err();
    assert!(refused.detail.contains("already a member"), "{refused}");
    let (link, _) = place.identity.invite(&owner, "Ben@Birch.example", Role::Viewer).await.unwrap();
    let LinkView::Invitation { email, organisation, has_account, .. } =
        place.identity.open_link(link.expose()).await.unwrap()
    else {
        panic!("not an invitation")
    };
    assert_eq!(
        (email.as_str(), organisation.as_str(), has_account),
        ("ben@birch.example", "Alder Labs", false)
    );
    let ben =
        NewPerson { name: "Ben".into(), password: "another long secret".into(), ..NewPerson::default() };
    let session = place.identity.accept(link.expose(), &ben, &client()).await.unwrap();
    let caller = place.caller(&session).await.unwrap();
    assert_eq!((caller.org, caller.role), (owner.org, Role::Viewer));
    assert!(place.identity.accept(link.expose(), &ben, &client()).await.is_err());
    let log = place
        .store
        .audit_log(owner.org, &AuditQuery { limit: 10, ..AuditQuery::default() })
        .await
        .unwrap()
        .entries;
    let actions: Vec<&str> = log.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["member.join", "member.invite", "organisation.set_up"]);
    assert!(log.iter().all(|entry| !format!("{entry:?}").contains("dsi_")));
}

#[tokio::test]
async fn an_existing_account_joins_with_its_own_password() {
    let place = Place::new().await;
    let owner = place.caller(&place.set_up().await).await.unwrap();
    let other =
        place.store.create_org("k2", "Birch", owner.user.as_ref().unwrap(), place.clock.now()).await.unwrap();
    let ben = place.identity.ensure_person("ben@birch.example", "Ben").await.unwrap();
    place.store.add_member(other, &ben, Role::Owner, place.clock.now(), None).await.unwrap();
    let inviter = Caller { user: Some(ben), ..Caller::new(other, "Ben", Role::Owner) };
    place.store.change_member(other, owner.user.as_ref().unwrap(), None, None).await.unwrap();
    let (link, _) = place.identity.invite(&inviter, "ada@alder.example", Role::Member).await.unwrap();
    let wrong = NewPerson { password: "a password of someone else".into(), ..NewPerson::default() };
    assert!(place.identity.accept(link.expose(), &wrong, &client()).await.is_err());
    let right = NewPerson { password: PASSWORD.into(), ..NewPerson::default() };
    let session = place.identity.accept(link.expose(), &right, &client()).await.unwrap();
    assert_eq!(place.caller(&session).await.unwrap().org, other);
    let keys = place.store.memberships(owner.user.as_ref().unwrap()).await.unwrap();
    assert_eq!(keys.len(), 2);
    let first = keys.iter().find(|m| m.org == OrgId::BUILT_IN).unwrap();
    assert!(place.identity.switch_org(session.expose(), &first.org_key).await.unwrap());
    assert_eq!(place.caller(&session).await.unwrap().org, OrgId::BUILT_IN);
    assert!(!place.identity.switch_org(session.expose(), "no such key").await.unwrap());
}

#[tokio::test]
async fn a_reset_ends_every_session_and_keeps_the_second_factor() {
    let place = Place::new().await;
    let session = place.set_up().await;
    let user = place.caller(&session).await.unwrap().user.unwrap();
    assert_eq!(place.identity.reset_link("nobody@alder.example").await.unwrap(), None);
    let secret = TotpSecret::generate();
    place.store.set_second_factor(&user, Some(&secret.to_base32()), &[], None).await.unwrap();
    assert_eq!(place.try_password(PASSWORD).await, Err(SignInError::CodeNeeded));
    let wrong_code = place.identity.sign_in(&attempt(PASSWORD, "000000"), &client()).await;
    assert_eq!(wrong_code, Err(SignInError::WrongCode));
    let link = place.identity.reset_link("ada@alder.example").await.unwrap().unwrap();
    let new = NewPerson { password: "brand new long secret".into(), ..NewPerson::default() };
    let refused = place.identity.accept(link.expose(), &new, &client()).await.unwrap_err();
    assert!(refused.detail.contains("6-digit code"), "{refused}");
    place.store.set_second_factor(&user, None, &[], None).await.unwrap();
    place.identity.accept(link.expose(), &new, &client()).await.unwrap();
    assert_eq!(place.caller(&session).await, None);
    assert_eq!(place.try_password(PASSWORD).await, Err(SignInError::Wrong));
    assert!(place.try_password("brand new long secret").await.is_ok());
}

#[tokio::test]
async fn a_token_acts_in_its_scope_until_it_ends() {
    let place = Place::new().await;
    place.set_up().await;
    let secret = Secret::generate(SecretKind::ApiToken);
    let token = TokenInfo {
        id: "t".into(),
        name: "CI".into(),
        scope: TokenScope::Read,
        created_by: "Ada".into(),
        created_at: place.clock.now(),
        expires_at: Some(place.clock.now() + SignedDuration::from_hours(1)),
        last_used_at: None,
        hint: String::new(),
    };
    place.store.create_token(OrgId::BUILT_IN, secret.hash().as_str(), &token, None).await.unwrap();
    let caller = place.caller(&secret).await.unwrap();
    assert_eq!((caller.role, caller.who.as_str(), caller.user), (Role::Viewer, "token CI", None));
    place.pass(SignedDuration::from_hours(1));
    assert_eq!(place.caller(&secret).await, None);
}

#[path = "passkey_tests.rs"]
mod passkeys;

#[path = "oidc_tests.rs"]
mod oidc_flow;
