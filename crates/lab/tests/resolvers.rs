//! Recursive resolvers over UDP and TCP: failures first, then caches whose clock the test moves.

mod common;

use common::*;
use hickory_proto::{
    op::{Message, ResponseCode},
    rr::{
        RData, RecordType,
        rdata::opt::{EdnsCode, EdnsOption},
    },
};
use lab::Scenario;

const FIRST: &str = "first.resolver.lab";
const SECOND: &str = "second.resolver.lab";
const GUARD: &str = "guard.resolver.lab";

fn recursive(qname: &str, qtype: RecordType, how: &Ask) -> Vec<u8> {
    let mut message = question(qname, qtype, how);
    message.metadata.recursion_desired = true;
    message.to_vec().unwrap()
}

async fn try_resolve(
    world: &World,
    host: &str,
    qname: &str,
    qtype: RecordType,
    how: &Ask,
) -> Option<Message> {
    let (bytes, _) = world.raw(host, &recursive(qname, qtype, how), how).await?;
    Message::from_vec(&bytes).ok()
}

async fn resolve(world: &World, host: &str, qname: &str, qtype: RecordType) -> Message {
    let answer = try_resolve(world, host, qname, qtype, &Ask::default()).await;
    answer.unwrap_or_else(|| panic!("{host} did not answer {qname} {qtype}"))
}

fn a_of(message: &Message) -> Vec<String> {
    let a =
        |r: &hickory_proto::rr::Record| if let RData::A(a) = &r.data { Some(a.to_string()) } else { None };
    message.answers.iter().filter_map(a).collect()
}

fn extended(message: &Message) -> Option<(u16, String)> {
    match message.edns.as_ref()?.option(EdnsCode::from(15))? {
        EdnsOption::Unknown(_, octets) => {
            let (code, text) = octets.split_first_chunk::<2>()?;
            Some((u16::from_be_bytes(*code), String::from_utf8(text.to_vec()).unwrap()))
        }
        _ => None,
    }
}

#[tokio::test]
async fn a_dead_set_of_servers_is_servfail_and_nothing_is_remembered_of_it() {
    let world = small().await;
    world.command("fault ns1.one.example dead").await;
    world.command("fault ns2.one.example dead").await;
    let answer = resolve(&world, FIRST, "plain.example", RecordType::A).await;
    assert_eq!(code(&answer), ResponseCode::ServFail);
    assert_eq!(extended(&answer).unwrap().0, 22);
    world.command("mend").await;
    let answer = resolve(&world, FIRST, "plain.example", RecordType::A).await;
    assert_eq!(a_of(&answer), ["192.0.2.10"]);
}

#[tokio::test]
async fn one_good_server_of_a_set_is_enough_whatever_the_other_does() {
    let faults = [
        "dead",
        "lame",
        "servfail",
        "garbage",
        "wrong-id",
        "wrong-source",
        "upward-referral",
        "self-referral",
        "not-aa",
        "formerr-edns",
        "no-edns",
        "tc-only",
        "drop 50",
        "fold-case",
    ];
    for fault in faults {
        let world = small().await;
        world.command(&format!("fault ns1.one.example {fault}")).await;
        // Two resolvers begin with different servers of the set.
        for host in [FIRST, SECOND] {
            let answer = resolve(&world, host, "plain.example", RecordType::A).await;
            assert_eq!(a_of(&answer), ["192.0.2.10"], "{fault} at {host}");
        }
        world.lab.shutdown().await;
    }
}

#[tokio::test]
async fn loops_of_aliases_and_bogus_names_are_servfail() {
    let world = small().await;
    world.command("fault plain.example cname-loop 2").await;
    let answer = resolve(&world, FIRST, "loop.plain.example", RecordType::A).await;
    assert_eq!(code(&answer), ResponseCode::ServFail);
    let answer = resolve(&world, FIRST, "broken.example", RecordType::A).await;
    assert_eq!((code(&answer), extended(&answer).unwrap().0), (ResponseCode::ServFail, 6));
    let mut unchecked = question("broken.example", RecordType::A, &Ask::default());
    unchecked.metadata.recursion_desired = true;
    unchecked.metadata.checking_disabled = true;
    let how = Ask::default();
    let (bytes, _) = world.raw(FIRST, &unchecked.to_vec().unwrap(), &how).await.unwrap();
    assert_eq!(a_of(&Message::from_vec(&bytes).unwrap()), ["192.0.2.12"]);
}

