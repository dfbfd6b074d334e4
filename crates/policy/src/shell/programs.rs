//! Facts about programs and variables by name.

/// Options before a subcommand that take a separate value.
#[rustfmt::skip]
pub(crate) const GLOBAL_VALUES: &[(&str, &[&str])] = &[
    ("git", &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env",
        "--super-prefix"]),
    ("cargo", &["--config", "--color", "-C", "-Z", "--manifest-path"]),
    ("npm", &["--prefix", "-C", "--workspace", "-w", "--userconfig", "--registry", "--loglevel"]),
    ("pnpm", &["--dir", "-C", "--filter", "-F"]),
    ("yarn", &["--cwd"]),
    ("docker", &["--config", "-c", "--context", "-H", "--host", "-l", "--log-level"]),
    ("podman", &["--root", "--runroot", "--url", "--connection", "-c"]),
    ("kubectl", &["-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user", "-s", "--server",
        "--token", "--as"]),
    ("helm", &["-n", "--namespace", "--kube-context", "--kubeconfig"]),
    ("gh", &["-R", "--repo", "--hostname"]),
    ("aws", &["--profile", "--region", "--endpoint-url", "--output", "--query", "--ca-bundle"]),
    ("gcloud", &["--project", "--account", "--configuration", "--format"]),
    ("terraform", &["-chdir"]),
    ("systemctl", &["-H", "--host", "-M", "--machine", "--root"]),
    ("make", &["-C", "-f", "--file", "--directory", "-I", "-j", "-l", "-o", "-W"]),
    ("go", &["-C"]),
    ("pip", &["--proxy", "--log", "--cache-dir", "--python"]),
    ("psql", &["-h", "-p", "-U", "-d"]),
    ("ssh", &["-p", "-i", "-l", "-o", "-F", "-J", "-L", "-R", "-D", "-E", "-b", "-c", "-m", "-S", "-W", "-w"]),
];

#[rustfmt::skip]
const SHELLS: &[&str] = &[
    "sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "mksh", "rbash", "rksh", "yash", "tcsh", "csh", "pwsh",
    "powershell", "elvish", "nu", "xonsh", "posh", "lksh", "bash-static",
];

/// Editors with the options of `vim`.
#[rustfmt::skip]
pub(crate) const EDITORS: &[&str] = &[
    "ex", "gview", "gvim", "gvimdiff", "nvim", "rgview", "rgvim", "rview", "rvim", "vi", "view", "vim", "vim.basic",
    "vim.gtk3", "vim.nox", "vim.tiny", "vimdiff",
];

#[rustfmt::skip]
const INTERPRETERS: &[&str] = &[
    "python", "python2", "python3", "node", "nodejs", "deno", "bun", "perl", "ruby", "php", "lua", "tclsh", "Rscript",
    "osascript", "ghci", "irb", "pypy3", "guile", "julia", "dc", "R", "bpython", "clojure", "erl", "expect", "gnuplot",
    "groovysh", "iex", "ipython", "ipython3", "jshell", "lftp", "lldb", "m4", "maxima", "ocaml", "octave", "racket", "sbcl",
    "scala", "swift", "utop",
];

/// Git's own subcommands. Others are aliases, programs, or misspellings that git may correct.
#[rustfmt::skip]
const GIT_SUBCOMMANDS: &[&str] = &[
    "add", "am", "annotate", "apply", "archive", "bisect", "blame", "branch", "bugreport", "bundle", "cat-file",
    "check-attr", "check-ignore", "check-mailmap", "check-ref-format", "checkout", "checkout-index", "cherry",
    "cherry-pick", "citool", "clean", "clone", "column", "commit", "commit-graph", "commit-tree", "config",
    "count-objects", "credential", "describe", "diagnose", "diff", "diff-files", "diff-index", "diff-tree", "difftool",
    "fast-export", "fast-import", "fetch", "fetch-pack", "fmt-merge-msg", "for-each-ref", "for-each-repo",
    "format-patch", "fsck", "gc", "get-tar-commit-id", "grep", "gui", "hash-object", "help", "hook", "index-pack",
    "init", "init-db", "interpret-trailers", "lfs", "log", "ls-files", "ls-remote", "ls-tree", "mailinfo", "mailsplit",
    "maintenance", "merge", "merge-base", "merge-file", "merge-index", "merge-tree", "mergetool", "mktag", "mktree",
    "multi-pack-index", "mv", "name-rev", "notes", "pack-objects", "pack-refs", "patch-id", "prune", "prune-packed",
    "pull", "push", "range-diff", "read-tree", "rebase", "reflog", "refs", "remote", "repack", "replace", "replay",
    "request-pull", "rerere", "reset", "restore", "rev-list", "rev-parse", "revert", "rm", "send-email", "send-pack",
    "shortlog", "show", "show-branch", "show-index", "show-ref", "sparse-checkout", "stage", "stash", "status",
    "stripspace", "submodule", "subtree", "switch", "symbolic-ref", "tag", "unpack-file", "unpack-objects",
    "update-index", "update-ref", "update-server-info", "var", "verify-commit", "verify-pack", "verify-tag", "version",
    "whatchanged", "worktree", "write-tree",
];

