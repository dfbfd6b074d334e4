//! Opens a file or an address with the program that the person's desktop has for it.

use std::time::Duration;

use policy::Action;
use sandbox::{Cap, Environment, Program, Request, Status};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::project::Project;

/// An opener hands over to another program and ends; one that does not is left alone.
const PATIENCE: Duration = Duration::from_secs(10);
const OUTPUT: Cap = Cap {
    head: 1_000,
    tail: 1_000,
};
/// Where a desktop on Linux says that it is there.
const DESKTOPS: [&str; 2] = ["DISPLAY", "WAYLAND_DISPLAY"];

pub(crate) struct Open(pub(crate) Project, pub(crate) Environment);

/// Opens a file or URL on the person's screen. Only when they ask for it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Path or http(s) URL.
    #[serde(alias = "path_or_url", alias = "url", alias = "uri")]
    path: String,
}

impl Tool for Open {
    const NAME: &'static str = "open";
    const ALIASES: &'static [&'static str] = &["open_simple_browser"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    /// The program is the desktop's own and runs outside the sandbox.
    fn actions(&self, input: &Input) -> Vec<Action> {
        let mut actions = match is_address(&input.path) {
            true => vec![Action::Fetch {
                url: input.path.clone(),
            }],
            false => self.0.reading(&input.path),
        };
        actions.push(Action::Escalate {
            command: format!("{} {}", opener(), quoted(&input.path)),
            cwd: self.0.workspace.root().to_owned(),
        });
        actions
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let what = match is_address(&input.path) {
            true => input.path.clone(),
            false => {
                let file = self.0.locate(&input.path)?;
                let path = file.path().to_str().filter(|_| file.exists());
                path.map(str::to_owned)
                    .ok_or_else(|| Error::Failed(format!("{} does not exist", file.shown())))?
            }
        };
        if !self.has_desktop() {
            return Err(Error::Failed(
                "there is no desktop here on which anything could be opened; tell the person where it is instead"
                    .into(),
            ));
        }
        let request = Request {
            program: Program::Shell(command(&what)),
            cwd: self.0.workspace.root().to_owned(),
            environment: self.1.clone(),
            timeout: Some(PATIENCE),
            grace: Request::GRACE,
            output: OUTPUT,
            terminal: None,
        };
        let mut process = sandbox::spawn(&request).map_err(|error| Error::Failed(error.to_string()))?;
        let exit = process.exit().await;
        match exit.status {
            Status::Exited(0) | Status::TimedOut => Ok(Output::text(format!("opened {}", input.path))),
            Status::Exited(_) | Status::Signalled(_) | Status::Unknown => Err(Error::Failed(format!(
                "{} could not be opened: {}",
                input.path,
                exit.output.head.trim()
            ))),
        }
    }
}

impl Open {
    fn has_desktop(&self) -> bool {
        cfg!(target_os = "macos") || DESKTOPS.iter().any(|name| self.1.has(name))
    }
}

/// The program that is opened lives on by itself, in a session of its own; it is there before the shell ends.
fn command(what: &str) -> String {
    let (opener, what) = (opener(), quoted(what));
    match cfg!(target_os = "macos") {
        true => format!("{opener} {what}"),
        false => format!(
            "command -v {opener} >/dev/null || {{ echo {opener} is not installed; exit 127; }}; \
             setsid sh -c '\"$0\" \"$1\" >/dev/null 2>&1 </dev/null &' {opener} {what}; exit $?"
        ),
    }
}

fn opener() -> &'static str {
    match cfg!(target_os = "macos") {
        true => "open",
        false => "xdg-open",
    }
}

/// Whether it is an address rather than a path. Only what a browser opens: other schemes start programs.
fn is_address(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme))
}

/// A word as a shell would have to be given it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
