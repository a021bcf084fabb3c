//! One row: a tree of servers, a test case, and the tags it gives there. In: zone-file lines and what servers do wrong.
//! Out: what was other than promised, in words.

use crate::arguments;
use crate::fake::{Fault, Script, Server, faulty, server, world};
use dns::checks::{CheckOptions, MethodsV2};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::NULL;
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use model::finding::Level;
use std::collections::BTreeSet;
use std::time::Duration;

const ROOT: &str = "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
    @ 60 NS a.root.example.
    a.root.example. 60 A 192.0.2.1
    in-addr.arpa. 60 NS r.test.
    ip6.arpa. 60 NS r.test.
    r.test. 60 A 192.0.2.3
    test. 60 NS ns.test.
    ns.test. 60 A 192.0.2.2";
const TLD: &str = "@ 60 SOA ns.test. host.test. 7 2 3 4 5
    @ 60 NS ns.test.
    ns 60 A 192.0.2.2
    r 60 A 192.0.2.3
    asn 60 NS ns.asn.test.
    ns.asn 60 A 192.0.2.4
    www 60 A 192.0.2.90
    alias 60 CNAME www.test.";
/// How the zone is delegated.
pub const TWO: &str = "zone 60 NS ns1.zone.test.
    zone 60 NS ns2.zone.test.
    ns1.zone 60 A 192.0.2.11
    ns2.zone 60 A 192.0.2.12";
pub const SOA: &str = "@ 3600 SOA ns1.zone.test. host.zone.test. 7 14400 3600 604800 300";
pub const NS: &str = "@ 3600 NS ns1.zone.test.
    @ 3600 NS ns2.zone.test.
    ns1 3600 A 192.0.2.11
    ns2 3600 A 192.0.2.12";
pub const REST: &str = "@ 3600 A 192.0.2.80
    @ 3600 MX 10 mail.zone.test.
    @ 3600 TXT \"v=spf1 mx -all\"
    mail 3600 A 192.0.2.25";
/// A second server of `test`, at 192.0.2.5: lines of the root, and what it has of `test`.
pub const SECOND: &str = "test. 60 NS nsb.test.
    nsb.test. 60 A 192.0.2.5";
pub const SECOND_TLD: &str = "@ 60 SOA ns.test. host.test. 7 2 3 4 5
    @ 60 NS ns.test.
    @ 60 NS nsb.test.
    ns 60 A 192.0.2.2
    nsb 60 A 192.0.2.5";
const REVERSE: &str = "@ 60 SOA r.test. host.test. 1 2 3 4 5
    @ 60 NS r.test.";
const ASN: &str = "@ 60 SOA ns.asn.test. host.test. 1 2 3 4 5
    @ 60 NS ns.asn.test.
    ns 60 A 192.0.2.4";

pub type Make = fn(&Message, Message) -> Option<Message>;

/// A test case in a world, and what it gives there.
pub struct Row {
    pub case: &'static str,
    pub what: &'static str,
    pub tags: Vec<&'static str>,
    zone: &'static str,
    root: &'static str,
    servers: Vec<Server>,
    options: CheckOptions,
}

/// The healthy world: a delegated zone on two servers that do everything right.
pub fn row(case: &'static str, what: &'static str) -> Row {
    let zone = text(&[SOA, NS, REST]);
    let both = |address| faulty(address, &[("zone.test", zone)], script(modern));
    let servers = vec![
        server("192.0.2.1", &[("", ROOT)]),
        server("192.0.2.2", &[("test", text(&[TLD, TWO]))]),
        server("192.0.2.3", &[("in-addr.arpa", REVERSE), ("ip6.arpa", REVERSE)]),
        server("192.0.2.4", &[("asn.test", ASN)]),
        both("192.0.2.11"),
        both("192.0.2.12"),
    ];
    let mut options = CheckOptions::new(jiff::Timestamp::UNIX_EPOCH);
    options.asn_zone = "asn.test".into();
    Row { case, what, tags: Vec::new(), zone: "zone.test", root: "192.0.2.1", servers, options }
}

