//! A small lab in a process of its own, and the program in front of it.

use crate::support::{Running, program};
use std::path::PathBuf;
use std::process::Output;

pub struct Lab {
    _running: Running,
    pub folder: tempfile::TempDir,
}

impl Lab {
    pub fn start() -> Lab {
        let folder = tempfile::tempdir().unwrap();
        let mut command = program();
        command.args(["lab", "start", "small", "--state"]).arg(folder.path());
        let (running, _) = Running::until(command, "Stop with Ctrl-C");
        Lab { _running: running, folder }
    }

    pub fn engine(&self) -> PathBuf {
        self.folder.path().join("engine.toml")
    }

    /// A domain of the scenario that is registered.
    pub fn domain(&self) -> String {
        let text = std::fs::read_to_string(self.folder.path().join("endpoints.json")).unwrap();
        let at: serde_json::Value = serde_json::from_str(&text).unwrap();
        at["domains"][0].as_str().unwrap().to_string()
    }

    pub fn run(&self, args: &[&str]) -> Output {
        program().args(args).arg("--config").arg(self.engine()).output().unwrap()
    }
}
