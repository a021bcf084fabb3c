//! Identity and points of presence: rules of the two claims, tokens that work once, questions that are answered once.

use crate::uses::agent;
use crate::world::{ONE, Place, later, now};
use ::fleet::{CLAIMS_MAX, CLUSTERSET_CLAIM, ID_CLAIM, VALUE_MAX};
use jiff::SignedDuration;
use model::account::Actor;
use model::ids::LogPosition;
use store::{
    AgentReport, ClaimsUsed, ClusterClaimWrite, Error, IdentityRule, JoinOutcome, Store, StoredClusterClaim,
    WorkState,
};

async fn put(
    s: &dyn Store,
    name: &str,
    value: &str,
    expected: Option<LogPosition>,
) -> Result<Result<StoredClusterClaim, IdentityRule>, Error> {
    let write = ClusterClaimWrite {
        name: name.into(),
        expected,
        metadata: "{}".into(),
        value: value.into(),
        dry_run: false,
    };
    s.write_cluster_claim(&Actor::system(), &write, now()).await
}

/// What an agent reports of itself.
fn report(id: &str, draining: bool) -> AgentReport {
    AgentReport {
        id: id.into(),
        version: "0.1.0".into(),
        protocol: 1,
        seen_at: now(),
        latency_ms: None,
        running: 0,
        draining,
    }
}

async fn token(s: &dyn Store, hash: &str) {
    s.add_agent_token(&Actor::system(), hash, "", later(15), now()).await.unwrap();
}

pub async fn claims_of_identity_follow_their_rules(place: &Place) {
    let s = place.open().await;
    let by = Actor::system();
    let id = put(&*s, ID_CLAIM, "alder-main", None).await.unwrap().unwrap();
    assert!(matches!(put(&*s, ID_CLAIM, "other", None).await, Err(Error::Conflict)), "it exists");
    // Outside of a set it can be renamed.
    let id = put(&*s, ID_CLAIM, "alder-west", Some(id.rv)).await.unwrap().unwrap();
    let set = put(&*s, CLUSTERSET_CLAIM, "alder-fleet", None).await.unwrap().unwrap();
    assert_eq!(put(&*s, ID_CLAIM, "x", Some(id.rv)).await.unwrap(), Err(IdentityRule::IsMember));
    assert_eq!(
        s.delete_cluster_claim(&by, ID_CLAIM, None, now()).await.unwrap(),
        Err(IdentityRule::IsRequired)
    );
    token(&*s, "one").await;
    assert_eq!(s.join_agent("one", &agent("fra-1"), now()).await.unwrap(), JoinOutcome::Joined);
    let stays = Err(IdentityRule::HasAgents(1));
    assert_eq!(s.delete_cluster_claim(&by, CLUSTERSET_CLAIM, None, now()).await.unwrap(), stays);
    assert_eq!(put(&*s, CLUSTERSET_CLAIM, "x", Some(set.rv)).await.unwrap(), stays);
    assert!(s.revoke_agent(&by, "fra-1", now()).await.unwrap());
    assert!(!s.revoke_agent(&by, "fra-1", now()).await.unwrap());
    let gone = s.delete_cluster_claim(&by, CLUSTERSET_CLAIM, Some(set.rv), now()).await.unwrap().unwrap();
    assert!(gone.rv > set.rv);
    let kept = s.tombstones(&[gone.rv]).await.unwrap();
    assert!(kept[0].1.contains("alder-fleet"), "a watch reports it");
    assert!(put(&*s, ID_CLAIM, "alder-east", Some(id.rv)).await.unwrap().is_ok(), "left: it may be renamed");
    let log = crate::world::log(&*s, Some(ONE), LogPosition(0), 99).await;
    let words: Vec<_> = log.iter().filter(|e| e.kind == "cluster_claim").map(|e| e.op.as_str()).collect();
    assert_eq!(words, ["create", "update", "create", "delete", "update"]);
    let names = s.cluster_claims("", 9).await.unwrap();
    assert_eq!(
        names.iter().map(|c| (c.name.as_str(), c.value.as_str())).collect::<Vec<_>>(),
        [(ID_CLAIM, "alder-east")]
    );
}

