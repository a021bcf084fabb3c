//! Whom a provider's claims let in, and as what. The exchange with a provider itself is tested against a real one (e2e).

use super::*;
use crate::identity::oidc::Claims;
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
    for verified in [None, Some(false)] {
        let unverified = Claims { email_verified: verified, ..as_ada.clone() };
        assert_eq!(enter(&place, &link, &unverified).await, Err(OidcError::NoAccount), "{verified:?}");
        let unverified = Claims { email_verified: verified, ..claims("s2", "new@birch.example", "staff") };
        assert_eq!(enter(&place, &link, &unverified).await, Err(OidcError::NoAccount), "{verified:?}");
    }
    let nameless = Claims { email: None, ..as_ada.clone() };
    assert_eq!(enter(&place, &link, &nameless).await, Err(OidcError::NoAccount));
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
        "no-organisation",
        "throttled",
        "unavailable",
    ] {
        assert_eq!(OidcError::from_word(e).map(OidcError::word), Some(e));
    }
    assert_eq!(OidcError::from_word("<b>"), None);
}
