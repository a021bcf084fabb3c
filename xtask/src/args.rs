//! The command line of `cargo xtask`, parsed manually so that xtask compiles in seconds.

use crate::bundle::Profile;
use crate::fuzz::Plan;

/// What a person reads when they ask for help or mistype.
pub const HELP: &str = "\
Usage: cargo xtask <command>

  run [--demo] [--dev] [-- ARGS]  set up what is missing, build everything, serve on http://127.0.0.1:8080
                                  --demo: against the built-in lab instead of the Internet
                                  --dev:  quicker builds, larger bundle (the edit loop)
                                  ARGS go to `domainscope serve`, for example -- --listen 0.0.0.0:80
  test                            everything CI runs, stage by stage, then a table of times
  setup                           install every tool the two commands above need, and stop
  bundle [--profile P]            build dist/ (P: wasm-release, the default, or wasm-dev)
  css                             write style/out/app.css
  e2e [--headed] [PATTERN]        browser tests alone
  bench [NAME] [-- ARGS]          benchmarks: whois, dns, doh, store, resources, fleet, signin; ARGS go to it
  bench history                   octets that a year of hourly scans leaves, for each domain
  bench scans                     scans a second over 10,000 names, memory, how soon a Rescan begins
  bench claims                    two processes that claim from one block on PostgreSQL for a minute
  bench prune                     ten million old rows deleted in short statements, on SQLite and PostgreSQL
  bench kill                      servers killed at random points of long scan cycles, on SQLite and PostgreSQL
  fuzz [TARGET] [--seconds N]     fuzz targets, 60 seconds each; --keep takes discoveries into fuzz/corpus,
                                  --seed N goes the same way again (`test` has seed 1)
  tables [--from DIR] [--check]   rebuild the shipped tables of facts from files of public facts
                                  (default: ../shared/reference); --check only says whether they differ

Compiled tools are kept in the user's cache folder under domainscope/, outside the clone.";

/// One parsed command.
#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    /// Print [`HELP`].
    Help,
    /// Install every tool.
    Setup,
    /// Generate the stylesheet.
    Css,
    /// Build `dist/`.
    Bundle {
        /// Cargo profile of the wasm.
        profile: Profile,
    },
    /// Build all and serve.
    Run {
        /// Against the lab.
        demo: bool,
        /// Quick builds.
        dev: bool,
        /// Handed to `domainscope serve`.
        extra: Vec<String>,
    },
    /// Everything CI runs.
    Test,
    /// Browser tests alone.
    E2e {
        /// Show the browser window.
        headed: bool,
        /// Only tests whose title or file matches.
        pattern: Option<String>,
    },
    /// Benchmarks.
    Bench {
        /// Which one; all when `None`.
        which: Option<String>,
        /// Handed to the benchmark.
        extra: Vec<String>,
    },
    /// Coverage-guided fuzzing.
    Fuzz(Plan),
    /// Rebuild the tables of facts.
    Tables {
        /// Folder of the files of facts.
        from: Option<String>,
        /// Compare only.
        check: bool,
    },
}

/// Parses the words after `cargo xtask`; an error is a sentence for the user.
pub fn parse(words: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut words: Vec<String> = words.collect();
    if words.is_empty() {
        return Ok(Command::Help);
    }
    let name = words.remove(0);
    let command = match name.as_str() {
        "help" | "-h" | "--help" => return Ok(Command::Help),
        "run" => {
            let extra = after_dashes(&mut words);
            Command::Run { demo: flag(&mut words, "--demo"), dev: flag(&mut words, "--dev"), extra }
        }
        "test" => Command::Test,
        "setup" => Command::Setup,
        "css" => Command::Css,
        "bundle" => Command::Bundle { profile: profile(&mut words)? },
        "e2e" => Command::E2e { headed: flag(&mut words, "--headed"), pattern: free_word(&mut words) },
        "bench" => {
            let extra = after_dashes(&mut words);
            Command::Bench { which: free_word(&mut words), extra }
        }
        "fuzz" => {
            let keep = flag(&mut words, "--keep");
            let seconds = number(&mut words, "--seconds")?.unwrap_or(60);
            let seed = number(&mut words, "--seed")?;
            Command::Fuzz(Plan { target: free_word(&mut words), seconds, keep, seed })
        }
        "tables" => {
            Command::Tables { from: value(&mut words, "--from")?, check: flag(&mut words, "--check") }
        }
        other => return Err(format!("xtask has no command `{other}`.")),
    };
    match words.first() {
        Some(rest) => Err(format!("`cargo xtask {name}` does not take `{rest}`.")),
        None => Ok(command),
    }
}

