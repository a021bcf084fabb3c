//! People, organisations, sessions, tokens and links: what one replica takes away, the other no longer accepts.

use crate::world::{Place, later, now};
use model::account::{Actor, AuditQuery, SignInMethod, TokenInfo, TokenScope, UserId};
use model::ids::{OrgId, Role};
use store::{Audit, MemberChange, NewSession, OneTimeLink, Replay, Store};

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
        method: SignInMethod::Password,
    }
}

pub async fn people_sign_in_and_are_signed_out_everywhere(place: &Place) {
    let (a, b) = (place.open().await, place.open().await);
    assert_eq!(a.user_count().await.unwrap(), 0);
    let ada = person(a.as_ref(), "ada").await;
    assert!(!a.create_user(&user("other"), "ada@alder.example", "Other", now()).await.unwrap());
    let org = a.create_org("key-1", "Alder Labs", &ada, now()).await.unwrap();
    assert_eq!(org, OrgId::BUILT_IN, "the first organisation is the one everything belongs to already");
    a.set_password(&ada, "$argon2id$…", None, None).await.unwrap();
    assert_eq!(
        a.credentials("ada@alder.example").await.unwrap().unwrap().password.as_deref(),
        Some("$argon2id$…")
    );

    for n in 1..=3 {
        a.create_session(&session(&ada, org, n), now(), None).await.unwrap();
    }
    let seen = b.session("hash-1").await.unwrap().unwrap();
    assert_eq!((seen.user.email.as_str(), seen.role), ("ada@alder.example", Some(Role::Owner)));
    b.touch_session("hash-2", later(5)).await.unwrap();
    b.touch_session("hash-2", later(1)).await.unwrap();
    let list = a.sessions(&ada, "s1").await.unwrap();
    assert_eq!(list.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), ["s2", "s1", "s3"]);
    assert_eq!((list[0].seen_at, list[1].is_current), (later(5), true));

    assert_eq!(a.end_sessions(&ada, Some("s3"), None, None).await.unwrap(), 1);
    assert_eq!(b.session("hash-3").await.unwrap(), None);
    a.set_password(&ada, "$argon2id$new", Some("s1"), None).await.unwrap();
    assert!(b.session("hash-2").await.unwrap().is_none() && b.session("hash-1").await.unwrap().is_some());
    assert_eq!(a.end_sessions(&ada, None, None, None).await.unwrap(), 1);
}

