//! Kept states as differences: each reads as it was recorded, whatever was added and deleted since.

use crate::saved::{execute, texts};
use crate::world::{ONE, Place, add, later, name, now, raw, scan};
use model::dns::latency::{ChainServer, LatencyHistory};
use model::dns::{Delegation, RrSet, ZoneSnapshot};
use model::ids::{SnapshotId, Vantage};
use model::observation::{Observation, Part};
use std::collections::BTreeMap;
use store::Store;

/// What is observed at a time: records that change, and latencies.
fn observed(n: &str, round: i64) -> Observation {
    let at = later(60 * round);
    let set =
        |owner: String, data: String| RrSet { name: owner, rtype: "TXT".into(), ttl: 300, data: vec![data] };
    let fixed = (0..20)
        .map(|i| set(format!("r{i}.{n}"), format!("{:016x}", 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(i))));
    let rotating = set(n.into(), format!("turn {}", round % 7));
    let mut o = Observation::empty(name(n), Vantage::local());
    let rrsets = fixed.chain([rotating]).collect();
    o.zone =
        Part::good(ZoneSnapshot { rrsets, wildcard: Some(false), ..ZoneSnapshot::default() }, at, "servers");
    let delegation = Delegation {
        zone: n.into(),
        parent: "example".into(),
        delegated: true,
        parent_ns: vec![],
        child_ns: vec![format!("ns1.{n}")],
        ds: vec![],
        servers: vec![],
        soa: None,
        negative_soa: None,
        parents_differ: None,
        provider: None,
        latency: LatencyHistory {
            looks: (0..96).map(|i| later(60 * (round - i))).rev().collect(),
            servers: vec![ChainServer {
                zone: n.into(),
                server: format!("ns1.{n}"),
                address: "192.0.2.1".parse().unwrap(),
                ms: (0..96).map(|i| Some(i as f32 * 1.37)).collect(),
                network: None,
                ids: vec![],
            }],
            places: vec![],
        },
        notes: vec![],
    };
    o.delegation = Part::good(delegation, at, "servers");
    o
}

/// The same as it is kept in history.
fn kept(mut o: Observation) -> Observation {
    o.delegation.value.as_mut().unwrap().latency = LatencyHistory::default();
    o
}

type Expected = BTreeMap<i64, (Observation, Vec<String>)>;

/// Records a state; what is expected of it under its number.
async fn record(s: &dyn Store, n: &str, round: i64, at: i64, expected: &mut Expected) {
    let mut r = scan(s, n, &[], later(at)).await;
    r.observation = observed(n, round);
    (r.snapshot, r.raw) =
        (Some(vec![format!("state {round}")]), vec![raw(&format!("{round} {}", "x".repeat(800)))]);
    s.record(&r).await.unwrap();
    // The next look replaces the answers, on every other state.
    let mut bodies = vec![r.raw[0].body.clone()];
    if round % 2 == 0 {
        let mut again = scan(s, n, &[], later(at)).await;
        again.observation = r.observation.clone();
        again.raw = vec![raw(&format!("{round} again")), raw("second")];
        bodies = again.raw.iter().map(|r| r.body.clone()).collect();
        s.record(&again).await.unwrap();
    }
    let id = s.snapshots(ONE, &name(n), 1).await.unwrap()[0].id;
    expected.insert(id.0, (kept(r.observation), bodies));
}

/// Every state that is still there reads as it was.
async fn all_read(s: &dyn Store, n: &str, expected: &Expected) -> Vec<i64> {
    let metas = s.snapshots(ONE, &name(n), 5000).await.unwrap();
    for meta in &metas {
        let (state, bodies) = &expected[&meta.id.0];
        let read = s.snapshot(ONE, &name(n), meta.id).await.unwrap();
        assert_eq!((&read.observation, &read.meta), (state, meta));
        let raw: Vec<_> = s.raw(ONE, &name(n), meta.id).await.unwrap().into_iter().map(|r| r.body).collect();
        assert_eq!(raw, *bodies, "answers of {:?}", meta.id);
    }
    metas.iter().rev().map(|m| m.id.0).collect()
}