#[tokio::test]
async fn resolvers_fail_in_their_own_ways() {
    let world = small().await;
    world.command("resolver first failing servfail").await;
    world.command("resolver second failing timeout").await;
    world.command("resolver guard failing dead").await;
    let answer = resolve(&world, FIRST, "plain.example", RecordType::A).await;
    assert_eq!((code(&answer), answer.answers.len()), (ResponseCode::ServFail, 0));
    for host in [SECOND, GUARD] {
        for how in [hurried(), Ask { tcp: true, ..hurried() }] {
            assert!(try_resolve(&world, host, "plain.example", RecordType::A, &how).await.is_none());
        }
    }
    world.command("resolver all failing none").await;
    for host in [FIRST, SECOND, GUARD] {
        assert_eq!(a_of(&resolve(&world, host, "plain.example", RecordType::A).await), ["192.0.2.10"]);
    }
}

#[tokio::test]
async fn what_is_no_question_for_a_resolver_is_refused() {
    let world = small().await;
    let (bytes, _) = world.raw(FIRST, &[0, 7, 1, 0, 0, 1], &Ask::default()).await.unwrap();
    assert_eq!(code(&Message::from_vec(&bytes).unwrap()), ResponseCode::FormErr);
    let answer = resolve(&world, FIRST, "plain.example", RecordType::ANY).await;
    assert_eq!(code(&answer), ResponseCode::NotImp);
    // Without RD only the cache is asked, and nothing is learnt.
    let before = world.lab.query_log().dns_total();
    assert_eq!(code(&world.ask(FIRST, "plain.example", RecordType::A).await), ResponseCode::Refused);
    assert_eq!(world.lab.query_log().dns_total(), before);
    resolve(&world, FIRST, "plain.example", RecordType::A).await;
    assert_eq!(a_of(&world.ask(FIRST, "plain.example", RecordType::A).await), ["192.0.2.10"]);
}

#[tokio::test]
async fn an_answer_is_kept_until_its_ttl_has_passed() {
    let world = small().await;
    let answer = resolve(&world, FIRST, "plain.example", RecordType::A).await;
    assert!(answer.metadata.recursion_available && !answer.metadata.authoritative);
    assert_eq!((a_of(&answer), answer.answers[0].ttl), (vec!["192.0.2.10".into()], 300));
    world.command("remove plain.example A").await;
    world.command("add plain.example 300 A 192.0.2.99").await;
    world.command("advance 200s").await;
    let stale = resolve(&world, FIRST, "plain.example", RecordType::A).await;
    assert_eq!(a_of(&stale), ["192.0.2.10"]);
    // The clock of the lab runs on beside the test.
    assert!((60..=100).contains(&stale.answers[0].ttl), "{}", stale.answers[0].ttl);
    assert_eq!(a_of(&resolve(&world, SECOND, "plain.example", RecordType::A).await), ["192.0.2.99"]);
    world.command("advance 1m40s").await;
    assert_eq!(a_of(&resolve(&world, FIRST, "plain.example", RecordType::A).await), ["192.0.2.99"]);
}

