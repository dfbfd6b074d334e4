//! The editor's terminals, for unconfined commands.

use std::sync::OnceLock;
use std::time::Duration;

use acp::Peer;
use acp::schema::{
    CreateTerminalRequest, CreateTerminalResponse, KillTerminalRequest, ReleaseTerminalRequest, SessionNotification,
    SessionUpdate, Terminal, TerminalExitStatus, TerminalOutputRequest, TerminalOutputResponse, ToolCallContent,
    ToolCallUpdate, ToolCallUpdateFields, WaitForTerminalExitRequest, WaitForTerminalExitResponse,
};
use futures::future::{BoxFuture, FutureExt as _};
use serde_json::Value;
use session::CommandExit;
use tool::{Error, TerminalCommand, TerminalResult};

/// Time for a command to end after a kill request.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// The editor's terminals for one session.
pub(super) struct EditorTerminals {
    pub(super) peer: Peer,
    /// The session id, once known.
    pub(super) session: OnceLock<String>,
}

impl tool::ClientTerminals for EditorTerminals {
    fn run(&self, order: TerminalCommand) -> BoxFuture<'static, Result<TerminalResult, Error>> {
        let (peer, session) = (self.peer.clone(), self.session.get().cloned().unwrap_or_default());
        async move {
            let failed = |error: acp::schema::Error| Error::Failed(format!("the editor's terminal: {error}"));
            let create = CreateTerminalRequest::new(session.clone(), "sh")
                .args(vec!["-c".into(), order.command.clone()])
                .cwd(order.cwd.clone())
                .output_byte_limit(order.max_output);
            let created: CreateTerminalResponse = peer.request("terminal/create", &create).await.map_err(failed)?;
            let open = EditorTerminal {
                peer: peer.clone(),
                session: session.clone(),
                terminal: created.terminal_id.0.to_string(),
            };
            let shown = ToolCallContent::Terminal(Terminal::new(open.terminal.clone()));
            let update = ToolCallUpdate::new(order.call.to_string(), ToolCallUpdateFields::new().content(vec![shown]));
            let update = SessionNotification::new(session.clone(), SessionUpdate::ToolCallUpdate(update));
            peer.notify("session/update", &update).await.map_err(failed)?;
            let wait = WaitForTerminalExitRequest::new(session.clone(), open.terminal.clone());
            let waiting = peer.request::<WaitForTerminalExitResponse>("terminal/wait_for_exit", &wait);
            let ended = match order.timeout {
                None => Some(waiting.await),
                Some(limit) => tokio::time::timeout(limit, waiting).await.ok(),
            };
            let status = match ended {
                Some(ended) => Some(ended.map_err(failed)?.exit_status),
                None => {
                    open.kill().await;
                    None
                }
            };
            let output = TerminalOutputRequest::new(session, open.terminal.clone());
            let output: TerminalOutputResponse = peer.request("terminal/output", &output).await.map_err(failed)?;
            Ok(TerminalResult {
                status: exit_description(status.as_ref(), order.timeout),
                exit: command_exit(status.as_ref()),
                output: output.output,
                truncated: output.truncated,
            })
        }
        .boxed()
    }
}

/// An open terminal. Dropping it ends its command and releases it.
struct EditorTerminal {
    peer: Peer,
    session: String,
    terminal: String,
}

impl EditorTerminal {
    async fn kill(&self) {
        let kill = KillTerminalRequest::new(self.session.clone(), self.terminal.clone());
        let killed = self.peer.request::<Value>("terminal/kill", &kill);
        // The terminal is released in any case, which ends the command too.
        drop(tokio::time::timeout(KILL_TIMEOUT, killed).await);
    }
}

impl Drop for EditorTerminal {
    fn drop(&mut self) {
        let release = ReleaseTerminalRequest::new(self.session.clone(), self.terminal.clone());
        let peer = self.peer.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let released = peer.request::<Value>("terminal/release", &release);
                drop(tokio::time::timeout(KILL_TIMEOUT, released).await);
            });
        }
    }
}

fn command_exit(status: Option<&TerminalExitStatus>) -> CommandExit {
    let Some(status) = status else {
        return CommandExit::TimedOut;
    };
    match (status.exit_code, &status.signal) {
        (Some(code), _) => CommandExit::Code(i32::try_from(code).unwrap_or(i32::MAX)),
        (None, Some(_)) => CommandExit::Signal,
        (None, None) => CommandExit::Unknown,
    }
}

fn exit_description(status: Option<&TerminalExitStatus>, limit: Option<Duration>) -> String {
    match status {
        None => format!("stopped after {} s", limit.unwrap_or_default().as_secs()),
        Some(status) => match (status.exit_code, &status.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "ended in an unknown way".into(),
        },
    }
}
