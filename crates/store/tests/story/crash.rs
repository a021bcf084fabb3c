//! SQLite under kill -9: a child process writes until it is killed; what it had said to be done is there afterwards,
//! nothing is there by halves, and the file is sound.

use crate::world::{ONE, Place, add, change, later, log, name, scan};
use model::event::EventQuery;
use model::ids::{LogPosition, Vantage};
use sqlx::{Connection, Row};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use store::Store;

/// Set for the child, which is this program again: the database it writes to.
const CHILD: &str = "STORE_STORY_CHILD";
/// Events that each scan of the child makes.
const EACH: u64 = 3;

/// The child's part: records one scan after another until it is killed.
async fn write_until_killed(place: &Place) {
    let s = place.open().await;
    for i in 1.. {
        let changes: Vec<_> = (0..EACH).map(|k| change(&format!("{i}.{k}"))).collect();
        let mut r = scan(&*s, "a.example", &changes, later(i)).await;
        r.snapshot = Some(vec!["x".repeat(2000)]);
        s.record(&r).await.expect("records");
        // Said only after it is committed.
        println!("\ndone {i}");
    }
}

async fn look(s: &dyn Store, path: &Path, said: i64) -> i64 {
    let version = s.observation(&name("a.example"), &Vantage::local()).await.unwrap().unwrap().version;
    assert!(version >= said, "version {version} after {said} scans were said to be recorded");
    let scans = u64::try_from(version).unwrap();
    let events = s.events(ONE, &EventQuery::default()).await.unwrap();
    assert_eq!(events.total, scans * EACH, "all events of every recorded scan, none of another");
    assert_eq!(s.counts(ONE, &name("a.example")).await.unwrap(), (scans, scans * EACH));
    let log = log(s, None, LogPosition(0), u32::MAX).await;
    assert_eq!(log.len() as u64, 1 + scans * (1 + EACH));
    assert_eq!(log.last().map(|l| l.rv), Some(s.head().await.unwrap()));
    let messages = s.outbox_stats().await.unwrap().waiting;
    assert_eq!(messages, scans, "a message for every recorded scan");
    let mut c = sqlx::SqliteConnection::connect(&format!("sqlite:{}", path.display())).await.unwrap();
    let verdict = sqlx::raw_sql("PRAGMA integrity_check").fetch_one(&mut c).await.unwrap();
    assert_eq!(verdict.get::<String, _>(0), "ok");
    version
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_writer_leaves_a_sound_file() {
    if let Some(path) = std::env::var_os(CHILD) {
        return write_until_killed(&Place::Sqlite(path.into())).await;
    }
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("story.db");
    let place = Place::Sqlite(path.clone());
    add(&*place.open().await, ONE, &["a.example"]).await;
    let mut so_far = 0;
    for round in 0..4 {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "crash::a_killed_writer_leaves_a_sound_file", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut said = 0;
        // Another number of scans each round; the kill falls wherever the next one has got to.
        while said < 5 + round * 7 {
            let line = lines.next().expect("the child lives").expect("reads");
            said += i64::from(line.starts_with("done "));
        }
        child.kill().expect("kill -9");
        child.wait().expect("is gone");
        said += lines.map_while(Result::ok).filter(|l| l.starts_with("done ")).count() as i64;
        let s = place.open().await;
        so_far = look(&*s, &path, so_far + said).await;
    }
}
