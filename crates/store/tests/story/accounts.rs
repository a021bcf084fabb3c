//! People, organisations, sessions, tokens and links: what one replica takes away, the other no longer accepts.

use crate::world::{Place, later, now};
use model::account::{AuditEntry, TokenInfo, TokenScope, UserId};
use model::ids::{OrgId, Role};
use store::{MemberChange, NewSession, OneTimeLink, Store};

fn user(id: &str) -> UserId {
    UserId(id.to_string())
}

async fn person(store: &dyn Store, id: &str) -> UserId {
    let email = format!("{id}@alder.example");
    assert!(store.create_user(&user(id), &email, id, now()).await.unwrap());
    user(id)
}

fn session(user: &UserId, org: OrgId, n: u8) -> NewSession {
    NewSession {
        hash: format!("hash-{n}"),
        id: format!("s{n}"),
        user: user.clone(),
        org,
        client: "Chromium".into(),
        address: "192.0.2.7".into(),
    }
}

pub async fn people_sign_in_and_are_signed_out_everywhere(place: &Place) {
    let (a, b) = (place.open().await, place.open().await);
    assert_eq!(a.user_count().await.unwrap(), 0);
    let ada = person(a.as_ref(), "ada").await;
    assert!(!a.create_user(&user("other"), "ada@alder.example", "Other", now()).await.unwrap());
    let org = a.create_org("key-1", "Alder Labs", &ada, now()).await.unwrap();
    assert_eq!(org, OrgId::BUILT_IN, "the first organisation is the one everything belongs to already");
    a.set_password(&ada, "$argon2id$…", None).await.unwrap();
    assert_eq!(
        a.credentials("ada@alder.example").await.unwrap().unwrap().password.as_deref(),
        Some("$argon2id$…")
    );

    for n in 1..=3 {
        a.create_session(&session(&ada, org, n), now()).await.unwrap();
    }
    let seen = b.session("hash-1").await.unwrap().unwrap();
    assert_eq!((seen.user.email.as_str(), seen.role), ("ada@alder.example", Some(Role::Owner)));
    b.touch_session("hash-2", later(5)).await.unwrap();
    b.touch_session("hash-2", later(1)).await.unwrap();
    let list = a.sessions(&ada, "s1").await.unwrap();
    assert_eq!(list.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), ["s2", "s1", "s3"]);
    assert_eq!((list[0].seen_at, list[1].is_current), (later(5), true));

    assert_eq!(a.end_sessions(&ada, Some("s3"), None).await.unwrap(), 1);
    assert_eq!(b.session("hash-3").await.unwrap(), None);
    a.set_password(&ada, "$argon2id$new", Some("s1")).await.unwrap();
    assert!(b.session("hash-2").await.unwrap().is_none() && b.session("hash-1").await.unwrap().is_some());
    assert_eq!(a.end_sessions(&ada, None, None).await.unwrap(), 1);
}

pub async fn a_second_factor_counts_once_on_whichever_replica(place: &Place) {
    let (a, b) = (place.open().await, place.open().await);
    let ada = person(a.as_ref(), "ada").await;
    let codes = ["one".to_string(), "two".to_string()];
    a.set_second_factor(&ada, Some("SECRET"), &codes).await.unwrap();
    assert!(a.credentials_of(&ada).await.unwrap().unwrap().user.has_second_factor);
    let both = futures_join(a.use_totp_step(&ada, 7), b.use_totp_step(&ada, 7)).await;
    assert_eq!([both.0.unwrap(), both.1.unwrap()].iter().filter(|used| **used).count(), 1);
    assert!(!b.use_totp_step(&ada, 6).await.unwrap() && b.use_totp_step(&ada, 8).await.unwrap());
    assert!(a.use_recovery_code(&ada, "one").await.unwrap());
    assert!(!b.use_recovery_code(&ada, "one").await.unwrap());
    a.set_second_factor(&ada, None, &[]).await.unwrap();
    assert!(!b.use_recovery_code(&ada, "two").await.unwrap());
}

async fn futures_join<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    tokio::join!(a, b)
}

pub async fn an_organisation_always_has_an_owner(place: &Place) {
    let s = place.open().await;
    let (ada, ben) = (person(s.as_ref(), "ada").await, person(s.as_ref(), "ben").await);
    let org = s.create_org("key-1", "Alder Labs", &ada, now()).await.unwrap();
    let other = s.create_org("key-2", "Birch", &ben, now()).await.unwrap();
    assert_ne!(org, other);
    assert_eq!(s.change_member(org, &ben, None).await.unwrap(), MemberChange::NotAMember);
    assert_eq!(s.change_member(org, &ada, Some(Role::Viewer)).await.unwrap(), MemberChange::LastOwner);
    assert_eq!(s.change_member(org, &ada, None).await.unwrap(), MemberChange::LastOwner);
    s.add_member(org, &ben, Role::Owner, now()).await.unwrap();
    // Two owners who remove each other at the same time: one stays.
    let t = place.open().await;
    let both = futures_join(s.change_member(org, &ada, None), t.change_member(org, &ben, None)).await;
    let done = [both.0.unwrap(), both.1.unwrap()];
    assert_eq!(done.iter().filter(|change| **change == MemberChange::Changed).count(), 1, "{done:?}");
    let left = s.members(org).await.unwrap();
    assert_eq!((left.len(), left[0].role), (1, Role::Owner));
}

