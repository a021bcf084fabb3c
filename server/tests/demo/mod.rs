//! The demo with a clock that stands still, so that its texts do not change from day to day.

use jiff::Timestamp;
use monitor::{Clock, Hub, Policy, Scanner, SystemClock, Worker};
use product::identity::Identity;
use product::{Bounds, Quotas, Services, Tools};
use server::settings::EngineArgs;
use std::path::Path;
use std::sync::Arc;

/// The instant of the lab and of every judgement: a table with today's dates could not be compared.
pub const NOW: &str = "2026-11-20T12:00:00Z";

#[derive(Clone, Copy)]
struct Fixed(Timestamp);

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        self.0
    }
}

#[async_trait::async_trait]
impl dns::compare::Clock for Fixed {
    fn now(&self) -> Timestamp {
        self.0
    }

    async fn sleep_until(&self, _: Timestamp) {}
}

/// [`NOW`].
pub fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// The demo's lab, and the product in front of it with a store of its own.
pub async fn services(folder: &Path) -> (Services, lab::Lab) {
    let now = now();
    let options = lab::Options::new(lab::Scenario::named("demo").unwrap(), folder.join("lab"), now);
    let lab = lab::Lab::start(options).await.unwrap();
    let args = EngineArgs {
        config: Some(lab.endpoints().engine.clone()),
        registry_spacing: Some(1),
        ..EngineArgs::default()
    };
    let args = args.resolved().unwrap();
    let observer = server::wiring::internet(&args).unwrap();
    let engine = observer.engine.clone();
    let rows = std::fs::read_to_string(args.resolvers.as_ref().unwrap()).unwrap();
    let dialer = server::wiring::dialer(&args, &engine).unwrap();
    let recursive = dns::recursive::Recursive::new(dialer.clone(), engine.settings());
    let resolvers = model::resolvers::parse(&rows).unwrap();
    let comparer = dns::compare::Comparer::new(engine.clone(), recursive, resolvers, Arc::new(Fixed(now)));
    let bounds = Bounds { a_minute: 0, org_a_minute: 0, at_once: 64, in_all: 64, ..Bounds::default() };
    let store = store::open(&folder.to_string_lossy()).await.unwrap();
    let scanner = Scanner {
        store,
        observer: Arc::new(observer),
        clock: Arc::new(Fixed(now)),
        hub: Hub::default(),
        policy: Policy::default(),
    };
    let worker = Worker::new(scanner.clone(), "test");
    let identity = Identity::new(scanner.store.clone(), Arc::new(SystemClock), 1).unwrap();
    let inspector = server::wiring::inspector(&args, &engine).unwrap();
    let tools = Tools::new(comparer, bounds, inspector);
    let quotas = Quotas::default();
    let deliverer = notify::Deliverer::new(dialer, None, None);
    let gates = features::Gates::default();
    (
        Services {
            scanner,
            worker,
            engine,
            tools,
            identity,
            quotas,
            overlap: product::OverlapPolicy::default(),
            deliverer,
            gates,
            demo: true,
            visitors: None,
        },
        lab,
    )
}

/// The text without what differs from run to run: times of day, spans, key tags, numbers of questions.
pub fn steady(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let steady = words.iter().enumerate().map(|(i, word)| {
            let number = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
            let unit = words.get(i + 1).is_some_and(|next| matches!(next.trim_end_matches('.'), "h" | "min"));
            let tag = i > 0 && words[i - 1] == "key";
            // How many depends on which server of several answers first.
            let questions = words.get(i + 1) == Some(&"questions,");
            if number && (unit || tag || questions) { "N".to_string() } else { without_time(word) }
        });
        steady.collect::<Vec<_>>().join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `07:42` and `07:42:17` as `HH:MM`.
fn without_time(word: &str) -> String {
    let octets = word.as_bytes();
    let is_time = |at: usize| {
        octets[at..]
            .first_chunk::<5>()
            .is_some_and(|c| c[2] == b':' && [c[0], c[1], c[3], c[4]].iter().all(u8::is_ascii_digit))
    };
    match (0..octets.len()).find(|at| is_time(*at)) {
        Some(at) => {
            let rest = &word[at + 5..];
            let seconds = rest.strip_prefix(':').and_then(|s| s.get(2..));
            format!("{}HH:MM{}", &word[..at], seconds.unwrap_or(rest))
        }
        None => word.to_string(),
    }
}
