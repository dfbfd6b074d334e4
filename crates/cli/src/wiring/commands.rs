//! How commands are run: what they see of the environment, and what they may reach.

use crate::config::Config;
use crate::environment::Environment;
use crate::places;
use providers::presets::presets;
use sandbox::{Confinement, Level, Limits, Network};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tool::Notices;
use toolbox::Commands;
use workspace::Workspace;

/// In each project: what steers hew, so that no command can change what the next one may do.
const OWN: [&str; 5] = [".hew", ".hewignore", ".rooignore", ".aiignore", ".roomodes"];
/// In each repository: what makes git run programs, or look for that elsewhere.
const GIT: [&str; 5] = ["hooks", "config", "config.worktree", "commondir", "modules"];
/// More than any build needs, and few enough that the machine can still be used.
const MAX_PROCESSES: u64 = 16_384;
/// As many paths as ignore files may hide from commands.
const MOST_HIDDEN: usize = 1_000;
const MEGABYTE: u64 = 1024 * 1024;
/// Of a written file, in megabytes.
const MAX_FILE: u32 = 32 * 1024;

/// How commands are run in a project, and where it is told that one has ended.
pub(super) fn commands(config: &Config, env: &Environment, workspace: &Workspace, notices: Notices) -> Commands {
    let usual = Commands::default();
    Commands {
        confinement: Some(confinement(config, env, workspace)),
        patience: config.terminal.foreground.map_or(usual.patience, |span| span.0),
        notices,
    }
}

/// What commands may reach in a project. The level is that of each call.
pub(crate) fn confinement(config: &Config, env: &Environment, workspace: &Workspace) -> Confinement {
    let said = &config.sandbox;
    let root = workspace.root();
    let place = |text: &String| place(text, root, env);
    let mut roots = vec![root.to_path_buf()];
    roots.extend(said.write.iter().map(place));
    let mut protected: Vec<PathBuf> = OWN.iter().map(|name| root.join(name)).collect();
    // A repository that lies elsewhere: above the project, or that of a linked worktree.
    let repository = workspace.git().and_then(|git| git.folder);
    if let Some(folder) = repository.filter(|folder| !folder.starts_with(root)) {
        protected.extend(steering(&folder));
        roots.push(folder);
    }
    let own_config = places::user_config(env).ok();
    let own_data = places::data(env).ok();
    // Below a root they would be writable.
    protected.extend(
        own_config
            .iter()
            .filter_map(|file| file.parent())
            .map(Path::to_path_buf),
    );
    protected.extend(own_data);
    let mut hidden: Vec<PathBuf> = said.hide.iter().map(place).collect();
    hidden.extend(workspace.hidden(MOST_HIDDEN));
    // It may hold keys.
    hidden.extend(own_config.filter(|file| file.is_file()));
    Confinement {
        protected: protected
            .into_iter()
            .filter(|path| roots.iter().any(|root| path.starts_with(root)))
            .collect(),
        hidden,
        network: match said.network {
            Some(true) => Network::Granted,
            Some(false) | None => Network::Denied,
        },
        limits: Limits {
            processes: Some(said.max_processes.map_or(MAX_PROCESSES, u64::from)),
            memory: said.max_memory.map(|megabytes| u64::from(megabytes) * MEGABYTE),
            file_size: Some(u64::from(said.max_file.unwrap_or(MAX_FILE)) * MEGABYTE),
        },
        ..Confinement::new(Level::Workspace, roots)
    }
}

/// What in a repository makes git run programs, or look for that elsewhere; also for its linked worktrees.
fn steering(folder: &Path) -> Vec<PathBuf> {
    let linked = std::fs::read_dir(folder.join("worktrees"))
        .into_iter()
        .flatten()
        .flatten();
    let links = linked.flat_map(|entry| ["commondir", "config.worktree", "gitdir"].map(|name| entry.path().join(name)));
    GIT.iter().map(|name| folder.join(name)).chain(links).collect()
}

/// What commands see of the environment: everything but keys and tokens.
pub(super) fn environment(config: &Config, env: &Environment) -> sandbox::Environment {
    let vendors = presets().iter().flat_map(|preset| preset.key_env.iter().copied());
    let own = config.providers.values().filter_map(|entry| entry.key_env.as_deref());
    let said = config.sandbox.secrets.iter().map(String::as_str);
    let secret: Vec<&str> = vendors
        .chain(own)
        .chain(super::web::secrets(config))
        .chain(said)
        .collect();
    let variables = env
        .all()
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let scrubbed = sandbox::Environment::scrubbed(variables, &secret, &config.sandbox.keep);
    match env.get("GOCACHE") {
        Some(_) => scrubbed,
        // Go does not build without one that it can write.
        None => scrubbed.with("GOCACHE", std::env::temp_dir().join("hew-go-build")),
    }
}

/// The path that a person means: `~` is their home, and what is relative lies in the project.
fn place(text: &str, root: &Path, env: &Environment) -> PathBuf {
    let home = || places::home(env).unwrap_or_else(|| root.to_path_buf());
    match text.strip_prefix('~') {
        Some("") => home(),
        Some(rest) if rest.starts_with('/') => home().join(rest.trim_start_matches('/')),
        Some(_) | None => root.join(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn commands_may_write_the_project_but_not_what_steers_hew_or_git() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let project = top.join("repo/part");
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(top.join("repo/.git")).unwrap();
        fs::write(top.join("repo/.git/HEAD"), "ref: refs/heads/main").unwrap();
        fs::write(top.join("config.toml"), "").unwrap();
        let (home, file) = (top.display().to_string(), top.join("config.toml").display().to_string());
        let env = Environment::from([("HOME", home.as_str()), ("HEW_CONFIG", file.as_str())]);
        let mut config = Config::default();
        config.sandbox.write = vec!["~/.gradle".into(), "/opt/x".into()];
        config.sandbox.hide = vec!["~/.ssh".into(), "secrets".into()];
        let made = confinement(&config, &env, &Workspace::open(&project).unwrap());
        let git = top.join("repo/.git");
        assert_eq!(
            made.roots,
            [project.clone(), top.join(".gradle"), "/opt/x".into(), git.clone()]
        );
        for path in [
            project.join(".hew"),
            project.join(".hewignore"),
            git.join("hooks"),
            git.join("config"),
        ] {
            assert!(made.protected.contains(&path), "{}", path.display());
        }
        assert_eq!(
            made.hidden,
            [top.join(".ssh"), project.join("secrets"), top.join("config.toml")]
        );
        assert_eq!(made.network, Network::Denied);
        config.sandbox.network = Some(true);
        let made = confinement(&config, &env, &Workspace::open(&project).unwrap());
        assert_eq!(made.network, Network::Granted);
    }

    #[test]
    fn the_files_of_hew_itself_are_protected_where_the_project_holds_them() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap();
        let text = home.display().to_string();
        let env = Environment::from([("HOME", text.as_str())]);
        let made = confinement(&Config::default(), &env, &Workspace::open(&home).unwrap());
        for path in [home.join(".config/hew"), home.join(".local/share/hew")] {
            assert!(made.protected.contains(&path), "{}", path.display());
        }
    }
}
