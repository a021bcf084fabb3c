//! The kinds of jobs, and everything that differs between them: name, payload, deduplication key, priorities, lease,
//! deadline, retries. A new kind is a variant here and a loop in the worker that leases it.

use crate::retry::RetryPolicy;
use jiff::Timestamp;
use model::names::DomainName;
use std::time::Duration;

/// What is to be done, with what is needed to do it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Job {
    /// Observe a domain, compare, record.
    Scan(DomainName),
    /// Check an organisation's claim to a domain, named by its identifier.
    Claim(String),
    /// Check a configured service again.
    Service(String),
}

impl Job {
    /// The kind of job.
    pub fn kind(&self) -> JobKind {
        match self {
            Job::Scan(_) => JobKind::Scan,
            Job::Claim(_) => JobKind::Claim,
            Job::Service(_) => JobKind::Service,
        }
    }

    /// Deduplication key: of one kind and key there is one job, however often it is asked for.
    pub fn key(&self) -> &str {
        match self {
            Job::Scan(name) => name.as_str(),
            Job::Claim(id) => id,
            Job::Service(id) => id,
        }
    }

    /// The job of a stored row.
    pub(crate) fn of(kind: JobKind, key: &str) -> Job {
        match kind {
            JobKind::Scan => Job::Scan(DomainName::trusted(key)),
            JobKind::Claim => Job::Claim(key.to_string()),
            JobKind::Service => Job::Service(key.to_string()),
        }
    }
}

/// A kind of job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// [`Job::Scan`].
    Scan,
    /// [`Job::Claim`].
    Claim,
    /// [`Job::Service`].
    Service,
}

/// What holds for all jobs of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobPolicy {
    /// The stable word in the database, in metrics and on the command line.
    pub name: &'static str,
    /// How long a run may take; it is then stopped and counts as failed. Shorter than the lease.
    pub deadline: Duration,
    /// Lease, attempts, waits.
    pub retry: RetryPolicy,
}

const SCAN: JobPolicy = JobPolicy {
    name: "scan",
    deadline: Duration::from_secs(100),
    retry: RetryPolicy {
        lease: Duration::from_secs(120),
        max_attempts: 5,
        first_delay: Duration::from_secs(30),
        max_delay: Duration::from_secs(3600),
    },
};

const CLAIM: JobPolicy = JobPolicy { name: "claim", ..SCAN };

const SERVICE: JobPolicy = JobPolicy {
    name: "service",
    deadline: Duration::from_secs(60),
    retry: RetryPolicy {
        lease: Duration::from_secs(90),
        max_attempts: 5,
        first_delay: Duration::from_secs(60),
        max_delay: Duration::from_secs(3600),
    },
};

impl JobKind {
    /// All kinds.
    pub const ALL: [JobKind; 3] = [JobKind::Scan, JobKind::Claim, JobKind::Service];

    /// What holds for all jobs of this kind.
    pub fn policy(self) -> &'static JobPolicy {
        match self {
            JobKind::Scan => &SCAN,
            JobKind::Claim => &CLAIM,
            JobKind::Service => &SERVICE,
        }
    }

    /// The stable word.
    pub fn as_str(self) -> &'static str {
        self.policy().name
    }
}

/// Which of the due jobs goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// The schedule wants it.
    Scheduled,
    /// A domain was just added, perhaps among thousands.
    Added,
    /// A person asked for it and waits.
    Requested,
}

impl Priority {
    /// The number in the database; higher goes first.
    pub(crate) fn number(self) -> i64 {
        match self {
            Priority::Scheduled => 0,
            Priority::Added => 5,
            Priority::Requested => 10,
        }
    }

    pub(crate) fn from_number(n: i64) -> Priority {
        match n {
            10.. => Priority::Requested,
            5..=9 => Priority::Added,
            _ => Priority::Scheduled,
        }
    }
}

/// A job in the hands of a worker until it is completed, failed or released, or the lease runs out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedJob {
    /// What is to be done.
    pub job: Job,
    /// When it was to be done.
    pub run_at: Timestamp,
    /// Which went before which.
    pub priority: Priority,
    /// Which attempt this is, counted from 1.
    pub attempt: u32,
    /// Fencing token of the lease; an answer with an old one does nothing.
    pub(crate) lease: i64,
}

/// A job as it stands in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobState {
    /// What is to be done.
    pub job: Job,
    /// Where it stands.
    pub phase: JobPhase,
    /// Which goes before which.
    pub priority: Priority,
    /// Attempts without result so far; the one that runs counts.
    pub attempts: u32,
    /// Why the last attempt failed, if it did.
    pub last_error: Option<String>,
    /// When the last run that a person waited for ended, and its outcome as its worker wrote it (JSON).
    pub outcome: Option<(Timestamp, String)>,
}

impl JobState {
    /// True when it runs, or waits and a person has asked for it.
    pub fn is_active(&self) -> bool {
        match self.phase {
            JobPhase::Running { .. } => true,
            JobPhase::Waiting { .. } => self.priority > Priority::Scheduled,
            JobPhase::Parked { .. } => false,
        }
    }
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobPhase {
    /// Waits for a worker, not before this instant.
    Waiting {
        /// When it is to be done.
        run_at: Timestamp,
    },
    /// A worker has it.
    Running {
        /// When it was to be done.
        run_at: Timestamp,
    },
    /// Its attempts are used up; it waits for a person.
    Parked {
        /// Since when.
        at: Timestamp,
    },
}

/// A queue in figures.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct QueueStats {
    /// Jobs that are due and wait for a worker.
    pub due: u64,
    /// How late the oldest of them is, in seconds.
    pub lag_seconds: f64,
    /// Jobs that are parked.
    pub parked: u64,
}
