//! Expected against live records of every server, and what to change. Pure. In: the service's records, the live zone,
//! what the provider's forms are like. Out: the report.

use super::forms::Row;
use super::needed::{Needed, sentence};
use super::zone::{absolute, answered, owner, records, shown};
use connect::compare::{Fault, FaultKind, Finding, State, compare};
use connect::{Plan, Record, TemplateRecord};
use dns::LiveZone;
use model::Timestamp;
use model::configure::{
    ChangeAction, CopyFault, PlannedChange, RecordCheck, RecordState, ServerCheck, ServiceReport,
    ServiceSpec, ServiceState, when_caches_agree,
};
use std::net::IpAddr;

/// What a report is made of.
pub(super) struct Parts<'a> {
    pub domain: &'a str,
    pub unicode: String,
    pub spec: &'a ServiceSpec,
    pub needed: &'a Needed,
    pub expected: &'a [Record],
    pub zone: &'a LiveZone,
    pub row: &'a Row,
    pub gateways: &'a [(String, Vec<IpAddr>)],
    pub now: Timestamp,
}

impl Parts<'_> {
    /// The report.
    ///
    /// # Errors
    /// A sentence, when the template cannot be applied to the zone as it is.
    pub fn report(&self) -> Result<ServiceReport, String> {
        let views: Vec<(usize, Vec<Record>)> = answered(self.zone)
            .map(|(i, server)| (i, records(server, self.expected, self.gateways, self.domain)))
            .collect();
        let judged: Vec<(usize, Vec<Finding>)> =
            views.iter().map(|(i, live)| (*i, self.compare(live))).collect();
        let checks: Vec<RecordCheck> = (0..self.expected.len()).map(|i| self.check(i, &judged)).collect();
        // What was saved last is at the server with the newest serial: the plan starts from there.
        let newest = views.iter().max_by_key(|(i, _)| (self.zone.servers[*i].serial, usize::MAX - i));
        let (plan, changes) = match newest {
            Some((i, live)) => {
                let faults =
                    judged.iter().find(|(j, _)| i == j).map(|(_, f)| f.as_slice()).unwrap_or_default();
                self.plan(live, faults)?
            }
            None => (Plan { new: vec![], delete: vec![], records: vec![], warnings: vec![] }, vec![]),
        };
        let negative = self.zone.soa.as_ref().map(model::dns::Soa::negative_ttl);
        let mut warnings: Vec<String> = plan.warnings.iter().map(|w| format!("{w}.")).collect();
        warnings.extend(negative.and_then(|ttl| not_yet(&changes, ttl)));
        let state = state(&checks);
        let row = self.row;
        let mut report = ServiceReport {
            domain: self.domain.into(),
            unicode: self.unicode.clone(),
            spec: self.spec.clone(),
            title: self.needed.title.clone(),
            about: self.needed.about.clone(),
            state,
            sentence: String::new(),
            provider: row.form(),
            records: checks,
            caches: when_caches_agree(&changes, negative, self.now),
            exports: super::exports::exports(&plan, self.domain, changes.is_empty()),
            changes,
            warnings,
            servers: self.servers(&judged),
            apply: None,
            no_apply: String::new(),
            checked_at: self.now,
        };
        report.sentence = words(&report);
        Ok(report)
    }

    /// A provider's ALIAS stands beside MX and TXT records, which a plain CNAME could not: it is compared without them.
    fn compare(&self, live: &[Record]) -> Vec<Finding> {
        let addresses: Vec<Record> =
            live.iter().filter(|r| !matches!(r.kind.as_str(), "MX" | "TXT")).cloned().collect();
        let one = |record: &Record| {
            let live = if record.kind == "APEXCNAME" { addresses.as_slice() } else { live };
            compare(self.expected, live, self.domain).into_iter().find(|f| f.expected == *record)
        };
        self.expected.iter().filter_map(one).collect()
    }

    fn servers(&self, judged: &[(usize, Vec<Finding>)]) -> Vec<ServerCheck> {
        let one = |(i, server): (usize, &dns::LiveServer)| {
            let findings = judged.iter().find(|(j, _)| i == *j).map(|(_, f)| f);
            let present = findings.map(|f| f.iter().filter(|f| f.state == State::Present).count());
            let problem = match (server.address, present) {
                (None, _) => "has no address".to_string(),
                (_, Some(_)) => String::new(),
                _ => {
                    server.unanswered.first().map(|(_, _, kind)| kind.words().to_string()).unwrap_or_default()
                }
            };
            ServerCheck {
                server: server.server.clone(),
                address: server.address,
                serial: server.serial,
                present: present.map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
                problem,
            }
        };
        self.zone.servers.iter().enumerate().map(one).collect()
    }

    /// One expected record over all servers. A server that left a question about it open does not count.
    fn check(&self, index: usize, judged: &[(usize, Vec<Finding>)]) -> RecordCheck {
        let record = &self.expected[index];
        let name = absolute(&owner(record), self.domain);
        let open = |i: usize| self.zone.servers[i].unanswered.iter().any(|(n, ..)| *n == name);
        let found: Vec<&Finding> =
            judged.iter().filter(|(i, _)| !open(*i)).filter_map(|(_, f)| f.get(index)).collect();
        let present = found.iter().filter(|f| f.state == State::Present).count();
        let other = found.iter().find(|f| f.state != State::Present);
        let redirect = record.kind.starts_with("REDIR");
        let state = match other {
            _ if found.is_empty() || redirect => RecordState::Unknown,
            None => RecordState::Present,
            Some(f) => match f.state {
                State::Present => RecordState::Present,
                State::Missing => RecordState::Missing,
                State::Different => RecordState::Different,
                State::Conflicting => RecordState::Conflicting,
                State::Shadowed => RecordState::Shadowed,
            },
        };
        let shown_of = other.or(found.first());
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        RecordCheck {
            rtype: self.kind(record),
            host: self.row.host(&owner(record), self.domain),
            value: self.value(record),
            ttl: self.row.ttl(record.ttl.unwrap_or(model::configure::service::START_TTL)),
            hints: self.row.hints(&owner(record), &record.kind, self.domain),
            state,
            live: shown_of
                .map(|f| f.live.iter().map(|r| shown(r, self.domain)).collect())
                .unwrap_or_default(),
            faults: shown_of.map(|f| f.faults.iter().map(|f| self.fault(f)).collect()).unwrap_or_default(),
            present_on: count(present),
            answered: count(found.len()),
            name,
        }
    }

    fn kind(&self, record: &Record) -> String {
        match record.kind.as_str() {
            "APEXCNAME" => self.row.alias_type(),
            kind => kind.to_string(),
        }
    }

    fn value(&self, record: &Record) -> String {
        let value = connect::export::value(record);
        match record.kind.as_str() {
            "CNAME" | "MX" | "NS" | "SRV" | "APEXCNAME" => self.row.target(value.trim_end_matches('.')),
            "TXT" => self.row.text(value),
            _ => value,
        }
    }

    fn fault(&self, fault: &Fault) -> CopyFault {
        let corrected = &fault.corrected;
        CopyFault {
            kind: fault.kind.as_str().into(),
            label: fault.kind.label().into(),
            sentence: format!("{}.", fault.kind.sentence()),
            live: shown(&fault.live, self.domain),
            host: self.row.host(&owner(corrected), self.domain),
            rtype: self.kind(corrected),
            value: self.value(corrected),
        }
    }

    /// What to change, starting from these records. Faulty copies go, wherever they are.
    fn plan(&self, live: &[Record], findings: &[Finding]) -> Result<(Plan, Vec<PlannedChange>), String> {
        let is_alias = |r: &&TemplateRecord| r.kind().is_ok_and(|kind| kind == "APEXCNAME");
        let part = |alias: bool, zone: &[Record]| {
            let own: Vec<TemplateRecord> =
                self.needed.records.iter().filter(|r| is_alias(r) == alias).cloned().collect();
            connect::apply(&own, zone, &self.needed.request).map_err(|e| sentence(&e))
        };
        let mut plan = part(false, live)?;
        let addresses: Vec<Record> =
            live.iter().filter(|r| !matches!(r.kind.as_str(), "MX" | "TXT")).cloned().collect();
        let alias = part(true, &addresses)?;
        plan.new.extend(alias.new);
        plan.warnings.extend(alias.warnings);
        let copies = findings.iter().flat_map(|f| &f.faults).filter(|f| f.kind != FaultKind::TwoSpfRecords);
        for gone in alias.delete.into_iter().chain(copies.clone().map(|f| f.live.clone())) {
            if !plan.delete.contains(&gone) && live.contains(&gone) {
                plan.delete.push(gone);
            }
        }
        // The engine replaces a record by its equal; to a person that is no change.
        let equal = |a: &[Record], b: &Record| a.iter().any(|r| r.is_same_as(b));
        let (new, delete) = (plan.new.clone(), plan.delete.clone());
        plan.new.retain(|r| !equal(&delete, r));
        plan.delete.retain(|r| !equal(&new, r));
        plan.records = live.iter().filter(|r| !plan.delete.contains(r)).chain(&plan.new).cloned().collect();
        for record in &mut plan.new {
            record.ttl = record.ttl.map(|ttl| self.row.ttl(ttl));
        }
        let changes = self.changes(&plan, &copies.collect::<Vec<_>>());
        Ok((plan, changes))
    }

    /// Records of one name and type that go and come are one change.
    fn changes(&self, plan: &Plan, faults: &[&Fault]) -> Vec<PlannedChange> {
        let mut keys: Vec<(String, String)> = Vec::new();
        for record in plan.delete.iter().chain(&plan.new) {
            let key = (owner(record), record.kind.clone());
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let of = |records: &[Record], key: &(String, String)| {
            records.iter().filter(|r| owner(r) == key.0 && r.kind == key.1).cloned().collect::<Vec<_>>()
        };
        let mut changes: Vec<PlannedChange> = keys
            .iter()
            .map(|key| {
                let (old, new) = (of(&plan.delete, key), of(&plan.new, key));
                let action = match (old.is_empty(), new.is_empty()) {
                    (true, _) => ChangeAction::Create,
                    (false, true) => ChangeAction::Delete,
                    (false, false) => ChangeAction::Change,
                };
                let sample = new.first().or(old.first());
                let fault = faults.iter().find(|f| old.contains(&f.live));
                PlannedChange {
                    action,
                    rtype: sample.map(|r| self.kind(r)).unwrap_or_default(),
                    host: self.row.host(&key.0, self.domain),
                    name: absolute(&key.0, self.domain),
                    old: old.iter().map(connect::export::value).collect(),
                    new: new.iter().map(|r| self.value(r)).collect(),
                    ttl: new.iter().filter_map(|r| r.ttl).min(),
                    old_ttl: old.iter().filter_map(|r| r.ttl).max(),
                    why: match fault {
                        Some(fault) => format!("{}: {}.", fault.kind.label(), lower(fault.kind.sentence())),
                        None => self.why(action, key, plan),
                    },
                }
            })
            .collect();
        // A name is free for its new record once the old ones are gone.
        changes.sort_by_key(|c| (c.name.clone(), c.action != ChangeAction::Delete));
        changes
    }

    fn why(&self, action: ChangeAction, (name, kind): &(String, String), plan: &Plan) -> String {
        let comes = |kind: &str| plan.new.iter().any(|r| owner(r) == *name && r.kind == kind);
        let provider = if self.row.name.is_empty() { "the provider" } else { &self.row.name };
        match (action, kind.as_str()) {
            (ChangeAction::Delete, _) if comes("CNAME") => {
                "A CNAME cannot share its name with other records.".into()
            }
            (ChangeAction::Delete, "CNAME") => "A CNAME hides every other record of its name.".into(),
            (ChangeAction::Delete, _) if comes("APEXCNAME") => {
                format!("{} takes the place of the addresses.", self.row.alias_type())
            }
            (ChangeAction::Delete, _) => "It belongs to another service at this name.".into(),
            (_, "APEXCNAME") => {
                format!("The domain itself cannot hold a CNAME; {provider} offers {}.", self.row.alias_type())
            }
            (_, "CNAME") => "Follows the target when its addresses change.".into(),
            (_, "A" | "AAAA") if name == "@" => {
                "The domain itself cannot hold a CNAME, so it gets addresses.".into()
            }
            (_, "A" | "AAAA") => "Where the name leads.".into(),
            (_, "MX") => "Where mail for the domain is delivered.".into(),
            (_, "CAA") => "Names an authority that may issue certificates.".into(),
            (_, "HTTPS") => {
                "Tells browsers the protocols before they connect; stands beside the addresses.".into()
            }
            (_, "TXT") if comes_with(plan, name, "v=spf1") => {
                "Receivers read one SPF record: the rules are merged into it.".into()
            }
            (ChangeAction::Change, _) => "The record has another value.".into(),
            _ => "The service needs it.".into(),
        }
    }
}

