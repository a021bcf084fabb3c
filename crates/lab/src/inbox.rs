//! Messages that the lab received: mail at its SMTP server, bodies posted to its web servers.
//! In: connections on loopback. Out: the newest messages, for `GET /messages` of the control endpoint.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde::Serialize;
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::lab::Shared;

/// Messages that are kept; older ones are dropped.
const KEPT: usize = 500;
/// Octets of one message at most.
pub(crate) const LONGEST: usize = 1 << 20;
/// Octets of one SMTP command line at most.
const LINE: u64 = 4096;
/// How long a client may be silent.
const PATIENCE: Duration = Duration::from_secs(60);

/// A message as it arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Received {
    /// `smtp`, or the URL it was posted to.
    pub at: String,
    /// Recipients of a mail.
    pub to: Vec<String>,
    /// The identity its sender gave it: `webhook-id`, or the mail's `X-Domainscope-Message`.
    pub id: String,
    /// Status that the sender got.
    pub status: u16,
    /// The mail with its header, or the body.
    pub body: String,
}

/// The messages, newest last.
#[derive(Debug, Default)]
pub(crate) struct Inbox(Mutex<VecDeque<Received>>);

impl Inbox {
    pub(crate) fn put(&self, message: Received) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back(message);
        while kept.len() > KEPT {
            kept.pop_front();
        }
    }

    pub(crate) fn snapshot(&self) -> Vec<Received> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// The value of a header field of a mail.
fn field(mail: &str, name: &str) -> String {
    let fields = mail.lines().take_while(|line| !line.is_empty());
    let found = fields.filter_map(|line| line.split_once(':')).find(|(n, _)| n.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim().to_string()).unwrap_or_default()
}

/// Takes mail until stopped: every recipient is accepted, except those whose local part begins with `unknown`.
pub(crate) async fn serve(shared: Arc<Shared>, listener: TcpListener, stop: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else { continue };
        let (shared, stop) = (shared.clone(), stop.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                // A client that closes the connection early has ended its session; there is nothing to report.
                _ = session(&shared, stream) => {}
            }
        });
    }
}

async fn line(reader: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<String> {
    let mut octets = Vec::new();
    timeout(PATIENCE, reader.take(LINE).read_until(b'\n', &mut octets)).await??;
    if octets.is_empty() {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(String::from_utf8_lossy(&octets).trim_end_matches(['\r', '\n']).to_string())
}

/// One SMTP session (RFC 5321) without extensions.
async fn session(shared: &Shared, mut stream: TcpStream) -> std::io::Result<()> {
    let (reader, mut writer) = stream.split();
    let mut reader = BufReader::new(reader);
    writer.write_all(b"220 mail.lab ready\r\n").await?;
    let mut to: Vec<String> = Vec::new();
    loop {
        let command = line(&mut reader).await?;
        let upper = command.to_ascii_uppercase();
        let answer = match upper.split([' ', ':']).next().unwrap_or_default() {
            "EHLO" | "HELO" => "250 mail.lab",
            "MAIL" | "RSET" => {
                to.clear();
                "250 OK"
            }
            "RCPT" => {
                let address = command.split(['<', '>']).nth(1).unwrap_or_default().to_string();
                if address.starts_with("unknown") {
                    "550 5.1.1 no such mailbox"
                } else if to.len() >= 100 {
                    "452 4.5.3 too many recipients"
                } else {
                    to.push(address);
                    "250 OK"
                }
            }
            "DATA" if to.is_empty() => "503 5.5.1 no recipient",
            "DATA" => {
                writer.write_all(b"354 end with a line of one dot\r\n").await?;
                match data(&mut reader).await? {
                    Some(body) => {
                        let (id, to) = (field(&body, "X-Domainscope-Message"), std::mem::take(&mut to));
                        shared.inbox.put(Received { at: "smtp".into(), to, id, status: 250, body });
                        "250 2.0.0 accepted"
                    }
                    None => "552 5.3.4 message too large",
                }
            }
            "NOOP" => "250 OK",
            "QUIT" => {
                writer.write_all(b"221 bye\r\n").await?;
                return Ok(());
            }
            _ => "502 5.5.1 unknown command",
        };
        writer.write_all(format!("{answer}\r\n").as_bytes()).await?;
    }
}

/// The text of a mail up to the line of one dot; `None` when it was too long.
async fn data(reader: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Option<String>> {
    let (mut body, mut fits) = (String::new(), true);
    loop {
        let line = line(reader).await?;
        if line == "." {
            return Ok(fits.then_some(body));
        }
        fits &= body.len() + line.len() < LONGEST;
        if fits {
            body.push_str(line.strip_prefix('.').unwrap_or(&line));
            body.push('\n');
        }
    }
}