pub async fn a_second_factor_counts_once_on_whichever_replica(place: &Place) {
    let (a, b) = (place.open().await, place.open().await);
    let ada = person(a.as_ref(), "ada").await;
    let codes = ["one".to_string(), "two".to_string()];
    a.set_second_factor(&ada, Some("SECRET"), &codes, None).await.unwrap();
    assert!(a.credentials_of(&ada).await.unwrap().unwrap().user.has_second_factor);
    let both = futures_join(a.use_totp_step(&ada, 7), b.use_totp_step(&ada, 7)).await;
    assert_eq!([both.0.unwrap(), both.1.unwrap()].iter().filter(|used| **used).count(), 1);
    assert!(!b.use_totp_step(&ada, 6).await.unwrap() && b.use_totp_step(&ada, 8).await.unwrap());
    assert!(a.use_recovery_code(&ada, "one").await.unwrap());
    assert!(!b.use_recovery_code(&ada, "one").await.unwrap());
    a.set_second_factor(&ada, None, &[], None).await.unwrap();
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
    assert_eq!(s.change_member(org, &ben, None, None).await.unwrap(), MemberChange::NotAMember);
    assert_eq!(s.change_member(org, &ada, Some(Role::Viewer), None).await.unwrap(), MemberChange::LastOwner);
    assert_eq!(s.change_member(org, &ada, None, None).await.unwrap(), MemberChange::LastOwner);
    s.add_member(org, &ben, Role::Owner, now(), None).await.unwrap();
    // Two owners who remove each other at the same time: one stays.
    let t = place.open().await;
    let both =
        futures_join(s.change_member(org, &ada, None, None), t.change_member(org, &ben, None, None)).await;
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
    s.add_member(org, &ben, Role::Member, now(), None).await.unwrap();
    s.create_session(&session(&ben, org, 1), now(), None).await.unwrap();
    s.create_session(&session(&ben, other, 2), now(), None).await.unwrap();
    assert_eq!(s.memberships(&ben).await.unwrap().len(), 2);
    assert!(!s.switch_org("hash-2", OrgId(99)).await.unwrap());
    assert!(s.switch_org("hash-2", org).await.unwrap() && s.switch_org("hash-2", other).await.unwrap());
    assert_eq!(s.change_member(org, &ben, None, None).await.unwrap(), MemberChange::Changed);
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
        hint: "dst_AAEC".into(),
    };
    s.create_token(org, "token-hash", &token, None).await.unwrap();
    assert_eq!(s.token("token-hash", later(59)).await.unwrap(), Some((org, token)));
    assert_eq!(s.token("token-hash", later(60)).await.unwrap(), None);
    s.touch_token("token-hash", later(2)).await.unwrap();
    assert_eq!(s.tokens(org).await.unwrap()[0].last_used_at, Some(later(2)));
    assert!(!s.revoke_token(OrgId(99), "t1", None).await.unwrap(), "another organisation's token");
    assert!(s.revoke_token(org, "t1", None).await.unwrap());
    assert_eq!(s.token("token-hash", now()).await.unwrap(), None);

    let link = OneTimeLink {
        id: "l1".into(),
        kind: "invitation".into(),
        org: Some(org),
        payload: r#"{"email":"ben@birch.example","role":"viewer","invited_by":"Ada"}"#.into(),
        expires_at: later(60),
    };
    s.create_link("link-hash", &link, None).await.unwrap();
    assert_eq!(s.invitations(org, now()).await.unwrap()[0].role, Role::Viewer);
    assert_eq!(s.peek_link("link-hash", later(60)).await.unwrap(), None);
    let t = place.open().await;
    let both = futures_join(s.take_link("link-hash", now()), t.take_link("link-hash", now())).await;
    assert_eq!([both.0.unwrap(), both.1.unwrap()].iter().flatten().count(), 1, "a link works once");
    s.create_link("again", &link, None).await.unwrap();
    assert_eq!(s.withdraw_links(None, "invitation", Some("l1"), None).await.unwrap(), 0);
    assert_eq!(s.withdraw_links(Some(org), "invitation", Some("l1"), None).await.unwrap(), 1);
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

    let entry = |org: i64, n: i64, object: &str| Audit {
        org: OrgId(org),
        by: Actor { who: "Ada".into(), id: None, address: "192.0.2.7".into() },
        at: later(n),
        action: "domain.add",
        object: object.into(),
        old: None,
        new: Some("owned".into()),
    };
    for n in 0..5 {
        s.audit(&entry(1, n, &format!("d{n}.example"))).await.unwrap();
        s.audit(&entry(2, n, "other.example")).await.unwrap();
    }
    let ask = |before, limit| AuditQuery { before, limit, ..AuditQuery::default() };
    let newest = t.audit_log(OrgId(1), &ask(None, 2)).await.unwrap();
    let objects: Vec<_> = newest.entries.iter().map(|e| e.object.as_str()).collect();
    assert_eq!(objects, ["d4.example", "d3.example"]);
    let next = t.audit_log(OrgId(1), &ask(newest.next, 10)).await.unwrap();
    assert_eq!((next.entries.len(), next.entries[0].object.as_str(), next.next), (3, "d2.example", None));
    assert_eq!(s.prune_accounts(later(0), later(3)).await.unwrap(), 6);
}

/// What the log says of a query, as `action object old -> new`, newest first.
async fn said(s: &dyn Store, org: OrgId, query: AuditQuery) -> Vec<String> {
    let page = s.audit_log(org, &AuditQuery { limit: 100, ..query }).await.unwrap();
    let words = |v: Option<String>| v.unwrap_or_else(|| "-".into());
    page.entries
        .into_iter()
        .map(|e| format!("{} {} {} -> {}", e.action, e.object, words(e.old), words(e.new)))
        .collect()
}

