//! Faults of the installation that one process finds, for the pages of the others and for its successor: each process writes
//! what it found into the store and reads what others did.

use crate::Scanner;
use jiff::{SignedDuration, Timestamp};
use model::health::{FaultKind, OwnFault};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often processes exchange faults.
const EVERY: Duration = Duration::from_secs(30);
/// How long after a process last reported its fault it is shown elsewhere: the process may have exited without cleanup.
const SHOWN: SignedDuration = SignedDuration::from_mins(15);
/// How long after a process last reported it the silence of servers is held back elsewhere: until a restarted process has
/// looked at all domains itself.
const HELD: SignedDuration = SignedDuration::from_mins(90);
/// How far ahead the clock of a process may be. What is dated later was written by a clock that was wrong, and would be shown
/// until that time.
const SKEW: SignedDuration = SignedDuration::from_hours(1);
/// Age from which any process deletes reports: more than clocks differ, so that none deletes what still counts.
const FORGOTTEN: SignedDuration = SignedDuration::from_hours(24);

/// What other processes found.
#[derive(Debug, Default)]
pub(crate) struct RemoteFaults {
    /// Those that are shown.
    pub faults: Vec<OwnFault>,
    /// What this process reported last.
    reported: Vec<OwnFault>,
}

impl RemoteFaults {
    /// The faults of this process and of the others: of several that are the same the one that lasts longest.
    pub fn merged(&self, own: Vec<OwnFault>) -> Vec<OwnFault> {
        let mut all = own;
        for fault in &self.faults {
            // Registries differ in their sentence.
            let is_same = |f: &&mut OwnFault| {
                f.kind == fault.kind && (f.kind != FaultKind::RegistryDown || f.sentence == fault.sentence)
            };
            match all.iter_mut().find(is_same) {
                Some(known) => known.since = known.since.min(fault.since),
                None => all.push(fault.clone()),
            }
        }
        all
    }
}

/// An instant before another one, or the earliest there is.
fn before(at: Timestamp, span: SignedDuration) -> Timestamp {
    at.checked_sub(span).unwrap_or(Timestamp::MIN)
}

fn after(at: Timestamp, span: SignedDuration) -> Timestamp {
    at.checked_add(span).unwrap_or(Timestamp::MAX)
}

impl Scanner {
    /// Writes what this process found, and reads what others did. Times in the store are those that servers agree on, so
    /// that processes whose clocks differ understand each other.
    ///
    /// # Errors
    /// What the store says.
    pub async fn share_faults(&self) -> Result<(), store::Error> {
        let (hub, process) = (&self.hub, self.hub.process());
        let local = self.clock.now();
        let now = hub.own_faults().believed(local);
        let ahead = local.duration_since(now);
        let own = hub.own_faults().list();
        // Without a fault there is nothing to repeat.
        if !own.is_empty() || !hub.remote_faults(|remote| remote.reported.is_empty()) {
            self.report(own.clone(), now, ahead).await?;
        }
        let all = self.store.own_faults(before(now, HELD)).await?;
        let is_possible = |at: Timestamp| at <= after(now, SKEW);
        let others: Vec<_> = all.into_iter().filter(|t| t.process != process && is_possible(t.at)).collect();
        let part = others.iter().filter(|t| t.fault.kind == FaultKind::PartOfNetworkDown);
        // Silence is held back by the clock of this process.
        let part = part.map(|t| (after(t.fault.since, ahead), after(after(t.at.min(now), HELD), ahead)));
        hub.own_faults().set_remote_part(part.min_by_key(|(since, _)| *since));
        let shown = others.into_iter().filter(|t| t.at >= before(now, SHOWN)).map(|t| t.fault).collect();
        hub.remote_faults(|remote| (remote.faults, remote.reported) = (shown, own));
        Ok(())
    }

