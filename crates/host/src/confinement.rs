//! The sandbox of commands: visible environment variables and accessible paths.

use crate::config::Config;
use crate::denied_paths;
use crate::environment::ProcessEnv;
use crate::paths;
use crate::roots;
use policy::{Permissions, protected_names};
use providers::presets::presets;
use sandbox::{Confinement, ConfinementLevel, NetworkAccess, ResourceLimits};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tool::NotificationSender;
use toolbox::CommandOptions;
use workspace::{PathCover, Workspace};

/// Entries of the data directory that are hidden from commands: conversations, credentials, and copies of files, which
/// may be hidden files.
const PRIVATE_DATA: [&str; 11] = [
    "browser",
    "files",
    "grants.json",
    "hew.db",
    "hew.db-shm",
    "hew.db-wal",
    "hooks",
    "mcp",
    "memory",
    "running",
    "trust.json",
];
/// Entries of a git directory that make git run programs or read settings elsewhere.
const GIT_CONTROL_FILES: [&str; 5] = ["hooks", "config", "config.worktree", "commondir", "modules"];
/// The maximum number of hidden paths; beyond it, whole directories are hidden.
const MAX_HIDDEN: usize = 1_000;
/// The maximum number of protected paths; beyond it, whole directories are protected.
const MAX_PROTECTED: usize = 500;
const MEGABYTE: u64 = 1024 * 1024;

/// Loads the settings for commands in a project. Returns warnings.
pub(crate) fn load(
    config: &Config,
    env: &ProcessEnv,
    workspace: &Workspace,
    permissions: &Permissions,
    notices: NotificationSender,
) -> (CommandOptions, Vec<String>) {
    let (mut confinement, hidden) = confinement_and_hidden(config, env, workspace);
    let covered = match config.protected.is_empty() {
        true => PathCover::default(),
        false => {
            let (protected, places) = (Arc::clone(&permissions.protected), Arc::clone(&permissions.project));
            // Git changes its own directory; its settings there are protected separately.
            let covers = move |path: &Path| !path.ends_with(".git") && protected.covers(path, &places);
            workspace.cover(MAX_PROTECTED, covers)
        }
    };
    let read_only = denied_paths::read_only(permissions, workspace, MAX_PROTECTED);
    let mut warnings: Vec<String> = [("hidden", &hidden), ("protected", &covered), ("read-only", &read_only)]
        .into_iter()
        .filter_map(|(what, cover)| too_many_paths(what, cover))
        .collect();
    confinement
        .protected
        .extend(covered.paths.into_iter().chain(read_only.paths));
    let (hidden, problems) = denied_paths::hidden_outside(permissions);
    confinement.hidden.extend(hidden);
    warnings.extend(problems);
    confinement
        .roots
        .extend(go_cache_dir(env).filter(|folder| create_private_dir(folder)));
    let commands = CommandOptions {
        confinement: Some(confinement),
        foreground_limit: config.terminal.foreground.0,
        notifications: notices,
        terminals: None,
    };
    (commands, warnings)
}

/// A warning if too many paths are covered.
fn too_many_paths(what: &str, cover: &PathCover) -> Option<String> {
    if cover.omitted > 0 {
        let left = cover.omitted;
        return Some(format!("too many {what} paths: commands can access {left} of them"));
    }
    let first = cover.whole_folders.first()?.display();
    let folders = match cover.whole_folders.len() {
        1 => String::new(),
        count => format!(" and {} more directories", count - 1),
    };
    Some(format!(
        "too many {what} paths: all of {first}{folders} is {what} from commands"
    ))
}

/// The sandbox of commands in a project. Each call sets the level.
pub fn confinement(config: &Config, env: &ProcessEnv, workspace: &Workspace) -> Confinement {
    confinement_and_hidden(config, env, workspace).0
}