pub async fn a_token_makes_one_member_and_answers_are_taken_once(place: &Place) {
    let (s, other) = (place.open().await, place.open().await);
    let id = put(&*s, ID_CLAIM, "alder-main", None).await.unwrap().unwrap();
    token(&*s, "one").await;
    let early = s.join_agent("one", &agent("fra-1"), later(1)).await.unwrap();
    assert_eq!(early, JoinOutcome::NoSet, "there is nothing to be a member of");
    put(&*s, CLUSTERSET_CLAIM, "alder-fleet", None).await.unwrap().unwrap();
    assert_eq!(put(&*s, ID_CLAIM, "x", Some(id.rv)).await.unwrap(), Err(IdentityRule::IsMember));
    let join = |hash: &'static str, id: &'static str| {
        let s = s.clone();
        async move { s.join_agent(hash, &agent(id), later(1)).await.unwrap() }
    };
    assert_eq!(join("none", "fra-1").await, JoinOutcome::Token);
    assert_eq!(join("one", "alder-main").await, JoinOutcome::Exists, "the server has this identity");
    assert_eq!(join("one", "fra-1").await, JoinOutcome::Joined, "the token was still unused");
    assert_eq!(join("one", "fra-2").await, JoinOutcome::Repeated("fra-1".into()), "used by this key");
    s.add_agent_token(&Actor::system(), "named", "gru-1", later(15), now()).await.unwrap();
    assert_eq!(join("named", "gru-2").await, JoinOutcome::Bound("gru-1".into()));
    assert_eq!(join("named", "gru-1").await, JoinOutcome::Joined, "it was still unused");
    assert!(s.revoke_agent(&Actor::system(), "gru-1", later(1)).await.unwrap());
    assert_eq!(join("named", "gru-1").await, JoinOutcome::Token, "revoked: repeating it does not help");
    token(&*s, "two").await;
    let other_key = store::Agent { key: "other".into(), ..agent("fra-1") };
    assert_eq!(s.join_agent("two", &other_key, later(1)).await.unwrap(), JoinOutcome::Exists);
    // The same key: who joined before, whatever the token; an unused one stays so.
    let repeated = JoinOutcome::Repeated("fra-1".into());
    assert_eq!(join("two", "fra-1").await, repeated);
    assert_eq!(join("one", "fra-1").await, repeated);
    assert_eq!(s.join_agent("one", &other_key, later(1)).await.unwrap(), JoinOutcome::Token);
    assert_eq!(s.join_agent("one", &agent("fra-1"), later(60)).await.unwrap(), repeated, "expired meanwhile");
    let late = s.join_agent("two", &agent("fra-2"), later(16)).await.unwrap();
    assert_eq!(late, JoinOutcome::Token, "expired");
    assert_eq!(other.agents().await.unwrap().len(), 1);
    assert_eq!(other.agent("fra-1").await.unwrap().unwrap().id, "fra-1");
    assert_eq!(other.agent("fra-2").await.unwrap(), None);
    // A stamp counts once.
    assert!(s.agent_seen(&report("fra-1", false), 7).await.unwrap());
    assert!(!other.agent_seen(&report("fra-1", false), 7).await.unwrap());
    assert!(!s.agent_seen(&report("fra-9", false), 8).await.unwrap());
    // An answer says that the agent lives, and leaves what it reported of itself.
    assert!(s.agent_seen(&report("fra-1", true), 8).await.unwrap());
    assert!(other.agent_heard("fra-1", 9, later(1)).await.unwrap());
    assert!(
        !other.agent_heard("fra-1", 9, later(2)).await.unwrap()
            && !s.agent_heard("x", 9, now()).await.unwrap()
    );
    let found = s.agent("fra-1").await.unwrap().unwrap();
    assert_eq!((found.draining, found.seen_at), (true, later(1)));
    // Its first answer is noted once, and leaves the rest too.
    s.agent_answered("fra-1", later(1)).await.unwrap();
    other.agent_answered("fra-1", later(2)).await.unwrap();
    s.agent_answered("x", later(1)).await.unwrap();
    let found = s.agent("fra-1").await.unwrap().unwrap();
    assert_eq!((found.draining, found.first_answer_at), (true, Some(later(1))));
    // A report leaves what is not its own.
    let joined = agent("fra-1");
    let newer = AgentReport { version: "0.2.0".into(), latency_ms: Some(12), ..report("fra-1", false) };
    assert!(s.agent_seen(&newer, 10).await.unwrap());
    let found = s.agent("fra-1").await.unwrap().unwrap();
    assert_eq!(
        (found.first_answer_at, &found.version, found.draining),
        (Some(later(1)), &newer.version, false)
    );
    assert_eq!((&found.region, &found.key, found.joined_at), (&joined.region, &joined.key, joined.joined_at));
    assert!(s.agent_seen(&report("fra-1", false), 11).await.unwrap());
    let kept = s.agent("fra-1").await.unwrap().unwrap();
    assert_eq!((kept.latency_ms, kept.latency), (Some(12), found.latency), "reported before");
    // Polls and first answers at the same time, on two replicas.
    for n in 0..10 {
        let id = format!("race-{n}");
        token(&*s, &id).await;
        let joined = store::Agent { key: id.clone(), ..agent(&id) };
        assert_eq!(s.join_agent(&id, &joined, later(1)).await.unwrap(), JoinOutcome::Joined);
        let drains = report(&id, true);
        let (seen, answered) = tokio::join!(s.agent_seen(&drains, 7), other.agent_answered(&id, later(1)));
        assert!(seen.unwrap() && answered.is_ok());
        let found = s.agent(&id).await.unwrap().unwrap();
        assert_eq!((found.draining, found.first_answer_at), (true, Some(later(1))), "{id}");
        assert!(s.revoke_agent(&Actor::system(), &id, later(1)).await.unwrap());
    }
    // Asked on one replica, taken and answered on the other.
    s.ask_agent("fra-1", "q1", "question", later(2)).await.unwrap();
    assert_eq!(s.agent_queues(now()).await.unwrap(), [("fra-1".to_string(), 1)]);
    assert_eq!(other.agent_work("fra-1", "q1", now()).await.unwrap(), WorkState::Unknown, "not taken yet");
    assert!(other.take_agent_work("fra-2", 9, now()).await.unwrap().is_empty());
    let taken = other.take_agent_work("fra-1", 9, now()).await.unwrap();
    assert_eq!(taken, [("q1".to_string(), "question".to_string(), later(2))]);
    assert!(s.take_agent_work("fra-1", 9, now()).await.unwrap().is_empty(), "once");
    // It did not arrive: it waits again, for the same agent.
    assert_eq!(s.agent_work_out("fra-1", now()).await.unwrap(), ["q1"]);
    assert!(s.agent_work_out("fra-2", now()).await.unwrap().is_empty());
    assert!(!s.take_back_agent_work("fra-2", "q1", now()).await.unwrap());
    assert!(!s.take_back_agent_work("fra-1", "q1", later(3)).await.unwrap(), "its time is over");
    assert!(s.take_back_agent_work("fra-1", "q1", now()).await.unwrap());
    assert!(!other.take_back_agent_work("fra-1", "q1", now()).await.unwrap(), "once");
    assert!(s.agent_work_out("fra-1", now()).await.unwrap().is_empty());
    assert_eq!(other.take_agent_work("fra-1", 9, now()).await.unwrap(), taken);
    assert_eq!(s.agent_work("fra-2", "q1", now()).await.unwrap(), WorkState::Unknown, "of another agent");
    assert!(matches!(other.agent_work("fra-1", "q1", now()).await.unwrap(), WorkState::Open(_)));
    assert!(!other.answer_agent_work("fra-1", "q1", "late", later(3)).await.unwrap());
    assert_eq!(s.agent_answer("q1").await.unwrap(), None);
    assert!(other.answer_agent_work("fra-1", "q1", "answer", now()).await.unwrap());
    assert!(!other.answer_agent_work("fra-1", "q1", "again", now()).await.unwrap());
    assert_eq!(s.agent_work("fra-1", "q1", now()).await.unwrap(), WorkState::Over);
    assert!(!s.take_back_agent_work("fra-1", "q1", now()).await.unwrap(), "answered");
    assert_eq!(s.agent_answer("q1").await.unwrap().as_deref(), Some("answer"));
    s.end_agent_work("q1", now()).await.unwrap();
    assert_eq!(s.agent_answer("q1").await.unwrap(), None);
    // What was asked and never taken is removed with the next one that ends.
    s.ask_agent("fra-1", "q2", "question", later(2)).await.unwrap();
    s.end_agent_work("none", later(2) + SignedDuration::from_secs(61)).await.unwrap();
    assert_eq!(s.agent_queues(now()).await.unwrap(), []);
}

