//! Options that make a harmless program write files or run commands.
//!
//! A rule that allows `sort` does not mean `sort --compress-program=sh`. Such an option is covered only by a rule that
//! names it.

use super::targets::{edits_in_place, operands, option_values};
use super::{ShellWord, SimpleCommand};

/// Programs and their options that write or run something.
#[rustfmt::skip]
const OPTIONS: &[(&str, &[&str])] = &[
    ("find", &["-delete", "-fprint", "-fprint0", "-fprintf", "-fls"]),
    ("sort", &["-o", "--output", "--compress-program", "-T", "--temporary-directory"]),
    ("rg", &["--pre", "--hostname-bin", "-z", "--search-zip"]),
    ("ag", &["--pager"]),
    ("ack", &["--pager"]),
    ("man", &["-P", "--pager", "-H", "--html", "-C", "--config-file"]),
    ("tar", &["--to-command", "--checkpoint-action", "--use-compress-program", "-I", "--rmt-command",
        "--rsh-command", "-F", "--info-script", "--new-volume-script"]),
    ("zip", &["-TT", "--unzip-command"]),
    ("xxd", &["-r"]),
    ("date", &["-s", "--set"]),
    ("tree", &["-o"]),
    ("curl", &["-o", "-O", "--output", "--remote-name", "-T", "--upload-file", "-K", "--config", "-D",
        "--dump-header", "-c", "--cookie-jar", "--trace", "--trace-ascii", "--stderr", "--output-dir"]),
    ("wget", &["-O", "--output-document", "-o", "--output-file", "-a", "--append-output", "--post-file",
        "--use-askpass", "-e", "--execute", "-P", "--directory-prefix"]),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("scp", &["-S", "-o"]),
    ("sftp", &["-S", "-o"]),
    ("ssh", &["-o", "-F", "-E"]),
    ("cargo", &["--config"]),
    ("go", &["-exec", "-toolexec", "-vettool", "-o"]),
    ("yq", &["-i", "--inplace", "--in-place"]),
    ("jq", &["-i"]),
    ("split", &["--filter"]),
    ("gcc", &["-wrapper", "-fplugin"]),
    ("awk", &["-f", "--file", "-i", "--include", "-E", "--exec", "-l", "--load"]),
    ("gawk", &["-f", "--file", "-i", "--include", "-E", "--exec", "-l", "--load"]),
    ("mawk", &["-f", "--file"]),
    ("sed", &["-f", "--file"]),
    ("file", &["-C", "--compile"]),
    ("history", &["-w", "-a", "-c", "-d", "-r"]),
    ("printf", &["-v"]),
    ("test", &["-v"]),
    ("openssl", &["-out", "-engine", "-provider-path"]),
    ("docker", &["--privileged", "-v", "--volume", "--mount"]),
    ("ps", &["-E"]),
    ("less", &["-o", "-O", "--log-file", "-k", "--lesskey-file", "--lesskey-src"]),
    ("diff", &["--to-file"]),
    ("hostname", &["-F", "--file"]),
    ("dmesg", &["-c", "-C", "--clear"]),
];

#[rustfmt::skip]
const GIT: &[&str] = &[
    "-c", "--config-env", "--exec-path", "--git-dir", "--work-tree", "-p", "--paginate", "--output",
    "--open-files-in-pager", "--ext-diff", "--textconv", "--upload-pack", "--receive-pack", "--exec", "--extcmd",
    "--template", "--separate-git-dir", "--hooksPath", "--upload-archive",
];

/// Returns the option that makes a command do more than its name suggests, as written.
pub(crate) fn hazardous_option(simple: &SimpleCommand) -> Option<String> {
    let name = simple.name()?;
    let found = match name.as_str() {
        "git" => git(simple),
        "sed" => sed(simple),
        "awk" | "gawk" | "mawk" | "nawk" => awk(simple),
        "less" | "more" | "vim" | "vi" | "view" | "nvim" => editor(simple),
        _ => None,
    };
    if found.is_some() {
        return found;
    }
    let (_, options) = OPTIONS.iter().find(|(program, _)| *program == name)?;
    option_in(simple, options, 1)
}

