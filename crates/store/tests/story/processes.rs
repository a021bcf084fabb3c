//! Two processes on PostgreSQL that claim from one block at the same time: no address is held twice at any position of the
//! change log, and at the end every address is held or can be claimed.

use crate::cluster::Cluster;
use crate::world::{ONE, Place, now};
use model::account::Actor;
use model::ids::LogPosition;
use numbers::prefix::overlaps;
use numbers::{AddressRequest, ClaimSpec, IpNet, Policy, Reference};
use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use store::{Error, NetworkClaimWrite, Store, StoredNetworkClaim};

/// Set for the children, which are this program again: URL, name and seconds.
const CHILD: &str = "STORE_STORY_CLAIMER";
/// Small enough to be full most of the time, so that what one releases the other gets.
const BLOCK: &str = "10.0.0.0/22";

fn draft(name: &str, request: AddressRequest) -> NetworkClaimWrite {
    NetworkClaimWrite {
        org: ONE,
        name: name.into(),
        expected: None,
        metadata: "{}".into(),
        spec: ClaimSpec { address_space: vec![request] },
        policy: Policy::default(),
        limit: u64::MAX,
        dry_run: false,
    }
}

fn out_of_the_block(len: u8) -> AddressRequest {
    let reference = Reference { group: String::new(), resource: "story".into() };
    AddressRequest {
        from: Some(BLOCK.into()),
        prefix_length: Some(len),
        reference,
        ..AddressRequest::default()
    }
}

/// A child's claims, each with whether its allocation was printed.
struct Claims {
    store: std::sync::Arc<dyn Store>,
    all: VecDeque<(String, bool)>,
}

impl Claims {
    /// Prints the allocation of a claim, once.
    fn note(claim: &StoredNetworkClaim, noted: &mut bool) {
        for (prefix, _) in claim.status.allocated().filter(|_| !*noted) {
            println!("\n+ {} {prefix}", claim.rv.0);
        }
        *noted |= claim.status.is_allocated();
    }

    /// Deletes the oldest claim as it is then: one that waited may be allocated at any moment.
    async fn release_oldest(&mut self) {
        let Some((name, mut noted)) = self.all.pop_front() else { return };
        loop {
            let claim = self.store.network_claim(ONE, &name).await.expect("reads").expect("is there");
            Self::note(&claim, &mut noted);
            let gone = self
                .store
                .delete_network_claim(&Actor::system(), ONE, &name, Some(claim.rv), &Policy::default(), now())
                .await;
            match gone {
                Ok(gone) => {
                    for (prefix, _) in gone.status.allocated() {
                        println!("\n- {} {prefix}", gone.rv.0);
                    }
                    return;
                }
                Err(Error::Conflict) => {}
                Err(e) => panic!("{e}"),
            }
        }
    }
}

/// The part of a child: claims until the time is over, and releases when the block is full.
async fn claim_for(url: &str, who: &str, time: Duration) {
    let store = Place::Postgres(url.into()).open().await;
    let mut claims = Claims { store, all: VecDeque::new() };
    println!("\nready");
    std::io::stdin().read_line(&mut String::new()).expect("the word to begin");
    let (begin, mut times) = (Instant::now(), Vec::new());
    for i in 0.. {
        if begin.elapsed() >= time {
            break;
        }
        let name = format!("{who}-{i}");
        let start = Instant::now();
        let request = out_of_the_block(26 + u8::try_from(i % 4).expect("small"));
        let made = claims
            .store
            .write_network_claim(&Actor::system(), &draft(&name, request), now())
            .await
            .expect("decides");
        times.push(start.elapsed());
        let mut noted = false;
        Claims::note(&made, &mut noted);
        claims.all.push_back((name, noted));
        if !made.status.is_allocated() {
            for _ in 0..8 {
                claims.release_oldest().await;
            }
        }
    }
    // Those that wait could be allocated by the other process at any time: with them the account would be open.
    for _ in 0..claims.all.len() {
        let (name, mut noted) = claims.all.pop_front().expect("counted");
        let claim = claims.store.network_claim(ONE, &name).await.expect("reads").expect("is there");
        Claims::note(&claim, &mut noted);
        if noted {
            claims.all.push_back((name, noted));
        } else {
            claims.all.push_front((name, noted));
            claims.release_oldest().await;
        }
    }
    times.sort();
    println!("\nend {} {}", times.len(), times[times.len() * 99 / 100].as_millis());
}