    /// Writes faults of this process. `ahead`: by how much its clock is.
    async fn report(
        &self,
        mut faults: Vec<OwnFault>,
        now: Timestamp,
        ahead: SignedDuration,
    ) -> Result<(), store::Error> {
        for fault in &mut faults {
            fault.since = before(fault.since, ahead);
        }
        self.store.report_own_faults(self.hub.process(), &faults, now, before(now, FORGOTTEN)).await
    }

    /// Deletes the faults of a process that ends, or they would be shown although its successor does not have them. That a
    /// part of the network is out of reach stays: the successor holds back the silence of servers by it.
    async fn withdraw_faults(&self) -> Result<(), store::Error> {
        if self.hub.remote_faults(|remote| remote.reported.is_empty()) {
            return Ok(());
        }
        let local = self.clock.now();
        let now = self.hub.own_faults().believed(local);
        let mut own = self.hub.own_faults().list();
        own.retain(|f| f.kind == FaultKind::PartOfNetworkDown);
        self.report(own, now, local.duration_since(now)).await
    }

    /// Deletes the faults of processes of this host that ended without cleanup: they were killed or crashed. Called once, before
    /// this process reports for the first time; another one that still runs here reports its own again at its next turn. That
    /// a part of the network is out of reach stays, as after an orderly stop.
    ///
    /// # Errors
    /// What the store says.
    pub async fn forget_faults_of_predecessors(&self) -> Result<(), store::Error> {
        let now = self.hub.own_faults().believed(self.clock.now());
        let all = self.store.own_faults(before(now, FORGOTTEN)).await?;
        let of_host = all.into_iter().filter(|t| self.hub.shares_host_with(&t.process));
        let mut predecessors: BTreeMap<String, (Timestamp, Vec<OwnFault>)> = BTreeMap::new();
        for t in of_host {
            let (at, kept) = predecessors.entry(t.process).or_insert((t.at, Vec::new()));
            *at = t.at.max(*at);
            kept.extend(Some(t.fault).filter(|f| f.kind == FaultKind::PartOfNetworkDown));
        }
        for (process, (at, kept)) in predecessors {
            self.store.report_own_faults(&process, &kept, at, before(now, FORGOTTEN)).await?;
        }
        Ok(())
    }

