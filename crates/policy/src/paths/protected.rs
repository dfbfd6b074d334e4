//! Configuration files of hew, other agents, editors, shells and package managers. Changing them always needs
//! approval.

use crate::ConfigProblem;
use crate::paths::{ProjectPaths, project_files};
use crate::pattern_limits::is_bounded_pattern;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::path::Path;

/// Files that other agents, editors, shells, git and package managers execute or obey, in `.gitignore` syntax.
const OTHER_PATTERNS: &[&str] = &[
    // Agents.
    ".agents/",
    ".aider.conf.yml",
    ".amazonq/",
    ".augment-guidelines",
    ".augment/",
    ".claude.json",
    ".claude/",
    ".cline/",
    ".clinerules*",
    ".codex/",
    ".config/opencode/",
    ".continue/",
    ".continuerules",
    ".crush.json",
    ".cursor/",
    ".factory/",
    ".gemini/",
    ".github/agents/",
    ".github/chatmodes/",
    ".goosehints",
    ".hew/",
    ".hewrules*",
    ".junie/",
    ".kilocode/",
    ".kiro/",
    ".mcp.json",
    ".opencode/",
    ".openhands/",
    ".pi/",
    ".qwen/",
    ".roo/",
    ".rooprotected",
    ".roorules*",
    ".rovodev/",
    ".tabnine/",
    ".trae/",
    ".void/",
    ".warp/",
    ".windsurf/",
    "QWEN.md",
    "WARP.md",
    "crush.json",
    "opencode.json",
    // Editors and development environments.
    "*.code-workspace",
    "*.sublime-project",
    "*.sublime-workspace",
    ".codesandbox/",
    ".config/Code/User/",
    ".config/autostart/",
    ".config/environment.d/",
    ".config/nvim/",
    ".config/systemd/",
    ".config/zed/",
    ".devcontainer.json",
    ".devcontainer/",
    ".dir-locals-2.el",
    ".dir-locals.el",
    ".editorconfig.lua",
    ".emacs",
    ".emacs.d/",
    ".exrc",
    ".fleet/",
    ".gdbinit",
    ".gitpod.yml",
    ".gvimrc",
    ".helix/",
    ".idea/",
    ".idx/",
    ".kakrc",
    ".lapce/",
    ".lldbinit",
    ".local.vimrc",
    ".local/share/applications/",
    ".lvimrc",
    ".nova/",
    ".nvim.lua",
    ".nvimrc",
    ".replit",
    ".run/",
    ".theia/",
    ".vim/",
    ".vimrc",
    ".vimspector.json",
    ".vs/",
    ".vscode/",
    ".zed/",
    // Version control.
    ".bzr/",
    ".config/git/",
    ".git/",
    ".gitconfig",
    ".githooks/",
    ".gitmodules",
    ".hg/hgrc",
    ".husky/",
    ".jj/repo/config.toml",
    ".lefthook-local.yaml",
    ".lefthook-local.yml",
    ".lefthook.json",
    ".lefthook.toml",
    ".lefthook.yaml",
    ".lefthook.yml",
    ".overcommit.yml",
    ".pijul/config",
    ".pre-commit-config.yaml",
    ".repo/",
    ".sl/config",
    "_darcs/prefs/defaults",
    "lefthook-local.json",
    "lefthook-local.toml",
    "lefthook-local.yaml",
    "lefthook-local.yml",
    "lefthook.json",
    "lefthook.toml",
    "lefthook.yaml",
    "lefthook.yml",
    // Shells.
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".config/direnv/",
    ".config/fish/",
    ".config/kitty/",
    ".config/zsh/",
    ".cshrc",
    ".envrc",
    ".envrc.local",
    ".inputrc",
    ".kshrc",
    ".local/bin/",
    ".login",
    ".mkshrc",
    ".nvm/nvm.sh",
    ".oh-my-zsh/",
    ".pam_environment",
    ".profile",
    ".screenrc",
    ".ssh/",
    ".tcshrc",
    ".tmux.conf",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    // Package managers, interpreters and other tools that run programs.
    ".Renviron",
    ".Rprofile",
    ".aws/config",
    ".bazeliskrc",
    ".bazelrc",
    ".bundle/config",
    ".bunfig.toml",
    ".cargo/bin/",
    ".cargo/config",
    ".cargo/config.toml",
    ".config/mise/",
    ".config/pip/",
    ".docker/config.json",
    ".ghci",
    ".gnupg/",
    ".gradle/init.d/",
    ".gradle/init.gradle",
    ".irbrc",
    ".julia/config/",
    ".kube/config",
    ".m2/settings.xml",
    ".mise.local.toml",
    ".mise.toml",
    ".mise/",
    ".mvn/",
    ".npmrc",
    ".ocamlinit",
    ".octaverc",
    ".pdbrc",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    ".pnpmfile.cjs",
    ".pryrc",
    ".psqlrc",
    ".pyenv/shims/",
    ".rustup/settings.toml",
    ".sqliterc",
    ".tool-versions",
    ".yarn/plugins/",
    ".yarn/releases/",
    ".yarnrc",
    ".yarnrc.yml",
    "bunfig.toml",
    "mise.local.toml",
    "mise.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
];

