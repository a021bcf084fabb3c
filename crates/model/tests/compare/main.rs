//! Cache vs authoritative, judged: one resolver's answer beside the servers', and what all come to.

mod samples;
mod verdicts;
mod whole;
