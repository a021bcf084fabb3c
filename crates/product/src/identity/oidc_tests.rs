//! Whom a provider's claims let in, and as what. The exchange with a provider itself is tested against a real one (e2e).

use super::*;
use crate::identity::oidc::{Claims, Linking};
use serde_json::json;

fn settings() -> OidcSettings {
    OidcSettings {
        issuer: "https://login.alder.example".into(),
        client_id: "scope".into(),
        roles: RoleMapping {
            claim: Some("groups".into()),
            values: vec![("staff".into(), Role::Viewer), ("admins".into(), Role::Admin)],
            default: None,
        },
        create_accounts: true,
        ..OidcSettings::default()
    }
}

fn claims(subject: &str, email: &str, group: &str) -> Claims {
    let others = json!({ "groups": [group] });
    Claims {
        subject: subject.into(),
        email: Some(email.into()),
        email_verified: Some(true),
        name: Some(" Ben \n Birch ".into()),
        others: others.as_object().unwrap().clone(),
    }
}

async fn enter(place: &Place, settings: &OidcSettings, claims: &Claims) -> Result<Caller, OidcError> {
    let secret = place.identity.enter(settings, claims, &client()).await?;
    Ok(place.caller(&secret).await.unwrap())
}

#[tokio::test]
async fn the_first_sign_in_makes_an_account_and_the_next_finds_it() {
    let place = Place::new().await;
    place.set_up().await;
    let ben = claims("s1", "Ben@birch.example", "staff");
    let first = enter(&place, &settings(), &ben).await.unwrap();
    assert_eq!((first.who.as_str(), first.role), ("Ben Birch", Role::Viewer));
    // The address may change: issuer and subject are who it is. The role follows the claim.
    let moved = claims("s1", "other@birch.example", "admins");
    let second = enter(&place, &settings(), &moved).await.unwrap();
    assert_eq!((second.user, second.role), (first.user, Role::Admin));
    assert_eq!(enter(&place, &settings(), &claims("s1", "a@b.c", "guests")).await, Err(OidcError::NoRole));
    let query = AuditQuery { limit: 10, ..AuditQuery::default() };
    let log = place.store.audit_log(first.org, &query).await.unwrap();
    let actions: Vec<_> =
        log.entries.iter().map(|e| (e.action.as_str(), e.old.as_deref(), e.new.as_deref())).collect();
    assert_eq!(
        actions[..4],
        [
            ("session.sign_in", None, Some("single_sign_on")),
            ("member.role", Some("viewer"), Some("admin")),
            ("session.sign_in", None, Some("single_sign_on")),
            ("member.join", None, Some("viewer")),
        ]
    );
}

#[tokio::test]
async fn an_address_alone_opens_no_account() {
    let place = Place::new().await;
    place.set_up().await;
    let link = OidcSettings { link_by_email: true, ..settings() };
    let as_ada = claims("s1", "ada@alder.example", "staff");
    assert_eq!(enter(&place, &settings(), &as_ada).await, Err(OidcError::NoAccount), "linking is off");
    // A provider that says "not verified" is never overruled; where it says nothing, the operator decides.
    let trusting = OidcSettings { trust_email: true, ..link.clone() };
    for (settings, verified) in [(&link, None), (&link, Some(false)), (&trusting, Some(false))] {
        let unverified = Claims { email_verified: verified, ..as_ada.clone() };
        assert_eq!(enter(&place, settings, &unverified).await, Err(OidcError::Unverified), "{verified:?}");
        let unverified = Claims { email_verified: verified, ..claims("s2", "new@birch.example", "staff") };
        assert_eq!(enter(&place, settings, &unverified).await, Err(OidcError::Unverified), "{verified:?}");
    }
    let nameless = Claims { email: None, ..as_ada.clone() };
    for settings in [&link, &trusting] {
        assert_eq!(enter(&place, settings, &nameless).await, Err(OidcError::Unverified));
    }
    let silent = Claims { email_verified: None, ..claims("s3", "cleo@birch.example", "staff") };
    let cleo = enter(&place, &trusting, &silent).await.unwrap();
    assert_eq!((cleo.who.as_str(), cleo.role), ("Ben Birch", Role::Viewer));
    // Trusted or not, an address that has an account opens it only where linking by address is on.
    let apart = OidcSettings { trust_email: true, ..settings() };
    let silent = Claims { email_verified: None, ..as_ada.clone() };
    assert_eq!(enter(&place, &apart, &silent).await, Err(OidcError::NoAccount));
    // Linked, the last owner stays one, whatever the claim says.
    let ada = enter(&place, &link, &as_ada).await.unwrap();
    assert_eq!((ada.who.as_str(), ada.role), ("Ada", Role::Owner));
    // The address was given to another person at the provider: theirs is another subject.
    let successor = claims("s9", "ada@alder.example", "staff");
    assert_eq!(enter(&place, &link, &successor).await, Err(OidcError::NoAccount));
}

