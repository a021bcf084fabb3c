//! Payloads judged by the types that others publish for them: Discord's interface in `discord-api-types`, the events of
//! PagerDuty's own client, the methods of Telegram's bots in `@grammyjs/types`. The compiler of TypeScript compares: each
//! payload is a literal of its type, so that unknown keys, missing ones and other values are errors. Limits of lengths are
//! in none of them; `main.rs` checks those.

use super::{about, body, health, messages};
use model::notify::Target;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A service, the type of its payload, and where the type is.
const TYPES: [(&str, &str, &str); 3] = [
    (
        "discord",
        "RESTPostAPIWebhookWithTokenJSONBody",
        r#"import type { RESTPostAPIWebhookWithTokenJSONBody } from "discord-api-types/v10";"#,
    ),
    (
        // The client's type lacks this key of the Events API v2 (developer.pagerduty.com, "Send an alert event").
        "pagerduty",
        "EventPayloadV2 & { client?: string }",
        r#"import type { EventPayloadV2 } from "@pagerduty/pdjs/build/src/events";"#,
    ),
    (
        "telegram",
        r#"Parameters<ApiMethods<never>["sendMessage"]>[0]"#,
        r#"import type { ApiMethods } from "@grammyjs/types";"#,
    ),
];

/// The node packages that `cargo xtask setup` installs. They must be there in CI.
fn packages() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../e2e/node_modules");
    let needed = [".bin/tsc", "discord-api-types", "@pagerduty/pdjs", "@grammyjs/types"];
    let has_node = Command::new("node").arg("--version").output().is_ok_and(|out| out.status.success());
    if has_node && needed.iter().all(|package| folder.join(package).exists()) {
        return Some(folder.canonicalize().unwrap());
    }
    let words = "Node.js or packages with the types of services are missing: cargo xtask setup installs them";
    assert!(std::env::var_os("CI").is_none(), "{words}");
    println!("SKIPPED: {words}");
    None
}

/// What the compiler says, and the payloads (by their place) that it complains about.
fn judge(packages: &Path, payloads: &[(&str, Value)]) -> (String, BTreeSet<usize>) {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(packages, folder.path().join("node_modules")).unwrap();
    let mut lines: Vec<String> = TYPES.iter().map(|(.., import)| (*import).to_string()).collect();
    for (n, (service, payload)) in payloads.iter().enumerate() {
        let (_, name, _) = TYPES.iter().find(|(s, ..)| s == service).unwrap();
        lines.push(format!("export const payload{n}: {name} = {payload};"));
    }
    std::fs::write(folder.path().join("payloads.ts"), lines.join("\n")).unwrap();
    let out = Command::new(packages.join(".bin/tsc"))
        .current_dir(folder.path())
        .args(["--noEmit", "--strict", "--skipLibCheck", "--pretty", "false", "--target", "es2022"])
        .args(["--module", "esnext", "--moduleResolution", "bundler", "--lib", "es2022,dom", "--types", ""])
        .arg("payloads.ts")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    // payloads.ts(LINE,COLUMN): error TS2322: …
    let line = |l: &str| l.strip_prefix("payloads.ts(")?.split(',').next()?.parse::<usize>().ok();
    let places: Vec<usize> = said.lines().filter_map(line).collect();
    assert!(places.iter().all(|l| *l > TYPES.len()), "a type is not where it is imported from: {said}");
    assert_eq!(out.status.success(), places.is_empty(), "{said}");
    (said, places.into_iter().map(|l| l - TYPES.len() - 1).collect())
}

#[test]
fn published_types_accept_the_payloads() {
    let Some(packages) = packages() else { return };
    let targets = [
        ("discord", Target::Discord { url: "https://discord.example/api/webhooks/1/x".into() }),
        ("pagerduty", Target::Pagerduty { key: "0123456789abcdef0123456789abcdef".into() }),
        ("telegram", Target::Telegram { token: "1:a-b_C".into(), chat: "-100".into() }),
    ];
    let mut payloads = Vec::new();
    for m in messages() {
        payloads.extend(targets.iter().map(|(service, target)| (*service, body(target, &m).1)));
    }
    // The end of an incident.
    let (down, up) = (health(1, "ns1", "answers", "silent"), health(2, "ns1", "silent", "answers"));
    let (.., resolve, _) = body(&targets[1].1, &about(&[down], &[up]));
    assert_eq!(resolve["event_action"], "resolve");
    payloads.push(("pagerduty", resolve));
    let (said, refused) = judge(&packages, &payloads);
    assert!(refused.is_empty(), "{said}");

    // The compiler does judge: a value of another type, one that the type does not list, and a key it does not have.
    let good = |n: usize| payloads[n].1.clone();
    let mut broken = vec![payloads[0].clone()];
    for (n, (service, _)) in targets.iter().enumerate() {
        let mut wrong = good(n);
        let (place, value) = match *service {
            "discord" => ("/embeds/0/color", json!("red")),
            "pagerduty" => ("/payload/severity", json!("fatal")),
            _ => ("/parse_mode", json!("HTM")),
        };
        *wrong.pointer_mut(place).unwrap() = value;
        let mut unknown = good(n);
        unknown["domainscope"] = json!(1);
        let mut missing = good(n);
        match *service {
            // Nothing is required of a message of Discord by itself; of its footer it is.
            "discord" => missing["embeds"][0]["footer"] = json!({}),
            "pagerduty" => drop(missing.as_object_mut().unwrap().remove("routing_key")),
            _ => drop(missing.as_object_mut().unwrap().remove("chat_id")),
        }
        broken.extend([(*service, wrong), (*service, unknown), (*service, missing)]);
    }
    let (said, refused) = judge(&packages, &broken);
    assert_eq!(refused, (1..=9).collect(), "{said}");
}
