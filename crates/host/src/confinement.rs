//! The sandbox of commands: visible environment variables and accessible paths.

use crate::config::{Config, LoadedConfig, PermissionLevel};
use crate::denied_paths;
use crate::environment::ProcessEnv;
use crate::failure::Result;
use crate::long_results;
use crate::path_scan::{MAX_PROTECTED, ProjectScan, too_many_paths};
use crate::paths;
use crate::permissions;
use crate::project_context::open_workspace;
use crate::roots;
use policy::{Permissions, protected_names};
use providers::presets::presets;
use sandbox::{
    Confinement, ConfinementLevel, GuardPool, NetworkAccess, NetworkHosts, PathScan, ResourceLimits, git_control_paths,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tool::NotificationSender;
use toolbox::{CommandHosts, CommandOptions};
use workspace::Workspace;

/// The directory of the data directory for texts that the user edits.
pub const COMPOSER_DIR: &str = "composer";
/// Entries of the data directory that are hidden from commands, also if they are created later: conversations,
/// credentials, and copies of files, which may be hidden files. Long results are the only entry that commands may read.
const PRIVATE_DATA: [&str; 14] = [
    "browser",
    COMPOSER_DIR,
    "files",
    "grants.json",
    "hew.db",
    "hew.db-shm",
    "hew.db-wal",
    "hooks",
    "mcp",
    "memory",
    "running",
    "serve",
    "trust.json",
    "tui",
];
const MEGABYTE: u64 = 1024 * 1024;

/// Loads the settings for commands in a project. Returns warnings.
pub(crate) fn load(
    config: &Config,
    env: &ProcessEnv,
    workspace: &Workspace,
    permissions: &Permissions,
    notices: NotificationSender,
) -> (CommandOptions, Vec<String>) {
    let mut confinement = confinement(config, env, workspace);
    let read_only = denied_paths::read_only(permissions, workspace, MAX_PROTECTED);
    let scan = ProjectScan::new(
        workspace,
        permissions,
        !config.protected.is_empty(),
        confinement.roots.iter().chain(&confinement.temp).cloned().collect(),
        git_user_configs(env),
        paths::home_dir(env),
    );
    let mut warnings = scan.warnings();
    warnings.extend(too_many_paths("read-only", &read_only));
    confinement.protected.extend(read_only.paths);
    let (hidden, problems) = denied_paths::hidden_outside(permissions);
    confinement.hidden.extend(hidden);
    warnings.extend(problems);
    confinement.scan = Some(PathScan(Arc::new(scan)));
    confinement.guards = Some(GuardPool::default());
    let commands = CommandOptions {
        confinement: Some(confinement),
        foreground_limit: config.terminal.foreground.0,
        notifications: notices,
        terminals: None,
    };
    (commands, warnings)
}

/// The confinement of servers and hooks of a project: that of commands, without confinement if commands have none.
pub(crate) fn of_servers(config: &Config, commands: &CommandOptions) -> Option<Confinement> {
    let confinement = commands.confinement.clone()?;
    Some(Confinement {
        level: match config.permission {
            PermissionLevel::Full => ConfinementLevel::Off,
            PermissionLevel::ReadOnly | PermissionLevel::Workspace => ConfinementLevel::Workspace,
        },
        guards: None,
        ..confinement
    })
}

/// The confinement of servers outside of a session.
pub fn of_project(loaded: &LoadedConfig, root: &Path, env: &ProcessEnv) -> Result<Option<Confinement>> {
    let (permissions, _) = permissions::load(&loaded.layers, loaded.trust, root, env);
    let workspace = open_workspace(root, &permissions)?;
    let (commands, _) = load(
        &loaded.config,
        env,
        &workspace,
        &permissions,
        NotificationSender::none(),
    );
    Ok(of_servers(&loaded.config, &commands))
}

/// The user's configuration files of git.
fn git_user_configs(env: &ProcessEnv) -> Vec<PathBuf> {
    let home = paths::home_dir(env);
    let base = env.get("XDG_CONFIG_HOME").map(PathBuf::from);
    let base = base.or_else(|| Some(home.as_ref()?.join(".config")));
    let own = home.map(|home| home.join(".gitconfig"));
    [PathBuf::from("/etc/gitconfig")]
        .into_iter()
        .chain(own)
        .chain(base.map(|base| base.join("git/config")))
        .collect()
}

/// The sandbox of commands in a project, without the paths that are searched for before each command. Each call sets the
/// level.
pub fn confinement(config: &Config, env: &ProcessEnv, workspace: &Workspace) -> Confinement {
    let settings = &config.sandbox;
    let root = workspace.root();
    let place = |text: &String| roots::resolve_path(text, root, env);
    // The whole disk is no project that commands may write.
    let mut roots: Vec<PathBuf> = root.parent().map(|_| root.to_path_buf()).into_iter().collect();
    roots.extend(settings.write.iter().map(place));
    let mut protected = protected_paths(root);
    // In or above the home folder, startup files of shells and the like have their names relative to that folder.
    let home = paths::home_dir(env).and_then(|home| home.canonicalize().ok());
    let of_home = home.iter().flat_map(|home| {
        let names = protected_names().filter(|name| *name != ".git");
        names.map(|name| home.join(name))
    });
    let is_project = |path: &PathBuf| path.canonicalize().is_ok_and(|real| root.starts_with(real));
    protected.extend(of_home.filter(|path| path.starts_with(root) && !is_project(path)));
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
    roots.extend(go_cache_dir(env, root).filter(|folder| create_private_dir(folder)));
    let own_data = paths::data_dir(env).ok();
    let own_folders = paths::private_folders(env);
    // If hew was started in one of its own directories, commands write nothing there.
    roots.retain(|root| !own_folders.iter().any(|folder| root.starts_with(folder)));
    let confinement = Confinement::new(ConfinementLevel::Workspace, roots);
    let writable = |path: &Path| {
        confinement
            .roots
            .iter()
            .chain(&confinement.temp)
            .any(|root| path.starts_with(root))
    };
    let contains_root = |path: &Path| confinement.roots.iter().any(|root| root.starts_with(path));
    // In a writable directory they would be writable, and if they did not exist they could be created.
    for folder in own_folders.iter().filter(|folder| writable(folder)) {
        // If it cannot be created, no command can create it either.
        create_private_dir(folder);
    }
    protected.extend(own_folders);
    protected.extend(paths::private_paths(env));
    // A command that runs when it is created would see it.
    let composer = own_data
        .iter()
        .filter(|data| data.is_dir())
        .map(|data| data.join(COMPOSER_DIR));
    composer.for_each(|folder| {
        create_private_dir(&folder);
    });
    let private = own_data.iter().filter(|data| data.is_dir()).flat_map(|data| {
        let present = std::fs::read_dir(data).into_iter().flatten().flatten();
        let present = present.map(|entry| entry.path());
        let present = present.filter(|path| !path.ends_with(long_results::DIR_NAME));
        present
            .chain(PRIVATE_DATA.map(|name| data.join(name)))
            .collect::<Vec<_>>()
    });
    let mut hidden: Vec<PathBuf> = settings.hide.iter().map(place).collect();
    // It may contain keys.
    hidden.extend(paths::private_files(env).filter(|file| file.is_file() || !file.exists()));
    hidden.extend(private);
    // They have been checked already.
    let hosts = settings.network_hosts.iter().filter_map(|host| host.parse().ok());
    let hosts = CommandHosts(hosts.collect());
    Confinement {
        protected: protected
            .into_iter()
            .filter(|path| writable(path) && !contains_root(path))
            .collect(),
        hidden,
        home: paths::home_dir(env),
        network: match settings.network {
            true => NetworkAccess::Granted,
            false if hosts.0.is_empty() => NetworkAccess::Denied,
            false => NetworkAccess::Hosts,
        },
        hosts: (!hosts.0.is_empty()).then(|| NetworkHosts(Arc::new(hosts))),
        limits: ResourceLimits {
            processes: Some(u64::from(settings.max_processes.get())),
            memory: settings
                .max_memory
                .map(|megabytes| u64::from(megabytes.get()) * MEGABYTE),
            file_size: Some(u64::from(settings.max_file.get()) * MEGABYTE),
        },
        ..confinement
    }
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
    sandbox::ProcessEnvironment::scrubbed(variables, &secret, &config.sandbox.keep)
}

/// The environment of commands in a project.
pub fn command_environment(config: &Config, env: &ProcessEnv, root: &Path) -> sandbox::ProcessEnvironment {
    let environment = environment(config, env);
    match go_cache_dir(env, root) {
        Some(folder) => environment.with("GOCACHE", folder),
        None => environment,
    }
}

/// The build cache of Go, which Go needs; `None` if `GOCACHE` is set. It is private to the user and the project, because
/// its contents become part of programs.
fn go_cache_dir(env: &ProcessEnv, root: &Path) -> Option<PathBuf> {
    if env.get("GOCACHE").is_some() {
        return None;
    }
    let mut project = workspace::blob_name(root.as_os_str().as_encoded_bytes());
    project.truncate(16);
    Some(paths::cache_dir(env).ok()?.join("go-build").join(project))
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
    fn commands_do_not_write_the_whole_disk() {
        let disk = Workspace::open(Path::new("/")).unwrap();
        let mut config = Config::default();
        config.sandbox.write = vec!["/opt/x".into()];
        let env = ProcessEnv::default();
        assert_eq!(confinement(&config, &env, &disk).roots, [PathBuf::from("/opt/x")]);
    }

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
            made.roots[..4],
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
            made.hidden[..3],
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
        fs::create_dir(home.join(".config")).unwrap_or_default();
        for (root, name) in [
            (home.join(".config"), ".config/git"),
            (home.parent().unwrap().into(), ".bashrc"),
        ] {
            let made = confinement(&Config::default(), &env, &Workspace::open(&root).unwrap());
            assert!(made.protected.contains(&home.join(name)), "{name}");
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
        fs::create_dir_all(data.join("long-answers/1")).unwrap();
        fs::write(data.join("another.json"), "").unwrap();
        let hidden = made().hidden;
        for name in [
            "another.json",
            "serve",
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
        let scan = made.confinement.unwrap().scan.unwrap();
        let protected = scan.0.before().unwrap().protected;
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
        for number in 0..=crate::path_scan::MAX_HIDDEN {
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
        let scan = made.confinement.unwrap().scan.unwrap();
        assert_eq!(scan.0.before().unwrap().hidden, [root.join("keys")]);
        assert!(warnings[0].contains("keys is hidden from commands"), "{warnings:?}");
    }

    #[test]
    fn too_many_hidden_files_in_the_project_directory_stop_commands() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for number in 0..=crate::path_scan::MAX_HIDDEN {
            fs::write(root.join(format!("{number}.pem")), "").unwrap();
        }
        let workspace = Workspace::open(&root).unwrap();
        let workspace = workspace.hiding_paths(|path| path.extension().is_some_and(|end| end == "pem"));
        let scan = ProjectScan::new(&workspace, &Permissions::default(), false, Vec::new(), Vec::new(), None);
        let error = sandbox::AccessScan::before(&scan).unwrap_err();
        assert!(matches!(
            error,
            sandbox::PathScanError::TooManyFiles { access: "hidden", .. }
        ));
        fs::remove_file(root.join("0.pem")).unwrap();
        assert!(sandbox::AccessScan::before(&scan).is_ok());
    }

    #[test]
    fn settings_of_hew_are_protected_in_every_folder() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/.hew")).unwrap();
        let workspace = Workspace::open(&root).unwrap();
        let scan = ProjectScan::new(&workspace, &Permissions::default(), false, Vec::new(), Vec::new(), None);
        let found = sandbox::AccessScan::before(&scan).unwrap();
        assert_eq!(found.read_only, [root.join("a/.hew")]);
        assert!(found.uncreatable.contains(&(root, ".hew".into())));
    }

    #[test]
    fn moved_rules_stay_and_new_ones_do_not() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for name in [
            "a/AGENTS.md",
            "a/.hew/config.toml",
            "b/c",
            "d/.github/copilot-instructions.md",
        ] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), name).unwrap();
        }
        let workspace = Workspace::open(&root).unwrap();
        let scan = ProjectScan::new(&workspace, &Permissions::default(), false, Vec::new(), Vec::new(), None);
        sandbox::AccessScan::before(&scan).unwrap();
        fs::rename(root.join("a"), root.join("moved")).unwrap();
        fs::rename(root.join("d/.github"), root.join("b/.github")).unwrap();
        assert_eq!(sandbox::AccessScan::after(&scan), [""; 0].map(PathBuf::from));
        sandbox::AccessScan::before(&scan).unwrap();
        fs::write(root.join("b/CLAUDE.md"), "new").unwrap();
        fs::write(root.join("moved/.hew/config.toml"), "changed").unwrap();
        fs::rename(root.join("moved/.hew"), root.join("d/.hew")).unwrap();
        std::os::unix::fs::symlink("../b/.github", root.join("d/.github")).unwrap();
        let mut reverted = sandbox::AccessScan::after(&scan);
        reverted.sort();
        assert_eq!(
            reverted,
            ["b/CLAUDE.md", "d/.github", "d/.hew"].map(|name| root.join(name))
        );
        assert!(root.join("moved/AGENTS.md").exists() && !root.join("d/.github").exists());
    }

    #[test]
    fn nested_repositories_are_protected_and_new_ones_are_disarmed() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("deep/lib/.git/hooks")).unwrap();
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(root.join("sub/.git"), "gitdir: ../.git/modules/sub").unwrap();
        let workspace = Workspace::open(&root).unwrap();
        let scan = ProjectScan::new(&workspace, &Permissions::default(), false, Vec::new(), Vec::new(), None);
        let protected = sandbox::AccessScan::before(&scan).unwrap().protected;
        for name in ["deep/lib/.git/config", "deep/lib/.git/hooks", "sub/.git"] {
            assert!(protected.contains(&root.join(name)), "{name}: {protected:?}");
        }
        fs::create_dir_all(root.join("new/.git")).unwrap();
        fs::write(root.join("new/.git/config"), "[core]\nfsmonitor = x\n").unwrap();
        let reverted = sandbox::AccessScan::after(&scan);
        assert_eq!(reverted, [root.join("new/.git/config")]);
        // By a process that was running before.
        fs::write(root.join("new/.git/config"), "[core]\n\tpager = x\n").unwrap();
        assert_eq!(sandbox::AccessScan::after(&scan), [root.join("new/.git/config")]);
    }

    #[test]
    fn go_builds_in_a_private_cache_unless_gocache_is_set() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        fs::create_dir(top.join("repo")).unwrap();
        let workspace = Workspace::open(&top.join("repo")).unwrap();
        let (home, caches) = (top.display().to_string(), top.join(".cache/hew/go-build"));
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
        assert!(!caches.exists());
        let env = ProcessEnv::from([("HOME", home.as_str())]);
        let cache = roots(&env).pop().unwrap();
        assert_eq!(cache.parent(), Some(caches.as_path()), "one for each project");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&cache).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }
}
