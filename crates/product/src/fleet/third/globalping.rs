//! Globalping, API version 1 (<https://globalping.io/docs/api.globalping.io>): `POST /v1/measurements`, then
//! `GET /v1/measurements/{id}` until the status is no longer `in-progress`. A token is optional; what is left of limits
//! and credits is in header fields and at `/v1/limits`.

use super::{Asked, DATA_MAX, PATIENCE, PAUSE, RECORDS_MAX, ThirdPartyNetwork, clean, clean_to};
use model::dns::Record;
use model::third_party::ThirdPartyAnswer;
use net::{Dialer, HttpAnswer};
use serde::Deserialize;
use serde_json::{Value, json};

/// Body of the request that creates a measurement.
pub(super) fn request(asked: &Asked<'_>, places: u32) -> Value {
    let mut options = json!({ "query": { "type": asked.rtype } });
    if !asked.server.is_empty() {
        options["resolver"] = asked.server.into();
    }
    json!({
        "type": "dns",
        "target": asked.name,
        "limit": places,
        "locations": [{ "magic": "world" }],
        "measurementOptions": options,
    })
}

#[derive(Deserialize)]
struct Created {
    id: String,
}

/// The identifier of a measurement that was created; it becomes part of an address.
pub(super) fn created(body: &[u8]) -> Result<String, String> {
    let made: Created = serde_json::from_slice(body).map_err(|e| format!("unreadable answer: {e}"))?;
    let is_plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
    if made.id.is_empty() || made.id.len() > 64 || !made.id.bytes().all(is_plain) {
        return Err("the answer names no measurement".into());
    }
    Ok(made.id)
}

#[derive(Deserialize)]
struct Measurement {
    status: String,
    target: String,
    #[serde(default)]
    results: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    probe: Probe,
    result: Outcome,
}

#[derive(Deserialize)]
struct Probe {
    #[serde(default)]
    city: String,
    #[serde(default)]
    country: String,
    #[serde(default)]
    asn: u32,
    #[serde(default)]
    network: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    status: String,
    status_code_name: Option<String>,
    raw_output: Option<String>,
    #[serde(default)]
    answers: Vec<Answer>,
    resolver: Option<String>,
    timings: Option<Timings>,
}

#[derive(Deserialize)]
struct Answer {
    name: String,
    #[serde(rename = "type")]
    rtype: String,
    #[serde(default)]
    ttl: u32,
    value: String,
}

#[derive(Deserialize)]
struct Timings {
    total: Option<f64>,
}

/// What the places got; `None` while the measurement is in progress.
pub(super) fn results(
    body: &[u8],
    asked: &Asked<'_>,
    places: u32,
) -> Result<Option<Vec<ThirdPartyAnswer>>, String> {
    let m: Measurement = serde_json::from_slice(body).map_err(|e| format!("unreadable answer: {e}"))?;
    if !m.target.trim_end_matches('.').eq_ignore_ascii_case(asked.name) {
        return Err(format!("the answer is about {}, not {}", clean(&m.target), asked.name));
    }
    if m.status == "in-progress" {
        return Ok(None);
    }
    Ok(Some(m.results.into_iter().take(places as usize).map(answer).collect()))
}

fn answer(item: Item) -> ThirdPartyAnswer {
    let Item { probe, result } = item;
    let plain = |text: &str| clean_to(text.trim_end_matches('.'), DATA_MAX);
    let record = |a: Answer| Record {
        name: plain(&a.name),
        ttl: a.ttl,
        rtype: clean(&a.rtype),
        data: plain(&a.value),
    };
    let raw = result.raw_output.unwrap_or_default();
    let is_done = result.status == "finished";
    ThirdPartyAnswer {
        source: "Globalping".into(),
        place: clean(&format!("{}, {}", probe.city, probe.country)),
        network: clean(&format!("AS{} {}", probe.asn, probe.network)),
        server: result.resolver.as_deref().map(clean).unwrap_or_default(),
        rcode: result.status_code_name.as_deref().filter(|_| is_done).map(clean),
        records: result.answers.into_iter().take(RECORDS_MAX).map(record).collect(),
        latency_ms: result.timings.and_then(|t| t.total).filter(|ms| (0.0..1e6).contains(ms)),
        nsid: nsid(&raw),
        error: (!is_done).then(|| clean(raw.lines().rfind(|l| !l.trim().is_empty()).unwrap_or("no answer"))),
    }
}

/// The name server identifier in the output of dig: `; NSID: 67 70 ("gpdns-syd")`.
fn nsid(raw: &str) -> Option<String> {
    let line = raw.lines().find_map(|l| l.strip_prefix("; NSID:"))?;
    let (_, text) = line.split_once("(\"")?;
    Some(clean(text.split_once("\")")?.0)).filter(|t| !t.is_empty())
}

/// Credits that are left, in the answer of `/v1/limits`.
pub(super) fn credits(body: &[u8]) -> Option<i64> {
    serde_json::from_slice::<Value>(body).ok()?["credits"]["remaining"].as_i64()
}

/// Why a request was refused, in the API's words.
pub(super) fn refusal(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    Some(clean(value["error"]["message"].as_str()?))
}

