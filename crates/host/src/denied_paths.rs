//! Paths that deny rules keep from commands. Those inside the project that must not be read are hidden by the workspace.

use policy::Permissions;
use std::path::{Path, PathBuf};
use workspace::{PathCover, Workspace};

/// The maximum number of entries that are examined below a folder outside the project.
const MAX_EXAMINED: usize = 20_000;
/// The maximum number of hidden paths below a folder outside the project.
const MAX_FOUND: usize = 500;

/// The existing paths outside the project that deny rules forbid to read, and warnings about rules that commands can
/// evade.
pub(crate) fn hidden_outside(permissions: &Permissions) -> (Vec<PathBuf>, Vec<String>) {
    let (mut hidden, mut warnings) = (Vec::new(), Vec::new());
    for base in permissions.denied_bases() {
        let is_inside = permissions.project.relative(&base).is_some();
        if is_inside || !base.exists() {
            continue;
        }
        match matches_below(&base, permissions) {
            Some(found) => hidden.extend(found),
            // Too many: hide the folder, unless the project or the system needs it.
            None if is_dispensable(&base, permissions) => hidden.push(base),
            None => warnings.push(format!(
                "a deny rule for files in {} applies to tools, but not to commands: there are too many files to check",
                base.display()
            )),
        }
    }
    (hidden, warnings)
}

/// The paths of the project that deny rules forbid to change, as far as they exist or are named without wildcards.
pub(crate) fn read_only(permissions: &Permissions, workspace: &Workspace, most: usize) -> PathCover {
    let (_, denies_writing) = permissions.denies_files();
    if !denies_writing {
        return PathCover::default();
    }
    let rules = permissions.clone();
    let mut cover = workspace.cover(most, move |path| rules.denies_writing(path));
    cover.paths.extend(permissions.unwritable_paths());
    let roots = [workspace.root()]
        .into_iter()
        .chain(workspace.more().iter().map(PathBuf::as_path));
    let denied = roots.filter(|root| permissions.denies_writing(root));
    cover.paths.extend(denied.map(Path::to_owned));
    cover
}

/// The paths below a folder that must not be read; `None` if there are too many entries.
fn matches_below(base: &Path, permissions: &Permissions) -> Option<Vec<PathBuf>> {
    let is_whole = permissions.denies_reading(base) || permissions.denies_reading(&base.join("*"));
    if is_whole || !base.is_dir() {
        return Some(is_whole.then(|| base.to_owned()).into_iter().collect());
    }
    let (mut found, mut folders, mut examined) = (Vec::new(), vec![base.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            examined += 1;
            if examined > MAX_EXAMINED || found.len() > MAX_FOUND {
                return None;
            }
            let path = entry.path();
            if permissions.denies_reading(&path) {
                found.push(path);
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            }
        }
    }
    Some(found)
}

/// Whether a folder is not needed by commands: neither the project nor the home folder is below it, and it is not part
/// of the system.
fn is_dispensable(base: &Path, permissions: &Permissions) -> bool {
    let project = &permissions.project;
    let needed = [&project.root].into_iter().chain(&project.more).chain(&project.home);
    let is_needed = needed.into_iter().any(|path| path.starts_with(base));
    let system = [
        "/usr", "/bin", "/lib", "/lib64", "/etc", "/dev", "/proc", "/sys", "/opt", "/nix", "/var",
    ];
    !is_needed && !system.iter().any(|folder| base.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{ProjectPaths, RuleConfig, RuleLayer, RuleOrigin};
    use std::sync::Arc;

    #[test]
    fn deny_rules_hide_files_outside_and_protect_files_inside() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        for name in [
            "home/.ssh/id",
            "home/keys/a.pem",
            "home/keys/deep/b.pem",
            "home/keys/c.txt",
            "repo/docs/a",
            "repo/x.lock",
        ] {
            std::fs::create_dir_all(top.join(name).parent().unwrap()).unwrap();
            std::fs::write(top.join(name), "").unwrap();
        }
        let deny = [
            "read(~/.ssh/**)",
            "read(~/keys/**/*.pem)",
            "write(docs/**)",
            "write(*.lock)",
            "write(new/)",
        ];
        let config = RuleConfig {
            deny: deny.map(str::to_owned).to_vec(),
            ..RuleConfig::default()
        };
        let (layer, problems) = RuleLayer::load(RuleOrigin::User, &config);
        assert_eq!(problems, []);
        let permissions = Permissions {
            rules: Arc::new(vec![layer]),
            project: Arc::new(ProjectPaths {
                root: top.join("repo"),
                home: Some(top.join("home")),
                ..ProjectPaths::default()
            }),
            ..Permissions::default()
        };
        let (mut hidden, warnings) = hidden_outside(&permissions);
        hidden.sort();
        let home = top.join("home");
        assert_eq!(
            hidden,
            [home.join(".ssh"), home.join("keys/a.pem"), home.join("keys/deep/b.pem")]
        );
        assert_eq!(warnings, [""; 0]);
        let workspace = Workspace::open(&top.join("repo")).unwrap();
        let mut cover = read_only(&permissions, &workspace, 100).paths;
        cover.sort();
        cover.dedup();
        let repo = top.join("repo");
        assert_eq!(
            cover,
            [
                repo.join("docs"),
                repo.join("docs/a"),
                repo.join("new"),
                repo.join("x.lock")
            ]
        );
    }
}
