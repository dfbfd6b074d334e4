//! Options that make a harmless program write files or run commands.
//!
//! A rule that allows `sort` does not mean `sort --compress-program=sh`. Such an option is covered only by a rule that
//! names it.

use super::programs::{EDITORS, changes_programs, without_version};
use super::targets::{edits_in_place, operands, option_values};
use super::{ShellWord, SimpleCommand, sed};

/// Programs and their options that run another program or load code.
#[rustfmt::skip]
const RUNNING_OPTIONS: &[(&str, &[&str])] = &[
    ("sort", &["--compress-program"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("ag", &["--pager"]),
    ("ack", &["--pager"]),
    ("bat", &["--pager"]),
    ("delta", &["--pager"]),
    ("man", &["-P", "--pager", "-H", "--html", "-C", "--config-file"]),
    ("tar", TAR),
    ("gtar", TAR),
    ("bsdtar", &["--use-compress-program"]),
    ("cmake", &["-E", "-P"]),
    ("emacs", &["--eval", "--execute", "--load", "-l", "--script", "--funcall", "-f"]),
    ("fzf", &["--preview", "--bind", "--with-shell"]),
    ("gdb", &["-ex", "--ex", "-x", "--eval-command", "--command", "-iex", "-ix", "--init-command",
        "--init-eval-command", "--args"]),
    ("hg", &["--config", "--ssh", "--remotecmd"]),
    ("nc", &["-e", "-c"]),
    ("ncat", &["-e", "-c", "--exec", "--sh-exec", "--lua-exec"]),
    ("rpm", &["--eval", "-E", "--define", "-D", "--load", "--macros", "--pipe"]),
    ("svn", &["--diff-cmd", "--diff3-cmd", "--editor-cmd", "--config-option", "--config-dir"]),
    ("tcpdump", &["-z"]),
    ("zip", &["-TT", "--unzip-command"]),
    ("wget", &["--use-askpass", "-e", "--execute", "--config"]),
    ("rsync", &["-e", "--rsh", "--rsync-path", "-M", "--remote-option", "--daemon", "--config"]),
    ("scp", &["-S", "-o", "-F"]),
    ("sftp", &["-S", "-o", "-F", "-D"]),
    ("ssh", &["-o", "-F", "-I"]),
    ("ld", &["-plugin", "--plugin"]),
    ("cargo", &["--config"]),
    ("nano", &["-s", "--speller", "-f", "--rcfile"]),
    ("go", &["-exec", "-toolexec", "-vettool", "-overlay", "-modfile", "--exec", "--toolexec", "--vettool", "--overlay",
        "--modfile"]),
    ("split", &["--filter"]),
    ("install", &["--strip-program"]),
    ("ginstall", &["--strip-program"]),
    ("rustc", &["-Clinker", "linker=", "--codegen=linker", "-Zcodegen-backend", "codegen-backend="]),
    ("rustdoc", &["--test-runtool", "--runtool"]),
    ("java", &["-XX:OnError", "-XX:OnOutOfMemoryError", "-XX:Flags", "-XX:VMOptionsFile", "-agentpath", "-agentlib", "-javaagent"]),
    ("sqlite3", &["-init", "--init", "-cmd", "--cmd"]),
    ("psql", &["-f", "--file"]),
    ("gcc", COMPILER),
    ("g++", COMPILER),
    ("cc", COMPILER),
    ("c++", COMPILER),
    ("clang", COMPILER),
    ("make", &["--eval", "-E"]),
    ("gmake", &["--eval", "-E"]),
    ("npm", &["--script-shell", "--call", "--node-options", "--userconfig", "--globalconfig", "--git"]),
    ("pnpm", &["--script-shell", "--shell-mode"]),
    ("yarn", &["--script-shell"]),
    ("pip", &["--global-option", "--install-option", "--editor", "--python"]),
    ("apt", &["-o", "--option", "-c", "--config-file"]),
    ("apt-get", &["-o", "--option", "-c", "--config-file"]),
    ("dpkg", &["--pre-invoke", "--post-invoke"]),
    ("awk", &["-f", "--file", "-i", "--include", "-E", "--exec", "-l", "--load", "--source", "-W"]),
    ("gawk", &["-f", "--file", "-i", "--include", "-E", "--exec", "-l", "--load", "--source", "-W"]),
    ("mawk", &["-f", "--file", "-W"]),
    ("sed", &["-f", "--file"]),
    ("openssl", &["-config", "-engine", "-provider-path", "-provider", "-pre", "-post"]),
    ("less", &["--cmd", "-k", "--lesskey-file", "--lesskey-src", "--lesskey-content"]),
    ("gh", &["--editor", "--browser"]),
    ("gpg", GPG),
    ("gpg2", GPG),
    ("pandoc", &["-F", "--filter", "-L", "--lua-filter", "--pdf-engine", "-d", "--defaults", "--data-dir"]),
    ("nmap", &["--script", "-script", "--datadir", "-datadir"]),
    ("ip", &["-ba"]),
    ("ar", &["--plugin"]),
    ("nm", &["--plugin"]),
    ("objcopy", &["--plugin"]),
    ("ranlib", &["--plugin"]),
    ("strip", &["--plugin"]),
];

/// Programs with many ordinary arguments: a word that is only known at run time is not taken for an option.
#[rustfmt::skip]
const ORDINARY_ARGUMENTS: &[&str] = &[
    "apt", "apt-get", "bat", "c++", "cc", "clang", "delta", "dpkg", "g++", "gh", "gmake", "make", "npm", "pip", "pnpm",
    "yarn",
];

const TAR: &[&str] = &[
    "--to-command",
    "--checkpoint-action",
    "--use-compress-program",
    "-I",
    "--rmt-command",
    "--rsh-command",
    "-F",
    // A list of files may contain options.
    "-T",
    "--files-from",
    "--info-script",
    "--new-volume-script",
];

/// Programs that read more options from the file in `@FILE`.
#[rustfmt::skip]
const READS_OPTION_FILES: &[&str] = &[
    "c++", "cc", "clang", "clang++", "g++", "gcc", "java", "javac", "ld", "rustc", "rustdoc",
];

/// Variables of `make` that name programs, besides those with a dot such as `COMPILE.c`.
const MAKE_PROGRAMS: &[&str] = &[
    "AS", "CPP", "FC", "INSTALL", "LEX", "LINT", "M2C", "PC", "RM", "TEX", "YACC",
];

/// Commands of `sqlite3` that only show something.
#[rustfmt::skip]
const HARMLESS_SQLITE_COMMANDS: &[&str] = &[
    ".databases", ".dbinfo", ".dump", ".exit", ".fullschema", ".headers", ".help", ".indexes", ".indices", ".mode",
    ".nullvalue", ".quit", ".schema", ".separator", ".show", ".stats", ".tables", ".timer", ".version", ".width",
];

const GPG: &[&str] = &[
    "--agent-program",
    "--dirmngr-program",
    "--exec-path",
    "--homedir",
    "--keyboxd-program",
    "--options",
    "--photo-viewer",
];

#[rustfmt::skip]
const COMPILER: &[&str] = &[
    "-wrapper", "-fplugin", "-B", "-specs", "-Xclang", "-load", "-fuse-ld", "-Wl,-plugin", "-Wl,--plugin", "--ld-path",
];

/// Programs and their options that write or change something.
#[rustfmt::skip]
const WRITING_OPTIONS: &[(&str, &[&str])] = &[
    ("find", &["-delete", "-fprint", "-fprint0", "-fprintf", "-fls"]),
    ("sort", &["-o", "--output", "-T", "--temporary-directory"]),
    ("rg", &["-z", "--search-zip"]),
    ("xxd", &["-r"]),
    ("date", &["-s", "--set"]),
    ("tree", &["-o"]),
    ("curl", &["-o", "-O", "--output", "--remote-name", "-T", "--upload-file", "-K", "--config", "-D",
        "--dump-header", "-c", "--cookie-jar", "--trace", "--trace-ascii", "--stderr", "--output-dir", "--libcurl",
        "--etag-save", "--hsts", "--alt-svc", "--engine", "--remote-name-all", "--ssl-sessions", "--unix-socket", "--abstract-unix-socket"]),
    ("wget", &["-O", "--output-document", "-o", "--output-file", "-a", "--append-output", "--post-file",
        "-P", "--directory-prefix"]),
    ("ssh", &["-E"]),
    ("npm", &["-C", "--prefix"]),
    ("rsync", &["--log-file", "--write-batch", "--only-write-batch", "--backup-dir", "--partial-dir", "--temp-dir"]),
    ("go", &["-o"]),
    ("yq", &["-i", "--inplace", "--in-place"]),
    ("jq", &["-i"]),
    ("file", &["-C", "--compile"]),
    ("history", &["-w", "-a", "-c", "-d", "-r"]),
    ("printf", &["-v"]),
    ("test", &["-v"]),
    ("openssl", &["-out"]),
    ("docker", &["--privileged", "-v", "--volume", "--mount"]),
    ("ps", &["-E"]),
    ("less", &["-o", "-O", "--log-file"]),
    ("diff", &["--to-file"]),
    ("hostname", &["-F", "--file"]),
    ("dmesg", &["-c", "-C", "--clear"]),
];

/// Subcommands that run a program that they are given, or load one.
const RUNNING_SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("cargo", &["make", "watch", "with"]),
    ("ip", &["netns", "vrf"]),
    ("npm", &["exec", "x", "explore", "edit"]),
    ("openssl", &["engine"]),
    ("pnpm", &["exec", "dlx"]),
    ("yarn", &["exec", "dlx"]),
];

/// Options before a git subcommand that run a program, or use another configuration.
const GIT_GLOBAL: &[&str] = &["-c", "--config-env", "--exec-path", "--git-dir"];

/// Options of git subcommands that run a program.
#[rustfmt::skip]
const GIT_RUNNING: &[&str] = &[
    "--open-files-in-pager", "--ext-diff", "--textconv", "--upload-pack", "--receive-pack", "--exec", "--extcmd",
    "--template", "--hooksPath", "--upload-archive", "--sendmail-cmd", "--smtp-server", "--to-cmd", "--cc-cmd",
    "--header-cmd", "--access-hook", "--authors-prog", "--tool", "--strategy",
];

/// Options that are complete although they are the beginning of one above.
const GIT_HARMLESS: &[&str] = &["--author", "--cc", "--text", "--to"];

/// Options of git that write or change something.
const GIT_WRITING: &[&str] = &["--output", "--separate-git-dir"];

/// Options before a git subcommand that change something.
const GIT_GLOBAL_OTHER: &[&str] = &["-p", "--paginate", "--work-tree"];

/// Short options of git subcommands that run a program.
const GIT_SHORT: &[(&str, char)] = &[
    ("rebase", 'x'),
    ("difftool", 'x'),
    ("clone", 'u'),
    ("clone", 'c'),
    ("grep", 'O'),
    ("instaweb", 'b'),
    ("difftool", 't'),
    ("mergetool", 't'),
    ("merge", 's'),
    ("pull", 's'),
    ("rebase", 's'),
];

/// Git subcommands that run a program that they are given.
const GIT_RUNNERS: &[&str] = &[
    "daemon",
    "filter-branch",
    "for-each-repo",
    "instaweb",
    "merge-index",
    "remote-ext",
    "shell",
    "web--browse",
];

/// Git subcommands with only paths after `--`.
#[rustfmt::skip]
const GIT_TAKES_PATHS: &[&str] = &[
    "add", "blame", "checkout", "commit", "diff", "grep", "log", "ls-files", "mv", "reset", "restore", "rm", "show",
    "stash", "status",
];

/// Settings that do not run anything, by prefix in lower case.
#[rustfmt::skip]
const HARMLESS_GIT_SETTINGS: &[&str] = &[
    "advice.", "color.", "column.", "core.abbrev", "core.autocrlf", "core.eol", "core.quotepath", "diff.algorithm",
    "diff.context", "diff.renames", "grep.", "init.defaultbranch", "log.", "pull.ff", "pull.rebase", "push.default",
    "rebase.autostash", "safe.", "status.", "user.",
];

/// Returns the option that makes a command run another program, as written.
pub(crate) fn running_option(simple: &SimpleCommand) -> Option<String> {
    let name = simple.name()?;
    let found = match name.as_str() {
        "git" => git(simple, GitScope::Running),
        "sed" => sed::acting_script(simple),
        "awk" | "gawk" | "mawk" | "nawk" => awk(simple),
        "less" | "more" => words_after_program(simple).find(|text| text.starts_with('+')),
        "strace" | "ltrace" => piped_output(simple),
        "zip" => words_after_program(simple).find(|text| text.starts_with('-') && text.contains("TT")),
        "sqlite3" => sqlite(simple),
        "psql" => operand_with(simple, &["\\", "PROGRAM"]),
        "mysql" | "mariadb" => operand_with(
            simple,
            &["\\!", "\\.", "\\P", "\\T", "SYSTEM", "SOURCE", "PAGER", "TEE"],
        ),
        _ if EDITORS.contains(&name.as_str()) => editor(simple),
        _ if READS_OPTION_FILES.contains(&name.as_str()) => {
            words_after_program(simple).find(|text| text.starts_with('@'))
        }
        "tar" | "gtar" => bundled_tar_option(simple).or_else(|| remote_archive(simple)),
        "make" | "gmake" => make(simple),
        "socat" => operand_with(simple, &["EXEC:", "SYSTEM:", "SHELL:"]),
        "dc" | "ed" => operand_with(simple, &["!"]),
        // A format in a file is a program.
        "pandoc" => operand_with(simple, &[".LUA"]),
        "ip" if words_after_program(simple).any(|text| text == "-b") => Some("-b".to_owned()),
        _ => operands(simple, &[])
            .first()
            .and_then(ShellWord::plain)
            .filter(|first| options_of(RUNNING_SUBCOMMANDS, &name).contains(&first.as_str())),
    };
    found.or_else(|| option_in(simple, options_of(RUNNING_OPTIONS, &name), 1))
}

/// The commands in the values of options that run a program.
pub(crate) fn option_scripts(simple: &SimpleCommand) -> Vec<String> {
    let Some(name) = simple.name() else {
        return Vec::new();
    };
    let options = match name.as_str() {
        "git" => GIT_RUNNING,
        _ => options_of(RUNNING_OPTIONS, &name),
    };
    let mut values = option_values(simple, options);
    if name == "git" {
        values.extend(option_values(simple, &["-c", "--config", "-x", "-u", "-O"]));
    }
    let mut scripts = Vec::new();
    for value in values.iter().filter_map(ShellWord::plain) {
        // `core.pager=less`, `ProxyCommand=nc` and `exec=sh`.
        if let Some((_, run)) = value.split_once('=') {
            scripts.push(run.trim_start_matches('!').to_owned());
        }
        scripts.push(value);
    }
    // The value of a variable such as PAGER is a command.
    for (variable, value) in &simple.env {
        if changes_programs(variable) {
            scripts.extend(value.plain());
        }
    }
    scripts.retain(|script| !script.trim().is_empty());
    scripts
}

/// The options of a program, also under a name with a version, such as `gcc-12`.
fn options_of(table: &[(&str, &'static [&'static str])], name: &str) -> &'static [&'static str] {
    let names = [name, without_version(name)];
    names
        .into_iter()
        .find_map(|name| table.iter().find(|(program, _)| *program == name))
        .map_or(&[], |(_, options)| options)
}

