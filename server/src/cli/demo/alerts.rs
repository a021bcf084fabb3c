//! Notifications of the demo: channels that lead into the lab, and two rules. What they show is sent by the product.

use super::super::mail::MailArgs;
use anyhow::Result;
use model::event::{EventKind, Severity};
use model::ids::Caller;
use model::notify::Rule;
use product::Services;
use service::{AlertBackend, ChannelDraft};
use std::net::SocketAddr;

/// Mail goes to the lab's server and links back to this process, unless the operator chose otherwise.
pub(in super::super) fn mail(args: &mut MailArgs, lab: &lab::Lab, address: SocketAddr) {
    if args.smtp_url.is_none() {
        args.smtp_url = Some(format!("smtp://{}?tls=none", lab.endpoints().smtp));
        args.mail_from.get_or_insert_with(|| "Domainscope <domains@alder.example>".into());
    }
    if args.public_url.is_none() {
        args.public_url = format!("http://{address}").parse().ok();
    }
}

/// Channels and rules of the visitor's organisation. One address no longer exists, as happens: its messages fail.
/// On PostgreSQL without DOMAINSCOPE_SECRET_KEY there are none, since their secrets could not be stored.
pub(super) async fn start(services: &Services, lab: &lab::Lab) -> Result<()> {
    if !services.scanner.store.has_key() {
        tracing::info!("the demo has no notification channels: set DOMAINSCOPE_SECRET_KEY to have them");
        return Ok(());
    }
    let port = lab.endpoints().https_port;
    let operator = Caller::system();
    let draft = |name: &str, kind: &str| ChannelDraft {
        name: name.into(),
        kind: kind.into(),
        ..ChannelDraft::default()
    };
    let mail = ChannelDraft {
        to: "dns-ops@alder.example, oncall@alder.example".into(),
        ..draft("DNS operations", "email")
    };
    let desk = ChannelDraft {
        url: format!("https://hooks.alder.example:{port}/domainscope"),
        ..draft("Incident desk", "webhook")
    };
    let bridge = ChannelDraft {
        url: format!("https://chat-bridge.alder.example:{port}/incoming"),
        ..draft("Chat bridge", "webhook")
    };
    let mail = services.save_channel(&operator, &mail).await?.id;
    let desk = services.save_channel(&operator, &desk).await?.id;
    let bridge = services.save_channel(&operator, &bridge).await?.id;
    let rules = [
        Rule {
            name: "Warnings and critical events".into(),
            at_least: Severity::Warning,
            channels: vec![mail, desk],
            ..Rule::default()
        },
        Rule {
            name: "Expired domains".into(),
            kinds: vec![EventKind::Expired],
            at_least: Severity::Critical,
            channels: vec![bridge],
            ..Rule::default()
        },
    ];
    for rule in &rules {
        services.save_rule(&operator, rule).await?;
    }
    Ok(())
}
