//! Terraform (HCL) for three common providers. Zone identifiers are variables, to be set by the reader.

use super::{DEFAULT_TTL, Set, absolute, full_name, quote, rdata, remark, sets, strings, words};
use crate::record::Record;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Whose resources to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerraformProvider {
    /// `cloudflare_dns_record` (provider cloudflare, version 5).
    Cloudflare,
    /// `aws_route53_record`.
    Route53,
    /// `google_dns_record_set`.
    Google,
}

/// One resource for each record (Cloudflare) or set of records (the others).
pub fn terraform(records: &[Record], domain: &str, provider: TerraformProvider) -> String {
    let domain = domain.trim_end_matches('.');
    let mut text = match provider {
        TerraformProvider::Cloudflare => variable("cloudflare_zone_id"),
        TerraformProvider::Route53 => variable("route53_zone_id"),
        TerraformProvider::Google => variable("google_managed_zone"),
    };
    let mut used = BTreeSet::new();
    for set in sets(records) {
        match provider {
            TerraformProvider::Cloudflare => {
                set.records.iter().for_each(|record| cloudflare(&mut text, record, domain, &mut used));
            }
            TerraformProvider::Route53 | TerraformProvider::Google => {
                record_set(&mut text, &set, domain, provider, &mut used);
            }
        }
    }
    text
}

fn variable(name: &str) -> String {
    format!("variable \"{name}\" {{\n  type = string\n}}\n")
}

fn cloudflare(text: &mut String, record: &Record, domain: &str, used: &mut BTreeSet<String>) {
    let ttl = record.ttl.unwrap_or(DEFAULT_TTL).clamp(60, 86_400);
    let host = |name: &str| name.trim_end_matches('.').to_string();
    // Cloudflare answers a CNAME at the apex with addresses, which is what APEXCNAME asks for.
    let kind = if record.kind == "APEXCNAME" { "CNAME" } else { record.kind.as_str() };
    let content = match kind {
        "CNAME" | "NS" | "PTR" => Some(format!("  content = {}\n", string(&host(&record.data)))),
        "MX" => record.priority.map(|priority| {
            format!("  content = {}\n  priority = {priority}\n", string(&host(&record.data)))
        }),
        "SRV" => match (record.priority, record.weight, record.port) {
            (Some(priority), Some(weight), Some(port)) => Some(format!(
                "  data = {{\n    priority = {priority}\n    weight = {weight}\n    port = {port}\n    target = {}\n  }}\n",
                string(&host(&record.data))
            )),
            _ => None,
        },
        "CAA" => match words(&record.data).as_slice() {
            [flags, tag, value] if flags.parse::<u8>().is_ok() => Some(format!(
                "  data = {{\n    flags = {flags}\n    tag = {}\n    value = {}\n  }}\n",
                string(tag),
                string(value)
            )),
            _ => None,
        },
        "A" | "AAAA" | "TXT" => rdata(record).map(|data| format!("  content = {}\n", string(&data))),
        _ => None,
    };
    let Some(content) = content else {
        let _ = writeln!(text, "\n# {}", remark(record));
        return;
    };
    let label = label(&super::owner_name(record), kind, used);
    let _ = write!(
        text,
        "\nresource \"cloudflare_dns_record\" \"{label}\" {{\n  zone_id = var.cloudflare_zone_id\n  name = {}\n  type = {}\n  ttl = {ttl}\n{content}}}\n",
        string(&full_name(record, domain)),
        string(kind)
    );
}

fn record_set(
    text: &mut String,
    set: &Set<'_>,
    domain: &str,
    provider: TerraformProvider,
    used: &mut BTreeSet<String>,
) {
    let separator = if provider == TerraformProvider::Route53 { "" } else { " " };
    let data = |record: &Record| {
        if record.kind != "TXT" {
            return rdata(record).map(|data| string(&data));
        }
        let pieces: Vec<String> = strings(&record.text()).iter().map(|piece| quote(piece)).collect();
        Some(string(&pieces.join(separator)))
    };
    let values: Option<Vec<String>> = set.records.iter().map(|record| data(record)).collect();
    let Some(values) = values else {
        set.records.iter().for_each(|record| {
            let _ = writeln!(text, "\n# {}", remark(record));
        });
        return;
    };
    let label = label(&set.name, set.kind, used);
    let name = full_name(set.records[0], domain);
    let (resource, zone, name, list) = match provider {
        TerraformProvider::Google => {
            ("google_dns_record_set", "managed_zone = var.google_managed_zone", absolute(&name), "rrdatas")
        }
        _ => ("aws_route53_record", "zone_id = var.route53_zone_id", name, "records"),
    };
    let _ = write!(
        text,
        "\nresource \"{resource}\" \"{label}\" {{\n  {zone}\n  name = {}\n  type = {}\n  ttl = {}\n  {list} = [{}]\n}}\n",
        string(&name),
        string(set.kind),
        set.ttl(),
        values.join(", ")
    );
}

/// A string of HCL: as in JSON, and `${` and `%{` do not begin a template.
fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace("${", "$${").replace("%{", "%%{")
}

/// A resource label that is not used yet: `www_cname`, `apex_txt_2`.
fn label(name: &str, kind: &str, used: &mut BTreeSet<String>) -> String {
    let name = match name {
        "@" => "apex".to_string(),
        name => name.replace('*', "wildcard"),
    };
    let plain: String = format!("{name}_{kind}")
        .to_ascii_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    let plain = if plain.starts_with(|c: char| c.is_ascii_digit()) { format!("r_{plain}") } else { plain };
    let mut label = plain.clone();
    for number in 2_u32.. {
        if used.insert(label.clone()) {
            break;
        }
        label = format!("{plain}_{number}");
    }
    label
}
