//! The lines that `serve` prints when it is ready.

use super::ServeArgs;
use accounts::Secret;
use std::net::SocketAddr;
use std::path::Path;

/// Prints where the server listens and what to do next.
pub(super) fn announce(
    args: &ServeArgs,
    (address, secure, health): (SocketAddr, Option<SocketAddr>, Option<SocketAddr>),
    setup: Option<&Secret>,
    folder: &Path,
    lab: Option<&lab::Lab>,
) {
    let mut lines = vec![format!("Domainscope {}", env!("CARGO_PKG_VERSION"))];
    let mut say = |line: String| lines.push(line);
    if let Some(lab) = lab {
        say(format!("  Open        http://{address}"));
        say(format!(
            "  Lab         http://{} changes it while it runs: curl -d 'renew q7.io 1' http://{}/commands",
            lab.endpoints().control,
            lab.endpoints().control
        ));
        say(format!(
            "  Engine      {} lets other commands use the same lab:",
            lab.endpoints().engine.display()
        ));
        say(format!("              domainscope scan q7.io --config {}", lab.endpoints().engine.display()));
    }
    if let Some(link) = setup {
        say(format!("  Set up      http://{address}/setup?key={}", link.expose()));
        say("              creates the first account; the link works once, for 7 days".into());
    }
    if let Some(secure) = secure {
        say(format!("  HTTPS       https://{secure}"));
        say(format!("              DNS over HTTPS: https://{secure}/dns-query{{?dns}}"));
        if let Some(lab) = lab {
            say(format!(
                "              certificate of the lab's authority: {}",
                lab.endpoints().extra_ca.display()
            ));
        }
    }
    if args.database.is_some() {
        say("  Data        PostgreSQL".into());
    } else {
        say(format!(
            "  Data        {}{}",
            folder.display(),
            if args.data.is_none() && args.demo { " (deleted on exit)" } else { "" }
        ));
    }
    if let Some(at) = health {
        say(format!("  Metrics     http://{at}/metrics"));
    }
    say("  Stop        Ctrl-C".into());
    // Standard output may be closed; `admin link` prints the link again.
    if let Err(e) = crate::cli::print(&lines.join("\n")) {
        tracing::warn!("the address could not be printed: {e:#}");
    }
}
