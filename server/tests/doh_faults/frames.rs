//! Hand-written HTTP/2, for clients that do with its frames what no library would (RFC 9113 sections 4 and 6, RFC 7541).

use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const CONTINUATION: u8 = 9;

pub const END_STREAM: u8 = 1;
pub const ACK: u8 = 1;
pub const END_HEADERS: u8 = 4;

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
    out
}

/// A header field that is not remembered.
pub fn field(name: &str, value: &str) -> Vec<u8> {
    let mut out = vec![0];
    for text in [name, value] {
        // An integer with a prefix of seven bits.
        match text.len() {
            n @ 0..127 => out.push(n as u8),
            n => {
                out.push(127);
                let mut rest = n - 127;
                while rest >= 128 {
                    out.push((rest % 128) as u8 | 128);
                    rest /= 128;
                }
                out.push(rest as u8);
            }
        }
        out.extend(text.as_bytes());
    }
    out
}

/// The header block of a request.
pub fn request(method: &str, path: &str) -> Vec<u8> {
    [
        field(":method", method),
        field(":scheme", "https"),
        field(":path", path),
        field(":authority", "localhost"),
    ]
    .concat()
}

pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// Both halves of a connection whose preface and settings were exchanged.
pub async fn open<S: AsyncRead + AsyncWrite>(stream: S) -> (ReadHalf<S>, WriteHalf<S>) {
    let (read, mut write) = tokio::io::split(stream);
    write.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    write.write_all(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
    write.write_all(&frame(SETTINGS, ACK, 0, &[])).await.unwrap();
    write.flush().await.unwrap();
    (read, write)
}

/// The next frame; none when the connection has ended.
pub async fn next<S: AsyncRead + AsyncWrite>(read: &mut ReadHalf<S>) -> Option<Frame> {
    let mut head = [0; 9];
    read.read_exact(&mut head).await.ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; length as usize];
    read.read_exact(&mut payload).await.ok()?;
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & 0x7FFF_FFFF;
    Some(Frame { kind: head[3], flags: head[4], stream, payload })
}

/// Reads until the server says goodbye or hangs up: the code of its GOAWAY, if it said one, and how many frames came of
/// each kind.
pub async fn goodbye<S: AsyncRead + AsyncWrite>(read: &mut ReadHalf<S>) -> (Option<u32>, [usize; 16]) {
    let mut kinds = [0; 16];
    let ended = async {
        while let Some(frame) = next(read).await {
            kinds[usize::from(frame.kind) & 15] += 1;
            if frame.kind == GOAWAY {
                return Some(u32::from_be_bytes(frame.payload[4..8].try_into().unwrap()));
            }
        }
        None
    };
    let code = tokio::time::timeout(Duration::from_secs(30), ended).await.expect("the server ends it");
    (code, kinds)
}
