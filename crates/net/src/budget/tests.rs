use super::*;
use async_trait::async_trait;
use std::sync::atomic::AtomicU64;
use tokio::time::Instant;

/// A clock that goes with tokio's, which tests stop.
fn clock() -> impl Fn() -> Timestamp + Clone {
    let base: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
    let start = Instant::now();
    move || base + start.elapsed()
}

fn budgets() -> Budgets {
    Budgets::shared(Arc::new(Memory::default()), clock())
}

fn wait(seconds: u64) -> Patience {
    Patience::of(Duration::from_secs(seconds))
}

fn reason(e: &Error) -> Reason {
    match e {
        Error::Budget { reason, .. } => *reason,
        other => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn starts_are_spaced_and_a_host_that_asked_is_left_alone() {
    let b = budgets();
    let limit = Limit::new(1, Duration::from_secs(1));
    let start = Instant::now();
    for _ in 0..3 {
        b.acquire("whois.example", limit, wait(10)).await.unwrap();
    }
    assert_eq!(start.elapsed().as_secs(), 2);
    let late = b.acquire("WHOIS.example", limit, Patience::of(Duration::from_millis(10))).await;
    assert_eq!(reason(&late.unwrap_err()), Reason::OwnLimit);
    b.back_off("whois.example", Some(Duration::from_secs(60)), Duration::from_secs(1)).await;
    let e = b.acquire("whois.example", limit, wait(30)).await.unwrap_err();
    assert!(e.to_string().contains("60 s") && reason(&e) == Reason::Asked, "{e}");
    assert_eq!(b.blocked().len(), 1);
    tokio::time::advance(Duration::from_secs(61)).await;
    assert!(b.blocked().is_empty());
    b.acquire("whois.example", limit, wait(1)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn no_more_at_a_time_than_allowed() {
    let b = budgets();
    let limit = Limit::new(2, Duration::ZERO);
    let first = b.acquire("a", limit, wait(1)).await.unwrap();
    let _second = b.acquire("a", limit, wait(1)).await.unwrap();
    assert!(b.acquire("a", limit, wait(1)).await.is_err());
    let waits = tokio::spawn({
        let b = b.clone();
        async move { b.acquire("a", limit, wait(20)).await.map(drop) }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(first);
    waits.await.unwrap().unwrap();
}

/// A table that counts what is written to it, and can be away.
#[derive(Default)]
struct Counting {
    table: Memory,
    writes: AtomicU64,
    away: AtomicBool,
    /// Milliseconds that a write takes.
    slow: AtomicU64,
}

#[async_trait]
impl Ledger for Counting {
    async fn load(&self, host: &str) -> Result<Option<Kept>, String> {
        if self.away.load(Ordering::SeqCst) {
            return Err("the database is away".into());
        }
        self.table.load(host).await
    }

    async fn swap(
        &self,
        host: &str,
        expected: Option<i64>,
        state: &str,
        now: Timestamp,
    ) -> Result<Option<i64>, String> {
        if self.away.load(Ordering::SeqCst) {
            return Err("the database is away".into());
        }
        // Others get their chance in between, as with a real database.
        tokio::task::yield_now().await;
        tokio::time::sleep(Duration::from_millis(self.slow.load(Ordering::SeqCst))).await;
        let swapped = self.table.swap(host, expected, state, now).await?;
        self.writes.fetch_add(u64::from(swapped.is_some()), Ordering::SeqCst);
        Ok(swapped)
    }
}

#[tokio::test(start_paused = true)]
async fn replicas_keep_one_budget() {
    let ledger = Arc::new(Counting::default());
    let now = clock();
    let replicas: Vec<_> = (0..3).map(|_| Budgets::shared(ledger.clone(), now.clone())).collect();
    let limit = Limit::new(3, Duration::from_millis(50));
    let open = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let starts = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = tokio::task::JoinSet::new();
    for i in 0..300 {
        let (b, open, most, starts) = (replicas[i % 3].clone(), open.clone(), most.clone(), starts.clone());
        tasks.spawn(async move {
            let permit = b.acquire("whois.example", limit, wait(3600)).await.unwrap();
            lock(&starts).push(Instant::now());
            most.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(120)).await;
            open.fetch_sub(1, Ordering::SeqCst);
            permit.went_well();
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    assert!(most.load(Ordering::SeqCst) <= 3, "{most:?}");
    let mut starts = lock(&starts).clone();
    starts.sort_unstable();
    // The timer's grain is a millisecond.
    assert!(starts.windows(2).all(|w| w[1] - w[0] >= Duration::from_millis(49)));
    let last = starts[299] - starts[0];
    assert!(last < Duration::from_secs(30), "15 s at best: {last:?}");
}

#[tokio::test(start_paused = true)]
async fn a_grant_is_one_write_while_the_host_is_busy() {
    let ledger = Arc::new(Counting::default());
    let b = Budgets::shared(ledger.clone(), clock());
    let limit = Limit::new(2, Duration::from_millis(5));
    for _ in 0..100 {
        let permit = b.acquire("a", limit, wait(5)).await.unwrap();
        permit.went_well();
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let writes = ledger.writes.load(Ordering::SeqCst);
    assert!((100..=110).contains(&writes), "{writes}");
}

#[tokio::test(start_paused = true)]
async fn a_block_holds_for_all_replicas_and_so_does_a_dead_ones_lease() {
    let ledger = Arc::new(Memory::default());
    let now = clock();
    let (a, b) = (Budgets::shared(ledger.clone(), now.clone()), Budgets::shared(ledger, now));
    let limit = Limit::new(1, Duration::ZERO);
    a.acquire("h", limit, wait(1)).await.unwrap().went_well();
    b.acquire("h", limit, wait(1)).await.unwrap().went_well();
    a.back_off("h", None, Duration::from_secs(60)).await;
    let e = b.acquire("h", limit, wait(5)).await.unwrap_err();
    assert_eq!(reason(&e), Reason::Asked);
    let Error::Budget { wait: left, .. } = e else { panic!() };
    assert!((50..=75).contains(&left.as_secs()), "{left:?}");
    tokio::time::sleep(Duration::from_secs(76)).await;
    // Killed in the middle of a question: nothing gives the lease back.
    std::mem::forget(a.acquire("h", limit, wait(1)).await.unwrap());
    drop(a);
    assert_eq!(reason(&b.acquire("h", limit, wait(5)).await.unwrap_err()), Reason::OwnLimit);
    let start = Instant::now();
    b.acquire("h", limit, wait(60)).await.unwrap();
    assert!(start.elapsed() <= LEASE);
}

#[tokio::test(start_paused = true)]
async fn who_goes_away_while_waiting_leaves_nothing_behind() {
    let b = budgets();
    let limit = Limit::new(1, Duration::from_secs(2));
    b.acquire("h", limit, wait(1)).await.unwrap().went_well();
    // Granted for two seconds later; its caller does not stay so long.
    let gone = tokio::time::timeout(Duration::from_millis(100), b.acquire("h", limit, wait(10))).await;
    assert!(gone.is_err());
    let start = Instant::now();
    b.acquire("h", limit, wait(10)).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn callers_beyond_the_waiters_of_a_host_return_at_once() {
    let b = budgets();
    let limit = Limit::new(1, Duration::from_secs(1));
    let patience = Patience { max_waiters: 4, ..wait(30) };
    let start = Instant::now();
    let all = futures::future::join_all((0..20).map(|_| {
        let b = b.clone();
        async move { (b.acquire("h", limit, patience).await.is_ok(), start.elapsed()) }
    }))
    .await;
    let sent_back: Vec<_> = all.iter().filter(|(ok, _)| !ok).collect();
    // The first may be through before the last comes.
    assert!((15..=16).contains(&sent_back.len()), "{}", sent_back.len());
    assert!(sent_back.iter().all(|(_, t)| *t < Duration::from_secs(1)));
}

#[tokio::test(start_paused = true)]
async fn without_the_ledger_nobody_is_asked() {
    let ledger = Arc::new(Counting::default());
    let b = Budgets::shared(ledger.clone(), clock());
    ledger.away.store(true, Ordering::SeqCst);
    let e = b.acquire("h", Limit::default(), wait(1)).await.unwrap_err();
    assert_eq!(reason(&e), Reason::Unknown);
    ledger.away.store(false, Ordering::SeqCst);
    b.acquire("h", Limit::default(), wait(1)).await.unwrap();
}

/// A grant may lie some seconds ahead; what the host says meanwhile counts, whichever replica was told.
#[tokio::test(start_paused = true)]
async fn who_waits_for_his_start_hears_that_the_host_asked_to_be_left_alone() {
    for told in [0, 1] {
        let ledger = Arc::new(Counting::default());
        let now = clock();
        let replicas = [(); 2].map(|()| Budgets::shared(ledger.clone(), now.clone()));
        for (spacing, elsewhere) in [(500, false), (5000, true)] {
            let host = format!("{spacing}.example");
            let limit = Limit::new(2, Duration::from_millis(spacing));
            let first = replicas[0].acquire(&host, limit, wait(10)).await.unwrap();
            let waits = tokio::spawn({
                let (b, host) = (replicas[0].clone(), host.clone());
                async move { b.acquire(&host, limit, wait(10)).await.map(drop) }
            });
            tokio::time::sleep(Duration::from_millis(200)).await;
            // Of a shorter wait only what this process was told is known.
            let teller = if elsewhere { told } else { 0 };
            replicas[teller].back_off(&host, Some(Duration::from_secs(60)), Duration::from_secs(1)).await;
            let e = waits.await.unwrap().expect_err("it was asked although it said no");
            assert_eq!(reason(&e), Reason::Asked);
            // Given back before, it would have brought this replica the news.
            drop(first);
            // The place is given back.
            tokio::time::sleep(Duration::from_secs(61)).await;
            for _ in 0..2 {
                std::mem::forget(replicas[1].acquire(&host, limit, wait(10)).await.unwrap());
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_does_not_come_back_pushes_nobodys_turn_away() {
    let b = budgets();
    let limit = Limit::new(1, Duration::from_secs(60));
    drop(b.acquire("h", limit, wait(0)).await.unwrap());
    let person = Patience { queues: false, ..wait(0) };
    let mut told = Vec::new();
    for _ in 0..200 {
        match b.acquire("h", limit, person).await {
            Err(Error::Budget { wait, .. }) => told.push(wait.as_secs()),
            other => panic!("{other:?}"),
        }
    }
    assert!(told.iter().all(|s| (59..=60).contains(s)), "{told:?}");
    let Err(Error::Budget { wait: first, .. }) = b.acquire("h", limit, wait(0)).await else { panic!() };
    let Err(Error::Budget { wait: second, .. }) = b.acquire("h", limit, wait(0)).await else { panic!() };
    assert!(
        (59..=60).contains(&first.as_secs()) && (119..=120).contains(&second.as_secs()),
        "{first:?} {second:?}"
    );
}

/// A wall clock that is set back while someone waits prolongs nothing, and stops no one for long.
#[tokio::test(start_paused = true)]
async fn a_clock_that_goes_back_holds_nobody_up() {
    let steps = Arc::new(Mutex::new(jiff::SignedDuration::ZERO));
    let (base, step) = (clock(), steps.clone());
    let b = Budgets::shared(Arc::new(Memory::default()), move || base() + *lock(&step));
    let limit = Limit::new(1, Duration::from_secs(1));
    let held = b.acquire("h", limit, wait(1)).await.unwrap();
    let start = Instant::now();
    let waits = tokio::spawn({
        let b = b.clone();
        async move { b.acquire("h", limit, wait(5)).await.map(drop) }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    *lock(&steps) = jiff::SignedDuration::from_hours(-3);
    assert!(waits.await.unwrap().is_err(), "the place is taken");
    assert!(start.elapsed() <= Duration::from_secs(6), "{:?}", start.elapsed());
    // The lease of one who died then was written by the later clock: it is gone after two leases at most.
    std::mem::forget(held);
    let start = Instant::now();
    while b.acquire("h", limit, wait(5)).await.is_err() {}
    assert!(start.elapsed() <= 2 * LEASE + Duration::from_secs(10), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_question_within_a_redirect_is_counted_at_once() {
    let b = budgets();
    let limit = Limit { per_day: Some(3), ..Limit::new(1, Duration::from_secs(10)) };
    let start = Instant::now();
    let permit = b.acquire("h", limit, wait(1)).await.unwrap();
    permit.once_more(limit).await;
    permit.went_well();
    assert!(start.elapsed() < Duration::from_secs(1), "it does not wait");
    drop(b.acquire("h", limit, wait(60)).await.unwrap());
    assert!(start.elapsed() >= Duration::from_secs(20), "the next one does: {:?}", start.elapsed());
    let e = b.acquire("h", limit, wait(60)).await.unwrap_err();
    assert_eq!(reason(&e), Reason::DailyQuota);
}

/// The caller goes away in the very moment he is given leave: no one waits for his lease to run out.
#[tokio::test(start_paused = true)]
async fn who_goes_away_at_any_moment_leaves_nothing_behind() {
    for moment in 0..6 {
        let ledger = Arc::new(Counting::default());
        let b = Budgets::shared(ledger.clone(), clock());
        let limit = Limit::new(1, Duration::ZERO);
        {
            let asking = b.acquire("h", limit, wait(10));
            tokio::pin!(asking);
            for _ in 0..moment {
                if futures::poll!(&mut asking).is_ready() {
                    break;
                }
            }
        }
        let start = Instant::now();
        b.acquire("h", limit, wait(10)).await.unwrap();
        assert!(start.elapsed() < Duration::from_secs(1), "{moment}: {:?}", start.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_host_said_is_noted_though_the_caller_has_gone() {
    let ledger = Arc::new(Counting::default());
    let b = Budgets::shared(ledger.clone(), clock());
    ledger.slow.store(500, Ordering::SeqCst);
    let told = b.back_off("h", Some(Duration::from_secs(600)), Duration::from_secs(1));
    assert!(tokio::time::timeout(Duration::from_millis(10), told).await.is_err());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(b.blocked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_ledger_that_hangs_keeps_nobody_for_long() {
    let ledger = Arc::new(Counting::default());
    let b = Budgets::shared(ledger.clone(), clock());
    ledger.slow.store(3_600_000, Ordering::SeqCst);
    let start = Instant::now();
    let e = b.acquire("h", Limit::default(), wait(1)).await.unwrap_err();
    assert_eq!(reason(&e), Reason::Unknown);
    assert!(start.elapsed() <= Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn hosts_from_outside_do_not_fill_the_metrics() {
    let b = Budgets::new();
    let own = |i: usize| format!("h{i}.example");
    assert!((0..LABELS).all(|i| b.label(&own(i)) == own(i)));
    assert_eq!(b.label("one-more.example"), "other");
    assert_eq!(b.label(&own(0)), own(0));
}