    /// The same again and again until cancelled.
    pub async fn keep_sharing_faults(self, stop: CancellationToken) {
        loop {
            if let Err(e) = self.share_faults().await {
                tracing::debug!(error = %e, "faults of the installation could not be shared");
            }
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(EVERY) => {}
            }
        }
        if let Err(e) = self.withdraw_faults().await {
            tracing::debug!(error = %e, "faults of the installation could not be withdrawn");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Progress;
    use crate::{Clock, DnsParts, Hub, Observer, Policy};
    use model::detail::RawAnswer;
    use model::ids::Vantage;
    use model::names::DomainName;
    use model::observation::{Observation, Part, PartError};
    use model::registration::RegistrationState;
    use std::sync::Arc;
    use store::Store;

    struct Nothing;

    #[async_trait::async_trait]
    impl Observer for Nothing {
        async fn registration(
            &self,
            _: &DomainName,
            _: Timestamp,
            _: &dyn Progress,
        ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
            (Part::default(), vec![])
        }

        async fn dns(&self, _: &DomainName, _: Timestamp, _: &dyn Progress) -> DnsParts {
            DnsParts::default()
        }
    }

    struct Fixed(Timestamp);

    impl Clock for Fixed {
        fn now(&self) -> Timestamp {
            self.0
        }
    }

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + 60 * minute).unwrap()
    }

    fn process(store: &Arc<dyn Store>, minute: i64) -> Scanner {
        let (observer, clock) = (Arc::new(Nothing), Arc::new(Fixed(at(minute))));
        Scanner { store: store.clone(), observer, clock, hub: Hub::default(), policy: Policy::default() }
    }

    /// A process, with its clock at this minute, that finds its network down.
    fn without_network(store: &Arc<dyn Store>, minute: i64) -> Scanner {
        let scanner = process(store, minute);
        let error =
            PartError { label: dns::OWN_NETWORK.into(), sentence: "No answer.".into(), retry_at: None };
        let mut o = Observation::empty(DomainName::trusted("q7.example"), Vantage::local());
        o.delegation = Part { attempted_at: Some(at(minute)), error: Some(error), ..Part::default() };
        scanner.hub.own_faults().note(&o, at(minute));
        scanner
    }

    #[tokio::test]
    async fn an_orderly_stop_ends_the_faults_that_others_show() {
        let folder = tempfile::tempdir().unwrap();
        let store = store::open(&folder.path().to_string_lossy()).await.unwrap();
        let (one, two) = (without_network(&store, 0), process(&store, 1));
        one.share_faults().await.unwrap();
        two.share_faults().await.unwrap();
        let kinds: Vec<_> = two.hub.faults().into_iter().map(|f| f.kind).collect();
        assert_eq!(kinds, [FaultKind::NetworkDown]);
        let stop = CancellationToken::new();
        stop.cancel();
        one.keep_sharing_faults(stop).await;
        two.share_faults().await.unwrap();
        assert_eq!(two.hub.faults(), []);
    }

    #[tokio::test]
    async fn a_process_that_was_killed_leaves_no_fault_to_its_successor() {
        let folder = tempfile::tempdir().unwrap();
        let store = store::open(&folder.path().to_string_lossy()).await.unwrap();
        let on = |host: &str, scanner: Scanner| Scanner { hub: Hub::on(host), ..scanner };
        let killed = on("one", process(&store, 0));
        let fault = |kind| OwnFault { kind, since: at(0), sentence: "A fault.".into() };
        let of_killed = [fault(FaultKind::NetworkDown), fault(FaultKind::PartOfNetworkDown)];
        let report = async |of: &Scanner, faults: &[OwnFault]| {
            store.report_own_faults(of.hub.process(), faults, at(0), at(-1_000)).await.unwrap();
        };
        report(&killed, &of_killed).await;
        let elsewhere = on("one-more", process(&store, 0));
        report(&elsewhere, &[fault(FaultKind::RootInvalid)]).await;

        let successor = on("one", process(&store, 2));
        successor.share_faults().await.unwrap();
        assert_eq!(successor.hub.faults().len(), 3);
        successor.forget_faults_of_predecessors().await.unwrap();
        successor.share_faults().await.unwrap();
        let mut kinds: Vec<_> = successor.hub.faults().into_iter().map(|f| f.kind).collect();
        kinds.sort();
        let mut expected = [FaultKind::PartOfNetworkDown, FaultKind::RootInvalid];
        expected.sort();
        assert_eq!(kinds, expected, "what others say stays, and what is held back");
        let reported = store.own_faults(at(-1)).await.unwrap();
        assert!(reported.iter().all(|t| t.at == at(0)), "it lasts no longer than before: {reported:?}");
        // Processes whose host is not known are not each other's successors.
        assert!(!Hub::default().shares_host_with(Hub::default().process()));
    }

    #[tokio::test]
    async fn a_clock_that_is_ahead_hides_and_deletes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = store::open(&folder.path().to_string_lossy()).await.unwrap();
        let part =
            OwnFault { kind: FaultKind::PartOfNetworkDown, since: at(-90), sentence: "A part.".into() };
        store.report_own_faults("ended", &[part], at(-80), at(-1_000)).await.unwrap();
        let (ahead, right) = (without_network(&store, 20), process(&store, 0));
        ahead.share_faults().await.unwrap();
        right.share_faults().await.unwrap();
        assert_eq!(right.hub.faults().len(), 1, "the fault that it found is shown");
        let of_ended = store.own_faults(at(-90)).await.unwrap();
        assert!(of_ended.iter().any(|f| f.process == "ended"), "{of_ended:?}");
    }
}