fn confinement_and_hidden(config: &Config, env: &ProcessEnv, workspace: &Workspace) -> (Confinement, PathCover) {
    let settings = &config.sandbox;
    let root = workspace.root();
    let place = |text: &String| roots::resolve_path(text, root, env);
    let mut roots = vec![root.to_path_buf()];
    roots.extend(settings.write.iter().map(place));
    let mut protected = protected_paths(root);
    for other in workspace.more() {
        protected.extend(protected_paths(other));
        roots.push(other.clone());
        let git = Workspace::open(other).ok().and_then(|other| other.git());
        if let Some(folder) = git
            .and_then(|git| git.folder)
            .filter(|folder| !folder.starts_with(other))
        {
            protected.extend(git_control_paths(&folder));
            roots.push(folder);
        }
    }
    // A git directory elsewhere: above the project, or of a linked worktree.
    let repository = workspace.git().and_then(|git| git.folder);
    if let Some(folder) = repository.filter(|folder| !folder.starts_with(root)) {
        protected.extend(git_control_paths(&folder));
        roots.push(folder);
    }
    let own_config = paths::user_config_file(env).ok();
    let own_data = paths::data_dir(env).ok();
    // In a root they would be writable.
    protected.extend(
        own_config
            .iter()
            .filter_map(|file| file.parent())
            .map(Path::to_path_buf),
    );
    let private = own_data.iter().filter(|data| data.is_dir());
    let private = private.flat_map(|data| PRIVATE_DATA.map(|name| data.join(name)));
    let mut hidden: Vec<PathBuf> = settings.hide.iter().map(place).collect();
    let cover = workspace.hidden(MAX_HIDDEN);
    hidden.extend(cover.paths.iter().cloned());
    for other in workspace.more() {
        let main = workspace.clone();
        let other = Workspace::open(other).map(|other| other.hiding_paths(move |path| main.is_hidden(path)));
        hidden.extend(other.map(|other| other.hidden(MAX_HIDDEN).paths).unwrap_or_default());
    }
    // It may contain keys.
    hidden.extend(
        own_config
            .into_iter()
            .chain(paths::keys_file(env))
            .chain(paths::accounts_file(env))
            .filter(|file| file.is_file()),
    );
    hidden.extend(private);
    protected.extend(own_data);
    let confinement = Confinement {
        protected: protected
            .into_iter()
            .filter(|path| roots.iter().any(|root| path.starts_with(root)))
            .collect(),
        hidden,
        network: match settings.network {
            true => NetworkAccess::Granted,
            false => NetworkAccess::Denied,
        },
        limits: ResourceLimits {
            processes: Some(u64::from(settings.max_processes.get())),
            memory: settings
                .max_memory
                .map(|megabytes| u64::from(megabytes.get()) * MEGABYTE),
            file_size: Some(u64::from(settings.max_file.get()) * MEGABYTE),
        },
        ..Confinement::new(ConfinementLevel::Workspace, roots)
    };
    (confinement, cover)
}

/// Files in the project that configure hew, other agents or an editor, whether they exist or not, so that no command
/// changes the permissions of the next one.
fn protected_paths(root: &Path) -> Vec<PathBuf> {
    // Git changes its own directory; its settings there are protected separately.
    let names = protected_names().filter(|name| *name != ".git");
    let mut paths: Vec<PathBuf> = names.map(|name| root.join(name)).collect();
    let (protected, _) = policy::ProtectedPaths::new(&[]);
    let places = policy::ProjectPaths {
        root: root.into(),
        ..policy::ProjectPaths::default()
    };
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let present = entries.map(|entry| entry.path());
    paths.extend(present.filter(|path| !path.ends_with(".git") && protected.covers(path, &places)));
    // A link to the project would make all of it read-only.
    paths.retain(|path| !path.canonicalize().is_ok_and(|real| root.starts_with(real)));
    paths.sort();
    paths.dedup();
    paths
}

/// Files in a git directory, and in its linked worktrees, that make git run programs or read settings elsewhere.
fn git_control_paths(folder: &Path) -> Vec<PathBuf> {
    let linked = std::fs::read_dir(folder.join("worktrees"))
        .into_iter()
        .flatten()
        .flatten();
    let links = linked.flat_map(|entry| ["commondir", "config.worktree", "gitdir"].map(|name| entry.path().join(name)));
    GIT_CONTROL_FILES
        .iter()
        .map(|name| folder.join(name))
        .chain(links)
        .collect()
}

/// The environment of commands, hooks and servers: the variables that toolchains need and those that the user adds.
pub fn environment(config: &Config, env: &ProcessEnv) -> sandbox::ProcessEnvironment {
    let vendors = presets().iter().flat_map(|preset| preset.key_env.iter().copied());
    let own = config.providers.values().filter_map(|entry| entry.key_env.as_deref());
    let configured = config.sandbox.secrets.iter().map(String::as_str);
    let secret: Vec<&str> = vendors
        .chain(own)
        .chain(crate::web::secret_variables(config))
        .chain(configured)
        .collect();
    let variables = env
        .all()
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let scrubbed = sandbox::ProcessEnvironment::scrubbed(variables, &secret, &config.sandbox.keep);
    match go_cache_dir(env) {
        Some(folder) => scrubbed.with("GOCACHE", folder),
        None => scrubbed,
    }
}

/// The build cache of Go, which Go needs; `None` if `GOCACHE` is set. It is private to the user, because its contents
/// become part of programs.
fn go_cache_dir(env: &ProcessEnv) -> Option<PathBuf> {
    match env.get("GOCACHE") {
        Some(_) => None,
        None => paths::cache_dir(env).ok().map(|folder| folder.join("go-build")),
    }
}

