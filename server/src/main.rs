//! The `domainscope` binary.
fn main() {}