#[tokio::test]
async fn a_name_that_was_asked_for_too_early_stays_missing() {
    let world = small().await;
    // The zone's SOA: minimum 3600, TTL 1800; the smaller counts.
    let answer = resolve(&world, FIRST, "new.plain.example", RecordType::A).await;
    assert_eq!(code(&answer), ResponseCode::NXDomain);
    assert_eq!(answer.authorities[0].ttl, 1800);
    world.command("add new.plain.example 60 A 192.0.2.77").await;
    world.command("advance 1000s").await;
    let still = resolve(&world, FIRST, "new.plain.example", RecordType::MX).await;
    assert_eq!(code(&still), ResponseCode::NXDomain, "missing for every type");
    assert!((700..=800).contains(&still.authorities[0].ttl), "{}", still.authorities[0].ttl);
    world.command("advance 800s").await;
    assert_eq!(a_of(&resolve(&world, FIRST, "new.plain.example", RecordType::A).await), ["192.0.2.77"]);
    // A type that is missing says nothing of the others.
    let answer = resolve(&world, FIRST, "new.plain.example", RecordType::MX).await;
    assert_eq!((code(&answer), answer.answers.len()), (ResponseCode::NoError, 0));
    assert_eq!(serial_of(&answer).map(|s| s > 0), Some(true));
}

#[tokio::test]
async fn aliases_are_followed_and_each_keeps_its_own_ttl() {
    let world = small().await;
    world.command("add far.plain.example 60 CNAME signed.example.").await;
    let answer = resolve(&world, FIRST, "far.plain.example", RecordType::A).await;
    let types: Vec<_> = answer.answers.iter().map(|r| (r.record_type(), r.ttl)).collect();
    assert_eq!(types, [(RecordType::CNAME, 60), (RecordType::A, 300)]);
    world.command("advance 61").await;
    world.command("remove far.plain.example CNAME").await;
    let answer = resolve(&world, FIRST, "far.plain.example", RecordType::A).await;
    assert_eq!(code(&answer), ResponseCode::NXDomain);
    assert_eq!(a_of(&resolve(&world, FIRST, "signed.example", RecordType::A).await), ["192.0.2.11"]);
}

#[tokio::test]
async fn filters_withhold_names_and_some_say_so() {
    let world = small().await;
    let answer = resolve(&world, GUARD, "a.malware.plain.example", RecordType::A).await;
    assert_eq!(code(&answer), ResponseCode::NXDomain);
    assert_eq!(extended(&answer), Some((15, "on the list of this resolver".into())));
    assert!(answer.authorities.is_empty());
    world.command("resolver guard filter filtered plain.example").await;
    world.command("resolver guard filter zero signed.example").await;
    let answer = resolve(&world, GUARD, "plain.example", RecordType::A).await;
    assert_eq!((a_of(&answer), extended(&answer).unwrap().0), (vec!["0.0.0.0".to_owned()], 17));
    let answer = resolve(&world, GUARD, "signed.example", RecordType::A).await;
    assert_eq!((a_of(&answer), extended(&answer)), (vec!["0.0.0.0".to_owned()], None));
    let answer = resolve(&world, GUARD, "signed.example", RecordType::MX).await;
    assert_eq!((code(&answer), answer.answers.len()), (ResponseCode::NoError, 0));
    world.command("resolver guard filter none").await;
    assert_eq!(a_of(&resolve(&world, GUARD, "plain.example", RecordType::A).await), ["192.0.2.10"]);
}

#[tokio::test]
async fn places_have_answers_of_their_own() {
    let world = small().await;
    world.command("resolver second geo plain.example 60 A 192.0.2.200").await;
    assert_eq!(a_of(&resolve(&world, SECOND, "PLAIN.example", RecordType::A).await), ["192.0.2.200"]);
    assert_eq!(a_of(&resolve(&world, FIRST, "plain.example", RecordType::A).await), ["192.0.2.10"]);
    world.command("resolver second truth plain.example").await;
    assert_eq!(a_of(&resolve(&world, SECOND, "plain.example", RecordType::A).await), ["192.0.2.10"]);
}