/// Returns the option that makes a command do more than its name suggests, as written.
pub(crate) fn hazardous_option(simple: &SimpleCommand) -> Option<String> {
    let name = simple.name()?;
    let writing = || match name.as_str() {
        "git" => git(simple, GitScope::Any),
        "sed" => edited_in_place(simple),
        "curl" => curl_format(simple).or_else(|| option_in(simple, options_of(WRITING_OPTIONS, &name), 1)),
        _ => option_in(simple, options_of(WRITING_OPTIONS, &name), 1),
    };
    running_option(simple).or_else(writing)
}

/// Returns the first word that is, or may become, one of the options.
fn option_in(simple: &SimpleCommand, options: &[&str], from: usize) -> Option<String> {
    if options.is_empty() {
        return None;
    }
    for word in simple.words.iter().skip(from) {
        let Some(text) = word.plain() else {
            let is_ordinary = simple
                .name()
                .is_some_and(|name| ORDINARY_ARGUMENTS.contains(&name.as_str()));
            // A glob can only expand to file names, which rarely begin with a dash.
            if word.may_be_flag() && !is_only_pattern(word) && !is_ordinary {
                return Some(word.to_string());
            }
            continue;
        };
        if text == "--" {
            return None;
        }
        if options.iter().any(|option| is_option_form(&text, option)) {
            return Some(text);
        }
    }
    simple.open_ended.then(|| "…".to_owned())
}

