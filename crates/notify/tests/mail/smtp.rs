//! A real SMTP server in a process of its own, and the mails it took.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Debian's own Python first: a version manager's does not see Debian's packages.
fn python() -> &'static str {
    let there = |p: &&str| {
        let asked = Command::new(p).args(["-c", "import aiosmtpd"]).stderr(Stdio::null()).status();
        asked.is_ok_and(|s| s.success())
    };
    ["/usr/bin/python3", "python3"]
        .into_iter()
        .find(there)
        .expect("these tests need aiosmtpd: cargo xtask setup, or apt-get install python3-aiosmtpd")
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mail").join(name)
}

/// A certificate authority and its certificate for localhost.
pub struct Mailbox {
    ca: String,
    certificate: String,
    key: String,
}

impl Mailbox {
    pub fn authority() -> Mailbox {
        use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        let own = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec!["localhost".to_string()]).unwrap();
        let certificate = leaf.signed_by(&own, &issuer).unwrap().pem();
        Mailbox { ca, certificate, key: own.serialize_pem() }
    }

    pub fn pem(&self) -> Vec<u8> {
        self.ca.clone().into_bytes()
    }

    /// The certificate of localhost and its key as files of a folder.
    pub fn files(&self, folder: &Path) -> (PathBuf, PathBuf) {
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        (write("certificate.pem", &self.certificate), write("key.pem", &self.key))
    }
}

pub struct Server {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Server {
    pub async fn start(behaviour: &str) -> Server {
        Server::launch(behaviour, None)
    }

    pub async fn start_tls(behaviour: &str, mailbox: &Mailbox) -> Server {
        Server::launch(behaviour, Some(mailbox))
    }

    fn launch(behaviour: &str, mailbox: Option<&Mailbox>) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(python());
        command.arg(script("server.py")).arg(folder.path()).arg(behaviour);
        if let Some(m) = mailbox {
            let (certificate, key) = m.files(folder.path());
            command.args([certificate, key]);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse().expect("the server prints its port");
        Server { child, port, folder }
    }

    pub fn url(&self, query: &str) -> String {
        self.url_of("127.0.0.1", query)
    }

    pub fn url_of(&self, host: &str, query: &str) -> String {
        format!("smtp://{host}:{}{query}", self.port)
    }

    /// Every mail it took, in order.
    pub async fn mails(&self) -> Vec<Value> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|p| p.extension().is_some_and(|e| e == "eml"))
            .collect();
        files.sort();
        files.iter().map(|f| read(f)).collect()
    }
}

/// A mail as a mail program shows it.
pub fn read(file: &Path) -> Value {
    let out = Command::new(python()).arg(script("read.py")).arg(file).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