/// Creates a directory that only the user can access. Returns whether it exists.
fn create_private_dir(folder: &Path) -> bool {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn commands_may_write_the_project_but_not_settings_of_hew_or_git() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let project = top.join("repo/part");
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join(".clinerules-code"), "").unwrap();
        fs::write(project.join("x.code-workspace"), "").unwrap();
        fs::create_dir_all(top.join("repo/.git")).unwrap();
        fs::write(top.join("repo/.git/HEAD"), "ref: refs/heads/main").unwrap();
        fs::write(top.join("config.toml"), "").unwrap();
        let (home, file) = (top.display().to_string(), top.join("config.toml").display().to_string());
        let env = ProcessEnv::from([("HOME", home.as_str()), ("HEW_CONFIG", file.as_str())]);
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
            project.join("AGENTS.md"),
            project.join(".vscode"),
            project.join(".clinerules"),
            project.join(".clinerules-code"),
            project.join("x.code-workspace"),
            git.join("hooks"),
            git.join("config"),
        ] {
            assert!(made.protected.contains(&path), "{}", path.display());
        }
        assert_eq!(
            made.hidden,
            [top.join(".ssh"), project.join("secrets"), top.join("config.toml")]
        );
        assert_eq!(made.network, NetworkAccess::Denied);
        config.sandbox.network = true;
        let made = confinement(&config, &env, &Workspace::open(&project).unwrap());
        assert_eq!(made.network, NetworkAccess::Granted);
    }

    #[test]
    fn the_files_of_hew_are_protected_if_the_project_contains_them() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap();
        let text = home.display().to_string();
        let env = ProcessEnv::from([("HOME", text.as_str())]);
        let made = confinement(&Config::default(), &env, &Workspace::open(&home).unwrap());
        for path in [home.join(".config/hew"), home.join(".local/share/hew")] {
            assert!(made.protected.contains(&path), "{}", path.display());
        }
    }

    #[test]
    fn stored_sessions_are_hidden_but_long_results_are_not() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let data = top.join("data");
        fs::create_dir_all(top.join("repo")).unwrap();
        let text = data.display().to_string();
        let env = ProcessEnv::from([("HEW_DATA_DIR", text.as_str())]);
        let made = || confinement(&Config::default(), &env, &Workspace::open(&top.join("repo")).unwrap());
        assert_eq!(made().hidden, [""; 0].map(PathBuf::from));
        fs::create_dir_all(&data).unwrap();
        let hidden = made().hidden;
        for name in [
            "files",
            "hew.db",
            "hew.db-wal",
            "hew.db-shm",
            "memory",
            "grants.json",
            "trust.json",
        ] {
            assert!(hidden.contains(&data.join(name)), "{name}");
        }
        assert!(!hidden.iter().any(|path| data.join("long-answers/1").starts_with(path)));
    }

    #[test]
    fn files_that_match_protected_patterns_are_protected_from_commands() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for name in ["deploy/a", "keys/deep/b.pem", "src/c.rs", ".git/HEAD"] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "").unwrap();
        }
        let config = Config {
            protected: vec!["deploy/**".into(), "*.pem".into()],
            ..Config::default()
        };
        let permissions = Permissions {
            protected: Arc::new(policy::ProtectedPaths::new(&config.protected).0),
            project: Arc::new(policy::ProjectPaths {
                root: root.clone(),
                ..policy::ProjectPaths::default()
            }),
            ..Permissions::default()
        };
        let workspace = Workspace::open(&root).unwrap();
        let (made, warnings) = load(
            &config,
            &ProcessEnv::default(),
            &workspace,
            &permissions,
            NotificationSender::none(),
        );
        let protected = made.confinement.unwrap().protected;
        for name in ["deploy", "keys/deep/b.pem"] {
            assert!(protected.contains(&root.join(name)), "{name}");
        }
        assert!(!protected.iter().any(|path| path.starts_with(root.join("src"))));
        assert!(!protected.contains(&root.join(".git")));
        assert!(warnings.is_empty());
    }

    #[test]
    fn the_user_is_warned_about_too_many_hidden_paths() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::create_dir(root.join("keys")).unwrap();
        for number in 0..=MAX_HIDDEN {
            fs::write(root.join(format!("keys/{number}.pem")), "").unwrap();
        }
        let workspace = Workspace::open(&root).unwrap();
        let workspace = workspace.hiding_paths(|path| path.extension().is_some_and(|end| end == "pem"));
        let (config, env) = (Config::default(), ProcessEnv::default());
        let (made, warnings) = load(
            &config,
            &env,
            &workspace,
            &Permissions::default(),
            NotificationSender::none(),
        );
        assert_eq!(made.confinement.unwrap().hidden, [root.join("keys")]);
        assert!(warnings[0].contains("keys is hidden from commands"), "{warnings:?}");
    }

    #[test]
    fn go_builds_in_a_private_cache_unless_gocache_is_set() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        fs::create_dir(top.join("repo")).unwrap();
        let workspace = Workspace::open(&top.join("repo")).unwrap();
        let (home, cache) = (top.display().to_string(), top.join(".cache/hew/go-build"));
        let roots = |env: &ProcessEnv| {
            let config = Config::default();
            let (made, _) = load(
                &config,
                env,
                &workspace,
                &Permissions::default(),
                NotificationSender::none(),
            );
            made.confinement.unwrap().roots
        };
        let named = ProcessEnv::from([("HOME", home.as_str()), ("GOCACHE", "/x")]);
        assert_eq!(roots(&named), [top.join("repo")]);
        assert!(!cache.exists());
        let env = ProcessEnv::from([("HOME", home.as_str())]);
        assert_eq!(roots(&env), [top.join("repo"), cache.clone()]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&cache).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }
}