fn comes_with(plan: &Plan, name: &str, prefix: &str) -> bool {
    plan.new.iter().any(|r| owner(r) == name && r.kind == "TXT" && r.text().starts_with(prefix))
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|c| c.to_lowercase().collect::<String>() + letters.as_str()).unwrap_or_default()
}

/// Not to be looked up before it exists.
fn not_yet(changes: &[PlannedChange], ttl: u32) -> Option<String> {
    let fresh = changes.iter().filter(|c| {
        c.action == ChangeAction::Create
            && matches!(c.rtype.as_str(), "A" | "AAAA" | "CNAME" | "ALIAS" | "ANAME")
    });
    // The longest name: the domain itself exists already.
    let fresh = fresh.max_by_key(|c| c.name.len())?;
    let span = model::time::human_seconds(ttl.into());
    Some(format!(
        "Do not open {} before the record is saved: a look-up caches “does not exist” for up to {span}.",
        fresh.name
    ))
}

fn state(checks: &[RecordCheck]) -> ServiceState {
    let count = |state: RecordState| checks.iter().filter(|c| c.state == state).count();
    let (present, unknown) = (count(RecordState::Present), count(RecordState::Unknown));
    match checks.len() {
        all if unknown == all => ServiceState::Unknown,
        all if present == all => ServiceState::Working,
        // Something that some server has is no longer "not set up".
        _ if present == 0 && checks.iter().all(|c| c.present_on == 0) => ServiceState::NotSetUp,
        _ => ServiceState::Partial,
    }
}

fn words(r: &ServiceReport) -> String {
    let (answered, servers) = r.answered();
    let all = r.records.len();
    let records = if all == 1 { "record".to_string() } else { format!("{all} records") };
    match r.state {
        ServiceState::Working if all == 1 => {
            format!("The record is at every authoritative server that answered ({answered} of {servers}).")
        }
        ServiceState::Working => format!(
            "All {records} are at every authoritative server that answered ({answered} of {servers})."
        ),
        ServiceState::Unknown => "No authoritative server answered for these records.".into(),
        _ if r.changes.is_empty() => format!(
            "The server with the newest version has everything; others still have an older one. {} of {all} records are everywhere.",
            r.present()
        ),
        ServiceState::NotSetUp => format!("None of the {all} expected records is there yet."),
        _ => format!("{} of {all} records are as expected.", r.present()),
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