fn is_only_pattern(word: &ShellWord) -> bool {
    word.pieces.iter().all(|piece| {
        !matches!(
            piece,
            super::WordPiece::Variable { .. } | super::WordPiece::Unknown { .. }
        )
    })
}

/// Whether a word is an option, including shortened, bundled and with a value.
fn is_option_form(text: &str, option: &str) -> bool {
    if let Some(long) = option.strip_prefix("--") {
        let Some(name) = text.strip_prefix("--") else {
            return false;
        };
        let name = name.split('=').next().unwrap_or(name);
        return !name.is_empty() && long.starts_with(name);
    }
    if option.len() > 2 {
        // `-TTsh` and `-fplugin=x`.
        return text.starts_with(option);
    }
    let short = option.chars().nth(1).unwrap_or('-');
    text.starts_with('-') && !text.starts_with("--") && text.contains(short)
}

/// Which options of git to look for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GitScope {
    /// Those that run a program.
    Running,
    /// Also those that write or change something.
    Any,
}

fn git(simple: &SimpleCommand, scope: GitScope) -> Option<String> {
    let texts: Vec<_> = simple.words.iter().map(ShellWord::plain).collect();
    let mut subcommand: Option<String> = None;
    let mut skip = false;
    let mut is_after_options = false;
    for (at, text) in texts.iter().enumerate().skip(1) {
        is_after_options |= subcommand.is_some() && texts[at - 1].as_deref() == Some("--");
        let Some(text) = text else {
            if is_after_options
                && subcommand
                    .as_deref()
                    .is_some_and(|name| GIT_TAKES_PATHS.contains(&name))
            {
                continue;
            }
            // The word after `-m` is a message.
            let message =
                matches!(texts[at - 1].as_deref(), Some("-m" | "-am" | "--message")) && simple.words[at].is_single();
            let option = simple.words[at].may_be_flag() && !is_only_pattern(&simple.words[at]);
            if subcommand.is_none() || (option && !message) {
                return Some(simple.words[at].to_string());
            }
            continue;
        };
        if std::mem::take(&mut skip) {
            continue;
        }
        if subcommand.is_none() && text == "-C" {
            skip = true;
            continue;
        }
        let setting = texts.get(at + 1).and_then(Option::as_deref);
        if scope == GitScope::Running && subcommand.is_none() && text == "-c" && setting.is_some_and(is_harmless) {
            skip = true;
            continue;
        }
        let (running, other): (&[&str], &[&str]) = match subcommand {
            None => (GIT_GLOBAL, GIT_GLOBAL_OTHER),
            // After a subcommand, `-p` and `-c` mean patch, combined and the like.
            Some(_) => (GIT_RUNNING, GIT_WRITING),
        };
        let is_harmless_option = GIT_HARMLESS.contains(&text.split('=').next().unwrap_or(text));
        let is_one =
            |options: &[&str]| !is_harmless_option && options.iter().any(|option| is_git_option_form(text, option));
        let is_short =
            |(name, letter): &(&str, char)| subcommand.as_deref() == Some(*name) && is_short_option(text, *letter);
        let runs = is_one(running)
            || GIT_SHORT.iter().any(is_short)
            || text.starts_with("ext::")
            || (subcommand.as_deref() == Some("clone") && is_option_form(text, "--config"));
        if runs || (scope == GitScope::Any && is_one(other)) {
            return Some(text.clone());
        }
        if subcommand.is_none() && !text.starts_with('-') {
            subcommand = Some(text.clone());
        }
    }
    if simple.open_ended {
        return Some("…".to_owned());
    }
    let operands = operands(simple, &["-C", "-c"]);
    let second = operands.get(1).and_then(ShellWord::plain);
    match (subcommand.as_deref(), second.as_deref()) {
        (Some("config"), _) if operands.len() > 2 => {
            let mut names = operands.iter().skip(1).filter_map(ShellWord::plain);
            let is_safe = scope == GitScope::Running
                && names
                    .find(|name| name.contains('.'))
                    .is_some_and(|name| is_harmless(&name));
            (!is_safe).then(|| "config".into())
        }
        (Some("bisect"), Some("run")) => Some("run".into()),
        (Some("submodule"), Some("foreach")) => Some("foreach".into()),
        (Some("hook"), Some("run")) => Some("run".into()),
        (Some(runner), _) if GIT_RUNNERS.contains(&runner) => Some(runner.to_owned()),
        _ => None,
    }
}