/// Variables that only change the appearance of output.
#[rustfmt::skip]
const HARMLESS_VARIABLES: &[&str] = &[
    "CI", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "DEBUG", "FORCE_COLOR", "LANG", "LANGUAGE", "LINES", "NO_COLOR",
    "NODE_ENV", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "RUST_BACKTRACE", "RUST_LOG", "RUST_LIB_BACKTRACE",
    "CARGO_TERM_COLOR", "CARGO_TERM_PROGRESS_WHEN", "CARGO_INCREMENTAL", "TERM", "TZ", "VERBOSE", "COLORTERM",
    "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "RAILS_ENV", "RACK_ENV", "GOMAXPROCS", "DJANGO_DEBUG",
];

/// Variables that make programs run or load something else.
#[rustfmt::skip]
const POWERFUL_VARIABLES: &[&str] = &[
    "PATH", "IFS", "ENV", "BASH_ENV", "CDPATH", "GLOBIGNORE", "HOME", "SHELL", "SHELLOPTS", "BASHOPTS", "PS0", "PS1",
    "PS2", "PS4", "PROMPT_COMMAND", "PWD", "OLDPWD", "TMPDIR", "EDITOR", "VISUAL", "PAGER", "BROWSER", "MANPAGER",
    "MANOPT", "LESS", "LESSOPEN", "LESSCLOSE", "CC", "CXX", "LD", "AR", "MAKEFLAGS", "MAKE", "RUSTFLAGS", "RUSTC",
    "RUSTC_WRAPPER", "RUSTDOC", "SUDO_ASKPASS", "ASKPASS", "HISTFILE", "FPATH", "RIPGREP_CONFIG_PATH", "CLASSPATH",
    "GCONV_PATH", "KUBECONFIG", "TERMINFO", "LOCPATH", "NLSPATH", "ZDOTDIR", "INPUTRC", "FCEDIT", "COMSPEC",
    "TAR_OPTIONS", "GREP_OPTIONS", "LS_COLORS", "EXINIT", "VIMINIT", "POSIXLY_CORRECT", "BASH_LOADABLES_PATH",
];

#[rustfmt::skip]
const POWERFUL_PREFIXES: &[&str] = &[
    "LD_", "DYLD_", "GIT_", "NODE_", "NPM_", "npm_", "PYTHON", "PERL", "RUBY", "GEM_", "BUNDLE_", "JAVA_", "JDK_",
    "_JAVA_", "MAVEN_", "GRADLE_", "CARGO_", "RUSTUP_", "GO", "SSH_", "XDG_", "DOCKER_", "BASH_", "PHP", "LUA_",
    "DOTNET_", "ELECTRON_", "VAGRANT_", "TF_", "PIP_", "UV_", "GLIBC_", "MALLOC_", "AWS_", "OPENSSL_", "SSL_",
    "CURL_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
];

/// Variables that make a shell, the loader or git use other programs, by prefix.
#[rustfmt::skip]
const REDIRECTING_VARIABLES: &[&str] = &[
    "BASH_", "DYLD_", "ENV", "GCONV_PATH", "GIT_CONFIG", "GIT_DIR", "GIT_EXEC_PATH", "IFS", "LD_", "NODE_OPTIONS", "PATH",
    "PERL5", "PYTHONPATH", "PYTHONSTARTUP", "RUBYOPT", "SHELLOPTS",
];

/// Programs with subcommands that also exist as programs of their own, such as `git-push`.
const DASHED_PROGRAMS: &[&str] = &["cargo", "docker", "git", "kubectl"];

#[rustfmt::skip]
const STANDARD_FOLDERS: &[&str] = &[
    "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin",
];