impl ThirdPartyNetwork {
    /// What the places of a measurement got, and the credits that are left, where the API says.
    pub(super) async fn globalping(
        &self,
        dialer: &Dialer,
        made: &HttpAnswer,
        asked: &Asked<'_>,
        places: u32,
    ) -> Result<(Vec<ThirdPartyAnswer>, Option<i64>), String> {
        let path = format!("/v1/measurements/{}", created(&made.body)?);
        let until = tokio::time::Instant::now() + PATIENCE;
        let answers = loop {
            tokio::time::sleep(PAUSE).await;
            let body = self.get(dialer, &path).await?.body;
            if let Some(answers) = results(&body, asked, places)? {
                break answers;
            }
            if tokio::time::Instant::now() >= until {
                return Err(format!("no results within {} s", PATIENCE.as_secs()));
            }
        };
        let credits = match made.header("x-credits-remaining").and_then(|v| v.parse().ok()) {
            Some(credits) => Some(credits),
            None => self.get(dialer, "/v1/limits").await.ok().and_then(|a| credits(&a.body)),
        };
        Ok((answers, credits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Asked<'_> = Asked { name: "www.q7.io", rtype: "A", server: "" };

    #[test]
    fn a_finished_measurement_reads_whole_and_hostile_text_is_cleaned() {
        let body = br#"{"id":"x1","type":"dns","status":"finished","target":"www.q7.io","probesCount":2,"results":[
          {"probe":{"continent":"OC","country":"AU","state":null,"city":"Sydney","asn":202422,"network":"G-Core","tags":[],"resolvers":["8.8.8.8"]},
           "result":{"status":"finished","statusCodeName":"NOERROR","statusCode":0,
            "rawOutput":"; EDNS: version: 0\n; NSID: 67 70 (\"gpdns-syd\")\n",
            "answers":[{"name":"www.q7.io.","type":"CNAME","ttl":180,"class":"IN","value":"edge.example."},
                       {"name":"edge.example.","type":"A","ttl":23,"class":"IN","value":"192.0.2.8"}],
            "timings":{"total":99},"resolver":"8.8.8.8"}},
          {"probe":{"country":"PE","city":"Lima\u0007","asn":1,"network":"N"},
           "result":{"status":"failed","rawOutput":"\n;; connection timed out\n"}},
          {"probe":{"country":"XX","city":"More","asn":1,"network":"N"},"result":{"status":"offline"}}]}"#;
        let seen = results(body, &ASKED, 2).unwrap().unwrap();
        assert_eq!(seen.len(), 2, "no more places than were asked for");
        assert_eq!((seen[0].place.as_str(), seen[0].network.as_str()), ("Sydney, AU", "AS202422 G-Core"));
        assert_eq!((seen[0].data("A"), seen[0].nsid.as_deref()), (vec!["192.0.2.8"], Some("gpdns-syd")));
        assert_eq!((seen[0].latency_ms, seen[0].server.as_str()), (Some(99.0), "8.8.8.8"));
        assert_eq!(
            (seen[1].place.as_str(), seen[1].error.as_deref()),
            ("Lima, PE", Some(";; connection timed out"))
        );
        assert_eq!(seen[1].rcode, None);
        let other = Asked { name: "other.example", ..ASKED };
        assert!(results(body, &other, 2).unwrap_err().contains("www.q7.io"));
        let early = br#"{"status":"in-progress","target":"www.q7.io","results":[]}"#;
        assert_eq!(results(early, &ASKED, 2), Ok(None));
        assert!(results(b"<html>", &ASKED, 2).is_err());
    }

    #[test]
    fn long_data_keeps_its_end() {
        let key = format!("v=DKIM1; p={}", "A".repeat(400));
        let places = ["1", "2"].map(|end| {
            json!({ "probe": {}, "result": { "status": "finished", "statusCodeName": "NOERROR", "answers":
                [{ "name": "www.q7.io.", "type": "TXT", "value": format!("\"{key}{end}\"") }] } })
        });
        let body = json!({ "status": "finished", "target": "www.q7.io", "results": places }).to_string();
        let seen = results(body.as_bytes(), &ASKED, 2).unwrap().unwrap();
        assert_eq!(seen[0].data("TXT"), [format!("\"{key}1\"")]);
        assert_eq!(seen[1].data("TXT"), [format!("\"{key}2\"")]);
    }

    #[test]
    fn what_is_sent_and_what_names_a_measurement() {
        let direct = Asked { server: "ns1.q7.io", ..ASKED };
        let body = request(&direct, 3);
        assert_eq!((body["type"].as_str(), body["limit"].as_u64()), (Some("dns"), Some(3)));
        assert_eq!(body["measurementOptions"]["resolver"], "ns1.q7.io");
        assert!(request(&ASKED, 3)["measurementOptions"].get("resolver").is_none());
        assert_eq!(created(br#"{"id":"PY5fMsREMmIq45VR","probesCount":1}"#), Ok("PY5fMsREMmIq45VR".into()));
        assert!(created(br#"{"id":"../../admin"}"#).is_err());
        assert_eq!(credits(br#"{"rateLimit":{},"credits":{"remaining":1200}}"#), Some(1200));
        assert_eq!(
            refusal(br#"{"error":{"type":"x","message":"No suitable probes found."}}"#).unwrap(),
            "No suitable probes found."
        );
    }
}
