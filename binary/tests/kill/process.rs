//! A server as a process of its own that is killed when the test ends, however it ends.

use crate::support::program;
use crate::world::{KEY, Place, World};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

/// One replica.
pub struct Process {
    child: Child,
    health: SocketAddr,
}

impl Process {
    /// Starts a server over the data at `place`, with the lab underneath.
    pub fn spawn(world: &World, place: &Place) -> Process {
        Process::spawn_with(world, place, &[])
    }

    /// Starts a server with these variables in its environment.
    pub fn spawn_with(world: &World, place: &Place, variables: &[(&str, &str)]) -> Process {
        // The port is free until the server takes it: of another program's bind in between, the server says so and ends.
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let health = free.local_addr().unwrap();
        drop(free);
        let mut command = program();
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--interval", "86400", "--expiry-days", "365"])
            .args(["--concurrency", "3", "--registry-limits", "limits.toml", "--metrics-listen"])
            .arg(health.to_string())
            .arg("--config")
            .arg(&world.lab.endpoints().engine)
            .args([if matches!(place, Place::Folder(_)) { "--data" } else { "--database" }, place.at()])
            .env("DOMAINSCOPE_SECRET_KEY", KEY)
            .envs(variables.iter().copied())
            .current_dir(world.folder.path())
            .stdout(Stdio::null())
            .stderr(world.log());
        Process { child: command.spawn().unwrap(), health }
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Whether it ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Whether a name in the store is that of this process: it holds the process id.
    pub fn is_named(&self, name: &str) -> bool {
        let id = self.child.id().to_string();
        name.split('-').any(|part| part == id)
    }

    /// The status of `/readyz`; `None` while nothing listens.
    pub fn readyz(&self) -> Option<u16> {
        self.ask("/readyz").map(|(status, _)| status)
    }

    /// Status and body of an answer.
    pub fn ask(&self, path: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect_timeout(&self.health, Duration::from_secs(5)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.health).ok()?;
        let mut answer = BufReader::new(stream);
        let mut line = String::new();
        answer.read_line(&mut line).ok()?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut body = String::new();
        answer.read_to_string(&mut body).ok()?;
        Some((status, body))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