impl Row {
    fn at(&mut self, address: &'static str) -> &mut Server {
        if !self.servers.iter().any(|s| s.address == address) {
            self.servers.push(server(address, &[]));
        }
        self.servers.iter_mut().find(|s| s.address == address).unwrap()
    }

    /// Another zone than `zone.test` is checked.
    pub fn of(mut self, zone: &'static str) -> Self {
        self.zone = zone;
        self
    }

    /// The delegation: lines of `test` about the zone.
    pub fn parent(self, lines: &'static str) -> Self {
        let lines = text(&[TLD, lines]);
        self.serves("192.0.2.2", "test", lines)
    }

    /// More lines of the root zone.
    pub fn root(self, lines: &'static str) -> Self {
        let lines = text(&[ROOT, lines]);
        self.serves("192.0.2.1", "", lines)
    }

    /// Lines of the reverse zone of IPv4.
    pub fn reverse(self, lines: &'static str) -> Self {
        let lines = text(&[REVERSE, lines]);
        self.serves("192.0.2.3", "in-addr.arpa", lines)
    }

    /// Lines of the address database.
    pub fn database(self, lines: &'static str) -> Self {
        let lines = text(&[ASN, lines]);
        self.serves("192.0.2.4", "asn.test", lines)
    }

    /// A server has these lines of a zone (besides its other zones).
    pub fn serves(mut self, address: &'static str, origin: &'static str, lines: &'static str) -> Self {
        let zones = &mut self.at(address).zones;
        zones.retain(|(name, _)| *name != origin);
        zones.push((origin, lines));
        self
    }

    /// A server does something wrong.
    pub fn fault(mut self, address: &'static str, fault: Fault) -> Self {
        self.at(address).fault = fault;
        self
    }

    /// Both servers of the zone have these lines.
    pub fn both(self, lines: &[&str]) -> Self {
        let lines = text(lines);
        self.serves("192.0.2.11", "zone.test", lines).serves("192.0.2.12", "zone.test", lines)
    }

    /// The second server of the zone has these lines.
    pub fn second(self, lines: &[&str]) -> Self {
        self.serves("192.0.2.12", "zone.test", text(lines))
    }

    /// Both servers of the zone do something wrong.
    pub fn faults(self, fault: Fault) -> Self {
        self.fault("192.0.2.11", fault).fault("192.0.2.12", fault)
    }

    /// What both servers make of their right answers.
    pub fn make(self, make: Make) -> Self {
        self.faults(script(make))
    }

    /// What the second server makes of its right answers.
    pub fn second_makes(self, make: Make) -> Self {
        self.fault("192.0.2.12", script(make))
    }

    /// Checked as if the parent listed this server (with no address: `""`).
    pub fn ns(mut self, name: &str, address: &str) -> Self {
        self.options.undelegated_ns.push((name.into(), address.parse().ok()));
        self
    }

    /// The root server has this address instead.
    pub fn from(mut self, root: &'static str) -> Self {
        self.root = root;
        self
    }

    /// No IPv4 address of the tree can be reached.
    pub fn without_v4(mut self) -> Self {
        for server in self.servers.iter_mut().filter(|s| !s.address.contains(':')) {
            server.fault = Fault::NoRoute;
        }
        self
    }

