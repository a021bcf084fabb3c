//! The `domainscope` binary.

fn main() -> std::process::ExitCode {
    server::cli::main()
}
