//! Allocates 100,000 prefixes out of one block and looks addresses up in it; prints times.
//! `cargo run --release -p domainscope-numbers --example scale`

use numbers::{
    AddressRequest, ClaimSpec, ClaimStatus, Holder, Holding, IpNet, Policy, Reference, Space, allocate,
};
use std::time::{Duration, Instant};

const COUNT: usize = 100_000;

fn p99(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() * 99 / 100]
}

fn main() {
    let (mut space, policy) = (Space::default(), Policy::default());
    let now = jiff::Timestamp::UNIX_EPOCH;
    let block: IpNet = "10.0.0.0/8".parse().expect("a prefix");
    let reference = Reference { group: String::new(), resource: "scale".into() };
    let (mut times, begin) = (Vec::with_capacity(COUNT), Instant::now());
    for i in 0..COUNT {
        let len = 26 + u8::try_from(i % 5).unwrap_or(0);
        let request = AddressRequest {
            from: Some(block.to_string()),
            prefix_length: Some(len),
            reference: reference.clone(),
            ..AddressRequest::default()
        };
        let spec = ClaimSpec { address_space: vec![request] };
        let claim = format!("c{i}");
        let start = Instant::now();
        let status = allocate(&space, &policy, (1, &claim), &spec, &ClaimStatus::default(), now);
        let (prefix, record) = status.allocated().next().expect("the block is large enough");
        let holder = Holder {
            tenant: 1,
            claim,
            reference: record.reference.clone(),
            description: String::new(),
            since: now,
        };
        space.insert(Holding { prefix, holder });
        times.push(start.elapsed());
        // Every seventh is released again at once, which leaves gaps.
        if i % 7 == 0 {
            space.remove(&prefix, 1, &format!("c{i}"));
        }
    }
    println!("{COUNT} allocations in {:?}, p99 {:?}", begin.elapsed(), p99(&mut times));
    let mut times: Vec<Duration> = Vec::with_capacity(COUNT);
    let mut covered = 0;
    for i in 0..COUNT {
        let address = std::net::Ipv4Addr::from(0x0a00_0000 + u32::try_from(i * 37).unwrap_or(0)).into();
        let start = Instant::now();
        covered += usize::from(space.covering(1, address).is_some());
        times.push(start.elapsed());
    }
    println!(
        "{} prefixes held; who covers: p99 {:?}, {covered} of {COUNT} covered",
        space.len(),
        p99(&mut times)
    );
}
