//! What is left of features that are off, and tasks that another version stored.

use crate::features::{Process, desire, feature, process, rounds};
use crate::saved::execute;
use crate::uses::{sample, use_it};
use crate::world::{ONE, Place, TWO, add, name, now, scan};
use features::{FEATURES, Remaining, State, StoreError, Task};
use model::account::{Actor, AuditQuery};
use model::configure::{ServiceKind, ServiceSpec, StoredService};
use model::ids::{OrgId, Vantage};
use model::notify::{Channel, Target};
use store::Error;

pub async fn leftovers_of_each_feature_are_deleted_while_it_stays_off(place: &Place) {
    let s = place.open().await;
    add(&*s, TWO, &["a.example"]).await;
    let service = ServiceSpec::new(ServiceKind::Proof, "", [("value", "x=1")]).unwrap();
    s.add_service(TWO, &StoredService::new("one".into(), "a.example", service, now()), now()).await.unwrap();
    let (one, two) = (process(&s, "one"), process(&place.open().await, "two"));
    let both: [&Process; 2] = [&one, &two];
    let by = Actor { who: "Ada".into(), ..Actor::system() };
    let mut at = now();
    rounds(&both, &mut at).await;
    for spec in FEATURES {
        let tasks = spec.tasks();
        let clean = async |at| s.clean_feature(&by, ONE, (spec.name, None), &tasks, at).await.unwrap();
        if spec.default {
            let on = clean(at).await.feature;
            assert_eq!((on.state, on.tasks.len()), (State::On, 0), "{}: what is on stays", spec.name);
        }
        desire(&*s, spec.name, Some(false)).await;
        rounds(&both, &mut at).await;
        let is_clean = async || {
            let f = feature(&*s, spec.name).await;
            assert_eq!((f.state, f.tasks.len(), f.done.len()), (State::Off, 0, 0), "{}", spec.name);
            for task in &tasks {
                assert_eq!(s.remaining(task.data()).await.unwrap().count, 0, "{} {}", spec.name, task.data());
            }
        };
        is_clean().await;
        for task in tasks.iter().filter(|t| matches!(t, Task::Clean { .. })) {
            use_it(&*s, task.data()).await;
        }
        let begun = clean(at).await;
        assert_eq!((begun.feature.state, begun.feature.tasks.len()), (State::TurningOff, tasks.len()));
        assert_eq!(clean(at).await, begun, "{}: it runs already", spec.name);
        for task in tasks.iter().filter(|t| matches!(t, Task::Clean { .. })) {
            let before = s.remaining(task.data()).await.unwrap();
            let gone = s.clean((spec.name, begun.rv.0 - 1), task.data(), at).await.unwrap();
            assert_eq!(
                (gone, s.remaining(task.data()).await.unwrap()),
                (0, before),
                "written since: {task:?}"
            );
        }
        let outdated =
            s.clean_feature(&by, ONE, (spec.name, Some(model::ids::LogPosition(1))), &tasks, at).await;
        assert!(matches!(outdated, Err(Error::Conflict)), "{outdated:?}");
        for _ in 0..2 {
            rounds(&both, &mut at).await;
            assert!(both.iter().all(|p| p.gates.enter(spec.name).is_none()), "{} stays off", spec.name);
        }
        is_clean().await;
        let query = AuditQuery { text: spec.name.into(), limit: 99, ..AuditQuery::default() };
        let audit = s.audit_log(ONE, &query).await.unwrap().entries;
        let entries = audit.iter().filter(|e| e.action == "feature.clean" && e.object == spec.name);
        assert_eq!(entries.filter(|e| e.who == "Ada").count(), 1, "{}", spec.name);
    }
    let none = s.clean_feature(&by, ONE, ("none", None), &[], at).await;
    assert!(matches!(none, Err(Error::NotFound)), "{none:?}");
}

