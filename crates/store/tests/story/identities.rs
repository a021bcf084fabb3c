//! Accounts at a provider, as two replicas see them.

use crate::world::{Place, now};
use model::account::{IdentityInfo, UserId};
use model::ids::{OrgId, Role};
use store::NewIdentity;

const ISSUER: &str = "https://login.alder.example";

fn identity(subject: &str, user: &str, create: Option<&str>) -> NewIdentity {
    NewIdentity {
        issuer: ISSUER.into(),
        subject: subject.into(),
        user: UserId(user.into()),
        create: create.map(|email| (email.to_string(), "Ben".to_string())),
        join: None,
    }
}

pub async fn an_account_at_a_provider_is_linked_whole_or_not_at_all(place: &Place) {
    let (a, b) = (place.open().await, place.open().await);
    let ada = UserId("ada".into());
    assert!(a.create_user(&ada, "ada@alder.example", "Ada", now()).await.unwrap());
    let org = a.create_org("key-1", "Alder Labs", &ada, now()).await.unwrap();
    let other = a.create_org("key-2", "Birch", &ada, now()).await.unwrap();
    assert_eq!(a.orgs_called("key-2").await.unwrap(), [other]);
    assert_eq!(b.orgs_called("Alder Labs").await.unwrap(), [org]);
    assert_eq!(b.orgs_called("alder").await.unwrap(), [] as [OrgId; 0]);

    let new =
        NewIdentity { join: Some((org, Role::Member)), ..identity("s1", "ben", Some("ben@birch.example")) };
    assert!(a.link_identity(&new, now(), None).await.unwrap());
    assert_eq!(b.identity(ISSUER, "s1").await.unwrap(), Some(UserId("ben".into())));
    assert_eq!(b.identity("https://other.example", "s1").await.unwrap(), None);
    assert_eq!(b.memberships(&new.user).await.unwrap()[0].role, Role::Member);
    // A taken address makes no account and no link; neither does a taken subject.
    assert!(!b.link_identity(&identity("s2", "eve", Some("ada@alder.example")), now(), None).await.unwrap());
    assert_eq!(b.identity(ISSUER, "s2").await.unwrap(), None);
    assert!(!b.link_identity(&identity("s1", "eve", Some("eve@birch.example")), now(), None).await.unwrap());
    assert!(b.credentials("eve@birch.example").await.unwrap().is_none(), "all or nothing");
    // Linked to an account, which keeps its role and has one account at a provider.
    let link = NewIdentity { join: Some((org, Role::Viewer)), ..identity("s3", "ada", None) };
    assert!(b.link_identity(&link, now(), None).await.unwrap());
    assert_eq!(a.memberships(&ada).await.unwrap()[0].role, Role::Owner);
    assert!(!a.link_identity(&identity("s4", "ada", None), now(), None).await.unwrap());
    // Unlinked by its owner, it signs in no more and can be linked again.
    let linked = b.identities(&ada).await.unwrap();
    assert_eq!(linked, [IdentityInfo { issuer: ISSUER.into(), linked_at: now() }]);
    assert!(!a.unlink_identity(&ada, "https://other.example", None).await.unwrap());
    assert!(!a.unlink_identity(&UserId("eve".into()), ISSUER, None).await.unwrap());
    assert!(a.unlink_identity(&ada, ISSUER, None).await.unwrap());
    assert_eq!(b.identity(ISSUER, "s3").await.unwrap(), None);
    assert!(b.identities(&ada).await.unwrap().is_empty());
    assert!(b.link_identity(&identity("s4", "ada", None), now(), None).await.unwrap());
}