pub async fn joining_renaming_and_leaving_follow_each_other(place: &Place) {
    let (s, other) = (place.open().await, place.open().await);
    let by = Actor::system();
    // Two first starts at once: one identity, and the other process learns that it lost.
    let (a, b) = tokio::join!(put(&*s, ID_CLAIM, "a", None), put(&*other, ID_CLAIM, "b", None));
    let made: Vec<_> = [a, b].into_iter().filter_map(|r| r.ok()?.ok()).collect();
    assert_eq!(made.len(), 1, "{made:?}");
    let mut id = s.cluster_claim(ID_CLAIM).await.unwrap().expect("one is there");
    assert_eq!(id, made[0]);
    for round in 0..20 {
        let name = format!("fra-{round}");
        let set = put(&*s, CLUSTERSET_CLAIM, "alder-fleet", None).await.unwrap().unwrap();
        token(&*s, &name).await;
        let member = agent(&name);
        let renamed = format!("main-{round}");
        let (joined, left, rename) = tokio::join!(
            s.join_agent(&name, &member, now()),
            other.delete_cluster_claim(&by, CLUSTERSET_CLAIM, Some(set.rv), now()),
            put(&*other, ID_CLAIM, &renamed, Some(id.rv)),
        );
        let (joined, left, rename) = (joined.unwrap(), left.unwrap(), rename.unwrap());
        let agents = s.agents().await.unwrap();
        let is_member = s.cluster_claim(CLUSTERSET_CLAIM).await.unwrap().is_some();
        match joined {
            JoinOutcome::Joined => {
                assert_eq!((left, agents.len()), (Err(IdentityRule::HasAgents(1)), 1), "round {round}");
                assert_eq!(rename, Err(IdentityRule::IsMember), "round {round}");
                assert!(is_member && s.revoke_agent(&by, &name, now()).await.unwrap());
                s.delete_cluster_claim(&by, CLUSTERSET_CLAIM, None, now()).await.unwrap().unwrap();
            }
            JoinOutcome::NoSet => {
                assert!(
                    left.is_ok() && agents.is_empty() && !is_member,
                    "round {round}: {left:?} {agents:?}"
                );
            }
            other => panic!("{other:?}"),
        }
        id = s.cluster_claim(ID_CLAIM).await.unwrap().expect("always there");
        assert_eq!(id.value == renamed, rename.is_ok(), "round {round}");
    }
}