#[tokio::test]
async fn ttls_are_clamped_where_a_resolver_does_so() {
    let world = small().await;
    world.command("add long.plain.example 86400 A 192.0.2.1").await;
    world.command("add short.plain.example 1 A 192.0.2.2").await;
    world.command("resolver first max-ttl 3600").await;
    world.command("resolver first min-ttl 60").await;
    world.command("resolver first max-negative-ttl 30").await;
    let ttl = async |name: &str| resolve(&world, FIRST, name, RecordType::A).await.answers[0].ttl;
    assert_eq!(ttl("long.plain.example").await, 3600);
    assert_eq!(ttl("short.plain.example").await, 60);
    let missing = resolve(&world, FIRST, "none.plain.example", RecordType::A).await;
    assert_eq!(missing.authorities[0].ttl, 30);
    world.command("advance 1h").await;
    world.command("resolver first max-ttl none").await;
    assert_eq!(ttl("long.plain.example").await, 86_400);
}

#[tokio::test]
async fn memories_can_be_planted_and_flushed() {
    let world = small().await;
    world.command("resolver first prime plain.example A").await;
    world.command("resolver all prime-negative later.plain.example A").await;
    world.command("resolver second cache plain.example 500 A 192.0.2.55").await;
    world.command("resolver second cache plain.example 500 A 192.0.2.56").await;
    world.command("remove plain.example A").await;
    world.command("add later.plain.example 60 A 192.0.2.66").await;
    assert_eq!(a_of(&resolve(&world, FIRST, "plain.example", RecordType::A).await), ["192.0.2.10"]);
    let planted = resolve(&world, SECOND, "plain.example", RecordType::A).await;
    assert_eq!(a_of(&planted), ["192.0.2.55", "192.0.2.56"]);
    let later = resolve(&world, GUARD, "later.plain.example", RecordType::A).await;
    assert_eq!((code(&later), later.authorities[0].ttl), (ResponseCode::NXDomain, 1800));
    assert!(world.command("resolver guard flush plain.example").await.contains("1 answer(s)"));
    assert_eq!(a_of(&resolve(&world, GUARD, "later.plain.example", RecordType::A).await), ["192.0.2.66"]);
    world.command("resolver all flush").await;
    let gone = resolve(&world, SECOND, "plain.example", RecordType::A).await;
    assert_eq!((code(&gone), gone.answers.len()), (ResponseCode::NoError, 0));
}

#[tokio::test]
async fn a_domain_asked_for_before_its_registration_was_denied_by_the_registry() {
    let world = small().await;
    world.command("resolver first prime-negative plain.example A nxdomain 7200").await;
    let answer = resolve(&world, FIRST, "plain.example", RecordType::A).await;
    assert_eq!(code(&answer), ResponseCode::NXDomain);
    let soa = &answer.authorities[0];
    assert_eq!((soa.name.to_ascii().as_str(), soa.ttl), ("example.", 7200));
    assert!(matches!(&soa.data, RData::SOA(data) if data.minimum >= soa.ttl));
}

#[tokio::test]
async fn the_log_tells_clients_from_resolvers() {
    let world = small().await;
    assert_eq!(world.lab.query_log().resolvers_asked("plain.example"), 0);
    resolve(&world, FIRST, "plain.example", RecordType::A).await;
    resolve(&world, FIRST, "plain.example", RecordType::A).await;
    let log = world.lab.query_log();
    assert_eq!((log.resolvers_asked("plain.example"), log.of_resolver("first")), (2, 2));
    assert_eq!(log.of_resolver("second"), 0);
    assert_eq!(log.of_server(FIRST), 0, "a resolver is no authoritative server");
    assert!(log.asked("plain.example", "A") > 0, "it has asked those");
    let (_, text) = world.control("GET", "/queries", "", "").await;
    let seen: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(seen["per_resolver"][0]["via"], "udp");
    let (_, text) = world.control("GET", "/resolvers", "", "").await;
    assert!(text.contains("\"192.0.2.10\""), "{text}");
    world.command("reset-log").await;
    assert_eq!(world.lab.query_log().resolvers_asked("plain.example"), 0);
}