fn child(url: &str, who: &str, time: Duration) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "processes::two_processes_claim_from_one_block", "--nocapture"])
        .env(CHILD, format!("{url} {who} {}", time.as_secs()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child")
}

async fn two_processes(time: Duration) {
    let Some(cluster) = Cluster::start("-c fsync=off") else { return };
    let url = cluster.database("claims").await;
    let s = Place::Postgres(url.clone()).open().await;
    let mut children: Vec<_> = ["a", "b"].map(|who| child(&url, who, time)).into();
    let mut outputs: Vec<_> =
        children.iter_mut().map(|c| BufReader::new(c.stdout.take().expect("its output")).lines()).collect();
    for lines in &mut outputs {
        assert!(lines.any(|l| l.expect("reads") == "ready"), "a child ended before it began");
    }
    for child in &mut children {
        child.stdin.take().expect("its input").write_all(b"begin\n").expect("the child reads");
    }
    // Read side by side, so that neither waits for the other's pipe.
    let readers =
        outputs.into_iter().map(|lines| std::thread::spawn(move || lines.map_while(Result::ok).collect()));
    let readers: Vec<std::thread::JoinHandle<Vec<String>>> = readers.collect();
    let said: Vec<Vec<String>> = readers.into_iter().map(|r| r.join().expect("reads")).collect();
    for mut child in children {
        assert!(child.wait().expect("ends").success());
    }
    let mut steps: Vec<(LogPosition, bool, IpNet)> = Vec::new();
    for line in said.iter().flatten() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            [sign @ ("+" | "-"), rv, prefix] => {
                steps.push((LogPosition(rv.parse().unwrap()), sign == "+", prefix.parse().unwrap()));
            }
            ["end", claims, p99] => {
                println!("{claims} claims in {time:?} by one of two processes, p99 {p99} ms");
            }
            _ => {}
        }
    }
    steps.sort_by_key(|(rv, ..)| *rv);
    let mut held: HashMap<IpNet, LogPosition> = HashMap::new();
    for (rv, is_claim, prefix) in &steps {
        if *is_claim {
            let other = held.keys().find(|p| overlaps(p, prefix));
            assert_eq!(other, None, "{prefix} was allocated at {rv:?} over another claim");
            held.insert(*prefix, *rv);
        } else {
            assert!(held.remove(prefix).is_some(), "{prefix} was released at {rv:?} and not held");
        }
    }
    assert!(
        steps.iter().filter(|s| !s.1).count() > 20,
        "the block was full and released from: {}",
        steps.len()
    );
    // The store agrees, and what is free can be claimed to the last address.
    let claims = s.network_claims(ONE, "", 10_000).await.unwrap();
    let mut stored: Vec<IpNet> = claims.iter().flat_map(|c| c.status.allocated().map(|(p, _)| p)).collect();
    let mut known: Vec<IpNet> = held.into_keys().collect();
    stored.sort();
    known.sort();
    assert_eq!(stored, known);
    for (i, prefix) in numbers::RangeSet::of(&stored).free(&BLOCK.parse().unwrap()).iter().enumerate() {
        let request = AddressRequest {
            prefix: Some(prefix.to_string()),
            ..AddressRequest { from: None, prefix_length: None, ..out_of_the_block(32) }
        };
        let rest = s
            .write_network_claim(&Actor::system(), &draft(&format!("rest-{i}"), request), now())
            .await
            .unwrap();
        assert!(rest.status.is_allocated(), "{prefix} is free: {:?}", rest.status);
    }
    let full =
        s.write_network_claim(&Actor::system(), &draft("full", out_of_the_block(32)), now()).await.unwrap();
    assert!(!full.status.is_allocated(), "the whole block is held");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_claim_from_one_block() {
    let Ok(words) = std::env::var(CHILD) else { return two_processes(Duration::from_secs(5)).await };
    let [url, who, seconds] = words.split(' ').collect::<Vec<_>>()[..] else { panic!("{words}") };
    claim_for(url, who, Duration::from_secs(seconds.parse().expect("seconds"))).await;
}

/// `cargo xtask bench claims` runs it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes a minute"]
async fn two_processes_claim_from_one_block_for_a_minute() {
    two_processes(Duration::from_secs(60)).await;
}