pub async fn who_leaves_an_organisation_loses_its_sessions(place: &Place) {
    let s = place.open().await;
    let (ada, ben) = (person(s.as_ref(), "ada").await, person(s.as_ref(), "ben").await);
    let org = s.create_org("key-1", "Alder Labs", &ada, now()).await.unwrap();
    let other = s.create_org("key-2", "Birch", &ben, now()).await.unwrap();
    s.add_member(org, &ben, Role::Member, now()).await.unwrap();
    s.create_session(&session(&ben, org, 1), now()).await.unwrap();
    s.create_session(&session(&ben, other, 2), now()).await.unwrap();
    assert_eq!(s.memberships(&ben).await.unwrap().len(), 2);
    assert!(!s.switch_org("hash-2", OrgId(99)).await.unwrap());
    assert!(s.switch_org("hash-2", org).await.unwrap() && s.switch_org("hash-2", other).await.unwrap());
    assert_eq!(s.change_member(org, &ben, None).await.unwrap(), MemberChange::Changed);
    assert_eq!(s.session("hash-1").await.unwrap(), None);
    assert_eq!(s.session("hash-2").await.unwrap().unwrap().role, Some(Role::Owner));
    assert!(!s.switch_org("hash-2", org).await.unwrap());
}

pub async fn tokens_and_links_end(place: &Place) {
    let s = place.open().await;
    let ada = person(s.as_ref(), "ada").await;
    let org = s.create_org("key-1", "Alder Labs", &ada, now()).await.unwrap();
    let token = TokenInfo {
        id: "t1".into(),
        name: "CI".into(),
        scope: TokenScope::Write,
        created_by: "ada".into(),
        created_at: now(),
        expires_at: Some(later(60)),
        last_used_at: None,
    };
    s.create_token(org, "token-hash", &token).await.unwrap();
    assert_eq!(s.token("token-hash", later(59)).await.unwrap(), Some((org, token)));
    assert_eq!(s.token("token-hash", later(60)).await.unwrap(), None);
    s.touch_token("token-hash", later(2)).await.unwrap();
    assert_eq!(s.tokens(org).await.unwrap()[0].last_used_at, Some(later(2)));
    assert!(!s.revoke_token(OrgId(99), "t1").await.unwrap(), "another organisation's token");
    assert!(s.revoke_token(org, "t1").await.unwrap());
    assert_eq!(s.token("token-hash", now()).await.unwrap(), None);

    let link = OneTimeLink {
        id: "l1".into(),
        kind: "invitation".into(),
        org: Some(org),
        payload: r#"{"email":"ben@birch.example","role":"viewer","invited_by":"Ada"}"#.into(),
        expires_at: later(60),
    };
    s.create_link("link-hash", &link).await.unwrap();
    assert_eq!(s.invitations(org, now()).await.unwrap()[0].role, Role::Viewer);
    assert_eq!(s.peek_link("link-hash", later(60)).await.unwrap(), None);
    let t = place.open().await;
    let both = futures_join(s.take_link("link-hash", now()), t.take_link("link-hash", now())).await;
    assert_eq!([both.0.unwrap(), both.1.unwrap()].iter().flatten().count(), 1, "a link works once");
    s.create_link("again", &link).await.unwrap();
    assert_eq!(s.withdraw_links(None, "invitation", Some("l1")).await.unwrap(), 0);
    assert_eq!(s.withdraw_links(Some(org), "invitation", Some("l1")).await.unwrap(), 1);
}

pub async fn failures_count_together_and_audit_is_kept_apart(place: &Place) {
    let (s, t) = (place.open().await, place.open().await);
    assert_eq!(s.failures("account:ada").await.unwrap(), (0, None));
    for n in 0..6 {
        let one = if n % 2 == 0 { &s } else { &t };
        one.count_failure("account:ada", now(), later(n)).await.unwrap();
    }
    assert_eq!(t.failures("account:ada").await.unwrap(), (6, Some(later(5))));
    s.count_failure("account:ada", later(100), later(100)).await.unwrap();
    assert_eq!(t.failures("account:ada").await.unwrap().0, 1, "old failures are forgotten");
    s.clear_failures("account:ada").await.unwrap();
    assert_eq!(t.failures("account:ada").await.unwrap(), (0, None));

    let entry = |n: i64, object: &str| AuditEntry {
        id: 0,
        at: later(n),
        who: "Ada".into(),
        address: "192.0.2.7".into(),
        action: "domain.add".into(),
        object: object.into(),
        old: None,
        new: Some("owned".into()),
    };
    for n in 0..5 {
        s.audit(OrgId(1), &entry(n, &format!("d{n}.example"))).await.unwrap();
        s.audit(OrgId(2), &entry(n, "other.example")).await.unwrap();
    }
    let newest = t.audit_log(OrgId(1), None, 2).await.unwrap();
    assert_eq!(newest.iter().map(|e| e.object.as_str()).collect::<Vec<_>>(), ["d4.example", "d3.example"]);
    let next = t.audit_log(OrgId(1), Some(newest[1].id), 10).await.unwrap();
    assert_eq!((next.len(), next[0].object.as_str()), (3, "d2.example"));
    assert_eq!(s.prune_accounts(later(0), later(3)).await.unwrap(), 6);
}
