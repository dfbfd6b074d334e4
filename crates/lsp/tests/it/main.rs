//! Real language servers, and bad ones.
//!
//! clangd, pyright and typescript-language-server come from `cargo xtask ci`. Elsewhere, a test of a server that is not
//! on the machine says so and passes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a failed preparation is a failed test"
)]

mod bad;
mod real;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lsp::{Limits, Servers, Spec, known};
use sandbox::Environment;
use tempfile::TempDir;
use workspace::Workspace;

/// A project on disk with its servers.
struct World {
    folder: TempDir,
    servers: Servers,
}

const NONE: [&str; 0] = [];

impl World {
    fn new(files: &[(&str, &str)], specs: Vec<Spec>, limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let modules = std::env::var("HEW_NODE_MODULES").unwrap_or_default();
        let path = format!("{modules}/.bin:{}", std::env::var("PATH").unwrap());
        let home = folder.path().join("home");
        let variables = [("PATH", path), ("HOME", home.display().to_string())];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::scrubbed(variables, &NONE, &NONE);
        let project = folder.path().join("project");
        fs::create_dir_all(&home).unwrap();
        fs::create_dir(&project).unwrap();
        let workspace = Workspace::open(&project).unwrap();
        let world = Self {
            folder,
            servers: Servers::new(workspace, environment, specs, limits),
        };
        for (path, text) in files {
            world.write(path, text);
        }
        world
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("project").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.path(path), text).unwrap();
    }

    /// What is new after a file was changed.
    async fn change(&self, path: &str, text: &str) -> Vec<String> {
        let before = self.servers.before(vec![self.path(path)]).await;
        self.write(path, text);
        let new = self.servers.new_since(before).await;
        let shown = new.iter().map(|one| {
            let name = one.path.file_name().unwrap().to_string_lossy();
            format!("{name}:{} {}", one.line, one.message)
        });
        shown.collect()
    }
}

/// Patient, because test machines are slow; nobody waits longer than the server takes.
fn patient() -> Limits {
    Limits {
        wait: Duration::from_secs(60),
        start: Duration::from_secs(60),
        ..Limits::default()
    }
}

/// The server of that name alone, or nothing where it is not installed and need not be.
fn only(name: &str, file: &str) -> Option<Vec<Spec>> {
    let specs: Vec<Spec> = known().into_iter().filter(|spec| spec.name == name).collect();
    let world = World::new(&[], specs.clone(), patient());
    if world.servers.serves(Path::new(file)) {
        return Some(specs);
    }
    assert!(
        std::env::var_os("HEW_NODE_MODULES").is_none(),
        "{name} is not installed"
    );
    println!("skipped: {name} is not installed");
    None
}
