//! The past of some of the demo's domains, so that History, timeline and events have something to show. Clock and lab go
//! back to an instant, the lab is changed, and the domain is scanned as ever: nothing is written past the usual path.

use crate::settings::EngineArgs;
use crate::wiring;
use anyhow::{Context, Result};
use jiff::{SignedDuration, Timestamp};
use model::event::EventQuery;
use model::ids::OrgId;
use model::names::DomainName;
use monitor::{Clock, Hub, Scanner};
use product::Services;
use std::sync::Arc;

/// Days ago, and what the lab is told then.
type Step = (i64, &'static [&'static str]);

/// Domains with what happened to them, oldest first. Each ends as the scenario has it.
const STORIES: [(&str, &[Step]); 2] = [
    (
        "halcyon-demo.com",
        &[
            (
                330,
                &[
                    "registrar halcyon-demo.com harbor",
                    "status halcyon-demo.com",
                    "expires halcyon-demo.com +295d",
                    "registrar-expires halcyon-demo.com +295d",
                    "ns halcyon-demo.com ns1.quarry-dns.example ns2.quarry-dns.example",
                ],
            ),
            (301, &["status halcyon-demo.com clientTransferProhibited"]),
            (150, &["registrar halcyon-demo.com opal"]),
            (
                121,
                &[
                    "ns halcyon-demo.com a.anycast-one.example b.anycast-one.example c.anycast-one.example",
                    "status halcyon-demo.com clientTransferProhibited clientDeleteProhibited",
                ],
            ),
            (37, &["expires halcyon-demo.com +367d", "registrar-expires halcyon-demo.com +367d"]),
            (2, &["status halcyon-demo.com clientTransferProhibited"]),
        ],
    ),
    (
        "harbour.test",
        &[
            (45, &["add harbour.test 3600 MX 20 mx2.post.example."]),
            (1, &["remove harbour.test MX 20 mx2.post.example."]),
        ],
    ),
];

/// Events older than this were acknowledged when they happened.
const UNSEEN: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Time between a scan and the one that confirms what it saw.
const CONFIRMED_AFTER: SignedDuration = SignedDuration::from_mins(10);

struct FixedClock(Timestamp);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// Writes the past of domains that are in the inventory and were not scanned yet.
pub(super) async fn start(services: &Services, engine: &EngineArgs, lab: &lab::Lab) -> Result<()> {
    let now = Timestamp::now();
    // An engine of its own: what that of the server remembers is of today.
    let observer = Arc::new(wiring::internet(engine)?);
    for (domain, steps) in STORIES {
        let name = DomainName::trusted(domain);
        for (days, commands) in steps {
            let ago = SignedDuration::from_hours(24 * days);
            lab.pass(-ago);
            let scanned = async {
                for command in *commands {
                    lab.apply(command.parse().map_err(anyhow::Error::msg)?).await.context(*command)?;
                }
                for after in [SignedDuration::ZERO, CONFIRMED_AFTER] {
                    let scanner = Scanner {
                        clock: Arc::new(FixedClock(now - ago + after)),
                        observer: observer.clone(),
                        // Live pages show what happens now.
                        hub: Hub::default(),
                        ..services.scanner.clone()
                    };
                    scanner.scan(&name, true).await?;
                }
                anyhow::Ok(())
            }
            .await;
            lab.pass(ago);
            scanned.with_context(|| format!("{domain}, {days} days ago"))?;
        }
        let query = EventQuery { domain: Some(name), page: 1, per_page: 200, ..EventQuery::default() };
        for event in services.store().events(OrgId::BUILT_IN, &query).await?.events {
            if now.duration_since(event.at) > UNSEEN {
                let at = event.at + SignedDuration::from_hours(3);
                services.store().acknowledge(OrgId::BUILT_IN, &[event.id], "Mira Holt", at).await?;
            }
        }
    }
    Ok(())
}