/// Whether a word is a short option or contains it: `-x`, `-xCMD`, `-yx`.
fn is_short_option(text: &str, letter: char) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
}

fn is_harmless(setting: &str) -> bool {
    let setting = setting.to_lowercase();
    HARMLESS_GIT_SETTINGS.iter().any(|prefix| setting.starts_with(prefix))
}

fn is_git_option_form(text: &str, option: &str) -> bool {
    match option.len() {
        2 => text == option,
        _ => is_option_form(text, option),
    }
}

/// The option of `sed` to edit files in place.
fn edited_in_place(simple: &SimpleCommand) -> Option<String> {
    if !edits_in_place(simple) {
        return None;
    }
    let texts = simple.words.iter().filter_map(ShellWord::plain);
    texts
        .into_iter()
        .find(|text| text.starts_with('-') && text.contains('i'))
}

/// A file that `curl` writes from, or reads, its output format.
fn curl_format(simple: &SimpleCommand) -> Option<String> {
    let formats = option_values(simple, &["-w", "--write-out"])
        .into_iter()
        .filter_map(|word| word.plain());
    let mut files = formats.filter(|format| format.starts_with('@'));
    files.next().or_else(|| operand_with(simple, &["%OUTPUT{"]))
}

fn awk(simple: &SimpleCommand) -> Option<String> {
    let is_acting = |text: &String| {
        let bundle = text.strip_prefix('-').unwrap_or_default();
        !bundle.starts_with(['-', 'F', 'v', 'e']) && bundle.contains(['D', 'd', 'o', 'p'])
            || ["--de", "--du", "--pr"].iter().any(|long| text.starts_with(long))
    };
    if let Some(option) = words_after_program(simple).find(is_acting) {
        return Some(option);
    }
    let has_scripts_in_options = words_after_program(simple).any(|text| text.starts_with("-e"));
    let scripts = if has_scripts_in_options { usize::MAX } else { 1 };
    let mut before = String::new();
    for script in operands(simple, &["-F", "-v", "--field-separator", "--assign"])
        .into_iter()
        .take(scripts)
    {
        let Some(text) = script.plain() else {
            return Some(script.to_string());
        };
        before.push_str(&text);
        if acts_in_awk(&before) {
            return Some(text);
        }
    }
    None
}

