//! An installation with one domain, one e-mail channel and one rule, over a scripted registry and a clock of its own.

use async_trait::async_trait;
use jiff::{Timestamp, ToSpan};
use model::detail::RawAnswer;
use model::epp::EppStatus;
use model::event::{Event, EventQuery};
use model::ids::OrgId;
use model::item::{ItemPatch, Ownership};
use model::names::DomainName;
use model::notify::{Channel, DeliveryState, MessageStatus, Rule, Target};
use model::observation::Part;
use model::registration::{Registrar, Registration, RegistrationState};
use monitor::observer::Progress;
use monitor::{Clock, DnsParts, Hub, Observer, Policy, Scanner};
use notify::{Deliverer, Dispatcher, Smtp, SmtpSettings};
use std::sync::{Arc, Mutex};
use store::{NewItem, Store};

pub const ORG: OrgId = OrgId::BUILT_IN;

const LOCK: &str = "clientTransferProhibited";

struct Registry {
    now: Mutex<Timestamp>,
    expires: Mutex<String>,
    is_locked: Mutex<bool>,
}

#[async_trait]
impl Observer for Registry {
    async fn registration(
        &self,
        _: &DomainName,
        now: Timestamp,
        _: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        let r = Registration {
            name: Some("alder.example".into()),
            expires: Some(self.expires.lock().unwrap().parse().unwrap()),
            statuses: self
                .is_locked
                .lock()
                .unwrap()
                .then(|| [EppStatus::new(LOCK)].into())
                .or(Some([].into())),
            registrar: Registrar { name: Some("Lantern Registrar".into()), ..Registrar::default() },
            ..Registration::default()
        };
        (Part::good(RegistrationState::Registered(Box::new(r)), now, "RDAP"), vec![])
    }

    async fn dns(&self, _: &DomainName, now: Timestamp, _: &dyn Progress) -> DnsParts {
        let error = model::observation::PartError {
            label: "unreachable".into(),
            sentence: "not asked".into(),
            retry_at: None,
        };
        let delegation = Part { attempted_at: Some(now), error: Some(error), ..Part::default() };
        DnsParts { delegation, ..DnsParts::default() }
    }
}

impl Clock for Registry {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }
}

pub struct World {
    pub store: Arc<dyn Store>,
    registry: Arc<Registry>,
    scanner: Scanner,
    /// The features of the process that delivers.
    pub gates: features::Gates,
    pub cluster: notify::Cluster,
    smtp: Mutex<Smtp>,
    name: DomainName,
    folder: tempfile::TempDir,
}

fn smtp(url: &str, extra_ca: Option<Vec<u8>>) -> Smtp {
    let from = "Domainscope <domains@alder.example>".to_string();
    Smtp::new(&SmtpSettings { url: url.into(), from, extra_ca, ..SmtpSettings::default() }).unwrap()
}

impl World {
    pub async fn new(url: &str, expires: &str) -> World {
        World::with_ca(url, expires, None).await
    }

    pub async fn with_ca(url: &str, expires: &str, ca: Option<Vec<u8>>) -> World {
        let registry = Arc::new(Registry {
            now: Mutex::new("2026-11-20T14:05:00Z".parse().unwrap()),
            expires: Mutex::new(expires.into()),
            is_locked: Mutex::new(true),
        });
        let folder = tempfile::tempdir().unwrap();
        let store = store::open(&folder.path().to_string_lossy()).await.unwrap();
        let scanner = Scanner {
            store: store.clone(),
            observer: registry.clone(),
            clock: registry.clone(),
            hub: Hub::default(),
            // Every look reads the registration.
            policy: Policy { registration_interval_s: 0, ..Policy::default() },
        };
        let name = DomainName::trusted("alder.example");
        let item = NewItem {
            unicode: name.unicode(),
            name: name.clone(),
            ownership: Ownership::Owned,
            tags: vec!["core".into()],
            note: String::new(),
        };
        let now = registry.now();
        store.add(ORG, &[item], now).await.unwrap();
        let target = Target::Email { to: vec!["ops@alder.example".into()] };
        let channel = Channel { id: "mailbox".into(), name: "Operations".into(), target, created_at: now };
        store.save_channel(ORG, &channel, now).await.unwrap();
        let rule = Rule {
            id: "r".into(),
            name: "Mails".into(),
            channels: vec!["mailbox".into()],
            ..Rule::default()
        };
        store.save_rule(ORG, &rule, now).await.unwrap();
        let gates = features::Gates::default();
        let cluster = notify::Cluster { id: "alder-main".into(), set: "alder-fleet".into() };
        World { store, registry, scanner, gates, cluster, smtp: Mutex::new(smtp(url, ca)), name, folder }
    }

    pub fn now(&self) -> Timestamp {
        self.registry.now()
    }

    /// Where the database is.
    pub fn place(&self) -> String {
        self.folder.path().to_string_lossy().into_owned()
    }

    /// Another organisation holds the domain too.
    pub async fn add_to(&self, org: OrgId) {
        let item = NewItem {
            unicode: self.name.unicode(),
            name: self.name.clone(),
            ownership: Ownership::Owned,
            tags: vec![],
            note: String::new(),
        };
        self.store.add(org, &[item], self.now()).await.unwrap();
    }

