//! How commands are run: what they see of the environment, and what they may reach.

use super::roots;
use crate::config::Config;
use crate::environment::Environment;
use crate::places;
use policy::{IGNORE_FILES, PROTECTED, Permissions};
use providers::presets::presets;
use sandbox::{Confinement, Level, Limits, Network};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tool::Notices;
use toolbox::Commands;
use workspace::{Cover, Workspace};

/// In hew's data folder: what commands have no business with. Besides what has been said and done, that is copies of files,
/// among them perhaps some that became hidden later.
const OWN_DATA: [&str; 10] = [
    "browser",
    "files",
    "grants.json",
    "hew.db",
    "hew.db-shm",
    "hew.db-wal",
    "hooks",
    "mcp",
    "memory",
    "trust.json",
];
/// In each repository: what makes git run programs, or look for that elsewhere.
const GIT: [&str; 5] = ["hooks", "config", "config.worktree", "commondir", "modules"];
/// More than any build needs, and few enough that the machine can still be used.
const MAX_PROCESSES: u64 = 16_384;
/// As many paths as ignore files may hide from commands; beyond that, whole folders are.
const MOST_HIDDEN: usize = 1_000;
/// As many paths as patterns may protect from commands; beyond that, whole folders are.
const MOST_PROTECTED: usize = 500;
const MEGABYTE: u64 = 1024 * 1024;
/// Of a written file, in megabytes.
const MAX_FILE: u32 = 32 * 1024;

/// How commands are run in a project, and where it is told that one has ended. Also what the person should know about it.
pub(super) fn commands(
    config: &Config,
    env: &Environment,
    workspace: &Workspace,
    permissions: &Permissions,
    notices: Notices,
) -> (Commands, Vec<String>) {
    let usual = Commands::default();
    let (mut confinement, hidden) = confined(config, env, workspace);
    let steering = match config.protected.is_empty() {
        true => Cover::default(),
        false => {
            let (protected, places) = (Arc::clone(&permissions.protected), Arc::clone(&permissions.places));
            // Git works in its own folder; what steers it there is protected apart.
            let covers = move |path: &Path| !path.ends_with(".git") && protected.covers(path, &places);
            workspace.covering(MOST_PROTECTED, covers)
        }
    };
    let told = [notice("hidden", &hidden), notice("protected", &steering)];
    confinement.protected.extend(steering.paths);
    confinement.roots.extend(go_cache(env).filter(|folder| made(folder)));
    let commands = Commands {
        confinement: Some(confinement),
        patience: config.terminal.foreground.map_or(usual.patience, |span| span.0),
        notices,
        terminals: None,
    };
    (commands, told.into_iter().flatten().collect())
}

/// What the person should know where too many paths are to be covered.
fn notice(what: &str, cover: &Cover) -> Option<String> {
    if cover.left > 0 {
        let left = cover.left;
        return Some(format!("{left} {what} paths are too many to keep from commands"));
    }
    let first = cover.whole.first()?.display();
    let folders = match cover.whole.len() {
        1 => String::new(),
        count => format!(" and {} more folders", count - 1),
    };
    Some(format!(
        "there are so many {what} paths that all of {first}{folders} is {what} from commands"
    ))
}

/// What commands may reach in a project. The level is that of each call.
pub(crate) fn confinement(config: &Config, env: &Environment, workspace: &Workspace) -> Confinement {
    confined(config, env, workspace).0
}

fn confined(config: &Config, env: &Environment, workspace: &Workspace) -> (Confinement, Cover) {
    let said = &config.sandbox;
    let root = workspace.root();
    let place = |text: &String| roots::place(text, root, env);
    let mut roots = vec![root.to_path_buf()];
    roots.extend(said.write.iter().map(place));
    let mut protected = guiding(root);
    for other in workspace.more() {
        protected.extend(guiding(other));
        roots.push(other.clone());
        let git = Workspace::open(other).ok().and_then(|other| other.git());
        if let Some(folder) = git
            .and_then(|git| git.folder)
            .filter(|folder| !folder.starts_with(other))
        {
            protected.extend(steering(&folder));
            roots.push(folder);
        }
    }
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
    let private = own_data.iter().filter(|data| data.is_dir());
    let private = private.flat_map(|data| OWN_DATA.map(|name| data.join(name)));
    let mut hidden: Vec<PathBuf> = said.hide.iter().map(place).collect();
    let cover = workspace.hidden(MOST_HIDDEN);
    hidden.extend(cover.paths.iter().cloned());
    for other in workspace.more() {
        let main = workspace.clone();
        let other = Workspace::open(other).map(|other| other.hiding(move |path| main.hides(path)));
        hidden.extend(other.map(|other| other.hidden(MOST_HIDDEN).paths).unwrap_or_default());
    }
    // It may hold keys.
    hidden.extend(
        own_config
            .into_iter()
            .chain(places::keys(env))
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
    };
    (confinement, cover)
}