/// Programs that never run their arguments, so that a word such as `rm` among them is harmless.
#[rustfmt::skip]
const CARRIES_NO_COMMAND: &[&str] = &[
    "alias", "apt", "apt-get", "base64", "basename", "brew", "cargo", "cat", "cd", "chgrp", "chmod", "chown", "cmp",
    "comm", "cp", "curl", "cut", "date", "df", "diff", "dig", "dirname", "dnf", "dpkg", "du", "echo", "egrep",
    "export", "fgrep", "file", "gcc", "gh", "git", "go", "grep", "groups", "gzip", "head", "hexdump", "id", "jq",
    "gmake", "kill", "killall", "less", "ln", "ls", "make", "man", "md5sum", "mkdir", "more", "mv", "nl", "od",
    "pacman", "pgrep", "pip", "pip3", "pkill", "printf", "ps", "pwd", "readlink", "realpath", "rg", "rm",
    "rmdir", "rustc", "scp", "sed", "seq", "sha256sum", "sleep", "sort", "stat", "strings", "tail", "tar", "tee",
    "test", "touch", "tr", "tree", "truncate", "type", "uname", "uniq", "unzip", "wc", "wget", "whereis", "which",
    "whoami", "xxd", "yum", "zip",
];

/// Programs that print or copy the content of their file arguments.
#[rustfmt::skip]
const READS_FILES: &[&str] = &[
    ".", "ack", "ag", "awk", "base64", "bat", "batcat", "cat", "cmp", "column", "comm", "cp", "cut", "diff", "egrep",
    "emacs", "expand", "fgrep", "fmt", "fold", "gawk", "gc", "get-content", "grep", "gzip", "head", "hexdump",
    "install", "jq", "less", "ln", "mawk", "more", "mv", "nano", "nl", "od", "open", "paste", "perl", "pr", "rg",
    "rsync", "scp", "sed", "select-string", "shuf", "sls", "sort", "source", "split", "strings", "tac", "tail", "tar",
    "tee", "type", "uniq", "vi", "view", "vim", "wc", "xxd", "yq", "zcat", "zip",
];

/// Programs that print names or locations, but never file content.
#[rustfmt::skip]
const SHOWS_NO_CONTENT: &[&str] = &[
    "[", "basename", "cd", "chgrp", "chmod", "chown", "dir", "dirname", "du", "echo", "exit", "export", "ls", "mkdir",
    "popd", "printf", "ps", "pushd", "pwd", "realpath", "rm", "rmdir", "set", "stat", "test", "touch", "tree", "true",
    "which",
];

/// The last component of a path.
pub(crate) fn basename(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a path refers to a system program, not to one provided by the project.
pub(crate) fn is_standard(program: &str) -> bool {
    match program.rsplit_once('/') {
        None => true,
        Some((folder, _)) => STANDARD_FOLDERS.contains(&folder),
    }
}

/// A program's name without a version, such as `python` for `python3.11`.
pub(crate) fn without_version(name: &str) -> &str {
    let program = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    program.strip_suffix('-').unwrap_or(program)
}

pub(crate) fn is_shell(name: &str) -> bool {
    let name = basename(name);
    SHELLS.contains(&name) || SHELLS.contains(&without_version(name))
}

pub(crate) fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&without_version(name))
}

pub(crate) fn is_git_subcommand(name: &str) -> bool {
    GIT_SUBCOMMANDS.contains(&name)
}

pub(crate) fn carries_no_command(name: &str) -> bool {
    CARRIES_NO_COMMAND.contains(&name)
}

pub(crate) fn reads_files(name: &str) -> bool {
    READS_FILES.contains(&name.to_lowercase().as_str())
}

pub(crate) fn shows_no_content(name: &str) -> bool {
    SHOWS_NO_CONTENT.contains(&name)
}

/// Whether a variable only changes the appearance of output.
pub(crate) fn harmless_variable(name: &str) -> bool {
    HARMLESS_VARIABLES.contains(&name) || name.starts_with("LC_")
}

/// Whether a variable changes which programs run or what they load for the rest of the line.
pub(crate) fn changes_programs(name: &str) -> bool {
    let name = name.split('[').next().unwrap_or(name);
    !harmless_variable(name)
        && (POWERFUL_VARIABLES.contains(&name)
            || POWERFUL_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || ["_EDITOR", "_PAGER"].iter().any(|suffix| name.ends_with(suffix)))
}

/// Whether a variable determines which programs or code a command uses.
pub(crate) fn redirects_programs(name: &str) -> bool {
    REDIRECTING_VARIABLES.iter().any(|prefix| name.starts_with(prefix))
}

/// The program and subcommand of a name such as `git-push`.
pub(crate) fn dashed_subcommand(name: &str) -> Option<(&str, &str)> {
    let (program, subcommand) = name.split_once('-')?;
    (DASHED_PROGRAMS.contains(&program) && !subcommand.is_empty()).then_some((program, subcommand))
}

/// Joins a directory and a path textually.
pub(crate) fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.starts_with(['/', '~']) {
        return path.to_owned();
    }
    format!("{}/{path}", folder.trim_end_matches('/'))
}
