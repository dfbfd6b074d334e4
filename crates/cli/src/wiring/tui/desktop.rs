//! Notifications by the desktop's own program, where the terminal does not show them itself.

use crate::environment::Environment;
use crate::keys;

/// Terminals that show what they are sent as a notification: a second one would only disturb.
const SHOWING: [&str; 6] = ["iterm", "wezterm", "ghostty", "kitty", "foot", "rio"];

/// Has the desktop show a notification, if there is a desktop and it has a program for that.
pub(super) async fn notify(title: &str, text: &str, env: &Environment) {
    let Some((program, args)) = program(title, text, env) else {
        return;
    };
    if let Err(error) = keys::run(program, &args, env, &[]).await {
        tracing::debug!(program, %error, "no notification");
    }
}

fn program(title: &str, text: &str, env: &Environment) -> Option<(&'static str, Vec<String>)> {
    let names = ["TERM", "TERM_PROGRAM"].into_iter().filter_map(|name| env.get(name));
    let names = names.map(str::to_lowercase).collect::<Vec<_>>().join(" ");
    let is_far = env.first(["SSH_CONNECTION", "SSH_TTY", "WT_SESSION"]).is_some();
    if is_far || SHOWING.iter().any(|name| names.contains(name)) {
        return None;
    }
    if cfg!(target_os = "macos") {
        // The texts are arguments of the script, never part of it.
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
    fn the_desktop_is_told_where_there_is_one_and_the_terminal_does_not_do_it() {
        for (env, is_told) in [
            (Environment::from([("DISPLAY", ":0"), ("TERM", "xterm-256color")]), true),
            (
                Environment::from([("WAYLAND_DISPLAY", "wayland-0"), ("TERM", "alacritty")]),
                true,
            ),
            (Environment::from([("DISPLAY", ":0"), ("TERM", "xterm-kitty")]), false),
            (
                Environment::from([("DISPLAY", ":0"), ("TERM_PROGRAM", "WezTerm")]),
                false,
            ),
            (
                Environment::from([("DISPLAY", ":10"), ("SSH_CONNECTION", "1.2.3.4 5 6.7.8.9 22")]),
                false,
            ),
            (Environment::from([("TERM", "xterm-256color")]), false),
        ] {
            let told = program("hew", "-x wants you", &env);
            assert_eq!(told.is_some(), is_told, "{env:?}");
            if let Some((program, args)) = told {
                assert_eq!(
                    (program, args.join(" ").as_str()),
                    ("notify-send", "--app-name=hew -- hew -x wants you")
                );
            }
        }
    }

    #[tokio::test]
    async fn the_program_is_started_with_what_there_is_to_say() {
        use std::os::unix::fs::PermissionsExt as _;
        let temp = tempfile::tempdir().unwrap();
        let (program, said) = (temp.path().join("notify-send"), temp.path().join("said"));
        std::fs::write(&program, format!("#!/bin/sh\necho \"$@\" > {}\n", said.display())).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = temp.path().to_str().unwrap();
        let env = Environment::from([("DISPLAY", ":0"), ("PATH", path)]);
        // A file that was just written cannot be started while a test beside this one starts something else.
        for _ in 0..100 {
            if !said.exists() {
                notify("hew", "needs you", &env).await;
            }
        }
        let said = std::fs::read_to_string(said).unwrap();
        assert_eq!(said, "--app-name=hew -- hew needs you\n");
    }
}
