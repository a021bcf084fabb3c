//! The fleet of the sample: one agent online, one offline.

use super::backend::Sample;
use super::now;
use async_trait::async_trait;
use jiff::ToSpan;
use model::certificate::{Hop, HttpObservation};
use model::compare::{Authority, AuthorityOutcome};
use model::dns::AnswerKind;
use model::ids::{Caller, LogPosition};
use model::places::{Looked, PlaceAnswer};
use model::third_party::{ThirdPartyAnswer, ThirdPartyLook};
use model::tools::chain::AuthorityServer;
use model::web_places::{WebAnswer, WebPlace};
use service::{
    AgentState, AgentToken, AgentView, ApiError, ApiResult, ClusterClaim, ClusterClaimDraft, FleetBackend,
    FleetReport, LatencyHour, RefusedJoin, ThirdPartyView,
};

fn hour((ago, median, p95): (i64, u32, u32)) -> LatencyHour {
    LatencyHour { at: now() - ago.hours(), median, p95 }
}

fn agent(id: &str, region: &str, state: AgentState) -> AgentView {
    AgentView {
        id: id.into(),
        region: region.into(),
        version: "0.1.0".into(),
        protocol: 1,
        state,
        joined_at: now(),
        seen_at: match state {
            AgentState::Offline | AgentState::Stopped => now() - 143.minutes(),
            _ => now(),
        },
        first_answer_at: None,
        latency_ms: (state == AgentState::Online).then_some(14),
        hours: match state {
            AgentState::Online => [(2, 12, 30), (0, 14, 90)].map(hour).into(),
            _ => vec![],
        },
        queue: 3,
    }
}

/// A place that asked one server, which answered after so many milliseconds and called itself so.
fn place(id: &str, label: &str, seen: Option<(f64, &str)>) -> PlaceAnswer {
    let authority = seen.map(|(ms, nsid)| Authority {
        name: "alder.example".into(),
        rtype: "SOA".into(),
        zone: "alder.example".into(),
        outcome: AuthorityOutcome::Serves,
        aliases: vec![],
        records: vec![],
        ttl: None,
        negative_ttl: None,
        soa: None,
        servers: vec![AuthorityServer {
            zone: "alder.example".into(),
            owner: "alder.example".into(),
            server: "ns1.alder.example".into(),
            address: None,
            kind: AnswerKind::Answer,
            records: vec![],
            ttl: None,
            serial: None,
            latency_ms: Some(ms),
            nsid: Some(nsid.into()),
            notes: vec![],
        }],
        agree: true,
        asked_at: now(),
        cause: None,
        notes: vec![],
        sentence: String::new(),
    });
    PlaceAnswer {
        id: id.into(),
        label: label.into(),
        region: String::new(),
        authority,
        error: None,
        caches: None,
    }
}

#[async_trait]
impl FleetBackend for Sample {
    async fn cluster_claims(&self, _: &Caller, _: &str, _: u32) -> ApiResult<Vec<ClusterClaim>> {
        Ok(vec![])
    }
    async fn save_cluster_claim(&self, _: &Caller, draft: &ClusterClaimDraft) -> ApiResult<ClusterClaim> {
        let ClusterClaimDraft { name, metadata, value, .. } = draft.clone();
        Ok(ClusterClaim { name, rv: LogPosition(1), metadata, value, created_at: now() })
    }
    async fn delete_cluster_claim(
        &self,
        _: &Caller,
        _: &str,
        _: Option<LogPosition>,
    ) -> ApiResult<ClusterClaim> {
        Err(ApiError::not_found("no such claim"))
    }
    async fn fleet(&self, _: &Caller) -> ApiResult<FleetReport> {
        self.up()?;
        Ok(FleetReport {
            id: "alder-main".into(),
            set: Some("alder-fleet".into()),
            claims: (1, 12),
            agents: vec![
                agent("fra-1", "eu-central", AgentState::Online),
                agent("gru-1", "sa-east", AgentState::Offline),
                agent("iad-1", "", AgentState::Draining),
                agent("lhr-1", "eu-central", AgentState::Online),
                AgentView { latency_ms: Some(412), ..agent("sin-1", "ap-southeast", AgentState::Online) },
                agent("syd-1", "au-east", AgentState::Stopped),
            ],
            refused: vec![RefusedJoin {
                id: "fra-1".into(),
                suggested: "fra-2".into(),
                network: "203.0.113.0/24".into(),
                region: "eu-west".into(),
                version: "0.1.0".into(),
                at: now() - 2.minutes(),
            }],
            third_parties: vec![ThirdPartyView {
                name: "Globalping".into(),
                address: "https://api.globalping.io/".into(),
                has_key: true,
                used_today: 12,
                daily: 100,
                credits: Some(4_200),
                credits_at: Some(now()),
            }],
            version: "0.1.0".into(),
            protocols: (1, 2),
            feature_off: self.fleet_off.then(|| "fleet-agents".to_string()),
            may_change: true,
            now: now(),
        })
    }
    async fn invite_agent(&self, _: &Caller, _: &str) -> ApiResult<AgentToken> {
        Ok(AgentToken { token: "dsj_x.y".into(), expires_at: now() + 15.minutes() })
    }
    async fn revoke_agent(&self, _: &Caller, id: &str) -> ApiResult<()> {
        self.note(format!("revoke {id}"));
        Ok(())
    }
    async fn ask_places(&self, _: &Caller, name: &str, _: &str) -> ApiResult<Looked<PlaceAnswer>> {
        if name != "www.alder.example" {
            return Ok(Looked { places: vec![], left_out: 0 });
        }
        let places = vec![
            place("local", "This server", Some((12.0, "a"))),
            place("sin-1", "sin-1", Some((412.0, "a"))),
        ];
        Ok(Looked { places, left_out: 3 })
    }
    async fn ask_third_parties(
        &self,
        _: &Caller,
        name: &str,
        rtype: &str,
        server: &str,
    ) -> ApiResult<ThirdPartyLook> {
        self.note(format!("third parties {name}"));
        let answer = ThirdPartyAnswer {
            source: "Globalping".into(),
            place: "Sydney, AU".into(),
            network: "AS202422 G-Core".into(),
            server: if server.is_empty() { "8.8.8.8".into() } else { server.into() },
            rcode: Some("NXDOMAIN".into()),
            records: vec![],
            latency_ms: Some(99.0),
            nsid: None,
            error: None,
        };
        let (name, rtype, server) = (name.into(), rtype.into(), server.into());
        Ok(ThirdPartyLook { name, rtype, server, answers: vec![answer], problems: vec![] })
    }
    async fn ask_web(&self, _: &Caller, name: &str, path: &str) -> ApiResult<Looked<WebPlace>> {
        self.note(format!("web {name}"));
        let seen = |scheme: &str, status: Option<u16>| {
            let error = status.is_none().then(|| "can't be reached: connection refused".to_string());
            let hop = Hop { url: format!("{scheme}://{name}{path}"), status, location: None, error };
            HttpObservation { hops: vec![hop], hsts: None, alt_svc: None }
        };
        let place = |id: &str, label: &str, status| WebPlace {
            id: id.into(),
            label: label.into(),
            region: String::new(),
            seen: Some(WebAnswer {
                host: name.into(),
                path: path.into(),
                https: seen("https", status),
                http: seen("http", Some(200)),
                latency_ms: status.map(|_| 31.0),
                asked_at: now(),
            }),
            error: None,
        };
        let places = vec![place("local", "This server", Some(200)), place("fra-1", "fra-1", None)];
        Ok(Looked { places, left_out: 0 })
    }
}