pub async fn states_are_differences_that_read_as_they_were(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example", "b.example"]).await;
    let (mut a, mut b) = (Expected::new(), Expected::new());
    for round in 0..75 {
        record(&*s, "a.example", round, 60 * round, &mut a).await;
        if round % 10 == 0 {
            record(&*s, "b.example", round, 60 * round, &mut b).await;
        }
    }
    assert_eq!(all_read(&*s, "a.example", &a).await.len(), 75);
    assert_eq!(all_read(&*s, "b.example", &b).await.len(), 8);
    // The newest observation is whole, latencies included.
    let newest = s.observation(&name("a.example"), &Vantage::local()).await.unwrap().unwrap().observation;
    assert_eq!(newest, observed("a.example", 74));
    // Two whole states besides the newest, the rest differences of a few octets.
    let sizes = "SELECT CAST(CASE WHEN base IS NULL THEN 0 ELSE LENGTH(packed) END AS TEXT) FROM snapshots \
                 WHERE name = 'a.example' ORDER BY id";
    let sizes: Vec<i64> = texts(place, sizes).await.iter().map(|t| t.parse().unwrap()).collect();
    let whole: Vec<usize> = (0..75).filter(|i| sizes[*i] == 0).collect();
    assert_eq!(whole, [31, 63, 74]);
    assert!(sizes.iter().all(|n| *n < 200), "{sizes:?}");

    // Deletion by age ends in the middle of a chain.
    for (days, left) in [(1, 75 - 24), (2, 75 - 48)] {
        s.prune(later(24 * 60 * (400 + days)), 400).await.unwrap();
        assert_eq!(all_read(&*s, "a.example", &a).await.len(), left);
    }
    // A state that nothing can be read of says so, and takes no other with it.
    let ids = all_read(&*s, "a.example", &a).await;
    execute(place, &format!("DELETE FROM snapshots WHERE id = {}", ids[1])).await;
    let read = s.snapshot(ONE, &name("a.example"), SnapshotId(ids[0])).await;
    assert!(matches!(&read, Err(store::Error::Broken(why)) if why.contains("base is missing")), "{read:?}");
    s.snapshot(ONE, &name("a.example"), SnapshotId(ids[2])).await.unwrap();
    s.remove(ONE, &[name("a.example")], now()).await.unwrap();
    s.prune(now(), 400).await.unwrap();
    assert_eq!(texts(place, "SELECT name FROM snapshots WHERE name = 'a.example'").await.len(), 0);
    assert_eq!(all_read(&*s, "b.example", &b).await.len(), 3, "of b.example what is younger");
    // Damaged rows keep no new state from being recorded.
    let newest = "SELECT MAX(id) FROM snapshots WHERE name = 'b.example'";
    execute(
        place,
        &format!("UPDATE raw_answers SET json = '{{', packed = NULL WHERE snapshot IN ({newest})"),
    )
    .await;
    execute(place, &format!("UPDATE snapshots SET json = '{{', packed = NULL WHERE id IN ({newest})")).await;
    for round in 80..83 {
        record(&*s, "b.example", round, 60 * round, &mut b).await;
        let id = *b.last_key_value().unwrap().0;
        let read = s.snapshot(ONE, &name("b.example"), SnapshotId(id)).await.unwrap();
        assert_eq!(read.observation, b[&id].0);
    }
}

pub async fn states_of_a_wrong_clock_stay_readable(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    let mut expected = Expected::new();
    let day = 24 * 60;
    // Days at which states are recorded; some were years ahead, some behind.
    let days = [0, 1, 900, 2, 3, -50, 4, 5, 2000, 6, 7, 8, 901, 9, 10];
    for (round, d) in (0..).zip(days) {
        record(&*s, "a.example", round, d * day, &mut expected).await;
    }
    let mut before = days.len();
    let newest: Vec<i64> = expected.keys().skip(before - 2).copied().collect();
    for d in [300, 402, 405, 409, 500, 1302, 1400, 2500, 9000] {
        s.prune(later(d * day), 400).await.unwrap();
        let ids = all_read(&*s, "a.example", &expected).await;
        assert!(ids.len() <= before && ids.ends_with(&newest), "{ids:?}");
        before = ids.len();
    }
    assert_eq!(before, 2);
}

pub async fn a_name_keeps_a_bounded_number_of_states(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    let first = {
        let mut expected = Expected::new();
        record(&*s, "a.example", 0, 0, &mut expected).await;
        *expected.first_key_value().unwrap().0
    };
    // As if it had changed with each of so many looks: plain rows, as earlier versions wrote them.
    execute(
        place,
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200) \
         INSERT INTO snapshots (name, vantage, at, summary, json) \
         SELECT 'a.example', 'local', i, '[]', '{\"name\":\"a.example\",\"vantage\":\"local\"}' FROM n",
    )
    .await;
    let mut expected = Expected::new();
    for round in 1..4 {
        record(&*s, "a.example", round, 60 * round, &mut expected).await;
    }
    let metas = s.snapshots(ONE, &name("a.example"), 5000).await.unwrap();
    assert_eq!(metas.len(), 1000);
    assert!(metas.iter().all(|m| m.id.0 > first));
    for meta in &metas {
        let read = s.snapshot(ONE, &name("a.example"), meta.id).await.unwrap().observation;
        assert_eq!(read.name, name("a.example"));
        if let Some((state, _)) = expected.get(&meta.id.0) {
            assert_eq!(read, *state);
        }
    }
}
