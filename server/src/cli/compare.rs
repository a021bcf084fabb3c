//! `domainscope compare NAME [TYPE]`: the authoritative servers beside public resolvers and the machine's own.

use super::output::note;
use super::stops::Stops;
use super::text::compare::{answer_line, comparison, flush_advice};
use super::{Outcome, complain, print, print_json, usage};
use crate::settings::EngineArgs;
use crate::wiring;
use anyhow::Result;
use clap::Args;
use dns::compare::{Asking, Watch};
use model::compare::{CompareEvent, Comparison, EndKind, StopReason};
use model::ids::OrgId;
use model::names::Fqdn;
use monitor::observer::cause_at_registry;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Flags of `compare`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  domainscope compare www.example.com\n  domainscope compare example.com MX --json\n  \
    domainscope compare www.example.com --watch --expect 192.0.2.7\n\n\
    The authoritative servers are queried first. If they deny the name, no resolver is queried, because each would \
    cache the negative answer; --force queries them anyway. Exit code 1 if a resolver differs or a watch times out."
)]
pub(super) struct CompareArgs {
    /// Name to compare
    #[arg(value_name = "NAME")]
    name: String,
    /// Record type
    #[arg(value_name = "TYPE", default_value = "A")]
    rtype: String,
    /// Query resolvers even if the authoritative servers deny the name
    #[arg(long)]
    force: bool,
    /// Repeat until every resolver has the authoritative answer
    #[arg(long)]
    watch: bool,
    /// Expected value of the record; repeatable
    #[arg(long, value_name = "VALUE", requires = "watch")]
    expect: Vec<String>,
    /// Earlier value of the record: tells old copies from answers that depend on location
    #[arg(long, value_name = "VALUE")]
    was: Vec<String>,
    /// Minutes after which a watch stops
    #[arg(long, value_name = "MINUTES", default_value_t = 60, requires = "watch")]
    give_up: u32,
    /// File that lists this machine's resolvers; "-" queries none [default: /etc/resolv.conf]
    #[arg(long, value_name = "FILE")]
    resolv_conf: Option<PathBuf>,
    /// Folder of an installation: also print the claims of address space that cover the addresses
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The same of an installation on PostgreSQL: postgres://user@host/name
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    database: Option<String>,
}

pub(super) async fn run(args: &CompareArgs, engine: &EngineArgs, json: bool) -> Result<Outcome> {
    let name = match Fqdn::read(&args.name) {
        Ok(u) => u.name,
        Err(e) => return Ok(usage(&e.to_string())),
    };
    if let Err(e) = dns::known_type(&args.rtype) {
        return Ok(usage(&e.to_string()));
    }
    // Before the look-ups, which take a moment: a wrong folder is said at once.
    let registry = super::place::given(args.data.as_deref(), args.database.as_deref()).await?;
    let internet = wiring::internet(engine)?;
    let comparer = wiring::comparer(engine, &internet.engine)?;
    let mut asking = Asking::new(name, &args.rtype);
    asking.force = args.force;
    asking.earlier.values.extend((!args.was.is_empty()).then(|| args.was.clone()));
    let result = if args.watch {
        let watch = Watch { expect: args.expect.clone(), patience_s: i64::from(args.give_up) * 60 };
        // Installed before the first line: a reader may answer it with Ctrl-C.
        let mut stops = Stops::catch()?;
        let mut seen = Shown::default();
        let mut tell = |event: CompareEvent| {
            progress(&event, json);
            seen.take(event);
        };
        let watched = tokio::select! {
            watched = comparer.watch(&asking, &watch, &mut tell) => Some(watched),
            () = stops.asked() => None,
        };
        match watched {
            Some(watched) => watched.map(|(c, end)| (c, Some(end))),
            None => return stopped(seen, json),
        }
    } else {
        let mut counted = Counter::new(json);
        let done = comparer.run(&asking, &mut |event| counted.count(&event)).await;
        counted.clear();
        done.map(|c| (c, None))
    };
    let (mut done, end) = match result {
        Ok(done) => done,
        Err(e @ (dns::Error::Name(..) | dns::Error::Type(_))) => return Ok(usage(&e.to_string())),
        Err(e) => return Err(e.into()),
    };
    if done.stopped.is_some() && done.authority.cause.is_none() {
        done = done.because(cause_at_registry(&internet, &asking.name, jiff::Timestamp::now()).await);
    }
    let own = own_resolvers(args, engine);
    comparer.ask_own(&asking, &mut done, &own, 53).await;
    if let Some(store) = registry {
        product::place_comparison(&*store, OrgId::BUILT_IN, &mut done).await?;
    }
    if json {
        let mut value = serde_json::to_value(&done)?;
        if let Some(end) = &end {
            value["end"] = serde_json::to_value(end)?;
        }
        print_json(&value)?;
    } else {
        let mut text = comparison(&done, true);
        if done.stopped.as_ref().is_some_and(|s| s.reason == StopReason::Denied) {
            text.push_str("To query them anyway: --force\n");
        }
        text.push_str(&flush_advice(&done.own, true));
        for a in &done.address_space {
            text.push_str(&format!("{}\n", a.sentence));
        }
        if let Some(end) = &end {
            text.push_str(&format!("\n{}\n", end.sentence));
        }
        print(text.trim_end())?;
    }
    if done.stopped.as_ref().is_some_and(|s| s.reason == StopReason::NoAuthority) {
        anyhow::bail!("no authoritative server of {} answers", done.authority.name);
    }
    Ok(match end {
        Some(end) if end.kind == EndKind::Everywhere => Outcome::Done,
        Some(_) => Outcome::Problems,
        None if done.agrees() => Outcome::Done,
        None => Outcome::Problems,
    })
}

