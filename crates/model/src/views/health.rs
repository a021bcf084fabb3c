//! Faults of the installation itself: they are shown as ours and are never events about a domain.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The root zone does not validate: an outdated trust anchor, or a clock that is wrong.
    RootInvalid,
    /// No name server of any kind answers: the own network.
    NetworkDown,
    /// The registry of a TLD answers for none of its names.
    RegistryDown,
    /// The clock of this machine differs from those of the servers that answer.
    ClockWrong,
    /// Name servers in many networks ceased to answer at the same time: a part of the network is out of reach.
    PartOfNetworkDown,
}

impl FaultKind {
    /// All kinds.
    pub const ALL: [FaultKind; 5] = [
        FaultKind::RootInvalid,
        FaultKind::NetworkDown,
        FaultKind::RegistryDown,
        FaultKind::ClockWrong,
        FaultKind::PartOfNetworkDown,
    ];

    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            FaultKind::RootInvalid => "root_invalid",
            FaultKind::NetworkDown => "network_down",
            FaultKind::RegistryDown => "registry_down",
            FaultKind::ClockWrong => "clock_wrong",
            FaultKind::PartOfNetworkDown => "part_of_network_down",
        }
    }

    /// In a few words.
    pub fn title(self) -> &'static str {
        match self {
            FaultKind::RootInvalid => "DNSSEC can't be validated here",
            FaultKind::NetworkDown => "No name server can be reached from here",
            FaultKind::RegistryDown => "A registry does not answer",
            FaultKind::ClockWrong => "The clock of this machine is wrong",
            FaultKind::PartOfNetworkDown => "Part of the network can't be reached from here",
        }
    }
}

/// A fault of the installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnFault {
    /// What is wrong.
    pub kind: FaultKind,
    /// Since when.
    pub since: Timestamp,
    /// What was observed and what to do, in sentences.
    pub sentence: String,
}