#[tokio::test]
async fn signatures_and_validation_reach_those_who_ask_for_them() {
    let world = small().await;
    let answer = try_resolve(&world, FIRST, "signed.example", RecordType::A, &signed()).await.unwrap();
    assert!(answer.metadata.authentic_data);
    assert!(answer.answers.iter().any(|r| r.record_type() == RecordType::RRSIG));
    let answer = resolve(&world, FIRST, "signed.example", RecordType::A).await;
    assert!(answer.answers.iter().all(|r| r.record_type() == RecordType::A), "from the cache, without them");
    let answer = try_resolve(&world, FIRST, "plain.example", RecordType::A, &signed()).await.unwrap();
    assert!(!answer.metadata.authentic_data);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn questions_and_changes_at_the_same_time_end() {
    let world = small().await;
    let changes = async {
        for i in 0..60 {
            world.command(&format!("add n{i}.plain.example 60 A 192.0.2.{i}")).await;
            world.command("resolver all flush").await;
            world.command("resolver all prime plain.example A").await;
            world.command("advance 30").await;
        }
    };
    let questions = async {
        for i in 0..60 {
            let name = format!("n{i}.plain.example");
            let ask = |host| resolve(&world, host, &name, RecordType::A);
            let (first, second, guard) = futures::join!(ask(FIRST), ask(SECOND), ask(GUARD));
            for answer in [first, second, guard] {
                assert!(matches!(code(&answer), ResponseCode::NoError | ResponseCode::NXDomain), "{name}");
            }
        }
    };
    tokio::time::timeout(PATIENCE, futures::future::join(changes, questions)).await.expect("no deadlock");
    world.command("resolver all flush").await;
    assert_eq!(a_of(&resolve(&world, FIRST, "n59.plain.example", RecordType::A).await), ["192.0.2.59"]);
}

#[tokio::test]
async fn a_single_address_is_enough() {
    let world = start_with(Scenario::named("small").unwrap(), true).await;
    assert_eq!(a_of(&resolve(&world, FIRST, "www.plain.example", RecordType::A).await), ["192.0.2.10"]);
    let how = Ask { tcp: true, ..Ask::default() };
    let answer = try_resolve(&world, SECOND, "www.plain.example", RecordType::A, &how).await.unwrap();
    assert_eq!(a_of(&answer), ["192.0.2.10"]);
}

#[tokio::test]
async fn bad_commands_and_scenarios_say_what_is_wrong() {
    let world = small().await;
    for (line, words) in [
        ("resolver nobody flush", "known: all, first, second, guard"),
        ("resolver first cache x", "cache NAME TTL TYPE DATA"),
        ("resolver first prime plain.example NONSENSE", "no record type"),
        ("resolver first prime-negative plain.example A soon", "prime-negative NAME TYPE"),
        ("resolver first prime loop..x A", "not a name"),
    ] {
        let error = match line.parse() {
            Ok(command) => world.lab.apply(command).await.unwrap_err().to_string(),
            Err(said) => said,
        };
        assert!(error.contains(words), "{line}: {error}");
    }
    let parse = |row: &str| Scenario::parse(&format!("name = \"x\"\n[[resolver]]\n{row}"), "x.toml");
    for (row, words) in [
        ("id = \"All\"\nname = \"A\"", "lower-case"),
        ("id = \"a\"\nname = \"A\"\nhost = \"a.example\"", "under `lab`"),
        ("id = \"a\"\nname = \"A\"\nfiltering = \"x\"", "filtering"),
        ("id = \"a\"\nname = \"A\"\ntransports = []", "transports"),
        ("id = \"a\"\nname = \"A\"\nspeed = 1", "speed"),
    ] {
        let said = parse(row).unwrap_err().to_string();
        assert!(said.contains(words), "{row}: {said}");
    }
    let scenario = parse("id = \"a\"\nname = \"A\"\ncached = [\"nonsense\"]").unwrap();
    let dir = tempfile::TempDir::new().unwrap();
    let options = lab::Options::new(scenario, dir.path(), NOW.parse().unwrap());
    let said = lab::Lab::start(options).await.err().unwrap().to_string();
    assert!(said.contains("[[resolver]] a") && said.contains("x.toml"), "{said}");
}
