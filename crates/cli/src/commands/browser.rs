//! Opens a URL in the user's browser.

use crate::environment::ProcessEnv;
use sandbox::{CaptureCap, ProcessEnvironment, ProcessRequest, Program};
use std::path::Path;
use std::time::Duration;

/// The program starts the browser and exits.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Whether there is a browser.
pub(super) fn is_available(env: &ProcessEnv, environment: &ProcessEnvironment) -> bool {
    program(env).is_some_and(|program| environment.has_program(&program) || program.contains('/'))
}

/// Starts the browser, in the background. Returns false if there is none, such as on a machine without a desktop.
pub(super) fn open(url: &str, cwd: &Path, env: &ProcessEnv, environment: &ProcessEnvironment) -> bool {
    let Some(program) = program(env).filter(|program| environment.has_program(program) || program.contains('/')) else {
        return false;
    };
    // The browser outlives this program: it has its own session before the shell exits.
    let (program, url) = (quoted(&program), quoted(url));
    let line = match cfg!(target_os = "macos") {
        true => format!("{program} {url}"),
        false => format!(r#"setsid sh -c '"$0" "$1" >/dev/null 2>&1 </dev/null &' {program} {url}"#),
    };
    let request = ProcessRequest {
        program: Program::Shell(line),
        cwd: cwd.to_owned(),
        environment: environment.clone(),
        timeout: Some(TIMEOUT),
        grace: ProcessRequest::GRACE,
        output: CaptureCap { head: 0, tail: 0 },
        terminal: None,
    };
    match sandbox::spawn(&request) {
        Ok(mut process) => {
            drop(tokio::spawn(async move { process.exit().await }));
            true
        }
        Err(_) => false,
    }
}

/// The program that opens URLs: `BROWSER`, or that of the desktop.
fn program(env: &ProcessEnv) -> Option<String> {
    let set = |name: &str| env.get(name).filter(|value| !value.is_empty());
    match set("BROWSER").and_then(|programs| programs.split(':').next()) {
        Some(program) => Some(program.to_owned()),
        None if cfg!(target_os = "macos") => Some("open".into()),
        None => (set("DISPLAY").or(set("WAYLAND_DISPLAY")).is_some()).then(|| "xdg-open".into()),
    }
}

/// Quotes a word for the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