/// Whether a script of `awk` runs a program, loads code or accesses other files.
fn acts_in_awk(script: &str) -> bool {
    let script = script.replace("||", "").replace(">=", "");
    // Before the first `print`, `>` only compares.
    let writes = script.find("print").is_some_and(|print| script[print..].contains('>'));
    // `@f(…)` calls the function that a variable names.
    let calls = script.split('@').skip(1).any(|rest| {
        let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\\');
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        end > 0 && (rest[end..].starts_with('(') || ["include", "load"].contains(&&rest[..end]))
    });
    writes || calls || ["system", "getline", "|"].iter().any(|act| script.contains(act))
}

/// The archive `host:file`, which `tar` accesses through a remote shell.
fn remote_archive(simple: &SimpleCommand) -> Option<String> {
    let texts: Vec<String> = simple
        .words
        .iter()
        .map(|word| word.plain().unwrap_or_default())
        .collect();
    let is_remote = |path: &str| path.split_once(':').is_some_and(|(host, _)| !host.contains('/'));
    let names_archive = |(at, text): (usize, &String)| {
        let is_bundle = text.starts_with('-') || at == 1;
        is_bundle && !text.starts_with("--") && text.contains('f')
    };
    let mut found = texts
        .iter()
        .enumerate()
        .skip(1)
        .filter_map(|(at, text)| match text.strip_prefix("--file") {
            Some(value) => value.strip_prefix('=').or(texts.get(at + 1).map(String::as_str)),
            None if names_archive((at, text)) && text.ends_with('f') => texts.get(at + 1).map(String::as_str),
            None if names_archive((at, text)) => Some(text.as_str()),
            None => None,
        });
    found.find(|path| is_remote(path)).map(str::to_owned)
}

