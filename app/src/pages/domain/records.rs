//! The records of a zone as its own servers gave them.

use crate::components::copy::copy_button;
use crate::components::time::Ago;
use leptos::prelude::*;
use model::Timestamp;
use model::dns::{RrSet, ZoneSnapshot};
use model::observation::Part;
use model::time::human_seconds;

/// The card; nothing while no zone was read.
pub(crate) fn records(part: &Part<ZoneSnapshot>, zone: &str, now: Timestamp) -> Option<AnyView> {
    let z = part.value.as_ref()?;
    let read = part.observed_at.map(|at| view! { <span>"read "<Ago at=at now=now/></span> });
    let wildcard = match z.wildcard {
        Some(true) => "has a wildcard",
        Some(false) => "no wildcard",
        None => "",
    };
    let rows: Vec<_> = z.rrsets.iter().map(|r| rrset(r, zone)).collect();
    let body = if rows.is_empty() {
        view! { <div class="card-body"><p class="text-muted">"No record of the watched types exists."</p></div> }
            .into_any()
    } else {
        view! {
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Records, table">
                <table class="tbl tbl-tight tbl-rec">
                    <thead><tr>
                        <th scope="col">"Name"</th><th scope="col">"Type"</th><th scope="col" class="num">"TTL"</th>
                        <th scope="col">"Data"</th><th scope="col" class="num"><span class="sr-only">"Purpose"</span></th>
                    </tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
        .into_any()
    };
    let unanswered = (!z.unanswered.is_empty()).then(|| {
        let words =
            format!("No authoritative server answered for {}: unknown, not absent.", z.unanswered.join(", "));
        view! { <div class="card-foot text-xs">{words}</div> }
    });
    Some(
        view! {
            <section class="card tbl-wrap">
                <div class="card-head"><h2>"Records"</h2><span class="min-w-0 truncate text-muted">{wildcard}</span><div class="aside">{read}</div></div>
                {body}{unanswered}
            </section>
        }
        .into_any(),
    )
}

/// The owner name as written in a zone file.
fn relative(name: &str, zone: &str) -> String {
    if name == zone {
        "@".into()
    } else {
        name.strip_suffix(zone).and_then(|n| n.strip_suffix('.')).unwrap_or(name).to_string()
    }
}

fn purpose(r: &RrSet) -> Option<&'static str> {
    let text = r.data.iter().map(|d| d.trim_start_matches('"')).collect::<Vec<_>>();
    if r.rtype != "TXT" {
        return None;
    }
    if text.iter().any(|t| t.starts_with("v=DMARC1")) {
        Some("DMARC")
    } else if text.iter().any(|t| t.starts_with("v=spf1")) {
        Some("SPF")
    } else {
        None
    }
}

fn rrset(r: &RrSet, zone: &str) -> AnyView {
    let data: Vec<_> = r
        .data
        .iter()
        .map(|d| {
            let copy = copy_button(&format!("this {} record", r.rtype), d.clone());
            view! { <div class="rline"><span class="flex-initial wrap">{d.clone()}</span>{copy}</div> }
        })
        .collect();
    let tag = purpose(r).map(|p| view! { <span class="tag">{p}</span> });
    view! {
        <tr>
            <th scope="row" class="mono" title=r.name.clone()>{relative(&r.name, zone)}</th>
            <td><span class="rtype">{r.rtype.clone()}</span></td>
            <td class="num mono" title=human_seconds(u64::from(r.ttl))>{r.ttl.to_string()}</td>
            <td class="mono rdata">{data}</td>
            <td class="num">{tag}</td>
        </tr>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::relative;

    #[test]
    fn owner_names_as_in_a_zone_file() {
        assert_eq!(relative("alder.example", "alder.example"), "@");
        assert_eq!(relative("www.alder.example", "alder.example"), "www");
        assert_eq!(relative("notalder.example", "alder.example"), "notalder.example");
    }
}