/// The patterns that are protected by default: what hew reads from a project, and what others execute or obey.
fn protected_patterns() -> impl Iterator<Item = String> {
    let all = project_files::all().chain(OTHER_PATTERNS.iter().copied());
    // A slash in the middle would limit a pattern to the project's own folder.
    all.map(|name| match name.trim_end_matches('/').contains('/') {
        true => format!("**/{name}"),
        false => name.to_owned(),
    })
}

/// The names among the default patterns that denote one path in a project directory.
pub fn protected_names() -> impl Iterator<Item = &'static str> {
    let names = project_files::all().chain(OTHER_PATTERNS.iter().copied());
    let names = names.map(|name| name.trim_end_matches(['/', '*']));
    names.filter(|name| !name.contains('*'))
}

/// The protected files.
#[derive(Debug, Clone)]
pub struct ProtectedPaths {
    patterns: Gitignore,
}

/// Protects nothing.
impl Default for ProtectedPaths {
    fn default() -> Self {
        ProtectedPaths {
            patterns: Gitignore::empty(),
        }
    }
}

impl ProtectedPaths {
    /// Protects the default files and more, by patterns in `.gitignore` syntax. The defaults cannot be removed.
    pub fn new(more: &[String]) -> (ProtectedPaths, Vec<ConfigProblem>) {
        let mut builder = GitignoreBuilder::new("");
        let mut problems = Vec::new();
        // On case-insensitive file systems `agents.md` is `AGENTS.md`.
        if let Err(error) = builder.case_insensitive(true) {
            problems.push(problem("", &error));
        }
        let more = more
            .iter()
            .map(String::as_str)
            .filter(|pattern| !pattern.starts_with('!') && is_bounded_pattern(pattern));
        for pattern in protected_patterns().chain(more.map(str::to_owned)) {
            if let Err(error) = builder.add_line(None, &pattern) {
                problems.push(problem(&pattern, &error));
            }
        }
        let patterns = builder.build().unwrap_or_else(|error| {
            problems.push(problem("", &error));
            Gitignore::empty()
        });
        (ProtectedPaths { patterns }, problems)
    }

    /// Whether a file inside the project is protected. Paths outside need approval anyway.
    pub fn covers(&self, path: &Path, project: &ProjectPaths) -> bool {
        let Some(path) = project.relative(path) else {
            return false;
        };
        // A directory is protected if its content is.
        let inside = path.join("_");
        !path.as_os_str().is_empty()
            && (self.patterns.matched_path_or_any_parents(&path, false).is_ignore()
                || self.patterns.matched_path_or_any_parents(&inside, false).is_ignore())
    }
}

fn problem(pattern: &str, error: &ignore::Error) -> ConfigProblem {
    ConfigProblem {
        file: "protected".to_owned(),
        entry: pattern.to_owned(),
        message: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_hew_reads_from_a_project_is_protected_in_every_folder() {
        let (protected, problems) = ProtectedPaths::new(&[]);
        assert_eq!(problems, []);
        let project = ProjectPaths {
            root: "/p".into(),
            ..ProjectPaths::default()
        };
        for name in project_files::all() {
            for path in [
                name.to_owned(),
                format!("a/b/{name}"),
                format!("{name}/x"),
                name.to_uppercase(),
            ] {
                assert!(protected.covers(Path::new(&path), &project), "{path}");
            }
        }
        for name in [
            ".bashrc",
            "x/.envrc",
            ".codex/config.toml",
            ".cargo/config.toml",
            "x/.cargo/config.toml",
            ".devcontainer/a",
        ] {
            assert!(protected.covers(Path::new(name), &project), "{name}");
        }
        for name in [
            "rules",
            "src/agents.rs",
            ".github/workflows/ci.yml",
            ".cargo",
            "README.md",
            ".env",
        ] {
            assert!(!protected.covers(Path::new(name), &project), "{name}");
        }
        assert!(protected_names().all(|name| !name.contains(['*', '!']) && !name.ends_with('/')));
    }
}
