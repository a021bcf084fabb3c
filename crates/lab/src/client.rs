//! The other end of the control endpoint, for `domainscope lab ctl` and for tests in other languages' place.
//! In: the endpoint's address and lines of text (or JSON). Out: what the lab said.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::Error;

const PATIENCE: Duration = Duration::from_secs(10);
const LARGEST: u64 = 64 << 20;

async fn exchange(control: SocketAddr, request: &str) -> std::io::Result<String> {
    let talk = async {
        let mut stream = TcpStream::connect(control).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.take(LARGEST).read_to_string(&mut answer).await?;
        Ok(answer)
    };
    timeout(PATIENCE, talk).await.map_err(std::io::Error::other)?
}

async fn ask(control: SocketAddr, request: &str) -> Result<String, Error> {
    let unreachable = |e: std::io::Error| Error::Command(format!("no lab answers at {control}: {e}"));
    let answer = exchange(control, request).await.map_err(unreachable)?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .ok_or_else(|| Error::Command(format!("what answers at {control} is no lab")))?;
    if head.split(' ').nth(1) == Some("200") {
        Ok(body.to_owned())
    } else {
        Err(Error::Command(body.trim().to_owned()))
    }
}

/// Sends commands, one a line or as JSON, and returns what happened, one line each.
///
/// # Errors
/// [`Error::Command`] with the lab's reason, or when no lab is there.
pub async fn send(control: SocketAddr, commands: &str) -> Result<String, Error> {
    let length = commands.len();
    ask(
        control,
        &format!("POST /commands HTTP/1.0\r\nHost: {control}\r\nContent-Length: {length}\r\n\r\n{commands}"),
    )
    .await
}

/// Reads `/`, `/state`, `/queries` or `/faults`.
///
/// # Errors
/// [`Error::Command`] with the lab's reason, or when no lab is there.
pub async fn read(control: SocketAddr, path: &str) -> Result<String, Error> {
    ask(control, &format!("GET {path} HTTP/1.0\r\nHost: {control}\r\n\r\n")).await
}
