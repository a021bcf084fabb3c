//! Records of a host and its zone that lead nowhere: CNAME targets that do not exist or are not claimed at their platform,
//! and NS targets that do not exist. A failed look-up proves nothing and is left out.

use crate::{Names, platforms};
use model::certificate::Dangling;

/// Most name servers of a zone that are looked up.
const SERVERS: usize = 16;

/// Finds them; `page` is what the host answers over HTTP.
pub(crate) async fn find(names: &dyn Names, host: &str, page: Option<&str>) -> Vec<Dangling> {
    let mut found = Vec::new();
    let Ok(answer) = names.ask(host, "A").await else { return found };
    if let Some((owner, target)) = answer.aliases.last() {
        let unclaimed = answer.aliases.iter().rev().find_map(|(owner, target)| {
            let exists = !answer.is_nxdomain || *target != answer.owner;
            platforms::unclaimed(target, exists, page).map(|platform| (owner, target, platform))
        });
        if let Some((owner, target, platform)) = unclaimed {
            found.push(Dangling {
                rtype: "CNAME".into(),
                owner: owner.clone(),
                target: target.clone(),
                service: Some(platform.service.to_string()),
                source: Some(platform.source.to_string()),
            });
        } else if answer.is_nxdomain {
            found.push(Dangling {
                rtype: "CNAME".into(),
                owner: owner.clone(),
                target: target.clone(),
                service: None,
                source: None,
            });
        }
    }
    // The zone of the host itself, not of what it is an alias for.
    let zone = match answer.aliases.is_empty() {
        true => answer.zone,
        false => names.ask(host, "CNAME").await.map(|a| a.zone).unwrap_or_default(),
    };
    let Ok(servers) = names.ask(&zone, "NS").await else { return found };
    for server in servers.records.iter().take(SERVERS) {
        let target = server.trim_end_matches('.');
        if matches!(names.ask(target, "A").await, Ok(a) if a.is_nxdomain && a.aliases.is_empty()) {
            found.push(Dangling {
                rtype: "NS".into(),
                owner: zone.clone(),
                target: target.to_string(),
                service: None,
                source: None,
            });
        }
    }
    found
}