/// `tar cfI x program`: the first word is a bundle of options without a dash.
fn bundled_tar_option(simple: &SimpleCommand) -> Option<String> {
    let bundle = simple.words.get(1).and_then(ShellWord::plain)?;
    (!bundle.starts_with('-') && bundle.contains(['I', 'F', 'T'])).then_some(bundle)
}

/// A variable of `make` that selects the shell or contains an expansion, which `make` evaluates.
fn make(simple: &SimpleCommand) -> Option<String> {
    words_after_program(simple).find(|text| {
        let name = text.split(['=', ':', '+', '?', '!']).next().unwrap_or(text);
        let names_program = changes_programs(name) || name.contains('.') || MAKE_PROGRAMS.contains(&name);
        let is_variable = text.contains('=') && !text.starts_with('-');
        is_variable
            && (names_program || name.starts_with("MAKE") || text.contains(['$', '`', '!', ';', '|', '&', '\n']))
    })
}

fn words_after_program(simple: &SimpleCommand) -> impl Iterator<Item = String> {
    simple.words.iter().skip(1).filter_map(ShellWord::plain)
}

/// Output that a tracer sends to a program.
fn piped_output(simple: &SimpleCommand) -> Option<String> {
    let outputs = option_values(simple, &["-o", "--output"]);
    let mut outputs = outputs.iter().filter_map(ShellWord::plain);
    outputs.find(|text| text.starts_with(['|', '!']))
}