/// Returns the first word that is, or may become, one of the options.
fn option_in(simple: &SimpleCommand, options: &[&str], from: usize) -> Option<String> {
    if options.is_empty() {
        return None;
    }
    for word in simple.words.iter().skip(from) {
        let Some(text) = word.plain() else {
            // A glob can only expand to file names, which rarely begin with a dash.
            if word.may_be_flag() && !is_only_pattern(word) {
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
        return name.len() >= 3 && long.starts_with(name);
    }
    if option.len() > 2 {
        return text == option || text.strip_prefix(option).is_some_and(|rest| rest.starts_with('='));
    }
    let short = option.chars().nth(1).unwrap_or('-');
    text.starts_with('-') && !text.starts_with("--") && text.contains(short)
}

fn git(simple: &SimpleCommand) -> Option<String> {
    let texts: Vec<_> = simple.words.iter().map(ShellWord::plain).collect();
    let mut subcommand = None;
    let mut skip = false;
    for (at, text) in texts.iter().enumerate().skip(1) {
        let Some(text) = text else {
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
        // After a subcommand, `-p` and `-c` mean patch, combined and the like.
        let options = match subcommand {
            None => GIT,
            Some(_) => &GIT[7..],
        };
        let exec = matches!(subcommand.as_deref(), Some("rebase" | "difftool")) && text == "-x";
        let pager = matches!(subcommand.as_deref(), Some("grep")) && text.starts_with("-O");
        if exec || pager || text.starts_with("ext::") || options.iter().any(|option| is_git_option_form(text, option)) {
            return Some(text.clone());
        }
        if subcommand.is_none() && !text.starts_with('-') {
            subcommand = Some(text.clone());
        }
    }
    if simple.open_ended {
        return Some("…".to_owned());
    }
    let operands = operands(simple, &["-C"]);
    let second = operands.get(1).and_then(ShellWord::plain);
    match (subcommand.as_deref(), second.as_deref()) {
        (Some("config"), _) if operands.len() > 2 => Some("config".into()),
        (Some("bisect"), Some("run")) => Some("run".into()),
        (Some("submodule"), Some("foreach")) => Some("foreach".into()),
        (Some("filter-branch"), _) => Some("filter-branch".into()),
        _ => None,
    }
}

fn is_git_option_form(text: &str, option: &str) -> bool {
    match option.len() {
        2 => text == option,
        _ => is_option_form(text, option),
    }
}

/// `sed` scripts can write files and run commands.
fn sed(simple: &SimpleCommand) -> Option<String> {
    if edits_in_place(simple) {
        return simple
            .words
            .iter()
            .filter_map(ShellWord::plain)
            .find(|text| text.starts_with('-') && text.contains('i'));
    }
    let mut scripts = option_values(simple, &["-e", "--expression"]);
    if scripts.is_empty() {
        scripts.extend(operands(simple, &["-l"]).into_iter().next());
    }
    for script in scripts {
        let Some(text) = script.plain() else {
            return Some(script.to_string());
        };
        if sed_acts(&text) {
            return Some(text);
        }
    }
    None
}

/// Whether a script may contain the commands `e`, `w` and `W` or the flags `e` and `w`. Errs on the side of caution.
fn sed_acts(script: &str) -> bool {
    let bytes = script.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        if !matches!(byte, b'e' | b'w' | b'W') {
            continue;
        }
        let before = script[..at].trim_end_matches([' ', '\t']).bytes().next_back();
        let after = bytes.get(at + 1);
        let starts = before.is_none_or(|c| {
            matches!(
                c,
                b';' | b'{' | b'}' | b'\n' | b'$' | b'/' | b'!' | b'|' | b'#' | b',' | b'g' | b'p' | b'I'
            ) || c.is_ascii_digit()
        });
        let ends = after.is_none_or(|c| matches!(c, b' ' | b'\t' | b'\n' | b';' | b'}' | b'/' | b'g' | b'p'));
        if starts && ends {
            return true;
        }
    }
    false
}

fn awk(simple: &SimpleCommand) -> Option<String> {
    for script in operands(simple, &["-F", "-v", "--field-separator", "--assign"])
        .into_iter()
        .take(1)
    {
        let Some(text) = script.plain() else {
            return Some(script.to_string());
        };
        if ["system", "getline", "|", ">", "@load", "@include"]
            .iter()
            .any(|act| text.contains(act))
        {
            return Some(text);
        }
    }
    None
}

fn editor(simple: &SimpleCommand) -> Option<String> {
    simple
        .words
        .iter()
        .skip(1)
        .filter_map(ShellWord::plain)
        .find(|text| text.starts_with('+') || matches!(text.as_str(), "-c" | "--cmd" | "-S" | "-s"))
}
