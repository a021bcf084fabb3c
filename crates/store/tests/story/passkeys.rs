//! Passkeys and challenges, as two replicas see them.

use crate::world::{Place, later, now};
use model::account::{Actor, AuditQuery, UserId};
use model::ids::OrgId;
use store::{Audit, Passkey};

fn passkey(id: &str, user: &UserId, credential: &str) -> Passkey {
    Passkey {
        id: id.into(),
        user: user.clone(),
        credential: credential.into(),
        site: "https://scope.example".into(),
        name: format!("key {id}"),
        data: "{}".into(),
        created_at: now(),
        last_used_at: None,
    }
}

pub async fn a_challenge_is_answered_once_and_a_passkey_belongs_to_one_person(place: &Place) {
    let (a, b) = (place.open().await, place.open().await);
    let (ada, ben) = (UserId("ada".into()), UserId("ben".into()));
    assert!(a.create_user(&ada, "ada@alder.example", "Ada", now()).await.unwrap());
    assert!(a.create_user(&ben, "ben@alder.example", "Ben", now()).await.unwrap());
    let log = Audit {
        org: OrgId::BUILT_IN,
        by: Actor::system(),
        at: now(),
        action: "account.passkey_remove",
        object: "Ada".into(),
        old: None,
        new: None,
    };
    let first = passkey("p1", &ada, "c1");
    assert!(a.add_passkey(&first, None).await.unwrap());
    assert!(!b.add_passkey(&passkey("p2", &ben, "c1"), None).await.unwrap(), "known already");
    assert!(b.add_passkey(&passkey("p3", &ben, "c3"), None).await.unwrap());
    assert_eq!(b.passkeys(&ada).await.unwrap(), std::slice::from_ref(&first));
    assert_eq!(b.passkey("c1").await.unwrap(), Some(first.clone()));
    assert!(b.passkey_used("p1", "{\"counter\":1}", later(5)).await.unwrap());
    let used = Passkey { data: "{\"counter\":1}".into(), last_used_at: Some(later(5)), ..first };
    assert_eq!(a.passkey("c1").await.unwrap(), Some(used));
    assert!(!a.remove_passkey(&ben, "p1", Some(&log)).await.unwrap(), "someone else's");
    assert!(a.remove_passkey(&ada, "p1", Some(&log)).await.unwrap());
    assert!(!b.passkey_used("p1", "{}", later(6)).await.unwrap(), "removed on another replica");
    assert_eq!(b.passkey("c1").await.unwrap(), None);
    let entries = b
        .audit_log(OrgId::BUILT_IN, &AuditQuery { limit: 10, ..AuditQuery::default() })
        .await
        .unwrap()
        .entries;
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].old.as_deref(), Some("key p1"));

    assert!(a.keep_challenge("h", "old", later(60), now()).await.unwrap());
    assert!(a.keep_challenge("h", "new", later(60), now()).await.unwrap(), "in place of the first");
    assert_eq!(b.take_challenge("h", later(1)).await.unwrap().as_deref(), Some("new"));
    assert_eq!(a.take_challenge("h", later(1)).await.unwrap(), None, "used up");
    assert!(a.keep_challenge("h", "late", later(60), now()).await.unwrap());
    assert_eq!(a.take_challenge("h", later(60)).await.unwrap(), None, "too late");
}
