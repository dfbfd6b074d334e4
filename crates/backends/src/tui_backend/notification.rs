//! Desktop notifications, if the terminal does not show them.

use crate::environment::ProcessEnv;
use host::program::run_program;

/// Terminals that show notifications themselves.
const NOTIFYING_TERMINALS: [&str; 6] = ["iterm", "wezterm", "ghostty", "kitty", "foot", "rio"];

/// Shows a notification, if there is a desktop with a program for it.
pub(super) async fn notify(title: &str, text: &str, env: &ProcessEnv) {
    let Some((program, args)) = program(title, text, env) else {
        return;
    };
    if let Err(error) = run_program(program, &args, env, &[]).await {
        tracing::debug!(program, %error, "no notification");
    }
}

fn program(title: &str, text: &str, env: &ProcessEnv) -> Option<(&'static str, Vec<String>)> {
    let names = ["TERM", "TERM_PROGRAM"].into_iter().filter_map(|name| env.get(name));
    let names = names.map(str::to_lowercase).collect::<Vec<_>>().join(" ");
    let is_far = env.first(["SSH_CONNECTION", "SSH_TTY", "WT_SESSION"]).is_some();
    if is_far || NOTIFYING_TERMINALS.iter().any(|name| names.contains(name)) {
        return None;
    }
    if cfg!(target_os = "macos") {
        // The texts are arguments of the script, not part of it.
        let script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
        return Some(("osascript", vec!["-e".into(), script.into(), title.into(), text.into()]));
    }
    env.first(["DISPLAY", "WAYLAND_DISPLAY"])?;
    let args = ["--app-name=hew", "--", title, text];
    Some(("notify-send", args.map(String::from).to_vec()))
}

#[cfg(all(test, not(target_os = "macos")))]
mod tests {
    use super::*;

    #[test]
    fn the_desktop_notifies_if_there_is_one_and_the_terminal_does_not() {
        for (env, expected) in [
            (ProcessEnv::from([("DISPLAY", ":0"), ("TERM", "xterm-256color")]), true),
            (
                ProcessEnv::from([("WAYLAND_DISPLAY", "wayland-0"), ("TERM", "alacritty")]),
                true,
            ),
            (ProcessEnv::from([("DISPLAY", ":0"), ("TERM", "xterm-kitty")]), false),
            (
                ProcessEnv::from([("DISPLAY", ":0"), ("TERM_PROGRAM", "WezTerm")]),
                false,
            ),
            (
                ProcessEnv::from([("DISPLAY", ":10"), ("SSH_CONNECTION", "1.2.3.4 5 6.7.8.9 22")]),
                false,
            ),
            (ProcessEnv::from([("TERM", "xterm-256color")]), false),
        ] {
            let command = program("hew", "-x needs an answer", &env);
            assert_eq!(command.is_some(), expected, "{env:?}");
            if let Some((program, args)) = command {
                assert_eq!(
                    (program, args.join(" ").as_str()),
                    ("notify-send", "--app-name=hew -- hew -x needs an answer")
                );
            }
        }
    }

    #[tokio::test]
    async fn the_program_is_started_with_the_text() {
        use std::os::unix::fs::PermissionsExt as _;
        let temp = tempfile::tempdir().unwrap();
        let (program, output) = (temp.path().join("notify-send"), temp.path().join("output"));
        std::fs::write(&program, format!("#!/bin/sh\necho \"$@\" > {}\n", output.display())).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = temp.path().to_str().unwrap();
        let env = ProcessEnv::from([("DISPLAY", ":0"), ("PATH", path)]);
        // A file that was just written cannot be executed while another test forks.
        for _ in 0..100 {
            if !output.exists() {
                notify("hew", "needs you", &env).await;
            }
        }
        let output = std::fs::read_to_string(output).unwrap();
        assert_eq!(output, "--app-name=hew -- hew needs you\n");
    }
}
