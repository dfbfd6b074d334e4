//! Parses the options of wrappers, up to the wrapped command.

use crate::shell::SimpleCommand;

/// The options of a wrapper, up to the wrapped command.
pub(super) struct WrapperSpec {
    pub(super) name: &'static str,
    /// Options without a value.
    alone: &'static [&'static str],
    /// Options with a separate value.
    valued: &'static [&'static str],
    /// Number of operands before the command.
    pub(super) skip: usize,
    /// Whether only the wrapped command matters.
    pub(super) transparent: bool,
}

const fn wrapper(
    name: &'static str,
    alone: &'static [&'static str],
    valued: &'static [&'static str],
    skip: usize,
    transparent: bool,
) -> WrapperSpec {
    WrapperSpec {
        name,
        alone,
        valued,
        skip,
        transparent,
    }
}

#[rustfmt::skip]
pub(super) const WRAPPERS: &[WrapperSpec] = &[
    wrapper("nohup", &[], &[], 0, true),
    wrapper("setsid", &["-c", "-f", "-w", "--ctty", "--fork", "--wait"], &[], 0, true),
    wrapper("time", &["-p", "-v", "-l"], &["-f", "--format"], 0, true),
    wrapper("nice", &[], &["-n", "--adjustment"], 0, true),
    wrapper("ionice", &["-t"], &["-c", "-n", "--class", "--classdata"], 0, true),
    wrapper("stdbuf", &[], &["-i", "-o", "-e", "--input", "--output", "--error"], 0, true),
    wrapper("timeout", &["-f", "-v", "-p", "--foreground", "--verbose", "--preserve-status"], &["-k", "-s",
        "--kill-after", "--signal"], 1, true),
    wrapper("gtimeout", &["--foreground", "--verbose", "--preserve-status"], &["-k", "-s", "--kill-after",
        "--signal"], 1, true),
    wrapper("command", &["-p"], &[], 0, true),
    wrapper("builtin", &[], &[], 0, true),
    wrapper("exec", &["-c", "-l", "-cl"], &["-a"], 0, true),
    wrapper("noglob", &[], &[], 0, true),
    wrapper("nocorrect", &[], &[], 0, true),
    wrapper("unbuffer", &["-p"], &[], 0, true),
    wrapper("busybox", &[], &[], 0, true),
    wrapper("toybox", &[], &[], 0, true),
    wrapper("caffeinate", &["-d", "-i", "-m", "-s", "-u"], &["-t", "-w"], 0, true),
    wrapper("chrt", &["-b", "-f", "-i", "-o", "-r"], &[], 1, true),
    wrapper("taskset", &["-c", "--cpu-list"], &[], 1, true),
    wrapper("xvfb-run", &["-a", "--auto-servernum"], &["-n", "-s", "--server-args"], 0, true),
    wrapper("sudo", &["-A", "-b", "-E", "-H", "-i", "-k", "-n", "-P", "-s", "-S", "--preserve-env", "--login",
        "--shell"], &["-C", "-D", "-g", "-h", "-p", "-R", "-r", "-t", "-T", "-U", "-u", "--user", "--group",
        "--chdir", "--chroot"], 0, false),
    wrapper("doas", &["-n", "-s", "-L"], &["-C", "-u", "-a"], 0, false),
    wrapper("pkexec", &["--disable-internal-agent", "--keep-cwd"], &["--user"], 0, false),
    wrapper("runuser", &["-l", "-m", "-p"], &["-u", "-g", "-G", "-s"], 0, false),
    wrapper("chroot", &[], &["--userspec", "--groups"], 1, false),
    wrapper("unshare", &["-r", "-m", "-n", "-p", "-f", "-U", "-i", "-u", "-C", "-T"], &[], 0, false),
    wrapper("nsenter", &["-a", "-m", "-n", "-p", "-u", "-i"], &["-t", "--target"], 0, false),
    wrapper("systemd-run", &["--user", "--scope", "--pty", "-t", "-P", "--wait"], &["-p", "--property", "--unit"], 0,
        false),
    wrapper("strace", &["-f", "-ff", "-q", "-tt", "-T", "-y"], &["-e", "-o", "-p", "-s", "-u"], 0, false),
    wrapper("ltrace", &["-f", "-S"], &["-e", "-o", "-p", "-s", "-u"], 0, false),
    wrapper("fakeroot", &[], &["-l", "-i", "-s", "-b"], 0, false),
    wrapper("proxychains", &["-q"], &["-f"], 0, false),
    wrapper("proxychains4", &["-q"], &["-f"], 0, false),
    wrapper("torsocks", &["-i"], &[], 0, false),
    wrapper("firejail", &["--quiet", "--noprofile", "--private"], &[], 0, false),
    wrapper("dbus-run-session", &[], &[], 0, false),
    wrapper("rlwrap", &[], &[], 0, false),
    wrapper("valgrind", &["-q", "-v"], &[], 0, false),
    wrapper("entr", &["-c", "-d", "-n", "-p", "-r", "-s", "-z"], &[], 0, false),
];

