//! What an answer comes to, held to the wordings of many registries: alone, among terms of use that speak of the same
//! things, in capitals, with other line ends, wrapped. The worst error is a taken name that is called free.

use registration::{parse_whois, reading_to_json};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    outcome: String,
    answers: Vec<(String, String)>,
}

struct Answer {
    want: String,
    domain: String,
    text: String,
}

const TABLES: &[&str] = &[
    include_str!("outcomes/free.toml"),
    include_str!("outcomes/reserved.toml"),
    include_str!("outcomes/throttled.toml"),
    include_str!("outcomes/refused.toml"),
    include_str!("outcomes/unserved.toml"),
    include_str!("outcomes/taken.toml"),
];

fn answers() -> Vec<Answer> {
    let tables = TABLES.iter().map(|t| toml::from_str::<Table>(t).unwrap());
    let of = |Table { outcome, answers }| {
        answers.into_iter().map(move |(tld, text)| {
            let domain = format!("quarry-lane.{tld}");
            let text = text.replace("{name}", &domain).replace("{label}", "quarry-lane");
            Answer { want: outcome.clone(), text: text.replace("{NAME}", &domain.to_uppercase()), domain }
        })
    };
    tables.flat_map(of).collect()
}

/// Terms of use after those that registries print: they speak of what is free, reserved, limited, blocked.
const TERMS: &[&str] = &[
    "The data in this record is provided for information purposes only, and no guarantee of its accuracy is given.\n\
     Access is provided to assist persons in determining whether a domain name is available\n\
     for registration, and is rate limited. You agree that you will not use this data to enable high volume,\n\
     automated, electronic processes. Queries that exceed the limits may be blocked, and\n\
     access may be restricted or denied. All rights\n\
     reserved.",
    "NOTICE: You are not authorized to access or query our Whois database through the use of\n\
     electronic processes that are high-volume and automated except as reasonably necessary to\n\
     register domain names or modify existing registrations. The registry reserves the right\n\
     to restrict your access to the database in its sole discretion to ensure\n\
     operational stability. Excessive querying leads to a block of your address.",
    "Copyright of the registry. Certain names are reserved and can not be registered; names that are\n\
     not found here may be withheld nevertheless.\n\
     If a limit is exceeded, please try again later or use the web-based service, which is\n\
     available around the clock. No match of data from several sources is permitted.",
];

fn commented(text: &str) -> String {
    text.lines().map(|l| format!("% {l}\n")).collect()
}

fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let lead: String = line.chars().take_while(|c| "% #*".contains(*c)).collect();
        let mut column = 0;
        for word in line.split(' ') {
            if column > 0 && column + word.len() > width {
                out.push('\n');
                out.push_str(&lead);
                column = lead.len();
            } else if column > 0 {
                out.push(' ');
            }
            out.push_str(word);
            column += word.len() + 1;
        }
        out.push('\n');
    }
    out
}

type Change = fn(&Answer, &str) -> Option<String>;

/// A sentence or two, not a record: those are not wrapped by anybody.
fn is_sentence(text: &str) -> bool {
    text.len() < 160
        && text
            .lines()
            .filter(|l| !l.trim().is_empty())
            .all(|l| l.split_whitespace().count() > 3 && !l.contains(": "))
}

const CHANGES: [(&str, Change); 12] = [
    ("as it is", |_, _| Some(String::new())),
    ("terms before", |_, terms| Some(format!("{terms}\n\n{{}}"))),
    ("terms after", |_, terms| Some(format!("{{}}\n\n{terms}\n"))),
    ("terms around", |_, terms| Some(format!("{terms}\n\n{{}}\n\n{terms}\n"))),
    ("comments before", |_, terms| Some(format!("{}\n{{}}", commented(terms)))),
    ("comments right before", |_, terms| Some(format!("{}{{}}", commented(terms)))),
    ("comments after", |_, terms| Some(format!("{{}}\n\n{}", commented(terms)))),
    ("a closing line", |_, _| {
        Some("{}\n\n>>> Last update of WHOIS database: 2024-01-02T03:04:05Z <<<\n".into())
    }),
    ("a lookup line", |a, _| Some(format!("Whois lookup for {}\n\n{{}}\n\n--\n", a.domain))),
    ("capitals", |a, _| a.text.is_ascii().then(|| a.text.to_uppercase())),
    ("CRLF", |a, _| Some(format!("\r\n{}\r\n\r\n", a.text.replace('\n', "\r\n")))),
    ("wrapped", |a, _| is_sentence(&a.text).then(|| wrapped(&a.text, 44))),
];

#[test]
fn what_answers_come_to() {
    let answers = answers();
    let (mut tried, mut wrong, mut worst) = (0, 0, 0);
    for (what, change) in CHANGES {
        let before = wrong;
        for (n, a) in answers.iter().enumerate() {
            let Some(changed) = change(a, TERMS[n % TERMS.len()]) else { continue };
            // No one puts terms of use around a web page.
            if a.text.starts_with(['<', 'H']) && a.text.contains("<html") && what != "as it is" {
                continue;
            }
            let text = if what == "as it is" { a.text.clone() } else { changed.replace("{}", &a.text) };
            let reading = parse_whois(&a.domain, None, None, text.as_bytes());
            tried += 1;
            let got = reading.outcome.as_str();
            if got != a.want {
                wrong += 1;
                let fatal = got == "available";
                worst += u32::from(fatal);
                println!(
                    "{what}: {got} instead of {}{}: {:?}",
                    a.want,
                    if fatal { " !!!" } else { "" },
                    a.text
                );
            }
            if got != "registered" {
                let empty = model::registration::Registration::default();
                assert_eq!(reading.registration, empty, "fields without a record: {text:?}");
            }
            assert!(reading_to_json(&reading)["outcome"].is_string());
        }
        println!("{what}: {} wrong", wrong - before);
    }
    println!("{wrong} of {tried} wrong, {worst} of them called free");
    assert_eq!((wrong, worst), (0, 0), "of {tried}");
}