#[tokio::test]
async fn without_creation_only_linked_accounts_come_in() {
    let place = Place::new().await;
    place.set_up().await;
    let link = OidcSettings {
        create_accounts: false,
        link_by_email: true,
        roles: RoleMapping::default(),
        ..settings()
    };
    let ben = claims("s1", "ben@birch.example", "staff");
    assert_eq!(enter(&place, &link, &ben).await, Err(OidcError::NoAccount));
    let ada = enter(&place, &link, &claims("s2", "ada@alder.example", "")).await.unwrap();
    assert_eq!(ada.role, Role::Owner, "without a claim the role is that of the organisation");
    for organisation in ["No such", "Alder"] {
        let wrong = OidcSettings { organisation: Some(organisation.into()), ..link.clone() };
        let refused = enter(&place, &wrong, &claims("s2", "ada@alder.example", "")).await;
        assert_eq!(refused, Err(OidcError::Unavailable));
    }
    let named = OidcSettings { organisation: Some("Alder Labs".into()), ..link };
    assert!(enter(&place, &named, &claims("s2", "ada@alder.example", "")).await.is_ok());
    // Removed from the organisation, the provider does not bring a person back.
    let settings = settings();
    let ben = enter(&place, &settings, &ben).await.unwrap();
    place.store.change_member(ben.org, ben.user.as_ref().unwrap(), None, None).await.unwrap();
    let back = enter(&place, &settings, &claims("s1", "ben@birch.example", "admins")).await;
    assert_eq!(back, Err(OidcError::NoOrganisation));
}

impl Place {
    /// A place with this provider, and Ada's session.
    async fn with_provider(&mut self) -> (Secret, Caller) {
        let session = self.set_up().await;
        let caller = self.caller(&session).await.unwrap();
        let dialer = net::Dialer::new(net::Settings::default()).unwrap();
        self.identity = self.identity.clone().with_oidc(Some(Oidc::new(settings(), dialer)));
        (session, caller)
    }

    async fn finish(&self, claims: &Claims, linking: &Linking, session: &Secret) -> Result<(), OidcError> {
        let session = Some(session.expose());
        self.identity.finish_link(&settings(), claims, linking, session, "192.0.2.7").await
    }
}

#[tokio::test]
async fn an_account_is_linked_by_its_owner_and_unlinked_while_another_way_in_is_left() {
    let mut place = Place::new().await;
    let (session, ada) = place.with_provider().await;
    let user = ada.user.clone().unwrap();
    let linking = Linking { user: user.clone(), session: ada.session.clone().unwrap() };
    // The address at the provider is another one, and not verified: it has no part in this.
    let at_provider = Claims { email_verified: None, ..claims("s1", "other@birch.example", "admins") };

    // Before the provider is asked: who is it?
    let begin = async |caller: &Caller, password: &str| {
        place.identity.link_provider(caller, password, "", "https://scope.example").await.map(drop)
    };
    let wrong = begin(&ada, "not the password").await.unwrap_err();
    assert!(wrong.detail.contains("not your current password"), "{wrong}");
    let visitor = Caller { session: None, ..ada.clone() };
    assert_eq!(begin(&visitor, PASSWORD).await.unwrap_err().status(), 403);
    let token = Caller { user: None, ..ada.clone() };
    assert_eq!(begin(&token, PASSWORD).await.unwrap_err().status(), 403);
    // Confirmed, the provider would be asked; it has no address here.
    assert_eq!(begin(&ada, PASSWORD).await.unwrap_err().status(), 503);

    // The answer counts for the session that asked, and for no other.
    let other = place.try_password(PASSWORD).await.unwrap();
    assert_eq!(place.finish(&at_provider, &linking, &other).await, Err(OidcError::State));
    let none = place.identity.finish_link(&settings(), &at_provider, &linking, None, "").await;
    assert_eq!(none, Err(OidcError::State));
    let without_role = Claims { others: serde_json::Map::new(), ..at_provider.clone() };
    assert_eq!(place.finish(&without_role, &linking, &session).await, Err(OidcError::NoRole));
    place.finish(&at_provider, &linking, &session).await.unwrap();
    place.finish(&at_provider, &linking, &session).await.expect("the same again changes nothing");
    let signed_in = enter(&place, &settings(), &at_provider).await.unwrap();
    assert_eq!(signed_in.user, ada.user);
    assert!(begin(&ada, PASSWORD).await.unwrap_err().detail.contains("unlink it first"));

    // One account at the provider for one here.
    let second = claims("s2", "ada@alder.example", "admins");
    assert_eq!(place.finish(&second, &linking, &session).await, Err(OidcError::Taken));
    let ben = enter(&place, &settings(), &claims("s3", "ben@birch.example", "staff")).await.unwrap();
    let place_of = |caller: &Caller| Linking {
        user: caller.user.clone().unwrap(),
        session: caller.session.clone().unwrap(),
    };
    let ben_session = place
        .identity
        .enter(&settings(), &claims("s3", "ben@birch.example", "staff"), &client())
        .await
        .unwrap();
    let ben_now = place.caller(&ben_session).await.unwrap();
    assert_eq!(place.finish(&at_provider, &place_of(&ben_now), &ben_session).await, Err(OidcError::Taken));

    // Ben has no other way in.
    let issuer = settings().issuer;
    let refused = place.identity.unlink_provider(&ben, &issuer, "", "").await.unwrap_err();
    assert!(refused.detail.contains("only way to sign in"), "{refused}");
    let wrong = place.identity.unlink_provider(&ada, &issuer, "not the password", "").await.unwrap_err();
    assert!(wrong.detail.contains("not your current password"), "{wrong}");
    assert_eq!(place.identity.profile(&ada).await.unwrap().identities.len(), 1);
    place.identity.unlink_provider(&ada, &issuer, PASSWORD, "").await.unwrap();
    assert!(place.identity.profile(&ada).await.unwrap().identities.is_empty());
    assert_eq!(enter(&place, &settings(), &second).await, Err(OidcError::NoAccount), "not by address");
    let again = place.identity.unlink_provider(&ada, &issuer, PASSWORD, "").await.unwrap_err();
    assert_eq!(again.status(), 404);
    let query = AuditQuery { limit: 20, subject: "account".into(), ..AuditQuery::default() };
    let log = place.store.audit_log(ada.org, &query).await.unwrap();
    let said: Vec<_> =
        log.entries.iter().map(|e| (e.action.as_str(), e.old.as_deref(), e.new.as_deref())).collect();
    assert_eq!(
        said,
        [
            ("account.identity_unlink", Some(issuer.as_str()), None),
            ("account.identity_link", None, Some(issuer.as_str())),
        ]
    );
}