pub async fn claims_are_bounded_and_one_is_read_by_its_name(place: &Place) {
    let s = place.open().await;
    // Claims with names before that of the identity do not hide it.
    for n in 0..CLAIMS_MAX {
        put(&*s, &format!("a{n}.alder.example"), "x", None).await.unwrap().unwrap();
    }
    assert_eq!(put(&*s, "b.alder.example", "x", None).await.unwrap(), Err(IdentityRule::TooMany(CLAIMS_MAX)));
    put(&*s, ID_CLAIM, "alder-main", None).await.unwrap().unwrap();
    put(&*s, CLUSTERSET_CLAIM, "alder-fleet", None).await.unwrap().unwrap();
    assert_eq!(s.cluster_claim(ID_CLAIM).await.unwrap().unwrap().value, "alder-main");
    assert_eq!(s.cluster_claim("b.alder.example").await.unwrap(), None);
    let count = CLAIMS_MAX;
    assert_eq!(s.cluster_claims_used().await.unwrap(), ClaimsUsed { count, octets: count });
    // Values count in octets, all together.
    let first = s.cluster_claim("a0.alder.example").await.unwrap().unwrap();
    let rest = VALUE_MAX - (usize::try_from(CLAIMS_MAX).unwrap() - 1);
    let large = "ü".repeat(rest / 2 + 1);
    let octets = (VALUE_MAX - rest + large.len()) as u64;
    let refused = put(&*s, "a0.alder.example", &large, Some(first.rv)).await.unwrap();
    assert_eq!(refused, Err(IdentityRule::TooLarge(octets)));
    let fits = "x".repeat(rest);
    let full = put(&*s, "a0.alder.example", &fits, Some(first.rv)).await.unwrap().unwrap();
    assert_eq!(s.cluster_claims_used().await.unwrap().octets, VALUE_MAX as u64);
    let one = s.cluster_claim("a1.alder.example").await.unwrap().unwrap();
    let refused = put(&*s, "a1.alder.example", "xx", Some(one.rv)).await.unwrap();
    assert_eq!(refused, Err(IdentityRule::TooLarge(VALUE_MAX as u64 + 1)));
    assert!(put(&*s, "a0.alder.example", "", Some(full.rv)).await.unwrap().is_ok(), "smaller is allowed");
}
