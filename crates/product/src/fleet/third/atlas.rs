//! RIPE Atlas, API version 2 (<https://atlas.ripe.net/docs/apis/rest-api-manual/>): `POST /api/v2/measurements/` for a
//! one-off DNS measurement, `GET …/{id}/results/` until all probes have answered, `/api/v2/probes/` for where they are,
//! `/api/v2/credits/` for the balance. Every request carries `Authorization: Key …`.

use super::{Asked, PATIENCE, PAUSE, QUIET, RECORDS_MAX, ThirdPartyNetwork, clean};
use data_encoding::BASE64;
use dns::wire::{Name, Reply, rcode_text};
use model::third_party::ThirdPartyAnswer;
use net::{Dialer, HttpAnswer};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Body of the request that creates a measurement.
pub(super) fn request(asked: &Asked<'_>, places: u32) -> Value {
    let mut definition = json!({
        "type": "dns",
        "af": 4,
        "description": format!("Domainscope: {} {}", asked.name, asked.rtype),
        "query_class": "IN",
        "query_type": asked.rtype,
        "query_argument": asked.name,
        "set_nsid_bit": true,
        "udp_payload_size": 1232,
        "protocol": "UDP",
    });
    if asked.server.is_empty() {
        definition["use_probe_resolver"] = true.into();
        definition["set_rd_bit"] = true.into();
    } else {
        definition["target"] = asked.server.into();
    }
    json!({
        "definitions": [definition],
        "probes": [{ "requested": places, "type": "area", "value": "WW" }],
        "is_oneoff": true,
    })
}

/// The number of the measurement that was created.
pub(super) fn created(body: &[u8]) -> Result<u64, String> {
    let value: Value = serde_json::from_slice(body).map_err(|e| format!("unreadable answer: {e}"))?;
    value["measurements"][0].as_u64().ok_or_else(|| "the answer names no measurement".into())
}

#[derive(Deserialize)]
struct Item {
    prb_id: u64,
    dst_addr: Option<String>,
    result: Option<Response>,
    error: Option<Value>,
    #[serde(default)]
    resultset: Vec<Exchange>,
}

#[derive(Deserialize)]
struct Exchange {
    dst_addr: Option<String>,
    result: Option<Response>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Response {
    abuf: Option<String>,
    rt: Option<f64>,
}

/// What each probe got, with its number: those that have answered so far.
pub(super) fn results(
    body: &[u8],
    asked: &Asked<'_>,
    places: u32,
) -> Result<Vec<(u64, ThirdPartyAnswer)>, String> {
    let items: Vec<Item> = serde_json::from_slice(body).map_err(|e| format!("unreadable answer: {e}"))?;
    Ok(items.into_iter().take(places as usize).map(|item| (item.prb_id, answer(item, asked))).collect())
}

fn answer(item: Item, asked: &Asked<'_>) -> ThirdPartyAnswer {
    let own = Exchange { dst_addr: item.dst_addr, result: item.result, error: item.error };
    // A probe with several resolvers asks each; the first that answered is shown.
    let mut all: Vec<Exchange> = std::iter::once(own).chain(item.resultset).collect();
    let best = all.iter().position(|e| e.result.as_ref().is_some_and(|r| r.abuf.is_some()));
    let last = all.iter().rposition(|e| e.error.is_some()).unwrap_or(0);
    let Exchange { dst_addr, result, error } = all.swap_remove(best.unwrap_or(last));
    let mut out = ThirdPartyAnswer {
        source: "RIPE Atlas".into(),
        place: format!("probe {}", item.prb_id),
        network: String::new(),
        server: dst_addr.as_deref().map(clean).unwrap_or_default(),
        rcode: None,
        records: Vec::new(),
        latency_ms: result.as_ref().and_then(|r| r.rt).filter(|ms| (0.0..1e6).contains(ms)),
        nsid: None,
        error: None,
    };
    let Some(text) = result.and_then(|r| r.abuf) else {
        out.error = Some(error.map_or_else(|| "no answer".into(), |e| clean(&e.to_string())));
        return out;
    };
    match read(&text, asked) {
        Ok(reply) => {
            out.rcode = Some(rcode_text(reply.rcode));
            out.records = dns::present::records(&reply.answers);
            out.records.truncate(RECORDS_MAX);
            out.nsid = reply.nsid();
        }
        Err(why) => out.error = Some(why),
    }
    out
}

fn read(abuf: &str, asked: &Asked<'_>) -> Result<Reply, String> {
    let octets = BASE64.decode(abuf.as_bytes()).map_err(|_| "its answer is not base64".to_string())?;
    let reply = Reply::read(&octets).map_err(|e| format!("its answer is not a DNS message: {e}"))?;
    let (name, ..) = Name::read_exact(&octets, 12).map_err(|e| format!("its answer has no question: {e}"))?;
    if !name.to_string().trim_end_matches('.').eq_ignore_ascii_case(asked.name) {
        return Err(format!("its answer is about {}", clean(&name.to_string())));
    }
    Ok(reply)
}

/// Country and network of probes, by number.
pub(super) fn probes(body: &[u8]) -> BTreeMap<u64, (String, String)> {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let one = |p: &Value| {
        let network = p["asn_v4"].as_u64().map(|n| format!("AS{n}")).unwrap_or_default();
        Some((p["id"].as_u64()?, (clean(p["country_code"].as_str().unwrap_or_default()), network)))
    };
    value["results"].as_array().into_iter().flatten().filter_map(one).collect()
}

/// The balance, in the answer of `/api/v2/credits/`.
pub(super) fn credits(body: &[u8]) -> Option<i64> {
    serde_json::from_slice::<Value>(body).ok()?["current_balance"].as_i64()
}

/// Why a request was refused, in the API's words.
pub(super) fn refusal(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    Some(clean(value["error"]["detail"].as_str()?))
}

impl ThirdPartyNetwork {
    /// What the places of a measurement got, and the credits that are left, where the API says.
    pub(super) async fn atlas(
        &self,
        dialer: &Dialer,
        made: &HttpAnswer,
        asked: &Asked<'_>,
        places: u32,
    ) -> Result<(Vec<ThirdPartyAnswer>, Option<i64>), String> {
        let path = format!("/api/v2/measurements/{}/results/", created(&made.body)?);
        let started = tokio::time::Instant::now();
        let (mut answers, mut grew_at) = (Vec::new(), started);
        // Results come in one by one; a probe that is offline sends none.
        while answers.len() < places as usize
            && started.elapsed() < PATIENCE
            && (answers.is_empty() || grew_at.elapsed() < QUIET)
        {
            tokio::time::sleep(PAUSE).await;
            let known = answers.len();
            answers = results(&self.get(dialer, &path).await?.body, asked, places)?;
            if answers.len() > known {
                grew_at = tokio::time::Instant::now();
            }
        }
        if answers.is_empty() {
            return Err(format!("no results within {} s", PATIENCE.as_secs()));
        }
        let ids: Vec<_> = answers.iter().map(|(id, _)| id.to_string()).collect();
        let path = format!("/api/v2/probes/?id__in={}&fields=id,country_code,asn_v4", ids.join(","));
        let at = self.get(dialer, &path).await.map(|a| probes(&a.body)).unwrap_or_default();
        let answers = answers.into_iter().map(|(id, mut answer)| {
            if let Some((country, network)) = at.get(&id) {
                answer.place = format!("{}, {country}", answer.place);
                answer.network.clone_from(network);
            }
            answer
        });
        let balance = self.get(dialer, "/api/v2/credits/").await.ok();
        Ok((answers.collect(), balance.and_then(|a| credits(&a.body))))
    }
}
