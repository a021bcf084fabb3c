//! Other DoH servers as the source of answers: the lab's own resolvers, asked over connections that are cut and muted.

mod support;

use doh::{Bounds, Exposure, Resolver, Upstreams};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::world::{World, demo, set};
use support::*;
use tokio::sync::Notify;

/// DoH URL and address of the first of the lab's own resolvers.
fn lab_resolver(world: &World) -> (String, IpAddr) {
    let table = std::fs::read_to_string(&world.lab.endpoints().resolvers).unwrap();
    let line = table.lines().find_map(|line| line.strip_prefix("doh = ")).expect("a resolver with DoH");
    let url = line.trim_matches('"').to_string();
    let host = url.trim_start_matches("https://").split(':').next().unwrap();
    let address = world.lab.address_of(host).unwrap();
    (url, address.into())
}

struct Fixed(IpAddr);

#[async_trait::async_trait]
impl net::Resolve for Fixed {
    async fn resolve(&self, _: &str) -> Result<Vec<IpAddr>, String> {
        Ok(vec![self.0])
    }
}

#[tokio::test]
async fn other_doh_servers_can_be_the_source() {
    let world = demo().await;
    let dead = "https://dead.resolver.test:1/dns-query".to_string();
    let (url, address) = lab_resolver(&world);
    let dialer = net::Dialer::new(net::Settings {
        resolver: Arc::new(Fixed(address)),
        allow_private: true,
        extra_ca: Some(std::fs::read(&world.lab.endpoints().extra_ca).unwrap()),
        address_map: world.settings.address_map.clone(),
        ..net::Settings::default()
    })
    .unwrap();
    let upstreams = Upstreams::new(&[dead, url], dialer).unwrap();
    let bounds = Bounds { rate: 0, ..Bounds::default() };
    let resolver = Resolver::new(Arc::new(upstreams), &bounds, world.hand.clock());
    let router = doh::router(resolver, Exposure::All, false);
    for (name, rtype) in [("q7.io", 1), ("www.alder.example", 1), ("nothing.alder.example", 1), ("q7.io", 15)]
    {
        let ours = get(&world.router, &plain(name, rtype)).await.reply();
        let theirs = get(&router, &plain(name, rtype)).await.reply();
        assert_eq!(theirs.rcode, ours.rcode, "{name} {rtype}");
        assert_eq!(set(&theirs.answers), set(&ours.answers), "{name} {rtype}");
    }
    let only_dead = Upstreams::new(
        &["https://dead.resolver.test:1/dns-query".to_string()],
        net::Dialer::new(net::Settings {
            resolver: Arc::new(Fixed(address)),
            allow_private: true,
            ..Default::default()
        })
        .unwrap(),
    )
    .unwrap();
    let resolver = Resolver::new(Arc::new(only_dead), &bounds, world.hand.clock());
    let failed = get(&doh::router(resolver, Exposure::All, false), &plain("q7.io", 1)).await;
    assert_eq!((failed.reply().rcode, failed.header("cache-control")), (2, "no-store"));
    world.lab.shutdown().await;
}

/// A relay before an upstream that counts connections, and can cut or mute all of them.
struct Wire {
    at: std::net::SocketAddr,
    opened: Arc<AtomicUsize>,
    cut: Arc<Notify>,
    mute: Arc<Notify>,
}

async fn wire(to: std::net::SocketAddr) -> Wire {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let wire = Wire {
        at: listener.local_addr().unwrap(),
        opened: Arc::default(),
        cut: Arc::default(),
        mute: Arc::default(),
    };
    let (opened, cut, mute) = (wire.opened.clone(), wire.cut.clone(), wire.mute.clone());
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            opened.fetch_add(1, Ordering::SeqCst);
            let (cut, mute) = (cut.clone(), mute.clone());
            tokio::spawn(async move {
                let mut far = tokio::net::TcpStream::connect(to).await.unwrap();
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                    () = cut.notified() => {}
                    () = mute.notified() => std::future::pending().await,
                }
            });
        }
    });
    wire
}

#[tokio::test]
async fn all_questions_to_an_upstream_share_one_connection_and_a_lost_one_is_replaced() {
    let world = demo().await;
    let (url, address) = lab_resolver(&world);
    let port = url::Url::parse(&url).unwrap().port_or_known_default().unwrap();
    let asked_at = std::net::SocketAddr::new(address, port);
    let wire = wire(world.settings.address_map.dial(asked_at)).await;
    let looked_up = Arc::new(AtomicUsize::new(0));
    let dialer = net::Dialer::new(net::Settings {
        resolver: Arc::new(Counted(address, looked_up.clone())),
        allow_private: true,
        extra_ca: Some(std::fs::read(&world.lab.endpoints().extra_ca).unwrap()),
        address_map: [(asked_at, wire.at)].into_iter().collect(),
        ..net::Settings::default()
    })
    .unwrap();
    let upstreams = Upstreams::new(&[url], dialer).unwrap();
    let bounds = Bounds { rate: 0, ..Bounds::default() };
    let resolver = Resolver::new(Arc::new(upstreams), &bounds, world.hand.clock());
    let router = doh::router(resolver, Exposure::All, false);
    let ask = |from: usize, count: usize| {
        let router = router.clone();
        async move {
            let all = (from..from + count).map(|n| plain(&format!("n{n}.alder.example"), 1));
            let all = futures::future::join_all(all.map(|m| {
                let router = router.clone();
                async move { get(&router, &m).await.reply().rcode }
            }));
            all.await.into_iter().collect::<BTreeSet<u16>>()
        }
    };
    let opened = || wire.opened.load(Ordering::SeqCst);
    assert_eq!((ask(0, 50).await, opened()), (BTreeSet::from([3]), 1), "fifty at once");
    assert_eq!((ask(50, 1).await, opened()), (BTreeSet::from([3]), 1), "and one later");
    assert_eq!(looked_up.load(Ordering::SeqCst), 1, "nor is the server's name looked up each time");
    wire.cut.notify_waiters();
    assert_eq!((ask(60, 20).await, opened()), (BTreeSet::from([3]), 2), "cut: a new one, and no one notices");
    wire.mute.notify_waiters();
    // Dead without a word: what is asked over it is lost, and the next question does not wait for it.
    assert_eq!(ask(80, 5).await, BTreeSet::from([2]));
    assert_eq!((ask(90, 5).await, opened()), (BTreeSet::from([3]), 3));
    world.lab.shutdown().await;
}

struct Counted(IpAddr, Arc<AtomicUsize>);

#[async_trait::async_trait]
impl net::Resolve for Counted {
    async fn resolve(&self, _: &str) -> Result<Vec<IpAddr>, String> {
        self.1.fetch_add(1, Ordering::SeqCst);
        Ok(vec![self.0])
    }
}