    /// Other recipients from now on.
    pub async fn recipients(&self, to: &[&str]) {
        let to = to.iter().map(|a| (*a).to_string()).collect();
        let target = Target::Email { to };
        let channel =
            Channel { id: "mailbox".into(), name: "Operations".into(), target, created_at: self.now() };
        self.store.save_channel(ORG, &channel, self.now()).await.unwrap();
    }

    /// Acknowledges all events.
    pub async fn acknowledge(&self) {
        let ids: Vec<_> = self.events().await.iter().map(|e| e.id).collect();
        self.store.acknowledge(ORG, &ids, "Mira Holt", self.now()).await.unwrap();
    }

    /// Acknowledges one event.
    pub async fn acknowledge_one(&self, id: model::ids::EventId) {
        self.store.acknowledge(ORG, &[id], "Mira Holt", self.now()).await.unwrap();
    }

    /// Another server from now on.
    pub fn server(&self, url: &str) {
        *self.smtp.lock().unwrap() = smtp(url, None);
    }

    pub async fn expires(&self, text: &str) {
        *self.registry.expires.lock().unwrap() = text.into();
    }

    /// Locks the domain or removes the lock, and looks until that is confirmed.
    pub async fn lock(&self, is_locked: bool) {
        *self.registry.is_locked.lock().unwrap() = is_locked;
        self.scan().await;
        self.seconds(600);
        self.scan().await;
    }

    pub async fn scan(&self) {
        self.scanner.scan(&self.name, false).await.unwrap();
    }

    pub fn seconds(&self, n: i64) {
        *self.registry.now.lock().unwrap() += n.seconds();
    }

    pub async fn later_hours(&self, n: i64) {
        self.seconds(n * 3600);
        self.scan().await;
    }

    /// What the messages are sent with.
    pub fn deliverer(&self) -> Deliverer {
        let dialer = net::Dialer::new(net::Settings::default()).unwrap();
        let base = "https://scope.alder.example/".parse().unwrap();
        Deliverer::new(dialer, Some(self.smtp.lock().unwrap().clone()), Some(base))
            .with_gates(self.gates.clone())
            .with_cluster(self.cluster.clone())
    }

    fn dispatcher(&self) -> Dispatcher {
        let registry = self.registry.clone();
        Dispatcher::new(self.store.clone(), Arc::new(move || registry.now()), self.deliverer())
    }

    /// Applies the rules to what waits, and sends nothing yet.
    pub async fn route(&self) {
        assert_eq!(self.dispatcher().deliver_due().await.unwrap(), 1);
    }

    /// Routes and delivers what is due; how many rows of the outbox were tried (routing is one, each message another).
    pub async fn deliver(&self) -> usize {
        let (dispatcher, mut tried) = (self.dispatcher(), 0);
        loop {
            match dispatcher.deliver_due().await.unwrap() {
                0 => return tried,
                n => tried += n,
            }
        }
    }

    /// How the newest message stands.
    pub async fn status(&self) -> String {
        let newest = self.store.last_message(ORG, "mailbox").await.unwrap();
        match newest.map(|m| m.state) {
            None => "none".into(),
            Some(DeliveryState::Delivered { .. }) => "delivered".into(),
            Some(DeliveryState::Waiting { error, .. }) => format!("waiting: {}", error.unwrap_or_default()),
            Some(DeliveryState::Skipped { reason, .. }) => format!("skipped: {reason}"),
            Some(DeliveryState::Failed { error, .. }) => format!("failed: {error}"),
        }
    }

    /// How the messages about all events stand, newest first.
    pub async fn messages(&self) -> Vec<MessageStatus> {
        let ids: Vec<_> = self.events().await.iter().map(|e| e.id).collect();
        self.store.message_statuses(ORG, &ids).await.unwrap()
    }

    /// Mutes the domain.
    pub async fn mute(&self, until: Option<Timestamp>) {
        let patch = ItemPatch { muted_until: Some(until), ..ItemPatch::default() };
        self.store.patch(ORG, &self.name, &patch, self.now()).await.unwrap();
    }

    /// The rule with other conditions.
    pub async fn rule(&self, rule: Rule) {
        let rule = Rule { id: "r".into(), name: "Mails".into(), channels: vec!["mailbox".into()], ..rule };
        self.store.save_rule(ORG, &rule, self.now()).await.unwrap();
    }

    /// Adds further domains and scans them.
    pub async fn scan_others(&self, count: usize) {
        for n in 0..count {
            let name = DomainName::trusted(&format!("d{n}.example"));
            let item = NewItem {
                unicode: name.unicode(),
                name: name.clone(),
                ownership: Ownership::Owned,
                tags: vec![],
                note: String::new(),
            };
            self.store.add(ORG, &[item], self.now()).await.unwrap();
            self.scanner.scan(&name, false).await.unwrap();
        }
    }

    /// All events, oldest first.
    pub async fn events(&self) -> Vec<Event> {
        let query = EventQuery { per_page: 200, ..EventQuery::default() };
        let mut events = self.store.events(ORG, &query).await.unwrap().events;
        events.reverse();
        events
    }
}