/// A command such as `.shell`, or a function that runs a program or writes a file.
fn sqlite(simple: &SimpleCommand) -> Option<String> {
    let commands = operands(simple, &[])
        .into_iter()
        .skip(1)
        .filter_map(|word| word.plain());
    let mut commands = commands.filter(|text| text.trim_start().starts_with('.'));
    let is_harmless = |text: &String| {
        let name = text.split_whitespace().next().unwrap_or_default();
        HARMLESS_SQLITE_COMMANDS.contains(&name)
    };
    let functions = ["EDIT(", "LOAD_EXTENSION(", "WRITEFILE("];
    commands
        .find(|text| !is_harmless(text))
        .or_else(|| operand_with(simple, &functions))
}

/// The first argument that contains one of these texts, regardless of case.
fn operand_with(simple: &SimpleCommand, parts: &[&str]) -> Option<String> {
    words_after_program(simple).find(|text| parts.iter().any(|part| text.to_uppercase().contains(part)))
}

/// Options of `vim` that run commands, read them from a file or from the input.
fn editor(simple: &SimpleCommand) -> Option<String> {
    words_after_program(simple).find(|text| match text.strip_prefix('-') {
        Some(long) if long.starts_with('-') => ["--cmd", "--remote-s", "--remote-e"]
            .iter()
            .any(|run| text.starts_with(run)),
        Some(bundle) => bundle.contains(['c', 'S', 's', 'u', 'U', 'e', 'E']),
        None => text.starts_with('+'),
    })
}