/// The words after `--`, without it.
fn after_dashes(words: &mut Vec<String>) -> Vec<String> {
    let Some(at) = words.iter().position(|word| word == "--") else { return Vec::new() };
    let extra = words.split_off(at + 1);
    words.pop();
    extra
}

fn flag(words: &mut Vec<String>, name: &str) -> bool {
    let before = words.len();
    words.retain(|word| word != name);
    words.len() != before
}

fn value(words: &mut Vec<String>, name: &str) -> Result<Option<String>, String> {
    let Some(at) = words.iter().position(|word| word == name) else { return Ok(None) };
    words.remove(at);
    if at < words.len() { Ok(Some(words.remove(at))) } else { Err(format!("{name} wants a value.")) }
}

fn free_word(words: &mut Vec<String>) -> Option<String> {
    let at = words.iter().position(|word| !word.starts_with('-'))?;
    Some(words.remove(at))
}

fn number(words: &mut Vec<String>, name: &str) -> Result<Option<u32>, String> {
    let Some(at) = words.iter().position(|word| word == name) else { return Ok(None) };
    words.remove(at);
    let value = if at < words.len() { words.remove(at) } else { String::new() };
    let number = value.parse().ok().filter(|n| *n > 0);
    number.map(Some).ok_or_else(|| format!("{name} wants a number above 0, not `{value}`."))
}

fn profile(words: &mut Vec<String>) -> Result<Profile, String> {
    let Some(at) = words.iter().position(|word| word.starts_with("--profile")) else {
        return Ok(Profile::Release);
    };
    let word = words.remove(at);
    let value = match word.strip_prefix("--profile=") {
        Some(value) => value.to_owned(),
        None if word == "--profile" && at < words.len() => words.remove(at),
        None => return Err("--profile wants wasm-release or wasm-dev.".to_owned()),
    };
    Profile::from_name(&value).ok_or_else(|| format!("--profile is wasm-release or wasm-dev, not `{value}`."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn mistakes_are_refused_with_the_word_that_is_wrong() {
        for (line, wrong) in [
            ("rnu", "rnu"),
            ("run --demmo", "--demmo"),
            ("test quickly", "quickly"),
            ("bundle --profile", "--profile"),
            ("bundle --profile release", "release"),
            ("e2e a b", "b"),
            ("fuzz whois --seconds", "--seconds"),
            ("fuzz --seconds soon", "soon"),
            ("fuzz --seed 0", "--seed"),
        ] {
            let complaint = parsed(line).expect_err(line);
            assert!(complaint.contains(wrong), "{line}: {complaint}");
        }
    }

    #[test]
    fn what_follows_the_dashes_goes_to_the_server_untouched() {
        let command = parsed("run --demo -- --listen 0.0.0.0:80 --dev").expect("parses");
        let extra = ["--listen", "0.0.0.0:80", "--dev"].map(str::to_owned).to_vec();
        assert_eq!(command, Command::Run { demo: true, dev: false, extra });
    }

    #[test]
    fn fuzzing_takes_a_target_and_a_time() {
        let plan = |target: Option<&str>, seconds, keep, seed| {
            Ok(Command::Fuzz(Plan { target: target.map(str::to_owned), seconds, keep, seed }))
        };
        assert_eq!(parsed("fuzz"), plan(None, 60, false, None));
        assert_eq!(parsed("fuzz --seconds 5 whois --keep"), plan(Some("whois"), 5, true, None));
        assert_eq!(parsed("fuzz --seed 7 rdap"), plan(Some("rdap"), 60, false, Some(7)));
    }

    #[test]
    fn profiles_take_both_spellings() {
        for line in ["bundle --profile wasm-dev", "bundle --profile=wasm-dev"] {
            assert_eq!(parsed(line), Ok(Command::Bundle { profile: Profile::Dev }));
        }
        assert_eq!(parsed("bundle"), Ok(Command::Bundle { profile: Profile::Release }));
    }
}
