//! The `domainscope` binary: the server with the browser bundle inside. A package of its own, so that a new bundle
//! costs a link and the server can be compiled while the bundle is still being built.

include!(concat!(env!("OUT_DIR"), "/bundle.rs"));

// A scan makes and drops thousands of small values, on which the system's allocator spent a tenth of all time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    server::cli::main(FILES)
}
