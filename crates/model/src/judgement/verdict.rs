//! What the findings of one check come to: one sentence for the whole, worst first, and what repeats said once.
//! In: the findings of a zone. Out: what a page, the API and the command line say above them. Levels are those of
//! Zonemaster's "Severity level definitions".

use super::cause::Cause;
use crate::finding::{Finding, Level, Tone};

/// A check in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckVerdict {
    /// Whether the zone is well.
    pub tone: Tone,
    /// The headline: `q7.io works, with 2 warnings`.
    pub title: String,
    /// What that means, and what to do first.
    pub text: String,
}

impl CheckVerdict {
    /// The same with a cause found elsewhere (the registration) as the headline.
    #[must_use]
    pub fn because(mut self, cause: Option<&Cause>) -> Self {
        if let Some(cause) = cause {
            self.title = cause.headline().trim_end_matches('.').to_string();
        }
        self
    }

    /// The verdict on `zone` after `test_cases` cases; `before_a_move` when servers or DS were given as if the
    /// parent published them already.
    pub fn of(zone: &str, findings: &[Finding], test_cases: usize, before_a_move: bool) -> CheckVerdict {
        if let Some(holder) = enclosing_zone(findings) {
            return CheckVerdict {
                tone: Tone::Notice,
                title: format!("{zone} is not a zone of its own; its zone is {holder}"),
                text: format!("There is nothing to check here. Check {holder} instead."),
            };
        }
        let any = |level| findings.iter().any(|f| f.level == level);
        let broken = any(Level::Critical) || any(Level::Error);
        let bad = tally(findings, Level::Warning);
        let (tone, title, text) = match (before_a_move, broken, bad.is_empty()) {
            (true, true, _) => (
                Tone::Critical,
                format!("Don’t switch yet: {bad}"),
                format!(
                    "With the delegation of {zone} pointing at these servers, some users would not reach it. Fix what \
                     comes first below, then check again."
                ),
            ),
            (true, false, false) => (
                Tone::Warning,
                format!("These servers can take over {zone}, with {bad}"),
                "Nothing here breaks the zone; fix it before the switch.".to_string(),
            ),
            (true, false, true) => (
                Tone::Ok,
                format!("These servers are ready to take over {zone}"),
                "They answer as if the parent pointed at them already. Lower the TTLs of the old zone before you \
                 switch, and keep the old servers running for two days after."
                    .to_string(),
            ),
            (false, true, _) => (
                if any(Level::Critical) { Tone::Critical } else { Tone::Warning },
                headline(zone, findings),
                format!(
                    "{}. Errors break the zone for some users, critical findings for all of them. The worst come first.",
                    capital(&bad)
                ),
            ),
            (false, false, false) if findings.iter().any(Finding::is_urgent) => (
                Tone::Warning,
                format!("{zone} works, but: {}", worst_words(findings)),
                format!("{}. What is broken now, or breaks by itself, is in the headline.", capital(&bad)),
            ),
            (false, false, false) => (
                Tone::Warning,
                format!("{zone} works, with {bad}"),
                "Nothing is broken now; warnings are what breaks next or makes the zone slow.".to_string(),
            ),
            (false, false, true) => {
                let all =
                    if test_cases == 1 { "The test case".to_string() } else { format!("All {test_cases} test cases") };
                (Tone::Ok, format!("{zone} is in order"), format!("{all} found no problem."))
            }
        };
        let culprit =
            crate::finding::culprit::culprit(findings).map(|c| format!(" {}", c.sentence(before_a_move)));
        CheckVerdict { tone, title, text: text + culprit.as_deref().unwrap_or_default() }
    }
}

/// The zone that holds a name which is no zone itself and no registrable domain either, where the checks found that.
fn enclosing_zone(findings: &[Finding]) -> Option<&str> {
    findings.iter().find(|f| f.tag == "NOT_A_ZONE")?.args.get("enclosing")?.as_str()
}

