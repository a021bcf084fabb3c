//! Latency and identifiers (NSID, RFC 5001) observed of an address. In: every answer of an operation. Out: what the check
//! of slow, unicast servers evaluates.

use super::QueryResult;
use model::dns::Transport;

/// Identifiers that are remembered of one address.
const MOST_IDS: usize = 8;

/// Latency and identifiers of an address, from the answers of one operation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Observed {
    /// Milliseconds of its answers over UDP, in their order.
    pub ms: Vec<f32>,
    /// Distinct identifiers (NSID) it gave: several where several machines share the address.
    pub ids: Vec<String>,
}

impl Observed {
    /// Records an answer.
    pub(super) fn record(&mut self, asked: &QueryResult) {
        let Some(reply) = asked.reply() else { return };
        if asked.transport == Transport::Udp {
            self.ms.push(asked.latency.as_secs_f32() * 1000.0);
        }
        if let Some(id) = reply.nsid().filter(|id| self.ids.len() < MOST_IDS && !self.ids.contains(id)) {
            self.ids.push(id);
        }
    }
}