pub async fn every_change_is_in_the_audit_log_with_old_and_new(place: &Place) {
    use crate::world::{name, new};
    use model::item::{ItemPatch, Ownership};
    let s = place.open().await;
    let (ada, ben) = (person(s.as_ref(), "ada").await, person(s.as_ref(), "ben").await);
    let org = s.create_org("key-1", "Alder Labs", &ada, now()).await.unwrap();
    let by = Actor { who: "Ada".into(), id: Some(ada.0.clone()), address: "192.0.2.7".into() };
    let note = |action, object: &str, new: Option<&str>| Audit {
        org,
        by: by.clone(),
        at: now(),
        action,
        object: object.into(),
        old: None,
        new: new.map(Into::into),
    };
    s.add_member(org, &ben, Role::Member, now(), Some(&note("member.join", "ben", Some("member"))))
        .await
        .unwrap();
    let role = note("member.role", "ben", Some("viewer"));
    s.change_member(org, &ben, Some(Role::Viewer), Some(&role)).await.unwrap();
    s.change_member(org, &ben, Some(Role::Viewer), Some(&role)).await.unwrap();
    let refused = note("member.role", "ada", Some("viewer"));
    s.change_member(org, &ada, Some(Role::Viewer), Some(&refused)).await.unwrap();
    s.rename_org(org, "Alder", Some(&note("organisation.rename", "organisation", Some("Alder"))))
        .await
        .unwrap();
    assert!(!s.revoke_token(org, "none", Some(&note("token.revoke", "", None))).await.unwrap());
    assert_eq!(
        said(s.as_ref(), org, AuditQuery::default()).await,
        [
            "organisation.rename organisation Alder Labs -> Alder",
            "member.role ben member -> viewer",
            "member.join ben - -> member",
        ],
        "what changed nothing is not in the log"
    );

    let names = [name("a.example"), name("b.example")];
    let added =
        s.add_by(&by, org, &[new("a.example"), new("b.example"), new("a.example")], now()).await.unwrap();
    assert_eq!(added, [true, true, false]);
    let patch = ItemPatch {
        ownership: Some(Ownership::Watched),
        tags: Some(vec!["prod".into()]),
        ..ItemPatch::default()
    };
    s.patch_by(&by, org, &names[0], &patch, later(1)).await.unwrap();
    s.patch_by(&by, org, &names[0], &patch, later(1)).await.unwrap();
    let gone = s.delete_returning_by(&by, org, &names[..1], later(2)).await.unwrap();
    s.restore_by(&by, org, &gone, later(3)).await.unwrap();
    let domains = || AuditQuery { subject: "domain".into(), ..AuditQuery::default() };
    assert_eq!(
        said(s.as_ref(), org, domains()).await,
        [
            "domain.restore a.example - -> watched; tags: prod",
            "domain.remove a.example watched; tags: prod -> -",
            "domain.change a.example owned -> watched; tags: prod",
            "domain.add b.example - -> owned",
            "domain.add a.example - -> owned",
        ]
    );
    let text = |text: &str| AuditQuery { text: text.into(), ..domains() };
    assert_eq!(said(s.as_ref(), org, text("B.EXAMPLE")).await.len(), 1);
    assert_eq!(said(s.as_ref(), org, text("ADA@alder")).await.len(), 5, "the account's address is searched");
    assert_eq!(said(s.as_ref(), org, text("%")).await.len(), 0, "no pattern");
    let between = AuditQuery { since: Some(later(1)), until: Some(later(2)), ..AuditQuery::default() };
    assert_eq!(said(s.as_ref(), org, between).await.len(), 1);
    let entry = s.audit_log(org, &AuditQuery { limit: 1, ..domains() }).await.unwrap().entries.remove(0);
    assert_eq!((entry.who.as_str(), entry.email.as_deref()), ("Ada", Some("ada@alder.example")));
    assert_eq!(said(s.as_ref(), OrgId(99), AuditQuery::default()).await.len(), 0);
}

pub async fn a_request_with_a_key_is_carried_out_once(place: &Place) {
    let (s, t) = (place.open().await, place.open().await);
    let org = OrgId(1);
    let both = futures_join(
        s.claim_request(org, "k", "POST /a", now()),
        t.claim_request(org, "k", "POST /a", now()),
    )
    .await;
    let both = [both.0.unwrap(), both.1.unwrap()];
    assert!(both.contains(&Replay::New) && both.contains(&Replay::Running), "{both:?}");
    s.keep_answer(org, "k", "answer").await.unwrap();
    let again = |request: &'static str, org: i64, minutes: i64| {
        let t = &t;
        async move { t.claim_request(OrgId(org), "k", request, later(minutes)).await.unwrap() }
    };
    assert_eq!(again("POST /a", 1, 5).await, Replay::Answered("answer".into()));
    assert_eq!(again("POST /b", 1, 5).await, Replay::OtherRequest);
    assert_eq!(again("POST /b", 2, 5).await, Replay::New, "keys of organisations are apart");
    s.forget_request(OrgId(2), "k").await.unwrap();
    assert_eq!(again("POST /c", 2, 5).await, Replay::New);
    assert_eq!(again("POST /b", 1, 25 * 60).await, Replay::New, "a day later the key is free");
}
