//! Memory of one message and of one operation against servers that send as much as a message can hold, measured by the
//! allocator. The lab runs in the same process: its own buffers are counted too.

mod support;

use dns::checks::CheckOptions;
use dns::wire::{Reply, WireError};
use dns::{Engine, Error, Settings};
use lab::{Lab, Options, Scenario};
use model::names::Fqdn;
use peak_alloc::PeakAlloc;
use std::sync::Mutex;
use tempfile::TempDir;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// One measurement at a time: the allocator counts for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

const MB: usize = 1 << 20;
const NOW: &str = "2026-11-20T12:00:00Z";
/// The servers of `q7.io`.
const SERVERS: [&str; 3] = ["ns1.digitalocean.com", "ns2.digitalocean.com", "ns3.digitalocean.com"];
const MOST_FOR_A_MESSAGE: usize = 4 * MB;
const MOST_FOR_AN_OPERATION: usize = 64 * MB;

/// The most that was held at once while `work` ran, besides what was held before.
fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let done = work();
    (done, ALLOCATOR.peak_usage().saturating_sub(before))
}

/// A reply of as many copies of a record as 64 KB hold; `@` stands for a pointer to a name of 255 octets, in the question.
fn filled(rtype: u16, owner: &[u8], rdata: impl Fn(usize) -> Vec<u8>) -> Vec<u8> {
    let mut message = vec![0, 1, 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for length in [63u8, 63, 63, 61] {
        message.push(length);
        message.extend(std::iter::repeat_n(b'n', usize::from(length)));
    }
    message.push(0);
    message.extend([0, 1, 0, 1]);
    let mut count = 0u16;
    loop {
        let data = rdata(usize::from(count));
        if message.len() + owner.len() + 10 + data.len() > 65_535 || count == u16::MAX {
            break;
        }
        message.extend(owner);
        message.extend(rtype.to_be_bytes());
        message.extend([0, 1, 0, 0, 1, 44]);
        message.extend((data.len() as u16).to_be_bytes());
        message.extend(data);
        count += 1;
    }
    message[6..8].copy_from_slice(&count.to_be_bytes());
    message
}

/// A pointer to the long name, and to what is left of it after its first label.
const LONG: [u8; 2] = [0xC0, 12];
const SHORTER: [u8; 2] = [0xC0, 12 + 64];
const ROOT: [u8; 1] = [0];

/// A label of one's own before the long name without its first.
fn own(n: usize) -> Vec<u8> {
    let [.., a, b] = n.to_be_bytes();
    [&[2, b'a' + a % 26, b], &SHORTER[..]].concat()
}

#[test]
fn no_message_takes_more_than_four_megabytes() {
    let _alone = ALONE.lock().unwrap();
    let shapes: Vec<(&str, Vec<u8>)> = vec![
        ("NS with one long target", filled(2, &LONG, |_| LONG.to_vec())),
        ("NS with targets of their own", filled(2, &LONG, own)),
        ("SOA with two long names", filled(6, &LONG, |_| [&LONG[..], &LONG, &[0; 20]].concat())),
        ("MX", filled(15, &LONG, |_| [&[0, 1], &LONG[..]].concat())),
        ("RP, whose names stay octets", filled(17, &LONG, |_| [&LONG[..], &LONG].concat())),
        ("records without data", filled(65_280, &ROOT, |_| Vec::new())),
        ("A", filled(1, &ROOT, |_| vec![192, 0, 2, 1])),
        ("one TXT of empty strings", filled(16, &ROOT, |_| vec![0; 65_000])),
        ("one TXT of strings of one octet", filled(16, &ROOT, |_| [1, b'x'].repeat(32_000))),
        ("many TXT of empty strings", filled(16, &ROOT, |_| vec![0; 255])),
        (
            "NSEC with every type, often",
            filled(47, &ROOT, |_| {
                let window: Vec<u8> = [&[0, 32], &[0xFF; 32][..]].concat();
                [&ROOT[..], &window.repeat(1_900)].concat()
            }),
        ),
        ("RRSIG with long signers", filled(46, &LONG, |_| [&[0; 18], &LONG[..]].concat())),
        ("DS", filled(43, &ROOT, |_| vec![1; 36])),
        ("OPT with empty options", filled(41, &ROOT, |_| vec![0; 64_000])),
        ("many OPT", filled(41, &ROOT, |_| vec![0; 400])),
    ];
    for (name, message) in shapes {
        let (reply, octets) = peak(|| Reply::read(&message));
        eprintln!("{name}: {} KB of memory, {:?}", octets / 1024, reply.as_ref().map(|r| r.answers.len()));
        assert!(octets <= MOST_FOR_A_MESSAGE, "{name}: {octets} octets");
        if let Ok(reply) = reply {
            assert!(reply.memory <= dns::wire::MAX_MEMORY, "{name}");
        } else {
            assert_eq!(reply, Err(WireError::TooLarge), "{name}");
        }
    }
}

/// The demo Internet; the servers of `q7.io` have this fault.
async fn world(fault: &str) -> (Lab, Engine, TempDir) {
    let dir = TempDir::new().unwrap();
    let options = Options::new(Scenario::named("demo").unwrap(), dir.path(), NOW.parse().unwrap());
    let lab = Lab::start(options).await.unwrap();
    for server in SERVERS {
        lab.apply(format!("fault {server}/q7.io {fault}").parse().unwrap()).await.unwrap();
    }
    let asn_zone = lab.endpoints().asn_zone.clone();
    let settings = Settings { asn_zone, ..support::settings(&lab) };
    (lab, Engine::new(settings), dir)
}

#[test]
fn no_operation_takes_more_than_sixty_four_megabytes() {
    let _alone = ALONE.lock().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let zone = "q7.io";
    for fault in ["bomb", "many-records", "bomb 1000", "many-records 2000"] {
        let (lab, engine, _dir) = runtime.block_on(world(fault));
        let refused = fault.split(' ').count() == 1;
        let (trace, octets) = peak(|| runtime.block_on(engine.trace(&Fqdn::trusted("www.q7.io"), "A")));
        report("trace", fault, octets);
        let text = serde_json::to_string(&trace.unwrap()).unwrap();
        assert_eq!(refused, text.contains("its reply was not read"), "the note says what happened: {text}");
        let (scan, octets) = peak(|| {
            runtime.block_on(async {
                let delegation = engine.delegation(zone).await?;
                let _ = engine.dnssec(zone, NOW.parse().unwrap()).await;
                let _ = engine.zone_snapshot(zone, &delegation).await;
                Ok::<_, Error>(delegation)
            })
        });
        report("scan", fault, octets);
        drop(scan);
        let options = CheckOptions::new(NOW.parse().unwrap());
        let (check, octets) = peak(|| runtime.block_on(engine.check(zone, &options)));
        report("check", fault, octets);
        if let Err(failure) = check {
            assert!(matches!(failure, Error::TooMuchData { .. }), "{failure}");
        }
        let (chain, octets) = peak(|| {
            let question = dns::ChainQuestion::host();
            runtime.block_on(engine.chain(&Fqdn::trusted("www.q7.io"), &question))
        });
        report("chain", fault, octets);
        drop(chain);
        runtime.block_on(lab.shutdown());
    }
}

fn report(what: &str, fault: &str, octets: usize) {
    eprintln!("{what} against `{fault}`: {:.1} MB", octets as f64 / MB as f64);
    assert!(octets <= MOST_FOR_AN_OPERATION, "{what} against `{fault}`: {octets} octets");
}

#[test]
fn an_operation_past_its_budget_ends_with_an_error_that_says_so() {
    let _alone = ALONE.lock().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (lab, engine, _dir) = runtime.block_on(world("bomb 1000"));
    let small = Engine::new(Settings { memory: MB, ..engine.settings().clone() });
    let failure = runtime.block_on(small.delegation("q7.io")).unwrap_err();
    assert!(matches!(failure, Error::TooMuchData { .. }), "{failure}");
    assert!(failure.to_string().contains("more than the 1 MB of memory"), "{failure}");
    let trace = runtime.block_on(small.trace(&Fqdn::trusted("q7.io"), "NS")).unwrap();
    assert!(trace.notes.iter().any(|n| n.contains("1 MB of memory")), "{:?}", trace.notes);
    // The same servers without the fault fit many times over.
    let options = CheckOptions::new(NOW.parse().unwrap());
    for server in SERVERS {
        runtime.block_on(lab.apply(format!("fault {server}/q7.io none").parse().unwrap())).unwrap();
    }
    let fits = Engine::new(Settings { memory: 4 * MB, ..engine.settings().clone() });
    let report = runtime.block_on(fits.check("q7.io", &options)).unwrap();
    assert!(report.findings.len() > 50, "{}", report.findings.len());
    runtime.block_on(lab.shutdown());
}
