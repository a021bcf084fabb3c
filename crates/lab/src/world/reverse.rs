//! The zone `127.in-addr.arpa`: the names of the lab's name servers by their addresses (RFC 1035 section 3.5), as a
//! well-kept network has them. In: the hosts. Out: PTR records.

use hickory_proto::rr::{RData, rdata};

use super::{Domain, RecordLine, Role, World};
use crate::names;

/// The suffix that holds it.
pub(super) const ARPA: &str = "arpa";
const REVERSE_ZONE: &str = "127.in-addr.arpa";
const TTL: u32 = 3600;

impl World {
    /// Adds the zone; the servers of `arpa` hold it. The retired server has no name: no one looks after it.
    pub(super) fn add_reverse(&mut self) {
        let named =
            self.hosts.iter().filter(|(_, h)| matches!(h.role, Role::Dns { .. }) && h.ip != self.retired);
        let records = named.map(|(name, host)| {
            let [a, b, c, d] = host.ip.octets();
            let data = RData::PTR(rdata::PTR(names::wire(name)));
            RecordLine {
                name: names::wire(&format!("{d}.{c}.{b}.{a}.in-addr.{ARPA}")),
                ttl: TTL,
                rtype: data.record_type(),
                data,
            }
        });
        let records = records.collect();
        let servers = self.tld_servers.get(ARPA).cloned().unwrap_or_default();
        let domain = Domain {
            story: "the names of the lab's addresses".into(),
            served_by: servers.iter().cloned().collect(),
            nameservers: servers,
            records,
            hostmaster: "hostmaster.nic.lab".into(),
            ..Domain::bare(REVERSE_ZONE, self.first_serial())
        };
        self.domains.insert(REVERSE_ZONE.into(), domain);
    }
}