pub async fn a_task_of_another_version_is_kept_and_holds_up_its_feature_alone(place: &Place) {
    let s = place.open().await;
    let p = process(&s, "one");
    let mut at = now();
    rounds(&[&p], &mut at).await;
    let archive: Task = serde_json::from_str(r#"{"do":"archive","data":"old-links","days":3}"#).unwrap();
    let unknown = Task::Clean { data: "of-a-newer-version".into() };
    for task in [archive, unknown] {
        let row = s.feature_rows(ONE, "", 1).await.unwrap().remove(0);
        let mut f = row.feature.clone();
        (f.state, f.desired, f.tasks) = (State::TurningOff, Some(false), vec![task.clone()]);
        assert!(s.write_feature(row.rv.0, &f, at).await.unwrap());
        desire(&*s, "doh-server", Some(false)).await;
        rounds(&[&p], &mut at).await;
        assert_eq!(feature(&*s, "doh-server").await.state, State::Off);
        let held = feature(&*s, &f.name).await;
        assert_eq!((held.state, &held.tasks), (State::TurningOff, &vec![task]));
        // Wanted again, it goes on.
        desire(&*s, &f.name, None).await;
        desire(&*s, "doh-server", None).await;
        rounds(&[&p], &mut at).await;
        assert_eq!(feature(&*s, &f.name).await.state, State::On);
    }
}

pub async fn samples_of_places_go_in_steps_and_no_scan_brings_them_back(place: &Place) {
    // More than two steps.
    const SAMPLED: usize = 250;
    let s = place.open().await;
    add(&*s, ONE, &["plain.example"]).await;
    let plain = scan(&*s, "plain.example", &[], now()).await;
    s.record(&plain).await.unwrap();
    let of = |n: usize| format!("s{n:03}.example");
    for n in 0..SAMPLED {
        sample(&*s, &of(n)).await;
    }
    assert_eq!(s.remaining("place-samples").await.unwrap().count, SAMPLED as u64);
    let latency = async |n: usize| {
        let stored = s.observation(&name(&of(n)), &Vantage::local()).await.unwrap().unwrap();
        let latency = stored.observation.delegation.value.unwrap().latency;
        (stored.version, latency.servers.len(), latency.places.len())
    };
    assert_eq!(latency(0).await, (1, 1, 1));
    // A row of a schema that did not say: it is looked at, and left as it is.
    execute(place, "UPDATE observations SET sampled = 1 WHERE name = 'plain.example'").await;
    assert_eq!(s.remaining("place-samples").await.unwrap().count, SAMPLED as u64 + 1);
    let begun_before = scan(&*s, &of(0), &[], now()).await;
    let p = process(&s, "one");
    let mut at = now();
    rounds(&[&p], &mut at).await;
    desire(&*s, "fleet-agents", Some(false)).await;
    rounds(&[&p], &mut at).await;
    assert_eq!(feature(&*s, "fleet-agents").await.state, State::Off);
    assert_eq!(s.remaining("place-samples").await.unwrap().count, 0);
    for n in 0..SAMPLED {
        assert_eq!(latency(n).await, (2, 1, 0), "{}: what scans measured stays", of(n));
    }
    let late = s.record(&begun_before).await;
    assert!(matches!(late, Err(Error::Conflict)), "it read the samples before: {late:?}");
    let untouched = s.observation(&name("plain.example"), &Vantage::local()).await.unwrap().unwrap();
    assert_eq!((untouched.version, &untouched.observation), (1, &plain.observation));
    // An amendment with samples is found again, one without them is not.
    sample(&*s, &of(0)).await;
    assert_eq!(s.remaining("place-samples").await.unwrap().count, 1);
    let mut stored = s.observation(&name(&of(0)), &Vantage::local()).await.unwrap().unwrap();
    stored.observation.delegation.value.as_mut().unwrap().latency.places.clear();
    assert!(s.amend_observation(&stored).await.unwrap());
    assert_eq!(s.remaining("place-samples").await.unwrap().count, 0);
}

pub async fn leftovers_are_counted_beyond_a_page_and_a_few_are_named(place: &Place) {
    let s = place.open().await;
    let left = async |data: &str| (s.remaining(data).await.unwrap(), s.has_remaining(data).await.unwrap());
    let none = (Remaining::default(), false);
    for data in ["channel-tests", "channels/slack", "place-samples", "fleet-set"] {
        assert_eq!(left(data).await, none, "{data}");
    }
    assert!(matches!(s.has_remaining("none").await, Err(StoreError::UnknownData(_))));
    // Of thirteen other organisations ten are named, by number.
    for n in 0..300 {
        s.set_setting(ONE, &format!("channel-test/gone-{n:03}"), "{}", now()).await.unwrap();
    }
    for org in 2..15 {
        for n in 0..2 {
            s.set_setting(OrgId(org), &format!("channel-test/of-{n}"), "{}", now()).await.unwrap();
        }
    }
    let mut names: Vec<_> = (0..10).map(|n| format!("channel-test/gone-{n:03}")).collect();
    names.extend((2..12).map(|org| format!("2 of org-{org}")));
    assert_eq!(left("channel-tests").await, (Remaining { count: 326, names }, true));
    // More than are read at once, and of another kind before and after them.
    let channel = |id: String, target: Target| Channel { name: id.clone(), id, target, created_at: now() };
    let slack = || Target::Slack { url: "https://hooks.example/a".into() };
    let teams = || Target::Teams { url: "https://hooks.example/a".into() };
    for (org, id) in [(ONE, "a"), (TWO, "z")] {
        s.save_channel(org, &channel(id.into(), teams()), now()).await.unwrap();
    }
    for (org, n) in [(ONE, 250), (TWO, 3)] {
        for n in 0..n {
            s.save_channel(org, &channel(format!("c-{n:03}"), slack()), now()).await.unwrap();
        }
    }
    let mut names: Vec<_> = (0..10).map(|n| format!("c-{n:03}")).collect();
    names.push("3 of org-2".into());
    assert_eq!(left("channels/slack").await, (Remaining { count: 253, names }, true));
    let names = vec!["a".to_string(), "1 of org-2".to_string()];
    assert_eq!(left("channels/teams").await, (Remaining { count: 2, names }, true));
    assert_eq!(left("channels/discord").await, none);
}
