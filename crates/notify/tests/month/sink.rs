//! A receiver of webhooks that remembers the events in them.

use serde_json::Value;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// An event that arrived.
#[derive(Debug, Clone)]
pub struct Arrived {
    pub channel: String,
    pub domain: String,
    pub id: i64,
    pub kind: String,
}

pub struct Sink {
    port: u16,
    seen: Arc<Mutex<Vec<Arrived>>>,
}

impl Sink {
    pub async fn start() -> Sink {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let all = seen.clone();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(take(connection, all.clone()));
            }
        });
        Sink { port, seen }
    }

    /// Where a channel posts to.
    pub fn url(&self, channel: &str) -> String {
        format!("http://127.0.0.1:{}/{channel}", self.port)
    }

    /// The events that arrived, in order.
    pub fn seen(&self) -> Vec<Arrived> {
        self.seen.lock().unwrap().clone()
    }
}

/// Reads one request, remembers its events, and accepts it.
async fn take(mut connection: TcpStream, all: Arc<Mutex<Vec<Arrived>>>) {
    let mut read = Vec::new();
    let (head, body) = loop {
        let mut buffer = [0; 16 * 1024];
        match connection.read(&mut buffer).await {
            Ok(n) if n > 0 => read.extend_from_slice(&buffer[..n]),
            _ => return,
        }
        let Some(end) = read.windows(4).position(|w| w == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&read[..end]).to_ascii_lowercase();
        let length =
            head.lines().find_map(|l| l.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
        if let Some(body) = read.get(end + 4..end + 4 + length.unwrap_or(0)) {
            break (head, body.to_vec());
        }
    };
    let channel = head.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_string();
    let body: Value = serde_json::from_slice(&body).unwrap();
    for domain in body["data"]["domains"].as_array().unwrap() {
        for e in domain["events"].as_array().unwrap() {
            let arrived = Arrived {
                channel: channel.clone(),
                domain: domain["domain"].as_str().unwrap().into(),
                id: e["id"].as_i64().unwrap(),
                kind: e["kind"].as_str().unwrap().into(),
            };
            all.lock().unwrap().push(arrived);
        }
    }
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let _ = connection.write_all(answer).await;
}