/// In the project's folder: what steers hew, other agents or an editor, whether it is there or could be made, so that no
/// command changes what the next one may do.
fn guiding(root: &Path) -> Vec<PathBuf> {
    let names = PROTECTED.iter().map(|pattern| pattern.trim_end_matches(['/', '*']));
    // Git works in its own folder; what steers it there is protected apart.
    let names = names.filter(|name| *name != ".git" && !name.starts_with('*'));
    let mut paths: Vec<PathBuf> = names.chain(IGNORE_FILES).map(|name| root.join(name)).collect();
    let (protected, _) = policy::Protected::new(&[]);
    let places = policy::Places {
        root: root.into(),
        ..policy::Places::default()
    };
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let present = entries.map(|entry| entry.path());
    paths.extend(present.filter(|path| !path.ends_with(".git") && protected.covers(path, &places)));
    // A link to the whole project would make all of it read-only.
    paths.retain(|path| !path.canonicalize().is_ok_and(|real| root.starts_with(real)));
    paths.sort();
    paths.dedup();
    paths
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
pub(crate) fn environment(config: &Config, env: &Environment) -> sandbox::Environment {
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
    match go_cache(env) {
        Some(folder) => scrubbed.with("GOCACHE", folder),
        None => scrubbed,
    }
}

/// Where Go may keep what it has built, without which it does not build; not where the person has said where. It is a folder
/// of the person's own, because whoever fills it decides what programs are made of.
fn go_cache(env: &Environment) -> Option<PathBuf> {
    match env.get("GOCACHE") {
        Some(_) => None,
        None => places::cache(env).ok().map(|folder| folder.join("go-build")),
    }
}

/// Whether a folder is there, or could be made for nobody but the person.
fn made(folder: &Path) -> bool {
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
    fn commands_may_write_the_project_but_not_what_steers_hew_or_git() {
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

    #[test]
    fn what_has_been_said_and_kept_is_hidden_but_long_answers_are_not() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let data = top.join("data");
        fs::create_dir_all(top.join("repo")).unwrap();
        let text = data.display().to_string();
        let env = Environment::from([("HEW_DATA_DIR", text.as_str())]);
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
    fn what_patterns_protect_is_protected_from_commands_too() {
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
            protected: Arc::new(policy::Protected::new(&config.protected).0),
            places: Arc::new(policy::Places {
                root: root.clone(),
                ..policy::Places::default()
            }),
            ..Permissions::default()
        };
        let workspace = Workspace::open(&root).unwrap();
        let (made, told) = commands(
            &config,
            &Environment::default(),
            &workspace,
            &permissions,
            Notices::none(),
        );
        let protected = made.confinement.unwrap().protected;
        for name in ["deploy", "keys/deep/b.pem"] {
            assert!(protected.contains(&root.join(name)), "{name}");
        }
        assert!(!protected.iter().any(|path| path.starts_with(root.join("src"))));
        assert!(!protected.contains(&root.join(".git")));
        assert!(told.is_empty());
    }

    #[test]
    fn the_person_is_told_when_hidden_paths_are_too_many_to_name() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::create_dir(root.join("keys")).unwrap();
        for number in 0..=MOST_HIDDEN {
            fs::write(root.join(format!("keys/{number}.pem")), "").unwrap();
        }
        let workspace = Workspace::open(&root).unwrap();
        let workspace = workspace.hiding(|path| path.extension().is_some_and(|end| end == "pem"));
        let (config, env) = (Config::default(), Environment::default());
        let (made, told) = commands(&config, &env, &workspace, &Permissions::default(), Notices::none());
        assert_eq!(made.confinement.unwrap().hidden, [root.join("keys")]);
        assert!(told[0].contains("keys is hidden from commands"), "{told:?}");
    }

    #[test]
    fn go_builds_in_a_folder_of_the_persons_own_unless_they_named_one() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        fs::create_dir(top.join("repo")).unwrap();
        let workspace = Workspace::open(&top.join("repo")).unwrap();
        let (home, cache) = (top.display().to_string(), top.join(".cache/hew/go-build"));
        let roots = |env: &Environment| {
            let config = Config::default();
            let (made, _) = commands(&config, env, &workspace, &Permissions::default(), Notices::none());
            made.confinement.unwrap().roots
        };
        let named = Environment::from([("HOME", home.as_str()), ("GOCACHE", "/x")]);
        assert_eq!(roots(&named), [top.join("repo")]);
        assert!(!cache.exists());
        let env = Environment::from([("HOME", home.as_str())]);
        assert_eq!(roots(&env), [top.join("repo"), cache.clone()]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&cache).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }
}