    /// Ends the row: these tags and no others.
    pub fn says(mut self, tags: &[&'static str]) -> Self {
        self.tags = tags.to_vec();
        self
    }

    /// No address of the tree leads out of this machine: one that serves nothing refuses.
    fn closed(mut self) -> Self {
        let lines = self.servers.iter().flat_map(|s| &s.zones).flat_map(|(_, lines)| lines.lines());
        let records = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
        let addresses: Vec<&'static str> =
            records.filter(|r| matches!(r.get(2), Some(&"A" | &"AAAA"))).map(|r| r[3]).collect();
        for address in addresses {
            self.at(address);
        }
        let given: Vec<_> = self.options.undelegated_ns.iter().filter_map(|(_, ip)| *ip).collect();
        for ip in given {
            assert!(
                self.servers.iter().any(|s| s.address.parse() == Ok(ip)),
                "{ip} is no server of {}",
                self.what
            );
        }
        self
    }

    /// Everything all test cases give from this level on: test case, tag and arguments.
    pub async fn everything(self, from: Level) -> BTreeSet<String> {
        let this = self.closed();
        let world = world(&[this.root], this.servers).await;
        let settings = dns::Settings { timeout: Duration::from_millis(900), ..world.settings() };
        let report = dns::Engine::new(settings).check(this.zone, &this.options).await.unwrap();
        let told = report.findings.iter().filter(|f| f.level >= from);
        told.map(|f| format!("{} {} {:?}", f.test_case, f.tag, f.args)).collect()
    }

    /// The name server sets of "MethodsV2" in this world.
    pub async fn methods(self) -> MethodsV2 {
        let this = self.closed();
        let world = world(&[this.root], this.servers).await;
        world.engine().methods_v2(this.zone, &this.options).await.unwrap()
    }

    /// Runs the test case; what was not as promised comes back.
    pub async fn run(self) -> Vec<String> {
        let this = self.closed();
        let world = world(&[this.root], this.servers).await;
        let settings = dns::Settings { timeout: Duration::from_millis(900), ..world.settings() };
        let options = CheckOptions { test_cases: Some(vec![this.case.to_lowercase()]), ..this.options };
        let name = format!("{} ({})", this.case, this.what);
        let report = match dns::Engine::new(settings).check(this.zone, &options).await {
            Ok(report) => report,
            Err(error) => return vec![format!("{name}: {error}")],
        };
        let mut wrong = Vec::new();
        let found: BTreeSet<&str> = report.findings.iter().map(|f| f.tag.as_str()).collect();
        let promised: BTreeSet<&str> = this.tags.iter().copied().collect();
        if found != promised {
            wrong.push(format!("{name}: gives {found:?}, not {promised:?}"));
        }
        wrong.extend(report.findings.iter().flat_map(arguments::complaints).map(|c| format!("{name}: {c}")));
        for (i, finding) in report.findings.iter().enumerate() {
            if report.findings[..i].contains(finding) {
                wrong.push(format!("{name}: {} is told twice: {:?}", finding.tag, finding.args));
            }
        }
        wrong
    }
}

/// The fake servers' zones live as long as the test.
pub fn text(parts: &[&str]) -> &'static str {
    parts.join("\n").leak()
}

pub fn script(make: Make) -> Fault {
    Fault::Script(Script(make))
}

/// Name without final dot, and type number.
pub fn asked(query: &Message) -> (String, u16) {
    let question = &query.queries[0];
    (question.name.to_string().to_lowercase().trim_end_matches('.').to_string(), question.query_type.into())
}

/// A server of today: it knows EDNS, and says which version it knows.
pub fn modern(query: &Message, mut reply: Message) -> Option<Message> {
    if query.edns.as_ref().is_some_and(|e| e.version() > 0) {
        reply.answers.clear();
        reply.authorities.clear();
        reply.metadata.response_code = ResponseCode::BADVERS;
    }
    Some(reply)
}

pub fn rcode(mut reply: Message, code: ResponseCode) -> Option<Message> {
    reply.answers.clear();
    reply.authorities.clear();
    reply.metadata.response_code = code;
    Some(reply)
}

/// A record with data as octets.
pub fn raw(owner: &str, rtype: u16, data: Vec<u8>) -> Record {
    let data = RData::Unknown { code: RecordType::from(rtype), rdata: NULL::with(data) };
    Record::from_rdata(Name::from_ascii(owner).unwrap(), 60, data)
}

/// A TXT record of class CH, or of another.
pub fn chaos(owner: &str, string: &str, class: DNSClass) -> Record {
    let data = [&[string.len() as u8], string.as_bytes()].concat();
    let mut record = raw(owner, 16, data);
    record.dns_class = class;
    record
}
