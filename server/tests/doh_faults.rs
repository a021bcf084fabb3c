//! What hostile clients do to the TLS listener itself: frames of HTTP/2 in floods, handshakes and requests that stop half
//! way, places that are taken and not used. Each time someone else is answered, and the attacker's place is free again.

#[path = "doh_faults/frames.rs"]
mod frames;
#[path = "doh_faults/world.rs"]
mod world;

use frames::*;
use server::http::Limits;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use world::{LONG, path, world};

/// Writes until the server has had enough or so many octets are gone.
async fn flood(
    write: &mut (impl AsyncWriteExt + Unpin),
    piece: impl Fn(u32) -> Vec<u8>,
    most: usize,
) -> usize {
    let mut sent = 0;
    for n in 0.. {
        let piece = piece(n);
        if sent >= most || write.write_all(&piece).await.is_err() || write.flush().await.is_err() {
            break;
        }
        sent += piece.len();
    }
    sent
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_opened_and_reset_in_a_flood_end_the_connection() {
    // CVE-2023-44487. Names that take for ever: each would keep a lookup if nothing bounded them.
    let world = world(Limits::default()).await;
    let (mut read, mut write) = open(world.connect().await).await;
    let attack = tokio::spawn(async move {
        let burst = |n: u32| {
            let one = |n: u32| {
                let asked = request("GET", &path(&format!("n{n}.example")));
                let open = frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, &asked);
                [open, frame(RST_STREAM, 0, 2 * n + 1, &8u32.to_be_bytes())].concat()
            };
            (n * 100..n * 100 + 100).flat_map(one).collect()
        };
        flood(&mut write, burst, 64 << 20).await
    });
    let (code, kinds) = goodbye(&mut read).await;
    assert_eq!(code, Some(11), "ENHANCE_YOUR_CALM; {kinds:?}");
    drop(read);
    let sent = tokio::time::timeout(LONG, attack).await.expect("the flood ends").unwrap();
    assert!(sent < 64 << 20, "{sent}");
    assert!(world.backend.asked.load(Ordering::SeqCst) <= 64, "lookups are bounded");
    world.answers().await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_that_never_end_are_not_collected() {
    // CVE-2024-27316 and its kin.
    let world = world(Limits::default()).await;
    let (mut read, mut write) = open(world.connect().await).await;
    write.write_all(&frame(HEADERS, END_STREAM, 1, &request("GET", "/dns-query"))).await.unwrap();
    let attack = tokio::spawn(async move {
        let more = |n: u32| frame(CONTINUATION, 0, 1, &field(&format!("x-{n}"), &"v".repeat(8000)));
        flood(&mut write, more, 256 << 20).await
    });
    let (code, kinds) = goodbye(&mut read).await;
    assert!(code.is_some_and(|code| code != 0), "{code:?} {kinds:?}");
    drop(read);
    let sent = tokio::time::timeout(LONG, attack).await.expect("the flood ends").unwrap();
    assert!(sent < 64 << 20, "{sent} octets of headers were taken");
    world.answers().await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pings_and_settings_from_who_reads_nothing_are_not_queued_without_end() {
    let limits = Limits { io_timeout: Duration::from_secs(1), ..Limits::default() };
    let world = world(limits).await;
    for (what, kind) in [("pings", PING), ("settings", SETTINGS)] {
        // The reading half is kept and never read: answers have nowhere to go.
        let (read, mut write) = open(world.connect().await).await;
        let payload: &[u8] = if kind == PING { &[7; 8] } else { &[0, 3, 0, 0, 0, 9] };
        let burst = |_| frame(kind, 0, 0, payload).repeat(500);
        let flood = flood(&mut write, burst, 1 << 30);
        let sent =
            tokio::time::timeout(LONG, flood).await.expect("the server hangs up, or never stops reading");
        assert!(sent < 256 << 20, "{what}: {sent} octets were taken without an answer being read");
        drop(read);
        world.answers().await;
    }
    // Who reads the answers gets every one, and is served on.
    let (mut read, mut write) = open(world.connect().await).await;
    let asked = request("GET", &path("www.example"));
    let all = [frame(PING, 0, 0, &[7; 8]).repeat(50), frame(HEADERS, 5, 1, &asked)].concat();
    write.write_all(&all).await.unwrap();
    write.flush().await.unwrap();
    let served = async {
        let (mut pongs, mut answered) = (0, false);
        while pongs < 50 || !answered {
            let frame = next(&mut read).await.expect("the connection stays");
            pongs += usize::from(frame.kind == PING && frame.flags == ACK && frame.payload == [7; 8]);
            answered |= frame.kind == DATA;
        }
    };
    tokio::time::timeout(LONG, served).await.expect("pongs and the answer");
    world.end().await;
}

/// The octets that come until the server hangs up.
async fn rest(stream: &mut (impl AsyncReadExt + Unpin)) -> Vec<u8> {
    let mut said = Vec::new();
    // A hang-up in the middle of TLS is one too.
    let _ = tokio::time::timeout(LONG, stream.read_to_end(&mut said)).await.expect("the server hangs up");
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handshakes_headers_and_bodies_that_stop_half_way_are_given_up() {
    let limits = Limits { io_timeout: Duration::from_millis(500), ..Limits::default() };
    let world = world(limits).await;
    // The beginning of a ClientHello, and nothing.
    let mut half: Vec<TcpStream> = Vec::new();
    for n in 0..100 {
        let mut stream = TcpStream::connect(world.at).await.unwrap();
        stream.write_all(&[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3][..n % 12]).await.unwrap();
        half.push(stream);
    }
    let mut headers = world.connect().await;
    headers.write_all(b"GET /dns-query HTTP/1.1\r\nhost: localhost\r\nx-slow: ").await.unwrap();
    let mut body = world.connect().await;
    let post = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 20\r\n\r\nhalf";
    body.write_all(post).await.unwrap();
    let mut nothing = world.connect().await;
    let (mut preface, _) = tokio::io::split(world.connect().await);
    world.answers().await;
    for stream in &mut half {
        rest(stream).await;
    }
    rest(&mut headers).await;
    let said = rest(&mut body).await;
    assert!(said.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&said));
    rest(&mut nothing).await;
    rest(&mut preface).await;
    world.answers().await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_that_are_taken_and_not_used_become_free() {
    let limits = Limits { connections: 20, idle_timeout: Duration::from_millis(300), ..Limits::default() };
    let world = world(limits).await;
    let mut idle = Vec::new();
    for _ in 0..20 {
        let (mut read, mut write) = open(world.connect().await).await;
        // It has asked once, and answers pings as it should.
        let asked = request("GET", &path("www.example"));
        write.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &asked)).await.unwrap();
        write.flush().await.unwrap();
        idle.push(tokio::spawn(async move {
            while let Some(frame) = next(&mut read).await {
                if frame.kind == PING && frame.flags == 0 {
                    let pong = frames::frame(PING, ACK, 0, &frame.payload);
                    if write.write_all(&pong).await.is_err() || write.flush().await.is_err() {
                        break;
                    }
                }
            }
        }));
    }
    // Every place is taken: this one waits for a free one, and gets it.
    world.answers().await;
    for connection in idle {
        tokio::time::timeout(LONG, connection).await.expect("an idle connection is closed").unwrap();
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_large_is_refused_in_both_versions() {
    let world = world(Limits::default()).await;
    for (what, block) in [
        ("headers", [request("GET", &path("www.example")), field("x-much", &"v".repeat(40_000))].concat()),
        ("a question", request("GET", &format!("/dns-query?dns={}", "A".repeat(90_000)))),
    ] {
        let (mut read, mut write) = open(world.connect().await).await;
        let pieces: Vec<&[u8]> = block.chunks(16_000).collect();
        for (n, piece) in pieces.iter().enumerate() {
            let (kind, first) = if n == 0 { (HEADERS, END_STREAM) } else { (CONTINUATION, 0) };
            let last = if n + 1 == pieces.len() { END_HEADERS } else { 0 };
            if write.write_all(&frame(kind, first | last, 1, piece)).await.is_err() {
                break;
            }
        }
        let _ = write.flush().await;
        let refused = async {
            while let Some(frame) = next(&mut read).await {
                let status = frame.kind == HEADERS && frame.payload.windows(3).any(|w| w == b"431");
                let status = status || (frame.kind == HEADERS && !frame.payload.contains(&0x88));
                if status || frame.kind == RST_STREAM || frame.kind == GOAWAY {
                    return;
                }
                assert_ne!(frame.kind, DATA, "{what}: an answer");
            }
        };
        tokio::time::timeout(LONG, refused).await.expect("it is refused");
        let mut stream = world.connect().await;
        let line = match what {
            "headers" => format!("GET /dns-query HTTP/1.1\r\nhost: localhost\r\nx: {}", "v".repeat(1 << 20)),
            _ => format!("GET /dns-query?dns={} HTTP/1.1\r\nhost: localhost", "A".repeat(1 << 20)),
        };
        let said = async {
            // The server may hang up before all is written.
            let _ = stream.write_all(format!("{line}\r\n\r\n").as_bytes()).await;
            rest(&mut stream).await
        };
        let said = tokio::time::timeout(LONG, said).await.expect("it is refused");
        assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&said));
    }
    world.answers().await;
    world.end().await;
}

/// A question for the A records of www.example: id, flags, QDCOUNT and type as they are given.
fn question(id: u16, flags: [u8; 2], questions: u8, rtype: u16) -> Vec<u8> {
    let mut out = id.to_be_bytes().to_vec();
    out.extend([flags[0], flags[1], 0, questions, 0, 0, 0, 0, 0, 0]);
    for _ in 0..questions {
        out.extend(b"\x03www\x07example\0");
        out.extend(rtype.to_be_bytes());
        out.extend([0, 1]);
    }
    out
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mistakes_are_answered_alike_in_both_versions() {
    use axum::body::{Body, to_bytes};
    use hyper::Request;
    use hyper_util::rt::{TokioExecutor, TokioIo};
    let world = world(Limits::default()).await;
    let io = TokioIo::new(world.connect().await);
    let (mut two, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let wire = "application/dns-message";
    let good = question(0x1234, [1, 0], 1, 1);
    // Method, target, content type, body; status, then RCODE where the answer is a message.
    type Case<'a> = (&'a str, &'a str, &'a str, Vec<u8>, u16, Option<u8>);
    let cases: Vec<Case> = vec![
        ("POST", "/dns-query", wire, good.clone(), 200, Some(0)),
        ("POST", "/dns-query", "text/plain", good.clone(), 415, None),
        ("POST", "/dns-query", wire, vec![0; 65_536], 413, None),
        ("POST", "/dns-query", wire, Vec::new(), 400, None),
        ("POST", "/dns-query", wire, vec![0xFF; 40], 400, None),
        ("POST", "/dns-query", wire, question(0x1234, [1, 0], 2, 1), 200, Some(1)),
        ("POST", "/dns-query", wire, question(0x1234, [0x11, 0], 1, 1), 200, Some(4)),
        ("POST", "/dns-query", wire, question(0x1234, [1, 0], 1, 252), 200, Some(5)),
        ("POST", "/dns-query", wire, question(0x1234, [1, 0], 1, 255), 200, Some(0)),
        ("POST", "/resolve?name=www.example", wire, good.clone(), 405, None),
        ("PUT", "/dns-query", wire, good.clone(), 405, None),
        ("GET", "/dns-query", "", Vec::new(), 400, None),
        ("GET", "/dns-query?dns=AAAB+AAB/AAAAAA", "", Vec::new(), 400, None),
        ("GET", "/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlAAABAAE=", "", Vec::new(), 400, None),
        ("GET", "/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlAAABAAE", "", Vec::new(), 200, Some(0)),
        ("GET", "/resolve?name=a..b", "", Vec::new(), 400, None),
        ("OPTIONS", "/dns-query", "", Vec::new(), 204, None),
    ];
    for (n, (method, target, media, body, status, rcode)) in cases.into_iter().enumerate() {
        for second in [false, true] {
            let host = if second { "https://localhost" } else { "" };
            let request = || {
                let mut request = Request::builder().method(method).uri(format!("{host}{target}"));
                if !second {
                    request = request.header("host", "localhost");
                }
                if !media.is_empty() {
                    request = request.header("content-type", media);
                }
                request.body(Body::from(body.clone())).unwrap()
            };
            let answered = async {
                if second {
                    return two.send_request(request()).await;
                }
                // One each: a connection ends with a request whose body was not wanted. Where it ends while this client
                // still writes, the client may see the broken pipe before the answer: asked once more then.
                loop {
                    let io = TokioIo::new(world.connect().await);
                    let (mut one, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
                    tokio::spawn(connection);
                    match one.send_request(request()).await {
                        Err(e) if e.to_string().contains("writing a body") => {}
                        answer => return answer,
                    }
                }
            };
            let answer = tokio::time::timeout(LONG, answered).await.expect("an answer").unwrap();
            let what = format!("case {n}: {method} {target}, HTTP/2 {second}");
            assert_eq!(answer.status().as_u16(), status, "{what}");
            let said = to_bytes(Body::new(answer.into_body()), 1 << 20).await.unwrap();
            if let Some(rcode) = rcode {
                assert_eq!(said[3] & 15, rcode, "{what}");
                assert_eq!(said[..2], if method == "POST" { [0x12, 0x34] } else { [0, 0] }, "{what}");
            }
        }
    }
    world.end().await;
}
