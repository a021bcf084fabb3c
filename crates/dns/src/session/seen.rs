//! What an address shows of itself while it is asked: how fast it is, and who it says it is (RFC 5001). In: every answer
//! of an operation. Out: what the check of slow, unicast servers judges by.

use super::Asked;
use model::dns::Transport;

/// Identifiers that are remembered of one address.
const MOST_IDS: usize = 8;

/// What an address showed of itself in the answers of one operation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// Milliseconds of its answers over UDP, in their order.
    pub ms: Vec<f32>,
    /// Distinct identifiers (NSID) it gave: several where several machines share the address.
    pub ids: Vec<String>,
}

impl Seen {
    /// Takes note of an answer.
    pub(super) fn take(&mut self, asked: &Asked) {
        let Some(reply) = asked.reply() else { return };
        if asked.transport == Transport::Udp {
            self.ms.push(asked.latency.as_secs_f32() * 1000.0);
        }
        if let Some(id) = reply.nsid().filter(|id| self.ids.len() < MOST_IDS && !self.ids.contains(id)) {
            self.ids.push(id);
        }
    }
}
