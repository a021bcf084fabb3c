//! TLS records of HTTP/2 responses: each response ends its own record, and all of them leave in one write.
//!
//! Some DoH clients, dnsperf among them, handle one response per `SSL_read`, that is per TLS record, and lose the others
//! in it. A record per response costs about 30 octets each and no system call: rustls queues the records, and a flush
//! sends them with one `writev`.

use std::io::{Result, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

/// Octets queued in rustls above which a write first sends what is queued.
const MAX_QUEUED: usize = 16 * 1024;

/// A TLS connection that ends a record at the end of every HTTP/2 response. HTTP/1.1 passes unchanged.
///
/// Writes are only queued: the caller must flush, as `h2` does after every batch of frames.
pub(super) struct RecordPerResponse<IO> {
    stream: TlsStream<IO>,
    /// `None` when the client did not negotiate HTTP/2.
    frames: Option<Frames>,
    queued: usize,
}

impl<IO> RecordPerResponse<IO> {
    /// Wraps a connection whose handshake is complete.
    pub(super) fn new(stream: TlsStream<IO>) -> Self {
        let frames = (stream.get_ref().1.alpn_protocol() == Some(b"h2")).then(Frames::default);
        RecordPerResponse { stream, frames, queued: 0 }
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncRead for RecordPerResponse<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncWrite for RecordPerResponse<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<Result<usize>> {
        let this = &mut *self;
        let Some(frames) = &mut this.frames else {
            return Pin::new(&mut this.stream).poll_write(cx, buf);
        };
        if this.queued >= MAX_QUEUED {
            ready!(Pin::new(&mut this.stream).poll_flush(cx))?;
            this.queued = 0;
        }
        let mut writer = this.stream.get_mut().1.writer();
        let mut accepted = 0;
        while accepted < buf.len() {
            let rest = &buf[accepted..];
            let mut after = *frames;
            let record = &rest[..after.response_end(rest)];
            let written = writer.write(record)?;
            accepted += written;
            if written < record.len() {
                // The queue is full, or the traffic keys must be updated first.
                frames.response_end(&record[..written]);
                break;
            }
            *frames = after;
        }
        this.queued += accepted;
        if accepted == 0 && !buf.is_empty() {
            ready!(Pin::new(&mut this.stream).poll_flush(cx))?;
            this.queued = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(accepted))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.queued = 0;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Follows the frames of one direction of an HTTP/2 connection (RFC 9113 section 4.1).
#[derive(Debug, Clone, Copy, Default)]
struct Frames {
    /// The header of the current frame, as far as it has been seen.
    header: [u8; Self::HEADER],
    seen: usize,
    /// Octets of the payload still to come.
    payload: usize,
}

impl Frames {
    const HEADER: usize = 9;

    /// Consumes `octets` up to the end of the first frame that ends a response; returns how many that are, or all of
    /// them when no response ends in them.
    fn response_end(&mut self, octets: &[u8]) -> usize {
        let mut at = 0;
        while at < octets.len() {
            if self.seen < Self::HEADER {
                let take = (Self::HEADER - self.seen).min(octets.len() - at);
                self.header[self.seen..self.seen + take].copy_from_slice(&octets[at..at + take]);
                self.seen += take;
                at += take;
                if self.seen < Self::HEADER {
                    break;
                }
                let [a, b, c, ..] = self.header;
                self.payload = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
            }
            let take = self.payload.min(octets.len() - at);
            self.payload -= take;
            at += take;
            if self.payload == 0 {
                self.seen = 0;
                if self.ends_stream() {
                    break;
                }
            }
        }
        at
    }

    /// DATA and HEADERS carry END_STREAM; other frames use the same bit for other purposes.
    fn ends_stream(&self) -> bool {
        let [_, _, _, kind, flags, ..] = self.header;
        matches!(kind, 0 | 1) && flags & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: u8 = 0;
    const HEADERS: u8 = 1;
    const SETTINGS: u8 = 4;

    fn frame(kind: u8, flags: u8, payload: usize) -> Vec<u8> {
        let mut out = (payload as u32).to_be_bytes()[1..].to_vec();
        out.extend([kind, flags, 0, 0, 0, 1]);
        out.resize(9 + payload, 0xAA);
        out
    }

    /// Lengths of the records that these writes become.
    fn records(writes: &[&[u8]]) -> Vec<usize> {
        let mut frames = Frames::default();
        let mut out = Vec::new();
        for write in writes {
            let mut rest = *write;
            while !rest.is_empty() {
                let length = frames.response_end(rest);
                out.push(length);
                rest = &rest[length..];
            }
        }
        out
    }

    #[test]
    fn a_record_ends_with_each_response() {
        let response = [frame(HEADERS, 4, 30), frame(DATA, 1, 468)].concat();
        let empty = frame(HEADERS, 5, 20);
        let all = [frame(SETTINGS, 1, 0), response.clone(), empty.clone(), response.clone()].concat();
        assert_eq!(records(&[&all]), [9 + response.len(), empty.len(), response.len()]);
        let unfinished = [frame(HEADERS, 4, 30), frame(DATA, 0, 16_384)].concat();
        let both = [unfinished.clone(), frame(DATA, 1, 5)].concat();
        assert_eq!(records(&[&both]), [both.len()], "DATA without END_STREAM does not end a response");
        assert_eq!(records(&[&frame(SETTINGS, 1, 0), &unfinished]), [9, unfinished.len()]);
    }

    #[test]
    fn where_the_writes_are_cut_does_not_matter() {
        let response = [frame(HEADERS, 4, 3), frame(DATA, 0, 2), frame(DATA, 1, 0)].concat();
        let all = response.repeat(3);
        for first in 0..all.len() {
            for second in first..all.len() {
                let cut = records(&[&all[..first], &all[first..second], &all[second..]]);
                let mut ends = Vec::new();
                let mut at = 0;
                for length in cut {
                    at += length;
                    ends.push(at);
                }
                for end in [1, 2, 3].map(|n| n * response.len()) {
                    assert!(ends.contains(&end), "cut at {first} and {second}: {ends:?}");
                }
                let expected: Vec<usize> = [first, second]
                    .into_iter()
                    .chain([1, 2, 3].map(|n| n * response.len()))
                    .filter(|n| *n > 0)
                    .collect();
                assert!(
                    ends.iter().all(|end| expected.contains(end)),
                    "cut at {first} and {second}: {ends:?}"
                );
            }
        }
    }
}