pub(super) const XARGS: WrapperSpec = wrapper(
    "xargs",
    &[
        "-0",
        "-r",
        "-t",
        "-p",
        "-x",
        "-o",
        "--null",
        "--no-run-if-empty",
        "--verbose",
        "--interactive",
        "--exit",
    ],
    &[
        "-I",
        "-n",
        "-P",
        "-L",
        "-d",
        "-E",
        "-s",
        "-a",
        "-J",
        "-R",
        "-S",
        "--replace",
        "--max-args",
        "--max-procs",
        "--max-lines",
        "--delimiter",
        "--eof",
        "--max-chars",
        "--arg-file",
    ],
    0,
    true,
);

#[rustfmt::skip]
pub(super) const WATCH: WrapperSpec = wrapper(
    "watch",
    &["-b", "-c", "-C", "-d", "-e", "-g", "-p", "-r", "-t", "-w", "-x", "--beep", "--chgexit", "--color", "--differences", "--errexit",
        "--exec", "--no-color", "--no-rerun", "--no-title", "--no-wrap", "--precise"],
    &["-n", "-q", "--interval", "--equexit"],
    0,
    false,
);

pub(super) const ENV: WrapperSpec = wrapper(
    "env",
    &["-i", "-", "-0", "-v", "--ignore-environment", "--null", "--debug"],
    &["-u", "-C", "-P", "--unset", "--chdir"],
    0,
    true,
);

/// Returns the end of a wrapper's options; `None` if an option is unknown.
pub(super) fn skip_options(simple: &SimpleCommand, wrapper: &WrapperSpec) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = simple.words.get(at) {
        let Some(text) = word.plain() else {
            return if word.may_be_flag() { None } else { Some(at) };
        };
        if text == "--" {
            return Some(at + 1);
        }
        if !text.starts_with('-') || (text == "-" && !wrapper.alone.contains(&"-")) {
            return Some(at);
        }
        if wrapper.valued.contains(&text.as_str()) {
            at += 2;
        } else if wrapper.alone.contains(&text.as_str()) || glued(&text, wrapper) {
            at += 1;
        } else {
            return None;
        }
    }
    Some(at)
}

/// An option with its value in the same word, or several bundled short options.
fn glued(text: &str, wrapper: &WrapperSpec) -> bool {
    if let Some((name, _)) = text.split_once('=')
        && name.starts_with("--")
    {
        return wrapper.valued.contains(&name) || wrapper.alone.contains(&name);
    }
    if text.starts_with("--") {
        return false;
    }
    if wrapper.name == "nice" && text[1..].chars().all(|c| c.is_ascii_digit()) {
        return true;
    }
    for (at, short) in text.char_indices().skip(1) {
        let option = format!("-{short}");
        if wrapper.valued.contains(&option.as_str()) {
            // The value must follow in this word; a separate value after a bundle is not supported.
            return at + short.len_utf8() < text.len();
        }
        if !wrapper.alone.contains(&option.as_str()) {
            return false;
        }
    }
    true
}
