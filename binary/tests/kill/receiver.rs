//! A webhook receiver that counts how often each message arrived.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

type Ids = Arc<Mutex<BTreeMap<String, u32>>>;

pub struct Receiver {
    port: u16,
    ids: Ids,
    task: tokio::task::JoinHandle<()>,
}

impl Receiver {
    pub async fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, ids) = (listener.local_addr().unwrap().port(), Ids::default());
        let counted = ids.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that is killed in the middle of a request has sent nothing.
                tokio::spawn(serve(stream, counted.clone()));
            }
        });
        Receiver { port, ids, task }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// How many ids arrived.
    pub fn count(&self) -> usize {
        self.ids.lock().unwrap().len()
    }

    /// How often each id arrived.
    pub fn ids(&self) -> BTreeMap<String, u32> {
        self.ids.lock().unwrap().clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(stream: TcpStream, ids: Ids) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut id, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':') {
                match name.to_ascii_lowercase().as_str() {
                    "webhook-id" => id = value.trim().to_string(),
                    "content-length" => length = value.trim().parse().unwrap_or(0),
                    _ => {}
                }
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        *ids.lock().unwrap().entry(id).or_default() += 1;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await?;
    }
}
