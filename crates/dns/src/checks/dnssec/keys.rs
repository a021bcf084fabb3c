//! DNSSEC05 (algorithms of the keys).

use super::{ByKey, Servers, TABLES, add_servers, good, key_answers, keys_of, row};
use crate::checks::context::Context;
use model::finding::Finding;
use std::collections::BTreeMap;

pub(in crate::checks) async fn dnssec05(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("DNSSEC05");
    let (mut ignored, mut without, mut with) = (Servers::new(), Servers::new(), Servers::new());
    let mut seen: ByKey<(u16, u8)> = BTreeMap::new();
    for (ip, asked) in key_answers(c).await {
        let Some(reply) = good(&asked) else {
            ignored.insert(ip);
            continue;
        };
        let keys = keys_of(reply, &c.zone);
        if keys.is_empty() {
            without.insert(ip);
            continue;
        }
        with.insert(ip);
        for key in keys {
            seen.entry((key.key_tag, key.algorithm)).or_default().insert(ip);
        }
    }
    for ((key_tag, algorithm), servers) in &seen {
        let Some(row) = row(&TABLES.algorithm, *algorithm) else { continue };
        let args = [
            ("ns_list", c.ns_list(servers).await),
            ("keytag", (*key_tag).into()),
            ("algo_num", (*algorithm).into()),
            ("algo_descr", row.description.as_str().into()),
            ("algo_mnemo", row.mnemonic.as_str().into()),
        ];
        out.add(&format!("DS05_ALGO_{}", row.class), &args);
    }
    if with.is_empty() && without.is_empty() {
        add_servers(c, &mut out, "DS05_NO_RESPONSE", &ignored).await;
    }
    let tag = if with.is_empty() { "DS05_ZONE_NO_DNSSEC" } else { "DS05_SERVER_NO_DNSSEC" };
    add_servers(c, &mut out, tag, &without).await;
    out.list
}
