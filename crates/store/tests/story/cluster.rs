//! A private PostgreSQL cluster on a unix socket, for as long as its guard lives. A shell holds it and ends it when
//! its standard input closes, so it goes away even when the test process is killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The unprivileged user a root caller runs the server as, which refuses root.
const USER: &str = "nobody";

/// A running cluster.
pub struct Cluster {
    holder: Child,
    out: BufReader<ChildStdout>,
    folder: tempfile::TempDir,
}

const SCRIPT: &str = r#"
cd "$1" || exit 1
PATH="$2:$PATH"
initdb -D data -U story -A trust -E UTF8 --locale=C.UTF-8 --no-sync >init.log 2>&1 || { cat init.log >&2; exit 1; }
options="-c listen_addresses='' -c unix_socket_directories='$1' $3"
begin() { pg_ctl -D data -l server.log -w -t 60 -o "$options" start >start.log 2>&1; }
begin || { cat start.log server.log >&2; exit 1; }
echo ready
while read -r word; do
  case "$word" in
    stop) pg_ctl -D data -m fast -w -t 60 stop >stop.log 2>&1 && echo done || echo failed ;;
    start) begin && echo done || echo failed ;;
    standby)
      pg_basebackup -h "$1" -U story -D standby -R -X stream --no-sync --checkpoint=fast >backup.log 2>&1 &&
        pg_ctl -D standby -l standby.log -w -t 60 -o "$options -c port=5433" start >standby-start.log 2>&1 &&
        echo done || echo failed ;;
    # A fast stop sends the standby what was written. The promoted one then takes over the address.
    failover)
      pg_ctl -D data -m fast -w -t 60 stop >stop.log 2>&1 && pg_ctl -D standby -w -t 60 promote >promote.log 2>&1 &&
        pg_ctl -D standby -m fast -w -t 60 stop >>stop.log 2>&1 && rm -rf data && mv standby data && begin &&
        echo done || echo failed ;;
  esac
done
pg_ctl -D data -m immediate -w stop >/dev/null 2>&1
pg_ctl -D standby -m immediate -w stop >/dev/null 2>&1
rm -rf data standby ./*.log
"#;

impl Cluster {
    /// Starts a cluster; `None`, with a printed message, when PostgreSQL's programs are not installed.
    pub fn start(settings: &str) -> Option<Cluster> {
        let Some(programs) = programs() else {
            let words = "no initdb in PATH nor in /usr/lib/postgresql/*/bin (Debian: postgresql)";
            assert!(std::env::var_os("CI").is_none(), "{words}");
            println!("SKIPPED on PostgreSQL: {words}");
            return None;
        };
        let folder = tempfile::Builder::new().prefix("store-pg").tempdir().expect("a scratch folder");
        let root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout == b"0\n");
        let mut command = if root {
            let owned = Command::new("chown").arg(USER).arg(folder.path()).status();
            assert!(owned.is_ok_and(|s| s.success()), "chown of the scratch folder");
            let mut c = Command::new("runuser");
            c.args(["-u", USER, "--", "sh"]);
            c
        } else {
            Command::new("sh")
        };
        let mut holder = command
            .args(["-c", SCRIPT, "sh"])
            .arg(folder.path())
            .arg(programs)
            .arg(settings)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut line = String::new();
        let mut out = BufReader::new(holder.stdout.take().expect("its output"));
        let _ = out.read_line(&mut line);
        if line.trim() != "ready" {
            let mut why = String::new();
            if let Some(mut e) = holder.stderr.take() {
                let _ = e.read_to_string(&mut why);
            }
            panic!("PostgreSQL did not start: {why}");
        }
        Some(Cluster { holder, out, folder })
    }

    /// Stops the server: open connections are cut, what was committed stays.
    #[allow(dead_code, reason = "the tests of replicas use it")]
    pub fn stop(&mut self) {
        self.order("stop");
    }

    /// Starts it again after [`Cluster::stop`].
    #[allow(dead_code, reason = "the tests of replicas use it")]
    pub fn start_again(&mut self) {
        self.order("start");
    }

    /// Starts a standby that streams from the server.
    #[allow(dead_code, reason = "the tests of replicas use it")]
    pub fn add_standby(&mut self) {
        self.order("standby");
    }

    /// Stops the server and promotes the standby, which takes over its address.
    #[allow(dead_code, reason = "the tests of replicas use it")]
    pub fn fail_over(&mut self) {
        self.order("failover");
    }

    #[allow(dead_code, reason = "the tests of replicas use it")]
    fn order(&mut self, word: &str) {
        writeln!(self.holder.stdin.as_mut().expect("its input"), "{word}").expect("the shell reads");
        let mut line = String::new();
        self.out.read_line(&mut line).expect("the shell answers");
        assert_eq!(line.trim(), "done", "PostgreSQL: {word}");
    }

    /// URL of a database of the cluster.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://story@localhost/{database}?host={}", self.folder.path().display())
    }

    /// Makes an empty database and answers its URL.
    pub async fn database(&self, name: &str) -> String {
        use sqlx::{AssertSqlSafe, Connection};
        let mut c = sqlx::PgConnection::connect(&self.url("postgres")).await.expect("the cluster answers");
        sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}")))
            .execute(&mut c)
            .await
            .expect("a database");
        c.close().await.expect("closes");
        self.url(name)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}

fn programs() -> Option<PathBuf> {
    let in_path = std::env::var_os("PATH")
        .into_iter()
        .flat_map(|p| std::env::split_paths(&p).collect::<Vec<_>>())
        .find(|d| d.join("initdb").is_file() && d.join("pg_ctl").is_file());
    in_path.or_else(|| {
        let versions = std::fs::read_dir(Path::new("/usr/lib/postgresql")).ok()?;
        let mut found: Vec<_> =
            versions.flatten().map(|e| e.path().join("bin")).filter(|d| d.join("initdb").is_file()).collect();
        found.sort();
        found.pop()
    })
}
