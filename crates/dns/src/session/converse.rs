//! One question to one server as its mode prescribes: EDNS left out for servers that do not know it, TCP where UDP is
//! truncated or the letters of the question come back changed (RFC 6891, RFC 7766, draft-vixie-dnsext-dns0x20).

use super::transport::{self, Exchange, Failure, Sending};
use super::{QueryMode, QueryResult, Session};
use crate::wire::Question;
use model::dns::Transport;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

impl Session {
    pub(super) async fn converse(
        &self,
        address: IpAddr,
        question: &Question,
        mode: QueryMode,
    ) -> QueryResult {
        let resolver = mode == QueryMode::Resolver;
        if mode == QueryMode::ExactTcp {
            return self.over_tcp(address, question, false).await;
        }
        let mut notes = Vec::new();
        let random = resolver || mode == QueryMode::Cased;
        let mut exchange = self.over_udp(address, question, random, resolver).await;
        note_ignored(&exchange, &mut notes);
        if exchange.plain {
            notes.push("answers only without EDNS: questions with EDNS got no answer".into());
        }
        let mut bare = question.clone();
        bare.edns = None;
        let mut current = question;
        if resolver && question.edns.is_some() && refuses_edns(&exchange) {
            let rcode = exchange.result.as_ref().map_or(0, |r| r.rcode);
            notes.push(format!("answers EDNS with {}; asked again without", crate::wire::rcode_text(rcode)));
            current = &bare;
            exchange = self.over_udp(address, current, true, false).await;
        }
        if resolver && exchange.folded {
            let again = self.over_tcp(address, current, false).await;
            if again.result.is_ok() {
                notes
                    .push("does not repeat the letters of the question as sent; asked again over TCP".into());
                return QueryResult { notes, ..again };
            }
            notes.push("does not repeat the letters of the question as sent, and TCP fails".into());
            exchange = self.over_udp(address, current, false, false).await;
        }
        let truncated = exchange.result.as_ref().is_ok_and(|r| r.tc);
        if truncated && !matches!(mode, QueryMode::ExactUdp | QueryMode::Cased) {
            let again = self.over_tcp(address, current, resolver).await;
            if again.result.is_ok() {
                return QueryResult { truncated: true, notes, ..again };
            }
            notes.push("truncates over UDP and does not answer over TCP".into());
            return QueryResult {
                result: again.result,
                transport: Transport::Tcp,
                truncated,
                latency: exchange.latency,
                notes,
                letters_kept: !exchange.folded,
            };
        }
        QueryResult {
            result: exchange.result,
            transport: Transport::Udp,
            truncated,
            latency: exchange.latency,
            notes,
            letters_kept: !exchange.folded,
        }
    }

    async fn over_udp(
        &self,
        address: IpAddr,
        question: &Question,
        randomise: bool,
        drop_edns: bool,
    ) -> Exchange {
        let timeout = self.settings.timeout.min(self.left());
        if timeout.is_zero() {
            self.exhausted.store(true, Ordering::Relaxed);
            return not_asked();
        }
        let target = self.settings.address_map.dial((address, self.settings.port).into());
        let sending = Sending { timeout, tries: self.settings.tries, randomise, drop_edns };
        transport::udp(self.settings.network.as_ref(), target, question, sending, &|| self.permit()).await
    }

    async fn over_tcp(&self, address: IpAddr, question: &Question, edns_fallback: bool) -> QueryResult {
        let target = self.settings.address_map.dial((address, self.settings.port).into());
        let mut notes = Vec::new();
        let mut edns = true;
        let exchange = loop {
            let timeout = self.settings.timeout.min(self.left());
            if timeout.is_zero() || !self.permit() {
                self.exhausted.store(true, Ordering::Relaxed);
                break not_asked();
            }
            let exchange =
                transport::tcp(self.settings.network.as_ref(), target, question, edns, timeout).await;
            if edns && edns_fallback && question.edns.is_some() && refuses_edns(&exchange) {
                edns = false;
                continue;
            }
            break exchange;
        };
        note_ignored(&exchange, &mut notes);
        QueryResult {
            result: exchange.result,
            transport: Transport::Tcp,
            truncated: false,
            latency: exchange.latency,
            notes,
            letters_kept: true,
        }
    }
}

fn not_asked() -> Exchange {
    Exchange {
        result: Err(Failure::NotAsked("the bound of this operation was reached".into())),
        latency: Duration::ZERO,
        folded: false,
        plain: false,
        ignored: 0,
    }
}

fn refuses_edns(exchange: &Exchange) -> bool {
    // FORMERR, NOTIMP, BADVERS: what servers from before EDNS, or broken ones, say to it.
    exchange.result.as_ref().is_ok_and(|r| matches!(r.rcode, 1 | 4 | 16))
}

fn note_ignored(exchange: &Exchange, notes: &mut Vec<String>) {
    match exchange.ignored {
        0 => {}
        1 => notes.push("one message that was no answer to the question was ignored".into()),
        n => notes.push(format!("{n} messages that were no answer to the question were ignored")),
    }
}
