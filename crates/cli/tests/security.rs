//! Attacks from outside: the real binary, a scripted model that is hostile, and hostile repositories.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod security {
    pub(crate) mod denied_files;
    pub(crate) mod environment;
    pub(crate) mod escapes;
    pub(crate) mod git_later;
    pub(crate) mod nesting;
    pub(crate) mod network_hosts;
    pub(crate) mod shell_lines;
    pub(crate) mod untrusted;
}

use serde_json::Value;
use testkit::{Hew, Output, Project, Script, Server, Turn};

const MODEL: &str = "anthropic/claude-sonnet-4-6";

/// A user with a configuration, a project and hew.
pub(crate) struct Fixture {
    pub(crate) project: Project,
    pub(crate) hew: Hew,
}

impl Fixture {
    pub(crate) fn new(config: &str, files: &[(&str, &str)]) -> Self {
        let project = Project::new(files).unwrap();
        let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap();
        let folder = hew.home().join(".config/hew");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), config).unwrap();
        let hew = hew.env("HEW_TITLE", "false").current_dir(project.root());
        Fixture { project, hew }
    }

    pub(crate) fn with_variables(mut self, variables: &[(&str, &str)]) -> Self {
        for (name, value) in variables {
            self.hew = self.hew.env(name, value);
        }
        self
    }

    /// Runs a command of hew.
    pub(crate) async fn hew(&self, args: &[&str]) -> Output {
        self.hew.clone().args(args).run().await.unwrap()
    }

    /// Runs these turns and returns the results sent to the model.
    pub(crate) async fn run(&self, turns: Vec<Turn>, args: &[&str]) -> (Vec<String>, Output) {
        let script = Script::new().turns(turns).turn(Turn::text("Done."));
        let server = Server::start(script).await.unwrap();
        let hew = self.hew.clone().with_server(&server).args(["run", "-m", MODEL]);
        let output = hew.args(args).arg("go").run().await.unwrap();
        let last = server.main_requests().last().map(|request| request.parsed().unwrap());
        let results = last.iter().flat_map(|last| last.results());
        (results.map(|result| result.text.clone()).collect(), output)
    }

    /// Runs these calls in order.
    pub(crate) async fn calls(&self, calls: &[(&str, Value)]) -> (Vec<String>, Output) {
        let turns = calls.iter().map(|(name, input)| Turn::calls(*name, input.clone()));
        self.run(turns.collect(), &[]).await
    }
}
