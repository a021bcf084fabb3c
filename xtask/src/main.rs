//! The project's own commands (`cargo xtask …`): set up what is missing, build the browser bundle and the
//! server, run them, and run everything CI runs. In: a bare clone. Out: a running product, or a sentence
//! that says what is missing and the command that gets it.

mod args;
mod bench;
mod budget;
mod bundle;
mod doh;
mod e2e;
mod fingerprint;
mod fuzz;
mod packages;
mod paths;
mod python;
mod run;
mod sh;
mod signin;
mod stages;
mod tables;
mod test;
mod tools;
mod wasm;

use args::Command;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match args::parse(std::env::args().skip(1)) {
        Ok(command) => command,
        Err(complaint) => {
            eprintln!("{complaint}\n\n{}", args::HELP);
            return ExitCode::from(2);
        }
    };
    let done = match command {
        Command::Help => {
            println!("{}", args::HELP);
            Ok(())
        }
        Command::Setup => test::setup(),
        Command::Css => bundle::css(),
        Command::Bundle { profile } => bundle::ensure(profile).and_then(|_| budget::check()),
        Command::Run { demo, dev, extra } => run::run(demo, dev, &extra),
        Command::Test => return test::test(),
        Command::E2e { headed, pattern } => e2e::command(headed, pattern.as_deref()),
        Command::Bench { which, extra } => bench::run(which.as_deref(), &extra),
        Command::Fuzz(plan) => fuzz::run(&plan),
        Command::Tables { from, check } => tables::run(from.as_deref(), check),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nxtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