#[tokio::test]
async fn an_answer_that_comes_too_late_leads_a_signed_in_person_to_their_account() {
    let mut place = Place::new().await;
    let (session, _) = place.with_provider().await;
    let gone = Secret::generate(SecretKind::OneTimeLink);
    let back = OidcReturn::default();
    for (presented, page) in
        [(Some(session.expose()), "/settings/account"), (Some("dss_ended"), "/sign-in"), (None, "/sign-in")]
    {
        let refused = place.identity.finish_oidc(gone.expose(), &back, presented, &client()).await.err();
        assert_eq!(refused, Some((OidcError::State, page)));
    }
}

#[tokio::test]
async fn linking_asks_for_the_second_factor_and_wrong_codes_are_counted() {
    let mut place = Place::new().await;
    let (_, ada) = place.with_provider().await;
    let secret = TotpSecret::generate().to_base32();
    place.store.set_second_factor(ada.user.as_ref().unwrap(), Some(&secret), &[], None).await.unwrap();
    let begin = async |code: &str| {
        place.identity.link_provider(&ada, PASSWORD, code, "https://scope.example").await.unwrap_err()
    };
    assert!(begin("").await.detail.contains("Enter a code"));
    let mut refused = Vec::new();
    for n in 0..20 {
        refused.push(begin(&format!("{n:06}")).await.status());
    }
    assert!(refused.contains(&429), "{refused:?}");
}

#[tokio::test]
async fn a_provider_on_a_private_address_is_asked_only_where_the_operator_allows_it() {
    let place = Place::new().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    let settings = OidcSettings { issuer, ..settings() };
    let open = net::Dialer::new(net::Settings { allow_private: true, ..net::Settings::default() }).unwrap();
    let identity = place.identity.clone().with_oidc(Some(Oidc::new(settings.clone(), open)));
    let begin = identity.begin_oidc("https://scope.example", "/domains");
    tokio::select! {
        _ = begin => panic!("the provider never answers"),
        connected = listener.accept() => assert!(connected.is_ok()),
    }
    let guarded = net::Dialer::new(net::Settings::default()).unwrap();
    let identity = place.identity.clone().with_oidc(Some(Oidc::new(settings, guarded)));
    let refused = identity.begin_oidc("https://scope.example", "/domains").await.err();
    assert_eq!(refused, Some(OidcError::Provider));
    let connected = listener.into_std().unwrap().accept();
    assert_eq!(
        connected.err().map(|e| e.kind()),
        Some(std::io::ErrorKind::WouldBlock),
        "no connection was made"
    );
    assert_eq!(place.identity.begin_oidc("https://scope.example", "/").await.err(), Some(OidcError::Off));
}

#[test]
fn every_problem_has_a_word_of_its_own() {
    for e in [
        "off",
        "denied",
        "state",
        "provider",
        "rejected",
        "no-role",
        "no-account",
        "unverified",
        "taken",
        "no-organisation",
        "throttled",
        "unavailable",
    ] {
        assert_eq!(OidcError::from_word(e).map(OidcError::word), Some(e));
    }
    assert_eq!(OidcError::from_word("<b>"), None);
}