/// The worst finding, behind the name of the zone unless it names it.
fn headline(zone: &str, findings: &[Finding]) -> String {
    let glueless: Vec<&str> = findings
        .iter()
        .filter(|f| f.tag == "B02_NS_NO_IP_ADDR")
        .filter_map(|f| f.args.get("nsname")?.as_str())
        .collect();
    let answers = findings.iter().any(|f| f.tag.starts_with("B02_") && f.args.contains_key("ns"));
    if findings.iter().any(|f| f.tag == "B02_NO_WORKING_NS") && !glueless.is_empty() && !answers {
        return format!(
            "{zone} does not resolve: its name servers have no address ({})",
            glueless.join(", ")
        );
    }
    let words = worst_words(findings);
    if words.split([' ', ':', ',']).any(|word| word == zone) { words } else { format!("{zone}: {words}") }
}

/// The sentence of the worst finding: by level, then what is broken now.
fn worst_words(findings: &[Finding]) -> String {
    let worst = findings.iter().rev().max_by_key(|f| (f.level, f.broken));
    worst.map(|f| f.words().trim_end_matches('.').to_string()).unwrap_or_default()
}

fn capital(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

/// How many findings there are of each level from `least` up, worst first: `1 error, 2 warnings`. Empty for none.
pub fn tally(findings: &[Finding], least: Level) -> String {
    let words = Level::ALL.into_iter().rev().filter(|l| *l >= least).filter_map(|level| {
        let n = findings.iter().filter(|f| f.level == level).count();
        let (one, many) = match level {
            Level::Critical => ("critical finding", "critical findings"),
            Level::Error => ("error", "errors"),
            Level::Warning => ("warning", "warnings"),
            Level::Notice => ("notice", "notices"),
            Level::Info => ("remark", "remarks"),
            Level::Debug => ("debug remark", "debug remarks"),
        };
        (n > 0).then(|| format!("{n} {}", if n == 1 { one } else { many }))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Findings of one tag in one test case: the same matter, at several servers or for several names.
pub type FindingGroup<'a> = Vec<&'a Finding>;

/// The findings as people read them: worst level first, then by test case; those of one tag and one remedy together,
/// a sentence that stands there already once.
pub fn finding_groups(findings: &[Finding]) -> Vec<FindingGroup<'_>> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by(|a, b| b.level.cmp(&a.level).then_with(|| a.test_case.cmp(&b.test_case)));
    let mut groups: Vec<FindingGroup<'_>> = Vec::new();
    for finding in sorted {
        let same = |m: &&mut FindingGroup<'_>| {
            m.first().is_some_and(|f| {
                (f.level, &f.test_case, &f.tag, &f.fix)
                    == (finding.level, &finding.test_case, &finding.tag, &finding.fix)
            })
        };
        match groups.iter_mut().rev().find(same) {
            Some(matter) => {
                let said = !finding.message.is_empty() && matter.iter().any(|f| f.message == finding.message);
                if !said {
                    matter.push(finding);
                }
            }
            None => groups.push(vec![finding]),
        }
    }
    groups
}

/// The whole as a text, to be pasted where a page can't go: worst first, each with its remedy and what to type.
pub fn as_text(verdict: &CheckVerdict, findings: &[Finding]) -> String {
    let mut out = format!("{}\n{}\n", verdict.title, verdict.text);
    for matter in
        finding_groups(findings).iter().filter(|m| m.first().is_some_and(|f| f.level >= Level::Notice))
    {
        let Some(first) = matter.first() else { continue };
        out.push_str(&format!("\n{} {} ({})\n", first.level.as_str(), first.tag, first.test_case));
        for f in matter {
            let words = if f.message.is_empty() { &f.tag } else { &f.message };
            out.push_str(&format!("  {words}\n"));
        }
        if !first.fix.is_empty() {
            out.push_str(&format!("  To do: {}\n", first.fix));
        }
        if let Some(line) = crate::finding::culprit::command(first) {
            out.push_str(&format!("  $ {line}\n"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(level: Level, test_case: &str, tag: &str, message: &str) -> Finding {
        Finding {
            broken: false,
            tag: tag.into(),
            level,
            args: serde_json::Map::new(),
            test_case: test_case.into(),
            zone: "q7.io".into(),
            message: message.into(),
            fix: "Mend it.".into(),
        }
    }

    #[test]
    fn the_whole_in_a_sentence() {
        let fine = [finding(Level::Notice, "Zone02", "A", "a")];
        let warned =
            [finding(Level::Warning, "Zone02", "A", "a"), finding(Level::Warning, "Zone03", "B", "b")];
        let broken = [finding(Level::Error, "Zone02", "A", "a"), finding(Level::Warning, "Zone03", "B", "b")];
        let dead = [finding(Level::Critical, "Basic02", "A", "a")];
        let verdict = |findings: &[Finding], moving| {
            let v = CheckVerdict::of("q7.io", findings, 75, moving);
            (v.tone, v.title)
        };
        assert_eq!(verdict(&fine, false), (Tone::Ok, "q7.io is in order".into()));
        assert_eq!(verdict(&warned, false), (Tone::Warning, "q7.io works, with 2 warnings".into()));
        assert_eq!(verdict(&broken, false), (Tone::Warning, "q7.io: a".into()));
        assert_eq!(verdict(&dead, false), (Tone::Critical, "q7.io: a".into()));
        assert_eq!(verdict(&fine, true), (Tone::Ok, "These servers are ready to take over q7.io".into()));
        assert_eq!(
            verdict(&warned, true),
            (Tone::Warning, "These servers can take over q7.io, with 2 warnings".into())
        );
        assert_eq!(verdict(&broken, true), (Tone::Critical, "Don’t switch yet: 1 error, 1 warning".into()));
        assert!(CheckVerdict::of("q7.io", &fine, 1, false).text.starts_with("The test case found"));
    }

    #[test]
    fn the_report_as_a_text_leaves_out_what_is_well() {
        let mut lame = finding(Level::Error, "Basic02", "B02_NS_NOT_AUTH", "ns1 does not serve the zone.");
        lame.args.insert("ns".into(), "ns1.example/192.0.2.1".into());
        let findings = [finding(Level::Info, "Zone01", "FINE", "Fine."), lame];
        let text = as_text(&CheckVerdict::of("q7.io", &findings, 75, false), &findings);
        assert!(text.starts_with("q7.io: ns1 does not serve the zone\n1 error. "), "{text}");
        assert!(
            text.ends_with(
                "ERROR B02_NS_NOT_AUTH (Basic02)\n  ns1 does not serve the zone.\n  To do: Mend it.\n  \
             $ dig @192.0.2.1 q7.io SOA +norecurse\n"
            ),
            "{text}"
        );
        assert!(!text.contains("FINE"));
    }

    #[test]
    fn one_matter_is_told_once_and_the_worst_first() {
        let findings = [
            finding(Level::Notice, "Address02", "NO_PTR", "192.0.2.1 has no name."),
            finding(Level::Notice, "Address02", "OTHER", "Something else."),
            finding(Level::Notice, "Address02", "NO_PTR", "192.0.2.2 has no name."),
            finding(Level::Notice, "Address02", "NO_PTR", "192.0.2.2 has no name."),
            finding(Level::Error, "Zone01", "BAD", "Broken."),
        ];
        let told: Vec<Vec<&str>> = finding_groups(&findings)
            .iter()
            .map(|m| m.iter().map(|f| f.message.as_str()).collect())
            .collect();
        let expected: [&[&str]; 3] =
            [&["Broken."], &["192.0.2.1 has no name.", "192.0.2.2 has no name."], &["Something else."]];
        assert_eq!(told, expected);
    }
}
