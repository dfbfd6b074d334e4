//! Real and faulty language servers.
//!
//! clangd, pyright and typescript-language-server come from `cargo xtask ci`. Elsewhere, the test of a missing server
//! prints a message and passes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a failed preparation is a failed test"
)]

mod misbehaving_servers;
mod real_servers;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lsp::{LanguageServerSpec, LanguageServers, LspLimits, builtin_servers};
use sandbox::ProcessEnvironment;
use tempfile::TempDir;
use workspace::Workspace;

/// A project on disk with its servers.
struct Fixture {
    folder: TempDir,
    servers: LanguageServers,
}

const NONE: [&str; 0] = [];

impl Fixture {
    fn new(files: &[(&str, &str)], specs: Vec<LanguageServerSpec>, limits: LspLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let modules = std::env::var("HEW_NODE_MODULES").unwrap_or_default();
        let path = format!("{modules}/.bin:{}", std::env::var("PATH").unwrap());
        let home = folder.path().join("home");
        let variables = [("PATH", path), ("HOME", home.display().to_string())];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let environment = ProcessEnvironment::scrubbed(variables, &NONE, &NONE);
        let project = folder.path().join("project");
        fs::create_dir_all(&home).unwrap();
        fs::create_dir(&project).unwrap();
        let workspace = Workspace::open(&project).unwrap();
        let fixture = Self {
            folder,
            servers: LanguageServers::new(workspace, environment, None, specs, limits),
        };
        for (path, text) in files {
            fixture.write(path, text);
        }
        fixture
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("project").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.path(path), text).unwrap();
    }

    /// The new diagnostics after a file changed.
    async fn change(&self, path: &str, text: &str) -> Vec<String> {
        let before = self.servers.baseline(vec![self.path(path)]).await;
        self.write(path, text);
        let new = self.servers.new_diagnostics_since(before).await;
        let shown = new.iter().map(|one| {
            let name = one.path.file_name().unwrap().to_string_lossy();
            format!("{name}:{} {}", one.line, one.message)
        });
        shown.collect()
    }
}

/// Long timeouts, because test machines are slow.
fn long_limits() -> LspLimits {
    LspLimits {
        wait: Duration::from_secs(60),
        start: Duration::from_secs(60),
        ..LspLimits::default()
    }
}

/// The server with this name; `None` if it is not installed and not required.
fn only(name: &str, file: &str) -> Option<Vec<LanguageServerSpec>> {
    let specs: Vec<LanguageServerSpec> = builtin_servers().into_iter().filter(|spec| spec.name == name).collect();
    let fixture = Fixture::new(&[], specs.clone(), long_limits());
    if fixture.servers.serves(Path::new(file)) {
        return Some(specs);
    }
    assert!(
        std::env::var_os("HEW_NODE_MODULES").is_none(),
        "{name} is not installed"
    );
    println!("skipped: {name} is not installed");
    None
}
