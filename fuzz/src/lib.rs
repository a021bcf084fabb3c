//! What must hold whatever a stranger sends. In: bytes; out: nothing, or a panic that names the broken promise.
//! One module per target; each `check` is called by libFuzzer, and by the tests on the saved corpus.

pub mod dates;
pub mod dns_wire;
pub mod encodings;
pub mod input;
pub mod names;
pub mod rdap;
pub mod reading;
pub mod session;
pub mod whois;
