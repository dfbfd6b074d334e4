//! Opens a file or URL with the desktop's default program.

use std::sync::Arc;
use std::time::Duration;

use policy::Action;
use sandbox::{CaptureCap, ProcessEnvironment, ProcessRequest, ProcessStatus, Program};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, erase};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::project::Project;

/// The opener starts another program and exits; one that does not is left running.
const TIMEOUT: Duration = Duration::from_secs(10);
const OUTPUT: CaptureCap = CaptureCap {
    head: 1_000,
    tail: 1_000,
};
/// Variables set by a desktop on Linux.
const DESKTOP_VARIABLES: [&str; 2] = ["DISPLAY", "WAYLAND_DISPLAY"];

pub(crate) struct OpenTool(pub(crate) Project, pub(crate) ProcessEnvironment);

/// Opens a file or URL on the user's screen. Only if they ask for it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Path or http(s) URL.
    #[serde(alias = "path_or_url", alias = "url", alias = "uri")]
    path: String,
}

impl BuiltIn for OpenTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(OpenTool(parts.project.clone(), parts.environment.clone())))
    }
}

impl Tool for OpenTool {
    const NAME: &'static str = "open";
    const ALIASES: &'static [&'static str] = &["open_simple_browser"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Read,
        peers: &[
            (PeerAgent::Zed, &["open"]),
            (PeerAgent::Copilot, &["open_simple_browser"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    /// The program runs outside the sandbox.
    fn actions(&self, input: &Input) -> Vec<Action> {
        let mut actions = match is_address(&input.path) {
            true => vec![Action::Fetch {
                url: input.path.clone(),
            }],
            false => self.0.read_actions(&input.path),
        };
        actions.push(Action::Escalate {
            command: format!("{} {}", opener(), quoted(&input.path)),
            cwd: self.0.workspace.root().to_owned(),
        });
        actions
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
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
                "no desktop is available; tell the user the path instead".into(),
            ));
        }
        let request = ProcessRequest {
            program: Program::Shell(command(&what)),
            cwd: self.0.workspace.root().to_owned(),
            environment: self.1.clone(),
            timeout: Some(TIMEOUT),
            grace: ProcessRequest::GRACE,
            output: OUTPUT,
            terminal: None,
        };
        let mut process = sandbox::spawn(&request).map_err(|error| Error::Failed(error.to_string()))?;
        let exit = process.exit().await;
        match exit.status {
            ProcessStatus::Exited(0) | ProcessStatus::TimedOut => Ok(Output::text(format!("opened {}", input.path))),
            ProcessStatus::Exited(_) | ProcessStatus::Signalled(_) | ProcessStatus::Unknown => Err(Error::Failed(
                format!("{} could not be opened: {}", input.path, exit.output.head.trim()),
            )),
        }
    }
}

impl OpenTool {
    fn has_desktop(&self) -> bool {
        cfg!(target_os = "macos") || DESKTOP_VARIABLES.iter().any(|name| self.1.has(name))
    }
}

/// The opened program runs in its own session; it is started before the shell exits.
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

/// Whether the text is a URL. Only http(s): other schemes start programs.
fn is_address(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme))
}

/// Quotes a word for the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
