//! The `domainscope` binary: the server with the browser bundle inside. A package of its own, so that a new bundle
//! costs a link and the server can be compiled while the bundle is still being built.

include!(concat!(env!("OUT_DIR"), "/bundle.rs"));

fn main() -> std::process::ExitCode {
    server::cli::main(FILES)
}