/// The events of a watch so far.
#[derive(Default)]
struct Shown(Option<Comparison>);

impl Shown {
    fn take(&mut self, event: CompareEvent) {
        match (event, &mut self.0) {
            (CompareEvent::Authority(c), seen) => *seen = Some(*c),
            (CompareEvent::Answer(j), Some(c)) => {
                if let Some(place) = c.answers.iter_mut().find(|a| a.resolver.id == j.resolver.id) {
                    *place = *j;
                }
            }
            (CompareEvent::Summary(s), Some(c)) => c.summary = s,
            _ => {}
        }
    }
}

/// Ctrl-C (or SIGTERM) during a watch: prints the last result and that the watch is incomplete.
fn stopped(seen: Shown, json: bool) -> Result<Outcome> {
    match seen.0 {
        Some(last) if json => print_json(&last)?,
        Some(last) => print(comparison(&last, true).trim_end())?,
        None => {
            complain("stopped before the authoritative servers answered: no result");
            return Ok(Outcome::Stopped);
        }
    }
    complain("stopped before the watch ended; the result above is from the last check");
    Ok(Outcome::Stopped)
}

/// The machine's own resolvers. A closed network's names mean nothing to them, so there only a file that is named counts.
fn own_resolvers(args: &CompareArgs, engine: &EngineArgs) -> Vec<std::net::IpAddr> {
    let path = match &args.resolv_conf {
        Some(path) if path.as_os_str() == "-" => return Vec::new(),
        Some(path) => path.as_path(),
        None if engine.root_hints.is_some() => return Vec::new(),
        None => Path::new("/etc/resolv.conf"),
    };
    // A machine without the file (Windows) has resolvers all the same; they are not shown.
    dns::recursive::own_resolvers(&std::fs::read_to_string(path).unwrap_or_default())
}

/// How many have answered, on standard error while someone watches it.
struct Counter {
    shown: bool,
    answered: u32,
    total: u32,
}

impl Counter {
    fn new(json: bool) -> Self {
        Counter { shown: !json && std::io::stderr().is_terminal(), answered: 0, total: 0 }
    }

    fn count(&mut self, event: &CompareEvent) {
        match event {
            CompareEvent::Authority(c) => self.total = c.summary.total,
            CompareEvent::Answer(_) => self.answered += 1,
            _ => return,
        }
        if self.shown && self.total > 0 {
            note(&format!("\r{} of {} resolvers answered ", self.answered, self.total));
        }
    }

    fn clear(&self) {
        if self.shown && self.total > 0 {
            note(&format!("\r{:40}\r", ""));
        }
    }
}

/// Progress of a watch, on standard error: the result goes to standard output.
fn progress(event: &CompareEvent, json: bool) {
    match event {
        CompareEvent::Watch(p) => note(&format!("{}\n", p.sentence)),
        CompareEvent::Answer(j) if !json => note(&format!("{}\n", answer_line(j, true))),
        _ => {}
    }
}
